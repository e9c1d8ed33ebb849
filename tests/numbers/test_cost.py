"""Cost: every reply counts, cached and reasoning tokens once, unknown stays unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.numbers.support import frame, row, value
from tests.support import attempt_of, called, delivery, said
from toolbench.adapters import adapter_for
from toolbench.domain.config import Config
from toolbench.domain.decision import Usage
from toolbench.domain.price import Tariff, cost
from toolbench.domain.record import Attempt
from toolbench.errors import ConfigError, InputError
from toolbench.numbers.compare import compare
from toolbench.numbers.cost import attempt_cost, failed_tries
from toolbench.numbers.metrics import metrics
from toolbench.running.budget import Budget

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
    assert attempt_cost(two_turns, Tariff(PRICE)) == pytest.approx(2 * (100 * 2 + 10 * 10) / 1e6)


def test_cached_tokens_are_counted_once_at_their_own_price(two_turns: Attempt) -> None:
    usage = Usage(input=1000, output=100, cached_input=900, reasoning=60)
    attempt = with_usage(two_turns, usage, usage)
    assert attempt_cost(attempt, Tariff({**PRICE, "cached_input": 0.5})) == pytest.approx(
        2 * (100 * 2 + 900 * 0.5 + 100 * 10) / 1e6
    )
    assert attempt_cost(attempt, Tariff(PRICE)) == pytest.approx(2 * (1000 * 2 + 100 * 10) / 1e6)


@pytest.mark.parametrize(
    "price",
    [None, {"currency": "EUR", "date": "2026-11-30"}, {"currency": "EUR", "date": "2026-11-30", "input": 1}],
    ids=["no price", "no figures", "half a price"],
)
def test_without_a_price_the_cost_is_unknown_and_not_zero(two_turns: Attempt, price: Any) -> None:
    assert attempt_cost(two_turns, Tariff(price)) is None


def test_one_reply_without_token_counts_makes_the_cost_unknown(two_turns: Attempt) -> None:
    assert attempt_cost(with_usage(two_turns, Usage(100, 10), Usage()), Tariff(PRICE)) is None


def test_a_free_model_costs_nothing(two_turns: Attempt) -> None:
    assert attempt_cost(two_turns, Tariff({**PRICE, "input": 0, "output": 0})) == 0


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


def test_tokens_written_to_a_cache_cost_a_quarter_more() -> None:
    usage = adapter_for("messages").usage(
        {
            "usage": {
                "input_tokens": 100,
                "cache_creation_input_tokens": 700,
                "cache_read_input_tokens": 200,
                "output_tokens": 50,
            }
        }
    )
    sonnet = {"currency": "USD", "date": "2026-11-30", "input": 3, "cached_input": 0.3, "output": 15}
    assert cost(sonnet, usage) == pytest.approx(0.003735)
    assert cost({**sonnet, "cache_write": 3}, usage) == pytest.approx(0.003210)


def test_newer_openai_families_bill_what_they_write_as_well() -> None:
    details = {"cached_tokens": 200, "cache_write_tokens": 700}
    usage = adapter_for("responses").usage(
        {"usage": {"input_tokens": 1000, "output_tokens": 50, "input_tokens_details": details}}
    )
    price = {"currency": "USD", "date": "2026-11-30", "input": 3, "cached_input": 0.3, "output": 15}
    assert cost(price, usage) == pytest.approx(0.003735)


def test_what_a_router_charged_is_the_cost_where_no_price_is_configured(two_turns: Attempt) -> None:
    charged = with_usage(two_turns, Usage(100, 10, cost=0.25), Usage(100, 10, cost=0.5))
    assert attempt_cost(charged, Tariff(None, "USD")) == 0.75
    assert attempt_cost(charged, Tariff(PRICE, "USD")) == attempt_cost(two_turns, Tariff(PRICE))
    assert attempt_cost(with_usage(charged, Usage(100, 10, cost=0.25), Usage(100, 10)), Tariff()) is None
    assert Tariff(None, "USD").currency != Tariff({**PRICE, "currency": "USD"}).currency


def sides(left: dict[str, Any], right: dict[str, Any]) -> tuple[Any, Any]:
    """Return two frames of one player, each with a cost."""
    names = ("a", "b", "c")
    return tuple(frame(*(row(name, cost=1.0, **money) for name in names)) for money in (left, right))


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ({"currency": "EUR"}, {"currency": "USD"}, "currency: EUR against USD"),
        ({"currency": "USD"}, {"currency": "USD (charged)"}, r"USD against USD \(charged\)"),
        (
            {"currency": "EUR", "price_table": "EUR of 2026-10-01 (1)"},
            {"currency": "EUR", "price_table": "EUR of 2026-11-30 (2)"},
            "price table: EUR of 2026-10-01",
        ),
    ],
)
def test_costs_at_other_prices_are_never_compared(
    left: dict[str, Any], right: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        compare(*sides(left, right), metrics=["mean_cost"])
    table = compare(*sides(left, right)).table.set_index("metric")
    assert table.loc["mean_cost", "test"].startswith("refused: ")
    assert np.isnan(table.loc["mean_cost", "delta"])
    assert not table.drop("mean_cost")["test"].str.contains("refused").any()


def test_costs_at_one_price_are_compared() -> None:
    same = {"currency": "EUR", "price_table": "EUR of 2026-11-30 (1)"}
    table = compare(*sides(same, same), metrics=["mean_cost"]).table
    assert table["delta"].tolist() == [0]


def test_a_budget_of_money_is_in_one_currency() -> None:
    entry = {"provider": "p", "protocol": "messages", "base_url": "http://x/v1"}
    runs = [
        {**entry, "model": "a", "price": PRICE},
        {**entry, "model": "b", "price": {**PRICE, "currency": "USD"}},
    ]
    config = Config.from_json({"runs": runs, "budgets": {"money": 1.0}}, "inline")
    with pytest.raises(ConfigError, match="EUR, USD, which cannot be summed"):
        Budget.of(config)
    Budget.of(Config.from_json({"runs": runs, "budgets": {"tokens": 1}}, "inline"))
