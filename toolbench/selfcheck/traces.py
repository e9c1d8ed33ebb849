"""Deliberately broken conversations, each with the codes that explain it: exactly these and no others.

They are data (``traces.json``) over a small suite of their own, so that they prove the judge wherever the
package is installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import loads_strict
from toolbench.domain.case import Case
from toolbench.domain.suite import Suite
from toolbench.selfcheck.rehearse import Move, judge

SOURCE = "traces.json"


@dataclass(frozen=True)
class BrokenTrace:
    """One conversation that went wrong; ``why`` says how, ``codes`` are all codes that must be reported."""

    name: str
    case: Case
    why: str
    script: tuple[Move, ...]
    codes: frozenset[str]

    def reported(self) -> frozenset[str]:
        """Return the codes that are reported."""
        return frozenset(judge(trace_suite(), self.case, self.script).codes)


@cache
def trace_suite() -> Suite:
    """Return the small suite behind the traces."""
    return Suite.from_snapshot(_data()["suite"], SOURCE)


def broken_traces() -> Sequence[BrokenTrace]:
    """Return all broken traces."""
    cases = {case.id: case for case in trace_suite().cases}
    return [
        BrokenTrace(
            entry["name"],
            cases[entry["case"]],
            entry["why"],
            tuple(Move.from_json(move) for move in entry["moves"]),
            frozenset(entry["codes"]),
        )
        for entry in _data()["traces"]
    ]


@cache
def _data() -> Mapping[str, Any]:
    text = resources.files("toolbench.selfcheck").joinpath(SOURCE).read_text(encoding="utf-8")
    data: Mapping[str, Any] = loads_strict(text)
    return data
