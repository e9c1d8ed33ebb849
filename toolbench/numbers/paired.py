"""Is the difference between two sides real? Everything here is paired by case and clustered by scenario.

Every case counts once, however many of its repetitions came through, so attempts lost on one side cannot
shift the figure towards the easy cases. Interval and p are two readings of one distribution
(:mod:`toolbench.numbers.weighing`): the interval leaves out 0 exactly where p is below 0.05. Where too few
clusters differ to tell anything, there is neither; where there are too few for an interval that covers as it
should (:data:`toolbench.numbers.intervals.FEWEST`), there is p alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolbench.numbers.intervals import FEWEST, LEVEL, NONE, Interval
from toolbench.numbers.weighing import Vector, chance_mean_below, limits

FEWEST_DIFFERING = 6
"""Clusters that must differ before an interval or a p is given.

With five, even if all went one way, an exact test gives 2 · 2⁻⁵ = .06: nothing could be told. And intervals
of so few would cover 90 % of the time in some situations and 100 % in others.
"""
POWER = 0.8
_UNSEEN = 0.25
"""How much a cluster that differs as much as any can counts beside one that was seen to differ.

Counted whole, intervals of clusters that differ by a third each cover up to 99 % (``tests/bench``).
"""
_DRAWS = 300
_MOST_CLUSTERS = 1000
_EQUAL = 1e-12


@dataclass(frozen=True)
class Pairs:
    """One figure of the same cases on two sides.

    Attributes
    ----------
    left, right
        The figure of every case on each side (a mean over its repetitions), shape ``(cases,)``.
    clusters
        The scenario of every case, shape ``(cases,)``.
    scale
        The largest difference that there can be; ``None`` for amounts, which have none.
    """

    left: Vector
    right: Vector
    clusters: NDArray[np.str_]
    scale: float | None = 1.0

    def __len__(self) -> int:
        return len(self.left)

    @property
    def differences(self) -> Vector:
        """Right minus left, case by case."""
        return self.right - self.left

    @property
    def delta(self) -> float:
        """The mean of the differences: every case counts alike."""
        return float(self.differences.mean())

    @property
    def sums(self) -> tuple[Vector, Vector]:
        """Sum of the differences and number of cases, per cluster."""
        _, cluster = np.unique(self.clusters, return_inverse=True)
        return (
            np.asarray(np.bincount(cluster, self.differences), dtype=np.float64),
            np.asarray(np.bincount(cluster), dtype=np.float64),
        )

    @property
    def differing(self) -> int:
        """How many clusters are not equal on both sides."""
        return int((np.abs(self.sums[0]) > _EQUAL).sum())

    @property
    def telling(self) -> bool:
        """Whether enough clusters differ for an interval and a p."""
        return self.differing >= FEWEST_DIFFERING


def difference_interval(pairs: Pairs) -> Interval:
    """Return the 95 % interval of ``pairs.delta``.

    NaN where fewer than six clusters differ, or there are fewer than ten.
    """
    sums, sizes = pairs.sums
    if not pairs.telling or len(sums) < FEWEST:
        return NONE
    reach = pairs.scale or 2 * float(np.abs(sums / sizes).max())
    low, high = limits(sums[None], sizes[None], (-reach, reach), LEVEL, _span(sums, sizes, pairs.scale))
    return float(low[0]), float(high[0])


def p_value(pairs: Pairs) -> float:
    """Return the two-sided p of "no difference"; NaN where fewer than six clusters differ.

    One cluster a case, one 0/1 observation a case and side: McNemar's test with mid-p. There is no floor but
    that of the data: 65 cases that are lost and none won give 2⁻⁶⁵.
    """
    sums, sizes = pairs.sums
    return float(_p(sums[None], sizes[None], pairs.scale)[0]) if len(sums) else np.nan


def _p(sums: Vector, sizes: Vector, scale: float | None = 1.0) -> Vector:
    """Return p for many sets of clusters at once, shape ``(sets, clusters)``."""
    zero, span = np.zeros(len(sums)), _span(sums, sizes, scale)
    # Turned so that the mean is above 0: the tail below is then the small one, and keeps its digits.
    turned = np.where(sums.sum(-1, keepdims=True) < 0, -sums, sums)
    tail = chance_mean_below(zero, turned, sizes, -span, span)
    telling = (np.abs(sums) > _EQUAL).sum(-1) >= FEWEST_DIFFERING
    return np.where(telling, 2 * np.minimum(tail, 1 - tail), np.nan)


def _span(sums: Vector, sizes: Vector, scale: float | None) -> Vector:
    """Return how far off 0 an unseen cluster may be, shape ``(sets,)``.

    Quadratic mean of the clusters that differ and, for a part, of one that differs as much as any can: of
    what so few have shown, the largest difference is not to be expected.
    """
    means = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
    differing = (np.abs(sums) > _EQUAL).sum(-1)
    most = np.abs(means).max(-1) if scale is None else scale
    return np.atleast_1d(np.sqrt(((means**2).sum(-1) + _UNSEEN * most**2) / (differing + _UNSEEN)))


def detectable(pairs: Pairs, seed: int = 0) -> float | None:
    """Return the smallest loss that a run like this one would show with 80 % power; ``None`` if none would.

    Simulated: the noise is that of the clusters as they differ here, each with a random sign; the effect
    turns a case over with a given probability, whatever its repetitions. The figure is what the mean
    difference then comes to. It is ``None`` as well below ten clusters, of amounts, and where the left side
    has (or lacks) less than that on the whole.
    """
    sums, sizes = pairs.sums
    if len(sums) < FEWEST or pairs.scale is None:
        return None
    random = np.random.default_rng(seed)
    drawn = random.integers(0, len(sums), (_DRAWS, len(sums)))
    noise, size = sums[drawn] * random.choice((-1.0, 1.0), drawn.shape), sizes[drawn]
    # Cases of a cluster turn together: that is the harder case to see, and the usual one.
    turning = random.random(drawn.shape)

    def lost(rate: float) -> Vector:
        return np.asarray(np.where(turning < rate, -size, np.maximum(noise, -size)), dtype=np.float64)

    def power(rate: float) -> float:
        return float(np.mean(_p(lost(rate), size) < 1 - LEVEL))

    if power(1.0) < POWER:
        return None
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    found = float((noise.sum() - lost(high).sum()) / size.sum())
    has = float(pairs.left.mean())
    return found if found <= max(has, pairs.scale - has) else None


def clusters_needed(pairs: Pairs, seed: int = 0) -> int | None:
    """Return how many scenarios like these would show a difference like this one with 80 % power.

    Simulated by drawing from the clusters seen. ``None`` where nothing differs, or a thousand would not do.
    """
    sums, sizes = pairs.sums
    if not sums.sum():
        return None
    random = np.random.default_rng(seed)

    def power(number: int) -> float:
        drawn = random.integers(0, len(sums), (_DRAWS // 2, number))
        return float(np.mean(_p(sums[drawn], sizes[drawn]) < 1 - LEVEL))

    high = FEWEST_DIFFERING
    while power(high) < POWER:
        high *= 2
        if high > _MOST_CLUSTERS:
            return None
    low = high // 2
    while high - low > max(1, high // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values (1979) of one family, in the given order."""
    order = np.argsort(p_values, kind="stable")
    adjusted, running = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted
