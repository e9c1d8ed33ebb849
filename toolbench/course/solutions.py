"""One good answer to each exercise."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

ABSOLUTE_ZERO_C = -273.15


def convert_temperature(value: float, to: Literal["C", "F"]) -> dict[str, float | str]:
    """Convert a temperature between degrees Celsius and degrees Fahrenheit.

    Parameters
    ----------
    value
        Temperature in the other unit: Fahrenheit for to=C, Celsius for to=F.
    to
        Unit of the result.
    """
    celsius = value if to == "F" else (value - 32) * 5 / 9
    if celsius < ABSOLUTE_ZERO_C:
        raise ValueError(f"nothing is colder than {ABSOLUTE_ZERO_C} °C; check the value and its unit")
    converted = celsius * 9 / 5 + 32 if to == "F" else celsius
    return {"value": round(converted, 6), "unit": to}


DESCRIPTIONS: Mapping[str, Mapping[str, Any]] = {
    "ru": {
        "name": "get_exchange_rate",
        "description": (
            "Возвращает курс валют на дату: сколько единиц quote стоит одна единица base. "
            "Суммы не пересчитывает."
        ),
        "parameters": {
            "base": "Валюта, которую оценивают, код ISO 4217, например USD",
            "quote": "Валюта, в которой выражена цена, код ISO 4217, например EUR",
        },
    },
    "en": {
        "name": "get_exchange_rate",
        "description": (
            "Returns the exchange rate on a date: how many units of quote one unit of base costs. "
            "Converts no amounts."
        ),
        "parameters": {
            "base": "Currency to be priced, ISO 4217 code, for example USD",
            "quote": "Currency of the price, ISO 4217 code, for example EUR",
        },
    },
}


def run_loop(
    ask: Callable[[list[dict[str, Any]]], dict[str, Any]],
    tools: Mapping[str, Callable[..., Any]],
    messages: list[dict[str, Any]],
    limit: int = 5,
) -> str | None:
    """Ask, execute what is proposed, ask again; give up after ``limit`` iterations with tools."""
    for iteration in range(limit + 1):
        message = ask(messages)
        messages.append(message)
        calls = message.get("tool_calls")
        if not calls:
            return str(message["content"])
        if iteration == limit:
            break
        for call in calls:
            content = execute(tools, call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return None


def execute(tools: Mapping[str, Callable[..., Any]], name: str, arguments: str) -> str:
    """Return a result, or an error, as the text that the model is told."""
    if name not in tools:
        return f"ERROR: there is no tool {name!r}; there are: {', '.join(tools)}"
    try:
        return json.dumps(tools[name](**json.loads(arguments)), ensure_ascii=False)
    except (TypeError, ValueError) as error:
        return f"ERROR: {error}"
