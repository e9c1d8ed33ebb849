"""The course tools: arithmetic that evaluates nothing else, frozen time and rates, errors with an example."""

from __future__ import annotations

import operator
import re
import time
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbench.domain.calculator import MAX_LENGTH, REASONS, ExpressionError, calculate
from toolbench.running.course_tools import (
    IMPLEMENTATIONS,
    CourseToolError,
    Surroundings,
    frozen_rates,
    get_exchange_rate,
    get_time,
)
from toolbench.running.course_tools import calculate as calculate_tool

NOW = datetime(2026, 11, 30, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2+2*2", 6),
        ("(18+24)*3", 126),
        ("-2**2", -4),
        ("0.1+0.2", 0.3),
        ("1/3", 0.333333333333),
        ("7 // 2", 3),
        ("7 % 3", 1),
        ("240 * 15%", 36),
        ("15% of 240", 36),
        ("15 % от 240", 36),
        ("200%", 2),
        ("2,5 * 4", 10),
        ("1 000 + 1", 1001),
        ("6 × 7 ÷ 2", 21),
        ("2^10", 1024),
        ("5 − 8", -3),
        ("4**0.5", 2),
        ("2**-2", 0.25),
        ("1e3", 1000),
        ("  42  ", 42),
    ],
)
def test_arithmetic(expression: str, value: float) -> None:
    result = calculate(expression)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')",
        "__import__('os').system('true')",
        "().__class__",
        "abs(-1)",
        "x + 1",
        "'a' * 3",
        "[1][0]",
        "lambda: 1",
        "1 if 1 else 2",
        "1 < 2",
        "1, 2",
        "1,500 * 2",
        "True + 1",
        "1j",
        "(1).real",
        "f'{1}'",
        "1; 2",
        "a := 1",
        "",
        "2 +",
        "1\n+\n",
        "٣ + ٤",
    ],
)
def test_anything_else_is_a_value_error(expression: str) -> None:
    with pytest.raises(ValueError, match=r"allowed|not an arithmetic"):
        calculate(expression)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("10**100**100", "exponents are limited"),
        ("9**9**9", "exponents are limited"),
        ("(10**400)**400", "too large"),
        ("10**-100000", "exponents are limited"),
        ("2**999*2**999*2**999*2**999*2**999", "too large"),
        ("1e400", "too large"),
        ("10**1000/3", "too large"),
        ("1/0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("0**-1", "division by zero"),
        ("(-8)**0.5", "not real"),
        ("1+" * MAX_LENGTH + "1", "longer than"),
    ],
)
def test_what_has_no_bounded_value_is_refused_at_once(expression: str, reason: str) -> None:
    started = time.perf_counter()
    with pytest.raises(ExpressionError, match=reason):
        calculate(expression)
    assert time.perf_counter() - started < 1


@given(st.text(alphabet="0123456789+-*/%(). ,e_abc'[]{}:=<>^×", max_size=40) | st.text(max_size=40))
def test_no_text_does_more_than_give_a_number_or_a_value_error(expression: str) -> None:
    try:
        value = calculate(expression)
    except ExpressionError:
        return
    assert isinstance(value, int | float)


OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def combined(inner: st.SearchStrategy[tuple[str, int]]) -> st.SearchStrategy[tuple[str, int]]:
    """Two expressions with their values, made one."""
    return st.tuples(inner, st.sampled_from(list(OPERATIONS)), inner).map(
        lambda parts: (
            f"({parts[0][0]}{parts[1]}{parts[2][0]})",
            OPERATIONS[parts[1]](parts[0][1], parts[2][1]),
        )
    )


@given(st.recursive(st.integers(0, 999).map(lambda number: (str(number), number)), combined, max_leaves=12))
def test_whole_numbers_are_exact(case: tuple[str, int]) -> None:
    expression, value = case
    if len(expression) <= MAX_LENGTH:
        assert calculate(expression) == value


@given(st.decimals(-1000, 1000, places=2), st.decimals(-1000, 1000, places=2))
def test_decimals_are_exact(left: Any, right: Any) -> None:
    assert calculate(f"{left} + {right}") == float(Fraction(left) + Fraction(right))


def test_the_tool_repeats_the_expression() -> None:
    assert calculate_tool("2+2*2") == {"expression": "2+2*2", "result": 6}


# Time


@pytest.mark.parametrize(
    ("zone", "iso"),
    [
        ("Asia/Tokyo", "2026-11-30T15:30:00+09:00"),
        ("America/New_York", "2026-11-30T01:30:00-05:00"),
        ("UTC", "2026-11-30T06:30:00+00:00"),
    ],
)
def test_time_in_a_zone(zone: str, iso: str) -> None:
    assert get_time(zone, NOW) == {"timezone": zone, "iso": iso, "weekday": "Monday"}


def test_the_present_is_the_default() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert before <= datetime.fromisoformat(str(get_time("Europe/Moscow")["iso"])) <= datetime.now(UTC)


@pytest.mark.parametrize(
    "zone", ["Tokyo", "Mars/Olympus", "", "../etc/passwd", "/etc/passwd", "Europe", "a\0b"]
)
def test_a_bad_zone_answers_with_a_good_one(zone: str) -> None:
    with pytest.raises(CourseToolError, match="Asia/Tokyo") as caught:
        get_time(zone, NOW)
    assert caught.value.code == "UNKNOWN_TIMEZONE"


# Rates


def test_the_frozen_table_answers_with_its_date() -> None:
    assert get_exchange_rate("USD", "EUR") == {
        "base": "USD",
        "quote": "EUR",
        "rate": 0.8621,
        "date": frozen_rates()["date"],
    }
    assert get_exchange_rate("EUR", "RUB")["rate"] == 94
    assert get_exchange_rate("GBP", "GBP")["rate"] == 1


@pytest.mark.parametrize(("base", "quote"), [("USD", "BTC"), ("RUR", "USD"), ("usd", "EUR"), ("", "")])
def test_a_bad_currency_answers_with_a_good_one(base: str, quote: str) -> None:
    with pytest.raises(CourseToolError, match="USD") as caught:
        get_exchange_rate(base, quote)
    assert caught.value.code == "UNKNOWN_CURRENCY"


LIVE = {"time_last_update_utc": "Fri, 27 Nov 2026 00:00:01 +0000", "rates": {"EUR": 0.87, "USD": 1}}


def client(reply: Any) -> tuple[httpx.Client, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, httpx.Response) else httpx.Response(200, json=reply)

    return httpx.Client(transport=httpx.MockTransport(answer)), seen


def test_live_rates_come_from_the_public_service_within_ten_seconds() -> None:
    asked, seen = client(LIVE)
    with asked:
        rate = get_exchange_rate("USD", "EUR", live=True, client=asked)
    assert rate == {"base": "USD", "quote": "EUR", "rate": 0.87, "date": "2026-11-27"}
    [request] = seen
    assert str(request.url) == "https://open.er-api.com/v6/latest/USD"
    assert set(request.extensions["timeout"].values()) == {10.0}


def test_live_rates_too_are_limited_to_the_allowed_currencies() -> None:
    asked, seen = client(LIVE)
    with asked, pytest.raises(CourseToolError):
        get_exchange_rate("USD", "XXX", live=True, client=asked)
    assert seen == []


@pytest.mark.parametrize(
    "reply",
    [
        httpx.ReadTimeout("slow"),
        httpx.ConnectError("down"),
        httpx.Response(500),
        httpx.Response(429),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=["odd"]),
        {"rates": {}},
        {**LIVE, "rates": {"EUR": None}},
        {**LIVE, "time_last_update_utc": "yesterday"},
    ],
    ids=["timeout", "connect", "500", "429", "html", "list", "no_rate", "null", "no_date"],
)
def test_a_silent_service_is_a_temporary_error(reply: Any) -> None:
    asked, _ = client(reply)
    with asked, pytest.raises(CourseToolError) as caught:
        get_exchange_rate("USD", "EUR", live=True, client=asked)
    assert caught.value.code == "RATES_UNAVAILABLE"
    assert caught.value.as_tool_error().permanent is False


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("calculate", {"expression": "no"}),
        ("get_time", {"timezone": "no"}),
        ("get_exchange_rate", {"base": "NO", "quote": "EUR"}),
    ],
)
def test_an_error_stands_in_the_registry_with_texts_in_both_languages(
    name: str, arguments: dict[str, str]
) -> None:
    tool = IMPLEMENTATIONS[name]
    assert set(tool.needs) == set(arguments)
    with pytest.raises(CourseToolError) as caught:
        tool.run(arguments, Surroundings(NOW))
    error = caught.value.as_tool_error()
    assert error.code in tool.codes
    assert error.permanent is True
    assert isinstance(error.message, dict)
    assert isinstance(error.hint, dict)
    assert set(error.message) == set(error.hint) == {"ru", "en"}


def test_russian_refusals_of_the_calculator_say_why() -> None:
    with pytest.raises(CourseToolError) as caught:
        calculate_tool("1/0")
    assert caught.value.message["ru"] == "Это выражение нельзя вычислить: деление на ноль."
    assert all(re.search("[а-я]", told["ru"]) for told in REASONS.values())
