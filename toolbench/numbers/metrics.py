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
from numpy.typing import NDArray

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
Columns = dict[str, NDArray[Any]]
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
    groups = _Groups(_spread(with_judged(frame), keys), keys)
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


def with_judged(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``judged``: a call was possible."""
    return frame.assign(judged=~frame["control"].astype(bool))


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
        # Of a control only the calls count that were made although none was possible: see TOTALS.
        judged = made[made["scored"] & made["judged"]]
        columns = [name for rate in RATES for name in (rate.numerator, rate.denominator)]
        self._cases = PerCase(judged, keys, columns)
        self._spend = PerCase(made, keys, ["cost", "completed"])
        self._repeats = Repeats(judged, keys)
        self._columns = {name: made[name].to_numpy() for name in _NEEDED}
        self._nothing = np.array([], dtype=np.intp)
        self.rows = positions(made, keys)

    def figures(self, key: Key, planned: int | None) -> Iterator[dict[str, Any]]:
        rows = self.rows.get(key, self._nothing)
        group = {name: values[rows] for name, values in self._columns.items()}
        is_scored = group["scored"]
        scored = {name: values[is_scored] for name, values in group.items()}
        yield from _sizes(group, len(rows), planned)
        unscored = {name: values[~is_scored & group["judged"]] for name, values in group.items()}
        for rate, row in zip(RATES, self._cases.rates(key, RATES), strict=True):
            yield {**row, **_bounds(rate, row, unscored)}
        for total in TOTALS:
            value = int(scored[total.column].sum()) if is_scored.any() else None
            yield figure(total.name, value, value, unit=total.unit)
        yield from self._repeats.figures(key)
        for quantile in QUANTILES:
            yield _quantile(quantile, scored)
        yield from self._spending(key, group)

    def _spending(self, key: Key, group: Columns) -> Iterator[dict[str, Any]]:
        """Sums over all attempts: what a failed attempt used up was spent as well."""
        for total in SPENT:
            amounts = group[total.column]
            value = float(amounts.sum()) if len(amounts) and not np.isnan(amounts).any() else None
            yield figure(total.name, value, None, len(amounts), unit=total.unit)
        spent, completed = self._spend.of(key, ["cost", "completed"]).T
        currencies = {name for name in group["currency"] if isinstance(name, str)}
        unit = f"{currencies.pop() if len(currencies) == 1 else 'currency'} a completed attempt"
        if np.isnan(group["cost"]).any() or not completed.sum():
            yield figure("cost_per_completed", None, None, int(completed.sum()), unit=unit)
            return
        value, ends = float(spent.sum() / completed.sum()), mean_interval(spent, completed)
        yield figure("cost_per_completed", value, float(spent.sum()), int(completed.sum()), *ends, unit=unit)


_NEEDED = [
    *("scored", "judged", "status", "case_id", "currency", "earlier_errors"),
    *dict.fromkeys([total.column for total in (*TOTALS, *SPENT)] + [q.column for q in QUANTILES]),
    *dict.fromkeys(rate.due for rate in RATES if rate.due not in (None, "judged")),
]


def _sizes(group: Columns, made: int, planned: int | None) -> Iterator[dict[str, Any]]:
    """How many attempts there are, and why some have no score."""
    counts = {name: int((group["status"] == status).sum()) for name, status in STATUSES.items()}
    for name, count in {"attempted": made, **counts, "scored": int(group["scored"].sum())}.items():
        yield figure(name, count, count, unit="attempts")
    # An attempt that failed and was made again on a resume has failed all the same.
    again = int(group["earlier_errors"].sum())
    failed, tried = counts["transport_errors"] + again, made + again
    yield figure("transport_error_share", ratio(failed, tried), failed, tried, unit="attempts made")
    if planned is not None:
        yield figure("planned", planned, planned, unit="attempts")
        yield figure("coverage", ratio(made, planned), made, planned, unit="planned attempts")


def _bounds(rate: Rate, row: dict[str, Any], unscored: Columns) -> dict[str, Any]:
    """Return the figure if every attempt without a score had failed, and if every one had passed."""
    if rate.due is None:
        return {}
    numerator, denominator, extra = row["numerator"], row["denominator"], int(unscored[rate.due].sum())
    ends = ratio(numerator, denominator + extra), ratio(numerator + extra, denominator + extra)
    worst, best = ends if rate.good == "high" else ends[::-1]
    return {"not_scored": extra, "worst": worst, "best": best}


def _quantile(quantile: Quantile, scored: Columns) -> dict[str, Any]:
    known = ~np.isnan(scored[quantile.column])
    if not known.any():
        return figure(quantile.name, None, None, 0, unit=quantile.unit)
    values = scored[quantile.column][known]
    ends = quantile_interval(values, scored["case_id"][known].astype(str), quantile.share)
    at = float(np.quantile(values, quantile.share))
    return figure(quantile.name, at, None, int(known.sum()), *ends, unit=quantile.unit)
