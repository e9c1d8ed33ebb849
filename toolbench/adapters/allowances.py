"""What a reply's headers say of the requests that are left before a rate limit says no."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources

from toolbench.domain.canonical import loads_strict

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.ASCII)
_LENGTH = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONG_AGO = 1_000_000_000
"""A bare number from here on is a date (seconds, or milliseconds, since 1970), below it seconds to wait."""


@dataclass(frozen=True)
class Allowance:
    """``left`` requests may still be sent in the next ``seconds``."""

    left: int
    seconds: float


def allowance(headers: Mapping[str, str]) -> Allowance | None:
    """Return what is left of a rate limit, or ``None`` when the headers do not say both things."""
    for remaining, reset in _names():
        left, when = headers.get(remaining, "").strip(), headers.get(reset, "").strip()
        seconds = _seconds(when)
        if left.isascii() and left.isdigit() and len(left) < 10 and seconds is not None:
            return Allowance(int(left), max(0.0, seconds))
    return None


@cache
def _names() -> tuple[tuple[str, str], ...]:
    """Return the names of the headers: of those with the requests left, and of those with when more come."""
    facts = loads_strict(resources.files("toolbench.adapters").joinpath("allowances.json").read_text("utf-8"))
    return tuple((entry["left"], entry["reset"]) for entry in facts["headers"])


def _seconds(text: str) -> float | None:
    """Return seconds from now: of ``6m0.5s``, a number, or a date."""
    if not text or len(text) > 40:
        return None
    if _LENGTH.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    try:
        number = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        return None if moment.tzinfo is None else moment.timestamp() - time.time()
    if not 0 <= number < float("inf"):
        return None
    return number if number < _LONG_AGO else number / (1000 if number > 1000 * _LONG_AGO else 1) - time.time()
