"""Making a text readable: one spelling of blanks, dashes and quotes, no decoration, lines as blocks.

Everything here is linear in the length of the text, and the length is bounded.
"""

from __future__ import annotations

import re
import unicodedata

LIMIT = 20_000
"""Characters that are read; a reply that needs more says nothing more that a check could use."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_STACKED = re.compile(
    r"([\u0300-\u036f\u0483-\u0489\u20d0-\u20f0])[\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]+"
)
_BLANKS = re.compile(r"[^\S\n]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe0f]")
_LINE_START = re.compile(r"(?m)^[ ]*(?:>[ ]*)*(?:#{1,6}[ ]+|[-*+•·–—][ ]+)*")
# A number at the start of a line is a list's only where the list begins with 1: "36." may be the answer.
_FIRST, _SECOND = (re.compile(rf"(?m)^{n}[.)][ ]+\D") for n in (1, 2))
_ITEM = re.compile(r"(?m)^\d{1,2}[.)][ ]+(?=\D)")
_RULE = re.compile(r"(?m)^[ |:=-]{3,}$")
# Stars and underscores around words are emphasis; a star between numbers multiplies.
_EMPHASIS = re.compile(
    r"\*\*+|(?<![\d)\s])\*(?![\d(])|(?<![\d)])\*(?=\w)|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|`+|~~"
)
_JOINED = str.maketrans(
    {"‐": "-", "‑": "-", "−": "-", "‒": "–", "―": "—", "‘": "'", "’": "'", "ʼ": "'", "…": "…"}
)
# "$2 \\times 3$" is a formula; its marks are no currency.
_FORMULA = re.compile(r"\$([^$\n]*\\[a-z]+[^$\n]*)\$")
_DASH_INSIDE = re.compile(r"(?<=\w)[–—](?=\w)")


def prepared(text: str) -> tuple[str, bool]:
    """Return the text as readers see it, and whether it had to be cut.

    Composed (NFC), stacked accents and invisible characters dropped, one kind of apostrophe and blank, dashes
    inside a word as hyphens. Lines stay lines.
    """
    cut = len(text) > LIMIT
    text = _SURROGATE.sub("\ufffd", text[: 2 * LIMIT])
    text = unicodedata.normalize("NFC", _STACKED.sub(r"\1", text))[:LIMIT]
    text = _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n").translate(_JOINED))
    return _DASH_INSIDE.sub("-", _BLANKS.sub(" ", text)), cut


def prose(text: str) -> str:
    """Return a prepared text without headings, bullets, emphasis and rules."""
    text = _FORMULA.sub(r"\1", text) if "\\" in text else text
    text = _LINE_START.sub("", _RULE.sub("", text))
    # Marks around the whole reply quote nothing.
    whole = re.fullmatch(r"\s*(?:«([^«»]*)»|\"([^\"]*)\"|“([^“”]*)”)\s*", text)
    text = next(filter(None, whole.groups()), text) if whole else text
    numbered = _FIRST.search(text) and _SECOND.search(text)
    return _EMPHASIS.sub("", _ITEM.sub("", text) if numbered else text).strip()
