"""``toolbench selfcheck``: proof, without a network and in seconds, that the bench measures models.

Adapters are held against recorded replies and contracts; the judge against conversations whose right verdict
is known: broken ones, correct ones broken in every applicable way, correct ones told differently, perfect
ones; and against replies that people wrote and labelled.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case
from toolbench.domain.suite import Suite, find_suite
from toolbench.errors import SuiteError
from toolbench.selfcheck import judge_checks, wire_checks
from toolbench.selfcheck.corpus import labelled_replies
from toolbench.selfcheck.section import Section
from toolbench.selfcheck.traces import trace_suite

SAMPLE = "sample: one case of every class of each suite, the languages in turn"
EVERY_CASE = "every case"


@dataclass(frozen=True)
class SelfcheckResult:
    """What a selfcheck found."""

    sections: tuple[Section, ...]
    suites: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether every section is."""
        return all(section.ok for section in self.sections)

    def to_json(self) -> dict[str, JSON]:
        """Return a plain JSON object: ``ok``, ``seconds``, ``suites`` and the sections by name."""
        return {
            "ok": self.ok,
            "seconds": self.seconds,
            "suites": list(self.suites),
            "sections": {section.name: section.to_json() for section in self.sections},
        }

    def text(self) -> str:
        """Return the result for people, one block a section."""
        failed = [section.name for section in self.sections if not section.ok]
        verdict = f"FAILED: {', '.join(failed)}" if failed else "all sections ok"
        lines = [line for section in self.sections for line in section.lines()]
        lines.append(f"selfcheck of {', '.join(self.suites)}: {verdict} in {self.seconds:.1f} s")
        return "\n".join(lines)


def selfcheck(root: Path, *, every_case: bool = False) -> SelfcheckResult:
    """Check adapters and judge.

    Parameters
    ----------
    root
        Folder with ``contracts/`` and ``cases/``; every suite there is checked, and the small one that comes
        with the package.
    every_case
        Break and vary every case instead of the stated sample (a minute or two instead of seconds).

    Raises
    ------
    SuiteError
        When there is no suite under ``root``, or one cannot be loaded.
    """
    started = time.monotonic()
    suites = [*_suites(root), trace_suite()]
    sample = EVERY_CASE if every_case else SAMPLE
    chosen = [(suite, suite.cases if every_case else sampled(suite.cases)) for suite in suites]
    sections = (
        wire_checks.adapter_fixtures(),
        wire_checks.sent_schemas(suites),
        wire_checks.no_tools_control(suites),
        wire_checks.second_turns(),
        judge_checks.validator_mutations(suites),
        judge_checks.broken_conversations(),
        judge_checks.perfect_player(suites),
        judge_checks.breakage_score(chosen, sample),
        judge_checks.false_alarm_rate(chosen, sample),
        labelled_replies(root),
    )
    names = tuple(suite.name for suite in suites)
    return SelfcheckResult(sections, names, round(time.monotonic() - started, 2))


def _suites(root: Path) -> Iterator[Suite]:
    names = sorted(path.parent.name for path in root.glob("contracts/*/tools.json"))
    if not names:
        raise SuiteError(f"{root}: no contracts/*/tools.json; give the folder with contracts/ and cases/")
    return (find_suite(root, name) for name in names)


def sampled(cases: Sequence[Case]) -> list[Case]:
    """Return the first case of every class, the languages in turn."""
    classes = list(dict.fromkeys(case.klass for case in cases))
    langs = sorted({case.lang for case in cases})
    chosen = []
    for index, klass in enumerate(classes):
        of_class = [case for case in cases if case.klass == klass]
        due = langs[index % len(langs)]
        chosen.append(next((case for case in of_class if case.lang == due), of_class[0]))
    return chosen
