"""Exercise: an exchange rate over HTTP, with a timeout, allowed codes and a short result."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from toolbench.course.problems import SHORTEST_REFUSAL, Problem, attempted, problem, refusal, writable
from toolbench.course.rates_service import RatesService, offline, rate

BASE, QUOTE = "USD", "EUR"
KEYS = ("base", "quote", "rate", "date")
MOST_CHARACTERS = 200
LONGEST_TIMEOUT_SECONDS = 60
REFUSED = (("USD", "EURO"), ("usd", "EUR"), ("USD", "XXX"), ("DOLLAR", "EURO"))
"""In the last pair both are wrong: whatever right code its refusal names is an example."""
CODE = re.compile(r"\b[A-Z]{3}\b")
NO_CODES = frozenset({"ISO", "USE"})


def check_rate(answer: object) -> list[Problem]:
    """Return the first thing that is wrong with a student's ``get_exchange_rate``."""
    if not callable(answer):
        return [problem("rate.not_a_function", found=type(answer).__name__)]
    found = _answered(answer) or _refused(answer) or _down(answer)
    return [found] if found else []


def _answered(fn: Callable[..., Any]) -> Problem | None:
    with offline(RatesService()) as service:
        result, error = attempted(lambda: fn(base=BASE, quote=QUOTE))
    if error is not None:
        return problem("rate.raised", error=f"{type(error).__name__}: {error}")
    if result is None:
        return problem("rate.not_started")
    if not service.asked:
        return problem("rate.no_request", found=result)
    if None in service.timeouts():
        return problem("rate.no_timeout")
    if max(seconds or 0 for seconds in service.timeouts()) > LONGEST_TIMEOUT_SECONDS:
        return problem("rate.long_timeout", limit=LONGEST_TIMEOUT_SECONDS)
    return _shape(result)


def _shape(result: Any) -> Problem | None:
    if not isinstance(result, dict):
        return problem("rate.not_an_object", found=type(result).__name__)
    if "rates" in result or not writable(result) or len(str(result)) > MOST_CHARACTERS:
        return problem("rate.raw", found=result)
    if missing := [key for key in KEYS if key not in result]:
        return problem("rate.shape", missing=", ".join(missing))
    wanted = rate(BASE, QUOTE)
    if result["rate"] == wanted and (result["base"], result["quote"]) == (BASE, QUOTE):
        return None
    reverse = attempted(lambda: abs(float(result["rate"]) - rate(QUOTE, BASE)) < 0.01)[0]
    return problem("rate.reversed" if reverse else "rate.wrong", found=result, wanted=wanted)


def _refused(fn: Callable[..., Any]) -> Problem | None:
    for base, quote in REFUSED:
        call = f"get_exchange_rate('{base}', '{quote}')"
        with offline(RatesService()) as service:
            said, result = refusal(lambda base=base, quote=quote: fn(base=base, quote=quote))  # type: ignore[misc]
        if said is None:
            return problem("rate.no_refusal", call=call, found=result)
        if service.asked:
            return problem("rate.unchecked", call=call)
    if not set(CODE.findall(said or "")) - NO_CODES:
        return problem("rate.no_example", call=call, found=said)
    return None


def _down(fn: Callable[..., Any]) -> Problem | None:
    with offline(RatesService(down=True)):
        said, result = refusal(lambda: fn(base=BASE, quote=QUOTE))
    if said is None:
        return problem("rate.invented", found=result)
    if len(said) < SHORTEST_REFUSAL:
        return problem("rate.bare_failure", found=said)
    return None
