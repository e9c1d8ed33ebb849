"""Values as only English tells them: times in words, terms, what is free of charge, proper names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import lemminflect

from toolbench.judging.reading.english_words import LANG, class_of
from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.statements import Value
from toolbench.judging.reading.values import clock_minutes

_HALVES = {"half past": 30, "quarter past": 15, "quarter to": -15}


_DAY_PART = r"(?P<part> (?:in the (?:morning|afternoon|evening)|at night|[ap]\.?m\.?(?!\w)))?"


NOON = 12


_HOUR_WORD = r"(?P<hour>[a-z]+|\d{1,2})"


_PAST = re.compile(
    r"\b(?P<what>half past|(?:a )?quarter past|(?:a )?quarter to"
    rf"|(?P<min>\w+(?:-\w+)?)(?: minutes? (?P<way>past|to)| past)) {_HOUR_WORD}\b{_DAY_PART}"
)


_WORD_CLOCK = re.compile(
    rf"\b{_HOUR_WORD}(?:[ -](?P<min>(?:oh |o'|twenty|thirty|forty|fifty|ten|fifteen)(?:[ -]?[a-z]+)?))?"
    rf"(?P<oclock> o'clock)?{_DAY_PART}\b"
)


_RANGE = re.compile(
    r"\b(?P<low>[a-z]+|\d{1,2})(?: ?- ?| (?:to|and|until|till) )(?P<high>[a-z]+|\d{1,2})"
    r"(?: o'clock)?(?P<part> (?:in the (?:morning|afternoon|evening)|at night))"
)


_FREE = re.compile(r"\b(?:free of charge|for free|at no (?:extra )?(?:cost|charge)|no (?:fee|charge)s?)\b")


_NOON = re.compile(
    r"(?:\b(?:at|by|until|till|from|to|before|after|between|around) |\d(?: ?[ap]\.?m\.?)?(?: and | ?[-–] ?))"
    r"(noon|midday|midnight)\b|\b(noon|midday|midnight)(?= (?:to|and|until|till)\b| ?[-–])"
)


def _hour(word: str) -> int | None:
    value = int(word) if word.isdigit() else lexicon(LANG).values["numbers"].get(word)
    return value if isinstance(value, int) and 1 <= value <= 24 else None


def _half_of(part: str | None) -> str | None:
    if not part:
        return None
    if "night" in part:
        return "night"
    before_noon = "morning" in part or part.strip().replace(".", "") == "am"
    return "am" if before_noon else "pm"


def moments(text: str) -> Sequence[Value]:
    """Return times told in words: "half past nine", "four o'clock", "nine to eleven in the morning"."""
    low = text.lower()
    found: list[Value] = []
    for match in _RANGE.finditer(low):
        ends = _hour(match["low"]), _hour(match["high"])
        if ends[0] is not None and ends[1] is not None:
            half = _half_of(match["part"])
            # The morning ends at noon.
            halves = half, None if half == "am" and ends[1] == NOON else half
            for hour, part in zip(ends, halves, strict=True):
                _tell(found, match, clock_minutes(hour or 0, 0, part))
    for match in _PAST.finditer(low):
        hour = _hour(match["hour"])
        what = match["what"].removeprefix("a ")
        minute = _HALVES.get(what)
        if minute is None and match["min"]:
            said = match["min"]
            count = int(said) if said.isdigit() else _small(said)
            minute = (
                None
                if count is None or count > 30 or count % 5
                else (-count if match["way"] == "to" else count)
            )
        if hour is None or minute is None or _overlaps(found, match):
            continue
        start = clock_minutes(hour, 0, _half_of(match["part"]))
        if start is not None:
            _tell(found, match, start + minute)
    for match in _WORD_CLOCK.finditer(low):
        hour = _hour(match["hour"])
        if (
            hour is None
            or not (match["oclock"] or match["part"])
            or (
                match["hour"].isdigit()
                and not match["oclock"]
                and "in the" not in (match["part"] or "")
                and "at" not in (match["part"] or "")
            )
        ):
            continue
        minute = _small(match["min"]) if match["min"] else 0
        minutes = clock_minutes(hour, minute or 0, _half_of(match["part"]))
        if minutes is not None and not _overlaps(found, match):
            _tell(found, match, minutes)
    found += _proper_names(text)
    for match in _TERM.finditer(low):
        found.append(
            Value("quantity", match[0], 1.0, 1.0, unit=match[1], start=match.start(), end=match.end())
        )
    for match in _FREE.finditer(low):
        found.append(Value("money", match[0], 0.0, 0.0, start=match.start(), end=match.end()))
    for match in _NOON.finditer(low):
        word = match[1] or match[2]
        minutes = 0.0 if word == "midnight" else 720.0
        end = match.end()
        found.append(Value("time", word, minutes, minutes, start=end - len(word), end=end))
    return found


_TERM = re.compile(r"\bwithin (?:a|an|the|one) (minute|hour|day|week|month)\b")


_CAPITALS = re.compile(r"\b[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*\b")


def _proper_names(text: str) -> Iterator[Value]:
    """Yield what is written with a capital inside a sentence and is no word of the dictionary."""
    for match in _CAPITALS.finditer(text):
        before = text[: match.start()].rstrip(" ")[-1:]
        start = match.start()
        if before in ("", *'.!?:;\n|"“«(•-–—*>'):
            # The first word has its capital from the sentence.
            first, _, rest = match[0].partition(" ")
            start += len(first) + 1
            if not rest:
                continue
        spelled = text[start : match.end()]
        if all(_is_name(word) for word in re.split("[ -]", spelled)):
            yield Value("name", spelled, text=spelled, start=start, end=match.end())


@lru_cache(maxsize=20_000)
def _is_name(word: str) -> bool:
    form, values = word.lower(), lexicon(LANG).values
    known = lemminflect.getAllLemmas(form) or form in class_of("capitals")
    return not (known or form in values["months"] or form in values["weekdays"])


def _small(words: str) -> int | None:
    numbers = lexicon(LANG).values["numbers"]
    parts = [numbers.get(word, 60) for word in re.findall(r"[a-z]+", words.replace("oh ", ""))]
    total = sum(parts)
    return total if parts and total < 60 else None


def _overlaps(found: Sequence[Value], match: re.Match[str]) -> bool:
    return any(value.start < match.end() and match.start() < value.end for value in found)


def _tell(found: list[Value], match: re.Match[str], minutes: float | None) -> None:
    if minutes is not None:
        found.append(Value("time", match[0], minutes, minutes, start=match.start(), end=match.end()))
