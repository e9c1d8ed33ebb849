"""Every figure, from one place: table, plot, report and widget all call :func:`metrics`.

A rate is a sum of one count over a sum of another, so its numerator, denominator, case-clustered interval and
macro average come from the same sums per case. An empty denominator gives a missing value, never 0; attempts
that were not scored are counted beside the denominator, never inside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from toolbench.errors import InputError
from toolbench.numbers.definitions import QUANTILES, RATES, SPENT, STATUSES, TOTALS, Quantile, Rate
from toolbench.numbers.intervals import mean_interval, quantile_interval
from toolbench.numbers.repeats import Repeats
from toolbench.numbers.rows import GROUP
from toolbench.numbers.tables import Key, PerCase, figure, positions, ratio

FIGURE = [
    "metric",
    "value",
    "numerator",
    "denominator",
    "ci_low",
    "ci_high",
    "unit",
    "macro",
    "classes",
    "not_scored",
    "worst",
    "best",
]
TYPES = {name: "float64" for name in FIGURE if name not in ("metric", "unit")}


def metrics(frame: pd.DataFrame, by: Sequence[str] = (), planned: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return every metric of a frame made by :func:`toolbench.load`.

    Parameters
    ----------
    frame
        One row per attempt.
    by
        Further columns to break down by: ``case_class``, ``tags`` (an attempt counts under each of its
        tags), or any other column. (By tool and by turn: :func:`toolbench.numbers.breakdowns.call_metrics`.)
    planned
        ``ScoredRun.planned``: adds ``planned`` and ``coverage``, and rows of missing values for every group,
        class or tag that was planned and never run.

    Returns
    -------
    DataFrame
        One row per group and metric: ``provider, model, protocol, suite, lang, condition``, the columns of
        ``by``, then

        ``metric, value, numerator, denominator, unit``
            ``value`` is the micro average (every attempt counts alike). Missing means "no figure".
        ``ci_low, ci_high``
            95 % interval, case-clustered; see :mod:`toolbench.numbers.intervals`.
        ``macro, classes``
            Mean over the case classes that have a figure (every class counts alike), and their number.
        ``not_scored, worst, best``
            Attempts that belong in the denominator and were not scored, and the figure if all of these had
            failed or passed; missing where a call's existence decides the denominator.

    Raises
    ------
    InputError
        When the frame lacks a group column: conditions, languages and tool-choice modes are never merged.
    """
    keys = _keys(frame, by)
    groups = _Groups(_spread(with_derived(frame), keys), keys)
    sizes = (
        {key: len(rows) for key, rows in positions(_spread(planned, keys), keys).items()}
        if (planned is not None)
        else {}
    )
    rows = [
        {**dict(zip(keys, key, strict=True)), **row}
        for key in {**sizes, **groups.rows}
        for row in groups.figures(key, sizes.get(key, 0) if planned is not None else None)
    ]
    return pd.DataFrame(rows, columns=[*keys, *FIGURE]).astype(TYPES)


def common_cases(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the cases that every player has a scored attempt of: the only basis for a ranking."""
    arm, player = ["suite", "lang", "condition", "case_id"], ["provider", "model", "protocol"]
    pairs = frame.loc[frame["scored"], [*player, *arm]].drop_duplicates()
    players = pairs.groupby(arm).size()
    complete = players[players == len(frame[player].drop_duplicates())].index
    return frame[pd.MultiIndex.from_frame(frame[arm]).isin(complete)]


def with_derived(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``calls_made`` = TP + FP, ``calls_due`` = TP + FN, and ``judged``: a call was possible."""
    return frame.assign(
        calls_made=frame["calls_right"] + frame["calls_wrong"],
        calls_due=frame["calls_right"] + frame["calls_missing"],
        judged=~frame["control"].astype(bool),
    )


def _keys(frame: pd.DataFrame, by: Sequence[str]) -> list[str]:
    lacking = [name for name in [*GROUP, *by] if name not in frame.columns]
    if lacking:
        raise InputError(
            f"metrics: the frame lacks {', '.join(lacking)}; figures of different models, conditions or "
            "languages are never merged: give metrics a frame with every group column"
        )
    return [*GROUP, *(name for name in by if name not in GROUP)]


def _spread(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """One row per attempt and tag where tags are broken down."""
    if "tags" not in keys:
        return frame
    spread = frame.explode("tags", ignore_index=True)
    return spread[spread["tags"].notna()]


class _Groups:
    """A frame cut into groups, with everything the figures of one group are made of."""

    def __init__(self, made: pd.DataFrame, keys: list[str]) -> None:
        self._made = made
        self._scored = made[made["scored"]]
        # Of a control only the calls count that were made although none was possible: see TOTALS.
        judged = self._scored[self._scored["judged"]]
        columns = [name for rate in RATES for name in (rate.numerator, rate.denominator)]
        self._cases = PerCase(judged, keys, columns)
        self._spend = PerCase(made, keys, ["cost", "completed"])
        self._repeats = Repeats(judged, keys)
        self.rows = positions(made, keys)
        self._scored_rows = positions(self._scored, keys)
        self._nothing = np.array([], dtype=np.intp)

    def figures(self, key: Key, planned: int | None) -> Iterator[dict[str, Any]]:
        group = self._made.iloc[self.rows.get(key, self._nothing)]
        scored = self._scored.iloc[self._scored_rows.get(key, self._nothing)]
        counted = {
            "attempted": len(group),
            **{name: int((group["status"] == status).sum()) for name, status in STATUSES.items()},
            "scored": len(scored),
        }
        for name, count in counted.items():
            yield figure(name, count, count, unit="attempts")
        failed = counted["transport_errors"]
        share = ratio(failed, len(group))
        yield figure("transport_error_share", share, failed, len(group), unit="attempts made")
        if planned is not None:
            yield figure("planned", planned, planned, unit="attempts")
            yield figure("coverage", ratio(len(group), planned), len(group), planned, unit="planned attempts")
        unscored = group[~group["scored"] & group["judged"]]
        for rate, row in zip(RATES, self._cases.rates(key, RATES), strict=True):
            yield {**row, **_bounds(rate, row, unscored)}
        for total in TOTALS:
            value = int(scored[total.column].sum()) if len(scored) else None
            yield figure(total.name, value, value, unit=total.unit)
        yield from self._repeats.figures(key)
        for quantile in QUANTILES:
            yield _quantile(quantile, scored)
        yield from self._spending(key, group)

    def _spending(self, key: Key, group: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """Sums over all attempts: what a failed attempt used up was spent as well."""
        for total in SPENT:
            amounts = group[total.column].to_numpy(dtype=float)
            value = float(amounts.sum()) if len(amounts) and not np.isnan(amounts).any() else None
            yield figure(total.name, value, None, len(amounts), unit=total.unit)
        known = bool(group["cost"].notna().all())
        spent, completed = self._spend.of(key, ["cost", "completed"]).T
        unit = f"{_currency(group)} a completed attempt"
        if not known or not completed.sum():
            yield figure("cost_per_completed", None, None, int(completed.sum()), unit=unit)
            return
        value, ends = float(spent.sum() / completed.sum()), mean_interval(spent, completed)
        yield figure("cost_per_completed", value, float(spent.sum()), int(completed.sum()), *ends, unit=unit)


def _bounds(rate: Rate, row: dict[str, Any], unscored: pd.DataFrame) -> dict[str, Any]:
    """Return the figure if every attempt without a score had failed, and if every one had passed."""
    if rate.due is None:
        return {}
    numerator, denominator, extra = row["numerator"], row["denominator"], int(unscored[rate.due].sum())
    ends = ratio(numerator, denominator + extra), ratio(numerator + extra, denominator + extra)
    worst, best = ends if rate.good == "high" else ends[::-1]
    return {"not_scored": extra, "worst": worst, "best": best}


def _quantile(quantile: Quantile, scored: pd.DataFrame) -> dict[str, Any]:
    values = scored[quantile.column].to_numpy(dtype=float)
    known = ~np.isnan(values)
    if not known.any():
        return figure(quantile.name, None, None, 0, unit=quantile.unit)
    cases = scored["case_id"].to_numpy(dtype=str)[known]
    ends = quantile_interval(values[known], cases, quantile.share)
    at = float(np.quantile(values[known], quantile.share))
    return figure(quantile.name, at, None, int(known.sum()), *ends, unit=quantile.unit)


def _currency(group: pd.DataFrame) -> str:
    found = group["currency"].dropna().unique()
    return str(found[0]) if len(found) == 1 else "currency"
