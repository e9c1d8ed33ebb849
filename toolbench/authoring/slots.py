"""Slots of case templates: rows of a table, dealt like cards and written into texts and arguments.

A *table* holds *rows*; a row has one value (what goes into an argument) and forms (how a text says it).
A *slot* is a name in a template, ``{origin}`` or ``{origin.from}``, filled from one table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.domain.canonical import JSON, sha256
from toolbench.errors import SuiteError

SLOT = re.compile(r"\{([a-z][a-z0-9_]*)(?:\.([a-z][a-z0-9_]*))?\}")


@dataclass(frozen=True)
class Row:
    """One row of a table in one language."""

    key: str
    value: JSON
    forms: Mapping[str, str]
    accept: Sequence[JSON]
    tags: Sequence[str]

    @classmethod
    def from_json(cls, key: str, data: Mapping[str, Any], lang: str) -> Row:
        """Build from a row of ``variants.json`` (already valid against its schema)."""
        return cls(
            key=key,
            value=data["values"].get(lang) if "values" in data else data.get("value"),
            forms=data.get("forms", {}).get(lang, {}),
            accept=data.get("accept", {}).get(lang, ()),
            tags=data.get("tags", ()),
        )

    def text(self, form: str | None) -> str:
        """Return how a text says this row; without a form of its own, the value itself."""
        name = form or "text"
        if name in self.forms:
            return self.forms[name]
        if form is None and self.value is not None:
            return str(self.value)
        raise SuiteError(f"the row {self.key!r} has no form {name!r}")


def deal(options: Sequence[str], key: str, draw: int) -> str:
    """Return the ``draw``-th card of an endless, reshuffled deck.

    Every option comes up once before any comes up twice, and the order of each round depends on ``key``
    only, so a dataset is the same on every machine and Python version.
    """
    round_number, position = divmod(draw, len(options))
    return sorted(options, key=lambda option: sha256(f"{key}|{round_number}|{option}"))[position]


def render(template: str, rows: Mapping[str, Row]) -> str:
    """Write a template's slots as text."""
    return SLOT.sub(lambda match: _row(rows, match[1]).text(match[2]), template)


def fill(template: JSON, rows: Mapping[str, Row]) -> JSON:
    """Put values into a JSON template: a string that is one slot becomes the row's value, type and all."""
    if isinstance(template, str):
        whole = SLOT.fullmatch(template)
        if whole and whole[2] is None:
            return _row(rows, whole[1]).value
        return render(template, rows)
    if isinstance(template, dict):
        return {key: fill(inner, rows) for key, inner in template.items()}
    if isinstance(template, list):
        return [fill(inner, rows) for inner in template]
    return template


def _row(rows: Mapping[str, Row], slot: str) -> Row:
    try:
        return rows[slot]
    except KeyError:
        known = ", ".join(sorted(rows)) or "none"
        raise SuiteError(f"unknown slot {slot!r} (filled here: {known})") from None
