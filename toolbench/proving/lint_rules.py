"""Lint of a suite's order rules: do they speak of tools, arguments, results and errors that exist?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.contract import Contract
from toolbench.proving.problem import Document, Problem

ORCHESTRATOR_CODES = frozenset({"INVALID_ARGUMENTS", "MALFORMED_RESPONSE", "NOT_SCRIPTED", "UNKNOWN_TOOL"})
"""Error codes that come from the orchestrator and stand in no script."""

NOT_PORTABLE = re.compile(r"\\[pP]\{|\(\?P|\(\?<[A-Za-z]|\(\?[aiLmsux-]+[):]")
"""Not portable between regular expression dialects: \\p, named groups, inline flags."""


def lint_rules(document: Document, contract: Contract, executor: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with a schema-valid ``rules.json``."""
    rules = document.value
    for path, name in _named_tools(rules):
        if name not in contract.by_name and not (name == "START" and path[0] == "transitions"):
            yield document.problem(path, unknown_tool(name, contract))
    codes = {
        result["error"]["code"]
        for rule in executor.get("rules", ())
        for result in rule["results"]
        if "error" in result
    }
    for code in rules.get("stop_after_error", {}):
        if code not in codes | ORCHESTRATOR_CODES:
            yield document.problem(("stop_after_error", code), f"no executor rule answers with {code}")
    for place, argument, name, result_path in _sources_in_results(rules):
        owner = contract.by_name.get(str(place[1]))
        if argument is not None and owner is not None and argument not in owner.properties:
            yield document.problem(place, f"{owner.name} has no argument {argument!r}")
        if name not in contract.by_name:
            yield document.problem(place, unknown_tool(name, contract))
            continue
        known = _result_paths(name, executor)
        if known and result_path not in known:
            yield document.problem(
                place, f"no result of {name} has {result_path!r} (there are {', '.join(sorted(known))})"
            )
    for name, claim in rules.get("claims", {}).items():
        for lang, patterns in claim["patterns"].items():
            for index, pattern in enumerate(patterns):
                yield from lint_regex(document, ("claims", name, "patterns", lang, index), pattern)


def _named_tools(rules: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for key in ("transitions", "requires", "repeats", "unless", "depends_on_result", "stop_after_empty"):
        yield from (((key, name), name) for name in rules.get(key, ()))
    for key in ("transitions", "requires", "stop_after_error", "stop_after_empty"):
        for owner, names in rules.get(key, {}).items():
            yield from (((key, owner, index), name) for index, name in enumerate(names))
    yield from ((("confirm", index), name) for index, name in enumerate(rules.get("confirm", ())))
    for claim, body in rules.get("claims", {}).items():
        tools = enumerate(body.get("licensed_by", ()))
        yield from ((("claims", claim, "licensed_by", index), name) for index, name in tools)


def _sources_in_results(
    rules: Mapping[str, Any],
) -> Iterator[tuple[tuple[str | int, ...], str | None, str, str]]:
    """Yield ``(place, argument or None, tool, path in its result)`` of every reference to a result."""
    for owner, sources in rules.get("depends_on_result", {}).items():
        for argument, source in sources.items():
            name, _, path = source.partition(".")
            yield ("depends_on_result", owner, argument), argument, name, path
    for owner, conditions in rules.get("unless", {}).items():
        for index, condition in enumerate(conditions):
            yield ("unless", owner, index), None, condition["tool"], condition["path"]


def _result_paths(tool: str, executor: Mapping[str, Any]) -> set[str]:
    """Return every path in the scripted results of a tool, ``[]`` standing for any list item."""
    results = (
        result for rule in executor.get("rules", ()) if rule["tool"] == tool for result in rule["results"]
    )
    return {path for result in results if "ok" in result for path in _paths(result["ok"], "") if path}


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
            re.compile(pattern)
        except re.error as fault:
            yield document.problem(at, f"{pattern!r} is not a regular expression: {fault}")


def unknown_tool(name: str, contract: Contract) -> str:
    """Return the reason for a name that the contract lacks."""
    return f"unknown tool {name!r} (the contract has {', '.join(contract.by_name)})"
