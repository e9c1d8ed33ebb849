"""Text as all comparisons see it, and where a piece of it stands."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

_MARK = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED = re.compile(f"({_MARK}{{30}}){_MARK}+")
"""Over thirty accents on one letter, which no writing has (Unicode's "stream-safe" bound)."""
NUMBER = re.compile(r"\d+(?:[ \u00a0\u202f,]\d{3}(?!\d))*(?:[.,]\d+)?")
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_DATE = re.compile(r"(?<!\d)(\d{1,2})[./](\d{1,2})[./](\d{4})(?!\d)")


def composed(text: str) -> str:
    """Return text in NFC; the accents are cut first where they are stacked, for composing is quadratic."""
    return text if text.isascii() else unicodedata.normalize("NFC", _STACKED.sub(r"\1", text))


KEPT_LENGTH = 500
"""Characters up to which a normalised text is kept in memory."""
_APOSTROPHE = re.compile(r"[‘’ʼ]")
_EMPHASIS = re.compile(r"(?<![\d)])\*+|\*+(?![\d(])|[#`]+")
"""Markdown emphasis would split "**ORD-123456**" from its words; between numbers a star multiplies."""


def normalize(text: str) -> str:
    """Return text as all comparisons see it: NFC, lower case, ё as е, one kind of dash, quote and blank."""
    return _normal(text) if len(text) <= KEPT_LENGTH else _normalized(text)


def _normalized(text: str) -> str:
    text = composed(text).lower().replace("ё", "е")
    return " ".join(_EMPHASIS.sub("", _APOSTROPHE.sub("'", text)).split())


def position(text: str, piece: str) -> int | None:
    """Return where normalised ``text`` contains ``piece`` (normalised here), or ``None``.

    A piece that begins or ends with a letter or digit must begin or end a word there — "Rome" is not in
    "Romeo" — except that a word may go on with letters where the piece ends, because languages inflect:
    "самар" is found in "в самаре". Numbers must stand alone.
    """
    piece = normalize(piece)
    at = text.find(piece)
    while at >= 0:
        if _stands_alone(text, piece, at):
            return at
        at = text.find(piece, at + 1)
    return None


_normal = lru_cache(maxsize=16_384)(_normalized)


def _stands_alone(text: str, piece: str, at: int) -> bool:
    end = at + len(piece)
    if piece[:1].isalnum() and at and (text[at - 1].isalnum() or text[at - 1] == "_"):
        return False
    if not piece[-1:].isdigit():
        return True
    following = text[end : end + 2]
    return not (following[:1].isdigit() or (following[:1] in (".", ",") and following[1:].isdigit()))


def contains(text: str, piece: str) -> bool:
    """Whether normalised ``text`` contains ``piece`` (see :func:`position`)."""
    return position(text, piece) is not None


def contains_any(text: str, pieces: Sequence[str]) -> bool:
    """Whether any of the pieces occurs (see :func:`contains`); ``text`` is normalised already."""
    return any(contains(text, bare) for bare in _all_normalized(tuple(pieces)) if bare in text)


@lru_cache(maxsize=8192)
def _all_normalized(pieces: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(normalize, pieces))


def numbers_in(text: str) -> set[Decimal]:
    """Return every reading of every number in a text: ``1,500`` is both 1500 and 1.5."""
    found = {Decimal(part) for date in _DATE.finditer(text) for part in date.groups()}
    for match in NUMBER.finditer(text):
        # "9 300" is one number, or two beside each other.
        for part in (re.sub(r"\s", "", match[0]), *match[0].split()):
            readings = {part.replace(",", ".")}
            if _GROUPED.fullmatch(part):
                readings.add(part.replace(",", ""))
            found |= {Decimal(reading) for reading in readings if reading.count(".") <= 1}
    return found
