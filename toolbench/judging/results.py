"""What results say: the values, names and words of every object in them, with those of the call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.contract import ToolSpec
from toolbench.judging.reading.reader import read
from toolbench.judging.reading.statements import Value
from toolbench.judging.text import normalize

_PERCENT = re.compile(r"percent|pct", re.I)


@dataclass(frozen=True)
class Told:
    """One call and what came back: the arguments as JSON, the result's text."""

    tool: str
    arguments: str
    content: str
    succeeded: bool


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


def records(results: Sequence[Told], tools: Mapping[str, ToolSpec], lang: str) -> Iterator[Record]:
    """Yield the records of all results; what was computed from one currency is in it."""
    earlier: list[Value] = []
    for result in results:
        found = list(_records(result, tools.get(result.tool), lang))
        spent = {value.low for value in leaves(json.loads(result.arguments), None, lang)}
        used = [value for value in earlier if value.kind == "number" and value.low in spent]
        units = {value.unit for value in used if value.unit}
        for record in found:
            if len(units) == 1:
                unit = next(iter(units))
                own = tuple(replace(v, unit=v.unit or unit) if v.kind == "number" else v for v in record.own)
                record = replace(record, values=(*record.values[: -len(own) or None], *own), own=own)
            earlier += record.own
            yield record


def spoken(told: Told) -> str:
    """Return the words of a result: texts and codes, underscores as blanks."""
    content = _content(told)
    if isinstance(content, str):
        return content
    return texts(content)


def texts(content: JSON) -> str:
    """Return the texts in a JSON value, a state also with its name: "open" alone could be a verb."""
    found = [(key, leaf.replace("_", " ")) for key, leaf in strings(content)]
    return "\n".join(
        [*(leaf for _, leaf in found), *(f"{key} {leaf}" for key, leaf in found if key in STATES)]
    )


STATES = frozenset({"status", "state"})
"""Names of fields that tell a state."""


def _content(told: Told) -> Any:
    try:
        return json.loads(told.content)
    except ValueError:
        return told.content


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


def _records(told: Told, tool: ToolSpec | None, lang: str) -> Iterator[Record]:
    """Yield one record for every object of a result, and the values of the call itself."""
    made = json.loads(told.arguments)
    arguments = tuple(leaves(made, tool, lang))
    content = _content(told)
    objects = list(_objects(content)) or [content]
    several = len(objects) > 1
    for one in objects:
        inner = tuple(leaves(one, tool, lang))
        words = [leaf for _, leaf in strings([one, made])]
        said = [read(leaf.replace("_", " "), lang) for _, leaf in strings([one])]
        concepts = frozenset().union(*(c.concepts for reading in said for c in reading.clauses))
        # Arguments belong to every object of a list; the objects do not belong to each other.
        names = frozenset(normalize(word) for word in words)
        own_words = frozenset(w for leaf in strings([one]) if (w := normalize(leaf[1])).isalpha())
        yield Record((*arguments, *inner), names, inner, concepts, own_words, f"{told.tool} {told.arguments}")
    if several:
        yield Record(arguments, frozenset(normalize(leaf) for _, leaf in strings(made)))


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


def leaves(
    value: JSON, tool: ToolSpec | None, lang: str, key: str = "", holder: Mapping[str, JSON] | None = None
) -> Iterator[Value]:
    """Yield the values of a JSON value, numbers with the unit their tool declares."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, tool, lang, name, value)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, tool, lang, key, holder)
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
