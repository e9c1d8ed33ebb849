"""Whether a value is as good as the expected one, by all that a case says about it and about what is in it.

A path names an argument and goes on into it: ``address.city``, ``items[].price`` (every item of a list). At a
path the case may give further values, a rule in place of equality, or say that it may be left out; everywhere
else the comparison that is asked for decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.case import Compare, ExpectedCall, ExpectedObject, ValueRule
from toolbench.domain.patterns import pattern
from toolbench.judging.normalizers import alike, equal
from toolbench.judging.text import normalize

Same = Callable[[JSON, JSON], bool]
"""Whether an actual value is as good as an expected one where the case says nothing about it."""


@dataclass(frozen=True)
class Wanted:
    """What a case says about the values at paths, and how those it says nothing about are compared."""

    accept: Mapping[str, Sequence[JSON]]
    optional: Sequence[str]
    compare: Compare
    same: Same

    def fits(self, actual: JSON, good: JSON, path: str) -> bool:
        """Whether a value at a path is right."""
        rule = self.compare.get(path, PLAIN)
        options = (good, *self.accept.get(path, ()))
        if not _required(rule, actual):
            return False
        return rule.free or any(self._alike(actual, option, path, rule) for option in options)

    def _alike(self, actual: JSON, good: JSON, path: str, rule: ValueRule) -> bool:
        if rule.normalizer is not None and alike(rule.normalizer, actual, good):
            return True
        if _near(rule, actual, good) or self.same(actual, good):
            return True
        if isinstance(actual, dict) and isinstance(good, dict):
            return self._same_object(actual, good, path)
        if isinstance(actual, list) and isinstance(good, list) and len(actual) == len(good):
            items = f"{path}[]"
            table = [[self.fits(one, other, items) for other in good] for one in actual]
            return _assignable(table) if rule.unordered else all(row[i] for i, row in enumerate(table))
        return False

    def _same_object(self, actual: Mapping[str, JSON], good: Mapping[str, JSON], path: str) -> bool:
        return all(
            (name in actual and name in good and self.fits(actual[name], good[name], f"{path}.{name}"))
            or ((name not in actual or name not in good) and f"{path}.{name}" in self.optional)
            for name in {**good, **actual}
        )


PLAIN = ValueRule()
"""Nothing but equality."""


def part_of(call: ExpectedCall, arguments: Mapping[str, JSON]) -> bool:
    """Whether arguments have all that a description names, whatever else they have."""
    return _has(Wanted(call.accept, (), call.compare, equal), call.arguments, arguments)


def fits_object(expected: ExpectedObject, fields: Mapping[str, JSON]) -> bool:
    """Whether an object has all the fields that are expected of it, whatever else it has."""
    return _has(Wanted(expected.accept, (), expected.compare, equal), expected.fields, fields)


def _has(wanted: Wanted, expected: Mapping[str, JSON], there: Mapping[str, JSON]) -> bool:
    return all(name in there and wanted.fits(there[name], good, name) for name, good in expected.items())


def _required(rule: ValueRule, actual: JSON) -> bool:
    """Whether a value has what a rule demands of it."""
    if rule.regex is not None and not (isinstance(actual, str) and pattern(rule.regex).search(actual)):
        return False
    return all(_occurs(piece, actual) for piece in rule.contains)


def _occurs(piece: JSON, actual: JSON) -> bool:
    if isinstance(actual, list):
        return any(equal(piece, item) for item in actual)
    return isinstance(actual, str) and normalize(str(piece)) in normalize(actual)


def _near(rule: ValueRule, actual: Any, good: Any) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (actual, good))
    allowed = max(rule.tolerance, rule.relative * abs(good)) if numbers else 0.0
    return allowed > 0 and bool(abs(actual - good) <= allowed)


def _assignable(table: Sequence[Sequence[bool]]) -> bool:
    """Whether every row can have a column of its own among those it fits."""
    taken: dict[int, int] = {}

    def find(row: int, seen: set[int]) -> bool:
        for column, possible in enumerate(table[row]):
            if possible and column not in seen:
                seen.add(column)
                if column not in taken or find(taken[column], seen):
                    taken[column] = row
                    return True
        return False

    return all(find(row, set()) for row in range(len(table)))
