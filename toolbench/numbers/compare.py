"""Two sides of one question, paired by case: two runs, or two models, conditions, prompts or protocols.

The sides must agree in everything but the compared factors. Where they do not, the comparison is refused and
the differences are listed (:mod:`toolbench.numbers.sides`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
TABLE = {
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
    """What two sides differ in.

    Attributes
    ----------
    table
        One row per pair of groups and metric: the shared group columns, ``metric``, ``left``, ``right``,
        ``delta`` (right minus left), ``ci_low``, ``ci_high``, ``p``, ``p_holm`` (Holm over the whole table),
        ``test``, ``cases`` (pairs with a figure on both sides), ``detectable`` (smallest true difference
        that so many cases show with 80 % power), ``cases_needed`` (for a true difference as large as the
        one seen).
    cases
        One row per paired case: the shared group columns, ``case_id``, ``case_class``, ``left_passed``,
        ``left_n``, ``right_passed``, ``right_n``, ``outcome`` (``both``, ``only left``, ``only right``,
        ``neither``; a side has a case when more than half of its scored repetitions pass), ``codes`` and
        ``reasons`` of the side that fails (of the right one when both do).
    unpaired, warnings
        Lines on groups and cases left out, and on too few cases or repetitions.
    """

    left: str
    right: str
    factors: tuple[str, ...]
    shared: tuple[str, ...]
    table: pd.DataFrame
    cases: pd.DataFrame
    unpaired: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def discordance(self) -> pd.DataFrame:
        """Number of cases by outcome, one row per pair of groups."""
        counts = self.cases.groupby([*self.shared, "outcome"], sort=False).size().unstack(fill_value=0)
        return counts.reindex(columns=list(OUTCOMES), fill_value=0).reset_index()

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
    rates = _rates(metrics)
    shared, pairs = pair_groups(left, right, factors)
    rows: list[dict[str, Any]] = []
    cases: list[pd.DataFrame] = []
    unpaired = lonely_groups(left, right, shared)
    for key, keys in pairs.items():
        named = dict(zip(shared, key, strict=True))
        ours, theirs = (_judged(side.attempts, k) for side, k in zip((left, right), keys, strict=True))
        same, lines = common_cases(ours, theirs)
        unpaired += [f"{'/'.join(key)}: {line}" for line in lines]
        ours, theirs = ours[ours["case_id"].isin(same)], theirs[theirs["case_id"].isin(same)]
        rows += [{**named, **row} for row in paired_rows(ours, theirs, rates, seed)]
        found = [_of_group(side.findings, k) for side, k in zip((left, right), keys, strict=True)]
        cases.append(_case_rows(ours, theirs, found[0], found[1]).assign(**named))
    table = pd.DataFrame(rows, columns=[*shared, *TABLE]).astype(TABLE)
    tested = table["p"].notna()
    table.loc[tested, "p_holm"] = holm(table.loc[tested, "p"].to_list())
    of_cases = pd.concat(cases, ignore_index=True)
    of_cases = of_cases[[*shared, *(name for name in of_cases if name not in shared)]]
    return Comparison(
        left=left.label,
        right=right.label,
        factors=tuple(factors),
        shared=tuple(shared),
        table=table,
        cases=of_cases,
        unpaired=tuple(unpaired),
        warnings=tuple(_small(of_cases, shared)),
    )


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
    has_left, has_right = (counts["sum"] * 2 > counts["size"] for counts in sides)
    rows = pd.DataFrame(
        {
            "case_class": left.groupby("case_id", sort=True)["case_class"].first(),
            "left_passed": sides[0]["sum"].astype("int64"),
            "left_n": sides[0]["size"],
            "right_passed": sides[1]["sum"].astype("int64"),
            "right_n": sides[1]["size"],
            "outcome": np.select([has_left & has_right, has_left, has_right], OUTCOMES[:3], OUTCOMES[3]),
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


def _small(cases: pd.DataFrame, shared: Sequence[str]) -> Iterator[str]:
    for key, group in groups(cases, shared):
        repetitions = int(group[["left_n", "right_n"]].min(axis=1).max())
        if len(group) < FEW_CASES or repetitions < FEW_REPETITIONS:
            yield f"small sample: {'/'.join(key)} has {len(group)} paired cases, {repetitions} repetitions"
