"""Sides of one question, two and two paired by case: runs, models, conditions, prompts or protocols.

The sides must agree in everything but the compared factors. Where they do not, the comparison is refused and
the differences are listed (:mod:`toolbench.numbers.sides`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from toolbench.domain.keys import BASELINE
from toolbench.domain.plurals import plural
from toolbench.errors import InputError
from toolbench.numbers.case_rows import case_rows
from toolbench.numbers.cautions import FEW_CASES, FEW_REPETITIONS
from toolbench.numbers.comparison import TABLE, Comparison
from toolbench.numbers.cost import unlike_money, unlike_ways
from toolbench.numbers.definitions import MEANS, RATES
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.intervals import FEWEST, LEVEL
from toolbench.numbers.paired import (
    FEWEST_DIFFERING,
    Pairs,
    clusters_needed,
    detectable,
    difference_interval,
    holm,
    p_value,
)
from toolbench.numbers.pairing import Faced, Loss, Metric
from toolbench.numbers.rows import GROUP
from toolbench.numbers.sides import Side, Sided, lonely_groups, pair_groups, part_of, side_of
from toolbench.numbers.tables import Parts, groups

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
"""Metrics compared unless others are asked for."""

PRIMARY = "pass_rate"
"""The metric that decides, or the first one asked for: Holm's family is this one, of every model."""

TIMES = ("mean_latency_ms",)
"""Metrics without a test: two runs of one model on a shared machine "differ" in three of four."""

COST = "mean_cost"
TEST = "weighed scenarios, mid-p"


def compare(
    left: Sided,
    right: Sided,
    factors: Sequence[str] | None = None,
    metrics: Sequence[str] = SHOWN,
    *,
    run: ScoredRun | str | Path | None = None,
    interleaved: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare two sides case by case.

    ::

        toolbench.compare("runs/a", "runs/b")
        toolbench.compare("model=a", "model=b", run="runs/a")

    Parameters
    ----------
    left, right
        Runs or their folders, parts of one ``run`` (``"condition=auto"``), frames made by
        :func:`toolbench.load`, or sides made by :func:`toolbench.select`.
    factors
        What the sides differ in on purpose: names of :data:`toolbench.numbers.sides.FACTORS`. By default
        what ``column=value`` names, otherwise the model.
    metrics
        Rates of :mod:`toolbench.numbers.definitions`, and ``mean_latency_ms``, ``mean_output_tokens``,
        ``mean_cost``.
    interleaved
        Whether the attempts of both sides took turns on the same machine: only then are times tested.
    seed
        Of the simulated power.

    Raises
    ------
    InputError
        When a name is unknown, nothing can be paired, or the sides differ outside the factors.
    """
    whole = run if run is None or isinstance(run, ScoredRun) else load_run(run)
    if factors is None:
        ours, theirs = part_of(left), part_of(right)
        factors = factors_of(ours, theirs) or ("model",)
    sides = side_of(left, whole), side_of(right, whole)
    return compare_all([sides], factors, metrics, interleaved=interleaved, seed=seed)


def factors_of(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[str, ...]:
    """Return what two choices of columns differ in, as factors."""
    apart = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    return tuple(dict.fromkeys("model" if name == "provider" else name for name in apart))


def compare_all(
    sides: Iterable[tuple[Side, Side]],
    factors: Sequence[str] = ("model",),
    metrics: Sequence[str] = SHOWN,
    *,
    interleaved: bool = False,
    seed: int = 0,
    brief: bool = False,
) -> Comparison:
    """Compare several pairs of sides that answer one question: one table, one family of Holm's correction.

    Parameters and errors are those of :func:`compare`; a ``brief`` comparison has no cases, and does not say
    what it could have detected.

    Raises
    ------
    InputError
        Also when there is no pair.
    """
    wanted = _metrics(metrics)
    rule = _Rule(PRIMARY if PRIMARY in metrics else metrics[0], interleaved, seed, brief)
    made = [_Pair(left, right, factors, wanted, rule) for left, right in sides]
    if not made:
        raise InputError("compare: there is nothing to compare")
    shared = list(dict.fromkeys(column for one in made for column in one.shared))
    rows = [row for one in made for row in one.rows]
    _correct(rows, rule.primary)
    first = [*shared, "before", "after"]
    found = [frame for one in made for frame in one.cases]
    cases = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=first)
    return Comparison(
        sides=tuple((one.left.label, one.right.label) for one in made),
        factors=tuple(factors),
        shared=tuple(shared),
        primary=rule.primary,
        table=pd.DataFrame(rows, columns=[*shared, *TABLE]).astype(TABLE),
        cases=cases[[*first, *(name for name in cases if name not in first)]],
        unpaired=tuple(dict.fromkeys(line for one in made for line in one.unpaired)),
        warnings=tuple(
            dict.fromkeys(line for one in made for line in (*one.warnings, *_small(one.cases, one.shared)))
        ),
    )


@dataclass(frozen=True)
class _Rule:
    """What is tested, chosen before anything is seen."""

    primary: str
    interleaved: bool
    seed: int
    brief: bool


class _Pair:
    """Two sides, group by group: the rows of a comparison's table, and its cases."""

    def __init__(
        self, left: Side, right: Side, factors: Sequence[str], metrics: Sequence[Metric], rule: _Rule
    ) -> None:
        self.left, self.right = left, right
        self.shared, pairs = pair_groups(left, right, factors)
        self.unpaired = lonely_groups(left, right, self.shared)
        self.warnings: list[str] = []
        self.rows: list[dict[str, Any]] = []
        self.cases: list[pd.DataFrame] = []
        cut = [[Parts(f, GROUP) for f in (s.attempts, s.planned, s.findings)] for s in (left, right)]
        for key, keys in pairs.items():
            named = dict(zip(self.shared, key, strict=True)) | {"before": left.label, "after": right.label}
            both = [[part.of(k) for part in parts] for parts, k in zip(cut, keys, strict=True)]
            ours, theirs = ((attempts, planned) for attempts, planned, _ in both)
            faced = Faced(ours, theirs, metrics)
            self.unpaired += [f"{'/'.join(key)}: {line}" for line in faced.unpaired]
            models = not all(k[GROUP.index("provider")] == BASELINE for k in keys)
            unlike = unlike_money(ours[0], theirs[0], keys[0][:3] == keys[1][:3])
            if ways := unlike_ways(ours[0], theirs[0]):
                self.warnings.append(ways)
            if unlike and rule.primary == COST:
                raise InputError(f"compare: {COST}: {unlike}")
            for metric in metrics:
                refused = unlike if metric.name == COST else None
                row = _refused(metric, refused) if refused else _row(faced, metric, rule)
                self.rows.append({**named, "models": models, **row})
            if rule.brief:
                continue
            scored = [frame[frame["case_id"].isin(faced.cases)] for frame in faced.scored]
            self.cases.append(case_rows(*scored, *(findings for _, _, findings in both)).assign(**named))


def _metrics(names: Sequence[str]) -> list[Metric]:
    every: tuple[Metric, ...] = (*RATES, *MEANS)
    known = {metric.name: metric for metric in every}
    for name in names:
        if name not in known:
            raise InputError(f"compare: no metric {name!r} to compare; there are: {', '.join(known)}")
    if not names:
        raise InputError(f"compare: name a metric to compare; there are: {', '.join(known)}")
    return [known[name] for name in names]


def _row(faced: Faced, metric: Metric, rule: _Rule) -> dict[str, Any]:
    """Return the columns of ``Comparison.table`` for one metric of one pair of groups."""
    pairs, loss = faced.pairs(metric), faced.loss(metric)
    counts = {
        "metric": metric.name,
        "cases": len(pairs),
        "clusters": len(pairs.sums[1]),
        "differing": pairs.differing,
        "lost": loss.attempts,
        "lost_cases": loss.cases,
        "lowest": loss.bounds[0],
        "highest": loss.bounds[1],
    }
    if not len(pairs):
        return {**counts, "test": "no case with a figure on both sides"}
    means = {"left": pairs.left.mean(), "right": pairs.right.mean(), "delta": pairs.delta}
    if metric.name == rule.primary and not rule.brief:
        means |= {
            "detectable": detectable(pairs, rule.seed),
            "clusters_needed": clusters_needed(pairs, rule.seed),
        }
    if metric.name in TIMES and not rule.interleaved:
        return {**counts, **means, "test": "none: not measured in turns"}
    return {**counts, **means, **(_at_both_extremes(loss) if loss.matters else _verdict(pairs))}


def _refused(metric: Metric, why: str) -> dict[str, Any]:
    counts = dict.fromkeys(("cases", "clusters", "differing", "lost", "lost_cases"), 0)
    return {**counts, "metric": metric.name, "test": f"refused: {why}"}


def _at_both_extremes(loss: Loss) -> dict[str, Any]:
    """Return the interval that holds whatever the lost attempts would have been; none if 0 is in it."""
    lost = f"{loss.attempts} of {loss.planned} attempts lost"
    found = [_verdict(pairs) for pairs in loss.extremes or ()]
    p = max((one.get("p", 1.0) for one in found), default=1.0)
    if p < 1 - LEVEL and loss.bounds[0] * loss.bounds[1] > 0:
        ends = {"ci_low": found[0]["ci_low"], "ci_high": found[1]["ci_high"]}
        return {**ends, "p": p, "test": f"{found[0]['test']}, {lost}"}
    return {"test": f"none: {lost}"}


def _verdict(pairs: Pairs) -> dict[str, Any]:
    if not pairs.telling:
        few = f"{pairs.differing} of {len(pairs.sums[0])} scenarios differ, fewer than {FEWEST_DIFFERING}"
        return {"test": f"none: {few}"}
    low, high = difference_interval(pairs)
    scenarios = len(pairs.sums[0])
    few = f", no interval of {scenarios} scenarios" if scenarios < FEWEST else ""
    return {"ci_low": low, "ci_high": high, "p": p_value(pairs), "test": f"{TEST}{few}"}


def _correct(rows: Sequence[dict[str, Any]], primary: str) -> None:
    """Add ``p_holm``. A comparison without a p belongs to the family all the same: it was planned."""
    asked = [row for row in rows if row["metric"] == primary]
    family = [row for row in asked if row["models"]] or asked
    for row, p in zip(family, holm([row.get("p", 1.0) for row in family]), strict=True):
        if "p" in row:
            row["p_holm"] = p


def _small(cases: Sequence[pd.DataFrame], shared: Sequence[str]) -> Iterator[str]:
    for key, group in (pair for frame in cases for pair in groups(frame, shared)):
        repetitions = int(group[["left_n", "right_n"]].min(axis=1).max())
        if len(group) < FEW_CASES or repetitions < FEW_REPETITIONS:
            size = f"{plural(len(group), 'paired case')}, {plural(repetitions, 'repetition')}"
            yield f"small sample: {'/'.join(key)} has {size}"
