"""The judge held against people: what it missed and what it wrongly reported, by language and finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from toolbench.domain.canonical import JSON
from toolbench.domain.labels import Said
from toolbench.domain.log import RunLog
from toolbench.errors import InputError
from toolbench.judging.overruling import Said as Labels
from toolbench.judging.score import Verdict
from toolbench.numbers.intervals import wilson
from toolbench.numbers.people import people
from toolbench.numbers.scorer import Scorer

WHOLE = "(attempt)"
"""In place of a code: the attempt as a whole."""


@dataclass(frozen=True)
class Told:
    """What a person and the judge say about one thing: ``pass``, ``fail``, or that it cannot be told."""

    lang: str
    code: str
    person: str
    judge: str


@dataclass(frozen=True)
class Cell:
    """One language and code.

    Attributes
    ----------
    right, alarms
        What people call right, and how much of it the judge fails.
    wrong, misses
        What people call wrong, and how much of it the judge passes.
    review
        How much of both the judge leaves to a person.
    """

    lang: str
    code: str
    right: int
    alarms: int
    wrong: int
    misses: int
    review: int

    def to_json(self) -> dict[str, JSON]:
        """Return the cell with Wilson's 95 % intervals; ``null`` of nothing."""
        ends = {"alarms": wilson(self.alarms, self.right), "misses": wilson(self.misses, self.wrong)}
        return {
            **vars(self),
            **{f"{name}_interval": list(pair) if pair else None for name, pair in ends.items()},
        }


@dataclass(frozen=True)
class Agreement:
    """All cells, the number of labels behind them, and labels that could not be used."""

    cells: tuple[Cell, ...]
    labels: int
    undecided: int
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, JSON]:
        """Return a plain JSON object."""
        return {
            "labels": self.labels,
            "undecided": self.undecided,
            "cells": [cell.to_json() for cell in self.cells],
            "problems": list(self.problems),
        }

    def __str__(self) -> str:
        """A table, a line a language and code."""
        rows = [
            {
                "lang": cell.lang,
                "finding": cell.code,
                "false alarms": _share(cell.alarms, cell.right),
                "misses": _share(cell.misses, cell.wrong),
                "left to a person": cell.review,
            }
            for cell in self.cells
        ]
        table = pd.DataFrame(rows).to_string(index=False) if rows else "(no label to hold it against)"
        return f"{table}\n{self.labels} labels, {self.undecided} of them undecided; brackets: Wilson, 95 %"


def agreement(run: str | Path) -> Agreement:
    """Hold the judge of today against the labels of a run.

    A row of :data:`WHOLE` is about attempts: right ones that fail, wrong ones that pass. A row of a code is
    about that finding: reported where a person sees no fault, or not reported where a person names it. The
    attempt's label is the one about all of it; else it is wrong where a finding is upheld, and right where
    every finding is taken back.

    Raises
    ------
    LogError
        When there is no usable log, or the labels cannot be read.
    InputError
        When nobody has labelled anything.
    """
    log = RunLog.open(Path(run))
    given = people(log)
    if not given.by_attempt and not given.problems:
        raise InputError(f"run {log.header.run_id}: there are no labels; give some in the workbench's review")
    scorer, told = Scorer.of(log.header), list[Told]()
    for attempt in log.attempts:
        said = given.by_attempt.get(attempt.key)
        verdict = scorer.sampled(attempt)[1] if said else None
        if said and verdict is not None:
            told += _told(attempt.lang, said, verdict)
    every = [label for said in given.by_attempt.values() for label in said.values()]
    undecided = sum(label.verdict == "unclear" for label in every)
    return Agreement(tuple(_cells(told)), len(every), undecided, given.problems)


def _told(lang: str, said: Labels, verdict: Verdict) -> Iterator[Told]:
    yield Told(lang, WHOLE, _whole(said, verdict), verdict.outcome)
    for code, label in said.items():
        if code is not None:
            layers = [finding.layer for finding in verdict.findings if finding.code == code]
            judge = "pass" if not layers else "review" if set(layers) == {"review"} else "fail"
            yield Told(lang, code, label.verdict, judge)


def _whole(said: Labels, verdict: Verdict) -> Said:
    """Return what a person's labels say about an attempt as a whole."""
    if None in said:
        return said[None].verdict
    verdicts = {code: label.verdict for code, label in said.items()}
    if "fail" in verdicts.values():
        return "fail"
    return "pass" if all(verdicts.get(code) == "pass" for code in verdict.codes) else "unclear"


def _cells(told: Iterable[Told]) -> Iterator[Cell]:
    groups: dict[tuple[str, str], list[Told]] = {}
    for one in told:
        groups.setdefault((one.lang, one.code), []).append(one)
    for (lang, code), rows in sorted(groups.items()):
        right = [row.judge for row in rows if row.person == "pass"]
        wrong = [row.judge for row in rows if row.person == "fail"]
        if right or wrong:
            yield Cell(
                lang=lang,
                code=code,
                right=len(right),
                alarms=right.count("fail"),
                wrong=len(wrong),
                misses=wrong.count("pass"),
                review=[*right, *wrong].count("review"),
            )


def _share(above: int, below: int) -> str:
    ends = wilson(above, below)
    return f"{above}/{below} [{ends[0]:.1%}, {ends[1]:.1%}]" if ends else "–"
