"""The same numbers from other people's programs: scipy and statsmodels."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from toolbench.numbers.intervals import Observed, quantile_intervals, share_intervals, wilson
from toolbench.numbers.paired import FEWEST_DIFFERING, Pairs, difference_interval, holm, p_value


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_statsmodels(p_values: list[float]) -> None:
    # It collects garbage at every call, which takes longer than all the rest.
    with patch("gc.collect"):
        theirs = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(theirs), abs=1e-12)


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60))
def test_one_attempt_a_case_agrees_with_mcnemar_of_statsmodels(b: int, c: int, equal: int) -> None:
    if b + c < FEWEST_DIFFERING:
        return
    left, right = (
        np.r_[np.ones(b), np.zeros(c), np.ones(equal)],
        np.r_[np.zeros(b), np.ones(c), np.ones(equal)],
    )
    ours = p_value(Pairs(left, right, np.arange(len(left)).astype(str)))
    exact = mcnemar([[equal, b], [c, 0]], exact=True).pvalue
    # Exact, less half of the chance of this very table on both sides.
    wanted = 1.0 if b == c else exact - stats.binom.pmf(min(b, c), b + c, 0.5)
    assert ours == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(("passed", "n"), [(0, 20), (13, 20), (27, 30), (88, 94), (94, 94)])
def test_one_attempt_a_case_lies_inside_clopper_and_pearson(passed: int, n: int) -> None:
    above = np.r_[np.ones(passed), np.zeros(n - passed)][:, None]
    (low,), (high,) = share_intervals(above, np.ones((n, 1)))
    exact = proportion_confint(passed, n, method="beta")
    score = proportion_confint(passed, n, method="wilson")
    assert wilson(passed, n) == pytest.approx(score, abs=1e-9)
    assert exact[0] - 1e-9 <= low <= high <= exact[1] + 1e-9
    # Mid-p and Wilson are both near 95 % on average: nowhere far apart.
    assert (low, high) == pytest.approx(score, abs=0.035)


def cluster_robust(values: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """Return the interval of a mean with cluster-robust errors, by statsmodels."""
    codes = np.unique(clusters, return_inverse=True)[1]
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    low, high = fit.conf_int()[0]
    return float(low), float(high)


@pytest.mark.parametrize("correlation", [0.05, 0.6])
def test_shares_of_many_clusters_agree_with_cluster_robust_errors(correlation: float) -> None:
    rng = np.random.default_rng(7)
    size = (1 - correlation) / correlation
    rates = rng.beta(0.7 * size, 0.3 * size, 400)
    passed = rng.binomial(1, np.repeat(rates, 4)).astype(float)
    clusters = np.repeat(np.arange(400).astype(str), 4)
    sums = passed.reshape(400, 4).sum(1)
    (low,), (high,) = share_intervals(sums[:, None], np.full((400, 1), 4.0))
    wanted = cluster_robust(passed, clusters)
    assert (low, high) == pytest.approx(wanted, abs=0.05 * (wanted[1] - wanted[0]))


def test_differences_of_many_clusters_agree_with_cluster_robust_errors() -> None:
    rng = np.random.default_rng(8)
    rates = np.repeat(rng.beta(2, 1, 300), 3)
    left, right = rng.binomial(5, rates) / 5, rng.binomial(5, rates * 0.95) / 5
    clusters = np.repeat(np.arange(300).astype(str), 3)
    wanted = cluster_robust(right - left, clusters)
    ours = difference_interval(Pairs(left, right, clusters))
    assert ours == pytest.approx(wanted, abs=0.06 * (wanted[1] - wanted[0]))


def test_a_paired_t_test_and_a_permutation_test_agree_where_there_is_much_data() -> None:
    rng = np.random.default_rng(9)
    # Amounts: of shares in thirds scipy counts ties in full, mid-p counts half of them.
    left = rng.gamma(2.0, 300.0, 120)
    right = left + rng.normal(40.0, 200.0, 120)
    ours = p_value(Pairs(left, right, np.arange(120).astype(str), scale=None))
    t_test = stats.ttest_rel(right, left).pvalue
    flips = stats.permutation_test(
        (right - left,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(1)
    ).pvalue
    assert ours == pytest.approx(t_test, rel=0.35)
    assert ours == pytest.approx(flips, rel=0.35)


@pytest.mark.parametrize(("n", "share"), [(30, 0.5), (94, 0.5), (94, 0.95), (300, 0.95)])
def test_quantiles_of_independent_values_agree_with_scipy(n: int, share: float) -> None:
    values = np.random.default_rng(n).gamma(2.0, 300.0, n)
    (ours,) = quantile_intervals([Observed(values, np.arange(n).astype(str), share)])
    theirs = stats.quantile_test(values, q=0, p=share).confidence_interval(0.95)
    assert ours == pytest.approx((theirs.low, theirs.high))
