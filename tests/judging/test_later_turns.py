"""What is judged at the first turn is judged at every turn: leaks, questions beside calls, cut replies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import called, judged, make_case, said

GET = ("get_order", {"order_id": "ORD-123456"})
QUOTE = (
    "quote_delivery",
    {"origin": "Kazan", "destination": "Samara", "weight_kg": 2.5, "service": "express"},
)
BOTH = make_case(
    user="Where is ORD-123456, and what does express delivery of 2.5 kg from Kazan to Samara cost?",
    expect={
        "kind": "tool_call",
        "parallel": "forbidden",
        "calls": [{"tool": name, "arguments": arguments} for name, arguments in (GET, QUOTE)],
    },
)
LEAK = '<tool_call>{"name": "quote_delivery", "arguments": {"origin": "Kazan"}}</tool_call>'
ANSWER = said("It is in transit. Quotes are unavailable, try again later.")


@pytest.mark.parametrize(
    ("replies", "code"),
    [
        pytest.param([called(GET), said(LEAK)], "leaked_tool_call", id="leak-after-a-result"),
        pytest.param(
            [called(GET), called(QUOTE, text="Shall I go on?"), ANSWER], "text_and_call", id="question-later"
        ),
        pytest.param([called(GET, finish="length")], "truncated", id="whole-call-in-a-cut-reply"),
        pytest.param([called(GET), called(QUOTE, finish="length")], "truncated", id="cut-later"),
        pytest.param([called(GET), called(GET, finish="length")], "truncated", id="cut-repetition"),
    ],
)
def test_a_later_turn_is_judged_like_the_first(replies: list[dict[str, Any]], code: str) -> None:
    assert code in judged(BOTH, *replies).codes


def test_the_right_way_has_no_finding() -> None:
    assert judged(BOTH, called(GET), called(QUOTE, text="And the price."), ANSWER).codes == ()


def test_a_cut_call_is_invalid_and_was_never_executed() -> None:
    verdict = judged(BOTH, called(GET, finish="length"))
    assert verdict.calls[0].state == "rejected"
    assert verdict.calls[0].tier.tier == "invalid"


UNKNOWN = make_case(
    user="Where is order ORD-654321?",
    expect={
        "kind": "tool_call",
        "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-654321"}}],
        "recovery": {"kind": ["text", "clarification"], "forbidden_tools": ["get_order"]},
    },
)
ASKED = ("get_order", {"order_id": "ORD-654321"})
SORRY = said("I could not find order ORD-654321. Please check the number.")


def test_what_a_case_forbids_after_an_error_is_a_wrong_branch() -> None:
    codes = judged(UNKNOWN, called(ASKED), called(GET), SORRY).codes
    assert "wrong_branch_after_error" in codes


def test_a_call_that_was_rejected_may_be_put_right_all_the_same() -> None:
    wrong = ("get_order", {"order_id": "ORD-654321", "note": "x"})
    assert judged(UNKNOWN, called(wrong), called(ASKED), SORRY).codes == ("unexpected_property",)


@pytest.mark.parametrize("city", ["г. Kazan", "City of Kazan", "«Kazan»", "Kazan, Russia"])
def test_a_spelling_that_the_normaliser_knows_is_grounded(city: str) -> None:
    arguments = {**QUOTE[1], "origin": city}
    assert judged(BOTH, called(GET), called((QUOTE[0], arguments)), ANSWER).codes == ("argument_mismatch",)


def test_another_city_is_not_grounded_by_its_prefix() -> None:
    arguments = {**QUOTE[1], "origin": "г. Vladivostok"}
    codes = judged(BOTH, called(GET), called((QUOTE[0], arguments)), ANSWER).codes
    assert codes == ("argument_mismatch", "ungrounded_argument")
