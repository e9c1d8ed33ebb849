"""Declared value normalisers: a second, separate figure beside strict equality, never a replacement.

A contract names one per argument; a value that no normaliser understands is compared as it is. What a value
says beside itself (a unit, a currency, a country, a time of day) is kept: it may go unsaid where the expected
value does not name it, and is never taken for another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache

from toolbench.domain.calculator import ExpressionError, calculate
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.contract import ToolSpec
from toolbench.domain.extensions import extensions_of
from toolbench.errors import ExtensionError, SuiteError
from toolbench.judging.reading.prepare import prepared
from toolbench.judging.reading.reader import values_of
from toolbench.judging.reading.statements import Value
from toolbench.judging.text import composed

VERSION = "2"

_CITY_PREFIX = re.compile(r"^(г\.?|гор\.?|город|city of|the city of)\s+", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""A comma before three digits parts thousands, unless the text is Russian: the reader knows."""
_YEAR_FIRST = re.compile(r"\b(\d{4})/(\d{1,2})/(\d{1,2})\b")
_YEAR_LAST = re.compile(r"\b(\d{1,2})-(\d{1,2})-(\d{4})\b")
_JOINTS = re.compile(r"[\W_]*(?:(?:at|on|the|of|г|года|в|на)[\W_]*)*", re.IGNORECASE)
"""What may stand between a date and a time, and around an amount."""
_LONGEST = 300
"""Characters beyond which a text is no date and no amount of anything."""


@dataclass(frozen=True)
class Meaning:
    """What a value stands for.

    Attributes
    ----------
    value
        The value in one spelling.
    beside
        What it says beside that: a unit or currency, a country or region, a time of day and its zone.
    """

    value: JSON
    beside: frozenset[str] = frozenset()

    def meets(self, expected: Meaning) -> bool:
        """Whether it says everything that the expected one says, and nothing else in its place."""
        return equal(self.value, expected.value) and expected.beside <= self.beside


def plain(value: JSON) -> JSON:
    """Return a value with equal numbers spelled equally (12 and 12.0) and equal texts composed equally.

    Types are kept: 2.5 is not "2.5".
    """
    return _alike(value, composed)


def equal(left: JSON, right: JSON) -> bool:
    """Equality by canonical JSON: order of keys and Unicode form aside, types kept, 12 equals 12.0."""
    if isinstance(left, str) and isinstance(right, str):
        return composed(left) == composed(right)
    return canonical_json(plain(left)) == canonical_json(plain(right))


def identical(left: JSON, right: JSON) -> bool:
    """Equality of every character of every text."""
    return canonical_json(_alike(left, str)) == canonical_json(_alike(right, str))


def _alike(value: JSON, text: Callable[[str], str]) -> JSON:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: _alike(inner, text) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_alike(inner, text) for inner in value]
    return value


def text(value: JSON) -> Meaning:
    """NFC, lower case, ё as е, outer blanks and quotes off, inner blanks single."""
    return Meaning(_folded(value) if isinstance(value, str) else value)


def _folded(value: str) -> str:
    folded = composed(value).casefold().replace("ё", "е")
    return re.sub(r"\s+", " ", folded).strip(" \t\n\"'«».")


def city(value: JSON) -> Meaning:
    """A city without "г." or "city of"; countries and regions after a comma stand beside it."""
    if not isinstance(value, str):
        return Meaning(value)
    name, *regions = _CITY_PREFIX.sub("", value.strip()).split(",")
    return Meaning(_folded(name), frozenset(filter(None, map(_folded, regions))))


def amount(value: JSON) -> Meaning:
    """A number, also out of a text such as "2,5 кг", to its last digit; its unit or currency beside it."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return Meaning(value)
    if not isinstance(value, str):
        return Meaning(_spelled(Decimal(str(value)))) if math.isfinite(value) else Meaning(value)
    if len(value) > _LONGEST:
        return Meaning(value)
    text = prepared(value)[0].strip()
    if _NUMBER.fullmatch(text) and not _GROUPED.fullmatch(text):
        return Meaning(_spelled(exact(text)))
    found = values_of(text)
    if len(found) != 1 or found[0].low is None or found[0].low != found[0].high or _left(text, found):
        return Meaning(value)
    return Meaning(_spelled(number_of(found[0])), frozenset(filter(None, [found[0].unit])))


def exact(digits: str) -> Decimal:
    """Return the number that digits spell, a comma as the decimal sign."""
    return Decimal(digits.replace(",", "."))


def number_of(value: Value) -> Decimal:
    """Return the number that a reader has found, to the last digit where it is spelled in digits."""
    digits = _NUMBER.findall(re.sub(r"(?<=\d)[ '](?=\d{3})", "", value.spelled))
    near = Decimal(str(value.low))
    spelled = [exact(one) for one in digits] + [exact(one.replace(",", "")) for one in digits]
    return next((one for one in spelled if float(one) == float(near)), near)


def _spelled(number: Decimal) -> str:
    """Return the one spelling of a number: no float is exact enough for nineteen digits."""
    digits = f"{number:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def identifier(value: JSON) -> Meaning:
    """Upper case, no blanks, one kind of dash, no leading "#" or "№"."""
    if not isinstance(value, str):
        return Meaning(value)
    return Meaning(re.sub(r"[‐-―−]", "-", re.sub(r"\s+", "", value)).lstrip("#№").upper())


def moment(value: JSON) -> Meaning:
    """A date as YYYY-MM-DD out of any usual spelling, time of day (and UTC) beside it; or a time alone."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return Meaning(value)
    try:
        return _instant(datetime.fromisoformat(value.strip()), len(value.strip()) > len("2026-12-05"))
    except ValueError:
        pass
    text = _YEAR_FIRST.sub(r"\1-\2-\3", _YEAR_LAST.sub(r"\1.\2.\3", prepared(value)[0].strip()))
    found = values_of(text)
    dates, times = ([one for one in found if one.kind == kind] for kind in ("date", "time"))
    if not found or len(found) > len(dates[:1]) + len(times[:1]) or _left(text, found):
        return Meaning(value)
    clock = [f"{int(one.low or 0) // 60:02d}:{int(one.low or 0) % 60:02d}" for one in times]
    return Meaning(dates[0].text, frozenset(clock)) if dates else Meaning(clock[0])


def _instant(when: datetime, timed: bool) -> Meaning:
    zoned = when.tzinfo is not None
    when = when.astimezone(UTC) if zoned else when
    clock = when.strftime("%H:%M") + (when.strftime(":%S") if when.second else "")
    beside = [clock] if timed else []
    return Meaning(when.date().isoformat(), frozenset([*beside, "UTC"] if zoned else beside))


def _left(text: str, found: Sequence[Value]) -> bool:
    """Whether anything but joining words is left of a text when values are taken out."""
    for one in found:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return _JOINTS.fullmatch(text) is None


def expression(value: JSON) -> Meaning:
    """An arithmetic expression as its value: ``240*0.15`` and ``15 / 100 * 240`` ask for the same."""
    if not isinstance(value, str):
        return Meaning(value)
    try:
        return Meaning(plain(calculate(value)))
    except ExpressionError:
        return text(value)


NORMALIZERS: Mapping[str, Callable[[JSON], Meaning]] = {
    "text": text,
    "city": city,
    "number": amount,
    "money": amount,
    "identifier": identifier,
    "date": moment,
    "expression": expression,
}


_OWN = frozenset({*NORMALIZERS, ""})


def normalizer(name: str) -> Callable[[JSON], Meaning]:
    """Return a normaliser by name, one of an extension included; a value without one means itself."""
    own = NORMALIZERS.get(name)
    if own is not None or not name:
        return own or Meaning
    found = extensions_of("normalizers").get(name)
    if found is None:
        raise SuiteError(f"no normalizer {name!r}: the package that had it is not installed")

    def apply(value: JSON) -> Meaning:
        try:
            return Meaning(found.value(value))
        except Exception as fault:
            raise ExtensionError(f"extension {found} failed: {type(fault).__name__}: {fault}") from None

    return apply


def normalized(tool: ToolSpec, argument: str, value: JSON) -> Meaning:
    """Return what an argument's value means by its declared normaliser, synonyms and unit."""
    if isinstance(value, str) and is_own(tool, argument):
        return _text_normalized(tool, argument, value)
    return _normalized(tool, argument, value)


def is_own(tool: ToolSpec, argument: str) -> bool:
    """Whether an argument is read by toolbench itself, which always does it alike."""
    return tool.normalizers.get(argument, "") in _OWN


def _normalized(tool: ToolSpec, argument: str, value: JSON) -> Meaning:
    name = tool.normalizers.get(argument, "")
    found = _meant(name, value)
    for canonical, others in tool.synonyms.get(argument, {}).items():
        if any(equal(found.value, _meant(name, other).value) for other in (canonical, *others)):
            found = Meaning(_meant(name, canonical).value, found.beside)
            break
    unit = tool.units.get(argument)
    measured = normalizer(name) is amount and not found.beside
    return Meaning(found.value, frozenset([unit])) if measured and unit else found


_text_normalized: Callable[[ToolSpec, str, str], Meaning] = lru_cache(maxsize=16_384)(_normalized)


def _meant(name: str, value: JSON) -> Meaning:
    if isinstance(value, str) and name in _OWN:
        return _text_meant(name, value)
    return normalizer(name)(value)


@lru_cache(maxsize=16_384)
def _text_meant(name: str, value: str) -> Meaning:
    """Return what a text means; kept: a contract's synonyms are gone through for every argument."""
    return normalizer(name)(value)


def alike(name: str, actual: JSON, good: JSON) -> bool:
    """Whether a named normaliser takes a value for the expected one."""
    apply = normalizer(name)
    return apply(actual).meets(apply(good))
