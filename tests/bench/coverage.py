"""How often the printed intervals hold, how often equal sides are called different, and what power is.

``python -m tests.bench.coverage`` prints the tables of the README; all of it is seeded. Coverage is read off
the distribution behind the interval: a true value is inside exactly when its chance is between 2.5 and 97.5
%.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tests.numbers.support import GROUP as NAMED
from tests.numbers.support import frame, planned, row
from toolbench.numbers.compare import compare_all
from toolbench.numbers.paired import FEWEST_CLUSTERS, FEWEST_DIFFERING, Pairs, _span, detectable, p_value
from toolbench.numbers.rows import FINDING
from toolbench.numbers.sides import Side
from toolbench.numbers.signature import Signature
from toolbench.numbers.weighing import Vector, chance_mean_below

SEED = 20261130
CLUSTERS = (9, 20, 30, 94)
REPETITIONS = (1, 3)
CORRELATIONS = (0.0, 0.6)
RATES = (0.5, 0.7, 0.8, 0.9)
DIFFERENCES = ((0.8, 0.8), (0.6, 0.6), (0.8, 0.7), (0.95, 0.8), (0.9, 0.3))


def rates_of(u: Vector, mean: float, correlation: float) -> Vector:
    """Return rates of clusters with a beta distribution, from uniform draws shared by both sides."""
    from scipy import stats

    if not correlation:
        return np.full(u.shape, mean)
    size = (1 - correlation) / correlation
    return np.asarray(stats.beta.ppf(u, mean * size, (1 - mean) * size))


def share_coverage(k: int, r: int, correlation: float, rate: float, runs: int = 2000) -> float:
    """Return how often the interval of a share holds the true one."""
    rng = np.random.default_rng(SEED)
    passed = rng.binomial(r, rates_of(rng.random((runs, k)), rate, correlation)).astype(float)
    sizes, zero, one = np.full_like(passed, r), np.zeros(runs), np.ones(runs)
    chance = chance_mean_below(np.full(runs, rate), passed, sizes, zero, one)
    return float(((chance > 0.025) & (chance < 0.975)).mean())


def difference_coverage(
    k: int, r: int, correlation: float, means: tuple[float, float], runs: int = 2000
) -> tuple[float, float, float]:
    """Return the coverage of printed intervals, the share printed, and of all runs that with p < 5 %.

    The share is that of runs with a p; with few scenarios these have no interval, and the coverage is NaN.
    """
    rng = np.random.default_rng(SEED)
    u = rng.random((runs, k))
    left, right = (rng.binomial(r, rates_of(u, mean, correlation)) / r for mean in means)
    differences, sizes = right - left, np.ones((runs, k))
    span, truth = _span(differences, sizes, 1.0), np.full(runs, means[1] - means[0])
    printed = (np.abs(differences) > 1e-12).sum(1) >= FEWEST_DIFFERING

    def inside(value: Vector) -> Vector:
        ends = np.minimum(-span, value), np.maximum(span, value)
        chance = chance_mean_below(value, differences, sizes, *ends)
        return np.asarray((chance > 0.025) & (chance < 0.975))

    covered = float(inside(truth)[printed].mean()) if printed.any() and k >= FEWEST_CLUSTERS else np.nan
    return covered, float(printed.mean()), float((printed & ~inside(np.zeros(runs))).mean())


def power(k: int, r: int, runs: int = 200) -> tuple[float, float]:
    """Return the difference said to be detectable, and how often it is detected when it is there."""
    rng = np.random.default_rng(SEED)
    names = np.array([f"c{number:03d}" for number in range(k)])
    rates = rng.beta(2, 1, k)
    left, right = (rng.binomial(r, rates) / r for _ in range(2))
    found = detectable(Pairs(left, right, names))
    if found is None:
        return np.nan, np.nan
    seen = 0
    for _ in range(runs):
        base, other = (rng.binomial(r, rates) / r for _ in range(2))
        lost = rng.random(k) < found / rates.mean()
        seen += p_value(Pairs(base, np.where(lost, 0.0, other), names)) < 0.05
    return found, seen / runs


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


def lines() -> Iterator[str]:
    """Yield the rows of the README's table, then what is told in a sentence."""
    yield "| scenarios | repetitions | correlation | shares | differences | printed | false alarms |"
    yield "|---|---|---|---|---|---|---|"
    for k in CLUSTERS:
        for r in REPETITIONS:
            for correlation in CORRELATIONS if r > 1 else CORRELATIONS[:1]:
                yield _row(k, r, correlation)
    for k, r in ((14, 3), (30, 1), (94, 3)):
        found, seen = power(k, r)
        yield f"detectable with {k} scenarios, {r} repetitions: {found:.2f}; found in {seen:.2f} of runs"
    yield "| scenarios | cases | repetitions | failures lost | p < 5 % | at both extremes | over attempts |"
    yield "|---|---|---|---|---|---|---|"
    for scenarios, variants, repetitions in DESIGNS:
        for share in LOSSES:
            found = false_alarms(share, 120, scenarios, variants, repetitions)
            cells = [
                scenarios,
                scenarios * variants,
                repetitions,
                f"{share:.0%}",
                *(f"{one:.3f}" for one in found),
            ]
            yield f"| {' | '.join(map(str, cells))} |"


def _row(k: int, r: int, correlation: float) -> str:
    shares = [share_coverage(k, r, correlation, rate) for rate in RATES]
    found = [difference_coverage(k, r, correlation, means) for means in DIFFERENCES]
    false = max(f for (a, b), (_, _, f) in zip(DIFFERENCES, found, strict=True) if a == b)
    cells = [str(k), str(r), f"{correlation:.1f}", _spread(shares, [1.0] * len(shares))]
    cells += [_spread([c for c, _, _ in found], [p for _, p, _ in found])]
    cells += [f"{np.mean([printed for _, printed, _ in found]):.2f}", f"{false:.3f}"]
    return f"| {' | '.join(cells)} |"


def _spread(values: list[float], printed: list[float]) -> str:
    """Return the coverage of all that is printed, and the range over situations in which 5 % of it is."""
    known = [(value, often) for value, often in zip(values, printed, strict=True) if np.isfinite(value)]
    usual = [value for value, often in known if often >= 0.05]
    if not usual:
        return "none"
    mean = np.average([value for value, _ in known], weights=[often for _, often in known])
    return f"{mean:.3f} ({min(usual):.3f}–{max(usual):.3f})"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
