"""The report's words in its two languages: sentences, names of figures, and how numbers are written."""

from __future__ import annotations

from functools import cache
from importlib import resources
from numbers import Integral
from typing import Any

import pandas as pd

from toolbench.domain.canonical import loads_strict
from toolbench.domain.codes import CODES
from toolbench.domain.plurals import Counted
from toolbench.errors import InputError

LANGS = ("en", "ru")
NOTHING = "–"
"""In place of a figure that there is none of."""


class Words:
    """Everything a page says in one language.

    Raises
    ------
    InputError
        For a language there are no words in.
    """

    def __init__(self, lang: str = "en") -> None:
        if lang not in LANGS:
            raise InputError(f"no report in {lang!r}; there are: {', '.join(LANGS)}")
        self.lang = lang

    def __call__(self, key: str, **values: object) -> str:
        """Return a sentence, its gaps filled; a whole number chooses among the forms of its word."""
        given = {
            name: Counted(int(value), self.lang) if isinstance(value, Integral) else value
            for name, value in values.items()
        }
        return str(_texts()[key][self.lang]).format(**given)

    def name(self, group: str, key: str) -> str:
        """Return what something is called (``metric``, ``gate``, ``family`` …), else its own name."""
        entry = _texts().get(f"{group}.{key}")
        return str(entry[self.lang]) if entry else key

    def meaning(self, code: str) -> str:
        """Return what a finding means in one sentence; the code itself where there is none."""
        return CODES[code].meaning[self.lang] if code in CODES else self.name("status", code)

    def diagnosis(self, code: str) -> str:
        """Return what to look at after a finding."""
        return CODES[code].diagnosis[self.lang] if code in CODES else ""

    def decimal(self, text: str) -> str:
        """Return a number's text with the language's decimal sign."""
        return text.replace(".", ",") if self.lang == "ru" else text

    def share(self, above: float, below: float) -> str:
        """Return ``62 %``; one decimal where a whole number would hide an exception."""
        if not below or pd.isna(below) or pd.isna(above):
            return NOTHING
        value = 100 * above / below
        near = 0 < value < 1 or 99 < value < 100
        return self.decimal(f"{value:.1f} %" if near else f"{value:.0f} %")

    def span(self, low: Any, high: Any) -> str:
        """Return the ends of an interval of a share in percent: ``31–86``."""
        return "" if pd.isna(low) or pd.isna(high) else f"{100 * low:.0f}\u2060–\u2060{100 * high:.0f}"

    def units(self, text: str) -> str:
        """Return a figure's text with the names of its units in the language."""
        return text.replace(" points", self("unit.points")) if self.lang != "en" else text

    def time(self, milliseconds: Any) -> str:
        """Return a time with its unit, ms below a second."""
        if milliseconds is None or pd.isna(milliseconds):
            return NOTHING
        if milliseconds < 1000:
            return self("unit.ms", number=f"{milliseconds:.0f}")
        return self("unit.s", number=self.decimal(f"{milliseconds / 1000:.1f}"))

    def money(self, value: Any, currency: object) -> str:
        """Return a cost with its currency; nothing spent needs none."""
        if value is None or pd.isna(value):
            return NOTHING
        return "0" if value == 0 else f"{self.decimal(f'{value:.4g}')} {currency}"

    def thousands(self, value: Any) -> str:
        """Return a whole number with a narrow space between thousands."""
        return NOTHING if value is None or pd.isna(value) else f"{value:,.0f}".replace(",", "\u202f")

    def listed(self, items: Any, most: int = 6) -> str:
        """Return items one after another, the first few of them and how many more there are."""
        items = [str(item) for item in items]
        rest = [self("more", number=len(items) - most)] if len(items) > most else []
        return ", ".join([*items[:most], *rest])


@cache
def _texts() -> dict[str, dict[str, str]]:
    text = resources.files("toolbench.showing").joinpath("words.json").read_text("utf-8")
    texts: dict[str, dict[str, str]] = loads_strict(text)
    return texts
