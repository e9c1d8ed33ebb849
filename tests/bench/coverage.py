"""How often the printed intervals hold, how often equal sides are called different, and what power is.

``python -m tests.bench.coverage`` prints the tables of ``tests/bench/README.md``. Shares and differences are
counted through every result that there can be, and drawn with a fixed seed only where there are too many.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from tests.bench.results import differences, passes, results
from tests.numbers.support import GROUP as NAMED
from tests.numbers.support import frame, planned, row
from toolbench.numbers.compare import compare_all
from toolbench.numbers.intervals import FEWEST, Observed, quantile_intervals, share_intervals
from toolbench.numbers.paired import FEWEST_DIFFERING, Pairs, _p, _span, detectable
from toolbench.numbers.rows import FINDING
from toolbench.numbers.sides import Side
from toolbench.numbers.signature import Signature
from toolbench.numbers.weighing import Vector, chance_below

SEED = 20261130
CLUSTERS = (9, 20, 30, 94)
CELLS = tuple((k, r, c) for k in CLUSTERS for r in (1, 3) for c in ((0.0, 0.6) if r > 1 else (0.0,)))
"""Scenarios, repetitions, correlation of the attempts of a scenario."""
RATES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
DIFFERENCES = ((0.8, 0.8), (0.6, 0.6), (0.8, 0.7), (0.95, 0.8), (0.9, 0.6), (0.9, 0.3))
LOWEST, HIGHEST = 0.925, 0.985
GRID = np.arange(0.5, 1.0, 0.0005)


@cache
def _intervals(clusters: int, attempts: int) -> tuple[Vector, Vector, Vector]:
    """Return every result of so many clusters, and both ends of its interval."""
    counts, _ = results(clusters, np.full(attempts + 1, 1 / (attempts + 1)), SEED)
    return counts, *_ends(counts, attempts)


def _ends(counts: Vector, attempts: int) -> tuple[Vector, Vector]:
    passed = np.repeat(np.tile(np.arange(attempts + 1), len(counts)), counts.astype(int).ravel())
    above = passed.reshape(len(counts), -1).T.astype(float)
    return share_intervals(above, np.full_like(above, attempts))


def share_coverage(k: int, r: int, correlation: float, rate: float) -> float:
    """Return how often the interval of a share holds the true one; NaN where there is none."""
    if k < FEWEST:
        return np.nan
    counts, chances = results(k, passes(r, rate, correlation), SEED)
    drawn = len(np.unique(chances)) == 1
    low, high = _ends(counts, r) if drawn else _intervals(k, r)[1:]
    return float(chances[(low <= rate) & (rate <= high)].sum())


class Reach(NamedTuple):
    """What part of all true shares from 0.5 to 1 is covered too rarely or too often, and by how much.

    ``bound``: the part for which every interval is outside the band, whatever its method: a share is covered
    by some row of neighbouring results, and no row has a chance inside. ``beyond`` is the part that could be
    covered better and is not; ``least`` and ``most`` are the coverage there.
    """

    outside: float
    bound: float
    beyond: float
    least: float
    most: float


def reach(k: int) -> Reach:
    """Count through every result of ``k`` attempts at every true share."""
    low, high = _intervals(k, 1)[1:]
    order = np.argsort(low)
    low, high = low[order], high[order]
    covered, bound = [], []
    for rate in GRID:
        chances = stats.binom.pmf(np.arange(k + 1), k, rate)
        covered.append(chances[(low <= rate) & (rate <= high)].sum())
        up_to = np.concatenate([[0], chances.cumsum()])
        rows = up_to[None, :] - up_to[:, None]
        bound.append(not ((rows >= LOWEST) & (rows <= HIGHEST)).any())
    found, never = np.array(covered), np.array(bound)
    outside = (found < LOWEST) | (found > HIGHEST)
    beyond = found[outside & ~never]
    least, most = (beyond.min(), beyond.max()) if len(beyond) else (np.nan, np.nan)
    return Reach(float(outside.mean()), float(never.mean()), len(beyond) / len(GRID), least, most)


class Differing(NamedTuple):
    """Coverage of what is printed, how often an interval is, and how often there is a p below 5 %."""

    covered: float
    printed: float
    significant: float


def difference_coverage(k: int, r: int, correlation: float, means: tuple[float, float]) -> Differing:
    """Return how often the interval of a paired difference holds the true one, of those that are printed."""
    counts, chances = results(k, differences(r, means, correlation), SEED)
    kept = (chances > 1e-10) & (k - counts[:, r] >= FEWEST_DIFFERING)
    counts, chances = counts[kept], chances[kept]
    values = np.arange(-r, r + 1) / r
    spans = _spans(counts, values)

    def inside(value: float) -> Vector:
        terms = np.where(counts > 0, values - value, 0.0)
        weights = np.hstack([counts, np.ones((len(counts), 1))])
        ends = np.minimum(-spans, value) - value, np.maximum(spans, value) - value
        most, least = (chance_below(np.hstack([terms, end[:, None]]), weights) for end in ends)
        return np.asarray(np.abs(most + least - 1) < 0.95)

    told = float(chances.sum())
    significant = float(chances[~inside(0.0).astype(bool)].sum())
    if k < FEWEST or not told:
        return Differing(np.nan, 0.0, significant)
    return Differing(float(chances[inside(means[1] - means[0]).astype(bool)].sum()) / told, told, significant)


def _spans(counts: Vector, values: Vector) -> Vector:
    """Return the span of every result; it depends on how many clusters differ by how much, and no more."""
    rows = np.repeat(np.tile(values, len(counts)), counts.astype(int).ravel()).reshape(len(counts), -1)
    return _span(rows, np.ones_like(rows), 1.0)


def quantile_coverage(k: int, r: int, correlation: float, share: float, runs: int = 4000) -> float:
    """Return how often the interval of a quantile of log-normal times holds the true one."""
    rng = np.random.default_rng(SEED)
    names = np.repeat([f"c{number:03d}" for number in range(k)], r)
    between, within = np.sqrt(correlation), np.sqrt(1 - correlation)
    truth = np.exp(stats.norm.ppf(share))
    noise = np.repeat(between * rng.normal(size=(runs, k)), r, axis=1) + within * rng.normal(
        size=(runs, k * r)
    )
    ends = np.array(quantile_intervals([Observed(times, names, share) for times in np.exp(noise)]))
    if np.isnan(ends).all():
        return np.nan
    low, high = np.nan_to_num(ends[:, 0], nan=-np.inf), np.nan_to_num(ends[:, 1], nan=np.inf)
    return float(((low <= truth) & (truth <= high)).mean())


def power(k: int, r: int, correlation: float, runs: int = 300, looks: int = 8) -> tuple[float, float, float]:
    """Return the loss said to be detectable (mean over several pilot runs) and how often it is found.

    Each pilot names a loss, which is then put into further runs of the same kind; the second and third value
    are the mean and the least share of these runs in which it is found. NaN where no loss is named.
    """
    rng = np.random.default_rng(SEED)
    names = np.array([f"c{number:03d}" for number in range(k)])
    rate = 0.7

    def drawn(*shape: int) -> tuple[Vector, Vector]:
        size = (1 - correlation) / correlation if correlation else np.inf
        rates = rng.beta(rate * size, (1 - rate) * size, shape) if correlation else np.full(shape, rate)
        left, right = (rng.binomial(r, rates) / r for _ in range(2))
        return left, right

    named, seen = [], []
    for _ in range(looks):
        found = detectable(Pairs(*drawn(k), names))
        if found is not None:
            left, right = drawn(runs, k)
            lost = rng.random((runs, k)) < found / rate
            sums = np.where(lost, 0.0, right) - left
            named.append(found)
            seen.append(float((_p(sums, np.ones_like(sums)) < 0.05).mean()))
    return (float(np.mean(named)), float(np.mean(seen)), min(seen)) if named else (np.nan, np.nan, np.nan)


def false_alarms(
    share: float, runs: int = 100, scenarios: int = 20, variants: int = 2, repetitions: int = 3
) -> tuple[float, float, float]:
    """Return how often two equal models "differ" when one loses failures: as shown, and over attempts.

    Parameters
    ----------
    share
        Of the right side's failures, the share that is lost.

    Returns
    -------
    tuple
        Share of runs with p < 5 %, with a refused verdict, and in which attempts simply divided would
        have differed by more than 5 points.
    """
    rng = np.random.default_rng(SEED)
    alarms = refusals = naive = 0
    for _ in range(runs):
        rates = rng.beta(0.8, 0.4, scenarios)
        sides = []
        for lossy in (False, True):
            rows = [
                row(f"s{s:02d}.{v}", bool(rng.random() < rate), scenario=f"s{s:02d}", repetition=r)
                for s, rate in enumerate(rates)
                for v in range(variants)
                for r in range(repetitions)
            ]
            kept = [
                row(a["case_id"], None, scenario=a["scenario"], repetition=a["repetition"])
                if lossy and not a["passed"] and rng.random() < share
                else a
                for a in rows
            ]
            made = frame(*kept)
            signatures = {tuple(NAMED.values()): Signature({})}
            sides.append(Side(str(lossy), made, pd.DataFrame(columns=FINDING), planned(*rows), signatures))
        last = compare_all([(sides[0], sides[1])], metrics=["pass_rate"], brief=True).table.iloc[0]
        alarms += bool(last["p"] < 0.05)
        refusals += "lost" in last["test"]
        naive += abs(sides[1].attempts["passed"].mean() - sides[0].attempts["passed"].mean()) > 0.05
    return alarms / runs, refusals / runs, naive / runs


LOSSES = (0.0, 0.03, 0.06, 0.09, 0.12, 0.5)
"""Shares of one side's failures; of all attempts of both sides some 2 % are lost at 0.12."""
DESIGNS = ((20, 2, 3), (94, 1, 5))
"""Scenarios, cases of each, repetitions."""


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _head(*names: object) -> Iterator[str]:
    yield ""
    yield _line(*names)
    yield _line(*["---"] * len(names))


def _shown(value: float) -> str:
    mark = "" if np.isnan(value) or LOWEST <= value <= HIGHEST else " *"
    return "none" if np.isnan(value) else f"{value:.3f}{mark}"


def lines() -> Iterator[str]:
    """Yield the tables; a star is a coverage outside 92.5–98.5 %."""
    cell = ("scenarios", "repetitions", "correlation")
    yield from _head(*cell, *(f"true share {rate:g}" for rate in RATES))
    for one in CELLS:
        yield _line(*one, *(_shown(share_coverage(*one, rate)) for rate in RATES))
    yield from _head("scenarios", "outside", "no interval is inside", "could be inside", "least", "most")
    for k in CLUSTERS[1:]:
        found = reach(k)
        parts = (f"{part:.1%}" for part in (found.outside, found.bound, found.beyond))
        yield _line(k, *parts, *(_shown(end) for end in (found.least, found.most)))
    yield from _head(*cell, *(f"{a:g} → {b:g}" for a, b in DIFFERENCES), "false alarms")
    for one in CELLS:
        told = [difference_coverage(*one, means) for means in DIFFERENCES]
        alarms = max(t.significant for t, (a, b) in zip(told, DIFFERENCES, strict=True) if a == b)
        shown = (f"{_shown(t.covered)} ({t.printed:.0%})" if t.printed else "none" for t in told)
        yield _line(*one, *shown, f"{alarms:.3f}")
    yield from _head(*cell, "median", "95th percentile (below 72 a lower end alone)")
    for one in CELLS:
        yield _line(*one, *(_shown(quantile_coverage(*one, share)) for share in (0.5, 0.95)))
    yield from _head(*cell, "detectable", "found", "least")
    for one in CELLS:
        loss, mean, least = power(*one)
        yield _line(*one, *(["none"] * 3 if np.isnan(loss) else (f"{v:.2f}" for v in (loss, mean, least))))
    names = ("failures lost", "p < 5 %", "at both extremes", "over attempts")
    yield from _head("scenarios", "cases", "repetitions", *names)
    for scenarios, variants, repetitions in DESIGNS:
        for share in LOSSES:
            alarms_, refused, naive = false_alarms(share, 120, scenarios, variants, repetitions)
            shown = (f"{one:.3f}" for one in (alarms_, refused, naive))
            yield _line(scenarios, scenarios * variants, repetitions, f"{share:.0%}", *shown)


if __name__ == "__main__":
    for text in lines():
        print(text, flush=True)
