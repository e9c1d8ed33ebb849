"""How an answer may state a value of a result: every usual spelling, derived from the value itself.

The value as the tool wrote it is always among them, so what a result holds can always be stated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime

from toolbench.domain.canonical import JSON
from toolbench.errors import SuiteError

MONTHS: Mapping[str, tuple[str, ...]] = {
    "ru": (
        "января", "февраля", "марта", "апреля", "мая", "июня",
        "июля", "августа", "сентября", "октября", "ноября", "декабря",
    ),
    "en": (
        "january", "february", "march", "april", "may", "june",
        "july", "august", "september", "october", "november", "december",
    ),
}  # fmt: skip
ROUNDED_FROM = 0.1
"""Below this a number rounded to two decimals says too little."""
WHOLE_FROM = 100
"""From here on a number may be stated without its decimals."""


def statements(kind: str, value: JSON, lang: str) -> list[str]:
    """Return the spellings of a value, the tool's own first.

    Parameters
    ----------
    kind
        ``text``, ``number``, ``date`` (ISO), ``time`` (ISO moment), or ``hour`` (``HH:MM``, an end of an
        interval).

    Raises
    ------
    SuiteError
        When the value is not of that kind.
    """
    try:
        spellings = SPELLERS[kind](value, lang)
    except (AttributeError, TypeError, ValueError):
        raise SuiteError(f"{value!r} cannot be stated as a {kind}") from None
    return list(dict.fromkeys([str(value), *spellings]))


def _text(value: JSON, lang: str) -> list[str]:
    return [str(value).replace("_", " ")]


def _number(value: JSON, lang: str) -> list[str]:
    number = float(value)
    exact = repr(int(number) if number.is_integer() else number)
    plain = [exact, f"{number:.2f}" if abs(number) >= ROUNDED_FROM else exact]
    if number.is_integer():
        plain.append(f"{number:.1f}")
    elif abs(number) >= WHOLE_FROM:
        plain.append(f"{number:.0f}")
    if number < 0:
        plain += [one.replace("-", sign) for one in plain for sign in ("−", "– ", "минус ", "minus ")]
        return [spelled for one in plain for spelled in (one, one.replace(".", ","))]
    return [
        spelled
        for one in plain
        for grouped in (one, _in_groups(one, ","), _in_groups(one, " "))
        for spelled in (grouped, grouped.replace(",", " ").replace(".", ","))
    ]


def _in_groups(number: str, separator: str) -> str:
    whole, point, places = number.partition(".")
    return f"{int(whole):,}".replace(",", separator) + point + places


def _date(value: JSON, lang: str) -> list[str]:
    day = date.fromisoformat(value)
    spelled = [day.strftime("%d.%m.%Y"), f"{day:%d.%m}", f"{day.day}.{day:%m}"]
    for month in dict.fromkeys((MONTHS[lang][day.month - 1], MONTHS["en"][day.month - 1])):
        spelled += [f"{day.day} {month}", f"{month} {day.day}"]
    short = MONTHS["en"][day.month - 1][:3]
    return [
        *spelled,
        f"{day.day} {short}",
        f"{short} {day.day}",
        f"{day.day}th of {MONTHS['en'][day.month - 1]}",
    ]


def _time(value: JSON, lang: str) -> list[str]:
    moment = datetime.fromisoformat(value)
    return _clock(moment.hour, moment.minute)


def _clock(hour: int, minute: int) -> list[str]:
    half, after = ("pm", "p.m.") if hour >= 12 else ("am", "a.m.")
    twelve = hour % 12 or 12
    spelled = [f"{hour}{mark}{minute:02}" for mark in ":."] + [f"{hour:02}:{minute:02}"]
    spelled += [
        f"{one}:{minute:02}{blank}{mark}"
        for one in (twelve, f"{twelve:02}")
        for blank in ("", " ")
        for mark in (half, after)
    ]
    return [*spelled, f"{hour} ч {minute:02}", f"{hour} час"] if minute else [*spelled, f"{hour} час"]


def _hour(value: JSON, lang: str) -> list[str]:
    hour, minute = (int(part) for part in value.split(":"))
    spelled = _clock(hour, minute)
    if not minute:
        half = "pm" if hour >= 12 else "am"
        twelve = hour % 12 or 12
        spelled += [f"{twelve} {half}", f"{twelve}{half}"]
        for one in dict.fromkeys((hour, twelve)):
            spelled += [f"{one}{dash}" for dash in "-–—"] + [f"{dash}{one}" for dash in "-–—"]
            spelled += [
                f"{word} {one}" for word in ("с", "до", "from", "to", "till", "until", "and", "between")
            ]
    return spelled


SPELLERS: Mapping[str, Callable[[JSON, str], list[str]]] = {
    "text": _text,
    "number": _number,
    "date": _date,
    "time": _time,
    "hour": _hour,
}
