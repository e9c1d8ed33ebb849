"""Reading JSON of unknown shape: every function takes anything and never fails."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from toolbench.domain.canonical import JSON


def object_at(value: JSON, *keys: str | int) -> dict[str, Any]:
    """Return the object found by following the keys, or an empty one."""
    for key in keys:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return dict(value) if isinstance(value, Mapping) else {}


def items_of(value: JSON) -> list[Any]:
    """Return a list's items, or none."""
    return list(value) if isinstance(value, list | tuple) else []


def objects_of(value: JSON) -> list[dict[str, Any]]:
    """Return those items of a list that are objects."""
    return [item for item in items_of(value) if isinstance(item, dict)]


def text_of(value: JSON) -> str:
    """Return a string, or an empty one."""
    return value if isinstance(value, str) else ""


def said_in(content: JSON, kinds: Collection[str]) -> str:
    """Return the text of a content: a text, or parts that are texts or objects of one of these types."""
    parts = content if isinstance(content, list) else [content]
    told = (part for part in parts if not isinstance(part, dict) or part.get("type", "text") in kinds)
    return "".join(text_of(part.get("text") if isinstance(part, dict) else part) for part in told)


def word_of(value: JSON) -> str | None:
    """Return a string, or ``None``."""
    return value if isinstance(value, str) else None


def count_of(value: JSON) -> int | None:
    """Return a count (some servers write it as a float), or ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 2**63 else None


def amount_of(value: JSON) -> float | None:
    """Return an amount of money, or ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e12 else None


def total(*counts: int | None) -> int | None:
    """Return the sum of the known counts, ``None`` when none is known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
