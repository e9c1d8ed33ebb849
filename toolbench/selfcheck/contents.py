"""``toolbench selfcheck``: proof, without a network and in seconds, that the bench measures models.

Adapters are held against recorded replies and contracts; the judge against conversations whose right verdict
is known: broken ones, correct ones broken in every applicable way, correct ones told differently, perfect
ones; and against replies that people wrote and labelled.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case
from toolbench.domain.extensions import KINDS, is_local
from toolbench.domain.program import program
from toolbench.domain.suite import Suite, find_suite
from toolbench.errors import SuiteError, ToolbenchError
from toolbench.selfcheck import judge_checks, wire_checks
from toolbench.selfcheck.corpus import labelled_replies
from toolbench.selfcheck.section import Section
from toolbench.selfcheck.traces import trace_suite

SAMPLE = "sample: one case of every class of each suite, the languages in turn"
EVERY_CASE = "every case"
ELSEWHERE = ("mutation_score", "labelled_replies")
"""Sections that another process does where there are two processors: half of the work."""


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
    contents = Contents.of(root, every_case)
    alone = (os.cpu_count() or 1) < 2 or is_local(*KINDS)
    with _elsewhere(root, every_case, () if alone else ELSEWHERE) as others:
        done = {name: work() for name, work in contents.sections.items() if alone or name not in ELSEWHERE}
        done |= others()
    sections = tuple(done[name] for name in contents.sections)
    names = tuple(suite.name for suite in contents.suites)
    return SelfcheckResult(sections, names, round(time.monotonic() - started, 2))


@dataclass(frozen=True)
class Contents:
    """The suites that are checked, and the sections by name."""

    suites: tuple[Suite, ...]
    sections: Mapping[str, Callable[[], Section]]

    @classmethod
    def of(cls, root: Path, every_case: bool) -> Contents:
        """Return what there is to check under a folder."""
        suites = [*_suites(root), trace_suite()]
        sample = EVERY_CASE if every_case else SAMPLE
        chosen = [(suite, suite.cases if every_case else sampled(suite.cases)) for suite in suites]
        return cls(
            tuple(suites),
            {
                "adapter_fixtures": wire_checks.adapter_fixtures,
                "sent_schemas": partial(wire_checks.sent_schemas, suites),
                "no_tools_control": partial(wire_checks.no_tools_control, suites),
                "second_turns": wire_checks.second_turns,
                "validator_mutations": partial(judge_checks.validator_mutations, suites),
                "broken_traces": judge_checks.broken_conversations,
                "perfect_player": partial(judge_checks.perfect_player, suites),
                "mutation_score": partial(judge_checks.breakage_score, chosen, sample),
                "false_alarm_rate": partial(judge_checks.false_alarm_rate, chosen, sample),
                "labelled_replies": partial(labelled_replies, root),
            },
        )


@contextmanager
def _elsewhere(
    root: Path, every_case: bool, names: Sequence[str]
) -> Iterator[Callable[[], dict[str, Section]]]:
    """Do sections in a program beside this one; yields what waits for them."""
    if not names:
        yield dict
        return
    command, environment = program("toolbench.selfcheck.sections_process")
    told = [*command, str(root), str(every_case), *names]
    with subprocess.Popen(told, stdout=subprocess.PIPE, env=environment) as process:

        def wait() -> dict[str, Section]:
            given, _ = process.communicate()
            if process.returncode:
                raise ToolbenchError(
                    f"selfcheck: the process for {', '.join(names)} ended with {process.returncode}"
                )
            found: dict[str, Section] = pickle.loads(given)
            return found

        try:
            yield wait
        except BaseException:
            process.kill()
            raise


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
