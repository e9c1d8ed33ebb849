"""Clusters weighed at random: the one distribution behind every interval and every p-value here.

The mean of clusters is looked at under random weights, each cluster's weight drawn from an exponential
distribution (Rubin 1981, Annals of Statistics 9:130-134, the Bayesian bootstrap). Alone that would say
nothing about what has not been seen, so one cluster at an end of the scale is added: at the low end for a
cautious answer, at the high end for a bold one. The mean of both answers is used. For clusters that are all
0 or 1 the cautious answer is that of Clopper and Pearson (1934), and the mean of both is their interval
with the mid-p correction (Lancaster 1961; Berry and Armitage 1995, The Statistician 44:417-423); for paired
0/1 observations it is McNemar's test with mid-p (Fagerland, Lydersen and Laake 2013, BMC Medical Research
Methodology 13:91). For clusters of several observations it is Gaffke's bound (2005; Learned-Miller and
Thomas 2019, arXiv 1905.06208) in the same mid-p form.

Two things follow by construction, whatever the correlation inside a cluster: a success in place of a failure
never lowers either end of an interval, and an interval leaves out exactly the values whose p is below 0.05.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import elementwise

Vector = NDArray[np.float64]

_STEPS = 60
_TINY = 1e-12
_SAME = 1e-9
"""Relative difference up to which two terms are one value."""
_EDGE = 1e-10


def chance_below(terms: Vector, weights: Vector) -> Vector:
    """Return the chance that ``Σ Gᵢ · termᵢ ≤ 0`` for independent ``Gᵢ ~ Gamma(weightᵢ)``.

    Where the terms take two values, it is a beta distribution and exact. Otherwise the saddlepoint formula
    of Barndorff-Nielsen (1986, Biometrika 73:307-322), whose relative error is of the order of one over the
    number of terms, also far out in the tails.

    Parameters
    ----------
    terms, weights
        Shape ``(sums, terms)``; a weight of 0 leaves its term out, as a term of 0 does.

    Returns
    -------
    Vector
        Shape ``(sums,)``, between 0 and 1; 1 where no term is above 0, 0 where none is below.
    """
    weights = np.broadcast_to(weights, terms.shape)
    used = (weights > 0) & (terms != 0)
    highest = np.where(used, terms, -np.inf).max(1)
    lowest = np.where(used, terms, np.inf).min(1)
    chance = np.where(highest <= 0, 1.0, 0.0)
    open_ = (highest > 0) & (lowest < 0)
    if not open_.any():
        return chance
    terms, weights, used = terms[open_], weights[open_], used[open_]
    highest, lowest = highest[open_], lowest[open_]
    at_top = terms >= highest[:, None] * (1 - _SAME)
    at_bottom = terms <= lowest[:, None] * (1 - _SAME)
    two = (at_top | at_bottom | ~used).all(1)
    found = np.empty(len(terms))
    if two.any():
        above = np.where(at_top, weights, 0.0)[two].sum(1)
        below = np.where(at_bottom, weights, 0.0)[two].sum(1)
        # Gamma(above) · high + Gamma(below) · low <= 0, as a share of both.
        found[two] = special.betainc(above, below, -lowest[two] / (highest[two] - lowest[two]))
    if not two.all():
        rest = ~two
        found[rest] = _saddlepoint(terms[rest], weights[rest], lowest[rest], highest[rest])
    chance[open_] = found
    return chance


def _saddlepoint(terms: Vector, weights: Vector, lowest: Vector, highest: Vector) -> Vector:
    point = _saddle(terms, weights, lowest, highest)
    left = 1 - point[:, None] * terms
    generating = -(weights * np.log(left)).sum(1)
    second = (weights * (terms / left) ** 2).sum(1)
    third = (2 * weights * (terms / left) ** 3).sum(1)
    root = np.sign(point) * np.sqrt(np.maximum(-2 * generating, 0))
    scaled = point * np.sqrt(second)
    near = np.abs(root) < 1e-3
    safe = np.where(near, 1.0, root)
    correction = np.where(near, third / (6 * second**1.5), np.log(np.where(near, 1.0, scaled / safe)) / safe)
    return np.asarray(special.ndtr(root + correction), dtype=np.float64)


def _saddle(terms: Vector, weights: Vector, lowest: Vector, highest: Vector) -> Vector:
    """Return where the derivative of the cumulant generating function is 0: Newton, kept in a bracket."""
    low, high = (1 - _TINY) / lowest, (1 - _TINY) / highest
    found, point = np.zeros(len(terms)), np.zeros(len(terms))
    rows = np.arange(len(terms))
    for _ in range(_STEPS):
        ratio = terms / (1 - point[:, None] * terms)
        pulled = weights * ratio
        slope = pulled.sum(1)
        low, high = np.where(slope < 0, point, low), np.where(slope < 0, high, point)
        step = point - slope / (pulled * ratio).sum(1)
        inside = (step > low) & (step < high)
        moved = np.where(inside, step, (low + high) / 2)
        found[rows] = moved
        moving = np.abs(moved - point) > 1e-11 * (high - low) + 1e-14 * np.abs(point)
        if not moving.any():
            break
        # A few take many steps more than the others.
        rows, terms, weights = rows[moving], terms[moving], weights[moving]
        low, high, point = low[moving], high[moving], moved[moving]
    return found


def chances_mean_below(
    value: Vector, numerators: Vector, denominators: Vector, low: Vector, high: Vector
) -> tuple[Vector, Vector]:
    """Return how likely the ratio of sums is at most ``value``: at most so likely, and at least so likely.

    Parameters
    ----------
    value
        Shape ``(ratios,)``.
    numerators, denominators
        Sums per cluster, shape ``(ratios, clusters)``; a denominator of 0 leaves the cluster out.
    low, high
        Where the added cluster stands, shape ``(ratios,)``; never on the wrong side of ``value``.
    """
    used = denominators > 0
    size = denominators.sum(1) / np.maximum(used.sum(1), 1)
    terms = numerators - value[:, None] * denominators
    weights = np.hstack([used.astype(float), np.ones((len(terms), 1))])
    added = np.minimum(low - value, 0) * size, np.maximum(high - value, 0) * size
    most, least = (chance_below(np.hstack([terms, one[:, None]]), weights) for one in added)
    return most, least


def chance_mean_below(
    value: Vector, numerators: Vector, denominators: Vector, low: Vector, high: Vector
) -> Vector:
    """Return the mean of :func:`chances_mean_below`: the confidence distribution of the ratio, mid-p."""
    most, least = chances_mean_below(value, numerators, denominators, low, high)
    return np.asarray((most + least) / 2, dtype=np.float64)


def limits(
    numerators: Vector,
    denominators: Vector,
    scale: tuple[float, float],
    level: float,
    span: Vector | None = None,
) -> tuple[Vector, Vector]:
    """Return the values whose :func:`chance_mean_below` is ``(1 - level) / 2`` and ``(1 + level) / 2``.

    Parameters
    ----------
    numerators, denominators
        Sums per cluster, shape ``(ratios, clusters)``.
    scale
        The least and the greatest value a ratio can have: an end that no value reaches is put there.
    level
        0.95 for a 95 % interval.
    span
        Where the added cluster stands, ``-span`` and ``span``, shape ``(ratios,)``; at the ends of the
        scale if not given.
    """
    count = len(numerators)
    low, high = (np.full(count, end) for end in scale) if span is None else (-span, span)
    # Just inside: at an end of the scale itself the added cluster adds nothing.
    edge = _EDGE * (scale[1] - scale[0])
    first, last = np.full(count, scale[0] + edge), np.full(count, scale[1] - edge)

    def short_of(value: Vector, which: NDArray[np.intp], target: Vector) -> Vector:
        below = chance_mean_below(value, numerators[which], denominators[which], low[which], high[which])
        return below - target

    everything, found = np.arange(count), []
    for share in ((1 - level) / 2, (1 + level) / 2):
        target = np.full(count, share)
        root = np.where(short_of(first, everything, target) >= 0, scale[0], scale[1])
        inside = (root == scale[1]) & (short_of(last, everything, target) > 0)
        if inside.any():
            which = everything[inside]
            root[inside] = elementwise.find_root(
                short_of,
                (first[inside], last[inside]),
                args=(which, target[inside]),
                tolerances={"xatol": edge, "xrtol": 0, "fatol": 0, "frtol": 0},
            ).x
        found.append(root)
    return found[0], found[1]
