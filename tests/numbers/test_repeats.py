"""pass^k, pass@k and consistency over repetitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.numbers.support import frame, row, value
from toolbench.numbers.metrics import metrics
from toolbench.numbers.repeats import pass_at_k, pass_hat_k

draws = st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@given(draws)
def test_both_estimators_are_the_share_of_all_draws(data: tuple[int, int, int]) -> None:
    n, c, k = data
    drawn = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, drawn)) / len(drawn))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))


@given(draws)
def test_pass_at_k_is_the_published_program(data: tuple[int, int, int]) -> None:
    # Chen et al. 2021, arXiv 2107.03374, figure 3.
    n, c, k = data
    published = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
    assert pass_at_k(n, c, k) == pytest.approx(float(published))


def repeats(case: str, *signatures: str, passed: str = "a") -> list[dict[str, object]]:
    return [
        row(case, passed=name == passed, behaviour=name, repetition=index)
        for index, name in enumerate(signatures)
    ]


def test_consistency_is_the_share_of_the_modal_behaviour() -> None:
    figures = metrics(frame(*repeats("c1", "a", "a", "b"), *repeats("c2", "x", "y", "z")))
    assert value(figures, "consistency") == pytest.approx(3 / 6)
    assert value(figures, "consistency", "numerator") == 3
    assert value(figures, "distinct_decisions") == pytest.approx((2 + 3) / 2)


def test_cases_tried_once_say_nothing_about_consistency() -> None:
    figures = metrics(frame(*repeats("c1", "a", "b"), *repeats("c2", "a")))
    assert value(figures, "consistency", "denominator") == 2
    alone = metrics(frame(*repeats("c1", "a")))
    for name in ("consistency", "distinct_decisions", "pass^k", "pass@k"):
        assert np.isnan(value(alone, name))
        assert value(alone, name, "denominator") == 0


def test_k_is_what_every_repeated_case_has() -> None:
    figures = metrics(frame(*repeats("c1", "a", "a", "b"), *repeats("c2", "a", "a")))
    assert value(figures, "pass^k", "unit") == "repeated cases, k=2"
    assert value(figures, "pass^k") == pytest.approx((1 / 3 + 1) / 2)
    assert value(figures, "pass@k") == 1


def test_every_player_of_an_arm_is_asked_for_the_same_k() -> None:
    full = [r | {"model": "full"} for r in (*repeats("c1", "a", "a", "b"), *repeats("c2", "a", "a", "a"))]
    lost = [r | {"model": "lost"} for r in (*repeats("c1", "a", "a"), *repeats("c2", "a", "a", "a"))]
    figures = metrics(frame(*full, *lost))
    for model in ("full", "lost"):
        assert value(figures, "pass^k", "unit", model=model) == "repeated cases, k=2"
    assert value(figures, "pass^k", model="full") == pytest.approx((1 / 3 + 1) / 2)


def test_distinct_decisions_have_no_interval() -> None:
    figures = metrics(frame(*(r for i in range(30) for r in repeats(f"c{i}", "a", "a", "a"))))
    assert value(figures, "distinct_decisions") == 1
    assert np.isnan([value(figures, "distinct_decisions", end) for end in ("ci_low", "ci_high")]).all()
    assert np.isfinite(value(figures, "consistency", "ci_low"))


def test_a_repetition_left_to_a_person_is_not_passed_at_worst_and_passed_at_best() -> None:
    rows = repeats("c", "a", "a", "a", "a")
    rows[0] |= {"review": 1.0, "passed": 0.0}
    figures = metrics(frame(*rows))
    assert value(figures, "pass^k") == value(figures, "pass^k", "worst") == 0
    assert value(figures, "pass^k", "best") == 1
    assert value(figures, "pass^k", "to_review") == 1
    assert np.isnan(value(metrics(frame(*repeats("c", "a", "a"))), "pass^k", "best"))
