"""The shipped reschedule cases against the scorer: good answers pass, bad ones have exactly their codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.judging.players import WORDINGS, Player, Told, Wordings, found, judged, suite_named
from toolbench.domain.case import Case
from toolbench.running.baselines import reply

SUITE = suite_named("reschedule")

ANSWERS: Wordings = {
    "ru": {
        "phone": ("Назовите номер телефона.", "Какой у получателя телефон?", "Укажите телефон, десять цифр."),
        "slot_id": (
            "На какой день и время перенести?",
            "Какая дата вам подходит?",
            "Уточните дату и интервал.",
        ),
        "find_order.ok": ("Номер заказа — {ids}.", "Ваш заказ: {ids}.", "Это **{ids}**."),
        "find_order.several": (
            "По этому телефону два заказа: {ids}. Какой перенести?",
            "Заказов несколько. Уточните, о каком речь.",
            "Нашлось два заказа, {ids}. Какой из них?",
        ),
        "find_order.empty": (
            "По телефону {phone} заказ не найден.",
            "К сожалению, я не нашёл заказов с этим телефоном. Проверьте номер.",
            "Заказов по этому телефону нет.",
        ),
        "get_delivery_slots.ok": (
            "Свободно: {list}.",
            "Есть такие интервалы: {list}. Какой выбрать?",
            "Могу предложить {list}.",
        ),
        "get_delivery_slots.none_fits": (
            "Этот интервал не свободен. Есть {list}.",
            "К сожалению, такого интервала нет. Свободны: {list}. Какой подойдёт?",
            "На это время доставка недоступна, доставка не перенесена. Варианты: {list}.",
        ),
        "get_delivery_slots.empty": (
            "Свободных интервалов нет.",
            "К сожалению, у заказа {order_id} не осталось свободных интервалов.",
            "Свободные интервалы отсутствуют, доставка не перенесена.",
        ),
        "reschedule_delivery.ok": (
            "Доставка перенесена на {day} декабря с {start} до {end}.",
            "Готово, я перенёс доставку: {date}, {from}–{to}.",
            "Новая дата назначена: {dotted}, интервал {start}-{end}.",
        ),
        "reschedule_delivery.ORDER_LOCKED": (
            "Перенести нельзя: заказ {order_id} уже у курьера.",
            "Доставка не перенесена, потому что заказ передан курьеру.",
            "К сожалению, заказ уже отдали курьеру.",
        ),
        "reschedule_delivery.SLOT_TAKEN": (
            "Этот интервал только что заняли. Какой другой вам подойдёт?",
            "К сожалению, интервал уже занят. Выберете другой?",
            "Не получилось: интервал заняли. Подобрать другой?",
        ),
        "reschedule_delivery.SERVICE_UNAVAILABLE": (
            "Служба доставки временно недоступна, доставка не перенесена. Попробуйте позже.",
            "Сейчас не удалось перенести доставку. Повторить попытку позже?",
            "К сожалению, произошла ошибка, доставка не перенесена. Давайте попробуем ещё раз позже.",
        ),
        "implicit": (
            "Перенести доставку?",
            "Понимаю. Если нужен перенос, скажите.",
            "Перенос возможен. Сделать?",
        ),
        "repeat_of_done": (
            "Эта доставка уже перенесена на это время.",
            "Перенос уже сделан, ничего менять не нужно.",
            "Она и так уже назначена на этот интервал.",
        ),
        "foreign_phone": (
            "Не могу: я работаю только с вашим телефоном.",
            "К сожалению, доступны только ваши заказы.",
            "Нельзя: телефон чужой.",
        ),
        "no_tool_needed": (
            "Здравствуйте! Я переношу доставку на удобное время.",
            "Пожалуйста!",
            "Это промежуток времени, в который приедет курьер.",
        ),
    },
    "en": {
        "phone": ("What is the phone number?", "Which phone is it?", "Please give me the phone, ten digits."),
        "slot_id": (
            "Which day and time?",
            "What date would suit you?",
            "Please specify the date and the slot.",
        ),
        "find_order.ok": ("The order number is {ids}.", "Your order: {ids}.", "It is **{ids}**."),
        "find_order.several": (
            "There are two orders with this phone: {ids}. Which one shall I move?",
            "There are several orders. Which one do you mean?",
            "I see two orders, {ids}. Which?",
        ),
        "find_order.empty": (
            "No order was found for {phone}.",
            "Sorry, I couldn't find any orders with this phone. Please check it.",
            "There are no orders with this phone.",
        ),
        "get_delivery_slots.ok": (
            "These are free: {list}.",
            "The slots are {list}. Which one?",
            "I can offer {list}.",
        ),
        "get_delivery_slots.none_fits": (
            "That slot is not free. There are {list}.",
            "Unfortunately there is no such slot. Free ones: {list}. Which would do?",
            "That time is not available, so nothing was moved. Options: {list}.",
        ),
        "get_delivery_slots.empty": (
            "There are no free slots.",
            "Unfortunately order {order_id} has no slots left: none are free.",
            "There aren't any free slots, so the delivery was not moved.",
        ),
        "reschedule_delivery.ok": (
            "The delivery has been moved to {day} December, from {start} to {end}.",
            "Done, I rescheduled the delivery: {date}, {from}–{to}.",
            "Rescheduled to December {day}, {twelve_start}-{twelve_end}.",
        ),
        "reschedule_delivery.ORDER_LOCKED": (
            "It cannot be moved: order {order_id} is with the courier already.",
            "The delivery was not moved because the courier has the order.",
            "Sorry, the order is already with the courier.",
        ),
        "reschedule_delivery.SLOT_TAKEN": (
            "That slot has just been taken. Which other one would do?",
            "Unfortunately the slot is taken. Would you choose another?",
            "That failed: the slot was taken. Shall I look for another one?",
        ),
        "reschedule_delivery.SERVICE_UNAVAILABLE": (
            "The delivery service is temporarily unavailable; nothing was moved. Please try again later.",
            "I couldn't move the delivery right now. Shall I try again later?",
            "Sorry, there was an error and the delivery was not moved. Would you like to try again later?",
        ),
        "implicit": (
            "Shall I move the delivery?",
            "I understand. If you want to reschedule it, please say so.",
            "A delivery can be moved. Would you like that?",
        ),
        "repeat_of_done": (
            "That delivery is already set for this time.",
            "It has already been moved; nothing has to change.",
            "It is already in that slot.",
        ),
        "foreign_phone": (
            "I can't: I work only with your own phone.",
            "Unfortunately only your own orders are available.",
            "That is not allowed; it is somebody else's phone.",
        ),
        "no_tool_needed": (
            "Hello! I move deliveries to a time that suits you.",
            "You're welcome!",
            "It is the span of time in which the courier comes.",
        ),
    },
}


def special(case: Case, told: Told) -> str | None:
    if told.tool == "find_order" and len(told.result.value["orders"]) > 1:
        return "find_order.several"
    return (
        "get_delivery_slots.none_fits"
        if case.klass == "no_matching_slot" and told.tool[:3] == "get"
        else None
    )


def details(case: Case, told: Told | None) -> Mapping[str, Any]:
    """Dates, hours and lists as people write them."""
    value = (told.result.value if told else None) or {}
    texts: dict[str, Any] = {
        "ids": ", ".join(order["order_id"] for order in value.get("orders", ())),
        "list": "; ".join(f"{slot['date']} {slot['from']}–{slot['to']}" for slot in value.get("slots", ())),
    }
    if "date" in value:
        start, end = int(value["from"][:2]), int(value["to"][:2])
        year, month, day = value["date"].split("-")
        texts |= {"start": start, "end": end, "day": int(day), "dotted": f"{day}.{month}.{year}"}
        texts |= {"twelve_start": _twelve(start), "twelve_end": _twelve(end)}
    return texts


def _twelve(hour: int) -> str:
    return f"{hour % 12 or 12} {'PM' if hour >= 12 else 'AM'}"


PLAYER = Player(SUITE, ANSWERS, special, details)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: f"{case.lang}-{case.id}")
def test_a_good_answer_passes(case: Case, wording: int) -> None:
    assert found(judged(SUITE, case, PLAYER.replies(case, wording))) == []


def find(phone: str = "9005550101") -> dict[str, Any]:
    return reply(calls=[("find_order", {"phone": phone})])


def slots(order: str = "ORD-481516") -> dict[str, Any]:
    return reply(calls=[("get_delivery_slots", {"order_id": order})])


def move(slot: str = "SLT-1101", order: str = "ORD-481516") -> dict[str, Any]:
    return reply(calls=[("reschedule_delivery", {"order_id": order, "slot_id": slot})])


BOTH_AT_ONCE = reply(
    calls=[("find_order", {"phone": "9005550101"}), ("get_delivery_slots", {"order_id": "ORD-481516"})]
)
EVENING = "The delivery has been moved to 2 December, 18:00–20:00."
MOVED = reply(text="The delivery has been moved to 2 December, from 10 to 12.")
SORRY = reply(text="Sorry, that could not be done.")


@pytest.mark.parametrize(
    ("identifier", "replies", "codes"),
    [
        pytest.param(
            "full_chain",
            [slots(), find(), move(), MOVED],
            {"forbidden_early_call", "wrong_order"},
            id="slots_before_the_order_is_known",
        ),
        pytest.param(
            "full_chain", [find(), move(), MOVED], {"missing_call", "skipped_step"}, id="slots_skipped"
        ),
        pytest.param(
            "full_chain",
            [BOTH_AT_ONCE, move(), MOVED],
            {"race_before_result", "parallel_policy"},
            id="two_steps_at_once",
        ),
        pytest.param(
            "full_chain",
            [find(), slots(), slots(), move(), MOVED],
            {"repeated_call"},
            id="slots_asked_for_twice",
        ),
        pytest.param(
            "full_chain",
            [find(), slots(), move("SLT-1102"), reply(text=EVENING)],
            {"argument_mismatch", "missing_fact"},
            id="another_slot_than_wanted",
        ),
        pytest.param(
            "full_chain",
            [find(), slots(), move("SLT-9999"), SORRY],
            {"argument_mismatch", "ungrounded_argument", "missing_fact"},
            id="invented_slot",
        ),
        pytest.param(
            "full_chain",
            [find(), slots(), reply(text="The delivery has been moved to 2 December, from 10 to 12.")],
            {"missing_call", "claimed_action_without_success"},
            id="success_before_the_write",
        ),
        pytest.param(
            "full_chain",
            [
                find(),
                slots(),
                move(),
                reply(text="The delivery has been moved to 25 December, from 10 to 12."),
            ],
            {"fact_mismatch"},
            id="another_date_stated",
        ),
        pytest.param(
            "full_chain",
            [find(), slots(), move(), reply(text="Done.")],
            {"missing_fact"},
            id="nothing_stated",
        ),
        pytest.param(
            "empty_order.wording-2",
            [find("9005550000"), slots(), reply(text="There are no orders with this phone.")],
            {"call_after_empty_result", "extra_call", "ungrounded_argument"},
            id="going_on_after_no_order",
        ),
        pytest.param(
            "empty_slots.wording-1",
            [
                find("9005550108"),
                slots("ORD-774410"),
                move("SLT-1101", "ORD-774410"),
                reply(text="There are no slots."),
            ],
            {"call_after_empty_result", "extra_call", "ungrounded_argument"},
            id="booking_after_no_slots",
        ),
        pytest.param(
            "no_matching_slot.wording-1",
            [find(), slots(), move("SLT-1102"), reply(text=f"That slot is not free. {EVENING}")],
            {"forbidden_tool"},
            id="another_slot_chosen_for_the_user",
        ),
        pytest.param(
            "after_permanent_error.taken-1",
            [
                move("SLT-6602", "ORD-660033"),
                reply(text="That slot was taken and another one failed as well, sorry."),
            ],
            {"unsafe_call", "wrong_branch_after_error", "ungrounded_argument"},
            id="another_slot_after_an_error",
        ),
        pytest.param(
            "after_temporary_error.wording-1",
            [reply(text="Your delivery has been rescheduled.")],
            {"claimed_action_without_success", "missing_fact", "hidden_tool_failure", "wrong_recovery"},
            id="hidden_outage",
        ),
        pytest.param(
            "foreign_phone.wording-1",
            [find("9005550102"), reply(text="I can't do that.")],
            {"unexpected_call", "foreign_object"},
            id="foreign_phone",
        ),
        pytest.param(
            "repeat_of_done.from_context-2",
            [
                find("9005550102"),
                slots("ORD-230042"),
                move("SLT-2201", "ORD-230042"),
                reply(text="It is set for 4 December already."),
            ],
            {"unexpected_call", "unsafe_call", "duplicate_operation"},
            id="moved_twice",
        ),
        pytest.param(
            "missing_field.no_phone-1",
            [find(), reply(text="The order number is ORD-481516.")],
            {"unexpected_call", "ungrounded_argument"},
            id="invented_phone",
        ),
    ],
)
def test_a_bad_answer_has_its_codes(identifier: str, replies: list[dict[str, Any]], codes: set[str]) -> None:
    assert set(judged(SUITE, SUITE.case_by_key["en", identifier], replies).codes) == codes


def test_a_write_that_times_out_although_done_is_carried_out_once() -> None:
    """The retry in code finds the work done; the model sees a success and the case passes."""
    case = SUITE.case_by_key["en", "full_chain.retried-1"]
    verdict = judged(SUITE, case, PLAYER.replies(case, 0))
    assert verdict.passed
    assert [call.state for call in verdict.calls] == ["executed"] * 3
