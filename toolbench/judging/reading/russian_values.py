"""Values as only Russian tells them: numbers in words, times of day, dates, halves, names of places.

«тысяча двести», «полторы», «пол-литра», «с 18 до 20», «в половине десятого», «пятого декабря», «в Самаре».
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any

from toolbench.judging.reading.russian_words import Token, data, lemma
from toolbench.judging.reading.statements import Value

_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_HOUR_MARKS = ("в", "к", "с", "до", "после", "около", "по", "сейчас")
_LASTING = ("за", "через", "течение", "на", "занять", "занимать", "длиться")
HOURS = 24
NOON = 12


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


def _value(kind: str, words: Sequence[Token], start: int, end: int, **rest: Any) -> Found:
    spelled = _spelled(words[start:end])
    return Value(kind, spelled, start=words[start].start, end=words[end - 1].end, **rest), end


def _spelled(words: Sequence[Token]) -> str:
    text, last = "", words[0].start
    for word in words:
        text += (" " if word.start > last else "") + word.text
        last = word.end
    return text


@cache
def _forms(group: str) -> Mapping[str, Any]:
    """Return lemma → number of a group of the data file's values."""
    return {_key(form): number for form, number in data()["values"][group].items()}


@cache
def _names(group: str) -> Mapping[str, str]:
    """Return lemma or sign → canonical name of a unit or a currency."""
    return {_key(form): name for name, forms in data()["values"][group].items() for form in forms}


def currencies() -> frozenset[str]:
    """Return the lemmas and signs of currencies."""
    return frozenset(_names("currencies"))


def _key(form: str) -> str:
    return lemma(form) if form.isalpha() else form


@cache
def _moments(name: str) -> Any:
    return data()["moments"][name]


def _lemma_at(words: Sequence[Token], at: int) -> str:
    return words[at].lemma if 0 <= at < len(words) else ""


# Numbers


def _digits(word: Token) -> _Number | None:
    if word.kind != "number":
        return None
    written = re.match(r"[\d \u00a0\u202f\u2009.,]+", word.text)
    plain = re.sub(r"[ \u00a0\u202f\u2009]", "", written[0] if written else "").replace(",", ".")
    decimals = len(plain.partition(".")[2])
    return _Number(float(plain), float(plain), decimals, 0, ordinal=bool(word.ending))


def _worded(words: Sequence[Token], at: int) -> _Number | None:
    """Read a number in words: hundreds, tens and ones fall, a thousand multiplies what stands before it."""
    numbers, thousands, ordinals = _forms("numbers"), _forms("thousands"), _forms("ordinals")
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


def _simple(words: Sequence[Token], at: int) -> _Number | None:
    """Read one number, in digits or words, with «тыс.» and «с половиной»."""
    if at >= len(words):
        return None
    number = _digits(words[at])
    end = at + 1
    worded = number is None
    if number is None:
        number = _worded(words, at)
        if number is None:
            return None
        end = number.end
    low, decimals = number.low, number.decimals
    if _lemma_at(words, end) == "с" and _lemma_at(words, end + 1) == "половина":
        low, decimals, end, worded = low + 0.5, 1, end + 2, True
    scale = _forms("thousands").get(_lemma_at(words, end))
    if scale and not number.ordinal:
        end += 1
        if _mark(words, end, "."):
            end += 1
        tail = _worded(words, end)
        low = low * scale + (tail.low if tail and tail.low < scale and not tail.ordinal else 0)
        end = tail.end if tail and tail.low < scale and not tail.ordinal else end
        return _Number(low, low, 0, end, True)
    return _Number(low, low, decimals, end, worded, number.ordinal)


def _number(words: Sequence[Token], at: int) -> _Number | None:
    """Read a number or a range of two: «3–5», «от трёх до пяти», «два-три»."""
    pair = _hyphenated(words[at]) if at < len(words) else None
    if pair is not None:
        return _Number(*pair, 0, at + 1, True)
    opened = _lemma_at(words, at) in ("от", "с", "между")
    first = _simple(words, at + opened)
    if first is None:
        return None
    closed = first.end
    if opened and _unit(words, closed):
        closed = _unit(words, closed)[1]  # type: ignore[index]
    if (opened and _lemma_at(words, closed) in ("до", "по", "и")) or (
        not opened and _joined(words, first.end, first.low)
    ):
        second = _simple(words, closed + 1)
        if second is not None and second.low > first.low:
            decimals = max(first.decimals, second.decimals)
            worded = first.worded or second.worded
            return _Number(first.low, second.high, decimals, second.end, worded, second.ordinal)
    return None if opened else first


def _joined(words: Sequence[Token], at: int, low: float) -> bool:
    """Whether a dash that makes a range stands here: not the one of «200 × 3 — 600»."""
    if not (0 < at < len(words) - 1 and words[at].text in _DASHES):
        return False
    close = words[at - 1].end == words[at].start and words[at].end == words[at + 1].start
    second = _simple(words, at + 1)
    return close or (words[at].text != "\u2014" and second is not None and low < second.low <= low * 3)


def _hyphenated(word: Token) -> tuple[float, float] | None:
    if word.kind != "word" or "-" not in word.text:
        return None
    parts = [_forms("numbers").get(lemma(part)) for part in word.text.split("-")]
    if len(parts) == 2 and parts[0] and parts[1] and parts[0] < parts[1]:
        return parts[0], parts[1]
    return None


def _unit(words: Sequence[Token], at: int) -> tuple[str, int, bool] | None:
    """Return ``(unit, token after it, whether money)`` of the unit that stands here."""
    while at < len(words) and words[at].lemma in _moments("unit_adjectives"):
        at += 1
    if at >= len(words):
        return None
    word = words[at]
    for group in ("units", "currencies"):
        name = _names(group).get(word.lemma) or _names(group).get(word.text.lower())
        if name:
            end = at + 1
            # The point of «руб.» inside a sentence belongs to the unit.
            if _mark(words, end, ".") and end + 1 < len(words) and not words[end + 1].text[:1].isupper():
                end += 1
            return name, end, group == "currencies"
    return None


def _mark(words: Sequence[Token], at: int, mark: str) -> bool:
    return at < len(words) and words[at].text == mark


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
    number = _number(words, at)
    if number is None:
        return None
    unit = _unit(words, number.end)
    bare_one = number.worded and number.low == number.high == 1 and number.end == at + 1
    if unit is None:
        # «один» alone is more often "a certain" than a number, and an ordinal names no quantity.
        if bare_one or number.ordinal:
            return None
        return _value(
            "number", words, at, number.end, low=number.low, high=number.high, decimals=number.decimals
        )
    name, end, money = unit
    if number.ordinal and number.worded:
        return None
    if name == "year" and 1900 <= number.low <= 2100:
        return _value("number", words, at, number.end, low=number.low, high=number.high)
    kind = "money" if money else "quantity"
    low, high, decimals = number.low, number.high, number.decimals
    if money:
        low, high, decimals, end = _kopecks(words, low, high, decimals, end)
    return _value(kind, words, at, end, low=low, high=high, decimals=decimals, unit=name)


def _kopecks(
    words: Sequence[Token], low: float, high: float, decimals: int, end: int
) -> tuple[float, float, int, int]:
    small = _simple(words, end)
    if small and low == high and _lemma_at(words, small.end) in ("копейка", "коп", "цент"):
        return low + small.low / 100, high + small.low / 100, 2, small.end + 1
    return low, high, decimals, end


def _half(words: Sequence[Token], at: int) -> Found | None:
    """«пол-литра», «полкило», «полчаса», «половина килограмма»."""
    word = words[at]
    halves: Mapping[str, str] = _moments("halves")
    if word.kind != "word" or not word.lemma.startswith("пол"):
        return None
    rest = word.text.lower().removeprefix("пол").lstrip("-")
    if rest in halves and rest != word.text.lower():
        return _value("quantity", words, at, at + 1, low=0.5, high=0.5, decimals=1, unit=halves[rest])
    if word.lemma == "половина" and (unit := _unit(words, at + 1)):
        return _value("quantity", words, at, unit[1], low=0.5, high=0.5, decimals=1, unit=unit[0])
    return None


def _term(words: Sequence[Token], at: int) -> Found | None:
    """«в течение суток», «в течение часа»: one of them."""
    unit = _unit(words, at + 1) if words[at].lemma == "течение" else None
    return _value("quantity", words, at, unit[1], low=1, high=1, unit=unit[0]) if unit else None


def _pair(words: Sequence[Token], at: int) -> Found | None:
    """«пару дней», «пара кило»: two or three."""
    unit = _unit(words, at + 1) if words[at].lemma == "пара" else None
    if unit is None:
        return None
    kind = "money" if unit[2] else "quantity"
    return _value(kind, words, at, unit[1], low=2, high=3, unit=unit[0])


# Dates


def _date(words: Sequence[Token], at: int) -> Found | None:
    """«5 декабря 2026 года», «пятого декабря», «5-го», «05.12»."""
    if words[at].kind == "date":
        return _value("date", words, at, at + 1, text=text) if (text := _full_date(words[at].text)) else None
    opened = _lemma_at(words, at) in ("с", "от")
    day = _simple(words, at + opened)
    if day is None or day.low % 1 or not 1 <= day.low <= 31:
        return _short_date(words, at)
    month = _forms("months").get(_lemma_at(words, day.end))
    start = at + opened
    if month is None or (_lemma_at(words, day.end) == "март" and words[day.end].text.lower() == "мар"):
        number_word = _lemma_at(words, day.end) == "число"
        if day.ordinal and (number_word or not day.worded) and _is_day(words, start, day.end, number_word):
            return _value("date", words, start, day.end + number_word, text=f"---{int(day.low):02d}")
        if day.low == day.high and (follower := _first_of_two(words, day.end)):
            return _value("date", words, start, day.end, text=f"--{follower:02d}-{int(day.low):02d}")
        return _short_date(words, at)
    end = day.end + 1
    if _mark(words, end, ".") and words[day.end].text.lower() in data()["values"]["months"]:
        end += len(words[day.end].text) <= 4
    year, end = _year(words, end)
    return _value("date", words, start, end, text=f"{year or '-'}-{month:02d}-{int(day.low):02d}")


def _full_date(spelled: str) -> str | None:
    """Return the ISO form of «2026-12-05» or «05.12.2026»; month first where only that is a date."""
    parts = [int(part) for part in re.split(r"\D", spelled)]
    year, months = (parts[0], (parts[1:],)) if parts[0] > 31 else (parts[2], (parts[1::-1], parts[:2]))
    for month, day in months:
        with suppress(ValueError):
            return date(year + 2000 * (year < 100), month, day).isoformat()
    return None


def _is_day(words: Sequence[Token], start: int, end: int, number_word: bool) -> bool:
    """Whether «5-го» is a day: not when a noun follows that it counts («5-й заказ»)."""
    return number_word or (words[start].ending in ("го", "е") and _pos_at(words, end) != "NOUN")


def _pos_at(words: Sequence[Token], at: int) -> str:
    return words[at].pos if at < len(words) else ""


def _first_of_two(words: Sequence[Token], at: int) -> int | None:
    """Return the month of the second day of «2–3 декабря», «со 2 по 5 декабря», «2 и 3 декабря»."""
    if not (at < len(words) and (words[at].text in _DASHES or words[at].lemma in ("по", "и", "или", "до"))):
        return None
    second = _simple(words, at + 1)
    if second is None or second.low % 1 or not 1 <= second.low <= 31:
        return None
    month: int | None = _forms("months").get(_lemma_at(words, second.end))
    return month


def _year(words: Sequence[Token], at: int) -> tuple[str, int]:
    if at < len(words) and re.fullmatch(r"(19|20)\d\d", words[at].text):
        end = at + 1
        if _lemma_at(words, end) in ("год", "г"):
            end += 1
        return words[at].text, end
    return "", at


def _short_date(words: Sequence[Token], at: int) -> Found | None:
    """«05.12»: two digits each, no unit behind."""
    word = words[at]
    match = re.fullmatch(r"(\d{1,2})\.(\d\d)", word.text) if word.kind == "number" else None
    if match is None or _unit(words, at + 1):
        return None
    day, month = int(match[1]), int(match[2])
    before = _lemma_at(words, at - 1)
    led = before in ("на", "к", "до", "с", "по", "от") or before in _forms("weekdays")
    if 1 <= day <= 31 and 1 <= month <= 12 and (len(match[1]) == 2 or led):
        return _value("date", words, at, at + 1, text=f"--{month:02d}-{day:02d}")
    return None


# Times of day


def _time(words: Sequence[Token], at: int) -> Found | None:
    """Read a time of day, or two with «с … до …» or a dash between them."""
    opened = words[at].lemma in ("с", "между", "от")
    first = _clock(words, at + opened, words[at - 1].lemma if at and not opened else words[at].lemma)
    if first is None:
        return _bare_hours(words, at)
    start, end = at + opened, first[1]
    second = None
    if end < len(words) and (words[end].text in _DASHES or words[end].lemma in ("до", "по", "и")):
        second = _clock(words, end + 1, "до")
    if second and second[0] > first[0]:
        low = first[0]
        # «с 2 до 5 вечера»: the word stands once, for both.
        if low + NOON * 60 < second[0] and low < NOON * 30 and not _daypart(words, first[1] - 1):
            low += NOON * 60 if second[0] >= NOON * 60 and low < 7 * 60 else 0
        return _value("time", words, start, second[1], low=low, high=second[0])
    return _value("time", words, start, end, low=first[0], high=first[0])


def _clock(words: Sequence[Token], at: int, before: str) -> tuple[float, int] | None:
    """Return ``(minutes since midnight, token after)`` of a time that cannot be another number."""
    if at >= len(words):
        return None
    word = words[at]
    if word.kind == "time":
        hour, minute = word.text.split(":")[:2]
        return _with_daypart(words, at + 1, int(hour) * 60 + int(minute))
    for spoken in (_spoken, _dotted):
        found = spoken(words, at, before)
        if found:
            return found
    hour_number = _simple(words, at)
    if hour_number is None or hour_number.low % 1 or not 0 <= hour_number.low <= HOURS or hour_number.ordinal:
        return None
    end = hour_number.end
    hours = _lemma_at(words, end) in ("час", "ч")
    end += hours
    minutes = 0.0
    if hours and (small := _simple(words, end)) and _lemma_at(words, small.end) in ("минута", "мин"):
        minutes, end = small.low, small.end + 1
    if _daypart(words, end) and (before in _HOUR_MARKS or words[end].lemma != "день"):
        # «через два дня» counts days.
        return _with_daypart(words, end, hour_number.low * 60 + minutes)
    if hours and (before in ("в", "к", "после", "с", "около") or (before == "до" and hour_number.low > 6)):
        return hour_number.low * 60 + minutes, end
    small = _worded(words, end) if hour_number.worded and not hours else None
    if small and 10 <= small.low < 60 and (_daypart(words, small.end) or before in _HOUR_MARKS):
        # «одиннадцать тридцать утра», «в девять сорок пять»
        return _with_daypart(words, small.end, hour_number.low * 60 + small.low)
    if minutes and before not in _LASTING:
        return hour_number.low * 60 + minutes, end
    if before in ("к", "после") and hour_number.worded and _pos_at(words, end) not in ("NOUN", "ADJF"):
        return hour_number.low * 60, end
    return None


def _spoken(words: Sequence[Token], at: int, before: str) -> tuple[float, int] | None:
    """«половина десятого», «полдесятого», «без четверти шесть», «четверть десятого», «полдень»."""
    word, ordinals = words[at].lemma, _forms("ordinals")
    following = _lemma_at(words, at + 1)
    if word in ("полдень", "полночь") and before in _HOUR_MARKS:
        return (NOON * 60 if word == "полдень" else 0), at + 1
    if word in ("половина", "четверть") and following in ordinals and ordinals[following] <= NOON:
        minutes = 30 if word == "половина" else 15
        return _with_daypart(words, at + 2, (ordinals[following] - 1) * 60 + minutes)
    if word.startswith("пол") and (rest := lemma(words[at].text.lower()[3:].lstrip("-"))) in ordinals:
        return _with_daypart(words, at + 1, (ordinals[rest] - 1) * 60 + 30)
    if word == "без":
        off = 15 if following == "четверть" else None
        number = None if off else _simple(words, at + 1)
        end = at + 2 if off else number.end if number else at
        end += _lemma_at(words, end) == "минута"
        hour = _simple(words, end) if off or (number and number.low < 30) else None
        if hour and 1 <= hour.low <= NOON and not hour.ordinal:
            off = off or int(number.low if number else 0)
            return _with_daypart(words, hour.end, hour.low * 60 - off)
    return None


def _dotted(words: Sequence[Token], at: int, before: str) -> tuple[float, int] | None:
    """«18.00» is a time after «в», «с», «до» …, or when it can be no date."""
    match = re.fullmatch(r"([01]?\d|2[0-4])\.([0-5]\d)", words[at].text)
    if match is None or _unit(words, at + 1) or (before not in _moments("time_marks")):
        return None
    if before in ("на", "по", "к", "до", "с") and 1 <= int(match[2]) <= 12 and int(match[1]):
        return None
    return _with_daypart(words, at + 1, int(match[1]) * 60 + int(match[2]))


def _daypart(words: Sequence[Token], at: int) -> bool:
    return _lemma_at(words, at) in ("утро", "день", "вечер", "ночь") and words[at].text.lower() in (
        "утра", "дня", "вечера", "ночи",
    )  # fmt: skip


def _with_daypart(words: Sequence[Token], at: int, minutes: float) -> tuple[float, int]:
    if not _daypart(words, at):
        return minutes, at
    part = words[at].lemma
    if part in ("день", "вечер") and minutes < NOON * 60:
        minutes += NOON * 60
    elif part == "ночь" and minutes >= NOON * 60:
        minutes -= NOON * 60
    return minutes, at + 1


def _bare_hours(words: Sequence[Token], at: int) -> Found | None:
    """«с 18 до 20», «10–12» after a date: hours without the word, when nothing else is counted."""
    opened = words[at].lemma in ("с", "между")
    number = _number(words, at)
    if number is None or number.low == number.high or number.ordinal or number.high > HOURS or number.low % 1:
        return None
    end = number.end
    hours = _lemma_at(words, end) in ("час", "ч")
    whole = hours or (opened and _daypart(words, end))
    if not whole and (_unit(words, end) or _lemma_at(words, end) in _forms("months") or number.high % 1):
        return None
    near = opened or _after_moment(words, at)
    if not near or (not whole and not opened and _pos_at(words, end) == "NOUN"):
        return None
    low, high = number.low * 60, number.high * 60
    end += hours
    if _daypart(words, end):
        high, end = _with_daypart(words, end, high)
        if words[end - 1].lemma in ("день", "вечер") and low < NOON * 60 and low + NOON * 60 < high:
            low += NOON * 60
    return _value("time", words, at + opened, end, low=low, high=high)


def _after_moment(words: Sequence[Token], at: int) -> bool:
    """Whether a day or a word for a stretch of the day stands up to three tokens before."""
    before = words[max(0, at - 4) : at]
    return any(w.lemma in _days() or w.kind == "date" or _DOTTED_DAY.fullmatch(w.text) for w in before)


_DOTTED_DAY = re.compile(r"\d\d\.\d\d")


@cache
def _days() -> frozenset[str]:
    words = (*_forms("months"), *_forms("weekdays"), *_forms("relative_days"))
    return frozenset((*words, "интервал", "слот", "окно", "время"))


# Weekdays, names


def _named_day(words: Sequence[Token], at: int) -> Found | None:
    """«в субботу», «завтра»."""
    weekday = _forms("weekdays").get(words[at].lemma)
    # Two letters are a day only with their point or in capitals.
    if weekday and (len(words[at].text) > 2 or _mark(words, at + 1, ".")):
        return _value("weekday", words, at, at + 1, text=str(weekday))
    shift = _forms("relative_days").get(words[at].lemma)
    return None if shift is None else _value("date", words, at, at + 1, text=f"{shift:+d}")


def _name(words: Sequence[Token], at: int) -> Found | None:
    """A place: a capital and the dictionary's word for it."""
    word = words[at]
    if word.kind != "word" or not word.text[:1].isupper():
        return None
    if word.form.place:
        return _value("name", words, at, at + 1, text=word.form.place)
    following = words[at + 1] if at + 1 < len(words) else None
    if word.pos == "ADJF" and following and following.form.place:
        return _value("name", words, at, at + 2, text=f"{word.lemma} {following.form.place}")
    return None


_MATCHERS: tuple[Callable[[Sequence[Token], int], Found | None], ...] = (
    _minus, _date, _time, _half, _pair, _term, _quantity, _named_day, _name,
)  # fmt: skip
