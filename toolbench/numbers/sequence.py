"""When to stop asking: an interval for a mean difference that holds at every look, however often one looks.

An ordinary 95 % interval that is looked at after every round misses the truth in far more than 5 % of runs. A
*confidence sequence* misses it, at whatever round, in at most 5 %. This is the betting one of Waudby-Smith
and Ramdas (2024, JRSS B 86:1-27, arXiv 2010.09686): nobody who bets fairly against the true mean grows rich
(Ville's inequality), so the means against which nobody has grown rich are the interval.

A round is one repetition of all cases on both sides; every case is bet on with the same stake. Its own mean
difference need not be the common one: the product of the cases' expected gains is at most what it is when all
are equal to their mean (the geometric mean is below the arithmetic one), so that the bet stays fair for the
mean over these cases. A pair that lost an attempt counts against every bet that it could have won.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import pandas as pd

from toolbench.errors import InputError
from toolbench.numbers.frames import UNTIL, ScoredRun
from toolbench.numbers.sides import part_of, select
from toolbench.numbers.weighing import Vector

Stop = Literal["differs", "narrow", "budget"]
LEVEL = 0.95
LABEL = UNTIL
CASE = ["suite", "lang", "case_id"]
_MEANS = np.linspace(-1, 1, 803)[1:-1]
_STAKES = np.geomspace(0.02, 0.75, 16)
"""Shares of what may be staked without ruin: one gambler each, and their mean is what counts."""

Differences = tuple[Vector, Vector]
"""Of every case of a round the least and the greatest difference that it can have had."""


@dataclass(frozen=True)
class Rule:
    """When a sequential run ends, fixed before its first request.

    Attributes
    ----------
    left, right
        The sides: columns and values like ``model=a``.
    budget
        Rounds (repetitions) after which it ends in any case.
    width
        Width of the interval that is narrow enough; 0 to go on until the sides differ.
    """

    left: str
    right: str
    budget: int
    width: float = 0.0

    def __str__(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read the text of a header's label."""
        return cls(**json.loads(text))


def confidence_sequence(rounds: Sequence[Differences]) -> list[tuple[float, float]]:
    """Return the interval of the mean difference after every round; it never widens."""
    up = _STAKES[:, None] / (1 + _MEANS)
    down = _STAKES[:, None] / (1 - _MEANS)
    gains = np.zeros((2, *up.shape))
    low, high, path = -1.0, 1.0, []
    step = _MEANS[1] - _MEANS[0]
    for least, greatest in rounds:
        for value, number in zip(*np.unique(least, return_counts=True), strict=True):
            gains[0] += number * np.log1p(up * (value - _MEANS))
        for value, number in zip(*np.unique(greatest, return_counts=True), strict=True):
            gains[1] += number * np.log1p(-down * (value - _MEANS))
        wealth = np.exp(np.minimum(gains, 700)).mean(axis=(0, 1))
        kept = _MEANS[wealth < 1 / (1 - LEVEL)]
        if len(kept):
            low, high = max(low, float(kept[0] - step)), min(high, float(kept[-1] + step))
        path.append((low, high))
    return path


def stops(rule: Rule, path: Sequence[tuple[float, float]]) -> Stop | None:
    """Return why a run with this path ends now, ``None`` while it goes on."""
    low, high = path[-1]
    if low > 0 or high < 0:
        return "differs"
    if high - low <= rule.width:
        return "narrow"
    return "budget" if len(path) >= rule.budget else None


def path_of(scored: ScoredRun, rule: Rule) -> list[tuple[float, float]]:
    """Return the interval of a run's two sides after each of its rounds.

    Raises
    ------
    InputError
        When a side is not in the run, or is more than one player under one condition.
    """
    sides = []
    for text in (rule.left, rule.right):
        side = select(scored, **part_of(text))
        if len(side.signatures) > len({(key[3], key[4]) for key in side.signatures}):
            several = ", ".join("/".join(key) for key in side.signatures)
            raise InputError(f"until: {text} is several sides: {several}; choose one")
        sides.append(side.attempts)
    return confidence_sequence(rounds_of(*sides))


def rounds_of(left: pd.DataFrame, right: pd.DataFrame) -> list[Differences]:
    """Return the differences of every round that both sides have begun, from frames of attempts."""
    rounds = []
    if left.empty or right.empty:
        return []
    for repetition in range(1 + int(min(left["repetition"].max(), right["repetition"].max()))):
        sides = [side[side["repetition"] == repetition].set_index(CASE)["passed"] for side in (left, right)]
        cases = sides[0].index.union(sides[1].index)
        ours, theirs = (side.reindex(cases).to_numpy(dtype=float) for side in sides)
        least = np.nan_to_num(theirs, nan=0.0) - np.nan_to_num(ours, nan=1.0)
        greatest = np.nan_to_num(theirs, nan=1.0) - np.nan_to_num(ours, nan=0.0)
        rounds.append((least, greatest))
    return rounds
