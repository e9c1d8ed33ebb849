"""Texts of the course in its two languages, read from the JSON files beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import loads_strict
from toolbench.errors import InputError

LANGS = ("ru", "en")


@cache
def data(name: str) -> Any:
    """Return one of the course's JSON files."""
    return loads_strict(resources.files(__package__).joinpath(f"{name}.json").read_text("utf-8"))


class Words:
    """Texts by key in one language; a call fills in what stands in ``{braces}``.

    Raises
    ------
    InputError
        For a language the course is not written in.
    """

    def __init__(self, lang: str) -> None:
        if lang not in LANGS:
            raise InputError(f"lang {lang!r}: the course is written in {' and '.join(LANGS)}")
        self.lang = lang

    def __call__(self, key: str, **facts: object) -> str:
        """Return a text of ``texts.json``."""
        return self.of(data("texts")[key], **facts)

    def quoted(self, text: str) -> str:
        """Return a text in this language's quotation marks."""
        return self("quoted", said=text)

    def of(self, text: Mapping[str, str] | str, **facts: object) -> str:
        """Return one text in this language; a plain string serves both."""
        said = text if isinstance(text, str) else text[self.lang]
        return said.format(**facts) if facts else said
