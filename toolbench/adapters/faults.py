"""From an error of a server to what it means: one table for all providers (``faults.json``).

An error is first taken apart into its machine fields and its own words; what it echoes of the request is
never looked at.
"""

from __future__ import annotations

import email.utils
import itertools
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal

from toolbench.adapters.shapes import text_of
from toolbench.domain.canonical import JSON, loads_strict, too_deep
from toolbench.errors import TransportError

LONGEST_ERROR = 100_000
"""Characters of an error body that are read."""
_MESSAGE_LIMIT = 300
_MOST_TEXTS, _LONGEST_TEXT, _MOST_CLAUSES, _LONGEST_CLAUSE = 12, 4000, 40, 300

_CODES = ("code", "type", "status", "reason", "error_code", "errorCode", "__type", "status_code", "http_code")
_PARAMS = ("param", "parameter")
_QUOTAS = ("quotaId", "quota_id", "quotaMetric")
_WORDS = (
    "message",
    "msg",
    "error_msg",
    "errorMessage",
    "error_message",
    "status_msg",
    "title",
    "detail",
    "error",
)
_INSIDE = (
    *("error", "errors", "detail", "details", "metadata", "violations", "base_resp", "response"),
    *("raw", "cause", "innererror", "inner_error", "message", "body_error", "failure"),
)
_GENERATED = ("failed_generation", "failed_tool_call", "raw_output", "generated_text")
# Where a clause of a message may begin: at its start, or behind punctuation.
_CLAUSE = re.compile(r"(?:^|[:.;]\s+|[)\]>\[]\s*|\s-\s)[\s\"'`*]*")


@dataclass
class ErrorReport:
    """An error taken apart.

    Attributes
    ----------
    status
        The HTTP status, or under 200 the one that the body names; 0 when it names none.
    codes, params, quotas
        Machine fields, in lower case, from every layer that routers put around an error.
    texts
        The messages in the error's own words, innermost last.
    whole
        The same with what they quote.
    wait
        Seconds that the server asks to wait.
    generated
        What the model had written, where a server hands back output that it could not parse.
    """

    status: int
    codes: set[str] = field(default_factory=set)
    params: set[str] = field(default_factory=set)
    quotas: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    wait: float | None = None
    generated: str = ""

    def add(self, value: JSON, depth: int = 0) -> None:
        """Take in one layer of an error and all layers inside it."""
        if depth > 8:
            return
        if isinstance(value, list):
            for item in value:
                self.add(item, depth + 1)
        elif isinstance(value, str):
            self._add_text(value, depth)
        elif isinstance(value, Mapping):
            self._add_fields(value)
            for key in _WORDS:
                if isinstance(value.get(key), str):
                    self._add_text(value[key], depth)
            for key in _INSIDE:
                inner = value.get(key)
                if isinstance(inner, Mapping | list) or (key == "raw" and isinstance(inner, str)):
                    self.add(inner, depth + 1)

    def _add_fields(self, value: Mapping[str, Any]) -> None:
        codes = [value[key] for key in _CODES if isinstance(value.get(key), str | int)]
        self.codes |= {str(code).lower().rpartition("#")[2] for code in codes if not isinstance(code, bool)}
        numbers = [int(str(code)) for code in codes if re.fullmatch(r"[345][0-9]{2}", str(code))]
        self.status = self.status or (numbers[0] if numbers else 0)
        self.params |= {value[key].lower() for key in _PARAMS if isinstance(value.get(key), str)}
        if isinstance(value.get("loc"), list):
            self.params.add(".".join(map(str, value["loc"])).lower())
        self.quotas |= {value[key].lower() for key in _QUOTAS if isinstance(value.get(key), str)}
        delay = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)s", text_of(value.get("retryDelay")))
        self.wait = float(delay.group(1)) if delay else self.wait
        self.generated = next((value[k] for k in _GENERATED if isinstance(value.get(k), str)), self.generated)

    def _add_text(self, text: str, depth: int) -> None:
        """Take in a message; an error that a router has put into it as JSON is a layer of its own."""
        whole, start = text, text.find("{")
        inner: JSON = None
        if start != -1:
            try:
                inner = json.JSONDecoder().raw_decode(text, start)[0]
            except (ValueError, RecursionError):
                inner = None
        if isinstance(inner, Mapping) and not too_deep(inner):
            if {"error", "message", "msg", "detail"} & set(inner):
                self.add(inner, depth + 1)
                whole = text[:start]
            text = text[:start]
        if text.strip():
            self.texts.append(" ".join(text.split()))
            self.whole.append(whole.strip())

    @cached_property
    def clauses(self) -> list[str]:
        """The messages from each place on where a clause begins, in lower case and cut to what can matter."""
        found = []
        for text in self.texts[:_MOST_TEXTS]:
            lowered = text[:_LONGEST_TEXT].lower()
            starts = itertools.islice(_CLAUSE.finditer(lowered), _MOST_CLAUSES)
            found += [lowered[start.end() :][:_LONGEST_CLAUSE] for start in starts]
        return found


@dataclass(frozen=True)
class Row:
    """One row of the table. Fields as in ``faults.json``."""

    id: str
    code: str
    outcome: str
    source: str
    date: str
    status: Sequence[int] = ()
    codes: Sequence[str] = ()
    param: str = ""
    quota: str = ""
    words: Sequence[str] = ()
    unless_wait: bool = False
    """Whether the row gives way to a server that says when to come back."""

    @property
    def only_status(self) -> bool:
        """Whether nothing but the status decides."""
        return not (self.codes or self.param or self.quota or self.words)

    def _says(self, report: ErrorReport) -> bool:
        pattern = _pattern("|".join(f"(?:{words})" for words in self.words))
        return any(pattern.match(clause) for clause in report.clauses)

    def matches(self, report: ErrorReport) -> bool:
        """Whether an error has everything that the row names."""
        if self.unless_wait and report.wait is not None:
            return False
        if self.status and not (report.status == 0 and not self.only_status):
            low, high = self.status
            if not low <= report.status <= high:
                return False
        return (
            (not self.codes or not report.codes.isdisjoint(self.codes))
            and (not self.param or any(re.fullmatch(self.param, param) for param in report.params))
            and (not self.quota or any(re.search(self.quota, quota) for quota in report.quotas))
            and (not self.words or self._says(report))
        )


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words)


@cache
def rows() -> tuple[Row, ...]:
    """Return the table in order."""
    text = resources.files("toolbench.adapters").joinpath("faults.json").read_text("utf-8")
    entries: list[dict[str, Any]] = loads_strict(text)["faults"]
    return tuple(Row(**entry) for entry in entries)


def row_of(report: ErrorReport) -> Row | None:
    """Return the first row that an error matches."""
    return next((row for row in rows() if row.matches(report)), None)


def classify(status: int, headers: Mapping[str, str], body: str) -> TransportError:
    """Return what a reply with another status than 2xx means.

    ``x-should-retry`` overrides the table, as the vendors' own clients do.
    """
    body = body[:LONGEST_ERROR]
    report = ErrorReport(status)
    report.add(_json(body))
    report.wait = retry_after(headers, report)
    row = row_of(report)
    fault = _fault(row, report, "unexpected_status", f"HTTP {status}: {error_text(body)}")
    fault.status = status
    fault.retry_after = report.wait
    told = {"true": True, "false": False}.get(headers.get("x-should-retry", ""))
    if told is not None and row is not None and row.outcome in ("retry", "final"):
        fault.retryable = told
    return fault


def in_reply(body: Mapping[str, Any], code: str = "error_in_reply") -> TransportError:
    """Return what a body under status 200 means that is no reply, or an error in the middle of a stream.

    Another try may heal it unless the error says that the request itself is at fault; ``code`` is for an
    error that says no more than that something failed.
    """
    report = ErrorReport(0)
    report.add(body)
    text = error_text(json.dumps(body, ensure_ascii=False)) if body else "an empty object"
    if not body.get("error") and code == "error_in_reply":
        code, text = "no_reply", f"no reply of this protocol: {text}"
    report.wait = retry_after({}, report)
    fault = _fault(row_of(report), report, code, text)
    fault.status = 200
    fault.retry_after = report.wait
    return fault


_DECIDES: Mapping[str, Literal["", "invalid", "refusal"]] = {"invalid": "invalid", "refusal": "refusal"}


def _fault(row: Row | None, report: ErrorReport, code: str, message: str) -> TransportError:
    """Return the error of a row; without one, or with a server's general failure under 200, another try."""
    if row is None:
        return TransportError(code, message, retryable=code != "unexpected_status")
    decides: Literal["", "invalid", "refusal"] = _DECIDES.get(row.outcome, "")
    general = row.only_status and row.code == "server_error" and code != "unexpected_status"
    return TransportError(
        code=code if general else row.code,
        message=message,
        retryable=row.outcome == "retry",
        unsupported=row.outcome == "unsupported",
        decides=decides,
        generated=(report.generated or report.whole[-1]) if decides and report.whole else "",
    )


def error_text(body: str) -> str:
    """Return the message inside an error body of any provider's shape, as one short line."""
    value = _json(body)
    if isinstance(value, str):
        # Proxies answer with HTML pages; the markup helps nobody.
        return _one_line(re.sub(r"<[^<>]*>", " ", value)) or "(empty body)"
    if isinstance(value, list) and value:
        value = value[0]
    for key in ("error", "message", "msg", "detail", "base_resp", "status_msg"):
        if isinstance(value, dict) and value.get(key):
            value = value[key]
            if isinstance(value, dict) and key != "base_resp":
                value = value.get("message") or value
    return _one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def retry_after(headers: Mapping[str, str], report: ErrorReport) -> float | None:
    """Return the seconds a server asks to wait: by header, by field of the body, or in its message."""
    seconds = _seconds(headers, report)
    # A wait of 400 digits is no number anybody can wait for, nor one that JSON can hold.
    return seconds if seconds is not None and math.isfinite(seconds) else None


def _seconds(headers: Mapping[str, str], report: ErrorReport) -> float | None:
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
    if report.wait is not None:
        return report.wait
    return next(filter(None, map(_told_wait, report.texts)), None)


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def _told_wait(text: str) -> float | None:
    """Return the seconds behind "try again in 1m2.5s" or "retry after 26 seconds"."""
    found = re.search(
        r"(?:try again|retry)(?: in| after) ((?:[0-9.]+ ?(?:ms|h|m(?!s)|s)[a-z]*,? ?)+)", text, re.IGNORECASE
    )
    if not found:
        return None
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?) ?(ms|h|m|s)", found.group(1).lower())
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else None


def _json(body: str) -> JSON:
    try:
        value: JSON = loads_strict(body)
    except ValueError:
        return body
    return body if too_deep(value) else value


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MESSAGE_LIMIT else line[: _MESSAGE_LIMIT - 3] + "..."
