"""First cases of a new suite, drafted by rules from each tool's schema: something to edit, not to trust.

Every draft is marked ``draft`` and is neither run nor counted until a person deletes the mark. Every tool
begins with another rule, so that ten drafts of many tools show all the rules too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from toolbench.authoring.ground import Ground
from toolbench.authoring.importing.effects import words
from toolbench.authoring.importing.samples import sample
from toolbench.authoring.lint_cases import lint_case
from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case
from toolbench.domain.contract import Contract, ToolSpec

DRAFTS = 10
"""Cases drafted for a new suite."""

TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "ask": "Please {action}{values}.",
        "values": ": {values}",
        "value": "{name} is {value}",
        "doubt": "I still wonder whether to {action}{values}. Do nothing yet, just tell me what it means.",
    },
    "ru": {
        "ask": "Пожалуйста, выполни: {action}{values}.",
        "values": ": {values}",
        "value": "{name} — {value}",
        "doubt": "Я ещё думаю, нужно ли: {action}{values}. Пока ничего не делай, расскажи, что это значит.",
    },
}  # fmt: skip

Made = dict[str, JSON]
Rule = Callable[[ToolSpec, Contract, str], Made | None]


def draft_cases(ground: Ground, lang: str = "en", most: int = DRAFTS) -> tuple[list[JSON], list[str]]:
    """Return the first drafts that lint would accept, and a remark for every tool without a call.

    A draft whose values lint cannot find in its text is dropped: it would only have to be deleted.
    """
    contract = ground.contract
    tools = contract.tools[: most * 2]
    by_tool = [_from(index, _drafts_of(tool, ground, lang)) for index, tool in enumerate(tools)]
    rounds = [one for row in zip_longest(*by_tool) for one in row if one is not None]
    remarks = [
        f"{tool.name}: no call of it was drafted: no example of its arguments could be made up"
        for tool in tools
        if example_arguments(tool) is None
    ]
    return rounds[:most], remarks


def _from(index: int, drafts: list[JSON]) -> list[JSON]:
    """Begin every tool with another rule, so that the first of each tool already differ."""
    start = index % len(drafts) if drafts else 0
    return [*drafts[start:], *drafts[:start]]


def _drafts_of(tool: ToolSpec, ground: Ground, lang: str) -> list[JSON]:
    made: list[JSON] = []
    for klass, rule in RULES.items():
        content = rule(tool, ground.contract, lang)
        if content is None:
            continue
        case: JSON = {
            "id": f"{tool.name}.{klass}",
            "class": klass,
            "lang": lang,
            **content,
            "tags": [tool.name],
            "draft": True,
        }
        if not any(lint_case(Case.from_json(case), ground)):
            made.append(case)
    return made


def _right(tool: ToolSpec, contract: Contract, lang: str) -> Made | None:
    arguments = example_arguments(tool)
    return None if arguments is None else _asked(tool, arguments, lang)


def _missing(tool: ToolSpec, contract: Contract, lang: str) -> Made | None:
    arguments = example_arguments(tool)
    if not arguments or not tool.required:
        return None
    left_out = tool.required[0]
    kept = {name: value for name, value in arguments.items() if name != left_out}
    return {
        "user": _text("ask", tool, kept, lang),
        "expect": {"kind": "clarification", "must_not_call": True, "missing_fields": [left_out]},
    }


def _neighbour(tool: ToolSpec, contract: Contract, lang: str) -> Made | None:
    """A request for the tool that is most like this one: it must not be answered by this one."""
    others = [other for other in contract.tools if other.name != tool.name]
    if not others:
        return None
    other = max(others[:200], key=lambda one: len(_features(one) & _features(tool)))
    asked = _right(other, contract, lang)
    return asked and {**asked, "expect": {**asked["expect"], "forbidden_tools": [tool.name]}}


def _boundary(tool: ToolSpec, contract: Contract, lang: str) -> Made | None:
    arguments = example_arguments(tool)
    for name, schema in tool.properties.items():
        edge = _edge(schema) if isinstance(schema, dict) else None
        if arguments is not None and edge is not None and not tool.issues({**arguments, name: edge}):
            return _asked(tool, {**arguments, name: edge}, lang)
    return None


def _forbidden_write(tool: ToolSpec, contract: Contract, lang: str) -> Made | None:
    arguments = example_arguments(tool)
    if tool.effect != "write" or arguments is None:
        return None
    return {
        "user": _text("doubt", tool, arguments, lang),
        "expect": {
            "kind": ["clarification", "text"],
            "must_not_call": True,
            "forbidden_tools": [tool.name],
        },
    }


RULES: Mapping[str, Rule] = {
    "complete": _right,
    "missing_argument": _missing,
    "forbidden_write": _forbidden_write,
    "neighbour": _neighbour,
    "boundary": _boundary,
}
"""Class of the cases → the rule that drafts one of a tool."""


def example_arguments(tool: ToolSpec) -> Made | None:
    """Return made-up required arguments, or ``None`` when none fit the schema."""
    made = sample({**tool.parameters, "type": "object"})
    return made if isinstance(made, dict) and not tool.issues(made) else None


def _asked(tool: ToolSpec, arguments: Made, lang: str) -> Made:
    policy = {"policy": {"confirmed": [tool.name]}} if tool.confirmation else {}
    call = {"tool": tool.name, "arguments": arguments}
    return {
        "user": _text("ask", tool, arguments, lang),
        **policy,
        "expect": {"kind": "tool_call", "calls": [call]},
    }


def _text(key: str, tool: ToolSpec, arguments: Made, lang: str) -> str:
    texts = TEXTS[lang]
    said = ", ".join(
        texts["value"].format(name=" ".join(words(name)) or name, value=value)
        for name, value in _leaves(arguments)
    )
    values = texts["values"].format(values=said) if said else ""
    return texts[key].format(action=" ".join(words(tool.name)), values=values)


def _leaves(value: JSON, name: str = "") -> Iterator[tuple[str, JSON]]:
    """Yield every plain value, named as a person would name it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    else:
        yield name, value


def _edge(schema: Mapping[str, JSON]) -> JSON:
    for key in ("maximum", "minimum"):
        if isinstance(schema.get(key), int | float):
            return schema[key]
    choices: Sequence[JSON] = schema.get("enum") or ()
    return choices[-1] if len(choices) > 1 else None


def _features(tool: ToolSpec) -> set[str]:
    return {*words(tool.name), *tool.properties}
