"""Putting Chat Completions chunks together, whatever a server does with indices, ids and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolbench.adapters.shapes import object_at, objects_of, text_of
from toolbench.adapters.streams import EventAssembler, merge_delta
from toolbench.domain.canonical import JSON

_WHOLE = frozenset({"role", "type", "id", "format", "signature"})


@dataclass
class _OpenCall:
    """A call whose fragments are still arriving."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    parsed: JSON = None
    """Arguments of servers that send an object instead of a text."""
    rest: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        function = {
            "name": self.name,
            "arguments": self.arguments if self.parsed is None else self.parsed,
        }
        return {**({"id": self.id} if self.id else {}), "type": "function", **self.rest, "function": function}


class _Calls:
    """The calls of one message.

    A fragment belongs to the call at its index, or to the last one when it has none. A *different* id at an
    index in use opens a new call, as does another name once arguments have begun: servers that number every
    call 0 mean that. Null, empty, ``"null"`` and missing ids continue.
    """

    def __init__(self) -> None:
        self.calls: list[_OpenCall] = []
        self._at: dict[int, _OpenCall] = {}

    def add(self, fragment: Mapping[str, JSON]) -> None:
        index = fragment.get("index")
        given = text_of(fragment.get("id"))
        id_ = "" if given == "null" else given
        function = object_at(fragment, "function")
        name = text_of(function.get("name"))
        call = self._open_call(index, id_, name)
        if call is None:
            call = _OpenCall()
            self.calls.append(call)
        if isinstance(index, int):
            self._at[index] = call
        call.id = call.id or id_
        if name != call.name:
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments += arguments
        elif arguments is not None:
            call.parsed = arguments
        call.rest.update({k: v for k, v in fragment.items() if k not in ("index", "id", "function") and v})

    def _open_call(self, index: JSON, id_: str, name: str) -> _OpenCall | None:
        """Return the call that a fragment continues, or ``None`` when it begins one."""
        if isinstance(index, int):
            call = self._at.get(index)
        elif id_:
            call = next((known for known in self.calls if known.id == id_), None)
        else:
            call = None if name else (self.calls[-1] if self.calls else None)
        if call is None:
            return None
        other_id = bool(id_ and call.id and id_ != call.id)
        begun = bool(call.arguments) or call.parsed is not None
        other_name = bool(not id_ and name and name != call.name and begun)
        return None if other_id or other_name else call


@dataclass
class _OpenChoice:
    """One choice whose message is still arriving."""

    message: dict[str, Any] = field(default_factory=lambda: {"role": "assistant"})
    calls: _Calls = field(default_factory=_Calls)
    rest: dict[str, Any] = field(default_factory=dict)

    def to_json(self, index: int) -> dict[str, Any]:
        message = {**self.message}
        message.setdefault("content", None)
        if self.calls.calls:
            message["tool_calls"] = [call.to_json() for call in self.calls.calls]
        return {"index": index, **self.rest, "message": message}


class ChatAssembler(EventAssembler):
    """Chunks to a ``chat.completion`` body.

    The end is ``[DONE]`` or a finish reason: some servers leave the mark out, and one that fails half-way
    sends neither.
    """

    done_ends = True

    def __init__(self) -> None:
        super().__init__()
        self._top: dict[str, Any] = {}
        self._choices: dict[int, _OpenChoice] = {}

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one chunk."""
        self._top.update({k: v for k, v in event.items() if k != "choices" and v is not None})
        for part in objects_of(event.get("choices")):
            number = part.get("index")
            choice = self._choices.setdefault(number if isinstance(number, int) else 0, _OpenChoice())
            self._add(choice, object_at(part, "delta"))
            choice.rest.setdefault("finish_reason", None)
            choice.rest.update(
                {k: v for k, v in part.items() if k not in ("index", "delta") and v is not None}
            )
            if part.get("finish_reason"):
                self.ended = True

    def body(self) -> dict[str, Any]:
        """Return the assembled body."""
        choices = [choice.to_json(index) for index, choice in sorted(self._choices.items())]
        return {**self._top, "object": "chat.completion", "choices": choices}

    def _add(self, choice: _OpenChoice, delta: dict[str, Any]) -> None:
        fragments = objects_of(delta.pop("tool_calls", None))
        details = objects_of(delta.pop("reasoning_details", None))
        for fragment in fragments:
            choice.calls.add(fragment)
        for detail in details:
            _add_detail(choice.message.setdefault("reasoning_details", []), detail)
        if isinstance(delta.get("content"), list) or isinstance(choice.message.get("content"), list):
            _add_parts(choice.message, delta.pop("content", None))
        merge_delta(choice.message, delta, _WHOLE)
        self.has_content = self.has_content or bool(
            fragments or choice.message.get("content") or choice.message.get("refusal")
        )


def _add_detail(details: list[Any], fragment: dict[str, Any]) -> None:
    """Join a fragment of a reasoning detail to the one with its index and type."""
    same = (fragment.get("type"), fragment.get("index"))
    last = details[-1] if details else {}
    if details and fragment.get("index") is not None and (last.get("type"), last.get("index")) == same:
        merge_delta(last, fragment, _WHOLE)
    else:
        details.append(dict(fragment))


def _add_parts(message: dict[str, Any], content: JSON) -> None:
    """Add content that comes as parts (or a text after parts): text parts that touch are joined."""
    parts = message.get("content")
    if not isinstance(parts, list):
        parts = [{"type": "text", "text": parts}] if parts else []
    new = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    for part in objects_of(new):
        last = parts[-1] if parts else {}
        if part.get("type") == last.get("type") == "text":
            parts[-1] = {**last, "text": text_of(last.get("text")) + text_of(part.get("text"))}
        elif part.get("type") == last.get("type") == "thinking":
            parts[-1] = {**last, "thinking": _joined(last.get("thinking"), part.get("thinking"))}
        else:
            parts = [*parts, part]
    message["content"] = parts


def _joined(before: JSON, more: JSON) -> JSON:
    """Join two lists of thinking parts, their texts as well where they touch."""
    holder: dict[str, Any] = {"content": before if isinstance(before, list) else []}
    _add_parts(holder, more)
    return holder["content"]
