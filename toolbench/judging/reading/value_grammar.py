"""The patterns of values, filled with the words of a language."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from toolbench.judging.reading.lexicon import lexicon

_DIGITS = r"(?:[-+](?=\d))?(?:\d{1,3}(?:[ ,']\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)(?!\d)"


SIGNS = {"$": "USD", "€": "EUR", "₽": "RUB", "£": "GBP", "¥": "JPY", "₸": "KZT", "₺": "TRY", "₾": "GEL"}


@dataclass(frozen=True)
class _Grammar:
    """Patterns of one language."""

    day_month: re.Pattern[str]
    month_day: re.Pattern[str]
    weekday: re.Pattern[str]
    relative: re.Pattern[str]
    clock: re.Pattern[str]
    clock_range: re.Pattern[str]
    number: re.Pattern[str]
    words: Mapping[str, Any]
    ordinals: Mapping[str, int]
    units: Mapping[str, str]


def any_of(forms: Sequence[str] | Mapping[str, Any]) -> str:
    return "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)) or "(?!)"


@cache
def grammar_of(lang: str) -> _Grammar:
    data = lexicon(lang).values
    months, ordinals = data["months"], data.get("ordinals", {})
    halves = any_of([form for forms in data.get("day_halves", {}).values() for form in forms])
    day = rf"(?:\d{{1,2}}(?:st|nd|rd|th|-?го|-?е|-?ое)?|{any_of(ordinals)})"
    joint = rf"(?: ?(?:-|–|—|,|/) ?| (?:{any_of(data.get('joints', ()))}) )"
    year = r"(?:,? (?P<year>\d{4}))?"
    # After "from 9 to 11 or" only the last number is a day.
    # "The 12 may be late" holds no date.
    verb = r"(?! (?:be|have|not|take|need|want|also)\b)"
    first = r"(?<!from )(?<!between )(?<!to )(?<!at )(?<!с )(?<!до )(?<!по )"
    # After "December 2," comes the hour or the year, no other day.
    later = rf"{day}(?:{joint.replace(',', '')}{day}){{0,6}}"
    days = rf"(?:{first}{day}{joint}(?:the )?){{0,6}}{day}"
    month = rf"(?:{any_of(months)})"
    of = rf"(?:(?:{any_of(data.get('of', ()))}) )?"
    half = f"(?:[ -]?(?P<{{0}}half>{halves})(?!\\w))?"
    clock = r"(?<![\d.,:])(?P<{0}hour>\d{{1,2}})(?:(?P<{0}sep>[:.])(?P<{0}min>\d{{2}}))?(?::\d{{2}})?" + half
    units = {
        lemma: unit
        for kind in ("units", "currencies")
        for unit, lemmas in data[kind].items()
        for lemma in lemmas
    }
    signs = any_of(SIGNS)
    codes = any_of(
        [
            *(lemma for lemmas in data["currencies"].values() for lemma in lemmas if lemma.isascii()),
            "rub",
            "usd",
            "eur",
        ]
    )
    return _Grammar(
        day_month=re.compile(
            rf"(?<![\w.,:])(?:the )?(?P<days>{days}) ?{of}(?P<month>{month})(?!\w){verb}\.?{year}",
            re.I,
        ),
        month_day=re.compile(
            rf"(?<!\w)(?P<month>{month})\.? (?:the )?(?P<days>{later})(?![\d:]|\w){year}",
            re.I,
        ),
        weekday=re.compile(rf"(?<!\w)(?:{any_of(data['weekdays'])})(?!\w)", re.I),
        relative=re.compile(rf"(?<!\w)(?:{any_of(data.get('relative_days', {}))})(?!\w)", re.I),
        clock=re.compile(clock.format("a") + r"(?!\d)", re.I),
        clock_range=re.compile(clock.format("a") + joint + clock.format("b") + r"(?!\d|[.,]\d)", re.I),
        number=re.compile(
            rf"(?:(?P<before>{signs}|\b(?:{codes})) ?)?(?P<low>(?<![\w.,]){_DIGITS})"
            rf"(?: ?(?:-|–|—|{any_of(data.get('to', ()))}) ?(?P<high>{_DIGITS}))?"
            rf"(?: ?(?P<sign>%|‰|{signs}|°))?",
            re.I,
        ),
        words=data["numbers"],
        ordinals=ordinals,
        units=units,
    )


def mentioned_units(lang: str, words: Collection[str]) -> frozenset[str]:
    """Return the units and currencies that are among words: lemmas, codes and signs."""
    known = grammar_of(lang).units
    return frozenset(
        unit for word in words if (unit := known.get(word) or known.get(word.lower()) or SIGNS.get(word))
    )
