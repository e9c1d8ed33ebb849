"""Lint of what a case says beyond equality: rules by path, own tools, answers to questions, end state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from toolbench.authoring.lint_rules import TRAP
from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case, Compare, ExpectedCall, ExpectedObject
from toolbench.domain.contract import Contract, ToolSpec
from toolbench.domain.extensions import OWN, extensions_of
from toolbench.domain.patterns import is_trap, pattern
from toolbench.domain.validation import schema_patterns
from toolbench.domain.world import REMOVED
from toolbench.errors import SuiteError
from toolbench.judging.values import fits_object, part_of


def first_name(path: str) -> str:
    """Return the argument a path goes into."""
    return re.split(r"[.\[]", path)[0]


def put(value: Mapping[str, JSON], path: str, new: JSON) -> dict[str, JSON]:
    """Return an object with another value at a path; ``[]`` stands for every item of a list."""
    changed = _put(value, [step for step in re.split(r"\.|(?=\[\])", path) if step], new)
    assert isinstance(changed, dict), "what goes in as an object comes out as one"
    return changed


def _put(value: JSON, steps: list[str], new: JSON) -> JSON:
    if not steps:
        return new
    if steps[0] == "[]":
        return [_put(item, steps[1:], new) for item in value] if isinstance(value, list) else value
    if isinstance(value, dict) and steps[0] in value:
        return {**value, steps[0]: _put(value[steps[0]], steps[1:], new)}
    return value


def lint_values(call: ExpectedCall, contract: Contract) -> Iterator[str]:
    """Yield what is wrong with the numbers and rules of one expected call."""
    if call.at_most is not None and call.at_most < call.at_least:
        yield f".at_most: {call.at_most} is less than at_least, {call.at_least}"
    tool = contract.by_name[call.tool]
    bad = list(_bad_rules(call.compare))
    yield from (f".compare.{path}: {reason}" for path, reason in bad)
    if bad:
        return
    if not part_of(call, call.arguments):
        yield ".compare: the expected arguments do not meet their own rules"
    for path in call.compare:
        # A rule of the whole case may be about another tool.
        owners = [tool] if first_name(path) in tool.properties else contract.tools
        if not any(_leads_somewhere(path, owner) for owner in owners):
            yield f".compare.{path}: {tool.name} has nothing there"


def _bad_rules(compare: Compare) -> Iterator[tuple[str, str]]:
    for path, rule in compare.items():
        known = (*OWN["normalizers"], *extensions_of("normalizers"))
        if rule.normalizer is not None and rule.normalizer not in known:
            yield path, f"no normalizer {rule.normalizer!r}; there are {', '.join(known)}"
        if rule.regex is not None:
            try:
                pattern(rule.regex)
            except SuiteError as fault:
                yield path, str(fault)
            else:
                if is_trap(rule.regex):
                    yield path, f"{rule.regex!r} {TRAP}"


def _leads_somewhere(path: str, tool: ToolSpec) -> bool:
    """Whether the schema has a place for a path; where it leaves the shape open, any path will do."""
    schema: JSON = {"type": "object", "properties": tool.properties}
    for step in (step for step in re.split(r"\.|(?=\[\])", path) if step):
        if step == "[]":
            schema = schema.get("items", {} if schema.get("type") == "array" else None)
        else:
            open_: JSON = {} if schema.get("type") == "object" and "properties" not in schema else None
            schema = schema.get("properties", {}).get(step, open_)
        if not isinstance(schema, dict):
            return False
        if not isinstance(schema.get("type"), str):
            return True
    return True


def lint_own_tools(case: Case) -> Iterator[str]:
    """Yield what is wrong with the tools a case brings, beyond what makes them unusable."""
    for entry in case.own_tools:
        for where, source in schema_patterns(entry["parameters"]):
            if is_trap(source):
                yield f"tools: {entry['name']}: {where}: {source!r} {TRAP}"


def lint_replies(case: Case, contract: Contract) -> Iterator[str]:
    """Yield answers that no question of the model can bring out."""
    expectations = (case.expect, *(turn.expect for turn in case.turns))
    for turn, expect in enumerate(expectations):
        at = f"turns[{turn - 1}].on_ask" if turn else "on_ask"
        offered = contract.offered(case.offered(contract.by_name, turn))
        arguments = {name for tool in offered for name in tool.properties}
        for slot, reply in case.replies(turn).items():
            if slot not in arguments and not reply.words:
                yield f"{at}.{slot}: no tool on offer has such an argument, and no words ask for it"
        if case.replies(turn) and expect.kinds == ("clarification",):
            yield f"{at}: a question is the end here; its answer belongs to the next turn"
        before = expectations[turn - 1]
        if turn and not case.turns[turn - 1].user and "clarification" not in before.kinds:
            yield f"turns[{turn - 1}]: without `user` it answers a question, and none is expected before"


def lint_end_state(case: Case, contract: Contract) -> Iterator[str]:
    """Yield objects that no tool can leave behind, and contradictions between them."""
    if case.end_state is None:
        return
    for key in ("written", "never"):
        for index, expected in enumerate(getattr(case.end_state, key)):
            at = f"end_state.{key}[{index}]"
            yield from (f"{at}{reason}" for reason in _impossible(expected, contract))
            yield from (f"{at}.compare.{path}: {reason}" for path, reason in _bad_rules(expected.compare))
    for index, barred in enumerate(case.end_state.never):
        if any(
            one.object == barred.object and fits_object(barred, one.fields) for one in case.end_state.written
        ):
            yield f"end_state.never[{index}]: {barred.object} is to be written and must never be"


def _impossible(expected: ExpectedObject, contract: Contract) -> Iterator[str]:
    tools = [tool for tool in contract.tools if tool.leaves == expected.object]
    if not tools:
        known = ", ".join(sorted({tool.leaves for tool in contract.tools if tool.leaves})) or "nothing"
        yield f".object: no tool writes {expected.object!r} (they write {known})"
        return
    fields = {REMOVED}.union(*(set(tool.properties) | set(tool.writes.get("key", ())) for tool in tools))
    for name in expected.fields:
        if name not in fields:
            yield f".fields: {expected.object} has no {name!r}"
