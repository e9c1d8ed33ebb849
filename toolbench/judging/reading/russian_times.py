"""Dates and times of day as Russian tells them: «пятого декабря», «с 18 до 20», «в половине десятого»."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from functools import cache

from toolbench.judging.reading.russian_numbers import (
    DASHES,
    Found,
    forms_of,
    lemma_at,
    make,
    mark_at,
    moment_words,
    number_at,
    pos_at,
    simple_at,
    unit_at,
    worded_at,
)
from toolbench.judging.reading.russian_words import Token, data, lemma

_HOUR_MARKS = ("в", "к", "с", "до", "после", "около", "по", "сейчас")


_LASTING = ("за", "через", "течение", "на", "занять", "занимать", "длиться")


HOURS = 24


NOON = 12


def date_at(words: Sequence[Token], at: int) -> Found | None:
    """«5 декабря 2026 года», «пятого декабря», «5-го», «05.12»."""
    if words[at].kind == "date":
        return make("date", words, at, at + 1, text=text) if (text := _full_date(words[at].text)) else None
    opened = lemma_at(words, at) in ("с", "от")
    day = simple_at(words, at + opened)
    if day is None or day.low % 1 or not 1 <= day.low <= 31:
        return _short_date(words, at)
    month = forms_of("months").get(lemma_at(words, day.end))
    start = at + opened
    if month is None or (lemma_at(words, day.end) == "март" and words[day.end].text.lower() == "мар"):
        number_word = lemma_at(words, day.end) == "число"
        if day.ordinal and (number_word or not day.worded) and _is_day(words, start, day.end, number_word):
            return make("date", words, start, day.end + number_word, text=f"---{int(day.low):02d}")
        if day.low == day.high and (follower := _first_of_two(words, day.end)):
            return make("date", words, start, day.end, text=f"--{follower:02d}-{int(day.low):02d}")
        return _short_date(words, at)
    end = day.end + 1
    if mark_at(words, end, ".") and words[day.end].text.lower() in data()["values"]["months"]:
        end += len(words[day.end].text) <= 4
    year, end = _year(words, end)
    return make("date", words, start, end, text=f"{year or '-'}-{month:02d}-{int(day.low):02d}")


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
    return number_word or (words[start].ending in ("го", "е") and pos_at(words, end) != "NOUN")


def _first_of_two(words: Sequence[Token], at: int) -> int | None:
    """Return the month of the second day of «2–3 декабря», «со 2 по 5 декабря», «2 и 3 декабря»."""
    if not (at < len(words) and (words[at].text in DASHES or words[at].lemma in ("по", "и", "или", "до"))):
        return None
    second = simple_at(words, at + 1)
    if second is None or second.low % 1 or not 1 <= second.low <= 31:
        return None
    month: int | None = forms_of("months").get(lemma_at(words, second.end))
    return month


def _year(words: Sequence[Token], at: int) -> tuple[str, int]:
    if at < len(words) and re.fullmatch(r"(19|20)\d\d", words[at].text):
        end = at + 1
        if lemma_at(words, end) in ("год", "г"):
            end += 1
        return words[at].text, end
    return "", at


def _short_date(words: Sequence[Token], at: int) -> Found | None:
    """«05.12»: two digits each, no unit behind."""
    word = words[at]
    match = re.fullmatch(r"(\d{1,2})\.(\d\d)", word.text) if word.kind == "number" else None
    if match is None or unit_at(words, at + 1):
        return None
    day, month = int(match[1]), int(match[2])
    before = lemma_at(words, at - 1)
    led = before in ("на", "к", "до", "с", "по", "от") or before in forms_of("weekdays")
    if 1 <= day <= 31 and 1 <= month <= 12 and (len(match[1]) == 2 or led):
        return make("date", words, at, at + 1, text=f"--{month:02d}-{day:02d}")
    return None


def time_at(words: Sequence[Token], at: int) -> Found | None:
    """Read a time of day, or two with «с … до …» or a dash between them."""
    opened = words[at].lemma in ("с", "между", "от")
    first = _clock(words, at + opened, words[at - 1].lemma if at and not opened else words[at].lemma)
    if first is None:
        return _bare_hours(words, at)
    start, end = at + opened, first[1]
    second = None
    if end < len(words) and (words[end].text in DASHES or words[end].lemma in ("до", "по", "и")):
        second = _clock(words, end + 1, "до")
    if second is None and opened and first[0] >= NOON * 60 and (hour := simple_at(words, end + 1)):
        # «с полудня до двух»
        worded = lemma_at(words, end) == "до" and hour.worded and not hour.ordinal and hour.low < NOON
        second = ((hour.low + NOON) * 60, hour.end) if worded and not unit_at(words, hour.end) else None
    if second and second[0] > first[0]:
        low = first[0]
        # «с 2 до 5 вечера»: the word stands once, for both.
        if low + NOON * 60 < second[0] and low < NOON * 30 and not _daypart(words, first[1] - 1):
            low += NOON * 60 if second[0] >= NOON * 60 and low < 7 * 60 else 0
        return make("time", words, start, second[1], low=low, high=second[0])
    return make("time", words, start, end, low=first[0], high=first[0])


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
    hour_number = simple_at(words, at)
    if hour_number is None or hour_number.low % 1 or not 0 <= hour_number.low <= HOURS or hour_number.ordinal:
        return None
    end = hour_number.end
    hours = lemma_at(words, end) in ("час", "ч")
    end += hours
    minutes = 0.0
    if hours and (small := simple_at(words, end)) and lemma_at(words, small.end) in ("минута", "мин"):
        minutes, end = small.low, small.end + 1
    if _daypart(words, end) and (before in _HOUR_MARKS or words[end].lemma != "день"):
        # «через два дня» counts days.
        return _with_daypart(words, end, hour_number.low * 60 + minutes)
    if hours and (before in ("в", "к", "после", "с", "около") or (before == "до" and hour_number.low > 6)):
        return hour_number.low * 60 + minutes, end
    small = worded_at(words, end) if hour_number.worded and not hours else None
    if small and 10 <= small.low < 60 and (_daypart(words, small.end) or before in _HOUR_MARKS):
        # «одиннадцать тридцать утра», «в девять сорок пять»
        return _with_daypart(words, small.end, hour_number.low * 60 + small.low)
    if minutes and before not in _LASTING:
        return hour_number.low * 60 + minutes, end
    if before in ("к", "после") and hour_number.worded and pos_at(words, end) not in ("NOUN", "ADJF"):
        return hour_number.low * 60, end
    return None


def _spoken(words: Sequence[Token], at: int, before: str) -> tuple[float, int] | None:
    """«половина десятого», «полдесятого», «без четверти шесть», «четверть десятого», «полдень»."""
    word, ordinals = words[at].lemma, forms_of("ordinals")
    following = lemma_at(words, at + 1)
    if word in ("полдень", "полночь") and before in _HOUR_MARKS:
        return (NOON * 60 if word == "полдень" else 0), at + 1
    if word in ("половина", "четверть") and following in ordinals and ordinals[following] <= NOON:
        minutes = 30 if word == "половина" else 15
        return _with_daypart(words, at + 2, (ordinals[following] - 1) * 60 + minutes)
    if word.startswith("пол") and (rest := lemma(words[at].text.lower()[3:].lstrip("-"))) in ordinals:
        return _with_daypart(words, at + 1, (ordinals[rest] - 1) * 60 + 30)
    if word == "без":
        off = 15 if following == "четверть" else None
        number = None if off else simple_at(words, at + 1)
        end = at + 2 if off else number.end if number else at
        end += lemma_at(words, end) == "минута"
        hour = simple_at(words, end) if off or (number and number.low < 30) else None
        if hour and 1 <= hour.low <= NOON and not hour.ordinal:
            off = off or int(number.low if number else 0)
            return _with_daypart(words, hour.end, hour.low * 60 - off)
    return None


def _dotted(words: Sequence[Token], at: int, before: str) -> tuple[float, int] | None:
    """«18.00» is a time after «в», «с», «до» …, or when it can be no date."""
    match = re.fullmatch(r"([01]?\d|2[0-4])\.([0-5]\d)", words[at].text)
    if match is None or unit_at(words, at + 1) or (before not in moment_words("time_marks")):
        return None
    if before in ("на", "по", "к", "до", "с") and 1 <= int(match[2]) <= 12 and int(match[1]):
        return None
    return _with_daypart(words, at + 1, int(match[1]) * 60 + int(match[2]))


def _daypart(words: Sequence[Token], at: int) -> bool:
    return lemma_at(words, at) in ("утро", "день", "вечер", "ночь") and words[at].text.lower() in (
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
    number = number_at(words, at)
    if number is None or number.low == number.high or number.ordinal or number.high > HOURS or number.low % 1:
        return None
    end = number.end
    hours = lemma_at(words, end) in ("час", "ч")
    whole = hours or (opened and _daypart(words, end))
    if not whole and (unit_at(words, end) or lemma_at(words, end) in forms_of("months") or number.high % 1):
        return None
    near = opened or _after_moment(words, at)
    if not near or (not whole and not opened and pos_at(words, end) == "NOUN"):
        return None
    low, high = number.low * 60, number.high * 60
    end += hours
    if _daypart(words, end):
        high, end = _with_daypart(words, end, high)
        if words[end - 1].lemma in ("день", "вечер") and low < NOON * 60 and low + NOON * 60 < high:
            low += NOON * 60
    return make("time", words, at + opened, end, low=low, high=high)


def _after_moment(words: Sequence[Token], at: int) -> bool:
    """Whether a day or a word for a stretch of the day stands up to three tokens before."""
    before = words[max(0, at - 4) : at]
    return any(w.lemma in _day_words() or w.kind == "date" or _DOTTED_DAY.fullmatch(w.text) for w in before)


_DOTTED_DAY = re.compile(r"\d\d\.\d\d")


@cache
def _day_words() -> frozenset[str]:
    words = (*forms_of("months"), *forms_of("weekdays"), *forms_of("relative_days"))
    return frozenset((*words, "интервал", "слот", "окно", "время"))


def day_name_at(words: Sequence[Token], at: int) -> Found | None:
    """«в субботу», «завтра»."""
    weekday = forms_of("weekdays").get(words[at].lemma)
    # Two letters are a day only with their point or in capitals.
    if weekday and (len(words[at].text) > 2 or mark_at(words, at + 1, ".")):
        return make("weekday", words, at, at + 1, text=str(weekday))
    shift = forms_of("relative_days").get(words[at].lemma)
    return None if shift is None else make("date", words, at, at + 1, text=f"{shift:+d}")
