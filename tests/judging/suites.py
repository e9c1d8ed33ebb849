"""The suites that the proof runs over, loaded once."""

from __future__ import annotations

from pathlib import Path

from toolbench.domain.case import Case
from toolbench.domain.suite import Suite, find_suite
from toolbench.selfcheck.traces import trace_suite

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.parent.name for path in ROOT.glob("contracts/*/tools.json"))
SUITES: dict[str, Suite] = {name: find_suite(ROOT, name) for name in NAMES} | {"studio": trace_suite()}


def one_of_each(suite: Suite) -> list[Case]:
    """Return the first case of every class and language."""
    first: dict[tuple[str, str], Case] = {}
    for case in suite.cases:
        first.setdefault((case.lang, case.klass), case)
    return list(first.values())
