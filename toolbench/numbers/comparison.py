"""What a comparison comes to: its table, its cases, and how it shows itself."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from toolbench.domain.canonical import JSON
from toolbench.domain.rich import html_table
from toolbench.numbers.definitions import MEANS, RATES
from toolbench.numbers.tables import records

TABLE = {
    "before": "str",
    "after": "str",
    "metric": "str",
    "left": "float64",
    "right": "float64",
    "delta": "float64",
    "ci_low": "float64",
    "ci_high": "float64",
    "p": "float64",
    "p_holm": "float64",
    "test": "str",
    "cases": "int64",
    "clusters": "int64",
    "differing": "int64",
    "lost": "int64",
    "lost_cases": "int64",
    "lowest": "float64",
    "highest": "float64",
    "detectable": "float64",
    "clusters_needed": "float64",
}


@dataclass(frozen=True)
class Comparison:
    """What sides differ in: two of them, or several pairs that are corrected together.

    Attributes
    ----------
    sides
        Labels of the left and the right side of every pair.
    shared
        Group columns that both sides of a pair have in common, in ``table`` and ``cases``.
    primary
        The metric that decides.
    table
        One row per pair of groups and metric: the shared group columns, ``before``, ``after`` (labels of the
        sides), ``metric``, then

        ``left, right, delta``
            Means over the paired cases, each counted once, and right minus left.
        ``ci_low, ci_high, p, test``
            95 % interval and p of the difference, two readings of one distribution, and how they were found;
            missing, with the reason as ``test``, where nothing can be told (the interval alone where there
            are fewer than ten scenarios).
        ``p_holm``
            Holm's correction over the primary metric of every model (baselines only where there is no
            model): a family that is known before the run.
        ``cases, clusters, differing``
            Cases with a figure on both sides, the scenarios they are variants of, and how many of these
            differ.
        ``lost, lost_cases, lowest, highest``
            Attempts that have no score, cases that lost some, and the difference if all of them had spoken
            for the left side or for the right one.
        ``detectable, clusters_needed``
            Of the primary metric: the smallest true loss that such a run shows with 80 % power, and the
            scenarios that a difference like this one takes; missing where no number of them would do.
    cases
        One row per paired case: the shared group columns, ``before``, ``after``, ``case_id``, ``scenario``,
        ``case_class``, ``left_passed``, ``left_n``, ``right_passed``, ``right_n``, ``outcome`` (``both``,
        ``only left``, ``only right``, ``neither``; a side has a case when more than half of its scored
        repetitions pass), ``within`` and ``between`` (how likely two repetitions of one side, and one of
        each, behave differently), ``codes`` and ``reasons`` of the side that fails (of the right one when
        both do).
    unpaired, warnings
        Lines on groups and cases left out, and on too few cases or repetitions.
    """

    sides: tuple[tuple[str, str], ...]
    factors: tuple[str, ...]
    shared: tuple[str, ...]
    primary: str
    table: pd.DataFrame
    cases: pd.DataFrame
    unpaired: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def newly_failing(self) -> pd.DataFrame:
        """Cases that the left side has and the right side has not."""
        return self.cases[self.cases["outcome"] == "only left"]

    @property
    def newly_passing(self) -> pd.DataFrame:
        """Cases that the right side has and the left side has not."""
        return self.cases[self.cases["outcome"] == "only right"]

    @property
    def regressions(self) -> pd.DataFrame:
        """Rows of the deciding metric in which the right side is worse and Holm's p is below 5 %."""
        lower_is_better = {rate.name for rate in RATES if rate.good == "low"} | {mean.name for mean in MEANS}
        worse = self.table["delta"] > 0 if self.primary in lower_is_better else self.table["delta"] < 0
        return self.table[(self.table["metric"] == self.primary) & worse & (self.table["p_holm"] < 0.05)]

    def to_json(self) -> dict[str, JSON]:
        """Return sides, table and cases for other programs; what is missing is ``null``."""
        return {
            "sides": [list(pair) for pair in self.sides],
            "factors": list(self.factors),
            "primary": self.primary,
            "regressions": len(self.regressions),
            "table": _plain(self.table),
            "cases": _plain(self.cases),
            "unpaired": list(self.unpaired),
            "warnings": list(self.warnings),
        }

    def _repr_html_(self) -> str:
        shown = [*self.shared, "before", "after", "metric", "left", "right", "delta", "ci_low", "ci_high"]
        rows = records(self.table[[*shown, "p", "p_holm", "cases", "clusters", "lost", "test"]])
        caption = "; ".join(f"{left} → {right}" for left, right in self.sides)
        return html_table(caption, rows, [*self.unpaired, *self.warnings])


def _plain(frame: pd.DataFrame) -> list[JSON]:
    cells = frame.astype(object).where(frame.notna(), None)
    return [
        {name: list(v) if isinstance(v, tuple) else v for name, v in row.items()} for row in records(cells)
    ]
