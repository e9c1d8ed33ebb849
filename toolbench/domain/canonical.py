"""Canonical JSON, hashes, and strict JSON reading.

Canonical JSON is one fixed spelling of a value (sorted keys, no blanks, no value changed), so that equal
contracts, prompts and arguments have equal hashes on every machine.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NoReturn

JSON = Any
"""Any value that JSON can express: dict, list, str, int, float, bool or None."""

DEEPEST = 100
"""Levels of nesting that are read. Deeper values break every recursive tool downstream, copying included."""


class StrictJSONError(ValueError):
    """A text is not one strict JSON value.

    Attributes
    ----------
    code
        ``invalid_json``, ``duplicate_key``, ``non_finite_number`` or ``trailing_text``.
    """

    def __init__(self, code: str, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.line = line


def _refuse_duplicates(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    result: dict[str, JSON] = {}
    for key, value in pairs:
        if key in result:
            raise StrictJSONError("duplicate_key", f"the key {key!r} occurs twice in one object")
        result[key] = value
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise StrictJSONError("non_finite_number", f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise StrictJSONError("non_finite_number", f"the number {text[:40]} is too large")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant, parse_float=_finite
)
_LAST_WINS = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_BLANK = re.compile(r"[ \t\r\n]*")


def loads_strict(text: str, *, last_wins: bool = False) -> JSON:
    """Read exactly one JSON value and refuse everything Python's reader lets pass.

    ``last_wins`` lets repeated keys pass: the last one counts, as in most readers.

    Raises
    ------
    StrictJSONError
        With the code of the fault: not JSON, a repeated key, NaN or an infinity, or text after the value.
    """
    stripped = text.strip(" \t\r\n")
    value, end = _read(stripped, 0, _LAST_WINS if last_wins else _DECODER)
    if end != len(stripped):
        rest = stripped[end:].lstrip()[:40]
        line = text.count("\n", 0, text.rfind(stripped[end:].lstrip())) + 1
        raise StrictJSONError("trailing_text", f"text after the JSON value: {rest!r}", line)
    return value


def loads_strict_each(text: str, *, last_wins: bool = False) -> list[JSON]:
    """Read strict JSON values that stand one after another, on lines of their own or not.

    ``last_wins`` lets repeated keys pass, as :func:`loads_strict` does.

    Raises
    ------
    StrictJSONError
        As :func:`loads_strict` does, for the first value that is not one.
    """
    decoder = _LAST_WINS if last_wins else _DECODER
    values: list[JSON] = []
    at = 0
    while (at := _BLANK.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        value, at = _read(text, at, decoder)
        values.append(value)
    return values


def _read(text: str, start: int, decoder: json.JSONDecoder = _DECODER) -> tuple[JSON, int]:
    """Return the value that begins at ``start``, and where it ends."""
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise StrictJSONError("invalid_json", f"{error.msg} at character {error.pos}", error.lineno) from None
    except StrictJSONError:
        raise
    except (RecursionError, ValueError) as error:
        # Thousands of brackets, or an integer longer than Python converts: readable by nobody downstream.
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
        raise StrictJSONError("invalid_json", reason) from None
    if too_deep(value):
        raise StrictJSONError("invalid_json", "nested too deeply")
    return value, end


_CONTAINERS = (dict, list)


def too_deep(value: JSON) -> bool:
    """Whether a value is nested deeper than :data:`DEEPEST` levels."""
    level: list[Any] = [value] if type(value) in _CONTAINERS else []
    for _ in range(DEEPEST + 1):
        if not level:
            return False
        level = [
            child
            for item in level
            for child in (item.values() if type(item) is dict else item)
            if type(child) in _CONTAINERS
        ]
    return True


def one_line(text: str) -> str:
    """Return a text on one line: whatever breaks, reorders or hides what stands beside it is spelt out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def canonical_json(value: JSON) -> str:
    """Return the one canonical spelling of ``value``: sorted keys, no blanks, types kept."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256(value: JSON) -> str:
    """Return the hex SHA-256 of a value's canonical JSON (of the text itself when given a string)."""
    text = value if isinstance(value, str) else canonical_json(value)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
