"""Do intervals hold, do equal sides stay equal? Counted where it can be; the rest is in ``tests/bench``."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bench.coverage import (
    HIGHEST,
    LOWEST,
    RATES,
    difference_coverage,
    false_alarms,
    power,
    quantile_coverage,
    reach,
    share_coverage,
)
from toolbench.numbers.intervals import FEWEST

CLUSTERED = pytest.mark.parametrize("correlation", [0.0, 0.6], ids=["independent", "clustered"])


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    ("k", "r", "correlation"),
    [(20, 1, 0.0), (20, 3, 0.0), (20, 3, 0.6), (30, 1, 0.0), (30, 3, 0.0), (30, 3, 0.6), (94, 1, 0.0)],
)
def test_intervals_of_shares_hold_at_every_true_share(
    k: int, r: int, correlation: float, rate: float
) -> None:
    assert LOWEST <= share_coverage(k, r, correlation, rate) <= HIGHEST


@pytest.mark.parametrize("k", [20, 30, 94])
def test_a_share_is_outside_the_band_only_where_every_interval_is(k: int) -> None:
    # Found by counting through every result and every row of neighbouring results.
    found = reach(k)
    assert found.beyond <= 0.008
    assert not found.least < 0.92
    assert not found.most > HIGHEST


@CLUSTERED
@pytest.mark.parametrize("r", [1, 3])
def test_nine_scenarios_have_no_interval_of_any_kind(r: int, correlation: float) -> None:
    assert np.isnan(share_coverage(9, r, correlation, 0.8))
    assert np.isnan(difference_coverage(9, r, correlation, (0.8, 0.6)).covered)
    assert np.isnan(quantile_coverage(9, r, correlation, 0.5, 100))
    assert np.isnan(power(9, r, correlation, 10, 2)).all()
    assert difference_coverage(9, r, correlation, (0.8, 0.8)).significant <= 0.05
    assert FEWEST == 10


@CLUSTERED
@pytest.mark.parametrize(("k", "r"), [(20, 1), (20, 3), (30, 1), (94, 1), (94, 3)])
def test_intervals_of_differences_hold_and_equal_sides_stay_equal(k: int, r: int, correlation: float) -> None:
    for mean in (0.6, 0.8):
        covered, printed, significant = difference_coverage(k, r, correlation, (mean, mean))
        assert LOWEST <= covered <= HIGHEST
        assert significant <= 0.06
        assert printed > 0.02
    covered, printed, _ = difference_coverage(k, r, correlation, (0.9, 0.6))
    # Of twenty clustered scenarios only some runs have an interval: those whose difference came out large.
    assert LOWEST <= covered <= (HIGHEST if printed > 0.95 else 0.995)


@CLUSTERED
def test_medians_hold(correlation: float) -> None:
    assert LOWEST <= quantile_coverage(30, 3, correlation, 0.5, 1000) <= HIGHEST


@CLUSTERED
def test_what_is_said_to_be_detectable_is_found(correlation: float) -> None:
    found, mean, least = power(30, 3, correlation, looks=4)
    assert 0.1 < found < 0.5
    assert mean >= 0.8
    assert least >= 0.7


@pytest.mark.parametrize(("share", "refused"), [(0.0, 0.0), (0.5, 1.0)], ids=["none lost", "half lost"])
def test_equal_models_stay_equal_when_one_loses_failures(share: float, refused: float) -> None:
    alarm, refusals, naive = false_alarms(share, runs=12)
    assert alarm <= 0.1
    assert refusals == refused
    if share:
        assert naive >= 0.75
