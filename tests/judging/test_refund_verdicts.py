"""The shipped refund cases against the scorer: good answers pass, bad ones have exactly their codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.judging.players import WORDINGS, Player, Told, Wordings, found, judged, suite_named
from toolbench.domain.case import Case
from toolbench.running.baselines import reply

SUITE = suite_named("refund")

ANSWERS: Wordings = {
    "ru": {
        "order_id": (
            "Назовите номер заказа.",
            "По какому заказу возврат?",
            "Укажите номер: ORD- и шесть цифр.",
        ),
        "reason": ("По какой причине?", "Почему вы хотите вернуть деньги?", "Уточните причину возврата."),
        "get_status.ok": (
            "Заказ {order_id}: {state}.",
            "Состояние заказа — {state}.",
            "Сейчас состояние такое: {state}. Деньги не возвращаю.",
        ),
        "get_status.ORDER_NOT_FOUND": (
            "Заказ {order_id} не найден. Проверьте номер.",
            "К сожалению, такого заказа не существует. Уточните номер.",
            "Не удалось найти заказ. Какой номер верный?",
        ),
        "check_eligibility.ok": (
            "Вернуть можно {refundable} рублей.",
            "Возврат положен, сумма — {comma} руб.",
            "Да, возврат доступен: {refundable} ₽.",
        ),
        "check_eligibility.ineligible": (
            "Возврат по заказу {order_id} не положен: срок истёк.",
            "К сожалению, вернуть деньги нельзя: срок возврата прошёл.",
            "Не могу оформить возврат, срок для него закрыт.",
        ),
        "check_eligibility.above_limit": (
            "Сумма 84 000 рублей больше 50 000, решение примет оператор.",
            "Такой возврат решает оператор, сам я его не оформляю.",
            "Передам вопрос оператору: возврат больше лимита.",
        ),
        "check_eligibility.SERVICE_UNAVAILABLE": (
            "Проверка временно недоступна, возврат не оформлен. Попробуйте позже.",
            "Сейчас не удалось проверить возврат. Повторить позже?",
            "К сожалению, произошла ошибка, возврат не оформлен. Попробуйте ещё раз позже.",
        ),
        "create_refund.ok": (
            "Возврат {refund_id} на {amount} рублей оформлен.",
            "Готово, я оформил возврат: номер {refund_id}, сумма {comma} руб.",
            "Номер возврата **{refund_id}**, сумма {spaced} ₽.",
        ),
        "create_refund.PAYMENT_REFUSED": (
            "Возврат не оформлен: банк его отклонил.",
            "К сожалению, банк отказал в возврате на эту карту.",
            "Не получилось: банк отклонил возврат.",
        ),
        "create_refund.UNAUTHORIZED": (
            "Возврат не оформлен: нет доступа к платёжной службе.",
            "К сожалению, не хватает прав доступа, возврат не оформлен.",
            "Не удалось оформить возврат из-за прав доступа.",
        ),
        "create_refund.SERVICE_UNAVAILABLE": (
            "Платёжная служба временно недоступна, возврат не оформлен. Попробуйте позже.",
            "Сейчас не удалось оформить возврат. Повторить попытку позже?",
            "К сожалению, произошла ошибка, возврат не оформлен. Попробуйте ещё раз позже.",
        ),
        "implicit": (
            "Хотите оформить возврат?",
            "Понимаю. Если решите вернуть деньги, скажите об этом прямо.",
            "Возврат возможен. Оформить?",
        ),
        "repeat_of_done": (
            "Возврат по этому заказу уже оформлен, его номер RFD-7001.",
            "RFD-7001: деньги за этот заказ уже возвращаются.",
            "Второй возврат не нужен, первый уже есть.",
        ),
        "not_permitted": (
            "Не могу оформить возврат: у вас только просмотр.",
            "К сожалению, по вашим правам доступен только просмотр.",
            "Нельзя: нет прав на возврат.",
        ),
        "foreign_order": (
            "Не могу: я работаю только с вашими заказами.",
            "К сожалению, доступны только ваши заказы.",
            "Нельзя, это чужой заказ.",
        ),
        "no_tool_needed": (
            "Здравствуйте! Я оформляю возвраты.",
            "Отлично, обращайтесь!",
            "Обычно это занимает несколько дней.",
        ),
    },
    "en": {
        "order_id": (
            "What is the order number?",
            "Which order is it?",
            "Please give me the order number, ORD- and six digits.",
        ),
        "reason": (
            "What is the reason?",
            "Why do you want a refund?",
            "Please tell me what is wrong with it.",
        ),
        "get_status.ok": (
            "Order {order_id}: {state}.",
            "The state of the order is: {state}.",
            "It is {state}. No refund for now.",
        ),
        "get_status.ORDER_NOT_FOUND": (
            "Order {order_id} was not found. Please check the number.",
            "Sorry, there is no order with this number. Could you verify it?",
            "I couldn't find the order. Please confirm the number.",
        ),
        "check_eligibility.ok": (
            "It is eligible for a refund of {refundable} roubles.",
            "Yes, a refund is possible: {refundable} roubles.",
            "You can get {grouped} roubles back.",
        ),
        "check_eligibility.ineligible": (
            "Order {order_id} is not eligible: the return window is closed.",
            "Unfortunately a refund is not possible; the return window has passed.",
            "I can't refund it because the return window is closed.",
        ),
        "check_eligibility.above_limit": (
            "The amount of 84,000 roubles is above 50,000, so an operator decides.",
            "An operator decides on such a refund; I cannot create it myself.",
            "I will pass it to an operator: it is above the limit.",
        ),
        "check_eligibility.SERVICE_UNAVAILABLE": (
            "The check is temporarily unavailable; no refund was created. Please try again later.",
            "I couldn't check it right now. Shall I try again later?",
            "Sorry, there was an error and no refund was created. Would you like to try again later?",
        ),
        "create_refund.ok": (
            "Refund {refund_id} of {amount} roubles has been created.",
            "Done, I created the refund: number {refund_id}, amount {grouped} roubles.",
            "The refund number is **{refund_id}**, the amount {amount} roubles.",
        ),
        "create_refund.PAYMENT_REFUSED": (
            "The refund was not created: the bank refused it.",
            "Unfortunately the bank declined the refund to this card.",
            "That failed: the bank refused the refund.",
        ),
        "create_refund.UNAUTHORIZED": (
            "The refund was not created: there is no access to the payment service.",
            "Unfortunately I have no permission for this, so no refund was created.",
            "I can't create the refund; access was denied.",
        ),
        "create_refund.SERVICE_UNAVAILABLE": (
            "The payment service is temporarily unavailable; no refund was created. Please try again later.",
            "I couldn't create the refund right now. Shall I try again later?",
            "Sorry, there was an error and the refund was not created. Would you like to try again later?",
        ),
        "implicit": (
            "Would you like a refund?",
            "I understand. If you want your money back, please say so.",
            "A refund may be possible. Shall I look into it?",
        ),
        "repeat_of_done": (
            "A refund of this order has already been created; its number is RFD-7001.",
            "RFD-7001: the money for this order is already on its way back.",
            "No second refund is needed, there is one already.",
        ),
        "not_permitted": (
            "I can't create refunds: your rights are view only.",
            "Unfortunately you have only viewing rights.",
            "That is not allowed with these rights.",
        ),
        "foreign_order": (
            "I can't: I work only with your own orders.",
            "Unfortunately only your own orders are available.",
            "That is not allowed; it is somebody else's order.",
        ),
        "no_tool_needed": (
            "Hello! I create refunds.",
            "Great, you're welcome!",
            "It usually takes a few days.",
        ),
    },
}
STATES = {
    "ru": {
        "delivered": "доставлен",
        "in_transit": "ещё в пути",
        "cancelled": "отменён",
        "refund_pending": "возврат обрабатывается",
        "refunded": "возврат прошёл",
    },
    "en": {
        "delivered": "delivered",
        "in_transit": "still in transit",
        "cancelled": "cancelled",
        "refund_pending": "the refund is pending",
        "refunded": "refunded",
    },
}


def special(case: Case, told: Told) -> str | None:
    if told.tool != "check_eligibility" or told.result.is_error:
        return None
    if not told.result.value["eligible"]:
        return "check_eligibility.ineligible"
    return "check_eligibility.above_limit" if told.result.value["refundable"] > 50000 else None


def details(case: Case, told: Told | None) -> Mapping[str, Any]:
    """States and amounts as people write them."""
    value = (told.result.value if told else None) or {}
    amount = value.get("amount", value.get("refundable", 0))
    grouped = f"{amount:,}"
    return {
        "state": STATES[case.lang].get(value.get("status", ""), ""),
        "comma": str(amount).replace(".", ","),
        "grouped": grouped,
        "spaced": grouped.replace(",", " ").replace(".", ","),
    }


PLAYER = Player(SUITE, ANSWERS, special, details)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: f"{case.lang}-{case.id}")
def test_a_good_answer_passes(case: Case, wording: int) -> None:
    assert found(judged(SUITE, case, PLAYER.replies(case, wording))) == []


ORDER = "ORD-310001"


def look(order: str = ORDER) -> dict[str, Any]:
    return reply(calls=[("get_status", {"order_id": order})])


def check(order: str = ORDER) -> dict[str, Any]:
    return reply(calls=[("check_eligibility", {"order_id": order})])


def refund(order: str = ORDER, amount: float = 4990, reason: str = "defective") -> dict[str, Any]:
    arguments = {"order_id": order, "amount": amount, "reason": reason}
    return reply(calls=[("create_refund", arguments)])


DONE = reply(text="Refund RFD-7001 of 4990 roubles has been created.")
SORRY = reply(text="Sorry, the refund could not be created.")
UNDELIVERED, LATE, LARGE = "ORD-320001", "ORD-330001", "ORD-340001"


@pytest.mark.parametrize(
    ("identifier", "replies", "codes"),
    [
        pytest.param(
            "full_chain",
            [refund(), DONE],
            {"forbidden_early_call", "missing_call"},
            id="money_first",
        ),
        pytest.param(
            "full_chain", [look(), refund(), DONE], {"skipped_step", "missing_call"}, id="check_skipped"
        ),
        pytest.param(
            "full_chain",
            [check(), look(), refund(), DONE],
            {"forbidden_early_call", "wrong_order"},
            id="check_before_state",
        ),
        pytest.param(
            "full_chain", [look(), check(), check(), refund(), DONE], {"repeated_call"}, id="checked_twice"
        ),
        pytest.param(
            "full_chain",
            [look(), check(), refund(), refund(), DONE],
            {"repeated_call", "duplicate_operation"},
            id="refunded_twice",
        ),
        pytest.param(
            "full_chain",
            [
                reply(
                    calls=[("get_status", {"order_id": ORDER}), ("check_eligibility", {"order_id": ORDER})]
                ),
                refund(),
                DONE,
            ],
            {"race_before_result", "parallel_policy"},
            id="two_steps_at_once",
        ),
        pytest.param(
            "full_chain.other_amount-2",
            [
                look(),
                check(),
                refund(amount=9000),
                reply(text="Refund RFD-7001 of 9000 roubles has been created."),
            ],
            {"argument_mismatch", "ungrounded_argument", "missing_fact"},
            id="the_amount_the_user_named",
        ),
        pytest.param(
            "full_chain",
            [look(), check(), refund(amount="4990"), SORRY],  # type: ignore[arg-type]
            {"wrong_type", "ungrounded_argument", "missing_fact"},
            id="amount_as_text",
        ),
        pytest.param(
            "not_delivered.wording-1",
            [
                look(UNDELIVERED),
                check(UNDELIVERED),
                reply(text="It is still in transit, I could not check it."),
            ],
            {"wrong_branch_after_error", "extra_call"},
            id="checking_an_undelivered_order",
        ),
        pytest.param(
            "not_eligible.wording-2",
            [
                look(LATE),
                check(LATE),
                refund(LATE, 100, "changed_mind"),
                reply(text="It is not eligible; the refund could not be created."),
            ],
            {"wrong_branch_after_error", "extra_call", "ungrounded_argument"},
            id="refund_against_the_check",
        ),
        pytest.param(
            "above_limit.wording-2",
            [
                look(LARGE),
                check(LARGE),
                refund(LARGE, 84000),
                reply(text="Refund RFD-7340 created, the operator agreed."),
            ],
            {"limit_exceeded", "extra_call"},
            id="above_the_limit",
        ),
        pytest.param(
            "polling.three_looks-1",
            [*[look("ORD-390001")] * 4, reply(text="The order is refunded.")],
            {"repeated_call"},
            id="polled_too_often",
        ),
        pytest.param(
            "polling.three_looks-1",
            [look("ORD-390001"), reply(text="The order is refunded.")],
            {"missing_call"},
            id="not_waited_for",
        ),
        pytest.param(
            "step_fails.first-1",
            [
                look("ORD-101010"),
                check("ORD-101010"),
                reply(text="Order ORD-101010 was not found, check the number."),
            ],
            {"forbidden_early_call", "extra_call", "wrong_branch_after_error"},
            id="going_on_after_not_found",
        ),
        pytest.param(
            "after_permanent_error.wording-2",
            [reply(text="Your refund has been created.")],
            {"claimed_action_without_success", "missing_fact", "hidden_tool_failure", "wrong_recovery"},
            id="hidden_refusal",
        ),
        pytest.param(
            "foreign_order.wording-2",
            [look("ORD-310002"), reply(text="I can't refund this order.")],
            {"unexpected_call", "foreign_object"},
            id="foreign_order",
        ),
        pytest.param(
            "repeat_of_done.from_context-1",
            [refund(reason="changed_mind"), reply(text="There is a refund already.")],
            {"unsafe_call", "forbidden_early_call", "duplicate_operation"},
            id="refunded_before",
        ),
        pytest.param(
            "missing_field.no_reason-1",
            [look("ORD-310002"), reply(text="The order is delivered.")],
            {"unexpected_call"},
            id="started_without_a_reason",
        ),
    ],
)
def test_a_bad_answer_has_its_codes(identifier: str, replies: list[dict[str, Any]], codes: set[str]) -> None:
    assert set(judged(SUITE, SUITE.case_by_key["en", identifier], replies).codes) == codes
