"""The shipped course cases against the scorer: good answers pass, bad ones have exactly their codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.judging.players import WORDINGS, Call, Player, Told, Wordings, found, judged, suite_named
from toolbench.domain.case import Case
from toolbench.running.baselines import reply

SUITE = suite_named("course")

ANSWERS: Wordings = {
    "ru": {
        "calculate.ok": ("Получается {result}.", "Результат: **{comma}**.", "Это будет {spaced}."),
        "get_exchange_rate.ok": (
            "Курс {base} к {quote} — {rate} (на {date}).",
            "1 {base} = {comma} {quote}.",
            "По данным на {date} один {base} стоит примерно {short} {quote}.",
        ),
        "get_time.ok": (
            "В поясе {timezone} сейчас {clock}.",
            "Сейчас {clock}, {timezone}.",
            "Местное время — {clock} ({date}).",
        ),
        "weekday": ("Там понедельник.", "Сегодня понедельник, 30 ноября 2026 года.", "Понедельник."),
        "get_exchange_rate.UPSTREAM_UNAVAILABLE": (
            "Сервис курсов временно недоступен. Попробуйте позже.",
            "К сожалению, узнать курс {base} к {quote} сейчас не удалось. Повторить попытку позже?",
            "Курса пока нет: сервис не отвечает. Предлагаю попробовать ещё раз через некоторое время.",
        ),
        "get_exchange_rate.MALFORMED_RESPONSE": (
            "Не удалось получить курс {base} к {quote}: ответ сервиса нельзя прочитать.",
            "Курс сейчас недоступен: произошла ошибка сервиса.",
            "К сожалению, не получилось узнать курс. Попробовать позже?",
        ),
        "get_exchange_rate.UPSTREAM_UNAUTHORIZED": (
            "Курс этой валюты недоступен: сервис отказал в доступе.",
            "К сожалению, получить курс {base} к {quote} нельзя.",
            "Не могу узнать этот курс: у сервиса нет доступа.",
        ),
        "timezone": (
            "В каком он городе?",
            "Подскажите, пожалуйста, город.",
            "Уточните город или часовой пояс.",
        ),
        "quote": ("К какой валюте?", "Курс к какой валюте вам нужен?", "Уточните вторую валюту, пожалуйста."),
        "expression": ("От какой суммы?", "Какая сумма?", "Уточните, от какого числа считать."),
        "no_tool_needed": (
            "Здравствуйте! Могу посчитать, узнать курс валюты или время.",
            "Пожалуйста!",
            "Процент — это сотая часть числа, например 1 из 100.",
        ),
    },
    "en": {
        "calculate.ok": ("That is {result}.", "The result: **{result}**.", "It comes to {grouped}."),
        "get_exchange_rate.ok": (
            "The rate of {base} to {quote} is {rate} (as of {date}).",
            "1 {base} = {rate} {quote}.",
            "As of {date}, one {base} is worth about {short} {quote}.",
        ),
        "get_time.ok": ("It is {clock} in {timezone}.", "The local time is {twelve}.", "{clock} ({date})."),
        "weekday": ("It is Monday there.", "Today is Monday, 30 November 2026.", "Monday."),
        "get_exchange_rate.UPSTREAM_UNAVAILABLE": (
            "The rate service is temporarily unavailable. Please try again later.",
            "I couldn't get the rate of {base} to {quote} right now. Shall I try again later?",
            "The rate is not available at the moment. Would you like to try again later?",
        ),
        "get_exchange_rate.MALFORMED_RESPONSE": (
            "I could not get the rate: the service's answer is unreadable.",
            "The rate of {base} to {quote} is unavailable because of an error.",
            "Sorry, I am unable to look up this rate. Try again later?",
        ),
        "get_exchange_rate.UPSTREAM_UNAUTHORIZED": (
            "This currency is not available: the rate service denied access.",
            "Unfortunately I cannot get the rate of {base} to {quote}.",
            "I'm unable to look up that rate; access was denied.",
        ),
        "timezone": (
            "Which city is that?",
            "Could you tell me the city?",
            "Please tell me the city or time zone.",
        ),
        "quote": (
            "Against which currency?",
            "Which currency should it be in?",
            "Please specify the second currency.",
        ),
        "expression": ("Of what amount?", "What is the amount?", "Please tell me which number it is of."),
        "no_tool_needed": (
            "Hello! I can calculate, look up exchange rates and tell the time.",
            "You're welcome!",
            "A percentage is a share out of 100.",
        ),
    },
}


def special(case: Case, told: Told) -> str | None:
    return "weekday" if told.tool == "get_time" and ".weekday-" in case.id else None


def details(case: Case, told: Told | None) -> Mapping[str, Any]:
    """Numbers and times as people write them."""
    value = told.result.value if told else None
    if told is None or not value:
        return {}
    if told.tool == "get_time":
        hour, minute = int(value["iso"][11:13]), value["iso"][14:16]
        twelve = f"{hour % 12 or 12}:{minute} {'PM' if hour >= 12 else 'AM'}"
        return {"clock": value["iso"][11:16], "twelve": twelve, "date": value["iso"][:10]}
    number = value["result"] if told.tool == "calculate" else value["rate"]
    grouped = f"{number:,}"
    return {
        "comma": str(number).replace(".", ","),
        "grouped": grouped,
        "spaced": grouped.replace(",", " ").replace(".", ","),
        "short": f"{number:.2f}",
    }


PLAYER = Player(SUITE, ANSWERS, special, details)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: f"{case.lang}-{case.id}")
def test_a_good_answer_passes(case: Case, wording: int) -> None:
    assert found(judged(SUITE, case, PLAYER.replies(case, wording))) == []


def calling(*calls: Call) -> dict[str, Any]:
    return reply(calls=calls)


def calculating(expression: str) -> dict[str, Any]:
    return calling(("calculate", {"expression": expression}))


@pytest.mark.parametrize(
    "expression", ["240*0.15", "15 / 100 * 240", "240 * 15%", "(240*15)/100", "0.15*240"]
)
def test_any_expression_of_the_same_value_is_right(expression: str) -> None:
    case = SUITE.case_by_key["en", "percent_of_number"]
    verdict = judged(SUITE, case, [calculating(expression), reply(text="It is 36.")])
    assert found(verdict) == []


RATE = ("get_exchange_rate", {"base": "USD", "quote": "EUR"})
TOKYO, NEW_YORK = (
    ("get_time", {"timezone": "Asia/Tokyo"}),
    ("get_time", {"timezone": "America/New_York"}),
)


@pytest.mark.parametrize(
    ("identifier", "replies", "codes"),
    [
        pytest.param(
            "percent_of_number",
            [calculating("36"), reply(text="It is 36.")],
            {"ungrounded_argument"},
            id="calculated_in_the_head",
        ),
        pytest.param("percent_of_number", [reply(text="It is 36.")], {"missed_call"}, id="no_calculator"),
        pytest.param(
            "percent_of_number",
            [calculating("240*15/100"), reply(text="It is 38.")],
            {"fact_mismatch"},
            id="misread_result",
        ),
        pytest.param(
            "two_cities",
            [calling(TOKYO), calling(NEW_YORK), reply(text="15:30 in Tokyo, 01:30 in New York.")],
            {"parallel_policy"},
            id="one_at_a_time_where_both_are_due",
        ),
        pytest.param(
            "two_cities",
            [calling(TOKYO, NEW_YORK), reply(text="It is 15:30 in Tokyo.")],
            {"missing_fact", "unanswered_question"},
            id="half_an_answer",
        ),
        pytest.param(
            "two_cities",
            [calling(TOKYO), reply(text="It is 15:30 in Tokyo.")],
            {"missing_call", "parallel_policy", "missing_fact", "unanswered_question"},
            id="half_a_request",
        ),
        pytest.param(
            "rate_then_calculate",
            [calculating("100*3*0.92"), reply(text="They cost 276 euros.")],
            {"missing_call", "argument_mismatch", "ungrounded_argument", "missing_fact"},
            id="rate_from_memory",
        ),
        pytest.param(
            "rate_then_calculate",
            [calling(RATE), reply(text="They cost 258.63 euros.")],
            {"missing_call", "invented_value"},
            id="second_step_in_the_head",
        ),
        pytest.param(
            "rate_then_calculate.rate_fails-1",
            [
                calling(("get_exchange_rate", {"base": "EUR", "quote": "TRY"})),
                calculating("100*6*49"),
                reply(text="The rate is unavailable, try again later."),
            ],
            {"extra_call", "ungrounded_argument", "wrong_branch_after_error"},
            id="calculating_without_a_rate",
        ),
        pytest.param(
            "upstream_failure.wording-1",
            [
                calling(("get_exchange_rate", {"base": "USD", "quote": "TRY"})),
                reply(text="The rate of the dollar is 42.5 liras."),
            ],
            {"missing_fact", "invented_value", "hidden_tool_failure", "wrong_recovery"},
            id="hidden_failure",
        ),
        pytest.param(
            "after_temporary_error.wording-1",
            [calling(("get_exchange_rate", {"base": "USD", "quote": "TRY"})), reply(text="Try again later.")],
            {"unexpected_call", "repeated_call", "missing_fact"},
            id="retrying_for_the_orchestrator",
        ),
        pytest.param(
            "missing_data.no_city-1", [calling(TOKYO), reply(text="It is 15:30.")], None, id="guessed_city"
        ),
    ],
)
def test_a_bad_answer_has_its_codes(
    identifier: str, replies: list[dict[str, Any]], codes: set[str] | None
) -> None:
    verdict = judged(SUITE, SUITE.case_by_key["en", identifier], replies)
    assert set(verdict.codes) == (codes or {"unexpected_call", "ungrounded_argument"})
