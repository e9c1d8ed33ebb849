"""The three tools of the course suite, carried out for real: arithmetic, time, exchange rates.

An executor script names one by ``{"implementation": "calculate"}``. Time and rates are frozen unless asked
otherwise, so that a case has one right answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any
from zoneinfo import ZoneInfo

import httpx

from toolbench.domain.calculator import ExpressionError
from toolbench.domain.calculator import calculate as calculated
from toolbench.domain.canonical import JSON, loads_strict
from toolbench.domain.tool_script import ToolError

RATES_URL = "https://open.er-api.com/v6/latest/{base}"
"""A public service that needs no key."""
RATES_TIMEOUT_SECONDS = 10.0
RATE_DECIMALS = 4

Texts = Mapping[str, str]


@dataclass
class CourseToolError(ValueError):
    """A course tool could not answer.

    Attributes
    ----------
    code
        Stable machine word.
    message, hint
        What went wrong, and an example of how it goes right, by language.
    status
        As an HTTP service would say it.
    """

    code: str
    message: Texts
    hint: Texts
    status: int = 400

    def __str__(self) -> str:
        return f"{self.message['en']} {self.hint['en']}"

    def as_tool_error(self) -> ToolError:
        """Return the error as a script would say it."""
        return ToolError(
            code=self.code,
            permanent=self.status < 500,
            status=self.status,
            message=self.message,
            hint=self.hint,
        )


def calculate(expression: str) -> dict[str, JSON]:
    """Return ``{expression, result}``; see :func:`toolbench.domain.calculator.calculate`."""
    try:
        return {"expression": expression, "result": calculated(expression)}
    except ExpressionError as fault:
        raise CourseToolError(
            "BAD_EXPRESSION",
            {
                "ru": f"Это выражение нельзя вычислить: {fault.reason['ru']}.",
                "en": f"This expression cannot be calculated: {fault.reason['en']}.",
            },
            {
                "ru": "Нужны только числа, скобки и знаки + - * / **, например 240 * 15 / 100.",
                "en": "Use only numbers, brackets and + - * / **, for example 240 * 15 / 100.",
            },
        ) from None


def get_time(timezone: str, now: datetime | None = None) -> dict[str, JSON]:
    """Return ``{timezone, iso, weekday}`` in an IANA time zone.

    Parameters
    ----------
    timezone
        For example ``Asia/Tokyo``.
    now
        The moment, with its own zone; the present one by default.
    """
    try:
        zone = ZoneInfo(timezone)
    except (OSError, ValueError, KeyError):
        raise CourseToolError(
            "UNKNOWN_TIMEZONE",
            {"ru": "Такого часового пояса нет.", "en": "There is no such time zone."},
            {
                "ru": "Нужно название IANA вида Область/Город, например Asia/Tokyo.",
                "en": "Use an IANA name, Area/City, for example Asia/Tokyo.",
            },
        ) from None
    local = (now or datetime.now(UTC)).astimezone(zone)
    return {
        "timezone": timezone,
        "iso": local.isoformat(timespec="seconds"),
        "weekday": _DAYS[local.weekday()],
    }


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def get_exchange_rate(
    base: str, quote: str, live: bool = False, client: httpx.Client | None = None
) -> dict[str, JSON]:
    """Return ``{base, quote, rate, date}``: what one unit of ``base`` costs in ``quote``.

    Parameters
    ----------
    base, quote
        ISO 4217 codes; only those of the frozen table are allowed, also when rates are live.
    live
        Ask the public service instead of the frozen table.
    client
        For tests; by default a new one with a timeout of 10 s.
    """
    table = frozen_rates()
    known = ", ".join(table["per_euro"])
    for code in (base, quote):
        if code not in table["per_euro"]:
            raise CourseToolError(
                "UNKNOWN_CURRENCY",
                {"ru": "Такой валюты в таблице нет.", "en": "There is no such currency in the table."},
                {
                    "ru": f"Нужен код ISO 4217 из списка: {known}. Например: USD.",
                    "en": f"Use an ISO 4217 code from this list: {known}. Example: USD.",
                },
            )
    if live:
        return {"base": base, "quote": quote, **_live_rate(base, quote, client)}
    price, unit = (Fraction(str(table["per_euro"][code])) for code in (quote, base))
    rate = round(price / unit, RATE_DECIMALS)
    whole = rate.denominator == 1
    return {"base": base, "quote": quote, "rate": int(rate) if whole else float(rate), "date": table["date"]}


@cache
def frozen_rates() -> Mapping[str, Any]:
    """Return the frozen table: ``date``, and ``per_euro`` by currency."""
    text = resources.files("toolbench.running").joinpath("rates.json").read_text("utf-8")
    table: Mapping[str, Any] = loads_strict(text)
    return table


def _live_rate(base: str, quote: str, client: httpx.Client | None) -> dict[str, JSON]:
    ask = client.get if client else httpx.get
    try:
        response = ask(RATES_URL.format(base=base), timeout=RATES_TIMEOUT_SECONDS)
        response.raise_for_status()
        body = response.json()
        day = parsedate_to_datetime(body["time_last_update_utc"]).date().isoformat()
        return {"rate": float(body["rates"][quote]), "date": day}
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        # Whatever was wrong with the service, the model is told the same; its text may hold anything.
        raise CourseToolError(
            "RATES_UNAVAILABLE",
            {"ru": "Сервис курсов валют не отвечает.", "en": "The exchange rate service does not answer."},
            {"ru": "Предложи попробовать позже.", "en": "Offer to try again later."},
            status=503,
        ) from None


@dataclass(frozen=True)
class Surroundings:
    """What a real tool depends on beside its arguments."""

    now: datetime | None = None
    live: bool = False


@dataclass(frozen=True)
class RealTool:
    """A tool that an executor script can have carried out.

    ``needs`` are the arguments it reads, ``codes`` the errors it can end with.
    """

    needs: tuple[str, ...]
    codes: tuple[str, ...]
    run: Callable[[Mapping[str, Any], Surroundings], dict[str, JSON]]


IMPLEMENTATIONS: Mapping[str, RealTool] = {
    "calculate": RealTool(
        ("expression",), ("BAD_EXPRESSION",), lambda given, around: calculate(given["expression"])
    ),
    "get_time": RealTool(
        ("timezone",), ("UNKNOWN_TIMEZONE",), lambda given, around: get_time(given["timezone"], around.now)
    ),
    "get_exchange_rate": RealTool(
        ("base", "quote"),
        ("UNKNOWN_CURRENCY", "RATES_UNAVAILABLE"),
        lambda given, around: get_exchange_rate(given["base"], given["quote"], around.live),
    ),
}
"""Name in an executor script → tool; it is called with arguments that fit the contract."""
