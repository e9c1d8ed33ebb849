"""Every figure, from one place: table, plot, report and widget all call :func:`metrics`.

A rate is a sum of one count over a sum of another, so its numerator, denominator, interval (clustered by
scenario) and macro average come from the same sums per case. An empty denominator gives a missing value,
never 0; attempts that were not scored are counted beside the denominator, never inside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from toolbench.errors import InputError
from toolbench.judging.counts import COUNT
from toolbench.numbers.definitions import CACHED, QUANTILES, RATES, SPENT, STATUSES, TOTALS, Quantile, Rate
from toolbench.numbers.intervals import NONE, Interval, Observed, quantile_intervals
from toolbench.numbers.repeats import REPEATED, Repeats
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
    "cases",
    "clusters",
    "macro",
    "classes",
    "not_scored",
    "to_review",
    "worst",
    "best",
]
Columns = dict[str, NDArray[Any]]
TYPES = {name: "float64" for name in FIGURE if name not in ("metric", "unit")}


def metrics(
    frame: pd.DataFrame,
    by: str | Sequence[str] = (),
    planned: pd.DataFrame | None = None,
    names: Collection[str] = (),
) -> pd.DataFrame:
    """Return every metric of a frame made by :func:`toolbench.load`.

    Parameters
    ----------
    frame
        One row per attempt.
    by
        Further columns to break down by, or one: ``case_class``, ``tags`` (an attempt counts under each of
        its tags), or any other column. A frame of several runs is always broken down by ``run_id``. (By tool
        and by turn: :func:`toolbench.numbers.breakdowns.call_metrics`.)
    planned
        ``ScoredRun.planned``: adds ``planned`` and ``coverage``, and rows of missing values for every group,
        class or tag that was planned and never run.
    names
        The metrics to compute, every one by default: intervals of what nobody looks at cost the most time.

    Returns
    -------
    DataFrame
        One row per group and metric: ``provider, model, protocol, suite, lang, condition`` (``run_id``
        before them where there are several), the columns of ``by``, then

        ``metric, value, numerator, denominator, unit``
            ``value`` is the micro average (every attempt counts alike). Missing means "no figure".
        ``ci_low, ci_high``
            95 % interval, clustered by scenario; see :mod:`toolbench.numbers.intervals`. Missing where none
            is known to hold.
        ``cases, clusters``
            Cases behind the figure, and the scenarios that they are variants of: what the interval rests on.
        ``macro, classes``
            Mean over the case classes that have a figure (every class counts alike), and their number.
        ``not_scored, to_review, worst, best``
            Attempts that belong in the denominator and were not scored; what else is left out of it because
            only a person can judge an attempt's wording; and the figure if all of these had failed or
            passed. ``not_scored`` is missing where a call's existence decides the denominator, the bounds
            where there is nothing to bound.

    Raises
    ------
    InputError
        When the frame lacks a group column: conditions, languages and tool-choice modes are never merged.
    """
    keys = _keys(frame, by)
    groups = _Groups(_spread(with_judged(frame), keys), keys, names)
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


def _keys(frame: pd.DataFrame, by: str | Sequence[str]) -> list[str]:
    by = [by] if isinstance(by, str) else by
    lacking = [name for name in [*GROUP, *by] if name not in frame.columns]
    if lacking:
        raise InputError(
            f"metrics: the frame lacks {', '.join(lacking)}; figures of different models, conditions or "
            "languages are never merged: give metrics a frame with every group column"
        )
    several = "run_id" in frame and frame["run_id"].nunique() > 1
    return list(dict.fromkeys([*(["run_id"] if several else []), *GROUP, *by]))


def _spread(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """One row per attempt and tag where tags are broken down."""
    if "tags" not in keys:
        return frame
    spread = frame.explode("tags", ignore_index=True)
    return spread[spread["tags"].notna()]


class _Groups:
    """A frame cut into groups, with everything the figures of one group are made of."""

    def __init__(self, made: pd.DataFrame, keys: list[str], names: Collection[str]) -> None:
        # Of a control only the calls count that were made although none was possible: see TOTALS.
        judged = made[made["scored"] & made["judged"]]
        self._names = names
        self._rates = [rate for rate in RATES if self._wanted(rate.name)]
        self._cases = PerCase(judged, keys, self._rates)
        asked = judged[judged["decision_due"].astype(bool)]
        self._repeats = Repeats(asked, keys) if any(map(self._wanted, REPEATED)) else None
        self._totals = [total for total in TOTALS if self._wanted(total.name)]
        self._spends = any(map(self._wanted, [total.name for total in SPENT] + [COMPLETED]))
        columns = {name: made[name].to_numpy() for name in _NEEDED}
        # Cases and statuses are only told apart: numbers are, a hundred times as fast as texts.
        self._columns = columns | {name: pd.factorize(made[name])[0] for name in ("case_id", "scenario")}
        self._scenarios = columns["scenario"]
        self._nothing = np.array([], dtype=np.intp)
        self.rows = positions(made, keys)
        self._quantiles = [quantile for quantile in QUANTILES if self._wanted(quantile.name)]
        self._ends = self._quantile_ends()

    def _wanted(self, name: str) -> bool:
        return not self._names or name in self._names

    def figures(self, key: Key, planned: int | None) -> Iterator[dict[str, Any]]:
        """Yield every figure of a group; those that are not a rate count the cases scored at all."""
        rows = self.rows.get(key, self._nothing)
        scored = rows[self._columns["scored"][rows].astype(bool)]
        seen = _counted(self._columns["case_id"][scored], self._columns["scenario"][scored])
        yield from (
            {**seen, **row} for row in self._figures(key, rows, planned) if self._wanted(row["metric"])
        )

    def _figures(self, key: Key, rows: NDArray[np.intp], planned: int | None) -> Iterator[dict[str, Any]]:
        group = {name: values[rows] for name, values in self._columns.items()}
        is_scored = group["scored"]
        made = _counted(group["case_id"], group["scenario"])
        scored = {name: values[is_scored] for name, values in group.items()}
        yield from ({**row, **made} for row in _sizes(group, len(rows), planned))
        lost = ~is_scored & group["judged"] & (group["status"] != CACHED)
        unscored = {name: values[lost] for name, values in group.items()}
        for rate, row in zip(self._rates, self._cases.figures(key), strict=True):
            yield {**row, **_bounds(rate, row, unscored)}
        for total in self._totals:
            value = int(scored[total.column].sum()) if is_scored.any() else None
            yield figure(total.name, value, value, unit=total.unit)
        if self._repeats is not None:
            yield from self._repeats.figures(key)
        for quantile in self._quantiles:
            known = scored[quantile.column][~np.isnan(scored[quantile.column])]
            at = float(np.quantile(known, quantile.share)) if len(known) else None
            ends = self._ends.get((key, quantile), NONE)
            yield figure(quantile.name, at, None, len(known), *ends, unit=quantile.unit)
        if self._spends:
            yield from self._spending(group)

    def _quantile_ends(self) -> dict[tuple[Key, Quantile], Interval]:
        """Return the interval of every quantile of every group, computed side by side."""
        found: dict[tuple[Key, Quantile], Observed] = {}
        for quantile in self._quantiles:
            values, scored = self._columns[quantile.column], self._columns["scored"].astype(bool)
            for key, rows in self.rows.items():
                known = rows[scored[rows] & ~np.isnan(values[rows])]
                if len(known):
                    scenarios = self._scenarios[known].astype(str)
                    found[key, quantile] = Observed(values[known], scenarios, quantile.share)
        return dict(zip(found, quantile_intervals(list(found.values())), strict=True))

    def _spending(self, group: Columns) -> Iterator[dict[str, Any]]:
        """Sums over all attempts: what a failed attempt used up was spent as well."""
        currencies = {name for name in group["currency"] if isinstance(name, str)}
        for total in SPENT:
            amounts = group[total.column]
            mixed = total.column == "cost" and len(currencies) > 1
            unknown = not len(amounts) or np.isnan(amounts).any() or mixed
            value = None if unknown else float(amounts.sum())
            yield figure(total.name, value, None, len(amounts), unit=total.unit)
        # Of cases with something to complete: what the others cost buys no completion.
        due = group["chain_due"].astype(bool)
        spent, completed = float(group["cost"][due].sum()), int(np.nansum(group["completed"][due]))
        currency = currencies.pop() if len(currencies) == 1 else None
        known = spent if currency and completed and not np.isnan(spent) else None
        value = None if known is None else known / completed
        unit = f"{currency or 'currency'} a completed attempt"
        yield figure(COMPLETED, value, known, completed, unit=unit)


COMPLETED = "cost_per_completed"
_NEEDED = [
    *("scored", "judged", "status", "case_id", "scenario", "currency", "completed", "earlier_errors"),
    COUNT.review,
    *dict.fromkeys([total.column for total in (*TOTALS, *SPENT)] + [q.column for q in QUANTILES]),
    *dict.fromkeys(rate.due for rate in RATES if rate.due is not None),
]


def _counted(cases: NDArray[Any], scenarios: NDArray[Any]) -> dict[str, int]:
    return {name: len(set(of.tolist())) for name, of in (("cases", cases), ("clusters", scenarios))}


def _sizes(group: Columns, made: int, planned: int | None) -> Iterator[dict[str, Any]]:
    """How many attempts there are, and why some have no score."""
    counts = {name: int((group["status"] == status).sum()) for name, status in STATUSES.items()}
    review = np.nansum(group[COUNT.review][group["judged"].astype(bool)])
    counts |= {"scored": int(group["scored"].sum()), "to_review": int(review)}
    for name, count in {"attempted": made, **counts}.items():
        yield figure(name, count, count, unit="attempts")
    # An attempt that failed and was made again on a resume has failed all the same.
    again = int(group["earlier_errors"].sum())
    failed, tried = counts["transport_errors"] + again, made + again
    yield figure("transport_error_share", ratio(failed, tried), failed, tried, unit="attempts made")
    if planned is not None:
        yield figure("planned", planned, planned, unit="attempts")
        yield figure("coverage", ratio(made, planned), made, planned, unit="planned attempts")


def _bounds(rate: Rate, row: dict[str, Any], unscored: Columns) -> dict[str, Any]:
    """Return the figure if everything without a verdict had failed, and if all of it had passed."""
    lost = {} if rate.due is None else {"not_scored": int(unscored[rate.due].sum())}
    extra = row["to_review"] + sum(lost.values())
    if not lost and not extra:
        return {}
    numerator, denominator = row["numerator"], row["denominator"]
    ends = ratio(numerator, denominator + extra), ratio(numerator + extra, denominator + extra)
    worst, best = ends if rate.good == "high" else ends[::-1]
    return {**lost, "worst": worst, "best": best}
