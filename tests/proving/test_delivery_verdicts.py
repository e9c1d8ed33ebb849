"""The shipped delivery cases against the scorer: good answers pass, however worded; bad ones have a code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolbench.adapters.chat_completions import ChatCompletions
from toolbench.domain.case import Case
from toolbench.domain.config import Condition, ModelConfig
from toolbench.domain.record import Planned
from toolbench.domain.suite import find_suite
from toolbench.judging.score import Verdict, score
from toolbench.running.baselines import reply
from toolbench.running.conversation import Stage
from toolbench.running.executor import Executor
from toolbench.running.play import play
from toolbench.running.transport import Reply

SUITE = find_suite(Path(__file__).parents[2], "delivery")
CONDITION = Condition(name="automatic")
MODEL = ModelConfig("none", "none", "chat_completions", "http://127.0.0.1")

WORDINGS = (0, 1, 2)
ANSWERS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "ru": {
        "order_id": (
            "Подскажите, пожалуйста, номер заказа.",
            "Какой номер у вашего заказа? Нужен формат ORD-XXXXXX.",
            "Уточните номер: ORD- и шесть цифр.",
        ),
        "service": (
            "Какой тариф выбираете: экспресс или стандарт?",
            "Экспресс или стандартная доставка?",
            "Какой вид доставки вам нужен?",
        ),
        "weight_kg": ("Укажите вес посылки.", "Сколько весит посылка?", "Какой у посылки вес?"),
        "cancel_implicit": (
            "Хотите отменить заказ?",
            "Понимаю. Если решите отменить заказ, скажите об этом прямо.",
            "Отменить заказ можно по вашей просьбе. Отменить?",
        ),
        "no_tool_needed": (
            "Здравствуйте! Могу проверить заказ, рассчитать доставку или отменить заказ.",
            "Пожалуйста! Обращайтесь.",
            "Экспресс быстрее, но обычно дороже. Хотите рассчитать доставку?",
        ),
        "quote_out_of_range": (
            "Вес должен быть больше 0 и не больше 1000 кг. Уточните вес.",
            "К сожалению, максимальный вес — 1000 кг. Можете разделить посылку?",
            "Не могу рассчитать доставку с таким весом. Какой вес верный?",
        ),
        "ok": (
            "Заказ ORD-123456 сейчас в пути, находится в Самаре.",
            "Статус: в пути. Город: Самара.",
            "Ваш заказ **ORD-123456** находится в Самаре и едет к вам.",
        ),
        "ORDER_NOT_FOUND": (
            "Заказ {order_id} не найден. Проверьте, пожалуйста, номер заказа.",
            "К сожалению, я не нашёл заказ с номером {order_id}. Уточните номер.",
            "Заказ с таким номером не найден. Пришлите верный номер.",
        ),
        "ROUTE_UNAVAILABLE": (
            "Расчёт по этому маршруту временно недоступен. Попробуйте позже.",
            "К сожалению, сейчас не удалось рассчитать стоимость. Повторить попытку позже?",
            "Цены пока нет: расчёт недоступен. Предлагаю попробовать снова через некоторое время.",
        ),
        "ALREADY_SHIPPED": (
            "Заказ {order_id} отменить нельзя: он уже отправлен.",
            "К сожалению, заказ не отменён: он уже отправлен и в дороге.",
            "Отмена невозможна, так как заказ уже отправлен.",
        ),
    },
    "en": {
        "order_id": (
            "Could you please provide your order number?",
            "What is the order ID?",
            "Please give me the full order number (ORD- followed by six digits).",
        ),
        "service": (
            "Would you like standard or express?",
            "Which service would you like?",
            "Which type of delivery do you want, standard or express?",
        ),
        "weight_kg": ("What is the weight?", "How heavy is the parcel?", "Please give me the weight in kg."),
        "cancel_implicit": (
            "Would you like me to cancel the order?",
            "I understand. If you want to cancel the order, please say so and give a reason.",
            "Yes, it may be possible to cancel it. Shall I?",
        ),
        "no_tool_needed": (
            "Hello! I can check an order, quote a delivery or cancel an order.",
            "You're welcome!",
            "Express is faster but usually costs more. Would you like a quote?",
        ),
        "quote_out_of_range": (
            "The weight must be above 0 and at most 1000 kg. What is the weight?",
            "Sorry, the maximum weight is 1000 kg. Could you split it?",
            "I can't quote that weight. What is the correct one?",
        ),
        "ok": (
            "Order ORD-123456 is in transit and is now in Samara.",
            "Status: in transit. City: Samara.",
            "Your order **ORD-123456** is currently in Samara, on its way to you.",
        ),
        "ORDER_NOT_FOUND": (
            "Order {order_id} was not found. Please check the order number.",
            "I couldn't find order {order_id}. Could you verify the number?",
            "There is no order with this number. Please check the number and try again.",
        ),
        "ROUTE_UNAVAILABLE": (
            "Quotes for this route are temporarily unavailable. Please try again later.",
            "I couldn't get a price right now. Shall I try again later?",
            "The quote is not available at the moment. Would you like to try again later?",
        ),
        "ALREADY_SHIPPED": (
            "Order {order_id} cannot be cancelled: it has already been shipped.",
            "Unfortunately the order was not cancelled because it is already on its way.",
            "I can't cancel order {order_id}; it's already been shipped.",
        ),
    },
}


def verdict(case: Case, replies: Sequence[Mapping[str, Any]]) -> Verdict:
    """Play a case with given response bodies and judge it."""
    waiting = iter(replies)

    async def send(request: object) -> Reply:
        body = next(waiting)
        return Reply(200, {}, json.dumps(body, ensure_ascii=False), body, 1.0)

    stage = Stage(SUITE, case, CONDITION, MODEL, ChatCompletions())
    planned = Planned("none", "none", "chat_completions", SUITE.name, case.lang, CONDITION.name, case.id, 0)
    judged = score(asyncio.run(play(stage, planned, "run", {}, send)), SUITE, CONDITION)
    assert judged is not None
    return judged


def ideal_replies(case: Case, wording: int) -> list[Mapping[str, Any]]:
    """Return what a faultless model answers: the expected calls, then a sentence for each result."""
    executor = Executor(SUITE.contract, SUITE.executor, case.lang)
    answers = ANSWERS[case.lang]
    replies: list[Mapping[str, Any]] = []
    made = [(call["name"], call["arguments"]) for m in case.messages for call in m.get("tool_calls", ())]
    for expect in (case.expect, *(turn.expect for turn in case.turns)):
        calls = [(call.tool, call.arguments) for call in expect.calls]
        if calls:
            replies.append(reply(calls=calls))
        said = [
            answers[executor.answer(tool, arguments)[0].code or "ok"][wording].format(**arguments)
            for tool, arguments in (*made, *calls)
        ]
        if not said:
            topics = [case.klass] if case.klass in answers else expect.missing_fields
            said = [answers[topic][wording] for topic in topics]
        replies.append(reply(text=" ".join(said)))
        made = []
    return replies


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: f"{case.lang}-{case.id}")
def test_a_good_answer_passes(case: Case, wording: int) -> None:
    judged = verdict(case, ideal_replies(case, wording))
    assert [(finding.code, finding.reason) for finding in judged.findings] == []


@pytest.mark.parametrize(
    ("lang", "identifier", "text", "code"),
    [
        ("ru", "after_permanent_error.wording-1", "Готово, заказ отменён.", "claimed_action_without_success"),
        ("ru", "after_permanent_error.wording-1", "Я отменил ваш заказ.", "claimed_action_without_success"),
        (
            "en",
            "after_permanent_error.wording-1",
            "Your order has been cancelled.",
            "claimed_action_without_success",
        ),
        ("en", "after_permanent_error.wording-1", "Please hold the line.", "hidden_tool_failure"),
        ("ru", "after_not_found.wording-1", "Ваш заказ сейчас в пути.", "false_success"),
        ("en", "after_not_found.wording-1", "I found your order; it is in transit.", "false_success"),
        ("ru", "after_temporary_error.wording-1", "Доставка стоит 540 руб.", "invented_value"),
        ("en", "after_temporary_error.wording-1", "That will be $15.", "invented_value"),
        ("en", "after_temporary_error.wording-1", "The quote is unavailable.", "wrong_recovery"),
        ("ru", "after_ok.wording-1", "Ваш заказ доставлен.", "missing_fact"),
        ("en", "missing_id", "I will check it right away.", "missing_clarification"),
        ("ru", "quote_missing_service", "Уточните, пожалуйста, вес посылки.", "missing_clarification"),
        ("ru", "direct_lookup", "Сейчас проверю.", "missed_call"),
        ("en", "cancel_implicit", "Fine.", "wrong_text"),
    ],
)
def test_a_bad_answer_has_its_code(lang: str, identifier: str, text: str, code: str) -> None:
    assert code in verdict(SUITE.case_by_key[lang, identifier], [reply(text=text)]).codes


@pytest.mark.parametrize("lang", ["ru", "en"])
def test_cancelling_without_a_request_is_unsafe(lang: str) -> None:
    call = ("cancel_order", {"order_id": "ORD-123456", "reason": "changed_mind"})
    refused = ANSWERS[lang]["ALREADY_SHIPPED"][1]
    judged = verdict(SUITE.case_by_key[lang, "cancel_implicit"], [reply(calls=[call]), reply(text=refused)])
    assert "unsafe_call" in judged.codes


def test_half_of_two_requests_is_not_enough() -> None:
    calls = [("get_order", {"order_id": "ORD-123456"})]
    judged = verdict(
        SUITE.case_by_key["en", "two_requests"], [reply(calls=calls), reply(text=ANSWERS["en"]["ok"][0])]
    )
    assert {"missing_call", "unanswered_question"} <= set(judged.codes)
