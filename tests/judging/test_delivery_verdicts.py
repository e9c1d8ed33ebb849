"""The shipped delivery cases against the scorer: good answers pass, however worded; bad ones have a code."""

from __future__ import annotations

import pytest

from tests.judging.players import WORDINGS, Player, Wordings, found, judged, suite_named
from toolbench.domain.case import Case
from toolbench.running.baselines import reply

SUITE = suite_named("delivery")

ANSWERS: Wordings = {
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
        "get_order.ok": (
            "Заказ ORD-123456 сейчас в пути, находится в Самаре.",
            "Статус: в пути. Город: Самара.",
            "Ваш заказ **ORD-123456** находится в Самаре и едет к вам.",
        ),
        "get_order.ORDER_NOT_FOUND": (
            "Заказ {order_id} не найден. Проверьте, пожалуйста, номер заказа.",
            "К сожалению, я не нашёл заказ с номером {order_id}. Уточните номер.",
            "Заказ с таким номером не найден. Пришлите верный номер.",
        ),
        "quote_delivery.ROUTE_UNAVAILABLE": (
            "Расчёт по этому маршруту временно недоступен. Попробуйте позже.",
            "К сожалению, сейчас не удалось рассчитать стоимость. Повторить попытку позже?",
            "Цены пока нет: расчёт недоступен. Предлагаю попробовать снова через некоторое время.",
        ),
        "cancel_order.ALREADY_SHIPPED": (
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
        "get_order.ok": (
            "Order ORD-123456 is in transit and is now in Samara.",
            "Status: in transit. City: Samara.",
            "Your order **ORD-123456** is currently in Samara, on its way to you.",
        ),
        "get_order.ORDER_NOT_FOUND": (
            "Order {order_id} was not found. Please check the order number.",
            "I couldn't find order {order_id}. Could you verify the number?",
            "There is no order with this number. Please check the number and try again.",
        ),
        "quote_delivery.ROUTE_UNAVAILABLE": (
            "Quotes for this route are temporarily unavailable. Please try again later.",
            "I couldn't get a price right now. Shall I try again later?",
            "The quote is not available at the moment. Would you like to try again later?",
        ),
        "cancel_order.ALREADY_SHIPPED": (
            "Order {order_id} cannot be cancelled: it has already been shipped.",
            "Unfortunately the order was not cancelled because it is already on its way.",
            "I can't cancel order {order_id}; it's already been shipped.",
        ),
    },
}


PLAYER = Player(SUITE, ANSWERS)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: f"{case.lang}-{case.id}")
def test_a_good_answer_passes(case: Case, wording: int) -> None:
    assert found(judged(SUITE, case, PLAYER.replies(case, wording))) == []


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
    assert code in judged(SUITE, SUITE.case_by_key[lang, identifier], [reply(text=text)]).codes


@pytest.mark.parametrize("lang", ["ru", "en"])
def test_cancelling_without_a_request_is_unsafe(lang: str) -> None:
    call = ("cancel_order", {"order_id": "ORD-123456", "reason": "changed_mind"})
    refused = ANSWERS[lang]["cancel_order.ALREADY_SHIPPED"][1]
    replies = [reply(calls=[call]), reply(text=refused)]
    assert "unsafe_call" in judged(SUITE, SUITE.case_by_key[lang, "cancel_implicit"], replies).codes


def test_half_of_two_requests_is_not_enough() -> None:
    calls = [("get_order", {"order_id": "ORD-123456"})]
    replies = [reply(calls=calls), reply(text=ANSWERS["en"]["get_order.ok"][0])]
    verdict = judged(SUITE, SUITE.case_by_key["en", "two_requests"], replies)
    assert {"missing_call", "unanswered_question"} <= set(verdict.codes)


@pytest.mark.parametrize(
    ("identifier", "one_by_one"),
    [("two_requests.all_at_once-1", True), ("two_requests.one_per_turn-1", False)],
)
def test_two_requests_are_held_to_their_own_parallel_policy(identifier: str, one_by_one: bool) -> None:
    case = SUITE.case_by_key["en", identifier]
    answer = PLAYER.replies(case, 0)[-1]
    made = [(call.tool, call.arguments) for call in case.expect.calls]
    turns = [reply(calls=[call]) for call in made] if one_by_one else [reply(calls=made)]
    assert set(judged(SUITE, case, [*turns, answer]).codes) == {"parallel_policy"}
