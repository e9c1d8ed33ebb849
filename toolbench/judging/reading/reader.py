"""``read``: a text, read once. Every check of what was said starts here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import takewhile
from typing import cast

from toolbench.judging.reading.language import language
from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.markup import markup
from toolbench.judging.reading.prepare import LIMIT, prepared, prose
from toolbench.judging.reading.statements import Clause, Mood, Reader, Reading, Value
from toolbench.judging.reading.values import find_values

READERS = {"en": "toolbench.judging.reading.english", "ru": "toolbench.judging.reading.russian"}
"""Language → module; a language without one is read as English."""
KEPT = 4096
"""Readings kept in memory."""


def reader(lang: str) -> Reader:
    """Return the module that reads a language."""
    return cast(Reader, import_module(READERS[read_as(lang)]))


@cache
def read_as(lang: str) -> str:
    """Return the language whose reader reads a text in ``lang``: English where there is none."""
    return lang if lang in READERS and find_spec(READERS[lang]) else "en"


def read(text: str, lang: str) -> Reading:
    """Read a text in a language.

    Bounded: no more than :data:`~.prepare.LIMIT` characters are looked at, in time linear in them;
    ``cut`` says that there was more.
    """
    return _read(text[: 4 * LIMIT], read_as(lang))


@lru_cache(maxsize=KEPT)
def values_of(text: str) -> tuple[Value, ...]:
    """Return the values of a short prepared text that is no conversation: its letters tell the language."""
    lang = "ru" if re.search("[а-яё]", text, re.IGNORECASE) else "en"
    module = reader(lang)
    return tuple(find_values(text, lang, module.lemma, module.moments(text)))


@lru_cache(maxsize=4 * KEPT)
def forms_of(word: str) -> frozenset[str]:
    """Return a word in lower case with е for ё, its dictionary forms as a common and as a proper noun, and
    the unit or currency that it names.
    """
    lower = word.lower().replace("ё", "е")
    lang = "ru" if re.search("[а-я]", lower) else "en"
    lemma = reader(lang).lemma
    forms = {lower, lemma(lower), lemma(lower.capitalize()).lower()}
    measures = (lexicon(lang).values[kind] for kind in ("units", "currencies"))
    named = {unit.lower() for found in measures for unit, lemmas in found.items() if forms & set(lemmas)}
    return frozenset(forms | named)


@lru_cache(maxsize=KEPT)
def _read(text: str, lang: str) -> Reading:
    whole, cut = prepared(text)
    found = markup(whole)
    plain = prose(_without(whole, found))
    module = reader(lang)
    values = find_values(plain, lang, module.lemma, module.moments(plain))
    clauses = tuple(_filled(clause, plain, values, lang) for clause in module.clauses(plain))
    return Reading(
        text=plain,
        clauses=_owned(clauses),
        language=language(plain),
        markup=tuple(dict.fromkeys(kind for kind, _, _ in found)),
        cut=cut,
    )


def _without(text: str, spans: Sequence[tuple[str, int, int]]) -> str:
    kept, at = [], 0
    for _, start, end in spans:
        kept.append(text[at : max(at, start)])
        at = max(at, end)
    return " ".join([*kept, text[at:]]) if spans else text


def _filled(clause: Clause, plain: str, values: Sequence[Value], lang: str) -> Clause:
    lemmas = [word.lemma for word in clause.words]
    concepts = lexicon(lang).expressed(lemmas, clause.denied)
    own = tuple(value for value in values if clause.start <= value.start < clause.end)
    text = plain[clause.start : clause.end].strip(" \n,;:|–-")
    return replace(clause, text=text, values=own, concepts=concepts)


def _owned(clauses: Sequence[Clause]) -> tuple[Clause, ...]:
    """Give every value the identifier it belongs to: the last one before it in its clause, else the next one;
    in a clause without any, the last one of the same sentence or line.
    """
    done: list[Clause] = []
    last: tuple[int, int, str] | None = None
    for clause in clauses:
        names = [value for value in clause.values if value.kind == "identifier"]
        inherited = (
            last[2]
            if last and not names and last[1] == clause.block and last[0] >= clause.sentence - 1
            else None
        )
        done.append(
            replace(clause, values=tuple(_with_owner(value, names, inherited) for value in clause.values))
        )
        if names and clause.mood is not Mood.QUOTED:
            last = (clause.sentence, clause.block, names[-1].text)
    return tuple(done)


def _with_owner(value: Value, names: Sequence[Value], inherited: str | None) -> Value:
    before = [name for name in names if name.start < value.start]
    after = [name for name in names if name.start > value.start]
    if value.kind == "identifier":
        beside = _paired(value, names)
        if beside is not None:
            return replace(value, owner=beside.text)
        # "TCK-1 (CUS-1) and TCK-2 (CUS-2)": one of a kind belongs to the nearest of another.
        before = _up_to_alike(value, before[::-1])
        after = _up_to_alike(value, after)
        inherited = inherited if inherited and not _alike(value.text, inherited) else None
        near = min((*before, *after), key=lambda name: abs(name.start - value.start), default=None)
        return replace(value, owner=near.text if near else inherited)
    if before:
        return replace(value, owner=before[-1].text)
    return replace(value, owner=after[0].text if after else inherited)


def _paired(value: Value, names: Sequence[Value]) -> Value | None:
    """Return the other of a pair, where two kinds take turns: "TCK-1 for CUS-1 and TCK-2 for CUS-2"."""
    kinds = [name.text.partition("-")[0] for name in names]
    if len(names) < 4 or len(names) % 2 or len({*kinds[:2]}) < 2 or kinds != kinds[:2] * (len(kinds) // 2):
        return None
    return names[next(at for at, name in enumerate(names) if name.start == value.start) ^ 1]


def _up_to_alike(value: Value, names: Sequence[Value]) -> list[Value]:
    return list(takewhile(lambda name: not _alike(value.text, name.text), names))


def _alike(one: str, other: str) -> bool:
    """Whether two identifiers are of one kind: the same letters before their number."""
    return one.partition("-")[0] == other.partition("-")[0]
