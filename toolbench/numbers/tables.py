"""Sums per case for many groups at once: what every rate and interval is computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from toolbench.numbers.definitions import Rate
from toolbench.numbers.intervals import Vector, share_intervals

Key = tuple[Any, ...]


def positions(frame: pd.DataFrame, keys: Sequence[str]) -> dict[Key, NDArray[np.intp]]:
    """Return group → positions of its rows, groups in order of first appearance."""
    if frame.empty:
        return {}
    found: Any = frame.groupby(list(keys), sort=False, observed=True).indices
    return dict(found)


def groups(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[Key, pd.DataFrame]]:
    """Yield every group of a frame in order of first appearance, its key always a tuple."""
    for key, rows in frame.groupby(list(keys), sort=False, observed=True):
        yield key if isinstance(key, tuple) else (key,), rows


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


class PerCase:
    """Sums of count columns per case, for every group of a frame."""

    def __init__(self, frame: pd.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> None:
        wanted = list(dict.fromkeys(columns))
        case = list(dict.fromkeys([*keys, "case_class", "case_id"]))
        table = frame.groupby(case, sort=True, observed=True)[wanted].sum()
        flat = table.reset_index()
        self._column = {name: index for index, name in enumerate(wanted)}
        self._values = table.to_numpy(dtype=float)
        self._classes = flat["case_class"].to_numpy(dtype=str)
        self._rows = positions(flat, keys)

    def of(self, key: Key, columns: Sequence[str]) -> Vector:
        """Return the sums of one group, shape ``(cases, columns)``."""
        rows = self._rows.get(key, np.array([], dtype=np.intp))
        found: Vector = self._values[np.ix_(rows, np.array([self._column[name] for name in columns]))]
        return found

    def rates(self, key: Key, rates: Sequence[Rate]) -> Iterator[dict[str, Any]]:
        """Yield one group's figures: sums, share, interval and macro average of every rate."""
        above = self.of(key, [rate.numerator for rate in rates])
        below = self.of(key, [rate.denominator for rate in rates])
        low, high = share_intervals(above, below)
        macro, classes = self._macro(key, above, below)
        for column, rate in enumerate(rates):
            numerator, denominator = int(above[:, column].sum()), int(below[:, column].sum())
            value = ratio(numerator, denominator)
            yield {
                **figure(rate.name, value, numerator, denominator, low[column], high[column], rate.unit),
                "macro": macro[column],
                "classes": classes[column],
            }

    def _macro(self, key: Key, above: Vector, below: Vector) -> tuple[Vector, NDArray[np.int64]]:
        """Mean over the classes that have a figure, and how many these are."""
        names, member = np.unique(
            self._classes[self._rows.get(key, np.array([], dtype=np.intp))], return_inverse=True
        )
        indicator = (member == np.arange(len(names))[:, None]).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = (indicator @ above) / (indicator @ below)
        known = np.isfinite(shares)
        number = known.sum(0)
        mean = np.where(known, shares, 0).sum(0) / np.maximum(number, 1)
        return np.where(number > 0, mean, np.nan), number


def share_of(frame: pd.DataFrame, column: str, case: Sequence[str]) -> dict[str, Any]:
    """Return the share of rows in which a column holds, as a row of a metrics frame; cases are clusters."""
    sums = frame.groupby(list(case))[column].agg(["sum", "size"]).to_numpy(dtype=float)
    low, high = share_intervals(sums[:, :1], sums[:, 1:])
    above, below = int(sums[:, 0].sum()), int(sums[:, 1].sum())
    value = above / below if below else np.nan
    return figure(column, value, above, below, float(low[0]), float(high[0]))


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
