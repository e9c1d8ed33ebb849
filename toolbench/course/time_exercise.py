"""Exercise: the time in a zone on ``zoneinfo``, with an example in every refusal."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from toolbench.course.problems import Problem, attempted, problem, refusal, writable

ZONES = ("Asia/Tokyo", "America/New_York")
KEYS = ("timezone", "iso", "weekday")
UNKNOWN = ("Tokyo", "../../etc/passwd")
"""``zoneinfo`` refuses them in two ways: a KeyError for the one, a ValueError for the other."""
EXAMPLE = re.compile(r"\b[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+")
TOLERANCE = timedelta(minutes=2)
DAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "ru": ("понедельник", "вторник", "среда", "четверг", "пятница", "суббота", "воскресенье"),
}


def check_time(answer: object) -> list[Problem]:
    """Return the first thing that is wrong with a student's ``get_time``."""
    if not callable(answer):
        return [problem("time.not_a_function", found=type(answer).__name__)]
    for zone in ZONES:
        if found := _answered(answer, zone):
            return [found]
    for zone in UNKNOWN:
        if found := _refused(answer, zone):
            return [found]
    return []


def _answered(fn: Callable[..., Any], zone: str) -> Problem | None:
    result, error = attempted(lambda: fn(timezone=zone))
    call = f"get_time('{zone}')"
    if error is not None:
        return problem("time.raised", call=call, error=f"{type(error).__name__}: {error}")
    if result is None:
        return problem("time.not_started")
    if not isinstance(result, dict):
        return problem("time.not_an_object", call=call, found=result)
    if missing := [key for key in KEYS if key not in result]:
        return problem("time.shape", call=call, missing=", ".join(missing))
    if not writable(result):
        return problem("time.not_json", call=call, found=result)
    told, error = attempted(lambda: datetime.fromisoformat(str(result["iso"])))
    if error is not None:
        return problem("time.not_iso", call=call, found=result["iso"])
    if told.tzinfo is None:
        return problem("time.naive", call=call, found=result["iso"])
    return _right(call, zone, told, result["weekday"])


def _right(call: str, zone: str, told: datetime, weekday: object) -> Problem | None:
    now = datetime.now(UTC)
    if abs(told - now) > TOLERANCE:
        return problem("time.wrong", call=call, found=told.isoformat())
    if told.utcoffset() != now.astimezone(ZoneInfo(zone)).utcoffset():
        return problem("time.other_zone", call=call, found=told.isoformat())
    wanted = DAYS["en"][told.weekday()]
    if not any(str(weekday).casefold() in map(str.casefold, days) for days in DAYS.values()):
        return problem("time.not_a_day", call=call, found=weekday, wanted=wanted)
    names = [days[told.weekday()].casefold() for days in DAYS.values()]
    if str(weekday).casefold() not in names:
        return problem("time.weekday", call=call, found=weekday, wanted=wanted)
    return None


def _refused(fn: Callable[..., Any], zone: str) -> Problem | None:
    call = f"get_time('{zone}')"
    said, result = refusal(lambda: fn(timezone=zone))
    if said is None:
        return problem("time.no_refusal", call=call, found=result)
    if not EXAMPLE.search(said):
        return problem("time.no_example" if zone == UNKNOWN[0] else "time.path", call=call, found=said)
    return None
