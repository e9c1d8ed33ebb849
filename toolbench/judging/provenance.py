"""Provenance: where does every value of every argument come from?

A leaf is grounded when the user, the conversation so far, the context or an earlier result has it (in any
spelling that the reader of answers understands), when it is a declared synonym of something said, a default
or only choice of the schema, made up of grounded pieces, or means the expected value. Anything else is
``ungrounded_argument``: the model invented it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.contract import ToolSpec
from toolbench.domain.validation import json_path
from toolbench.judging.alike import same
from toolbench.judging.matching import Match, Matching
from toolbench.judging.normalizers import amount, equal, is_own, normalized, number_of
from toolbench.judging.reading.prepare import prepared
from toolbench.judging.reading.reader import forms_of, read, values_of
from toolbench.judging.reading.statements import Value
from toolbench.judging.text import contains, normalize, numbers_in
from toolbench.judging.trace import Finding, MadeCall, Segment, Trace, short

EXPECTED, SCHEMA, SYNONYM, DERIVED = "expected", "schema", "synonym", "derived"
USER, HISTORY, CONTEXT = "user", "history", "context"
"""Origins beside the names of the tools whose results have a value."""

Origins = Mapping[str, tuple[JSON, str | None]]
"""JSON path of a leaf → the leaf and its origin."""

_STEM = 4
"""Letters of a word that a related one must share at least, in a text put together of what was said."""
_ROOT = 5
"""Letters that two words must share to be related where a single value is concerned, two thirds of both."""
_LONGEST = 4
"""Words of a value that is looked for word by word; longer ones are sentences."""


@dataclass(frozen=True)
class Source:
    """One text that the model has been given, and from whom."""

    origin: str
    raw: str
    lang: str

    @cached_property
    def text(self) -> str:
        """The text, normalised."""
        return normalize(self.raw)

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """Values that the reader finds; results speak English whatever the language."""
        told = self.origin in (USER, HISTORY)
        text = self.raw if told else _spoken(self.raw)
        langs = (self.lang,) if told else dict.fromkeys((self.lang, "en"))
        return tuple(value for lang in langs for value in read(text, lang).values)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """Every reading of every number, in digits or words."""
        ends = [
            replace(one, low=end) for one in self.values for end in (one.low, one.high) if end is not None
        ]
        return frozenset(numbers_in(self.text)) | {number_of(one) for one in ends}

    @cached_property
    def forms(self) -> frozenset[str]:
        """Dictionary forms of all words."""
        return frozenset(form for word in re.findall(r"\w+", self.text) for form in forms_of(word))

    def has_number(self, value: Decimal) -> bool:
        """Whether a number was said, as it is or as a percentage."""
        percent = any(one.unit == "percent" and number_of(one) == value * 100 for one in self.values)
        return value in self.numbers or percent

    def has_word(self, word: str) -> bool:
        """Whether a word was said, in any grammatical form."""
        if any(character.isdigit() for character in word):
            # Numbers and identifiers have no other form: 123456 is not in 1234567.
            return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.text) is not None
        return bool(forms_of(word) & self.forms) or any(
            _related(word, other) for other in re.findall(r"\w+", self.text)
        )

    def has_value(self, value: Value, days: frozenset[date]) -> bool:
        """Whether a date, time or contact was said, in any spelling."""
        if any(same(value, other) for other in self.values if other.kind != "number"):
            return True
        relative = [other.text for other in self.values if other.kind == "date" and other.text[:1] in "+-"]
        shifts = [timedelta(int(text)) for text in relative if text[1:2] != "-"]
        if value.kind != "date" or not value.text[:1].isdigit():
            return False
        named = any(same(other, value) for other in self.values if other.kind == "weekday")
        return named or any((day + shift).isoformat() == value.text for day in days for shift in shifts)


def _spoken(content: str) -> str:
    """Return the texts of a result, a line each: the reader takes brackets and names for no prose."""
    try:
        data = json.loads(content)
    except ValueError:
        return content
    return "\n".join(str(leaf) for _, leaf in leaves(data) if isinstance(leaf, str | int | float))


_source = lru_cache(maxsize=4096)(Source)


def check_provenance(segment: Segment, found: Mapping[int, Origins]) -> Iterator[Finding]:
    """Report every leaf of every readable call that has no source, from the origins by index of the call."""
    for made in segment.calls:
        if made.repeat:
            continue
        for path, (leaf, origin) in found[made.index].items():
            if origin is None:
                yield Finding(
                    "ungrounded_argument",
                    path=f"{made.path}.arguments{path}",
                    expected="a value from the conversation",
                    actual=short(leaf),
                    reason=f"{short(leaf)} occurs in nothing the model was given",
                )


def origins(trace: Trace, made: MadeCall, matching: Matching) -> Origins:
    """Return path → leaf and where it comes from, for the arguments of a call that the schema knows.

    An origin is ``user``, ``history`` (what the case's assistant said), ``context``, the tool whose result
    has it, ``synonym``, ``schema``, ``derived``, ``expected``, or ``None``.
    """
    if made.call.arguments is None or made.tool is None:
        return {}
    match = next((one for one in matching.matches if one.made is made), None)
    given, tool = sources(trace, made), made.tool
    return {
        json_path(keys): (
            leaf,
            _origin(made.tool, str(keys[0]), json.dumps(leaf), given, _good(match, keys[0])),
        )
        for keys, leaf in leaves(made.call.arguments)
        if keys and keys[0] in tool.properties and not _left_open(match, str(keys[0]))
    }


def _left_open(match: Match | None, argument: str) -> bool:
    """Whether the case lets any value pass, which then comes from nowhere in particular."""
    return match is not None and match.expected.leaves_open(argument)


def _good(match: Match | None, argument: str | int) -> str:
    """Return every leaf of the values that the case takes for an argument."""
    if match is None:
        return "[]"
    name = str(argument)
    gold = (match.expected.arguments.get(name), *match.expected.accept.get(name, ()))
    return json.dumps([one for value in gold for _, one in leaves(value)])


def sources(trace: Trace, made: MadeCall) -> tuple[Source, ...]:
    """Return everything the model had been given before it made a call."""
    told = {"user": USER, "assistant": HISTORY}
    found = [
        (told[message["role"]], str(message.get("content") or ""))
        for message in trace.case.messages
        if message["role"] in told
    ]
    found += [(USER, text) for text in trace.heard_later(made.turn)]
    if trace.case.context:
        found.append((CONTEXT, json.dumps(dict(trace.case.context), ensure_ascii=False)))
    found += [
        (record.tool, record.result.content) for record in trace.results_before(made.turn) if record.result
    ]
    return tuple(_source(origin, text, trace.lang) for origin, text in found if text)


def leaves(value: JSON, keys: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], JSON]]:
    """Yield ``(keys, leaf)`` of an argument object."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*keys, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*keys, index))
    else:
        yield keys, value


def _found(tool: ToolSpec, name: str, *rest: Any) -> str | None:
    # What a normaliser of an extension does may change under its name.
    work = _origin if is_own(tool, name) else _origin.__wrapped__
    return work(tool, name, *rest)


@lru_cache(maxsize=16_384)
def _origin(tool: ToolSpec, name: str, written: str, given: tuple[Source, ...], good: str) -> str | None:
    """Return the origin of a leaf, given its JSON and that of expected ones; kept, for calls come again."""
    leaf = json.loads(written)
    if _by_schema(tool.properties[name], leaf):
        return SCHEMA
    meant = normalized(tool, name, leaf)
    # A declared normaliser takes off what is only a way of writing: "Казань" says "г. Казань".
    spellings = list({str(one): one for one in (leaf, meant.value)}.values())
    days = frozenset(
        date.fromisoformat(one.text)
        for source in given
        for one in source.values
        if one.kind == "date" and one.text[:1].isdigit()
    )
    for source in given:
        if any(_said(source, spelling, tool.units.get(name), days) for spelling in spellings):
            return source.origin
    if any(_synonym(tool, name, spelling, given) for spelling in spellings if isinstance(spelling, str)):
        return SYNONYM
    if isinstance(leaf, str) and _derived(leaf, given):
        return DERIVED
    # The value of an expression is no other spelling of it: who sends it has calculated in the head.
    kept = tool.normalizers.get(name) == "expression"
    alike = (
        equal(leaf, one) if kept else meant.meets(normalized(tool, name, one)) for one in json.loads(good)
    )
    return EXPECTED if any(alike) else None


def _by_schema(schema: JSON, leaf: JSON) -> bool:
    if leaf is None or isinstance(leaf, bool):
        return True
    offered = [schema[key] for key in ("default", "const") if key in schema]
    choices = schema.get("enum", ())
    return any(equal(one, leaf) for one in (*offered, *(choices if len(choices) == 1 else ())))


def _said(source: Source, leaf: JSON, unit: str | None, days: frozenset[date]) -> bool:
    """Whether a text has a leaf: as it is written, in another form or spelling, or in another unit."""
    number = _number(leaf)
    if number is not None and (source.has_number(number) or _measured(source, number, unit)):
        return True
    if not isinstance(leaf, str):
        return False
    if contains(source.text, leaf):
        return True
    words = re.findall(r"\w+", normalize(leaf))
    if 0 < len(words) <= _LONGEST and all(map(source.has_word, words)):
        return True
    found = [one for one in values_of(prepared(leaf)[0]) if one.kind in _SPELLED]
    covered = sum(one.end - one.start for one in found) >= len(leaf.strip()) - 1
    return bool(found) and covered and all(source.has_value(one, days) for one in found)


_SPELLED = frozenset({"date", "time", "contact"})
"""Kinds of values that are written in many ways."""


def _number(leaf: JSON) -> Decimal | None:
    meant = amount(leaf).value
    return Decimal(meant) if meant is not leaf and isinstance(meant, str) else None


def _measured(source: Source, number: Decimal, unit: str | None) -> bool:
    """Whether a quantity was said in another unit: 2500 g is 2.5 kg."""
    asked = Value("quantity", str(number), float(number), float(number), unit=unit)
    return unit is not None and any(same(asked, one) for one in source.values if one.unit not in (None, unit))


def _synonym(tool: ToolSpec, name: str, leaf: str, given: Sequence[Source]) -> bool:
    for canonical, others in tool.synonyms.get(name, {}).items():
        forms = [canonical, *others]
        if normalize(leaf) in map(normalize, forms):
            return any(contains(source.text, form) for source in given for form in forms)
    return False


def _related(word: str, other: str) -> bool:
    """Whether two words have most of their letters in common, from the first on: задержка, задержали."""
    shared = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(word))
    shared = min(shared, len(word), len(other))
    return shared >= _ROOT and shared * 3 >= max(len(word), len(other)) * 2


def _derived(text: str, given: Sequence[Source]) -> bool:
    """Whether a text (an expression, a sentence) has no number, identifier or rare word of its own."""
    words = re.findall(r"[^\W\d_]{4,}|\d+(?:[.,]\d+)?", normalize(text))
    return len(words) > 1 and all(any(_touched(word, source) for source in given) for word in words)


def _touched(word: str, source: Source) -> bool:
    if not word[0].isdigit():
        stem = word[: max(_STEM - 1, len(word) - 2)]
        return re.search(rf"(?<!\w){re.escape(stem)}", source.text) is not None
    value = _number(word)
    # A percentage may be written as its fraction, alone or taken off or put on: 18 % is 0.18, 0.82 and 1.18.
    shares = () if value is None else (value, value * 100, (1 - value) * 100, (value - 1) * 100)
    return value in (0, 1, 100) or any(share in source.numbers for share in shares)
