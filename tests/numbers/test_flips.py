"""Decisions that change from arm to arm are held against those that change from repetition to repetition."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolbench.numbers.flips import changes

TOOLS = ("get_order", "get_quote", "text")


def arm(rng: np.random.Generator, shares: np.ndarray[Any, Any], repetitions: int) -> pd.DataFrame:
    """Return an arm whose player draws its decision on every case anew, by that case's shares."""
    rows = [
        {"case_id": f"c{case}", "scenario": f"c{case}", "decision": str(rng.choice(TOOLS, p=one))}
        for case, one in enumerate(shares)
        for _ in range(repetitions)
    ]
    return pd.DataFrame(rows).assign(behaviour=lambda frame: frame["decision"])


def shares(rng: np.random.Generator, cases: int) -> np.ndarray[Any, Any]:
    """Return for every case how often each decision is taken; half of the cases are always decided alike."""
    drawn = rng.dirichlet(np.ones(len(TOOLS)), cases)
    drawn[::2] = np.eye(len(TOOLS))[rng.integers(0, len(TOOLS), len(drawn[::2]))]
    return drawn


def test_a_player_that_differs_from_itself_does_not_differ_by_order() -> None:
    rng = np.random.default_rng(11)
    found = []
    for _ in range(80):
        own = shares(rng, 40)
        found.append(changes(arm(rng, own, 3), arm(rng, own, 3)))
    # Decisions do change between the arms, and exactly as often between repetitions of one.
    assert min(one["rate"] for one in found) > 0.1
    assert abs(float(np.mean([one["excess"] for one in found]))) < 0.01
    assert sum(one["p"] < 0.05 for one in found) <= 10
    assert sum(one["ci_low"] <= 0 <= one["ci_high"] for one in found) >= 70


def test_a_player_that_goes_by_the_order_is_found() -> None:
    rng = np.random.default_rng(12)
    own = shares(rng, 40)
    turned = own[:, [1, 2, 0]]
    found = changes(arm(rng, own, 3), arm(rng, turned, 3))
    assert found["p"] < 0.001
    assert found["ci_low"] > 0
    assert found["excess"] > found["detectable"] > 0
    assert found["clusters"] == found["cases"] == 40


def test_without_repetitions_there_is_a_rate_and_nothing_to_hold_it_against() -> None:
    rng = np.random.default_rng(13)
    own = shares(rng, 40)
    found = changes(arm(rng, own, 1), arm(rng, own, 1))
    assert found["rate"] == pytest.approx(found["changed"] / 40)
    assert all(np.isnan(found[name]) for name in ("chance", "excess", "ci_low", "p", "detectable"))
