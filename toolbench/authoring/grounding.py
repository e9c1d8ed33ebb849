"""Whether a value can be taken from what a model is shown: texts, results, declared synonyms, the schema.

Used on the *expected* arguments of cases, and therefore stricter than :mod:`toolbench.judging.provenance`:
there a doubt must not accuse a model, here a doubt must not pass for a source. Spelling is free (``2,5``,
``1 000``, a percent sign), a word in another form needs a declared synonym.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.contract import ToolSpec
from toolbench.judging.text import NUMBER, contains, normalize, numbers_in

EXPRESSION = re.compile(r"[\d\s.,+\-*/×÷^%()]*[+\-*/×÷^%][\d\s.,+\-*/×÷^%()]*")
ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
WORD = re.compile(r"\w+")
MONTHS = (
    ("янв", "jan"), ("фев", "feb"), ("мар", "mar"), ("апр", "apr"), ("мая", "май", "may"), ("июн", "jun"),
    ("июл", "jul"), ("авг", "aug"), ("сен", "sep"), ("окт", "oct"), ("ноя", "nov"), ("дек", "dec"),
)  # fmt: skip
FREE_IN_EXPRESSIONS = frozenset({Decimal(1), Decimal(100)})
"""Numbers a calculation may use without being told: 15 % is ``15 / 100``, a rise by it ``1 + 15 / 100``."""


def folded(text: str) -> str:
    """Return text as answers are compared, and ``in_transit`` as a person would write it."""
    return normalize(text.replace("_", " "))


@dataclass(frozen=True)
class Sources:
    """Everything a model can take a value from, as texts."""

    texts: Sequence[str]

    @cached_property
    def text(self) -> str:
        """All texts, folded, as one."""
        return folded(" \n ".join(self.texts))

    @cached_property
    def words(self) -> str:
        """The words of all texts between single blanks."""
        return _words(self.text)

    @cached_property
    def numbers(self) -> set[Decimal]:
        """Every number in the texts."""
        return numbers_in(self.text)

    def states(self, wording: str) -> bool:
        """Whether a piece of text occurs, by the rule that answers are judged with."""
        return contains(self.text, folded(wording))

    def says(self, phrase: str) -> bool:
        """Whether a phrase occurs as whole words, whatever the punctuation."""
        return bool(WORD.search(phrase)) and _words(folded(phrase)) in self.words


def _words(text: str) -> str:
    return f" {' '.join(WORD.findall(text))} "


def ungrounded(tool: ToolSpec, arguments: Mapping[str, JSON], sources: Sources) -> Iterator[tuple[str, JSON]]:
    """Yield ``(argument path, value)`` of every leaf that cannot be taken from anywhere."""
    for name, value in arguments.items():
        yield from _leaves(tool, name, name, value, tool.properties.get(name, {}), sources)


def _leaves(
    tool: ToolSpec, name: str, path: str, value: JSON, schema: Any, sources: Sources
) -> Iterator[tuple[str, JSON]]:
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        for key, inner in value.items():
            inner_schema = schema.get("properties", {}).get(key, {})
            yield from _leaves(tool, name, f"{path}.{key}", inner, inner_schema, sources)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(tool, name, f"{path}[{index}]", inner, schema.get("items", {}), sources)
    elif not (
        _from_schema(value, schema)
        or _from_synonym(tool, name, value, sources)
        or _said(tool, name, value, sources)
    ):
        yield path, value


def _from_schema(value: JSON, schema: Mapping[str, Any]) -> bool:
    """Whether the schema itself offers the value. A yes/no has no wording of its own."""
    offered = [*schema.get("enum", ()), *(schema[key] for key in ("const", "default") if key in schema)]
    return isinstance(value, bool) or value is None or value in offered


def _from_synonym(tool: ToolSpec, name: str, value: JSON, sources: Sources) -> bool:
    for canonical, others in tool.synonyms.get(name, {}).items():
        names = [canonical, *others]
        if folded(str(value)) in map(folded, names) and any(map(sources.says, names)):
            return True
    return False


def _said(tool: ToolSpec, name: str, value: JSON, sources: Sources) -> bool:
    if isinstance(value, int | float):
        return abs(Decimal(str(value))) in sources.numbers
    if sources.says(value):
        return True
    date = ISO_DATE.match(value)
    if date:
        return _dated(int(date[1]), int(date[2]), int(date[3]), sources)
    if EXPRESSION.fullmatch(value):
        return _calculable(value, sources)
    # "ord 123456" and "ORD-123456" are the same identifier.
    compact = value.lower().replace("-", "")
    return tool.normalizers.get(name) == "identifier" and sources.says(compact)


def _dated(year: int, month: int, day: int, sources: Sources) -> bool:
    """Whether day and month were said, in digits or with the month's name; a year may go without saying."""
    years = {number for number in sources.numbers if 1900 <= number <= 2200}
    named = any(f" {stem}" in sources.words for stem in MONTHS[month - 1]) if 1 <= month <= 12 else False
    return day in sources.numbers and (named or month in sources.numbers) and (not years or year in years)


def _calculable(expression: str, sources: Sources) -> bool:
    """Whether every number of an expression was said, or is a percentage that was said."""
    said = sources.numbers | FREE_IN_EXPRESSIONS
    shares = {number / 100 for number in said}
    derived = said | shares | {1 + share for share in shares} | {1 - share for share in shares}
    return all(numbers_in(number[0]) & derived for number in NUMBER.finditer(expression))
