"""Whether a stated value is a given one: in another spelling, unit, rounding, or part of it."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, timedelta

from toolbench.judging.reading.statements import Value

ROUNDED_FROM = 100
"""Numbers from here on may be stated as whole numbers."""
_BASE = {
    "g": ("kg", 0.001), "t": ("kg", 1000.0), "hour": ("minute", 60.0), "day": ("minute", 1440.0),
    "week": ("minute", 10080.0), "second": ("minute", 1 / 60), "kopeck": ("RUB", 0.01), "cent": ("USD", 0.01),
}  # fmt: skip
"""Unit → the unit it is converted to, and the factor."""


def same(stated: Value, given: Value, known: Collection[date] = ()) -> bool:
    """Whether a stated value is a given one, in another spelling, rounding or part of it.

    ``known`` are the days from which "in two days" may be counted. Money and
    quantities are compared in a common unit where there is one; a bare number may be an hour.
    """
    if stated.kind in ("identifier", "contact", "name") or given.kind in ("identifier", "contact", "name"):
        return _same_text(stated, given)
    if stated.kind == "date" or given.kind == "date":
        return _same_date(stated, given, known)
    if stated.kind == "weekday" or given.kind == "weekday":
        return stated.kind == given.kind and stated.text == given.text
    if stated.low is None or given.low is None:
        return False
    if "time" in (stated.kind, given.kind):
        return _same_time(stated, given)
    if converted(stated, given):
        return True
    low = _near(stated.low, given.low, stated.decimals)
    high = _near(stated.high, given.high, stated.decimals)
    if stated.low == stated.high:
        return low or high
    return low and high


def _same_text(stated: Value, given: Value) -> bool:
    if stated.text == given.text:
        return True
    digits = re.sub(r"\D", "", stated.text)
    return (
        "contact" in (stated.kind, given.kind)
        and len(digits) >= 7
        and digits == re.sub(r"\D", "", given.text)
    )


def _near(value: float | None, other: float | None, decimals: int) -> bool:
    if value is None or other is None:
        return False
    error = 0.5 * 10**-decimals + 1e-9
    return value == other or (abs(value - other) <= error and (decimals > 0 or abs(other) >= ROUNDED_FROM))


def converted(stated: Value, given: Value) -> bool:
    """Whether two quantities are the same in their common unit: 2500 g is 2.5 kg."""
    one = _BASE.get(stated.unit or "", (stated.unit, 1.0))
    if given.unit is None and stated.unit not in _BASE:
        return False
    # A bare number is in the common unit: "50 kopecks" for 0.5.
    other = _BASE.get(given.unit or "", (given.unit or one[0], 1.0))
    if one[0] is None or one[0] != other[0] or stated.unit == given.unit:
        return False
    return abs((stated.low or 0) * one[1] - (given.low or 0) * other[1]) < 1e-9


def _same_time(stated: Value, given: Value) -> bool:
    minutes, clock = (stated, given) if given.kind == "time" else (given, stated)
    if minutes.kind == "time":
        return minutes.low == clock.low or (minutes.low or 0) % 1440 == (clock.low or 0) % 1440
    # A bare number may be an hour ("from 10 to 12"), or hour and minutes with a dot.
    hours = {minutes.low, minutes.high}
    dotted = (
        {int(one or 0) * 60 + round((one or 0) % 1 * 100) for one in hours}
        if minutes.decimals == 2
        else set()
    )
    return minutes.unit is None and (clock.low in {(one or 0) * 60 for one in hours} or clock.low in dotted)


def _same_date(stated: Value, given: Value, known: Collection[date]) -> bool:
    if stated.kind == "weekday" and given.kind == "date":
        return given.text[0].isdigit() and date.fromisoformat(given.text).isoweekday() == int(stated.text)
    if stated.kind == "number" and stated.decimals == 2 and given.kind == "date":
        day, month = (int(part) for part in re.findall(r"\d+", stated.spelled)[:2])
        return given.text.endswith(f"-{month:02d}-{day:02d}")
    if given.kind == "number" and given.decimals == 2:
        return _same_date(given, stated, known)
    if stated.kind != "date" or given.kind != "date":
        return False
    if stated.text[0] in "+-" and stated.text[1] != "-":
        if stated.text == given.text:
            return True
        shift = timedelta(days=int(stated.text))
        days = [day + shift for day in known]
        return any(day.isoformat().endswith(given.text.lstrip("-")) for day in days)
    if stated.text.startswith("---"):
        return stated.text[-3:] == given.text[-3:]
    if stated.text[0] == "-" or given.text[0] == "-":
        return stated.text[-5:] == given.text[-5:]
    return given.text in (stated.text, f"{stated.text[:4]}-{stated.text[8:]}-{stated.text[5:7]}")
