"""Cost: every reply counts, cached and reasoning tokens once, unknown stays unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.numbers.support import frame, row, value
from tests.support import attempt_of, called, delivery, said
from toolbench.domain.decision import Usage
from toolbench.domain.record import Attempt
from toolbench.numbers.cost import attempt_cost, failed_tries
from toolbench.numbers.metrics import metrics

PRICE = {"currency": "EUR", "date": "2026-11-30", "input": 2.0, "output": 10.0}


@pytest.fixture(scope="module")
def two_turns() -> Attempt:
    """An attempt with a call and an answer; each reply reports 100 tokens in and 10 out."""
    case = next(case for case in delivery().cases if case.id == "direct_lookup")
    return attempt_of(case, [called(("get_order", {"order_id": "ORD-123456"})), said("In transit, Samara.")])


def with_usage(attempt: Attempt, *usages: Usage) -> Attempt:
    turns = [
        replace(turn, decision=replace(turn.decision, usage=usage))
        for turn, usage in zip(attempt.turns, usages, strict=True)
    ]
    return replace(attempt, turns=turns)


def test_every_turn_is_paid_for(two_turns: Attempt) -> None:
    assert attempt_cost(two_turns, PRICE) == pytest.approx(2 * (100 * 2 + 10 * 10) / 1e6)


def test_cached_tokens_are_counted_once_at_their_own_price(two_turns: Attempt) -> None:
    usage = Usage(input=1000, output=100, cached_input=900, reasoning=60)
    attempt = with_usage(two_turns, usage, usage)
    assert attempt_cost(attempt, {**PRICE, "cached_input": 0.5}) == pytest.approx(
        2 * (100 * 2 + 900 * 0.5 + 100 * 10) / 1e6
    )
    assert attempt_cost(attempt, PRICE) == pytest.approx(2 * (1000 * 2 + 100 * 10) / 1e6)


@pytest.mark.parametrize(
    "price",
    [None, {"currency": "EUR", "date": "2026-11-30"}, {"currency": "EUR", "date": "2026-11-30", "input": 1}],
    ids=["no price", "no figures", "half a price"],
)
def test_without_a_price_the_cost_is_unknown_and_not_zero(two_turns: Attempt, price: Any) -> None:
    assert attempt_cost(two_turns, price) is None


def test_one_reply_without_token_counts_makes_the_cost_unknown(two_turns: Attempt) -> None:
    assert attempt_cost(with_usage(two_turns, Usage(100, 10), Usage()), PRICE) is None


def test_a_free_model_costs_nothing(two_turns: Attempt) -> None:
    assert attempt_cost(two_turns, {**PRICE, "input": 0, "output": 0}) == 0


def test_failed_tries_are_counted_and_those_that_may_have_been_billed_named(two_turns: Attempt) -> None:
    first = replace(two_turns.turns[0], retries=[{"code": "overloaded"}, {"code": "timeout"}])
    attempt = replace(two_turns, turns=[first, *two_turns.turns[1:]], retries=[{"code": "connection_lost"}])
    assert failed_tries(attempt) == (3, 2)
    assert failed_tries(two_turns) == (0, 0)


def test_the_cost_of_completing_is_that_of_cases_with_something_to_complete() -> None:
    priced = {"cost": 1.0, "currency": "EUR"}
    due = [row("a", True, **priced), row("b", False, **priced), row("c", None, **priced)]
    idle = [row("d", True, chain_due=False, completable=0.0, completed=0.0, **{**priced, "cost": 50.0})]
    figures = metrics(frame(*due, *idle))
    assert value(figures, "cost_per_completed") == 3
    assert value(figures, "cost_per_completed", "unit") == "EUR a completed attempt"
    assert np.isnan(value(figures, "cost_per_completed", "ci_low"))
    assert value(figures, "cost") == 53


def test_costs_in_two_currencies_are_not_added() -> None:
    rows = [row("a", cost=1.0, currency="EUR"), row("b", cost=1.0, currency="USD")]
    assert np.isnan(value(metrics(frame(*rows)), "cost_per_completed"))
    assert np.isnan(value(metrics(frame(*rows)), "cost"))
