"""Fault injection: the same question, and a tool that fails in a chosen way.

Cases that start after a tool's answer are given another answer: a fault. What is expected then follows from
the fault alone: no further call, an answer that admits the failure and claims nothing that was not done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import JSON, loads_strict
from toolbench.domain.case import Case
from toolbench.domain.suite import Suite
from toolbench.domain.tool_script import ToolScript
from toolbench.experiments.run_source import Refusal

SEPARATOR = "+"
EXPECT: Mapping[str, JSON] = {
    "kind": ["text", "clarification"],
    "must_not_call": True,
    "recovery": {"kind": ["text", "clarification"]},
}


@cache
def known() -> Mapping[str, Mapping[str, Any]]:
    """Return fault → the error that a tool answers with, as in an executor script."""
    text = resources.files("toolbench.experiments").joinpath("faults.json").read_text("utf-8")
    found: Mapping[str, Mapping[str, Any]] = loads_strict(text)["faults"]
    return found


def inject(suite: Suite, fault: str) -> Suite:
    """Return a suite, called ``<suite>+<fault>``, in which every tool answers with one fault.

    It has the suite's cases that start after the answer to one call and nothing else.

    Raises
    ------
    Refusal
        For an unknown fault.
    """
    if fault not in known():
        raise Refusal(f"no fault {fault!r}; there are: {', '.join(known())}")
    results = [{"error": dict(known()[fault])}]
    script = {
        "version": f"{suite.executor.version}{SEPARATOR}{fault}",
        "rules": [{"tool": tool.name, "results": results} for tool in suite.contract.tools],
    }
    executor = ToolScript.from_json(script)
    name = f"{suite.name}{SEPARATOR}{fault}"
    return replace(suite, name=name, executor=executor, cases=tuple(_cases(suite.cases)))


def _cases(cases: Sequence[Case]) -> Iterator[Case]:
    for case in cases:
        calls = [call for message in case.messages for call in message.get("tool_calls", ())]
        if case.starts_after_result and len(calls) == 1:
            kept = {key: value for key, value in case.source.items() if key not in ("expect", "turns")}
            yield Case.from_json({**kept, "expect": EXPECT})


def split(suite: str) -> tuple[str, str]:
    """Return a suite's own name and the fault injected into it (empty: none)."""
    name, _, fault = suite.partition(SEPARATOR)
    return name, fault
