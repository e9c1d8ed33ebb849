"""Intervals: other implementations, and what must hold whatever the data (coverage: ``tests/bench``)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from toolbench.numbers.intervals import FEWEST, Observed, quantile_intervals, share_intervals
from toolbench.numbers.weighing import chance_below

Cases = list[tuple[int, int]]


def interval(above: list[float], below: list[float]) -> tuple[float, float]:
    low, high = share_intervals(np.array(above, float)[:, None], np.array(below, float)[:, None])
    return float(low[0]), float(high[0])


def of(pairs: Cases) -> tuple[float, float]:
    return interval([a for a, _ in pairs], [b for _, b in pairs])


def tail(passed: int, n: int, end: float, above: bool) -> float:
    """Return the chance of a result as far off or farther, half of this one counted."""
    beyond = stats.binom.sf(passed, n, end) if above else stats.binom.cdf(passed - 1, n, end)
    return float(beyond + stats.binom.pmf(passed, n, end) / 2)


@settings(deadline=None)
@given(st.integers(FEWEST, 300), st.data())
def test_independent_attempts_have_the_exact_interval_with_mid_p(n: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    low, high = interval([1] * passed + [0] * (n - passed), [1] * n)
    assert (low == 0) == (passed == 0)
    assert (high == 1) == (passed == n)
    # A tail is 2.5 %, and up to 4.5 % of shares from which no result is too far on the other side.
    perfect = 0.05 ** (1 / n)
    for end, above, lent in ((low, True, low < 1 - perfect), (high, False, high > perfect)):
        if 0 < end < 1 and abs(end - perfect) > 1e-9 and abs(end - 1 + perfect) > 1e-9:
            wanted = 0.045 if lent else 0.025
            assert tail(passed, n, end, above) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("n", [10, 20, 30, 94])
def test_the_end_that_a_gate_reads_is_that_of_mid_p_whatever_is_lent(n: int) -> None:
    # A gate on a high share reads the lower end, and there nothing is lent.
    for failures in range(4):
        low, _ = interval([1] * (n - failures) + [0] * failures, [1] * n)
        assert tail(n - failures, n, low, True) == pytest.approx(0.025, abs=1e-7)


cases = st.lists(
    st.integers(0, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=FEWEST,
    max_size=40,
)


@settings(deadline=None)
@given(cases)
def test_an_interval_contains_its_share_and_stays_between_0_and_1(pairs: Cases) -> None:
    low, high = of(pairs)
    if sum(b > 0 for _, b in pairs) < FEWEST:
        assert np.isnan(low)
        assert np.isnan(high)
    else:
        share = sum(a for a, _ in pairs) / sum(b for _, b in pairs)
        assert 0 <= low <= share + 1e-9
        assert share - 1e-9 <= high <= 1
        assert low < high


@settings(deadline=None)
@given(cases.filter(lambda pairs: any(a < b for a, b in pairs)), st.randoms())
def test_a_success_in_place_of_a_failure_lowers_neither_end(pairs: Cases, random: object) -> None:
    failing = [index for index, (a, b) in enumerate(pairs) if a < b]
    better = list(pairs)
    chosen = random.choice(failing)  # type: ignore[attr-defined]
    better[chosen] = (pairs[chosen][0] + 1, pairs[chosen][1])
    for before, after in zip(of(pairs), of(better), strict=True):
        assert after >= before - 1e-8 or np.isnan(before)


def test_three_failures_have_no_better_interval_than_none() -> None:
    perfect, flawed = interval([3] * 30, [3] * 30), interval([2] * 3 + [3] * 27, [3] * 30)
    assert flawed[0] < perfect[0]
    assert flawed[1] <= perfect[1] == 1


@settings(deadline=None)
@given(cases, st.randoms())
def test_the_order_of_clusters_does_not_matter(pairs: Cases, random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    np.testing.assert_equal(of(pairs), of(shuffled))


def test_many_shares_at_once_are_those_one_by_one() -> None:
    rng = np.random.default_rng(4)
    below = rng.integers(0, 4, size=(12, 40)).astype(float)
    above = rng.binomial(below.astype(int), 0.7).astype(float)
    low, high = share_intervals(above, below)
    alone = [interval(list(above[:, i]), list(below[:, i])) for i in range(40)]
    np.testing.assert_allclose(np.column_stack([low, high]), alone, atol=1e-8)


def test_identical_repetitions_add_no_certainty() -> None:
    single, fivefold = interval([1] * 20 + [0] * 10, [1] * 30), interval([5] * 20 + [0] * 10, [5] * 30)
    assert fivefold == pytest.approx(single)


def test_independent_repetitions_narrow_the_interval() -> None:
    single = interval([1] * 20 + [0] * 10, [1] * 30)
    fivefold = interval([3, 3, 4] * 10, [5] * 30)
    assert fivefold[1] - fivefold[0] < 0.75 * (single[1] - single[0])


def test_nine_clusters_have_no_interval_whatever_they_say() -> None:
    assert np.isnan(interval([5] * 9, [5] * 9)).all()
    assert np.isfinite(interval([5] * 10, [5] * 10)).all()


def test_a_sum_of_several_kinds_of_terms_is_that_of_simulated_weights() -> None:
    rng = np.random.default_rng(3)
    terms = np.array([[0.7, 0.2, -0.1, -0.6, -0.9, 0.4, 0.3, -0.3]])
    weights = np.array([[1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 1.0]])
    drawn = (rng.gamma(weights, size=(400_000, 8)) * terms).sum(1)
    assert chance_below(terms, weights)[0] == pytest.approx((drawn <= 0).mean(), abs=0.003)


def names(clusters: int, each: int = 1) -> np.ndarray:
    return np.repeat([f"c{number:03d}" for number in range(clusters)], each)


def quantile_interval(values: np.ndarray, clusters: np.ndarray, share: float) -> tuple[float, float]:
    (found,) = quantile_intervals([Observed(values, clusters, share)])
    return found


def test_a_quantile_of_clustered_times_is_covered() -> None:
    rng = np.random.default_rng(7)
    # Log-normal times with a part per cluster; their distribution function is known.
    truth, hits = float(np.exp(np.sqrt(1.25) * stats.norm.ppf(0.9))), 0
    for _ in range(300):
        times = np.exp(np.repeat(rng.normal(size=60), 3) + 0.5 * rng.normal(size=180))
        low, high = quantile_interval(times, names(60, 3), 0.9)
        hits += low <= truth <= high
    assert 0.925 <= hits / 300 <= 0.985


@pytest.mark.parametrize(("clusters", "known"), [(71, False), (72, True)])
def test_a_95th_percentile_has_an_upper_end_from_72_clusters_on(clusters: int, known: bool) -> None:
    # 0.95 ** 72 is .0249: all of 72 below the percentile is unlikely enough, all of 71 is not.
    low, high = quantile_interval(np.arange(clusters, dtype=float), names(clusters), 0.95)
    assert np.isfinite(low)
    assert np.isfinite(high) == known


def test_a_median_is_known_from_ten_clusters_on() -> None:
    assert np.isnan(quantile_interval(np.arange(9.0), names(9), 0.5)).all()
    assert quantile_interval(np.arange(10.0), names(10), 0.5) == (1, 8)


def test_a_quantile_of_one_value_is_that_value() -> None:
    assert quantile_interval(np.full(99, 4.0), names(99), 0.5) == (4.0, 4.0)


def test_many_quantiles_at_once_are_those_one_by_one() -> None:
    rng = np.random.default_rng(5)
    several = [
        Observed(rng.lognormal(size=size * each).round(1), names(size, each), share)
        for size, each, share in [(80, 1, 0.95), (12, 3, 0.5), (3, 2, 0.5), (75, 4, 0.95), (1, 1, 0.5)]
    ]
    np.testing.assert_equal(quantile_intervals(several), [quantile_interval(*one) for one in several])
    assert quantile_intervals([]) == []
