"""Every result that clusters can have, with its chance: coverage is counted wherever it can be, not drawn."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from scipy import special, stats

from toolbench.numbers.weighing import Vector

MOST = 300_000
"""Results up to which they are counted through; beyond that some are drawn."""
_DRAWN = 4000
_STEPS = 400


def passes(attempts: int, rate: float, correlation: float) -> Vector:
    """Return the chances that 0, 1, … attempts of a cluster pass; its rate has a beta distribution."""
    passed = np.arange(attempts + 1)
    if not correlation:
        return np.asarray(stats.binom.pmf(passed, attempts, rate))
    size = (1 - correlation) / correlation
    return np.asarray(stats.betabinom.pmf(passed, attempts, rate * size, (1 - rate) * size))


def differences(attempts: int, means: tuple[float, float], correlation: float) -> Vector:
    """Return the chances that right less left is ``-attempts``, …, ``attempts``.

    A cluster that is hard for one side is hard for the other: both rates are the same quantile.
    """
    if correlation:
        size = (1 - correlation) / correlation
        quantiles = (np.arange(_STEPS) + 0.5) / _STEPS
        rates = [stats.beta.ppf(quantiles, mean * size, (1 - mean) * size) for mean in means]
    else:
        rates = [np.array([mean]) for mean in means]
    passed = np.arange(attempts + 1)
    left, right = (stats.binom.pmf(passed, attempts, rate[:, None]) for rate in rates)
    both = np.einsum("qi,qj->ij", left, right) / len(left)
    found = np.array([np.trace(both, shift) for shift in range(-attempts, attempts + 1)])
    return np.asarray(found / found.sum())


def results(clusters: int, chances: Vector, seed: int) -> tuple[Vector, Vector]:
    """Return how many clusters had each outcome, shape ``(results, outcomes)``, and the chance of each.

    All results where there are few enough of them; else some that are drawn, each as likely as the others.
    """
    outcomes = len(chances)
    if comb(clusters + outcomes - 1, outcomes - 1) > MOST:
        drawn = np.random.default_rng(seed).multinomial(clusters, chances, size=_DRAWN)
        return drawn.astype(float), np.full(_DRAWN, 1 / _DRAWN)
    bars = np.array(list(combinations(range(clusters + outcomes - 1), outcomes - 1)), dtype=np.int64)
    ends = np.full((len(bars), 1), clusters + outcomes - 1)
    counts = np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1
    logs = special.gammaln(clusters + 1) - special.gammaln(counts + 1).sum(1)
    return counts.astype(float), np.exp(logs + special.xlogy(counts, chances).sum(1))
