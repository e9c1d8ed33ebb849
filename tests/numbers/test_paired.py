"""Paired differences: published values, other implementations, and one distribution behind interval and p."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from toolbench.numbers.intervals import FEWEST
from toolbench.numbers.paired import (
    FEWEST_DIFFERING,
    Pairs,
    clusters_needed,
    detectable,
    difference_interval,
    holm,
    p_value,
)


def pairs(left: list[float], right: list[float], clusters: list[str] | None = None) -> Pairs:
    named = clusters or [f"c{number:03d}" for number in range(len(left))]
    return Pairs(np.array(left, float), np.array(right, float), np.array(named))


def discordant(only_left: int, only_right: int, equal: int = 10) -> Pairs:
    left = [1.0] * only_left + [0.0] * only_right + [1.0] * equal
    return pairs(left, [0.0] * only_left + [1.0] * only_right + [1.0] * equal)


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60))
def test_one_attempt_a_case_is_tested_by_mcnemar_with_mid_p(b: int, c: int, equal: int) -> None:
    if b + c < FEWEST_DIFFERING:
        return
    fewer = min(b, c)
    tail = stats.binom.cdf(fewer, b + c, 0.5) - stats.binom.pmf(fewer, b + c, 0.5) / 2
    assert p_value(discordant(b, c, equal)) == pytest.approx(min(1.0, 2 * tail), abs=1e-9)


def test_mcnemar_with_mid_p_as_published() -> None:
    # Fagerland, Lydersen and Laake 2013, table 1 (airway hyper-responsiveness): 1 and 7 discordant pairs.
    assert p_value(discordant(1, 7, 13)) == pytest.approx(0.039, abs=5e-4)


def test_a_total_collapse_has_the_p_it_deserves() -> None:
    # 65 of 94 right becomes 0 of 94: a coin would do so once in 2^65.
    assert p_value(discordant(65, 0, 29)) == pytest.approx(2.0**-65, rel=1e-6)


values = st.integers(6, 30).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 3), min_size=n, max_size=n) for _ in range(2)))
)


@settings(deadline=None)
@given(values)
def test_the_interval_leaves_out_0_exactly_where_p_is_below_5_percent(
    data: tuple[list[int], list[int]],
) -> None:
    both = pairs([a / 3 for a in data[0]], [b / 3 for b in data[1]])
    low, high = difference_interval(both)
    p = p_value(both)
    if np.isnan(p):
        assert both.differing < FEWEST_DIFFERING
        assert np.isnan([low, high]).all()
    elif len(both) < FEWEST:
        assert np.isnan([low, high]).all()
    elif abs(p - 0.05) > 1e-6:
        assert (low > 0 or high < 0) == (p < 0.05)
        assert low - 1e-9 <= both.delta <= high + 1e-9
        assert -1 <= low < high <= 1


@settings(deadline=None)
@given(values)
def test_sides_can_be_exchanged(data: tuple[list[int], list[int]]) -> None:
    there, back = (pairs([a / 3 for a in x], [b / 3 for b in y]) for x, y in (data, data[::-1]))
    low, high = difference_interval(there)
    np.testing.assert_allclose(difference_interval(back), (-high, -low), atol=1e-8)
    np.testing.assert_allclose(p_value(there), p_value(back), atol=1e-9)


def test_a_case_counts_once_however_many_repetitions_it_kept() -> None:
    # The right side lost repetitions of the cases it fails: a share over attempts would rise by 14 points.
    whole = pairs([1.0] * 10 + [0.0] * 10, [1.0] * 10 + [0.0] * 10)
    assert whole.delta == 0
    assert np.isnan(p_value(whole))


def test_variants_of_one_scenario_are_one_observation() -> None:
    left, right = [1.0] * 40, [0.0] * 20 + [1.0] * 20
    apart = pairs(left, right)
    together = pairs(left, right, [f"s{number // 5}" for number in range(40)])
    assert p_value(apart) < 1e-5
    assert together.differing == 4
    assert np.isnan(p_value(together))


@pytest.mark.parametrize("differing", range(FEWEST_DIFFERING))
def test_with_five_differing_scenarios_nothing_is_told(differing: int) -> None:
    assert np.isnan(p_value(discordant(differing, 0, 88)))
    assert np.isnan(difference_interval(discordant(differing, 0, 88))).all()


def test_nine_scenarios_have_a_p_and_no_interval() -> None:
    nine, ten = discordant(9, 0, 0), discordant(9, 0, 1)
    assert p_value(nine) == pytest.approx(2.0**-9, rel=1e-6)
    assert np.isnan(difference_interval(nine)).all()
    assert np.isfinite(difference_interval(ten)).all()


def test_amounts_have_no_end_of_a_scale() -> None:
    rng = np.random.default_rng(5)
    left = rng.normal(500, 100, 40)
    right = left + rng.normal(80, 60, 40)
    both = Pairs(left, right, np.array([f"c{number}" for number in range(40)]), scale=None)
    wanted = stats.ttest_rel(right, left).confidence_interval(0.95)
    assert difference_interval(both) == pytest.approx((wanted.low, wanted.high), rel=0.15)
    assert p_value(both) < 1e-6


def same_model(rng: np.random.Generator, scenarios: int) -> Pairs:
    rates = np.repeat(rng.beta(2, 1, scenarios), 4)
    left, right = (rng.binomial(3, rates) / 3 for _ in range(2))
    return Pairs(left, right, np.repeat([f"s{number:03d}" for number in range(scenarios)], 4))


def test_what_is_said_to_be_detectable_is_detected() -> None:
    rng = np.random.default_rng(11)
    found = detectable(same_model(rng, 20))
    assert found is not None
    seen, runs = 0, 200
    for _ in range(runs):
        base = same_model(rng, 20)
        lost = np.repeat(rng.random(20) < found / base.left.mean(), 4)
        seen += p_value(Pairs(base.left, np.where(lost, 0, base.right), base.clusters)) < 0.05
    assert seen / runs >= 0.75


def test_nothing_is_detectable_where_no_result_could_be_told() -> None:
    assert detectable(pairs([1.0] * 5, [1.0] * 5)) is None
    assert clusters_needed(pairs([1.0] * 30, [1.0] * 30)) is None


def test_scenarios_needed_would_show_the_difference() -> None:
    needed = clusters_needed(discordant(3, 0, 27))
    assert needed is not None
    rng = np.random.default_rng(2)
    shown = [p_value(discordant(b, 0, needed - b)) < 0.05 for b in rng.binomial(needed, 0.1, 300)]
    assert 0.7 <= np.mean(shown) <= 0.95


def test_holm_as_published() -> None:
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm"); the example of Holm 1979's procedure in most textbooks.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()
