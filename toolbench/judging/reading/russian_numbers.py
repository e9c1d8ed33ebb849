"""Numbers as Russian tells them, in digits and words, and the units behind them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from toolbench.judging.reading.russian_words import Token, data, lemma
from toolbench.judging.reading.statements import Value

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"


@dataclass(frozen=True, slots=True)
class _Number:
    """A number read from a token on: its bounds, decimals, the token after it, and how it was written."""

    low: float
    high: float
    decimals: int
    end: int
    worded: bool = False
    ordinal: bool = False


Found = tuple[Value, int]
"""A value and the index of the token after it."""


def make(kind: str, words: Sequence[Token], start: int, end: int, **rest: Any) -> Found:
    spelled = _written_as(words[start:end])
    return Value(kind, spelled, start=words[start].start, end=words[end - 1].end, **rest), end


def _written_as(words: Sequence[Token]) -> str:
    text, last = "", words[0].start
    for word in words:
        text += (" " if word.start > last else "") + word.text
        last = word.end
    return text


@cache
def forms_of(group: str) -> Mapping[str, Any]:
    """Return lemma → number of a group of the data file's values."""
    return {_key(form): number for form, number in data()["values"][group].items()}


@cache
def _names_of(group: str) -> Mapping[str, str]:
    """Return lemma or sign → canonical name of a unit or a currency."""
    return {_key(form): name for name, forms in data()["values"][group].items() for form in forms}


def currencies() -> frozenset[str]:
    """Return the lemmas and signs of currencies."""
    return frozenset(_names_of("currencies"))


def _key(form: str) -> str:
    return lemma(form) if form.isalpha() else form


@cache
def moment_words(name: str) -> Any:
    return data()["moments"][name]


def lemma_at(words: Sequence[Token], at: int) -> str:
    return words[at].lemma if 0 <= at < len(words) else ""


def _digits(word: Token) -> _Number | None:
    if word.kind != "number":
        return None
    written = re.match(r"[\d \u00a0\u202f\u2009.,]+", word.text)
    plain = re.sub(r"[ \u00a0\u202f\u2009]", "", written[0] if written else "").replace(",", ".")
    decimals = len(plain.partition(".")[2])
    return _Number(float(plain), float(plain), decimals, 0, ordinal=bool(word.ending))


def worded_at(words: Sequence[Token], at: int) -> _Number | None:
    """Read a number in words: hundreds, tens and ones fall, a thousand multiplies what stands before it."""
    numbers, thousands, ordinals = forms_of("numbers"), forms_of("thousands"), forms_of("ordinals")
    total, group, room, start = 0.0, 0.0, float("inf"), at
    ordinal = False
    while at < len(words) and not ordinal:
        word = words[at].lemma
        if word in thousands and (word not in numbers) and (at > start or words[at].pos == "NOUN"):
            if at == start and words[at].text.lower() not in ("тысяча", "тысячу", "тысячей"):
                # «тысячи заказов», «миллион причин» say no number.
                return None
            total += max(group, 1 if at == start or group == 0 else group) * thousands[word]
            group, room = 0.0, float("inf")
        elif word in numbers and _size(numbers[word]) < room and not (group and numbers[word] == 0):
            group += numbers[word]
            room = _size(numbers[word])
        elif word in ordinals and _size(ordinals[word]) < room:
            group += ordinals[word]
            ordinal = True
        else:
            break
        at += 1
    if at == start:
        return None
    value = total + group
    return _Number(value, value, 1 if value % 1 else 0, at, worded=True, ordinal=ordinal)


def _size(number: float) -> float:
    """Return the place a numeral takes: nothing of the same place may follow it."""
    return 100 if number >= 100 else 10 if number >= 20 else 1


def simple_at(words: Sequence[Token], at: int) -> _Number | None:
    """Read one number, in digits or words, with «тыс.» and «с половиной»."""
    if at >= len(words):
        return None
    number = _digits(words[at])
    end = at + 1
    worded = number is None
    if number is None:
        number = worded_at(words, at)
        if number is None:
            return None
        end = number.end
    low, decimals = number.low, number.decimals
    if lemma_at(words, end) == "с" and lemma_at(words, end + 1) == "половина":
        low, decimals, end, worded = low + 0.5, 1, end + 2, True
    scale = forms_of("thousands").get(lemma_at(words, end))
    if scale and not number.ordinal:
        end += 1
        if mark_at(words, end, "."):
            end += 1
        tail = worded_at(words, end)
        low = low * scale + (tail.low if tail and tail.low < scale and not tail.ordinal else 0)
        end = tail.end if tail and tail.low < scale and not tail.ordinal else end
        return _Number(low, low, 0, end, True)
    return _Number(low, low, decimals, end, worded, number.ordinal)


def number_at(words: Sequence[Token], at: int) -> _Number | None:
    """Read a number or a range of two: «3–5», «от трёх до пяти», «два-три»."""
    pair = _hyphenated(words[at]) if at < len(words) else None
    if pair is not None:
        return _Number(*pair, 0, at + 1, True)
    opened = lemma_at(words, at) in ("от", "с", "между")
    first = simple_at(words, at + opened)
    if first is None:
        return None
    closed = first.end
    if opened and unit_at(words, closed):
        closed = unit_at(words, closed)[1]  # type: ignore[index]
    if (opened and lemma_at(words, closed) in ("до", "по", "и")) or (
        not opened and _joined(words, first.end, first.low)
    ):
        second = simple_at(words, closed + 1)
        if second is not None and second.low > first.low:
            decimals = max(first.decimals, second.decimals)
            worded = first.worded or second.worded
            return _Number(first.low, second.high, decimals, second.end, worded, second.ordinal)
    return None if opened else first


def _joined(words: Sequence[Token], at: int, low: float) -> bool:
    """Whether a dash that makes a range stands here: not the one of «200 × 3 — 600»."""
    if not (0 < at < len(words) - 1 and words[at].text in DASHES):
        return False
    close = words[at - 1].end == words[at].start and words[at].end == words[at + 1].start
    second = simple_at(words, at + 1)
    return close or (words[at].text != "\u2014" and second is not None and low < second.low <= low * 3)


def _hyphenated(word: Token) -> tuple[float, float] | None:
    if word.kind != "word" or "-" not in word.text:
        return None
    parts = [forms_of("numbers").get(lemma(part)) for part in word.text.split("-")]
    if len(parts) == 2 and parts[0] and parts[1] and parts[0] < parts[1]:
        return parts[0], parts[1]
    return None


def unit_at(words: Sequence[Token], at: int) -> tuple[str, int, bool] | None:
    """Return ``(unit, token after it, whether money)`` of the unit that stands here."""
    while at < len(words) and words[at].lemma in moment_words("unit_adjectives"):
        at += 1
    if at >= len(words):
        return None
    word = words[at]
    for group in ("units", "currencies"):
        name = _names_of(group).get(word.lemma) or _names_of(group).get(word.text.lower())
        if name:
            end = at + 1
            if (
                group == "currencies"
                and end < len(words)
                and words[end].form.place
                and words[end].has("gent")
            ):
                # «долларов США»
                end += 1
            # The point of «руб.» inside a sentence belongs to the unit.
            if mark_at(words, end, ".") and end + 1 < len(words) and not words[end + 1].text[:1].isupper():
                end += 1
            return name, end, group == "currencies"
    return None


def mark_at(words: Sequence[Token], at: int, mark: str) -> bool:
    return at < len(words) and words[at].text == mark


def pos_at(words: Sequence[Token], at: int) -> str:
    return words[at].pos if at < len(words) else ""
