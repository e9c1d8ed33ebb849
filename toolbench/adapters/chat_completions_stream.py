"""Chunks of Chat Completions to one reply.

What a fragment belongs to is said by index, id, name and arguments together: servers get each of them wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolbench.adapters.shapes import items_of, object_at, objects_of, text_of
from toolbench.adapters.streams import EventAssembler, merge_delta
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict


def function_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a call with its name; some servers leave the object around it out."""
    return object_at(call, "function") or object_at(call, "custom") or (dict(call) if "name" in call else {})


_WHOLE = frozenset({"role", "type", "id", "format", "signature"})


@dataclass
class _OpenCall:
    """A call whose fragments are still arriving."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    parsed: JSON = None
    """Arguments of servers that send an object instead of a text."""
    repeated: bool = False
    """Whether its name came again behind its finished arguments: a second call may follow."""
    rest: dict[str, Any] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the arguments are an object already."""
        if self.parsed is not None:
            return True
        try:
            return self.arguments.rstrip().endswith("}") and isinstance(loads_strict(self.arguments), dict)
        except StrictJSONError:
            return False

    def to_json(self) -> dict[str, Any]:
        function = {
            "name": self.name,
            "arguments": self.arguments if self.parsed is None else self.parsed,
        }
        return {**({"id": self.id} if self.id else {}), "type": "function", **self.rest, "function": function}


class _Calls:
    """The calls of one message; index, id, name and arguments together say what a fragment belongs to.

    A fragment without a name continues the call at its index, by its id, or the last one, as long as that
    call's arguments are unfinished, whatever its own id. Behind finished arguments a name or another object
    begins a call, so servers that number every call 0 and servers that invent an id a fragment are both read.
    """

    def __init__(self, warnings: list[str]) -> None:
        self.calls: list[_OpenCall] = []
        self._at: dict[int, _OpenCall] = {}
        self._warnings = warnings

    def add(self, fragment: Mapping[str, JSON]) -> None:
        index = fragment.get("index")
        given = text_of(fragment.get("id"))
        id_ = "" if given == "null" else given
        function = function_of(fragment)
        name, arguments = text_of(function.get("name")), function.get("arguments")
        call = self._meant(index, id_, name)
        if call is not None and self._opens(call, id_, name, arguments):
            name = name or (call.name if call.repeated else "")
            call = None
        if call is None:
            call = _OpenCall()
            self.calls.append(call)
        if isinstance(index, int):
            self._at[index] = call
        if id_ and call.id and id_ != call.id:
            self._warnings.append("call_id_changed_in_stream")
        call.id = call.id or id_
        call.repeated = bool(name) and call.complete
        if name != call.name:
            call.name += name
        if isinstance(arguments, str):
            if not (call.complete and name and arguments == call.arguments):
                call.arguments += arguments
        elif arguments is not None:
            call.parsed = arguments
        call.rest.update({k: v for k, v in fragment.items() if k not in ("index", "id", "function") and v})

    def _meant(self, index: JSON, id_: str, name: str) -> _OpenCall | None:
        """Return the call that a fragment points at, by index, by id, or as the last one."""
        if isinstance(index, int) and index in self._at:
            return self._at[index]
        same = next((call for call in self.calls if id_ and call.id == id_), None)
        if same is not None:
            return same
        last = self.calls[-1] if self.calls else None
        if isinstance(index, int) and last is not None and (name or id_ or last.complete):
            return None
        return last

    def _opens(self, call: _OpenCall, id_: str, name: str, arguments: JSON) -> bool:
        """Whether a fragment begins a call although it points at one."""
        other_id = bool(id_ and call.id and id_ != call.id)
        blank = not arguments if isinstance(arguments, str | None) else False
        if call.complete:
            if name:
                repeated = name == call.name and not other_id
                return not (repeated and (blank or (id_ and arguments == call.arguments)))
            another = isinstance(arguments, str) and arguments.lstrip().startswith("{")
            return another or (isinstance(arguments, dict) and call.parsed is not None)
        if not name or not call.name:
            return False
        if name == call.name:
            begins = isinstance(arguments, str) and arguments.lstrip().startswith("{")
            return other_id and begins and bool(call.arguments)
        # A name in pieces comes before all arguments.
        return other_id or bool(call.arguments) or not blank


@dataclass
class _OpenChoice:
    """One choice whose message is still arriving."""

    calls: _Calls
    message: dict[str, Any] = field(default_factory=lambda: {"role": "assistant"})
    odd: list[Any] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)

    def to_json(self, index: int) -> dict[str, Any]:
        message = {**self.message}
        message.setdefault("content", None)
        if self.calls.calls or self.odd:
            message["tool_calls"] = [*(call.to_json() for call in self.calls.calls), *self.odd]
        return {"index": index, **self.rest, "message": message}


class ChatAssembler(EventAssembler):
    """Chunks to a ``chat.completion`` body.

    The end is ``[DONE]`` or a finish reason: some servers leave the mark out, and one that fails half-way
    sends neither.
    """

    done_ends = True
    carries = frozenset({"choices", "usage"})

    def __init__(self) -> None:
        super().__init__()
        self._top: dict[str, Any] = {}
        self._choices: dict[int, _OpenChoice] = {}

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one chunk."""
        self._top.update({k: v for k, v in event.items() if k != "choices" and v is not None})
        for part in objects_of(event.get("choices")):
            number = part.get("index")
            choice = self._choices.setdefault(
                number if isinstance(number, int) else 0, _OpenChoice(_Calls(self.warnings))
            )
            whole = object_at(part, "message")
            self._add(choice, object_at(part, "delta") or _rest(choice.message.get("content"), whole))
            choice.rest.setdefault("finish_reason", None)
            choice.rest.update(
                {k: v for k, v in part.items() if k not in ("index", "delta", "message") and v is not None}
            )
            if part.get("finish_reason"):
                self.ended = True

    def body(self) -> dict[str, Any]:
        """Return the assembled body."""
        choices = [choice.to_json(index) for index, choice in sorted(self._choices.items())]
        return {**self._top, "object": "chat.completion", "choices": choices}

    def _add(self, choice: _OpenChoice, delta: dict[str, Any]) -> None:
        given = delta.pop("tool_calls", None)
        fragments = [given] if isinstance(given, dict | str) and given else items_of(given)
        details = objects_of(delta.pop("reasoning_details", None))
        for fragment in fragments:
            if isinstance(fragment, dict):
                choice.calls.add(fragment)
            else:
                choice.odd.append(fragment)
        for detail in details:
            _add_detail(choice.message.setdefault("reasoning_details", []), detail)
        if isinstance(delta.get("content"), list) or isinstance(choice.message.get("content"), list):
            _add_parts(choice.message, delta.pop("content", None))
        merge_delta(choice.message, delta, _WHOLE)
        self.has_content = self.has_content or bool(
            fragments or choice.message.get("content") or choice.message.get("refusal")
        )


def _rest(before: JSON, whole: dict[str, Any]) -> dict[str, Any]:
    """Return of a message that some servers send whole in the end what its pieces have not told."""
    content = whole.get("content")
    if isinstance(before, str) and isinstance(content, str) and content.startswith(before):
        return {**whole, "content": content[len(before) :]}
    return whole


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
