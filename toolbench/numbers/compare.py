"""Sides of one question, two and two paired by case: runs, models, conditions, prompts or protocols.

The sides must agree in everything but the compared factors. Where they do not, the comparison is refused and
the differences are listed (:mod:`toolbench.numbers.sides`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from toolbench.errors import InputError
from toolbench.numbers.cautions import FEW_CASES, FEW_REPETITIONS
from toolbench.numbers.definitions import MEANS, RATES, Mean, Rate
from toolbench.numbers.metrics import with_judged
from toolbench.numbers.paired import (
    Pairs,
    cases_needed,
    difference_interval,
    holm,
    minimum_detectable,
    p_value,
)
from toolbench.numbers.rows import GROUP
from toolbench.numbers.sides import Side, common_cases, lonely_groups, pair_groups
from toolbench.numbers.tables import groups

SHOWN = (
    "pass_rate",
    "decision_accuracy",
    "tool_selection_accuracy",
    "raw_schema_validity",
    "exact_argument_accuracy",
    "unsafe_call_rate",
    "final_answer_support",
    "completion_rate",
    "mean_latency_ms",
    "mean_cost",
)
"""Metrics compared unless others are asked for: together they are the family of Holm's correction."""

OUTCOMES = ("both", "only left", "only right", "neither")
DIFFERING = OUTCOMES[1:3]
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
    "detectable": "float64",
    "cases_needed": "float64",
}
REASONS_KEPT = 3


@dataclass(frozen=True)
class Comparison:
    """What sides differ in: two of them, or several pairs that are corrected together.

    Attributes
    ----------
    sides
        Labels of the left and the right side of every pair.
    shared
        Group columns that both sides of a pair have in common, in ``table`` and ``cases``.
    table
        One row per pair of groups and metric: the shared group columns, ``before``, ``after`` (labels of the
        sides), ``metric``, ``left``, ``right``, ``delta`` (right minus left), ``ci_low``, ``ci_high``, ``p``,
        ``p_holm`` (Holm over the whole table), ``test``, ``cases`` (pairs with a figure on both sides),
        ``detectable`` (smallest true difference that so many cases show with 80 % power), ``cases_needed``
        (for a true difference as large as the one seen).
    cases
        One row per paired case: the shared group columns, ``before``, ``after``, ``case_id``, ``case_class``,
        ``left_passed``, ``left_n``, ``right_passed``, ``right_n``, ``outcome`` (``both``, ``only left``,
        ``only right``, ``neither``; a side has a case when more than half of its scored repetitions pass),
        ``moved`` (the sides do not behave alike), ``codes`` and ``reasons`` of the side that fails (of the
        right one when both do).
    unpaired, warnings
        Lines on groups and cases left out, and on too few cases or repetitions.
    """

    sides: tuple[tuple[str, str], ...]
    factors: tuple[str, ...]
    shared: tuple[str, ...]
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


def compare(
    left: Side,
    right: Side,
    factors: Sequence[str] = ("model",),
    metrics: Sequence[str] = SHOWN,
    seed: int = 0,
) -> Comparison:
    """Compare two sides case by case.

    Parameters
    ----------
    factors
        What the sides differ in on purpose: names of :data:`toolbench.numbers.sides.FACTORS`.
    metrics
        Rates of :mod:`toolbench.numbers.definitions`, and ``mean_latency_ms``, ``mean_output_tokens``,
        ``mean_cost``.
    seed
        Of the sampled permutations.

    Raises
    ------
    InputError
        When a name is unknown, nothing can be paired, or the sides differ outside the factors.
    """
    return compare_all([(left, right)], factors, metrics, seed)


def compare_all(
    sides: Iterable[tuple[Side, Side]],
    factors: Sequence[str] = ("model",),
    metrics: Sequence[str] = SHOWN,
    seed: int = 0,
) -> Comparison:
    """Compare several pairs of sides that answer one question: one table, one family of Holm's correction.

    Parameters and errors are those of :func:`compare`.

    Raises
    ------
    InputError
        Also when there is no pair.
    """
    rates = _rates(metrics)
    made = [_Pair(left, right, factors, rates, seed) for left, right in sides]
    if not made:
        raise InputError("compare: there is nothing to compare")
    shared = list(dict.fromkeys(column for one in made for column in one.shared))
    table = pd.DataFrame([row for one in made for row in one.rows], columns=[*shared, *TABLE]).astype(TABLE)
    tested = table["p"].notna()
    table.loc[tested, "p_holm"] = holm(table.loc[tested, "p"].to_list())
    cases = pd.concat([frame for one in made for frame in one.cases], ignore_index=True)
    first = [*shared, "before", "after"]
    return Comparison(
        sides=tuple((one.left.label, one.right.label) for one in made),
        factors=tuple(factors),
        shared=tuple(shared),
        table=table,
        cases=cases[[*first, *(name for name in cases if name not in first)]],
        unpaired=tuple(dict.fromkeys(line for one in made for line in one.unpaired)),
        warnings=tuple(dict.fromkeys(line for one in made for line in _small(one.cases, one.shared))),
    )


class _Pair:
    """Two sides, group by group: the rows of a comparison's table, and its cases."""

    def __init__(
        self, left: Side, right: Side, factors: Sequence[str], rates: Sequence[Rate | Mean], seed: int
    ) -> None:
        self.left, self.right = left, right
        self.shared, pairs = pair_groups(left, right, factors)
        self.unpaired = lonely_groups(left, right, self.shared)
        self.rows: list[dict[str, Any]] = []
        self.cases: list[pd.DataFrame] = []
        for key, keys in pairs.items():
            named = dict(zip(self.shared, key, strict=True)) | {"before": left.label, "after": right.label}
            ours, theirs = (_judged(side.attempts, k) for side, k in zip((left, right), keys, strict=True))
            same, lines = common_cases(ours, theirs)
            self.unpaired += [f"{'/'.join(key)}: {line}" for line in lines]
            ours, theirs = ours[ours["case_id"].isin(same)], theirs[theirs["case_id"].isin(same)]
            self.rows += [{**named, **row} for row in paired_rows(ours, theirs, rates, seed)]
            found = [_of_group(side.findings, k) for side, k in zip((left, right), keys, strict=True)]
            self.cases.append(_case_rows(ours, theirs, found[0], found[1]).assign(**named))


def _rates(names: Sequence[str]) -> list[Rate | Mean]:
    every: tuple[Rate | Mean, ...] = (*RATES, *MEANS)
    known = {rate.name: rate for rate in every}
    for name in names:
        if name not in known:
            raise InputError(f"compare: no metric {name!r} to compare; there are: {', '.join(known)}")
    return [known[name] for name in names]


def _of_group(frame: pd.DataFrame, key: tuple[str, ...]) -> pd.DataFrame:
    return frame[(frame[GROUP] == list(key)).all(axis=1)]


def _judged(attempts: pd.DataFrame, key: tuple[str, ...]) -> pd.DataFrame:
    made = with_judged(_of_group(attempts, key))
    made = made[made["scored"] & made["judged"]]
    known = {rate.denominator: made[rate.numerator].notna().astype(float) for rate in MEANS}
    return made.assign(**known)


def paired_rows(
    left: pd.DataFrame, right: pd.DataFrame, rates: Sequence[Rate | Mean], seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield the columns of ``Comparison.table`` for attempts of the same cases on two sides."""
    columns = list({name for rate in rates for name in (rate.numerator, rate.denominator)})
    ours = left.groupby("case_id", sort=True)[columns].sum()
    theirs = right.groupby("case_id", sort=True)[columns].sum()
    for rate in rates:
        names = [rate.numerator, rate.denominator]
        sums = np.column_stack([ours[names].to_numpy(dtype=float), theirs[names].to_numpy(dtype=float)])
        pairs = Pairs(*sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)].T)
        yield {"metric": rate.name, **_metric(pairs, share=isinstance(rate, Rate), seed=seed)}


def _metric(pairs: Pairs, share: bool, seed: int) -> dict[str, Any]:
    if not len(pairs):
        return {"cases": 0, "test": "no case with a figure on both sides"}
    low, high = difference_interval(pairs, share)
    p, test = p_value(pairs, seed)
    return {
        "left": pairs.left,
        "right": pairs.right,
        "delta": pairs.delta,
        "ci_low": low,
        "ci_high": high,
        "p": p,
        "test": test,
        "cases": len(pairs),
        "detectable": minimum_detectable(pairs.deviation, len(pairs)),
        "cases_needed": cases_needed(pairs.deviation, pairs.delta),
    }


def _case_rows(
    left: pd.DataFrame, right: pd.DataFrame, left_findings: pd.DataFrame, right_findings: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per case: passes on both sides, the outcome, and why the failing side fails."""
    sides = [frame.groupby("case_id", sort=True)["passed"].agg(["sum", "size"]) for frame in (left, right)]
    ways = [frame.groupby("case_id", sort=True)["behaviour"].agg(set) for frame in (left, right)]
    has_left, has_right = (counts["sum"] * 2 > counts["size"] for counts in sides)
    rows = pd.DataFrame(
        {
            "case_class": left.groupby("case_id", sort=True)["case_class"].first(),
            "left_passed": sides[0]["sum"].astype("int64"),
            "left_n": sides[0]["size"],
            "right_passed": sides[1]["sum"].astype("int64"),
            "right_n": sides[1]["size"],
            "outcome": np.select([has_left & has_right, has_left, has_right], OUTCOMES[:3], OUTCOMES[3]),
            "moved": ways[0] != ways[1],
        }
    ).reset_index()
    blame = {"only left": _texts(right_findings), "only right": _texts(left_findings)}
    blame["neither"] = blame["only left"]
    why = [
        blame.get(outcome, {}).get(case, ((), ()))
        for case, outcome in zip(rows["case_id"], rows["outcome"], strict=True)
    ]
    for index, name in enumerate(("codes", "reasons")):
        rows[name] = pd.Series([texts[index] for texts in why], dtype=object)
    return rows


def _texts(findings: pd.DataFrame) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return case → its codes and its first few reasons, each once."""
    return {
        str(case): (tuple(dict.fromkeys(found["code"])), tuple(dict.fromkeys(found["reason"]))[:REASONS_KEPT])
        for (case,), found in groups(findings, ["case_id"])
    }


def _small(cases: Sequence[pd.DataFrame], shared: Sequence[str]) -> Iterator[str]:
    for key, group in (pair for frame in cases for pair in groups(frame, shared)):
        repetitions = int(group[["left_n", "right_n"]].min(axis=1).max())
        if len(group) < FEW_CASES or repetitions < FEW_REPETITIONS:
            yield f"small sample: {'/'.join(key)} has {len(group)} paired cases, {repetitions} repetitions"
