"""Values that nobody gave as they are stated, and that may be right all the same: a person decides.

A finding is worth what it rests on. That a number is in nothing that was said is sure; that it is wrong is
not where it follows from what was said by one step of arithmetic, or is a time that leaves the half of the
day open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from toolbench.judging.alike import same
from toolbench.judging.reading.statements import Value

HALF_DAY = 720
"""Minutes between a time and its like in the other half of the day."""
MOST = 60
"""Numbers that are combined with each other; with more of them anything follows from something."""
_MEASURED = frozenset({"number", "money", "quantity"})


def other_half(stated: Value, given: Iterable[Value]) -> bool:
    """Whether a time is a given one but for the half of the day, which its spelling leaves open."""
    if stated.kind != "time" or stated.low is None or stated.low >= HALF_DAY or "m" in stated.spelled.lower():
        return False
    later = replace(stated, low=stated.low + HALF_DAY, high=stated.low + HALF_DAY)
    return any(one.kind == "time" and same(later, one) for one in given)


def derived(stated: Value, given: Iterable[Value]) -> bool:
    """Whether a number follows from two given ones: their sum, difference, product or ratio.

    The time between two times is a difference as well.
    """
    if stated.kind not in _MEASURED or stated.low is None or stated.low != stated.high:
        return False
    values = [one for one in given if one.low is not None and one.low == one.high]
    measured = list(dict.fromkeys((one.low or 0.0, one.unit) for one in values if one.kind in _MEASURED))
    minutes = {one.low or 0.0 for one in values if one.kind == "time"}
    apart = [
        Value("quantity", "", abs(a - b), abs(a - b), unit="minute") for a, b in combinations(minutes, 2)
    ]
    if any(same(stated, one) for one in apart):
        return True
    pairs = combinations(measured[:MOST], 2)
    return any(
        same(stated, replace(stated, low=number, high=number))
        for (one, first), (other, second) in pairs
        if stated.unit in (first, second) or None in (first, second)
        for number in _steps(one, other)
    )


def _steps(one: float, other: float) -> Iterator[float]:
    yield from (one + other, abs(one - other), one * other)
    if one and other:
        yield from (one / other, other / one)
