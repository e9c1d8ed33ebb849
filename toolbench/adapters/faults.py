"""From an HTTP reply that is no answer to a :class:`TransportError`: one table for all providers."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import JSON, loads_strict
from toolbench.errors import TransportError

_MESSAGE_LIMIT = 300


@cache
def _faults() -> list[Mapping[str, Any]]:
    text = resources.files("toolbench.adapters").joinpath("faults.json").read_text("utf-8")
    table: list[Mapping[str, Any]] = loads_strict(text)["faults"]
    return table


def classify(status: int, headers: Mapping[str, str], body: str) -> TransportError:
    """Return what a non-2xx reply means.

    ``x-should-retry`` overrides the table, as the vendors' own clients do.
    """
    for row in _faults():
        low, high = row["status"]
        if low <= status <= high and re.search(row.get("text", ""), body, re.IGNORECASE):
            break
    else:
        row = {"code": "unexpected_status", "retryable": False}
    retryable = {"true": True, "false": False}.get(headers.get("x-should-retry", ""), row["retryable"])
    return TransportError(
        code=row["code"],
        message=f"HTTP {status}: {error_text(body)}",
        status=status,
        retryable=retryable,
        retry_after=retry_after(headers, body),
        unsupported=bool(row.get("unsupported")),
    )


def body_fault(value: JSON) -> TransportError | None:
    """Return the error inside a reply with status 200, or ``None`` when it is an answer."""
    if not isinstance(value, dict):
        return TransportError("not_an_object", "the reply is JSON but not an object", 200, retryable=True)
    error = value.get("error")
    if not error:
        for choice in value.get("choices") or []:
            if isinstance(choice, dict) and choice.get("finish_reason") in (
                "error",
                "insufficient_system_resource",
            ):
                detail = choice.get("error") or choice["finish_reason"]
                return TransportError("error_in_reply", error_text(str(detail)), 200, retryable=True)
        return None
    return TransportError("error_in_reply", error_text(str(error)), 200, retryable=True)


def error_text(body: str) -> str:
    """Return the message inside an error body of any provider's shape, as one short line."""
    try:
        value = loads_strict(body)
    except ValueError:
        # Proxies answer with HTML pages; the markup helps nobody.
        return _one_line(re.sub(r"<[^>]*>", " ", body)) or "(empty body)"
    if isinstance(value, list) and value:
        value = value[0]
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(key):
            value = value[key]
            if isinstance(value, dict):
                value = value.get("message") or value
    return _one_line(str(value))


def retry_after(headers: Mapping[str, str], body: str) -> float | None:
    """Return the seconds a server asks to wait: milliseconds, seconds or date header, or Gemini's body."""
    milliseconds = headers.get("retry-after-ms", "")
    if re.fullmatch(r"[0-9.]+", milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return float(value)
    if value:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, TypeError):
            return None
    in_body = re.search(r'"retryDelay"\s*:\s*"([0-9.]+)s"', body)
    return float(in_body.group(1)) if in_body else None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MESSAGE_LIMIT else line[: _MESSAGE_LIMIT - 3] + "..."
