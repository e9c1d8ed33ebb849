"""Paired comparisons: published values, brute force, scipy, and error rates measured by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from toolbench.numbers.paired import (
    Pairs,
    cases_needed,
    difference_interval,
    holm,
    mcnemar,
    minimum_detectable,
    p_value,
)


def pairs(left: list[float], right: list[float], n: float | list[float] = 1) -> Pairs:
    below = np.broadcast_to(np.asarray(n, float), len(left)).copy()
    return Pairs(np.array(left, float), below, np.array(right, float), below.copy())


@pytest.mark.parametrize(
    ("only_left", "only_right", "p"),
    [
        # Agresti 1990, p. 350: approval of the prime minister in two surveys.
        pytest.param(150, 86, 3.716e-05, id="prime minister"),
        # Altman et al. 2000, Statistics with Confidence, table 6.2 (R: exact2x2::mcnemar.exact).
        pytest.param(5, 0, 0.0625, id="5 and 0"),
        # By hand: 2 (1 + 10) / 2^10.
        pytest.param(1, 9, 22 / 1024, id="1 and 9"),
        pytest.param(0, 0, 1.0, id="no discordant case"),
        pytest.param(5, 5, 1.0, id="even"),
    ],
)
def test_mcnemar_is_exact(only_left: int, only_right: int, p: float) -> None:
    assert mcnemar(only_left, only_right) == pytest.approx(p, rel=2e-3)


def test_one_attempt_a_case_is_tested_by_mcnemar() -> None:
    left, right = [1] * 9 + [0] + [1] * 5, [0] * 9 + [1] + [1] * 5
    p, test = p_value(pairs(left, right))
    assert test == "McNemar exact"
    assert p == pytest.approx(22 / 1024)


small = st.integers(2, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.integers(3, 4), min_size=n, max_size=n),
    )
)


@given(small)
def test_the_permutation_test_is_the_brute_force_one(data: tuple[list[int], list[int], list[int]]) -> None:
    left, right, n = data
    delta = sum(right) / sum(n) - sum(left) / sum(n)
    extreme = [
        abs(sum(s * (b - a) for s, a, b in zip(signs, left, right, strict=True))) / sum(n)
        >= abs(delta) - 1e-12
        for signs in product((-1, 1), repeat=len(n))
    ]
    p, test = p_value(pairs(left, right, n))
    assert test == "sign flips, all"
    assert p == pytest.approx(sum(extreme) / len(extreme))


def test_the_permutation_test_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 4, 11), rng.integers(0, 4, 11)
    wanted = stats.permutation_test(
        (left, right),
        lambda a, b, axis: (b - a).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert p_value(pairs(list(left), list(right), 3))[0] == pytest.approx(float(wanted.pvalue))


def test_many_cases_are_sampled_with_a_fixed_seed_and_never_give_zero() -> None:
    data = pairs([0] * 40, [3] * 40, 3)
    p, test = p_value(data, seed=5)
    assert test == "sign flips, 9999"
    assert p == 1e-4
    assert p_value(data, seed=5) == (p, test)


def test_unequal_denominators_are_swapped_with_their_case() -> None:
    data = Pairs(np.array([2.0, 0.0]), np.array([2.0, 1.0]), np.array([0.0, 1.0]), np.array([1.0, 3.0]))
    deltas = []
    for swap in product((False, True), repeat=2):
        left = [(0, 1) if swap[0] else (2, 2), (1, 3) if swap[1] else (0, 1)]
        right = [(2, 2) if swap[0] else (0, 1), (0, 1) if swap[1] else (1, 3)]
        ratio = [sum(a for a, _ in side) / sum(b for _, b in side) for side in (left, right)]
        deltas.append(ratio[1] - ratio[0])
    wanted = sum(abs(delta) >= abs(data.delta) - 1e-12 for delta in deltas) / 4
    assert p_value(data)[0] == pytest.approx(wanted)


def same_model(rng: np.random.Generator, cases: int, repetitions: int) -> Pairs:
    """Two sides of one model: the cases differ, the sides do not."""
    rates = rng.beta(0.6, 0.3, size=cases)
    left, right = rng.binomial(repetitions, rates), rng.binomial(repetitions, rates)
    return pairs(list(left), list(right), repetitions)


@pytest.mark.parametrize(("cases", "repetitions", "runs"), [(30, 1, 4000), (12, 3, 1500), (30, 3, 600)])
def test_equal_sides_are_called_different_in_at_most_five_percent(
    cases: int, repetitions: int, runs: int
) -> None:
    rng = np.random.default_rng(20261130)
    rejected = sum(p_value(same_model(rng, cases, repetitions), seed)[0] <= 0.05 for seed in range(runs))
    assert rejected / runs <= 0.05


def test_a_real_difference_is_found() -> None:
    rng = np.random.default_rng(1)
    rates = rng.beta(2, 2, size=60)
    left, right = rng.binomial(3, rates), rng.binomial(3, np.minimum(1, rates + 0.25))
    assert p_value(pairs(list(left), list(right), 3))[0] < 0.01


@pytest.mark.parametrize("shift", [0.0, 0.15])
@pytest.mark.parametrize(("cases", "repetitions"), [(20, 3), (30, 1), (60, 3), (92, 5)])
def test_intervals_of_a_difference_cover_the_truth(cases: int, repetitions: int, shift: float) -> None:
    rng = np.random.default_rng(20261130)
    covered, runs = 0, 3000
    for _ in range(runs):
        rates = 0.85 * rng.beta(1.5, 0.8, size=cases)
        left, right = rng.binomial(repetitions, rates), rng.binomial(repetitions, rates + shift)
        low, high = difference_interval(pairs(list(left), list(right), repetitions))
        covered += low <= shift <= high
    assert 0.93 <= covered / runs <= 0.975, covered / runs


def test_the_interval_is_students_on_the_differences_per_case() -> None:
    left, right = [0, 1, 2, 3, 1, 0, 2], [1, 1, 3, 3, 3, 1, 2]
    wanted = stats.ttest_rel(np.array(right) / 3, np.array(left) / 3).confidence_interval(0.95)
    assert difference_interval(pairs(left, right, 3)) == pytest.approx((wanted.low, wanted.high))


def test_where_two_cases_differ_both_intervals_are_combined() -> None:
    # Newcombe's method 8 by hand: 12 of 20 against 14 of 20, both right in 12.
    left, right = [1] * 12 + [0] * 8, [1] * 14 + [0] * 6
    (l1, u1), (l2, u2) = (stats.binomtest(k, 20).proportion_ci(0.95, "wilson") for k in (12, 14))
    phi = (12 * 6 - 2 * 0) / np.sqrt(12 * 8 * 14 * 6)
    low = 0.1 - np.sqrt((0.7 - l2) ** 2 - 2 * phi * (0.7 - l2) * (u1 - 0.6) + (u1 - 0.6) ** 2)
    high = 0.1 + np.sqrt((u2 - 0.7) ** 2 - 2 * phi * (u2 - 0.7) * (0.6 - l1) + (0.6 - l1) ** 2)
    assert difference_interval(pairs(left, right)) == pytest.approx((low, high))


def test_two_flawless_sides_are_not_known_to_be_equal() -> None:
    low, high = difference_interval(pairs([1] * 30, [1] * 30))
    assert low == pytest.approx(-high)
    assert 0.1 < high < 0.2


def test_one_shared_case_has_no_interval() -> None:
    assert np.isnan(difference_interval(pairs([1], [0]))).all()


@given(small)
def test_sides_can_be_exchanged(data: tuple[list[int], list[int], list[int]]) -> None:
    left, right, n = data
    there, back = pairs(left, right, n), pairs(right, left, n)
    low, high = difference_interval(there)
    assert difference_interval(back) == pytest.approx((-high, -low))
    assert p_value(there)[0] == pytest.approx(p_value(back)[0])
    assert low - 1e-9 <= there.delta <= high + 1e-9


def test_holm_as_published() -> None:
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm"); the example of Holm 1979's procedure in most textbooks.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


def test_cases_needed_follow_the_formula_of_miller() -> None:
    # arXiv 2411.00640, section 5, for a variance of 1/9 and a difference of 3 points: 2.8016² / 9 / 0.03².
    assert cases_needed(1 / 3, 0.03) == 969
    assert minimum_detectable(1 / 3, 969) == pytest.approx(0.03, abs=1e-4)


def test_nothing_is_detectable_where_no_case_differs() -> None:
    assert minimum_detectable(0.0, 30) is None
    assert cases_needed(0.0, 0.1) is None
    assert cases_needed(0.3, 0.0) is None
