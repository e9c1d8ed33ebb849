"""A few seconds of ``tests/bench/coverage.py``: do intervals hold, do equal sides stay equal?"""

from __future__ import annotations

import numpy as np
import pytest

from tests.bench.coverage import (
    DIFFERENCES,
    RATES,
    difference_coverage,
    false_alarms,
    power,
    share_coverage,
)
from toolbench.numbers.paired import FEWEST_CLUSTERS


@pytest.mark.parametrize("rate", [0.5, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("correlation", [0.0, 0.6], ids=["independent", "clustered"])
@pytest.mark.parametrize("k", [20, 30, 94])
def test_intervals_of_shares_hold(k: int, correlation: float, rate: float) -> None:
    assert 0.925 <= share_coverage(k, 3, correlation, rate, 1000) <= 0.985


@pytest.mark.parametrize(("k", "r", "correlation"), [(9, 1, 0.0), (9, 3, 0.0), (9, 3, 0.6), (20, 1, 0.0)])
def test_intervals_of_few_scenarios_hold_on_average(k: int, r: int, correlation: float) -> None:
    # One rate at a time they cover 94 to 99 %: so few results are possible.
    found = [share_coverage(k, r, correlation, rate, 1000) for rate in RATES]
    assert 0.925 <= np.mean(found) <= 0.985


@pytest.mark.parametrize(("k", "correlation"), [(9, 0.0), (9, 0.6), (20, 0.6)])
def test_differences_of_few_scenarios_hold_or_are_not_printed(k: int, correlation: float) -> None:
    found = [difference_coverage(k, 3, correlation, means, 1000) for means in DIFFERENCES]
    if k < FEWEST_CLUSTERS:
        assert np.isnan([covered for covered, _, _ in found]).all()
    else:
        pooled = np.average([c for c, _, _ in found], weights=[printed for _, printed, _ in found])
        assert 0.925 <= pooled <= 0.985
    assert max(false for (a, b), (_, _, false) in zip(DIFFERENCES, found, strict=True) if a == b) <= 0.05


@pytest.mark.parametrize("correlation", [0.0, 0.6], ids=["independent", "clustered"])
@pytest.mark.parametrize(("k", "r"), [(20, 3), (30, 3), (94, 1), (94, 3)])
def test_intervals_of_differences_hold_and_equal_sides_stay_equal(k: int, r: int, correlation: float) -> None:
    covered, _, false = difference_coverage(k, r, correlation, (0.8, 0.8), 1000)
    assert 0.925 <= covered <= 0.985
    assert false <= 0.065
    assert 0.925 <= difference_coverage(k, r, correlation, (0.8, 0.6), 1000)[0] <= 0.99


def test_what_is_said_to_be_detectable_is_found() -> None:
    assert power(30, 1, 150)[1] >= 0.74


@pytest.mark.parametrize(("share", "refused"), [(0.0, 0.0), (0.5, 1.0)], ids=["none lost", "half lost"])
def test_equal_models_stay_equal_when_one_loses_failures(share: float, refused: float) -> None:
    alarm, refusals, naive = false_alarms(share, runs=12)
    assert alarm <= 0.1
    assert refusals == refused
    if share:
        assert naive >= 0.75
