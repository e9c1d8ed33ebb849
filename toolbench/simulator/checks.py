"""What every provider checks beyond the shape of a request: tools, the choice among them, model limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.simulator.exchange import Choice, Model, Tool
from toolbench.simulator.facts import refusal
from toolbench.simulator.failures import Failure, Family
from toolbench.simulator.structure import schema_fault

DEFAULTS: dict[str, tuple[JSON, ...]] = {
    "temperature": (None, 1),
    "top_p": (None, 1),
    "top_k": (None,),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "max_tokens": (None,),
    "stop": (None, []),
}
"""Setting -> the values that mean the same as leaving it out, also for models that refuse the setting."""


@dataclass(frozen=True)
class Words:
    """How a protocol words the faults of tools; ``{name}`` and ``{why}`` are replaced."""

    duplicate_tool: str
    bad_schema: str
    choice_without_tools: str
    unknown_choice: str
    schema_code: str | None = None


def check_tools(tools: Sequence[Tool], words: Words) -> None:
    """Refuse tools with one name, and parameters that are no JSON Schema of an object."""
    for name, count in Counter(tool.name for tool in tools).items():
        if count > 1:
            raise Failure(400, words.duplicate_tool.format(name=name), param="tools")
    for tool in tools:
        why = schema_fault(tool.parameters)
        if why is None and isinstance(tool.parameters, dict):
            kind = tool.parameters.get("type", "object")
            why = None if kind == "object" else f'schema must be of type "object", got {kind!r}'
        if why is not None:
            raise bad_schema(tool.name, why, words)


def check_arrays(tools: Sequence[Tool], place: str) -> None:
    """Refuse an array that does not say what its items are, as OpenAI does; ``place`` is the schema's."""
    for index, tool in enumerate(tools):
        for context in _bare_arrays(tool.parameters, ()):
            told = ", ".join(f"'{step}'" for step in context) + ("," if len(context) == 1 else "")
            param = f"tools[{index}].{place}"
            raise refusal("openai_array_without_items", param, name=tool.name, context=told)


def _bare_arrays(schema: JSON, context: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from _bare_arrays(part, (*context, str(index)))
    if not isinstance(schema, dict):
        return
    kinds = schema.get("type")
    if "items" not in schema and "array" in (kinds if isinstance(kinds, list) else [kinds]):
        yield (*context, "type", str(kinds.index("array"))) if isinstance(kinds, list) else context
    for keyword, part in schema.items():
        if keyword in ("properties", "$defs") and isinstance(part, dict):
            for name, child in part.items():
                yield from _bare_arrays(child, (*context, keyword, name))
        elif keyword in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "additionalProperties"):
            yield from _bare_arrays(part, (*context, keyword))


def check_id_length(identity: str, path: str, limit: int | None) -> None:
    """Refuse the id of a call that is longer than the provider takes; None is no limit."""
    if limit is not None and len(identity) > limit:
        raise refusal("openai_long_id", path, path=path, limit=limit, length=len(identity))


def bad_schema(name: str, why: str, words: Words) -> Failure:
    """Return the refusal of a tool's parameters."""
    message = words.bad_schema.format(name=name, why=why)
    return Failure(400, message, code=words.schema_code, param="tools")


def check_choice(choice: Choice, tools: Sequence[Tool], asked: bool, words: Words) -> None:
    """Refuse a choice without tools, or of a tool that is not on offer."""
    if asked and not tools:
        raise Failure(400, words.choice_without_tools, param="tool_choice")
    for name in choice.names:
        if name not in [tool.name for tool in tools]:
            raise Failure(400, words.unknown_choice.format(name=name), param="tool_choice")


def thinks(model: Model, asked: bool | None, param: str, family: Family) -> bool:
    """Return whether the model thinks, from its own habit and what the request asks (None: nothing).

    Raises
    ------
    Failure
        When the model cannot do as asked.
    """
    if asked is None:
        return model.thinking in ("default", "always")
    if asked and model.thinking == "never":
        raise _refusal("thinking_on", param, True, model, family)
    if not asked and model.thinking == "always":
        raise _refusal("thinking_off", param, False, model, family)
    return asked


def check_limits(model: Model, thinking: bool, used: Iterable[tuple[str, str, JSON]], family: Family) -> None:
    """Refuse every feature that the model does not offer.

    Parameters
    ----------
    used
        Feature, the request's parameter that asks for it, and the parameter's value.

    Raises
    ------
    Failure
        For the first refused feature.
    """
    refused = model.refuses | (model.refuses_thinking if thinking else frozenset())
    for feature, param, value in used:
        if feature in refused and value not in DEFAULTS.get(feature, ()):
            raise _refusal(feature, param, value, model, family)


def settings_used(body: Mapping[str, Any], names: Iterable[str]) -> list[tuple[str, str, JSON]]:
    """Return the settings of a request that a limit may refuse, as :func:`check_limits` wants them."""
    return [(name, name, body[name]) for name in names if name in body]


def _refusal(feature: str, param: str, value: JSON, model: Model, family: Family) -> Failure:
    template, code = family.limit(feature)
    return Failure(400, template.format(param=param, value=value, model=model.id), code=code, param=param)
