"""Values as only Russian tells them: numbers with their units, halves and pairs, terms, names of places.

«тысяча двести рублей», «пол-литра», «пара дней», «в течение суток», «в Самаре».
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from toolbench.judging.reading.russian_numbers import (
    Found,
    lemma_at,
    make,
    moment_words,
    number_at,
    simple_at,
    unit_at,
)
from toolbench.judging.reading.russian_times import date_at, day_name_at, time_at
from toolbench.judging.reading.russian_words import Token
from toolbench.judging.reading.statements import Value


def find_values(words: Sequence[Token]) -> list[Value]:
    """Return the values of a text in order; no token belongs to two."""
    values: list[Value] = []
    at = 0
    while at < len(words):
        found = next((f for matcher in _MATCHERS if (f := matcher(words, at))), None)
        if found is None:
            at += 1
        else:
            values += _both_ends(found[0])
            at = found[1]
    return values


def _both_ends(value: Value) -> list[Value]:
    """Return a stretch of the day as its two times, everything else as it is."""
    if value.kind != "time" or value.low == value.high:
        return [value]
    return [replace(value, high=value.low), replace(value, low=value.high)]


def _minus(words: Sequence[Token], at: int) -> Found | None:
    """«-65», «минус шестьдесят пять»: a sign before a number, not a dash after one."""
    if at + 1 >= len(words):
        return None
    tight = words[at].text in "-\u2212" and words[at].end == words[at + 1].start
    apart = at == 0 or words[at - 1].end < words[at].start
    found = _quantity(words, at + 1) if (tight and apart) or words[at].lemma == "минус" else None
    if found is None or found[0].low is None or found[0].high is None:
        return None
    low, high = -found[0].high, -found[0].low
    return replace(
        found[0], low=low, high=high, start=words[at].start, spelled="-" + found[0].spelled
    ), found[1]


def _quantity(words: Sequence[Token], at: int) -> Found | None:
    number = number_at(words, at)
    if number is None:
        return None
    unit = unit_at(words, number.end)
    bare_one = number.worded and number.low == number.high == 1 and number.end == at + 1
    if unit is None:
        # «один» alone is more often "a certain" than a number, and an ordinal names no quantity.
        if bare_one or number.ordinal:
            return None
        return make(
            "number", words, at, number.end, low=number.low, high=number.high, decimals=number.decimals
        )
    name, end, money = unit
    if number.ordinal and number.worded:
        return None
    if name == "year" and 1900 <= number.low <= 2100:
        return make("number", words, at, number.end, low=number.low, high=number.high)
    kind = "money" if money else "quantity"
    low, high, decimals = number.low, number.high, number.decimals
    if money:
        low, high, decimals, end = _kopecks(words, low, high, decimals, end)
    return make(kind, words, at, end, low=low, high=high, decimals=decimals, unit=name)


def _kopecks(
    words: Sequence[Token], low: float, high: float, decimals: int, end: int
) -> tuple[float, float, int, int]:
    small = simple_at(words, end)
    if small and low == high and lemma_at(words, small.end) in ("копейка", "коп", "цент"):
        return low + small.low / 100, high + small.low / 100, 2, small.end + 1
    return low, high, decimals, end


def _half(words: Sequence[Token], at: int) -> Found | None:
    """«пол-литра», «полкило», «полчаса», «половина килограмма»."""
    word = words[at]
    halves: Mapping[str, str] = moment_words("halves")
    if word.kind != "word" or not word.lemma.startswith("пол"):
        return None
    rest = word.text.lower().removeprefix("пол").lstrip("-")
    if rest in halves and rest != word.text.lower():
        return make("quantity", words, at, at + 1, low=0.5, high=0.5, decimals=1, unit=halves[rest])
    if word.lemma == "половина" and (unit := unit_at(words, at + 1)):
        return make("quantity", words, at, unit[1], low=0.5, high=0.5, decimals=1, unit=unit[0])
    return None


def _term(words: Sequence[Token], at: int) -> Found | None:
    """«в течение суток», «в течение часа»: one of them."""
    unit = unit_at(words, at + 1) if words[at].lemma == "течение" else None
    return make("quantity", words, at, unit[1], low=1, high=1, unit=unit[0]) if unit else None


def _pair(words: Sequence[Token], at: int) -> Found | None:
    """«пару дней», «пара кило»: two or three."""
    unit = unit_at(words, at + 1) if words[at].lemma == "пара" else None
    if unit is None:
        return None
    kind = "money" if unit[2] else "quantity"
    return make(kind, words, at, unit[1], low=2, high=3, unit=unit[0])


def _name(words: Sequence[Token], at: int) -> Found | None:
    """A place: a capital and the dictionary's word for it."""
    word = words[at]
    if word.kind != "word" or not word.text[:1].isupper():
        return None
    if word.form.place:
        return make("name", words, at, at + 1, text=word.form.place)
    following = words[at + 1] if at + 1 < len(words) else None
    if word.pos == "ADJF" and following and following.form.place:
        return make("name", words, at, at + 2, text=f"{word.lemma} {following.form.place}")
    return None


_MATCHERS: tuple[Callable[[Sequence[Token], int], Found | None], ...] = (
    _minus, date_at, time_at, _half, _pair, _term, _quantity, day_name_at, _name,
)  # fmt: skip
