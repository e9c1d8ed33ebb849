"""From an HTTP reply that is no answer to a :class:`TransportError`: one table for all providers."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import JSON, loads_strict, too_deep
from toolbench.errors import TransportError

LONGEST_ERROR = 100_000
"""Characters of an error body that are read."""
_MESSAGE_LIMIT = 300


@cache
def _table(name: str) -> list[Mapping[str, Any]]:
    text = resources.files("toolbench.adapters").joinpath("faults.json").read_text("utf-8")
    table: list[Mapping[str, Any]] = loads_strict(text)[name]
    return table


def classify(status: int, headers: Mapping[str, str], body: str) -> TransportError:
    """Return what a non-2xx reply means.

    ``x-should-retry`` overrides the table, as the vendors' own clients do.
    """
    body = body[:LONGEST_ERROR]
    for row in _table("faults"):
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
    if too_deep(value):
        return TransportError("too_deep", "the reply is nested too deeply to be read", 200)
    if value.get("error"):
        return reply_error("error_in_reply", value["error"])
    for row in _table("reply_faults"):
        for holder in _holders(value, row["in"]):
            said = holder.get(row["key"])
            if any(type(said) is type(word) and said == word for word in row["values"]):
                detail = holder.get("error") or f"{row['key']} {said}"
                return reply_error(row["code"], detail)
    return None


def reply_error(code: str, error: JSON) -> TransportError:
    """Return the error that a server reports after status 200, in a body or in the middle of a stream.

    It is worth another try unless its text says that the request itself is at fault.
    """
    text = error if isinstance(error, str) else json.dumps(error)
    final = any(re.search(row["text"], text, re.IGNORECASE) for row in _table("final_reply_errors"))
    return TransportError(code, error_text(text), 200, retryable=not final)


def _holders(value: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """Return the body itself (``where`` is empty), or the objects in one of its lists."""
    if not where:
        return [value]
    inner = value.get(where)
    return [item for item in inner if isinstance(item, dict)] if isinstance(inner, list) else []


def error_text(body: str) -> str:
    """Return the message inside an error body of any provider's shape, as one short line."""
    try:
        value = loads_strict(body)
        if too_deep(value):
            value = body
    except ValueError:
        # Proxies answer with HTML pages; the markup helps nobody.
        return _one_line(re.sub(r"<[^<>]*>", " ", body)) or "(empty body)"
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
    seconds = _seconds(headers, body)
    # A wait of 400 digits is no number anybody can wait for, nor one that JSON can hold.
    return seconds if seconds is not None and math.isfinite(seconds) else None


def _seconds(headers: Mapping[str, str], body: str) -> float | None:
    milliseconds = headers.get("retry-after-ms", "")
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return float(value)
    if value:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, TypeError, OverflowError):
            return None
    in_body = re.search(r'"retryDelay"\s*:\s*"([0-9]+(?:\.[0-9]+)?)s"', body)
    return float(in_body.group(1)) if in_body else None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MESSAGE_LIMIT else line[: _MESSAGE_LIMIT - 3] + "..."
