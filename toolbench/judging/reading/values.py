"""Values stated in a text: numbers, money, quantities, dates, times, identifiers, contacts.

One grammar for all languages (:mod:`.value_grammar`). Patterns are tried in order of how sure they are; what
one of them has taken the later ones leave alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.statements import Value
from toolbench.judging.reading.value_grammar import SIGNS, any_of, grammar_of

DAY = 24 * 60


_CONTACT = re.compile(
    r"\b(?:https?://|www\.)[^\s<>\"')\]]+|[\w.+-]+@[\w-]+\.[\w.-]*\w|\b[a-z0-9-]{2,}\.(?:com|org|net|io|ru|example)\b(?:/[^\s<>\"')\]]*)?",
    re.I,
)


_PHONE = re.compile(
    r"(?<![\w-])\+\d(?:[ ().-]{0,2}\d){6,14}(?![\w-])|(?<![\w.,-])\d{10,12}(?![\w-]|[.,]\d)"
    r"|(?<!\w)8[ -]?800[ \d-]{7,12}\d"
)


_IDENTIFIER = re.compile(r"(?<![\w-])(?!(?:am|pm|a|to|utc|gmt)-)[^\W\d_]{2,10}-(?=\w*\d)\w+(?:-\w+)*", re.I)


_ZONE = re.compile(r"\b[A-Z][a-z]+(?:/[A-Z][A-Za-z_]+)+\b")


_ISO = re.compile(
    r"\b(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)


_DOTTED = re.compile(r"(?<![\d.,/])(\d{1,2})([./])(\d{1,2})\2(\d{4}|\d{2})(?![\d/])")


_IDIOM = re.compile(r"\b24/7\b")


_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*\.?")


_LONGEST_MONTH = 14
"""Characters that are looked back for the name of a month."""


class _Scan:
    """One pass over a text: values found so far and the characters they take."""

    def __init__(self, text: str, lang: str, lemma: Callable[[str], str]) -> None:
        self.text = text
        self.lang = lang
        self.lemma = lemma
        self.grammar = grammar_of(lang)
        self.data = lexicon(lang).values
        self.taken = bytearray(len(text))
        self.values: list[Value] = []

    def add(self, kind: str, start: int, end: int, **rest: Any) -> None:
        self.taken[start:end] = b"\1" * (end - start)
        self.values.append(Value(kind, self.text[start:end].strip(), start=start, end=end, **rest))

    def matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        at = 0
        while found := pattern.search(self.text, at):
            over = self.taken.find(1, found.start(), found.end())
            if over < 0:
                yield found
                at = max(found.end(), at + 1)
            else:
                # "December 5, 4 to 6 pm": behind what is taken another may begin inside of this one.
                behind = self.taken.find(0, over)
                at = behind if behind >= 0 else len(self.text) + 1

    def ends_with_month(self, at: int) -> bool:
        """Whether the text up to a place ends with the name of a month."""
        word = re.search(r"([^\W\d_]+)\.? *$", self.text[max(0, at - _LONGEST_MONTH) : at])
        return word is not None and word[1].lower() in self.data["months"]

    def negative(self, start: int) -> bool:
        """Whether "minus" stands before a number, and no other number before that."""
        signs = self.data.get("minus", ())
        before = re.search(r"(\w+)?\W*\b([^\W\d_]+) $", self.text[max(0, start - _LONGEST_MONTH * 2) : start])
        if before is None or before[2].lower() not in signs:
            return False
        other = (before[1] or "").lower()
        return not (other.isdigit() or other in self.grammar.words)

    def next_word(self, at: int) -> re.Match[str] | None:
        gap = 1 if self.text[at : at + 1] in (" ", "-") else 0
        return _WORD.match(self.text, at + gap)

    def unit(self, at: int) -> tuple[str | None, int]:
        """Return the unit or currency that begins at a place, and where it ends."""
        for words in (2, 1):
            end = at
            lemmas: list[str] = []
            for _ in range(words):
                word = self.next_word(end)
                if word is None:
                    break
                end = word.end()
                # A qualifier is compared as written: "US dollars".
                plain = word[0].rstrip(".")
                lemmas.append(plain.lower() if words == 2 and not lemmas else self.lemma(plain))
            if len(lemmas) == words and (unit := self.grammar.units.get(" ".join(lemmas))):
                return unit, end
        return None, at


def find_values(text: str, lang: str, lemma: Callable[[str], str], told: Sequence[Value] = ()) -> list[Value]:
    """Return the values of a prepared text in order of place.

    Parameters
    ----------
    text
        Prose, prepared.
    lang
        Language whose words are used.
    lemma
        Its lemmatiser, for units.
    told
        Values the language's reader has found itself; their places are left alone.
    """
    scan = _Scan(text, lang, lemma)
    _contacts(scan)
    _dates(scan)
    free = [value for value in told if not any(scan.taken[value.start : value.end])]
    for value in free:
        scan.taken[value.start : value.end] = b"\1" * (value.end - value.start)
    scan.values += free
    for find in (_identifiers, _days, _clocks, _numbers, _number_words):
        find(scan)
    return sorted(scan.values, key=lambda value: value.start)


def _contacts(scan: _Scan) -> None:
    for found in scan.matches(_IDIOM):
        scan.taken[found.start() : found.end()] = b"\1" * (found.end() - found.start())
    for found in scan.matches(_CONTACT):
        spelled = found[0].rstrip(".,;:!?")
        scan.add("contact", found.start(), found.start() + len(spelled), text=spelled.lower().rstrip("/"))


def _identifiers(scan: _Scan) -> None:
    for found in scan.matches(_PHONE):
        digits = re.sub(r"\D", "", found[0])
        scan.add("contact", found.start(), found.end(), text=digits[-10:])
    for found in scan.matches(_ZONE):
        scan.add("name", found.start(), found.end(), text=found[0])
    for found in scan.matches(_IDENTIFIER):
        scan.add("identifier", found.start(), found.end(), text=found[0].upper())


def _dates(scan: _Scan) -> None:
    for found in scan.matches(_ISO):
        year, month, day = (int(found[at]) for at in (1, 2, 3))
        text = _iso(day, month, year)
        if text is None:
            continue
        if found[4]:
            minutes = float(int(found[4]) * 60 + int(found[5]))
            scan.add("time", found.start(4), found.end(), low=minutes, high=minutes)
            scan.add("date", found.start(), found.start(4), text=text)
        else:
            scan.add("date", found.start(), found.end(), text=text)
    for found in scan.matches(_DOTTED):
        year = int(found[4]) + (2000 if len(found[4]) == 2 else 0)
        # Day first, as most of the world writes; month first where only that is a date.
        text = _iso(int(found[1]), int(found[3]), year) or _iso(int(found[3]), int(found[1]), year)
        if text:
            scan.add("date", found.start(), found.end(), text=text)


def _days(scan: _Scan) -> None:
    grammar, months = scan.grammar, scan.data["months"]
    for pattern in (grammar.day_month, grammar.month_day):
        for found in scan.matches(pattern):
            month = months[found["month"].lower()]
            year = int(found["year"]) if found["year"] else None
            days = list(re.finditer(rf"\d{{1,2}}|{any_of(grammar.ordinals)}", found["days"], re.I))
            numbers = [int(day[0]) if day[0].isdigit() else grammar.ordinals[day[0].lower()] for day in days]
            texts = [_iso(day, month, year) for day in numbers]
            start = found.start()
            if pattern is grammar.day_month and (not all(texts) or scan.ends_with_month(start)):
                # "2 Dec 10-12, 3 Dec": what stands before the last day is another day's hours.
                texts, start = texts[-1:], found.start("days") + days[-1].start()
            if not all(texts):
                continue
            scan.add("date", start, found.end(), text=texts[-1])
            for text in texts[:-1]:
                scan.add("date", start, found.end(), text=text)
    for found in scan.matches(grammar.weekday):
        scan.add("weekday", found.start(), found.end(), text=str(scan.data["weekdays"][found[0].lower()]))
    for found in scan.matches(grammar.relative):
        shift = scan.data["relative_days"][found[0].lower()]
        scan.add("date", found.start(), found.end(), text=f"{shift:+d}")


def _iso(day: int, month: int, year: int | None) -> str | None:
    try:
        date(year or 2024, month, day)
    except ValueError:
        return None
    return f"{year:04d}-{month:02d}-{day:02d}" if year else f"--{month:02d}-{day:02d}"


def _clocks(scan: _Scan) -> None:
    for found in scan.matches(scan.grammar.clock_range):
        late = found["bhalf"]
        sure = found["amin"] or found["bmin"] or found["ahalf"] or late
        dotted = "." in (found["asep"], found["bsep"]) and not late
        low, high = _minutes(scan, found, "a", found["ahalf"] or late), _minutes(scan, found, "b", late)
        if not sure or dotted or low is None or high is None:
            continue
        if _half(scan, late) == "am" and found["bhour"] == "12":
            # The morning ends at noon.
            high = 720.0 + float(found["bmin"] or 0)
        if low > high and late and not found["ahalf"]:
            low = _minutes(scan, found, "a", _other(scan, late))
        scan.add("time", found.start(), found.end(), low=low, high=low)
        scan.add("time", found.start(), found.end(), low=high, high=high)
    for found in scan.matches(scan.grammar.clock):
        minutes = _minutes(scan, found, "a", found["ahalf"])
        sure = found["ahalf"] or (found["amin"] and found["asep"] == ":")
        if sure and minutes is not None:
            scan.add("time", found.start(), found.end(), low=minutes, high=minutes)


def _minutes(scan: _Scan, found: re.Match[str], end: str, half: str | None) -> float | None:
    hour, minute = int(found[f"{end}hour"]), int(found[f"{end}min"] or 0)
    return clock_minutes(hour, minute, _half(scan, half))


def _half(scan: _Scan, form: str | None) -> str | None:
    halves: Mapping[str, Sequence[str]] = scan.data.get("day_halves", {})
    return next((half for half, forms in halves.items() if form and form.lower() in forms), None)


def _other(scan: _Scan, form: str) -> str:
    """Return a form of the other half of the day: "11-1 pm" begins in the morning."""
    halves: Mapping[str, Sequence[str]] = scan.data["day_halves"]
    return halves["am" if _half(scan, form) == "pm" else "pm"][0]


_EVENING = 6
"""Hour from which on "at night" is before midnight."""


def clock_minutes(hour: int, minute: int, half: str | None = None) -> float | None:
    """Return minutes since midnight, or ``None`` where there is no such time."""
    if half is not None and hour > 12:
        half = None
    elif half == "night":
        half = "pm" if _EVENING <= hour < 12 else "am"
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    return float(hour * 60 + minute) if hour <= 24 and minute < 60 else None


def _numbers(scan: _Scan) -> None:
    for found in scan.matches(scan.grammar.number):
        low = number(found["low"], scan.lang)
        high = number(found["high"], scan.lang) if found["high"] else low
        end = found.end()
        unit, unit_end = (None, end)
        if found["before"]:
            unit = (
                SIGNS.get(found["before"])
                or scan.grammar.units.get(found["before"].lower())
                or found["before"].upper()
            )
        elif found["sign"]:
            unit = {"%": "percent", "‰": "permille", "°": "degree"}.get(found["sign"]) or SIGNS[found["sign"]]
        if found["high"] and low > high:
            # "15-40*2" is a sum and "5-3" a difference: two numbers, no range.
            end = found.end("low")
            high = low
        if unit is None:
            word = scan.next_word(end)
            scale = scan.grammar.words.get(word[0].lower()) if word else None
            if word and isinstance(scale, int) and scale >= 1000:
                low, high, end = low * scale, high * scale, word.end()
            unit, unit_end = scan.unit(end)
        _add_number(
            scan, found.start(), max(end, unit_end), low, high, unit, _decimals(found["low"], scan.lang)
        )


def _add_number(
    scan: _Scan, start: int, end: int, low: float, high: float, unit: str | None, decimals: int
) -> None:
    kind = (
        "number"
        if unit is None
        else "money"
        if unit in scan.data["currencies"] or unit in SIGNS.values()
        else "quantity"
    )
    if scan.negative(start):
        low, high = -high, -low
    scan.add(kind, start, end, low=low, high=high, unit=unit, decimals=decimals)


def number(spelled: str, lang: str) -> float:
    """Return the number a spelling means in a language.

    A sign followed by three digits parts thousands where another sign or group says so, or where the language
    parts them so (a comma in English); else it is the decimal sign.
    """
    text = spelled.replace(" ", "").replace("'", "").lstrip("+")
    if "," in text and "." in text:
        thousands = "," if text.rindex(",") < text.rindex(".") else "."
        return float(text.replace(thousands, "").replace(",", "."))
    if text.count(",") > 1 or (lang == "en" and re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", text)):
        return float(text.replace(",", ""))
    return float(text.replace(",", "."))


def _decimals(spelled: str, lang: str) -> int:
    value = re.search(r"[.,](\d+)$", spelled)
    if value is None or (value[0][0] == "," and lang == "en" and len(value[1]) == 3):
        return 0
    return len(value[1])


def _number_words(scan: _Scan) -> None:
    run: list[tuple[float, int, int]] = []
    joints = set(scan.data.get("number_joints", ()))
    for found in _WORD.finditer(scan.text):
        if any(scan.taken[found.start() : found.end()]):
            _close(scan, run)
            continue
        parts = [
            (m[0].lower(), found.start() + m.start(), found.start() + m.end())
            for m in re.finditer(r"[^\W\d_]+", found[0])
        ]
        known = [(scan.grammar.words.get(word), start, end) for word, start, end in parts]
        if run and found.start() - run[-1][2] > 1 and not _joined(scan, run[-1][2], found.start(), joints):
            _close(scan, run)
        if all(value is not None for value, _, _ in known):
            run += [(float(value), start, end) for value, start, end in known if value is not None]
        elif known and known[0][0] is not None:
            _close(scan, run)
            run.append((float(known[0][0]), known[0][1], known[0][2]))
            _close(scan, run)
        elif not (run and found[0].lower() in joints):
            _close(scan, run)
    _close(scan, run)


def _joined(scan: _Scan, start: int, end: int, joints: set[str]) -> bool:
    return scan.text[start:end].strip().lower() in joints


def _close(scan: _Scan, run: list[tuple[float, int, int]]) -> None:
    """Turn a run of number words into a number: smaller parts add up, hundreds and thousands multiply."""
    if not run:
        return
    total = group = 0.0
    for value, _, _ in run:
        if value >= 1000:
            total, group = total + (group or 1) * value, 0.0
        elif value == 100:
            group = (group or 1) * 100
        else:
            group += value
    low = total + group
    start, end = run[0][1], run[-1][2]
    run.clear()
    unit, unit_end = scan.unit(end)
    sign = re.match(r" ?%", scan.text[end : end + 2])
    if sign:
        unit, unit_end = "percent", end + len(sign[0])
    # "one" and its like are pronouns unless they count something.
    if low != 1 or unit is not None:
        _add_number(scan, start, max(end, unit_end), low, low, unit, 0)
