"""95 % intervals of figures whose observations come in clusters: attempts of a scenario are not independent.

All of them read :mod:`toolbench.numbers.weighing`: no correlation is estimated, nothing is assumed about it,
and a better result never has a worse interval. ``tests/bench/coverage.py`` counts how often they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolbench.numbers.weighing import Vector, chances_mean_below, limits

LEVEL = 0.95
METHOD = "weighed-clusters,mid-p,lent-tails"
_AT_ONCE = 2000
FEWEST = 10
"""Clusters below which nothing has an interval: those of nine cover up to 99.7 % and not 95 %."""
_LENT = 0.045
"""What one tail has where the other cannot be reached; not all 5 %, as results are counted by halves (mid-p).

Found by counting through every result and true share: with 4.5 % no share is covered too often or too rarely
that another interval could cover better.
"""

Interval = tuple[float, float]
Positions = NDArray[np.intp]
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
        Lower and upper ends, shape ``(shares,)``; NaN where fewer than ten clusters have an observation.
    """
    shares = numerators.shape[1]
    low, high = np.full(shares, np.nan), np.full(shares, np.nan)
    enough = np.flatnonzero((denominators > 0).sum(0) >= FEWEST)
    if len(enough):
        pairs = _in_order(numerators.T[enough], denominators.T[enough])
        # Many shares are made of the same clusters: all of them, none of them.
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        for rows in np.array_split(np.arange(len(distinct)), len(distinct) // _AT_ONCE + 1):
            ends = _lent(distinct[rows].real, distinct[rows].imag)
            for end, found in zip((low, high), ends, strict=True):
                mine = np.isin(which, rows)
                end[enough[mine]] = found[which[mine] - rows[0]]
    return low, high


def _lent(numerators: Vector, denominators: Vector) -> tuple[Vector, Vector]:
    """Return the ends for clusters in rows: a tail that no result can reach is lent to the other.

    Of a share near 1 not even a perfect result is too good to be true. Were the tail for such results kept
    back, only half of the 5 % would be used, and intervals would cover up to 99 % there. (Blaker 2000,
    Canadian Journal of Statistics 28:783-798, lends in the same way, by smaller steps.) How much is lent
    depends on the share that is asked about and on nothing that was seen, so that better results keep better
    intervals.
    """
    low, high = limits(numerators, denominators, (0.0, 1.0), LEVEL)
    # The lower end of a perfect result: above it none is too good.
    near = (1 - LEVEL) ** (1 / (denominators > 0).sum(1))
    lent = np.flatnonzero((high > near) | (low < 1 - near))
    if len(lent):
        lower, upper = limits(numerators[lent], denominators[lent], (0.0, 1.0), 1 - 2 * _LENT)
        low[lent] = np.minimum(np.maximum(low[lent], 1 - near[lent]), lower)
        high[lent] = np.maximum(np.minimum(high[lent], near[lent]), upper)
    return low, high


def _in_order(numerators: Vector, denominators: Vector) -> NDArray[np.complex128]:
    """Return the clusters of every share in one order, numerator and denominator as one number."""
    return np.sort(np.where(denominators > 0, numerators + 1j * denominators, 0), axis=1)


class Observed(NamedTuple):
    """Amounts whose quantile is asked for: a value and its cluster each, shape ``(observations,)``.

    ``share`` lies between 0 and 1: 0.95 is the 95th percentile.
    """

    values: Vector
    clusters: NDArray[np.str_]
    share: float


def quantile_intervals(observed: Sequence[Observed]) -> list[Interval]:
    """Return the interval of each quantile, free of any distribution: the values it cannot be told from.

    An end is NaN where no observation can be one: with 30 clusters even the slowest reply may well lie below
    the 95th percentile, whose upper end takes 72 clusters. Both are NaN below ten clusters.
    """
    found: list[Interval] = []
    for start in range(0, len(observed), _AT_ONCE):
        found += _Quantiles(observed[start : start + _AT_ONCE]).intervals()
    return found


class _Quantiles:
    """Quantiles whose ends are searched for side by side: one by one they would take minutes."""

    def __init__(self, observed: Sequence[Observed]) -> None:
        self._shares = np.array([one.share for one in observed])
        self._ordered, self._up_to, self._clusters, sizes = [], [], [], []
        for one in observed:
            _, cluster = np.unique(one.clusters, return_inverse=True)
            ordered, counts = np.unique(one.values, return_counts=True)
            self._ordered.append(ordered)
            self._up_to.append(np.concatenate([[0], np.cumsum(counts)]))
            self._clusters.append(cluster[np.argsort(one.values, kind="stable")])
            sizes.append(np.bincount(cluster))
        # A cluster that a quantile does not have is one without observations.
        self._sizes = np.zeros((len(observed), max(map(len, sizes), default=0)))
        for row, size in enumerate(sizes):
            self._sizes[row, : len(size)] = size

    def intervals(self) -> list[Interval]:
        """Return both ends of every quantile."""
        # A value is an end as soon as it cannot be ruled out, cautiously: nothing is halved here.
        tail = (1 - LEVEL) / 2
        everything = np.arange(len(self._ordered))
        enough = (self._sizes > 0).sum(1) >= FEWEST
        starts = enough & (self._share_below(everything, np.full(len(everything), -1))[1] >= 1 - tail)
        first = self._first(lambda rows, index: self._share_below(rows, index)[1] < 1 - tail)
        last = self._first(lambda rows, index: self._share_below(rows, index)[0] <= tail)
        return [
            (
                float(ordered[low]) if starts[row] and low < len(ordered) else np.nan,
                float(ordered[high]) if enough[row] and high < len(ordered) else np.nan,
            )
            for row, (ordered, low, high) in enumerate(zip(self._ordered, first, last, strict=True))
        ]

    def _share_below(self, rows: Positions, index: Positions) -> tuple[Vector, Vector]:
        """How likely the share of values up to the ``index``-th smallest is at most ``share``."""
        at_most = np.zeros((len(rows), self._sizes.shape[1]))
        for line, (row, last) in enumerate(zip(rows, index, strict=True)):
            counts = np.bincount(self._clusters[row][: self._up_to[row][last + 1]])
            at_most[line, : len(counts)] = counts
        low, high = np.zeros(len(rows)), np.ones(len(rows))
        return chances_mean_below(self._shares[rows], at_most, self._sizes[rows], low, high)

    def _first(self, holds: Callable[[Positions, Positions], NDArray[np.bool_]]) -> Positions:
        """Return the first index from which a condition holds, the length if it never does (monotone)."""
        low = np.zeros(len(self._ordered), dtype=np.intp)
        high = np.array([len(ordered) for ordered in self._ordered], dtype=np.intp)
        while len(rows := np.flatnonzero(low < high)):
            middle = (low[rows] + high[rows]) // 2
            found = holds(rows, middle)
            high[rows[found]], low[rows[~found]] = middle[found], middle[~found] + 1
        return low


def wilson(above: int, below: int) -> tuple[float, float] | None:
    """Return Wilson's 95 % interval of a share of independent observations; none of no observation.

    Source: Wilson 1927, Journal of the American Statistical Association 22:209-212.
    """
    if not below:
        return None
    # A quarter of a second that judging, which is imported with this, has no use for.
    from scipy import stats

    found = stats.binomtest(above, below).proportion_ci(method="wilson")
    return float(found.low), float(found.high)
