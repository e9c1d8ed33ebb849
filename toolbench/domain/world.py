"""What the calls of a conversation have left behind: the world of a suite's tools, by kind of object.

A tool's ``writes`` says what a call leaves. Without it every write that took effect is an object of its own,
called like the tool, with the arguments as fields: what was written is then what was called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.contract import ToolSpec
from toolbench.domain.record import CallRecord

REMOVED = "removed"
"""Field of an object that was taken away; nothing but its key is left beside it."""


@dataclass(frozen=True)
class Written:
    """One object: its fields, and the position in the attempt's calls of the last one that touched it."""

    object: str
    fields: Mapping[str, JSON]
    call: int


def took_effect(record: CallRecord) -> bool:
    """Whether a call changed something, whatever its caller was told."""
    if record.result is None or record.rejection is not None or record.replayed:
        return False
    tries = record.result.tries
    return any(bool(one.get("effect")) for one in tries) if tries else record.succeeded


def changes(tools: Mapping[str, ToolSpec], records: Iterable[CallRecord]) -> Iterator[tuple[str, Written]]:
    """Yield the key of an object and what became of it, for each write of a model that took effect."""
    there: dict[str, Written] = {}
    for position, record in enumerate(record for record in records if record.turn >= 0):
        tool = tools.get(record.tool)
        if tool is None or tool.leaves is None or not took_effect(record):
            continue
        kind, names = tool.leaves, tool.writes.get("key", ())
        answered = record.result.value if record.result else None
        fields = dict(record.arguments or {})
        key = {name: fields.get(name, _field(answered, name)) for name in names}
        place = canonical_json([kind, key or position])
        how = tool.writes.get("how", "put")
        before = there[place].fields if how == "merge" and place in there else {}
        # What was removed and is written to again is there again.
        kept = {name: value for name, value in before.items() if name != REMOVED}
        after = {**key, REMOVED: True} if how == "remove" else {**kept, **fields, **key}
        there[place] = Written(kind, after, position)
        yield place, there[place]


def world(tools: Mapping[str, ToolSpec], records: Iterable[CallRecord]) -> list[Written]:
    """Return the objects as they are in the end, in the order in which they were first touched."""
    return list(dict(changes(tools, records)).values())


def _field(value: JSON, name: str) -> JSON:
    return value.get(name) if isinstance(value, dict) else None
