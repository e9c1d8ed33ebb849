"""Lint of a suite's order rules: do they speak of tools, arguments, results and errors that exist?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolbench.authoring.problem import Document, Problem
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.contract import Contract
from toolbench.domain.patterns import is_trap
from toolbench.domain.rules import Rules
from toolbench.domain.tool_script import Failure, Real, Success, ToolScript
from toolbench.errors import SuiteError
from toolbench.judging.order import is_empty, values_at
from toolbench.running.course_tools import IMPLEMENTATIONS

ORCHESTRATOR_CODES = frozenset({"INVALID_ARGUMENTS", "MALFORMED_RESPONSE", "NOT_SCRIPTED", "UNKNOWN_TOOL"})
"""Error codes that come from the orchestrator and stand in no script."""

TRAP = "takes ever longer on texts that almost match; let no two repetitions share a letter"
"""What is wrong with a pattern whose time explodes."""
NOT_PORTABLE = re.compile(r"\\[pP]\{|\(\?P|\(\?<[A-Za-z]|\(\?[aiLmsux-]+[):]")
"""Not portable between regular expression dialects: \\p, named groups, inline flags."""


def lint_rules(document: Document, contract: Contract, script: ToolScript) -> Iterator[Problem]:
    """Yield what is wrong with a schema-valid ``rules.json``."""
    rules = Rules.from_json(document.value)
    for path, name in _named_tools(rules):
        if name not in contract.by_name and not (name == "START" and path[0] == "transitions"):
            yield document.problem(path, unknown_tool(name, contract))
    codes = _codes(script)
    for code in rules.stop_after_error:
        if code not in codes | ORCHESTRATOR_CODES and not script.remote:
            yield document.problem(("stop_after_error", code), f"no executor rule answers with {code}")
    yield from _unreachable(document, rules, contract)
    yield from _without_effect(document, rules, contract, script)
    for place, argument, name, result_path in _sources_in_results(rules):
        owner = contract.by_name.get(str(place[1]))
        if argument is not None and owner is not None and argument not in owner.properties:
            yield document.problem(place, f"{owner.name} has no argument {argument!r}")
        if name not in contract.by_name:
            yield document.problem(place, unknown_tool(name, contract))
            continue
        known = _result_paths(name, script)
        if known and result_path not in known:
            yield document.problem(
                place, f"no result of {name} has {result_path!r} (there are {', '.join(sorted(known))})"
            )


def _codes(script: ToolScript) -> set[str]:
    """Return every error code a script, or a real tool it names, can answer with."""
    found: set[str] = set()
    for result in script.results():
        if isinstance(result, Failure):
            found.add(result.error.code)
        elif isinstance(result, Real) and result.name in IMPLEMENTATIONS:
            found |= set(IMPLEMENTATIONS[result.name].codes)
    return found


def _unreachable(document: Document, rules: Rules, contract: Contract) -> Iterator[Problem]:
    """Yield tools that the rules never let run."""
    reached: set[str] = set()
    waiting = ["START"]
    while waiting:
        # A tool without an entry may be followed by anything.
        following = set(rules.transitions.get(waiting.pop(), contract.by_name)) - reached
        reached |= following
        waiting += following
    for name in contract.by_name:
        if name not in reached:
            yield document.problem(("transitions",), f"no sequence of calls from START reaches {name}")
    for name in rules.requires:
        if name in _needed_for(name, rules):
            yield document.problem(("requires", name), f"{name} requires itself, so it can never run")


def _needed_for(tool: str, rules: Rules) -> set[str]:
    needed: set[str] = set()
    waiting = [*rules.needed(tool)]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += rules.needed(name)
    return needed


def _without_effect(
    document: Document, rules: Rules, contract: Contract, script: ToolScript
) -> Iterator[Problem]:
    """Yield rules that no scripted result can ever bring into play, or that nothing enforces."""
    for name in rules.stop_after_empty:
        results = _ok_results(name, script)
        if results and not any(map(is_empty, results)):
            yield document.problem(("stop_after_empty", name), f"no scripted result of {name} is empty")
    for name, conditions in rules.unless.items():
        for index, rule in enumerate(conditions):
            values = [v for one in _ok_results(rule.tool, script) for v in values_at(one, rule.path)]
            if values and canonical_json(rule.equals) not in map(canonical_json, values):
                reason = f"no result of {rule.tool} has {rule.equals!r} there, so {name} can never run"
                yield document.problem(("unless", name, index), reason)
    for name, limit in rules.repeats.items():
        enforced = [rule.every_seconds for rule in script.of(name)]
        if enforced and limit.every_seconds > max(enforced):
            reason = f"no executor rule of {name} keeps calls {limit.every_seconds:g} s apart"
            yield document.problem(("repeats", name, "every_seconds"), reason)
    for index, name in enumerate(rules.confirm):
        if name in contract.by_name and contract.by_name[name].effect == "read":
            yield document.problem(("confirm", index), f"{name} only reads, there is nothing to confirm")


def _named_tools(rules: Rules) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for key in ("transitions", "requires", "repeats", "unless", "depends_on_result", "stop_after_empty"):
        yield from (((key, name), name) for name in getattr(rules, key))
    for key in ("transitions", "requires", "stop_after_error", "stop_after_empty"):
        for owner, names in getattr(rules, key).items():
            yield from (((key, owner, index), name) for index, name in enumerate(names))
    yield from ((("confirm", index), name) for index, name in enumerate(rules.confirm))


def _sources_in_results(
    rules: Rules,
) -> Iterator[tuple[tuple[str | int, ...], str | None, str, str]]:
    """Yield ``(place, argument or None, tool, path in its result)`` of every reference to a result."""
    for owner, sources in rules.depends_on_result.items():
        for argument, source in sources.items():
            yield ("depends_on_result", owner, argument), argument, source.tool, source.path
    for owner, conditions in rules.unless.items():
        for index, condition in enumerate(conditions):
            yield ("unless", owner, index), None, condition.tool, condition.path


def _ok_results(tool: str, script: ToolScript) -> list[JSON]:
    """Return every successful result a script has for a tool; none at all when a real tool answers."""
    results = [result for rule in script.of(tool) for result in rule.results]
    if any(isinstance(result, Real) for result in results):
        return []
    return [result.value for result in results if isinstance(result, Success)]


def _result_paths(tool: str, script: ToolScript) -> set[str]:
    """Return every path in the scripted results of a tool, ``[]`` standing for any list item."""
    return {path for value in _ok_results(tool, script) for path in _paths(value, "") if path}


def _paths(value: JSON, at: str) -> Iterator[str]:
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, f"{at}.{key}" if at else key)
    if isinstance(value, list):
        for inner in value:
            yield from _paths(inner, f"{at}[]")


def lint_regex(document: Document, at: tuple[str | int, ...], pattern: JSON) -> Iterator[Problem]:
    """Yield why a pattern cannot be used."""
    if not isinstance(pattern, str):
        yield document.problem(at, "a pattern is a string")
    elif NOT_PORTABLE.search(pattern):
        yield document.problem(at, f"{pattern!r} is not portable (no \\p, named group or inline flag)")
    else:
        try:
            trap = is_trap(pattern)
        except SuiteError as fault:
            yield document.problem(at, str(fault))
        else:
            if trap:
                yield document.problem(at, f"{pattern!r} {TRAP}")


def unknown_tool(name: str, contract: Contract) -> str:
    """Return the reason for a name that the contract lacks."""
    return f"unknown tool {name!r} (the contract has {', '.join(contract.by_name)})"
