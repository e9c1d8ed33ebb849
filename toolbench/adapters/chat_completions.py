"""OpenAI Chat Completions and everything that speaks it.

Differences between servers are entries of ``profiles.json``, not branches here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolbench.adapters.base import ProviderAdapter
from toolbench.adapters.decide import ProposedCall, Reading
from toolbench.adapters.drafts import Choice, Draft, OfferedTool
from toolbench.adapters.ids import call_ids, legal_id
from toolbench.adapters.profiles import Dialect
from toolbench.adapters.shapes import (
    amount_of,
    count_of,
    items_of,
    object_at,
    objects_of,
    text_of,
    word_of,
)
from toolbench.adapters.streams import STREAM_WARNINGS, EventAssembler, merge_delta
from toolbench.adapters.wire import Messages, Offer, Request, Results, Said, result_text, wire_names
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import Usage


class ChatCompletions(ProviderAdapter):
    """``POST /chat/completions``."""

    protocol = "chat_completions"

    def assistant(self, said: Said) -> Messages:
        """Return one assistant message; arguments are a text on this wire."""
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.raw_arguments},
                }
                for call in said.calls
            ]
        return [message]

    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add the assistant message as received, with the ids the decision gave and arguments as texts.

        An empty list of calls goes, and a legacy ``function_call`` becomes one call: neither can be replayed.
        """
        message = _message(response)
        message.setdefault("role", "assistant")
        calls = _raw_calls(message)[0]
        message.pop("tool_calls", None)
        message.pop("function_call", None)
        if calls:
            ids = call_ids([call.get("id") for call in calls], _ids(messages))
            message["tool_calls"] = [
                {**_with_text(call), "id": id_} for call, (id_, _) in zip(calls, ids, strict=True)
            ]
        return [*messages, message]

    def append_tool_results(self, messages: Messages, results: Results) -> Messages:
        """Add one ``tool`` message per call, in call order."""
        return [
            *messages,
            *(
                {"role": "tool", "tool_call_id": call.id, "content": result_text(result)}
                for call, result in results
            ),
        ]

    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request; every setting is noted as asked and as sent."""
        draft = Draft(model, wire_names(offer, self.legal_name))
        tools = draft.tools(offer)
        draft.body.update(
            model=model.model, messages=[_in_dialect(m, draft.dialect, bool(tools)) for m in messages]
        )
        if tools:
            draft.body["tools"] = [_tool(tool) for tool in tools]
        draft.choose(offer, _choice)
        draft.put_parallel(offer)
        draft.put_sampling()
        if model.settings.stream:
            draft.body["stream"] = True
            if draft.dialect.stream_options:
                draft.body["stream_options"] = {"include_usage": True}
        return draft.finish("/chat/completions", model.settings.stream)

    def stream_assembler(self) -> ChatAssembler:
        """Return an assembler of chunks."""
        return ChatAssembler()

    def is_reply(self, body: Mapping[str, Any]) -> bool:
        """Whether there is a choice with a message."""
        choices = objects_of(body.get("choices"))
        return bool(choices) and isinstance(choices[0].get("message"), dict)

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply; input includes cached and output reasoning tokens already."""
        usage = object_at(response, "usage")
        details = object_at(usage, "prompt_tokens_details")
        cached = count_of(details.get("cached_tokens"))
        return Usage(
            input=count_of(usage.get("prompt_tokens")),
            output=count_of(usage.get("completion_tokens")),
            cached_input=count_of(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
            reasoning=count_of(object_at(usage, "completion_tokens_details").get("reasoning_tokens")),
            cache_write=count_of(details.get("cache_write_tokens")),
            cost=amount_of(usage.get("cost")),
        )

    def read(self, response: Mapping[str, Any]) -> Reading:
        """Take the first choice apart."""
        message = _message(response)
        calls, unparsed = _raw_calls(message)
        return Reading(
            text=_text(message.get("content")),
            calls=[_proposed(call) for call in calls],
            unparsed=unparsed,
            finish=word_of(object_at(response, "choices", 0).get("finish_reason")),
            refusal="message.refusal" if message.get("refusal") else None,
            refusal_text=text_of(message.get("refusal")),
            missing=not message,
            usage=self.usage(response),
            model=word_of(response.get("model")),
            warnings=[
                *(text_of(note) for note in items_of(response.get(STREAM_WARNINGS))),
                *(["several_choices"] if len(items_of(response.get("choices"))) > 1 else []),
            ],
        )

    def made_ids(self, body: Mapping[str, Any]) -> list[JSON]:
        """Return the ids of the calls in the messages."""
        return _ids(objects_of(body.get("messages")))

    def limit(self, body: Mapping[str, Any]) -> JSON:
        """Return the limit under either of its names."""
        return body.get("max_tokens") or body.get("max_completion_tokens")


def _tool(tool: OfferedTool) -> dict[str, JSON]:
    function: dict[str, JSON] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
    }
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _choice(choice: Choice) -> JSON:
    if choice.mode == "named":
        return {"type": "function", "function": {"name": choice.name}}
    if choice.mode == "allowed":
        tools = [{"type": "function", "function": {"name": name}} for name in choice.names]
        return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}}
    return choice.mode


def _in_dialect(message: Mapping[str, Any], dialect: Dialect, with_tools: bool) -> dict[str, Any]:
    """Return a message of the history as this server wants it replayed."""
    shown = dict(message)
    if "tool_call_id" in shown:
        shown["tool_call_id"] = legal_id(str(shown["tool_call_id"]), dialect.id_pattern)
    if shown["role"] != "assistant":
        return shown
    for key in dialect.reply_drops:
        shown.pop(key, None)
    if shown.get("tool_calls"):
        shown["tool_calls"] = [
            {**call, "id": legal_id(str(call["id"]), dialect.id_pattern)} for call in shown["tool_calls"]
        ]
        if not shown.get("content") and dialect.empty_content != "echo":
            shown.pop("content", None)
            if dialect.empty_content != "absent":
                shown["content"] = None if dialect.empty_content == "null" else ""
    if with_tools:
        for key, value in dialect.reply_defaults.items():
            shown[key] = value if shown.get(key) is None else shown[key]
    return shown


def _message(response: Mapping[str, Any]) -> dict[str, Any]:
    return object_at(response, "choices", 0, "message")


def _ids(messages: Sequence[Mapping[str, Any]]) -> list[JSON]:
    return [call.get("id") for message in messages for call in objects_of(message.get("tool_calls"))]


def _raw_calls(message: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the calls of a message, and the entries beside them that are no objects, as texts."""
    given = message.get("tool_calls")
    entries = [given] if isinstance(given, dict) or (given and isinstance(given, str)) else items_of(given)
    calls = [entry for entry in entries if isinstance(entry, dict)]
    unparsed = [
        entry if isinstance(entry, str) else json.dumps(entry)
        for entry in entries
        if not isinstance(entry, dict)
    ]
    legacy = object_at(message, "function_call")
    if legacy and not entries:
        calls = [{"type": "function", "function": legacy}]
    return calls, unparsed


def _function(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a call with its name; some servers leave the object around it out."""
    return object_at(call, "function") or object_at(call, "custom") or (dict(call) if "name" in call else {})


def _proposed(call: Mapping[str, Any]) -> ProposedCall:
    function = _function(call)
    return ProposedCall(
        call.get("id"), function.get("name"), function.get("arguments", function.get("input"))
    )


def _with_text(call: dict[str, Any]) -> dict[str, Any]:
    """Return a call for the history: its arguments are a text there, whatever they came as."""
    if call.get("type") == "custom" or object_at(call, "custom"):
        return call
    function = _function(call)
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    if "function" not in call:
        call = {"type": "function"}
    return {**call, "function": {**function, "arguments": text}}


def _text(content: JSON) -> str:
    """Return the visible text; a list of parts may hold thinking beside it."""
    if isinstance(content, list):
        return "".join(
            text_of(part.get("text")) for part in objects_of(content) if part.get("type") == "text"
        )
    return text_of(content)


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
        function = _function(fragment)
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
            self._add(choice, object_at(part, "delta") or object_at(part, "message"))
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
