"""From the attempts of two sides to one number a case and side, and what lost attempts could have changed.

Every case counts once and alike, however many of its repetitions came through: attempts that one side lost
cannot shift its figure towards the easy cases. What they could still hide is bounded: the difference if every
lost attempt had gone against the right side, and if every one had gone for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from toolbench.domain.plurals import plural
from toolbench.numbers.definitions import CACHED, MEANS, Mean, Rate
from toolbench.numbers.metrics import with_judged
from toolbench.numbers.paired import Pairs
from toolbench.numbers.tables import counted, part_of
from toolbench.numbers.weighing import Vector

LOST_AT_MOST = 0.02
"""Share of attempts lost up to which they are passed over; above it a verdict must hold at both extremes.

Measured by ``tests/bench/coverage.py``: where one of two equal sides loses nothing but failures, 1 to 6 % of
the runs have p < 5 %, up to this share and above it.
"""

Metric = Rate | Mean


@dataclass(frozen=True)
class Loss:
    """Attempts at the paired cases that have no score.

    Attributes
    ----------
    cases, attempts, planned
        Cases that lost some, how many were lost on both sides together, and how many were planned.
    extremes
        The pairs if all lost attempts had spoken for the left side, and if all had for the right one;
        ``None`` where they need not count in the metric at all.
    """

    cases: int
    attempts: int
    planned: int
    extremes: tuple[Pairs, Pairs] | None

    @property
    def bounds(self) -> tuple[float, float]:
        """The difference at both extremes; NaN where there are none."""
        return (self.extremes[0].delta, self.extremes[1].delta) if self.extremes else (np.nan, np.nan)

    @property
    def matters(self) -> bool:
        """Whether so much was lost that a verdict must hold at both extremes."""
        return self.attempts > LOST_AT_MOST * self.planned


class Faced:
    """The cases of a group on two sides: sums per case, and attempts planned and lost.

    Parameters
    ----------
    left, right
        Attempts and plan of each side's group.
    """

    def __init__(
        self,
        left: tuple[pd.DataFrame, pd.DataFrame],
        right: tuple[pd.DataFrame, pd.DataFrame],
        metrics: Sequence[Metric],
    ) -> None:
        self._made = [_judged(attempts) for attempts, _ in (left, right)]
        self.scored = [made[made["scored"]] for made in self._made]
        sums = [counted(frame, metrics).groupby(frame["case_id"], sort=True).sum() for frame in self.scored]
        hashes = [made.groupby("case_id", sort=True)["case_hash"].first() for made in self._made]
        both = hashes[0].index.intersection(hashes[1].index)
        self._changed = both[(hashes[0][both] != hashes[1][both]).to_numpy(dtype=bool)]
        seen = [frame.index.difference(self._changed) for frame in sums]
        self.cases = seen[0].intersection(seen[1], sort=True)
        self._sides_only = [seen[0].difference(seen[1]), seen[1].difference(seen[0])]
        self._sums = sums
        cached = [frame[frame["status"] == CACHED].groupby("case_id").size() for frame, _ in (left, right)]
        self._planned = [
            plan.groupby("case_id").size().sub(again, fill_value=0)
            for (_, plan), again in zip((left, right), cached, strict=True)
        ]

    @property
    def unpaired(self) -> list[str]:
        """Lines on the cases left out."""
        counts = {
            "only the left side has a scored attempt of": len(self._sides_only[0]),
            "only the right side has a scored attempt of": len(self._sides_only[1]),
            "the sides have different versions of": len(self._changed),
        }
        return [f"{text} {plural(number, 'case')}, left out" for text, number in counts.items() if number]

    def pairs(self, metric: Metric) -> Pairs:
        """Return the mean of a metric in every case that has it on both sides."""
        left, right = (self._shares(side, metric, self.cases) for side in (0, 1))
        known = np.isfinite(left) & np.isfinite(right)
        scenarios = self._facts.loc[self.cases[known], "scenario"].to_numpy(dtype=str)
        return Pairs(left[known], right[known], scenarios, 1.0 if isinstance(metric, Rate) else None)

    def loss(self, metric: Metric) -> Loss:
        """Return what the sides lost of the cases that the metric is about."""
        cases = self._concerned(metric)
        lost = [self._lost(side, cases, metric) for side in (0, 1)]
        planned = sum(
            int(np.maximum(self._count(self._planned[side], cases), lost[side]).sum()) for side in (0, 1)
        )
        counts = {
            "cases": int(((lost[0] + lost[1]) > 0).sum()),
            "attempts": int((lost[0] + lost[1]).sum()),
            "planned": planned,
        }
        if not isinstance(metric, Rate) or metric.due is None:
            return Loss(**counts, extremes=None)
        ends = []
        for side in (0, 1):
            above = self._count(self._sums[side][part_of(metric.name, "above")], cases)
            all_ = self._count(self._sums[side][part_of(metric.name, "below")], cases) + lost[side]
            with np.errstate(invalid="ignore", divide="ignore"):
                ends.append((above / all_, (above + lost[side]) / all_))
        known = np.isfinite(ends[0][0]) & np.isfinite(ends[1][0])
        if not known.any():
            return Loss(**counts, extremes=None)
        scenarios = self._facts.loc[cases[known], "scenario"].to_numpy(dtype=str)
        (left_low, left_high), (right_low, right_high) = ends
        lowest = Pairs(left_high[known], right_low[known], scenarios)
        highest = Pairs(left_low[known], right_high[known], scenarios)
        return Loss(**counts, extremes=(lowest, highest))

    @cached_property
    def _facts(self) -> pd.DataFrame:
        """What is known of every case, from the first attempt that either side made."""
        return pd.concat(self._made).groupby("case_id", sort=True).first()

    def _concerned(self, metric: Metric) -> pd.Index:
        """Return the paired cases, and those that one side lost altogether, where the metric is due."""
        asked = [self._askable(side) for side in (0, 1)]
        cases = self.cases.union(self._sides_only[0].intersection(asked[1])).union(
            self._sides_only[1].intersection(asked[0])
        )
        if isinstance(metric, Rate) and metric.due is not None:
            cases = cases[np.asarray(self._facts.loc[cases, metric.due], dtype=bool)]
        return cases

    def _askable(self, side: int) -> pd.Index:
        """Return the cases planned on a side, without those that it cannot be asked at all."""
        made = self._made[side]
        asked = set(made.loc[made["status"] != "unsupported", "case_id"])
        refused = [case for case in made["case_id"].unique() if case not in asked]
        return self._planned[side].index.difference(refused)

    def _lost(self, side: int, cases: pd.Index, metric: Metric) -> Vector:
        """Return the attempts without a score, and of what wording decides those left to a person."""
        scored = self._count(self.scored[side].groupby("case_id").size(), cases)
        unscored = np.maximum(self._count(self._planned[side], cases) - scored, 0)
        return unscored + self._count(self._sums[side][part_of(metric.name, "open")], cases)

    def _shares(self, side: int, metric: Metric, cases: pd.Index) -> Vector:
        sums = self._sums[side].loc[cases]
        with np.errstate(invalid="ignore", divide="ignore"):
            above, below = (sums[part_of(metric.name, part)].to_numpy(float) for part in ("above", "below"))
            found: Vector = above / below
        return found

    @staticmethod
    def _count(values: pd.Series[int] | pd.Series[float], cases: pd.Index) -> Vector:
        return np.asarray(values.reindex(cases, fill_value=0), dtype=np.float64)


def _judged(attempts: pd.DataFrame) -> pd.DataFrame:
    made = with_judged(attempts)
    made = made[made["judged"]]
    known = {mean.denominator: made[mean.numerator].notna().astype(float) for mean in MEANS}
    return made.assign(**known)
