"""A rate service for the lesson: the public one's addresses, answered from a frozen table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from threading import Lock
from typing import Any

import httpx

from toolbench.running import frozen_rates

FAILURE = 500
"""Status of a service that is down."""
SECONDS = "timeout"
_PATCHING = Lock()


@dataclass
class RatesService:
    """What a student's function asks, and what it is answered.

    Attributes
    ----------
    down
        Whether every request is answered with an error.
    asked
        Every request so far.
    """

    down: bool = False
    asked: list[httpx.Request] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Return the answer to one request, in the shape of the address that was asked."""
        self.asked.append(request)
        if self.down:
            return httpx.Response(FAILURE, json={"message": "internal error"}, request=request)
        base, quotes = _pair(request.url)
        table = frozen_rates()["per_euro"]
        if base not in table or any(quote not in table for quote in quotes):
            return httpx.Response(422, json={"status": 422, "message": "invalid currency"}, request=request)
        return httpx.Response(200, json=_body(request.url, base, quotes or list(table)), request=request)

    def timeouts(self) -> list[float | None]:
        """Return the read timeout in seconds of every request; ``None`` waits for ever."""
        return [request.extensions.get(SECONDS, {}).get("read") for request in self.asked]


def rate(base: str, quote: str) -> float:
    """Return the frozen rate, four digits behind the point."""
    table = frozen_rates()["per_euro"]
    return float(round(Fraction(str(table[quote])) / Fraction(str(table[base])), 4))


@contextmanager
def offline(service: RatesService) -> Iterator[RatesService]:
    """Have every synchronous httpx request answered by the service while this is open."""

    def handled(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        return service.answer(request)

    with _PATCHING:
        original: Any = httpx.HTTPTransport.handle_request
        setattr(httpx.HTTPTransport, "handle_request", handled)  # noqa: B010
        try:
            yield service
        finally:
            setattr(httpx.HTTPTransport, "handle_request", original)  # noqa: B010


def _pair(url: httpx.URL) -> tuple[str, list[str]]:
    """Return base and quotes of ``?base=&symbols=``, ``?from=&to=``, ``/rate/USD/EUR`` or ``/latest/USD``."""
    parts, query = url.path.strip("/").split("/"), url.params
    if "rate" in parts and len(parts) >= parts.index("rate") + 3:
        base, quote = parts[parts.index("rate") + 1 :][:2]
        return base.upper(), [quote.upper()]
    last = parts[-1].upper()
    base = query.get("base") or query.get("from") or (last if len(last) == 3 else "EUR")
    quotes = query.get("symbols") or query.get("quotes") or query.get("to") or ""
    return base.upper(), [quote.upper() for quote in quotes.split(",") if quote]


def _body(url: httpx.URL, base: str, quotes: list[str]) -> Any:
    date = frozen_rates()["date"]
    if "/rate/" in url.path:
        return {"date": date, "base": base, "quote": quotes[0], "rate": rate(base, quotes[0])}
    rows = {quote: rate(base, quote) for quote in quotes if quote != base}
    if url.path.startswith("/v2"):
        return [{"date": date, "base": base, "quote": quote, "rate": value} for quote, value in rows.items()]
    return {"amount": 1.0, "base": base, "date": date, "rates": rows}
