"""What an answer may rest on: values, states and names that the user, the context or a result has given.

The prompt and the descriptions of the tools are no source for facts; the limits of a schema are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, lru_cache, partial

from toolbench.domain.canonical import canonical_json
from toolbench.domain.contract import Contract, ToolSpec
from toolbench.domain.record import CallRecord
from toolbench.judging.alike import converted, same
from toolbench.judging.reading.reader import read
from toolbench.judging.reading.statements import Actor, Clause, Mood, Value
from toolbench.judging.reading.value_grammar import mentioned_units
from toolbench.judging.results import Record, Told, leaves, records, spoken, texts
from toolbench.judging.text import contains, normalize, position
from toolbench.judging.trace import Segment, Trace

KEPT = 1024
"""Conversations kept: the repeats of a case, and the texts of one attempt, rest on the same."""
_ISO_CURRENCY = re.compile(r"[A-Z]{3}$")
COUNTED = frozenset({"digit", "character"})
"""Units of what is counted in a spelling, not measured."""


@dataclass(frozen=True, eq=False)
class Words:
    """What a contract knows by name, which of its tools write, and the limits of those on offer."""

    tools: Mapping[str, ToolSpec]
    names: Mapping[str, tuple[str, ...]]
    limits: tuple[Value, ...]


@lru_cache(maxsize=4096)
def _places(words: Words, text: str) -> Mapping[str, int]:
    found = ((name, min(at)) for name, forms in words.names.items() if (at := _at(text, forms)))
    return dict(found)


@dataclass(frozen=True)
class Given:
    """Everything that has been given when a text is said.

    Attributes
    ----------
    values
        All values.
    concepts
        What results, errors and user have said in words (names of the lexicon's concepts).
    result_concepts
        Those of them that results say.
    told
        Values the user or the context gave.
    mentioned
        Known names that occur in it.
    done, result_done
        Predicates of what all of them, and of what results and context say was done.
    text
        All of it, normalised, for looking up names.
    records
        Objects of the results.
    units
        Units and currencies that anybody has mentioned, with a number or without.
    wrote
        Whether a write succeeded.
    failed
        Whether any call failed.
    users, told_concepts
        What the user said, normalised, and in concepts.
    """

    lang: str
    values: tuple[Value, ...]
    concepts: frozenset[str]
    result_concepts: frozenset[str]
    told: tuple[Value, ...]
    done: frozenset[str]
    result_done: frozenset[str]
    text: str
    records: tuple[Record, ...]
    words: Words
    units: frozenset[str] = frozenset()
    users: str = ""
    told_concepts: frozenset[str] = frozenset()
    wrote: bool = False
    failed: bool = False

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """Known names that have been given."""
        return self.named(self.text)

    @cached_property
    def counted_from(self) -> frozenset[date]:
        """Days that "tomorrow" may be counted from: those the user or the context named, else any given."""
        return _days(self.told) or _days(self.values)

    def named(self, text: str) -> frozenset[str]:
        """Return the known names (canonical) that a normalised text mentions."""
        return frozenset(self.places(text))

    def places(self, text: str) -> Mapping[str, int]:
        """Return known name (canonical) → where a normalised text first mentions it."""
        return _places(self.words, text)

    @cached_property
    def lengths(self) -> frozenset[int]:
        """How many digits the numbers have that were given."""
        return frozenset(len(run) for run in re.findall(r"\d+", self.text))

    @cached_property
    def aliases(self) -> tuple[tuple[str, str], ...]:
        """Word and identifier of the objects that results list beside each other: what tells them apart."""
        found = []
        for one in self.records:
            beside = [r for r in self.records if r is not one and r.call == one.call and r.identifier]
            apart = one.words - frozenset().union(*(other.words for other in beside)) if beside else ()
            found += [(word, one.identifier) for word in apart if one.identifier]
        return tuple(found)

    @cached_property
    def _letters(self) -> str:
        return _letters(self.text)

    def repeats(self, clause: Clause) -> bool:
        """Whether a clause is, word by word, something that was given."""
        letters = _letters(clause.text)
        return len(letters) > _REPEATED and letters in self._letters

    def same(self, stated: Value, given: Value) -> bool:
        """Whether a stated value is a given one."""
        return same(stated, given, self.counted_from)

    def has(self, value: Value) -> bool:
        """Whether a value was given, its unit left aside."""
        if any(self.same(value, other) for other in self.values):
            return True
        if value.kind == "name":
            stem = normalize(value.spelled)
            begun = [form for name in self.mentioned for form in self.words.names[name]]
            known = self.named(stem) & self.mentioned or contains(self.text, value.text)
            plural = contains(self.text, value.text.removesuffix("s"))
            return (
                bool(known)
                or plural
                or any(len(stem) > _STEM and normalize(form).startswith(stem) for form in begun)
            )
        # A range may be put together from ends that were given one by one.
        ends = [replace(value, low=end, high=end) for end in (value.low, value.high)]
        return value.low != value.high and all(map(self.has, ends))

    def unit_differs(self, value: Value) -> bool:
        """Whether the number was given, but never with this unit and never without one."""
        alike = [other for other in self.values if self.same(value, other)]
        units = {other.unit for other in alike}
        if not (value.unit and alike) or any(map(partial(converted, value), alike)):
            return False
        # A number without a unit takes any that has been mentioned.
        free = None in units and (value.kind != "money" or value.unit in self.units)
        free = free and value.unit != "percent"
        return not free and value.unit not in units


def _days(values: Iterable[Value]) -> frozenset[date]:
    return frozenset(
        date.fromisoformat(one.text) for one in values if one.kind == "date" and one.text[0].isdigit()
    )


def _at(text: str, forms: Sequence[str]) -> list[int]:
    return [at for form in forms if (at := position(text, form)) is not None]


_TELLING = frozenset({Mood.ASSERTED, Mood.ABLE, Mood.CONDITIONAL})
_STEM = 3
"""Letters from which on the beginning of a name stands for it."""
_REPEATED = 8
"""Letters from which on equal words are a repetition and no chance."""


@lru_cache(maxsize=4096)
def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalize(text))


@dataclass(frozen=True)
class _Conversation:
    """What was said and done before a text; equal ones give the same."""

    lang: str
    users: tuple[str, ...]
    told: tuple[str, ...]
    context: str
    results: tuple[Told, ...]


def given(trace: Trace, segment: Segment, results: Sequence[CallRecord]) -> Given:
    """Return what has been given before a text of a segment is said, ``results`` included."""
    contract = trace.suite.contract
    conversation = _Conversation(
        lang=trace.lang,
        users=tuple(trace.heard(segment.turns[-1].index if segment.turns else -1)),
        # What the assistant said before the case begins is part of the conversation as well.
        told=tuple(str(m.get("content") or "") for m in trace.case.messages if m["role"] == "assistant"),
        context=json.dumps(dict(trace.case.context), ensure_ascii=False),
        results=tuple(_told(record) for record in results),
    )
    return _given(_words(_Offer(contract.hash, tuple(trace.offered), contract)), conversation)


def _told(record: CallRecord) -> Told:
    arguments = json.dumps(dict(record.arguments or {}), ensure_ascii=False)
    return Told(record.tool, arguments, record.result.content if record.result else "", record.succeeded)


@lru_cache(maxsize=KEPT)
def _given(words: Words, before: _Conversation) -> Given:
    lang, context = before.lang, json.loads(before.context)
    found = tuple(records(before.results, words.tools, lang))
    readings = [read(text, lang) for text in (*before.users, *before.told)]
    told = (*(value for reading in readings for value in reading.values), *leaves(context, None, lang))
    values = (*told, *(value for record in found for value in record.values), *words.limits)
    said = [spoken(one) for one in before.results]
    said.append(texts(context))
    results = [clause for text in said for clause in read(text, lang).clauses]
    users = [clause for reading in readings for clause in reading.clauses]
    called = [str(json.loads(one.arguments)) for one in before.results]
    text = "\n".join([*before.users, *before.told, *said, before.context, *called])
    return Given(
        lang=lang,
        values=tuple(dict.fromkeys(values)),
        concepts=_concepts([*(clause for clause in users if _tells(clause)), *results]),
        result_concepts=_concepts(clause for clause in results if not clause.denied),
        told=told,
        done=_done([*users, *results]),
        result_done=_done(results),
        text=normalize(text),
        records=found,
        words=words,
        wrote=any(
            one.succeeded and one.tool in words.tools and words.tools[one.tool].effect == "write"
            for one in before.results
        ),
        failed=not all(one.succeeded for one in before.results),
        users=normalize("\n".join(before.users)),
        told_concepts=_concepts(users),
        units=_units([*users, *results], lang)
        | {unit for tool in words.tools.values() for unit in tool.units.values()}
        | {value.unit for value in values if value.unit},
    )


def _units(clauses: Iterable[Clause], lang: str) -> frozenset[str]:
    """Return the units and currencies that are mentioned by their word alone."""
    words = {form for clause in clauses for word in clause.words for form in (word.lemma, word.text)}
    return mentioned_units(lang, words)


def _concepts(clauses: Iterable[Clause]) -> frozenset[str]:
    return frozenset().union(*(clause.concepts for clause in clauses))


def _tells(clause: Clause) -> bool:
    """Whether the user tells something; neither "close it" nor "so that you close it" is told."""
    wished = clause.mood is Mood.CONDITIONAL and clause.actor is Actor.USER
    return clause.mood in _TELLING and clause.completed and not wished


def _done(clauses: Iterable[Clause]) -> frozenset[str]:
    """Return the predicates that clauses say were carried out."""
    told = (c for c in clauses if c.completed and not c.denied and c.mood is Mood.ASSERTED)
    return frozenset(predicate for clause in told for predicate in clause.predicates)


@dataclass(frozen=True)
class _Offer:
    """The tools on offer, told apart by the contract's hash and their names."""

    hash: str
    names: tuple[str, ...]
    contract: Contract = field(compare=False)


@lru_cache(maxsize=KEPT)
def _words(offer: _Offer) -> Words:
    by_name = offer.contract.by_name
    return Words(by_name, _names(offer.contract.tools), _limits(by_name[name] for name in offer.names))


def _names(tools: Sequence[ToolSpec]) -> Mapping[str, tuple[str, ...]]:
    """Return canonical name → forms of the places and things a contract knows by name."""
    found: dict[str, tuple[str, ...]] = {}
    for tool in tools:
        for argument, synonyms in tool.synonyms.items():
            schema = tool.properties.get(argument, {})
            if "enum" in schema or schema.get("type") == "integer":
                continue
            for canonical, forms in synonyms.items():
                if not _ISO_CURRENCY.match(canonical):
                    found[canonical] = tuple(dict.fromkeys([*found.get(canonical, ()), canonical, *forms]))
    return found


def _limits(tools: Iterable[ToolSpec]) -> tuple[Value, ...]:
    """Return the numbers that schemas set as limits: "up to 1000", "six digits"."""
    found: list[str] = []
    for tool in tools:
        schema, limits = canonical_json(dict(tool.parameters)), canonical_json(dict(tool.limits))
        found += re.findall(
            r'"(?:exclusive)?(?:maximum|minimum|maxLength|minLength)":(-?\d+(?:\.\d+)?)', schema, re.I
        )
        found += re.findall(r"\{(\d+)\}", schema) + re.findall(r"\d+(?:\.\d+)?", limits)
    return tuple(Value("number", one, float(one), float(one)) for one in found)
