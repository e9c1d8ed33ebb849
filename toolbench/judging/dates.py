"""Dates and times of day in a normalised text, in the usual European, ISO and written spellings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

CACHED = 512
"""Texts kept: the sources of one case are searched for every answer to it."""
Reading = tuple[int, int, int | None]
"""Day, month, and year where it is said."""

# "The 12 may be late" is no date.
_MAY = r"may(?=[.,;:!?)]|$| (?:the )?\d| (?:at|from|between|and|or|to|until|is|by)\b)"
_MONTHS = (
    r"январ[ьяе]|янв|january|jan", r"феврал[ьяе]|фев|february|feb", r"март[ае]?|мар|march|mar",
    r"апрел[ьяе]|апр|april|apr", rf"ма[йяе]|{_MAY}", r"июн[ьяе]|июн|june|jun", r"июл[ьяе]|июл|july|jul",
    r"август[ае]?|авг|august|aug", r"сентябр[ьяе]|сент?|september|sept?", r"октябр[ьяе]|окт|october|oct",
    r"ноябр[ьяе]|нояб?|november|nov", r"декабр[ьяе]|дек|december|dec",
)  # fmt: skip
_MONTH = f"(?P<word>{'|'.join(_MONTHS)})(?!\\w)"
_DAY = r"(?<![\d.,:])(?P<day>\d{1,2})(?![\d:])(?:st|nd|rd|th|-?го|-?е)?"
_YEAR = r"(?:,? (?P<year>\d{4})(?!\d))?"
_SPELLINGS = (
    re.compile(r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?!\d)"),
    re.compile(r"(?<![\d.,/])(?P<day>\d{1,2})(?P<mark>[./])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4})(?!\d)"),
    re.compile(rf"{_DAY}(?: of)? {_MONTH}\.?{_YEAR}"),
    re.compile(rf"(?<!\w){_MONTH}\.? (?:the )?{_DAY}{_YEAR}"),
)
_SHORT = re.compile(r"(?<![\d.,/])(?P<day>\d{1,2})[./](?P<month>\d{1,2})(?![\d/]|[.,]\d)")


_TIME = re.compile(
    r"(?<![\d:.,])(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d)(?::\d{2})?)?"
    r"(?: ?(?P<half>[ap])\.?m\b\.?)?(?![\d:])"
)


@dataclass(frozen=True)
class Found:
    """A date as it stands in a text, and every reading of it: ``03/04/2026`` has two, ``31.31.2026`` none."""

    spelled: str
    readings: frozenset[Reading]

    def agrees(self, others: frozenset[Reading]) -> bool:
        """Whether a reading is among others, the year left aside where one of the two does not say it."""
        return any(
            (day, month) == (d, m) and (year is None or y is None or year == y)
            for day, month, year in self.readings
            for d, m, y in others
        )


@lru_cache(maxsize=CACHED)
def find_dates(text: str) -> tuple[Found, ...]:
    """Return what can be nothing but a date in a text; no part of it counts twice."""
    dates: list[Found] = []
    for pattern in _SPELLINGS:
        dates += _matches(pattern, text)
        # In "2 December. 10 to 12" the 10 is no day.
        text = pattern.sub(" | ", text)
    return tuple(dates)


def find_times(text: str) -> list[tuple[str, int]]:
    """Return every time of day as ``(spelled, minutes from the last noon or midnight)``.

    ``15:30``, ``3:30 pm`` and ``3:30`` are one time: which half of the day is meant often stays unsaid.
    """
    return [
        (match[0], int(match["hour"]) % 12 * 60 + int(match["minute"] or 0))
        for match in _TIME.finditer(text)
        if (match["minute"] or match["half"]) and int(match["hour"]) <= 24
    ]


@lru_cache(maxsize=CACHED)
def times(text: str) -> frozenset[int]:
    """Return every time of day of a text."""
    return frozenset(minutes for _, minutes in find_times(text))


def without_moments(text: str) -> str:
    """Return a text with a blank in the place of every date and time."""
    for spelled in dict.fromkeys(found.spelled for found in find_dates(text)):
        text = text.replace(spelled, " ")
    for spelled in dict.fromkeys(spelled for spelled, _ in find_times(text)):
        text = text.replace(spelled, " ")
    return text


@lru_cache(maxsize=CACHED)
def readings(text: str) -> frozenset[Reading]:
    """Return every date that a text can be read to hold, ``24.12`` included."""
    found = [*find_dates(text), *_matches(_SHORT, text)]
    return frozenset(reading for one in found for reading in one.readings)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[Found]:
    for match in pattern.finditer(text):
        parts = match.groupdict()
        day, year = int(parts["day"]), int(parts["year"]) if parts.get("year") else None
        word = parts.get("word")
        month = int(parts["month"]) if word is None else _month(word)
        pairs = {(day, month), (month, day)} if word is None and "-" not in match[0] else {(day, month)}
        valid = frozenset((d, m, year) for d, m in pairs if 1 <= d <= 31 and 1 <= m <= 12)
        yield Found(match[0], valid)


def _month(word: str) -> int:
    return next(number for number, forms in enumerate(_MONTHS, 1) if re.fullmatch(forms, word))
