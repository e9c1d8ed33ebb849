"""Lines and sentences of prose: the same for every language."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_END = re.compile(r"…+(?=\s|$)|[.!?]+…*[\"'»”)\]]*(?=\s|$)|[^\S\n]*\n\s*|[^\S\n]*\|[^\S\n]*")
MOST = 2000
"""Sentences that are read."""


@dataclass(frozen=True)
class Sentence:
    """One sentence, heading, list item or table cell, and its place in the text.

    ``block`` is the index of the line it stands on.
    """

    text: str
    start: int
    block: int
    index: int

    @property
    def asks(self) -> bool:
        """Whether it ends with a question mark."""
        return "?" in self.text[-4:]


def sentences(text: str, abbreviations: Collection[str] = ()) -> Iterator[Sentence]:
    """Yield the sentences of prose.

    Parameters
    ----------
    text
        Prose.
    abbreviations
        Words (lower case, without the dot) after which a dot ends no sentence.
    """
    start, block, index = 0, 0, 0
    for found in _END.finditer(text):
        word = re.search(r"[\w.]*$", text[max(start, found.start() - 12) : found.start()])
        dotted = found[0] == "." and word is not None and word[0].lower().rstrip(".") in abbreviations
        if dotted and found.end() < len(text):
            continue
        piece = text[start : found.end()]
        if piece.strip(" |\n"):
            yield Sentence(piece, start, block, index)
            index += 1
            if index >= MOST:
                return
        block += "\n" in found[0]
        start = found.end()
    if text[start:].strip():
        yield Sentence(text[start:], start, block, index)
