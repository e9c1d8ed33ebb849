"""Which language a text is written in: by script, then by its short words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import loads_strict

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_QUOTED = re.compile(r"\"[^\"\n]{0,500}\"|“[^”\n]{0,500}”|«[^»\n]{0,500}»|„[^“”\n]{0,500}[“”]")
ENOUGH = 3
"""Words a text must have before it can be said to be in a language."""
_OTHER_SCRIPTS = (
    (0x0590, 0x05FF, "he"),
    (0x0600, 0x06FF, "ar"),
    (0x0900, 0x097F, "hi"),
    (0x3040, 0x30FF, "ja"),
    (0x4E00, 0x9FFF, "zh"),
    (0xAC00, 0xD7AF, "ko"),
    (0x0370, 0x03FF, "el"),
)


@cache
def _short_words() -> Mapping[str, Mapping[str, frozenset[str]]]:
    text = resources.files(__package__).joinpath("languages.json").read_text("utf-8")
    data: Any = loads_strict(text)
    return {
        script: {lang: frozenset(words) for lang, words in data[script].items()}
        for script in ("latin", "cyrillic")
    }


def language(text: str) -> str:
    """Return the language of a text, or ``""`` when it cannot be told.

    What is quoted does not count, nor do single letters; names and numbers alone have no language.
    """
    words = [word.lower() for word in _WORD.findall(_QUOTED.sub(" ", text))]
    letters = "".join(words)
    if not letters:
        return ""
    cyrillic = sum("\u0400" <= letter <= "\u04ff" for letter in letters)
    latin = sum(letter < "\u0250" for letter in letters)
    for first, last, name in _OTHER_SCRIPTS:
        if sum(first <= ord(letter) <= last for letter in letters) > max(cyrillic, latin):
            return name
    if len(words) < ENOUGH:
        return ""
    # Names of tools and products are Latin in every language: a third of another script decides.
    script = "cyrillic" if cyrillic * 2 > latin else "latin"
    votes = {lang: sum(word in known for word in words) for lang, known in _short_words()[script].items()}
    if script == "cyrillic" and re.search("[іїєґ]", letters):
        return "uk"
    home = "ru" if script == "cyrillic" else "en"
    best = max(votes, key=lambda lang: votes[lang])
    # Neighbours share short words: another language must lead clearly.
    if votes[best] <= 1.5 * votes[home] + 1:
        best = home
    if (
        script == "latin"
        and best == "en"
        and votes["en"] < ENOUGH
        and re.search("[äöüßàâçéèêñãõąęłśżź]", letters)
    ):
        return ""
    return best if votes[best] >= 2 or script == "cyrillic" else ""
