"""How a value of a result is given to the judge as a fact: as the tool wrote it, and as people do.

The judge compares values, so one usual spelling a language is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime

from toolbench.domain.canonical import JSON
from toolbench.errors import SuiteError

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
    plain = [repr(int(number) if number.is_integer() else number)]
    if not number.is_integer() and abs(number) >= ROUNDED_FROM:
        plain.append(f"{number:.2f}")
    if not number.is_integer() and abs(number) >= WHOLE_FROM:
        plain.append(f"{number:.0f}")
    return [one.replace(".", ",") if lang == "ru" else one for one in plain]


def _date(value: JSON, lang: str) -> list[str]:
    return [date.fromisoformat(value).strftime("%d.%m.%Y")]


def _time(value: JSON, lang: str) -> list[str]:
    return [datetime.fromisoformat(value).strftime("%H:%M")]


def _hour(value: JSON, lang: str) -> list[str]:
    hour, minute = (int(part) for part in value.split(":"))
    return [f"{hour:02}:{minute:02}"]


SPELLERS: Mapping[str, Callable[[JSON, str], list[str]]] = {
    "text": _text,
    "number": _number,
    "date": _date,
    "time": _time,
    "hour": _hour,
}
