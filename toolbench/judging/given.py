"""What an answer may rest on: values, states and names that the user, the context or a result has given.

The prompt and the descriptions of the tools are no source for facts; the limits of a schema are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache, cached_property, partial
from typing import Any

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.contract import ToolSpec
from toolbench.domain.record import CallRecord
from toolbench.judging.reading.reader import read
from toolbench.judging.reading.statements import Actor, Clause, Mood, Value
from toolbench.judging.reading.values import mentioned_units
from toolbench.judging.text import contains, normalize, position
from toolbench.judging.trace import Segment, Trace

ROUNDED_FROM = 100
"""Numbers from here on may be stated as whole numbers."""
_BASE = {
    "g": ("kg", 0.001), "t": ("kg", 1000.0), "hour": ("minute", 60.0), "day": ("minute", 1440.0),
    "week": ("minute", 10080.0), "second": ("minute", 1 / 60), "kopeck": ("RUB", 0.01), "cent": ("USD", 0.01),
}  # fmt: skip
"""Unit → the unit it is converted to, and the factor."""
_ISO_CURRENCY = re.compile(r"[A-Z]{3}$")
_PERCENT = re.compile(r"percent|pct", re.I)
COUNTED = frozenset({"digit", "character"})
"""Units of what is counted in a spelling, not measured."""


@dataclass(frozen=True)
class Record:
    """What belongs together: one object of a result, with the arguments of the call.

    ``own`` are the values of the object alone, ``words`` its texts of one word, ``concepts`` what it says;
    objects of one ``call`` stand beside each other.
    """

    values: tuple[Value, ...]
    names: frozenset[str]
    own: tuple[Value, ...] = ()
    concepts: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    call: str = ""

    @property
    def identifier(self) -> str:
        """The first identifier of the object itself, or an empty text."""
        return next((value.text for value in self.own if value.kind == "identifier"), "")


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
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: frozenset[str] = frozenset()
    users: str = ""
    told_concepts: frozenset[str] = frozenset()
    wrote: bool = False

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """Known names that have been given."""
        return self.named(self.text)

    @cached_property
    def dates(self) -> frozenset[date]:
        """Full dates given."""
        return frozenset(
            date.fromisoformat(v.text) for v in self.values if v.kind == "date" and v.text[0].isdigit()
        )

    def named(self, text: str) -> frozenset[str]:
        """Return the known names (canonical) that a normalised text mentions."""
        return frozenset(self.places(text))

    def places(self, text: str) -> Mapping[str, int]:
        """Return known name (canonical) → where a normalised text first mentions it."""
        found = ((name, min(at)) for name, forms in self.names.items() if (at := _at(text, forms)))
        return dict(found)

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

    def has(self, value: Value) -> bool:
        """Whether a value was given, its unit left aside."""
        if any(same(value, other, self) for other in self.values):
            return True
        if value.kind == "name":
            stem = normalize(value.spelled)
            begun = [form for name in self.mentioned for form in self.names[name]]
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
        alike = [other for other in self.values if same(value, other, self)]
        units = {other.unit for other in alike}
        if not (value.unit and alike) or any(map(partial(_converted, value), alike)):
            return False
        # A number without a unit takes any that has been mentioned.
        free = None in units and (value.kind != "money" or value.unit in self.units)
        free = free and value.unit != "percent"
        return not free and value.unit not in units


def _at(text: str, forms: Sequence[str]) -> list[int]:
    return [at for form in forms if (at := position(text, form)) is not None]


_TELLING = frozenset({Mood.ASSERTED, Mood.ABLE, Mood.CONDITIONAL})
_STEM = 3
"""Letters from which on the beginning of a name stands for it."""
_REPEATED = 8
"""Letters from which on equal words are a repetition and no chance."""


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalize(text))


def same(stated: Value, given: Value, known: Given | None = None) -> bool:
    """Whether a stated value is a given one, in another spelling, rounding or part of it.

    Money and quantities are compared in a common unit where there is one; a bare number may be an hour.
    """
    if stated.kind in ("identifier", "contact", "name") or given.kind in ("identifier", "contact", "name"):
        return _same_text(stated, given)
    if stated.kind == "date" or given.kind == "date":
        return _same_date(stated, given, known)
    if stated.kind == "weekday" or given.kind == "weekday":
        return stated.kind == given.kind and stated.text == given.text
    if stated.low is None or given.low is None:
        return False
    if "time" in (stated.kind, given.kind):
        return _same_time(stated, given)
    if _converted(stated, given):
        return True
    low = _near(stated.low, given.low, stated.decimals)
    high = _near(stated.high, given.high, stated.decimals)
    if stated.low == stated.high:
        return low or high
    return low and high


def _same_text(stated: Value, given: Value) -> bool:
    if stated.text == given.text:
        return True
    digits = re.sub(r"\D", "", stated.text)
    return (
        "contact" in (stated.kind, given.kind)
        and len(digits) >= 7
        and digits == re.sub(r"\D", "", given.text)
    )


def _near(value: float | None, other: float | None, decimals: int) -> bool:
    if value is None or other is None:
        return False
    error = 0.5 * 10**-decimals + 1e-9
    return value == other or (abs(value - other) <= error and (decimals > 0 or abs(other) >= ROUNDED_FROM))


def _converted(stated: Value, given: Value) -> bool:
    """Whether two quantities are the same in their common unit: 2500 g is 2.5 kg."""
    one = _BASE.get(stated.unit or "", (stated.unit, 1.0))
    if given.unit is None and stated.unit not in _BASE:
        return False
    # A bare number is in the common unit: "50 kopecks" for 0.5.
    other = _BASE.get(given.unit or "", (given.unit or one[0], 1.0))
    if one[0] is None or one[0] != other[0] or stated.unit == given.unit:
        return False
    return abs((stated.low or 0) * one[1] - (given.low or 0) * other[1]) < 1e-9


def _same_time(stated: Value, given: Value) -> bool:
    minutes, clock = (stated, given) if given.kind == "time" else (given, stated)
    if minutes.kind == "time":
        return minutes.low == clock.low or (minutes.low or 0) % 1440 == (clock.low or 0) % 1440
    # A bare number may be an hour ("from 10 to 12"), or hour and minutes with a dot.
    hours = {minutes.low, minutes.high}
    dotted = (
        {int(one or 0) * 60 + round((one or 0) % 1 * 100) for one in hours}
        if minutes.decimals == 2
        else set()
    )
    return minutes.unit is None and (clock.low in {(one or 0) * 60 for one in hours} or clock.low in dotted)


def _same_date(stated: Value, given: Value, known: Given | None) -> bool:
    if stated.kind == "weekday" and given.kind == "date":
        return given.text[0].isdigit() and date.fromisoformat(given.text).isoweekday() == int(stated.text)
    if stated.kind == "number" and stated.decimals == 2 and given.kind == "date":
        day, month = (int(part) for part in re.findall(r"\d+", stated.spelled)[:2])
        return given.text.endswith(f"-{month:02d}-{day:02d}")
    if given.kind == "number" and given.decimals == 2:
        return _same_date(given, stated, known)
    if stated.kind != "date" or given.kind != "date":
        return False
    if stated.text[0] in "+-" and stated.text[1] != "-":
        if stated.text == given.text:
            return True
        shift = timedelta(days=int(stated.text))
        return known is not None and any(day + shift in known.dates for day in known.dates)
    if stated.text[0] == "-" or given.text[0] == "-":
        return stated.text[-5:] == given.text[-5:]
    return given.text in (stated.text, f"{stated.text[:4]}-{stated.text[8:]}-{stated.text[5:7]}")


def given(trace: Trace, segment: Segment, results: Sequence[CallRecord]) -> Given:
    """Return what has been given before a text of a segment is said, ``results`` included."""
    lang = trace.lang
    users = trace.heard(segment.turns[-1].index if segment.turns else -1)
    # What the assistant said before the case begins is part of the conversation as well.
    told = [str(m.get("content") or "") for m in trace.case.messages if m["role"] == "assistant"]
    tools = trace.suite.contract.by_name
    records = tuple(_all_records(results, tools, lang))
    context = tuple(_leaves(dict(trace.case.context), None, lang))
    readings = [read(text, lang) for text in (*users, *told)]
    values = [value for reading in readings for value in reading.values]
    values += [value for record in records for value in record.values]
    values += list(context)
    values += [
        value
        for tool in trace.offered.values()
        for value in _limits(canonical_json(dict(tool.parameters)), canonical_json(dict(tool.limits)))
    ]
    spoken = [_spoken(record) for record in results]
    spoken.append("\n".join(leaf.replace("_", " ") for _, leaf in strings(dict(trace.case.context))))
    read_results = [read(text, lang) for text in spoken]
    clauses = [clause for reading in (*readings, *read_results) for clause in reading.clauses]
    text = normalize(
        "\n".join(
            [
                *users,
                *told,
                *spoken,
                json.dumps(dict(trace.case.context), ensure_ascii=False),
                *(str(dict(record.arguments or {})) for record in results),
            ]
        )
    )
    return Given(
        lang=lang,
        values=tuple(dict.fromkeys(values)),
        concepts=frozenset().union(
            *(clause.concepts for one in readings for clause in one.clauses if _tells(clause)),
            *(clause.concepts for one in read_results for clause in one.clauses),
        ),
        result_concepts=frozenset().union(
            *(clause.concepts for one in read_results for clause in one.clauses if not clause.denied)
        ),
        told=(*(value for reading in readings for value in reading.values), *context),
        done=_done(clauses),
        result_done=_done(clause for one in read_results for clause in one.clauses),
        text=text,
        records=records,
        names=names(trace),
        wrote=any(r.succeeded and r.tool in tools and tools[r.tool].effect == "write" for r in results),
        users=normalize("\n".join(users)),
        told_concepts=frozenset().union(*(c.concepts for one in readings for c in one.clauses)),
        units=_units([*users, *told, *spoken], lang)
        | {unit for tool in tools.values() for unit in tool.units.values()}
        | {value.unit for value in values if value.unit},
    )


def _units(texts: Iterable[str], lang: str) -> frozenset[str]:
    """Return the units and currencies that are mentioned by their word alone."""
    clauses = (clause for text in texts for clause in read(text, lang).clauses)
    words = {form for clause in clauses for word in clause.words for form in (word.lemma, word.text)}
    return mentioned_units(lang, words)


def _all_records(results: Sequence[CallRecord], tools: Mapping[str, ToolSpec], lang: str) -> Iterator[Record]:
    """Yield the records of all results; what was computed from one currency is in it."""
    earlier: list[Value] = []
    for result in results:
        records = list(_records(result, tools.get(result.tool), lang))
        spent = {value.low for value in _leaves(dict(result.arguments or {}), None, lang)}
        used = [value for value in earlier if value.kind == "number" and value.low in spent]
        units = {value.unit for value in used if value.unit}
        for record in records:
            if len(units) == 1:
                unit = next(iter(units))
                own = tuple(replace(v, unit=v.unit or unit) if v.kind == "number" else v for v in record.own)
                record = replace(record, values=(*record.values[: -len(own) or None], *own), own=own)
            earlier += record.own
            yield record


def _tells(clause: Clause) -> bool:
    """Whether the user tells something; neither "close it" nor "so that you close it" is told."""
    wished = clause.mood is Mood.CONDITIONAL and clause.actor is Actor.USER
    return clause.mood in _TELLING and clause.completed and not wished


def _done(clauses: Iterable[Clause]) -> frozenset[str]:
    """Return the predicates that clauses say were carried out."""
    told = (c for c in clauses if c.completed and not c.denied and c.mood is Mood.ASSERTED)
    return frozenset(predicate for clause in told for predicate in clause.predicates)


def names(trace: Trace) -> Mapping[str, tuple[str, ...]]:
    """Return canonical name → forms of the places and things the contract knows by name."""
    return _names(tuple(trace.suite.contract.tools))


@cache
def _names_of(source: str) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for canonical, forms in json.loads(source):
        found[canonical] = tuple(dict.fromkeys([*found.get(canonical, ()), canonical, *forms]))
    return found


def _names(tools: Sequence[ToolSpec]) -> Mapping[str, tuple[str, ...]]:
    pairs = [
        [canonical, list(forms)]
        for tool in tools
        for argument, synonyms in tool.synonyms.items()
        if "enum" not in tool.properties.get(argument, {})
        and tool.properties.get(argument, {}).get("type") != "integer"
        for canonical, forms in synonyms.items()
        if not _ISO_CURRENCY.match(canonical)
    ]
    return _names_of(json.dumps(pairs, ensure_ascii=False))


def _spoken(record: CallRecord) -> str:
    """Return the words of a result: texts and codes, underscores as blanks."""
    if record.result is None:
        return ""
    try:
        content = json.loads(record.result.content)
    except ValueError:
        return record.result.content
    return "\n".join(leaf.replace("_", " ") for _, leaf in strings(content))


def strings(value: JSON, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield ``(key, text)`` of every text in a JSON value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from strings(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, key)
    elif isinstance(value, str):
        yield key, value


def _records(record: CallRecord, tool: ToolSpec | None, lang: str) -> Iterator[Record]:
    """Yield one record for every object of a result, and the values of the call itself."""
    arguments = tuple(_leaves(dict(record.arguments or {}), tool, lang))
    try:
        content: Any = json.loads(record.result.content) if record.result else None
    except ValueError:
        content = record.result.content if record.result else None
    objects = list(_objects(content)) or [content]
    several = len(objects) > 1
    for one in objects:
        inner = tuple(_leaves(one, tool, lang))
        words = [leaf for _, leaf in strings([one, dict(record.arguments or {})])]
        said = [read(leaf.replace("_", " "), lang) for _, leaf in strings([one])]
        concepts = frozenset().union(*(c.concepts for reading in said for c in reading.clauses))
        # Arguments belong to every object of a list; the objects do not belong to each other.
        names = frozenset(normalize(word) for word in words)
        own_words = frozenset(w for leaf in strings([one]) if (w := normalize(leaf[1])).isalpha())
        yield Record((*arguments, *inner), names, inner, concepts, own_words, f"{record.tool}{arguments}")
    if several:
        yield Record(
            arguments, frozenset(normalize(leaf) for _, leaf in strings(dict(record.arguments or {})))
        )


def _objects(value: JSON) -> Iterator[Mapping[str, JSON]]:
    """Yield the innermost objects, those of a list one by one."""
    if isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
    elif isinstance(value, dict):
        nested = [
            inner
            for inner in value.values()
            if isinstance(inner, list) and any(isinstance(x, dict) for x in inner)
        ]
        if not nested:
            yield value
        flat = {key: inner for key, inner in value.items() if not any(inner is other for other in nested)}
        for inner in nested:
            for one in _objects(inner):
                yield {**flat, **one}


def _leaves(
    value: JSON, tool: ToolSpec | None, lang: str, key: str = "", holder: Mapping[str, JSON] | None = None
) -> Iterator[Value]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, tool, lang, name, value)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, tool, lang, key, holder)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        unit = "percent" if _PERCENT.search(key) else _unit(tool, key, holder or {})
        yield Value("number", str(value), float(value), float(value), unit=unit)
    else:
        # Services answer in English whatever the conversation's language.
        for spoken in dict.fromkeys((lang, "en")):
            yield from (
                replace(one, start=0, end=0) for one in read(str(value).replace("_", " "), spoken).values
            )


def _unit(tool: ToolSpec | None, key: str, holder: Mapping[str, JSON]) -> str | None:
    """Return the unit of a field: declared, or the content of the declared sibling."""
    declared = tool.units.get(key) if tool else None
    if declared is None:
        return None
    sibling = holder.get(declared)
    return str(sibling) if isinstance(sibling, str) else declared


@cache
def _limits(schema: str, limits: str) -> tuple[Value, ...]:
    """Return the numbers a schema sets as limits: "up to 1000", "six digits"."""
    found = re.findall(
        r'"(?:exclusive)?(?:maximum|minimum|maxLength|minLength)":(-?\d+(?:\.\d+)?)', schema, re.I
    )
    found += re.findall(r"\{(\d+)\}", schema) + re.findall(r"\d+(?:\.\d+)?", limits)
    return tuple(Value("number", one, float(one), float(one)) for one in found)
