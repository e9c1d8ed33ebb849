"""Intervals: published values, second implementations, and coverage measured by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from toolbench.numbers.intervals import mean_interval, quantile_interval, share_intervals


def interval(above: list[float], below: list[float]) -> tuple[float, float]:
    low, high = share_intervals(np.array(above, float)[:, None], np.array(below, float)[:, None])
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [
        pytest.param(81, 263, 0.2553, 0.3662, id="81 of 263"),
        pytest.param(15, 148, 0.0624, 0.1605, id="15 of 148"),
        pytest.param(0, 20, 0.0, 0.1611, id="0 of 20"),
        pytest.param(1, 29, 0.0061, 0.1718, id="1 of 29"),
    ],
)
def test_independent_attempts_get_wilsons_interval_as_published(
    passed: int, n: int, low: float, high: float
) -> None:
    # Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3.
    assert interval([1] * passed + [0] * (n - passed), [1] * n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 300), st.data())
def test_independent_attempts_agree_with_scipy(n: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    wanted = stats.binomtest(passed, n).proportion_ci(0.95, method="wilson")
    assert interval([1] * passed + [0] * (n - passed), [1] * n) == pytest.approx(
        (float(wanted.low), float(wanted.high)), abs=1e-9
    )


def test_two_of_six_is_ten_to_seventy_percent() -> None:
    # known_failures.md B23
    low, high = interval([1, 1, 0, 0, 0, 0], [1] * 6)
    assert (round(low, 2), round(high, 2)) == (0.10, 0.70)


cases = st.lists(st.integers(0, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1)


@given(cases)
def test_an_interval_contains_its_share_and_stays_between_0_and_1(pairs: list[tuple[int, int]]) -> None:
    above, below = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    low, high = interval(above, below)
    if sum(below) == 0:
        assert np.isnan(low)
        assert np.isnan(high)
    else:
        assert 0 <= low <= sum(above) / sum(below) + 1e-12
        assert sum(above) / sum(below) - 1e-12 <= high <= 1
        assert low < high


@given(cases, st.randoms())
def test_the_order_of_cases_does_not_matter(pairs: list[tuple[int, int]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first = interval([a for a, _ in pairs], [b for _, b in pairs])
    second = interval([a for a, _ in shuffled], [b for _, b in shuffled])
    assert first == pytest.approx(second, nan_ok=True, abs=1e-9)


def test_identical_repetitions_add_no_certainty() -> None:
    single = interval([1] * 20 + [0] * 10, [1] * 30)
    fivefold = interval([5] * 20 + [0] * 10, [5] * 30)
    assert fivefold[1] - fivefold[0] >= single[1] - single[0]


def test_independent_repetitions_narrow_the_interval() -> None:
    single = interval([1] * 20 + [0] * 10, [1] * 30)
    fivefold = interval([3, 3, 4] * 10, [5] * 30)
    assert fivefold[1] - fivefold[0] < 0.75 * (single[1] - single[0])


def test_without_a_single_failure_the_cases_are_counted_and_not_the_attempts() -> None:
    low, high = interval([3] * 20, [3] * 20)
    assert high == 1
    assert low == pytest.approx(1 - interval([0] * 20, [3] * 20)[1])
    # Wilson of 20 of 20 with Student's t of 19 degrees of freedom, not of 60 of 60.
    t = stats.t.ppf(0.975, 19)
    assert low == pytest.approx(20 / (20 + t * t))


def test_one_case_says_next_to_nothing() -> None:
    low, high = interval([5], [5])
    assert low < 0.05
    assert high == 1


def simulated(
    rng: np.random.Generator, cases: int, repetitions: int, rate: float, icc: float, runs: int, equal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums per case, shape ``(cases, runs)``, from beta-distributed rates of the cases."""
    a, b = rate * (1 - icc) / icc, (1 - rate) * (1 - icc) / icc
    rates = rng.beta(a, b, size=(cases, runs))
    sizes = repetitions * (np.ones((cases, runs), int) if equal else rng.integers(0, 3, size=(cases, runs)))
    return rng.binomial(sizes, rates).astype(float), sizes.astype(float)


@pytest.mark.parametrize("equal", [True, False], ids=["equal cases", "unequal cases"])
@pytest.mark.parametrize("icc", [0.3, 0.8], ids=["correlation 0.3", "correlation 0.8"])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9])
@pytest.mark.parametrize(("cases", "repetitions"), [(30, 3), (60, 3), (92, 5)])
def test_intervals_of_clustered_attempts_cover_the_truth(
    cases: int, repetitions: int, rate: float, icc: float, equal: bool
) -> None:
    rng = np.random.default_rng(20261130)
    low, high = share_intervals(*simulated(rng, cases, repetitions, rate, icc, 10_000, equal))
    covered = float(((low <= rate) & (rate <= high)).mean())
    assert 0.93 <= covered <= 0.975, covered


@pytest.mark.parametrize("rate", [0.95, 0.98])
def test_near_the_end_of_the_scale_intervals_still_cover(rate: float) -> None:
    rng = np.random.default_rng(20261130)
    low, high = share_intervals(*simulated(rng, 30, 3, rate, 0.5, 10_000, True))
    assert 0.93 <= float(((low <= rate) & (rate <= high)).mean()) <= 0.985


def test_the_percentile_bootstrap_would_cover_less() -> None:
    # The reason why it is not used: 30 cases, 5 repetitions, 90 % right.
    rng = np.random.default_rng(1)
    above, below = simulated(rng, 30, 5, 0.9, 0.5, 2000, True)
    weights = rng.multinomial(30, np.full(30, 1 / 30), size=1000)
    drawn = (weights @ above) / (weights @ below)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    assert float(((low <= 0.9) & (high >= 0.9)).mean()) < 0.925


def test_a_mean_over_equal_cases_has_students_interval() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0, 5.0])
    wanted = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_interval(values, np.ones(5)) == pytest.approx((wanted.low, wanted.high))


def test_a_quantile_of_clustered_times_is_covered() -> None:
    rng = np.random.default_rng(7)
    cases, truth, hits = np.repeat([f"c{i}" for i in range(60)], 3), 0.0, 0
    # Log-normal times with a part per case; their distribution function is known.
    truth = float(np.exp(np.sqrt(1.25) * stats.norm.ppf(0.9)))
    for _ in range(600):
        times = np.exp(np.repeat(rng.normal(size=60), 3) + 0.5 * rng.normal(size=180))
        low, high = quantile_interval(times, cases, 0.9)
        hits += low <= truth <= high
    assert 0.92 <= hits / 600 <= 0.985


def test_a_quantile_of_one_value_is_that_value() -> None:
    assert quantile_interval(np.full(9, 4.0), np.array(list("aaabbbccc")), 0.95) == (4.0, 4.0)
