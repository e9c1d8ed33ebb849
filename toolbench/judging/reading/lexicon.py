"""Words of a language as data: ``<lang>.json`` beside the readers.

The keys of a file:

``concepts``
    Name → ``{"said": [phrase, …], "denied": [phrase, …]}``. A clause that is not denied expresses a concept
    by a phrase of ``said``, a denied one by a phrase of ``denied``: "was not found" is ``not_found`` because
    "find" stands under ``denied`` there.
``states``
    Concepts that are states of a thing (``in_transit``, ``delivered`` …): what may be said about it only when
    a result, the context or the user says so.
``acts``
    Name → phrases: what an assistant may say it has done, is doing or will do (``check``, ``pass_on`` …).
``speaker``
    The pronouns an assistant speaks of itself with.
``strangers``
    Words for somebody who is neither the assistant, its service nor the user.
``harmless``
    Verbs of talk and thought: to say that one has done them claims no action.
``values``
    ``months``, ``weekdays`` (form → number), ``units`` and ``currencies`` (name → lemmas and signs),
    ``numbers`` (word → number), ``ordinals``, ``day_halves`` (``am``/``pm`` → forms), ``range`` (pairs of
    words around the ends, ``["from", "to"]``), ``relative_days`` (form → days from today).

A *phrase* is lemmas separated by blanks, which must follow each other with at most :data:`GAP` other words in
between. ``a|b`` is either; ``a|!c`` is ``a`` without ``c`` in between ("late", but not "too late"). All is
compared by lemma, so no endings are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

from toolbench.domain.canonical import loads_strict
from toolbench.errors import SuiteError

GAP = 2
"""Other words that may stand between two words of a phrase."""
Phrase = tuple[frozenset[str], ...]
_TALK = frozenset({"giving", "choice", "courtesy", "example"})
_ANY: Phrase = (frozenset({"*"}),)


@dataclass(frozen=True)
class Concept:
    """Phrases that express something in an affirmative clause, and in a denied one."""

    said: Sequence[Phrase]
    denied: Sequence[Phrase]


_Starting = tuple[Mapping[str, Sequence[tuple[Phrase, str]]], frozenset[str]]
"""First word → phrases and the concepts they express; concepts that everything expresses."""


@dataclass(frozen=True)
class Lexicon:
    """A language's words."""

    concepts: Mapping[str, Concept]
    states: frozenset[str]
    acts: Mapping[str, Sequence[Phrase]]
    harmless: frozenset[str]
    values: Mapping[str, Mapping[str, Any]]
    data: Mapping[str, Any]

    @cached_property
    def known(self) -> frozenset[str]:
        """Every word that the language's data has a meaning for."""
        return self.harmless.union(self._words(self.concepts), *self.data["grammar"].values())

    @cached_property
    def matters(self) -> frozenset[str]:
        """Words of things, states and acts, those left out that only ask, offer or greet."""
        return frozenset(self._words(self.concepts.keys() - _TALK)).union(self.data.get("matters", ()))

    def expressed(self, lemmas: Sequence[str], denied: bool) -> frozenset[str]:
        """Return the concepts that a clause expresses, denied or not."""
        starting, always = self._denied if denied else self._said
        found = set(always)
        for at, lemma in enumerate(lemmas):
            for phrase, name in starting.get(lemma, ()):
                if name not in found and _goes_on(phrase[1:], lemmas, at + 1):
                    found.add(name)
        return frozenset(found)

    @cached_property
    def _said(self) -> _Starting:
        return _starting((phrase, name) for name, one in self.concepts.items() for phrase in one.said)

    @cached_property
    def _denied(self) -> _Starting:
        return _starting((phrase, name) for name, one in self.concepts.items() for phrase in one.denied)

    def _words(self, names: Iterable[str]) -> Iterator[str]:
        chosen = [self.concepts[name] for name in names]
        concepts = (phrase for one in chosen for phrase in (*one.said, *one.denied))
        acts = (phrase for forms in self.acts.values() for phrase in forms)
        return (word for phrase in (*concepts, *acts) for some in phrase for word in some)


def phrases(entries: Iterable[str]) -> tuple[Phrase, ...]:
    """Return written phrases for comparison."""
    return tuple(tuple(frozenset(word.split("|")) for word in entry.split()) for entry in entries)


def occurs(phrase: Phrase, lemmas: Sequence[str]) -> bool:
    """Whether the words of a phrase follow each other in a clause, :data:`GAP` words apart at most."""
    if phrase == _ANY:
        return True
    starts = [at for at, lemma in enumerate(lemmas) if phrase and lemma in phrase[0]]
    return any(_goes_on(phrase[1:], lemmas, at + 1) for at in starts)


def _starting(named: Iterable[tuple[Phrase, str]]) -> _Starting:
    found: dict[str, list[tuple[Phrase, str]]] = {}
    always = set()
    for phrase, name in named:
        if phrase == _ANY:
            always.add(name)
        for word in phrase[0] if phrase else ():
            found.setdefault(word, []).append((phrase, name))
    return found, frozenset(always)


def _goes_on(rest: Phrase, lemmas: Sequence[str], start: int) -> bool:
    for wanted in rest:
        window = lemmas[start : start + GAP + 1]
        found = next((at for at, lemma in enumerate(window) if lemma in wanted), None)
        if found is None or any(f"!{lemma}" in wanted for lemma in window[:found]):
            return False
        start += found + 1
    return True


@cache
def lexicon(lang: str) -> Lexicon:
    """Return the words of a language.

    Raises
    ------
    SuiteError
        When the data file of the language is broken; it names the entry.
    """
    where = f"reading/{lang}.json"
    data: Any = loads_strict(resources.files(__package__).joinpath(f"{lang}.json").read_text("utf-8"))
    try:
        concepts = {
            name: Concept(phrases(entry.get("said", ())), phrases(entry.get("denied", ())))
            for name, entry in {**data["concepts"], **data.get("states", {})}.items()
        }
        acts = {name: phrases(entry) for name, entry in data["acts"].items()}
        return Lexicon(
            concepts,
            frozenset(data.get("states", {})),
            acts,
            frozenset(data.get("harmless", ())),
            data["values"],
            data,
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise SuiteError(f"{where}: broken entry: {error!r}") from None
