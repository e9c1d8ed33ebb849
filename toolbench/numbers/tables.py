"""Sums per case for many groups at once: what every rate and interval is computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from toolbench.judging.counts import COUNT
from toolbench.numbers.definitions import Rate
from toolbench.numbers.intervals import share_intervals
from toolbench.numbers.weighing import Vector

Key = tuple[Any, ...]


def positions(frame: pd.DataFrame, keys: Sequence[str]) -> dict[Key, NDArray[np.intp]]:
    """Return group → positions of its rows, groups in order of first appearance."""
    if frame.empty:
        return {}
    found: Any = frame.groupby(list(keys), sort=False, observed=True).indices
    return dict(found)


class Parts:
    """The rows of each group of a frame, looked up without going through all of them."""

    def __init__(self, frame: pd.DataFrame, keys: Sequence[str]) -> None:
        self._frame, self._rows = frame, positions(frame, keys)

    def of(self, key: Key) -> pd.DataFrame:
        """Return the rows of one group, none for a group that is not there."""
        return self._frame.iloc[self._rows.get(key, np.array([], dtype=np.intp))]


def groups(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[Key, pd.DataFrame]]:
    """Yield every group of a frame in order of first appearance, its key always a tuple."""
    for key, rows in frame.groupby(list(keys), sort=False, observed=True):
        yield key if isinstance(key, tuple) else (key,), rows


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def per_cluster(values: Vector, clusters: NDArray[np.str_]) -> Vector:
    """Return the sums of rows ``(rows, columns)`` over clusters, shape ``(clusters, columns)``."""
    names, member = np.unique(clusters, return_inverse=True)
    total = np.zeros((len(names), values.shape[1]))
    np.add.at(total, member, values)
    return total


class Counted(Protocol):
    """A ratio of two columns, and whether the wording of a text decides it."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def numerator(self) -> str:
        """The column above."""

    @property
    def denominator(self) -> str:
        """The column below."""

    @property
    def worded(self) -> bool:
        """Whether an attempt that only a person can judge is left out."""


PARTS = ("above", "below", "open")


def part_of(metric: str, part: str) -> str:
    """Return the column of :func:`counted` that holds a part of a metric."""
    return f"{metric} {part}"


def counted(frame: pd.DataFrame, metrics: Sequence[Counted]) -> pd.DataFrame:
    """Return what every attempt adds to the parts of every metric.

    ``above`` is divided by ``below``; ``open`` is what ``below`` lacks because only a person can judge the
    attempt.
    """
    parts: dict[str, NDArray[np.float64]] = {}
    for metric in metrics:
        above, below = (frame[name].to_numpy(float) for name in (metric.numerator, metric.denominator))
        known = 1 - frame[COUNT.review].to_numpy(float) if metric.worded else np.ones(len(frame))
        values = zip(PARTS, (above * known, below * known, below * (1 - known)), strict=True)
        parts |= {part_of(metric.name, part): value for part, value in values}
    return pd.DataFrame(parts, index=frame.index)


class PerCase:
    """Sums of count columns per case, for every group of a frame; scenarios are the clusters."""

    def __init__(self, frame: pd.DataFrame, keys: Sequence[str], rates: Sequence[Rate]) -> None:
        self._rates = rates
        case = list(dict.fromkeys([*keys, "case_class", "scenario", "case_id"]))
        table = counted(frame, rates).groupby([frame[name] for name in case], sort=True, observed=True).sum()
        flat = table.reset_index()
        self._above, self._below, self._open = (
            table[[part_of(rate.name, part) for rate in rates]].to_numpy(dtype=float) for part in PARTS
        )
        self._classes = flat["case_class"].to_numpy(dtype=str)
        self._rows = positions(flat, keys)
        self._clusters = Clustered(self._rows, flat["scenario"].to_numpy(dtype=str), self._above, self._below)

    def figures(self, key: Key) -> Iterator[dict[str, Any]]:
        """Yield one group's figures: sums, share, interval, macro average, cases, clusters of every rate."""
        rows = self._rows.get(key, np.array([], dtype=np.intp))
        above, below = self._above[rows], self._below[rows]
        low, high, clusters = self._clusters.of(key)
        macro, classes = self._macro(rows, above, below)
        sums = above.sum(0).astype(int), below.sum(0).astype(int), self._open[rows].sum(0).astype(int)
        columns = (*sums, (below > 0).sum(0), low, high, clusters, macro, classes)
        # Plain numbers, taken out of the arrays at once: there are hundreds of thousands.
        for rate, *values in zip(self._rates, *(column.tolist() for column in columns), strict=True):
            numerator, denominator, left, cases, bottom, top, used, mean, number = values
            value = ratio(numerator, denominator)
            numerator = numerator if denominator else 0
            yield {
                **figure(rate.name, value, numerator, denominator, bottom, top, rate.unit),
                "cases": cases,
                "clusters": used,
                "macro": mean,
                "classes": number,
                "to_review": left,
            }

    def _macro(
        self, rows: NDArray[np.intp], above: Vector, below: Vector
    ) -> tuple[Vector, NDArray[np.int64]]:
        """Mean over the classes that have a figure, and how many these are."""
        classes = self._classes[rows]
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = per_cluster(above, classes) / per_cluster(below, classes)
        known = np.isfinite(shares)
        number = known.sum(0)
        mean = np.where(known, shares, 0).sum(0) / np.maximum(number, 1)
        return np.where(number > 0, mean, np.nan), number


class Clustered:
    """Intervals of shares, for every group and column at once: one by one they would take minutes.

    Parameters
    ----------
    rows
        Group → positions of its cases.
    clusters, above, below
        The cluster of every case, and its numerators and denominators, shape ``(cases, columns)``.
    """

    def __init__(
        self, rows: dict[Key, NDArray[np.intp]], clusters: NDArray[np.str_], above: Vector, below: Vector
    ) -> None:
        columns = above.shape[1]
        sums = {key: per_cluster(np.hstack([above[at], below[at]]), clusters[at]) for key, at in rows.items()}
        most = max((len(found) for found in sums.values()), default=0)
        # A cluster that a group does not have is one without observations.
        padded = [np.pad(found, ((0, most - len(found)), (0, 0))) for found in sums.values()]
        wide = np.stack(padded, axis=1) if padded else np.zeros((0, 0, 2 * columns))
        shape = most, len(sums) * columns
        low, high = share_intervals(wide[:, :, :columns].reshape(shape), wide[:, :, columns:].reshape(shape))
        used = (wide[:, :, columns:] > 0).sum(0)
        self._found = {
            key: (low[at : at + columns], high[at : at + columns], used[number])
            for number, key in enumerate(sums)
            for at in [number * columns]
        }
        self._none = np.full(columns, np.nan), np.full(columns, np.nan), np.zeros(columns, dtype=np.intp)

    def of(self, key: Key) -> tuple[Vector, Vector, NDArray[np.intp]]:
        """Return lower ends, upper ends, and the number of clusters with an observation."""
        return self._found.get(key, self._none)


def share_of(frame: pd.DataFrame, column: str, cluster: Sequence[str]) -> dict[str, Any]:
    """Return the share of rows in which a column holds, as a row of a metrics frame."""
    sums = frame.groupby(list(cluster))[column].agg(["sum", "size"]).to_numpy(dtype=float)
    low, high = share_intervals(sums[:, :1], sums[:, 1:])
    above, below = int(sums[:, 0].sum()), int(sums[:, 1].sum())
    value = above / below if below else np.nan
    return {
        **figure(column, value, above, below, float(low[0]), float(high[0])),
        "cases": frame["case_id"].nunique(),
        "clusters": len(sums),
    }


def ratio(numerator: float, denominator: float) -> float | None:
    """Return a ratio, and no figure for an empty denominator."""
    return numerator / denominator if denominator else None


def figure(
    metric: str,
    value: float | None,
    numerator: float | None = None,
    denominator: float | None = None,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
) -> dict[str, Any]:
    """Return one row of a metrics frame."""
    return {
        "metric": metric,
        "value": value,
        "numerator": numerator,
        "denominator": denominator,
        "ci_low": low,
        "ci_high": high,
        "unit": unit,
    }
