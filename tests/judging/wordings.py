"""What a faultless player of each shipped suite says where the tool's result alone does not settle it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.judging.told import Told
from toolbench.domain.case import Case


def _course_topic(case: Case, told: Told) -> str | None:
    return "weekday" if told.tool == "get_time" and ".weekday-" in case.id else None


def _course_details(case: Case, told: Told | None) -> Mapping[str, Any]:
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


REFUND_STATES = {
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


def _refund_topic(case: Case, told: Told) -> str | None:
    if told.tool != "check_eligibility" or told.result.is_error:
        return None
    if not told.result.value["eligible"]:
        return "check_eligibility.ineligible"
    return "check_eligibility.above_limit" if told.result.value["refundable"] > 50000 else None


def _refund_details(case: Case, told: Told | None) -> Mapping[str, Any]:
    """States and amounts as people write them."""
    value = (told.result.value if told else None) or {}
    amount = value.get("amount", value.get("refundable", 0))
    grouped = f"{amount:,}"
    return {
        "state": REFUND_STATES[case.lang].get(value.get("status", ""), ""),
        "comma": str(amount).replace(".", ","),
        "grouped": grouped,
        "spaced": grouped.replace(",", " ").replace(".", ","),
    }


def _reschedule_topic(case: Case, told: Told) -> str | None:
    if told.tool == "find_order" and len(told.result.value["orders"]) > 1:
        return "find_order.several"
    none_fits = case.klass == "no_matching_slot" or ".not_free-" in case.id
    return "get_delivery_slots.none_fits" if none_fits and told.tool[:3] == "get" else None


def _reschedule_details(case: Case, told: Told | None) -> Mapping[str, Any]:
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


TICKETS_STATES = {"ru": {"open": "открыто", "closed": "закрыто"}, "en": {"open": "open", "closed": "closed"}}


def _tickets_topic(case: Case, told: Told) -> str | None:
    if case.klass == "timed_out_but_done":
        return "find_support_tickets.done"
    several = told.tool == "find_customer" and len((told.result.value or {}).get("customers", ())) > 1
    return "find_customer.several" if several else None


def _tickets_details(case: Case, told: Told | None) -> dict[str, Any]:
    """What a case's context says, and the words for a ticket's state."""
    tickets = ((told.result.value or {}).get("tickets") if told else None) or [{}]
    last = case.context.get("customer", {}).get("last_ticket", {})
    [known] = case.context.get("registered_tickets", [last])
    return {
        "state": TICKETS_STATES[case.lang].get(tickets[0].get("status"), ""),
        "ticket": known.get("ticket_id"),
    }


TOPICS: Mapping[str, Callable[[Case, Told], str | None]] = {
    "course": _course_topic,
    "refund": _refund_topic,
    "reschedule": _reschedule_topic,
    "tickets": _tickets_topic,
}
"""Suite → another topic than the outcome's own."""
DETAILS: Mapping[str, Callable[[Case, Told | None], Mapping[str, Any]]] = {
    "course": _course_details,
    "refund": _refund_details,
    "reschedule": _reschedule_details,
    "tickets": _tickets_details,
}
"""Suite → further fields for the sentences; ``None`` where nothing was called."""
