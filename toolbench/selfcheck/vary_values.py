"""Spellings of a value that its declared normaliser takes for the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case
from toolbench.judging.normalizers import identical
from toolbench.selfcheck.breaking import Site, Workpiece
from toolbench.selfcheck.rehearse import Proposal
from toolbench.selfcheck.varying import Variation

Spell = Callable[[str], str]

_TEXT: Mapping[str, Spell] = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "without_yo": lambda text: text.replace("ё", "е").replace("Ё", "Е"),
    "lower_case": str.lower,
    "upper_case": str.upper,
    "double_blanks": lambda text: text.replace(" ", "  "),
    "blanks_around": lambda text: f" {text} ",
    "in_quotes": lambda text: f"«{text}»",
}
_CITY: Mapping[str, Spell] = {
    **_TEXT,
    "with_g_dot": lambda text: f"г. {text}",
    "with_gorod": lambda text: f"город {text}",
    "city_of": lambda text: f"City of {text}",
    "with_country": lambda text: f"{text}, Россия",
    "with_country_en": lambda text: f"{text}, Russia",
}
_IDENTIFIER: Mapping[str, Spell] = {
    "lower_case": str.lower,
    "with_number_sign": lambda text: f"№{text}",
    "with_hash": lambda text: f"#{text}",
    "long_dash": lambda text: text.replace("-", "–"),
    "with_blanks": lambda text: text.replace("-", " - "),
}
_EXPRESSION: Mapping[str, Spell] = {
    "spaced": lambda text: "".join(f" {c} " if c in "+-*/" else c for c in text).replace("*  *", "**"),
    "in_brackets": lambda text: f"({text})",
    "times_one": lambda text: f"1*({text})",
}
_DATE: Mapping[str, Spell] = {
    "day_first": lambda text: date.fromisoformat(text).strftime("%d.%m.%Y"),
    "with_slashes": lambda text: date.fromisoformat(text).strftime("%d/%m/%Y"),
    "with_midnight": lambda text: f"{text}T00:00:00",
}
_AMOUNT: Mapping[str, Spell] = {
    "with_comma": lambda text: text.replace(".", ","),
    "with_kg": lambda text: f"{text} кг",
    "with_roubles": lambda text: f"{text} ₽",
}

SPELLINGS: Mapping[str, Mapping[str, Spell]] = {
    "text": _TEXT,
    "city": _CITY,
    "identifier": _IDENTIFIER,
    "expression": _EXPRESSION,
    "date": _DATE,
    "number": {kind: spell for kind, spell in _AMOUNT.items() if kind != "with_roubles"},
    "money": {kind: spell for kind, spell in _AMOUNT.items() if kind != "with_kg"},
}
"""Normaliser → kind → spelling. What the schema does not admit is no variation: it is a fault."""


def normalised(work: Workpiece) -> Iterator[Variation]:
    """Other spellings of single values, and declared synonyms of them."""
    relaxed = relax(work.performance.case)
    for site in work.sites:
        for name, value in site.call.arguments.items():
            for kind, other in _spellings(site, name, value):
                accepted = site.accepted.get(name, [])
                known = any(identical(other, good) for good in accepted)
                changed = {**site.call.arguments, name: other}
                if not known and not site.tool.issues(changed):
                    script = work.with_call(site, Proposal(site.tool.name, changed))
                    what = f"{site.tool.name}.{name}={other!r}"
                    yield Variation(kind, script, what, strict=True, relaxed=relaxed)


def relax(case: Case) -> Case:
    """Return the case with every expected call compared after normalisation."""
    source: dict[str, Any] = dict(case.source)
    source["expect"] = _relaxed(source["expect"])
    if "turns" in source:
        source["turns"] = [{**turn, "expect": _relaxed(turn["expect"])} for turn in source["turns"]]
    return Case.from_json(source)


def _relaxed(expect: Mapping[str, Any]) -> dict[str, Any]:
    calls: Sequence[Mapping[str, Any]] = expect.get("calls", ())
    return {**expect, "calls": [{**call, "match": "normalized"} for call in calls]}


def _spellings(site: Site, name: str, value: JSON) -> Iterator[tuple[str, JSON]]:
    declared = site.tool.normalizers.get(name, "")
    if isinstance(value, str):
        for kind, spell in SPELLINGS.get(declared, {}).items():
            yield f"{declared}_{kind}", spell(value)
    for other in site.tool.synonyms.get(name, {}).get(str(value), ()):
        yield "synonym", other
