"""Declared value normalisers: a second, separate figure beside strict equality, never a replacement.

A contract names one per argument; a value that no normaliser understands is compared as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from toolbench.domain.calculator import ExpressionError, calculate
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.contract import ToolSpec
from toolbench.judging.text import composed

VERSION = "1"

_CITY_PREFIX = re.compile(r"^(г\.?|гор\.?|город|city of|the city of)\s+", re.IGNORECASE)
_MONEY_UNIT = re.compile(r"(₽|руб(лей|ля|ль|\.)?|rub|usd|eur|\$|€|dollars?|euros?)", re.IGNORECASE)


def plain(value: JSON) -> JSON:
    """Return a value with equal numbers spelled equally (12 and 12.0); types are kept (2.5 is not "2.5")."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def equal(left: JSON, right: JSON) -> bool:
    """Strict equality by canonical JSON: key order is ignored, types are kept, 12 equals 12.0."""
    return canonical_json(plain(left)) == canonical_json(plain(right))


def text(value: JSON) -> JSON:
    """NFC, lower case, ё as е, outer blanks and quotes off, inner blanks single."""
    if not isinstance(value, str):
        return value
    folded = composed(value).casefold().replace("ё", "е")
    return re.sub(r"\s+", " ", folded).strip(" \t\n\"'«».")


def city(value: JSON) -> JSON:
    """A city without "г." or "city of", and without a country or region after a comma."""
    if not isinstance(value, str):
        return value
    return text(_CITY_PREFIX.sub("", value.strip()).split(",")[0])


def number(value: JSON) -> JSON:
    """A number, also out of a text such as "2,5 кг"."""
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([-+]?[\d\s\u00a0]*\d(?:[.,]\d+)?)\s*[^\d]*", value)
        if not found:
            return value
        try:
            amount = float(Decimal(re.sub(r"[\s\u00a0]", "", found.group(1)).replace(",", ".")))
        except InvalidOperation:
            return value
        # More than three hundred digits are no amount of anything.
        return plain(amount) if math.isfinite(amount) else value
    return plain(value)


def money(value: JSON) -> JSON:
    """A number with its currency sign or word taken off."""
    return number(_MONEY_UNIT.sub("", value)) if isinstance(value, str) else plain(value)


def identifier(value: JSON) -> JSON:
    """Upper case, no blanks, one kind of dash, no leading "#" or "№"."""
    if not isinstance(value, str):
        return value
    return re.sub(r"[‐-―−]", "-", re.sub(r"\s+", "", value)).lstrip("#№").upper()


def iso_date(value: JSON) -> JSON:
    """A date as YYYY-MM-DD, out of the usual European and ISO spellings."""
    if not isinstance(value, str):
        return value
    for pattern in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y/%m/%d"):
        try:
            return datetime.strptime(value.strip(), pattern).date().isoformat()
        except ValueError:
            continue
    try:
        return date.fromisoformat(value.strip()[:10]).isoformat()
    except ValueError:
        return value


def expression(value: JSON) -> JSON:
    """An arithmetic expression as its value: ``240*0.15`` and ``15 / 100 * 240`` ask for the same."""
    if not isinstance(value, str):
        return value
    try:
        return plain(calculate(value))
    except ExpressionError:
        return text(value)


NORMALIZERS: Mapping[str, Callable[[JSON], JSON]] = {
    "text": text,
    "city": city,
    "number": number,
    "money": money,
    "identifier": identifier,
    "date": iso_date,
    "expression": expression,
}


def normalized(tool: ToolSpec, argument: str, value: JSON) -> JSON:
    """Return an argument's value as its declared normaliser and synonyms see it."""
    apply = NORMALIZERS.get(tool.normalizers.get(argument, ""), plain)
    result = apply(value)
    for canonical, others in tool.synonyms.get(argument, {}).items():
        if any(equal(result, apply(other)) for other in _all(canonical, others)):
            return apply(canonical)
    return result


def _all(canonical: str, others: Sequence[str]) -> list[str]:
    return [canonical, *others]
