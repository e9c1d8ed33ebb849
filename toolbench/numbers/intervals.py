"""95 % intervals of figures whose observations come in clusters: attempts of a scenario are not independent.

All of them read :mod:`toolbench.numbers.weighing`: no correlation is estimated, nothing is assumed about it,
and a better result never has a worse interval. ``tests/bench/coverage.py`` simulates how often they hold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from toolbench.numbers.weighing import Vector, chances_mean_below, limits

LEVEL = 0.95
METHOD = "weighed-clusters,mid-p"
_AT_ONCE = 2000
FEWEST = 5
"""Clusters below which no interval is given: no result of so few could tell two figures apart."""

Interval = tuple[float, float]
NONE: Interval = (np.nan, np.nan)


def share_intervals(numerators: Vector, denominators: Vector) -> tuple[Vector, Vector]:
    """Return intervals of ``sum(numerator) / sum(denominator)`` for many shares at once.

    Parameters
    ----------
    numerators, denominators
        Sums per cluster, shape ``(clusters, shares)``, with ``0 <= numerator <= denominator``.

    Returns
    -------
    tuple
        Lower and upper ends, shape ``(shares,)``; NaN where fewer than five clusters have an observation.
    """
    shares = numerators.shape[1]
    low, high = np.full(shares, np.nan), np.full(shares, np.nan)
    enough = np.flatnonzero((denominators > 0).sum(0) >= FEWEST)
    if len(enough):
        pairs = _in_order(numerators.T[enough], denominators.T[enough])
        # Many shares are made of the same clusters: all of them, none of them.
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        for rows in np.array_split(np.arange(len(distinct)), len(distinct) // _AT_ONCE + 1):
            ends = limits(distinct[rows].real, distinct[rows].imag, (0.0, 1.0), LEVEL)
            for end, found in zip((low, high), ends, strict=True):
                mine = np.isin(which, rows)
                end[enough[mine]] = found[which[mine] - rows[0]]
    return low, high


def _in_order(numerators: Vector, denominators: Vector) -> NDArray[np.complex128]:
    """Return the clusters of every share in one order, numerator and denominator as one number."""
    return np.sort(np.where(denominators > 0, numerators + 1j * denominators, 0), axis=1)


def quantile_interval(values: Vector, clusters: NDArray[np.str_], share: float) -> tuple[float, float]:
    """Return the interval of a quantile, free of any distribution: the values it cannot be told from.

    An end is NaN where no observation can be one: with 30 clusters even the slowest reply may well lie below
    the 95th percentile. (The upper end of a 95th percentile takes 72 clusters, of a median 6.)

    Parameters
    ----------
    values, clusters
        One observation and its cluster each, shape ``(observations,)``.
    share
        Between 0 and 1: 0.95 is the 95th percentile.
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    sizes = np.asarray(np.bincount(cluster), dtype=np.float64)
    ordered = np.unique(values)
    tail = (1 - LEVEL) / 2

    def share_below(index: int) -> tuple[float, float]:
        """How likely the share of values up to the ``index``-th smallest is at most ``share``."""
        up_to = ordered[index] if index >= 0 else -np.inf
        at_most = np.asarray(np.bincount(cluster, values <= up_to, len(sizes)), dtype=np.float64)
        at, low, high = np.array([share]), np.zeros(1), np.ones(1)
        most, least = chances_mean_below(at, at_most[None], sizes[None], low, high)
        return float(most[0]), float(least[0])

    # A value is an end as soon as it cannot be ruled out, cautiously: nothing is halved here.
    starts = share_below(-1)[1] >= 1 - tail
    first = _first(len(ordered), lambda index: share_below(index)[1] < 1 - tail)
    last = _first(len(ordered), lambda index: share_below(index)[0] <= tail)
    return (
        float(ordered[first]) if starts and first < len(ordered) else np.nan,
        float(ordered[last]) if last < len(ordered) else np.nan,
    )


def _first(length: int, holds: Callable[[int], bool]) -> int:
    """Return the first index from which a condition holds, ``length`` if it never does (it is monotone)."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
