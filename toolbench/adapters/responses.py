"""OpenAI Responses, stateless: nothing is stored, every output item goes back as it came."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.adapters.base import ProviderAdapter
from toolbench.adapters.decide import ProposedCall, Reading
from toolbench.adapters.drafts import Choice, Draft
from toolbench.adapters.ids import call_ids
from toolbench.adapters.shapes import (
    amount_of,
    count_of,
    items_of,
    object_at,
    objects_of,
    said_in,
    text_of,
    word_of,
)
from toolbench.adapters.streams import STREAM_WARNINGS, EventAssembler
from toolbench.adapters.wire import Messages, Offer, Request, Results, Said, result_text, wire_names
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import Usage

_CALLS = ("function_call", "custom_tool_call")
_END = ("response.completed", "response.incomplete", "response.failed")
_PIECES = (
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
)
_WHOLES = {
    "response.output_text.done": "text",
    "response.function_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
}


class Responses(ProviderAdapter):
    """``POST /responses``. The history is the list of input items behind the system prompt."""

    protocol = "responses"
    unique_ids = True

    def assistant(self, said: Said) -> Messages:
        """Return a message item if there is text, and one item per call.

        The calls have no item id: only the server can give one.
        """
        items: Messages = [{"role": "assistant", "content": said.text}] if said.text else []
        for call in said.calls:
            item = {"type": "function_call", "call_id": call.id, "name": call.name}
            items.append({**item, "arguments": call.raw_arguments})
        return items

    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add every output item as received: reasoning, messages and calls belong together."""
        items = objects_of(response.get("output"))
        calls = [index for index, item in enumerate(items) if item.get("type") in _CALLS]
        ids = call_ids([items[index].get("call_id") for index in calls], _ids(messages), self.unique_ids)
        for index, (id_, _) in zip(calls, ids, strict=True):
            items[index] = _with_text({**items[index], "call_id": id_})
        return [*messages, *items]

    def append_tool_results(self, messages: Messages, results: Results) -> Messages:
        """Add one output item per call, in call order; a custom tool's has a kind of its own."""
        kinds = {item.get("call_id"): item.get("type") for item in messages}
        return [
            *messages,
            *(
                {
                    "type": f"{kinds.get(call.id) or 'function_call'}_output",
                    "call_id": call.id,
                    "output": result_text(result),
                }
                for call, result in results
            ),
        ]

    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request; every setting is noted as asked and as sent."""
        draft = Draft(model, wire_names(offer, self.legal_name))
        system, *items = messages
        draft.body.update(model=model.model, instructions=system["content"], input=items)
        tools = draft.tools(offer)
        if tools:
            draft.body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                    "strict": bool(tool.strict),
                }
                for tool in tools
            ]
        draft.choose(offer, _choice)
        draft.put_parallel(offer)
        draft.put_sampling()
        if model.settings.stream:
            draft.body["stream"] = True
        return draft.finish("/responses", model.settings.stream)

    def stream_assembler(self) -> ResponsesAssembler:
        """Return an assembler of named events."""
        return ResponsesAssembler()

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply; input includes cached and output reasoning tokens already."""
        usage = object_at(response, "usage")
        return Usage(
            input=count_of(usage.get("input_tokens")),
            output=count_of(usage.get("output_tokens")),
            cached_input=count_of(object_at(usage, "input_tokens_details").get("cached_tokens")),
            reasoning=count_of(object_at(usage, "output_tokens_details").get("reasoning_tokens")),
            cache_write=count_of(object_at(usage, "input_tokens_details").get("cache_write_tokens")),
            cost=amount_of(usage.get("cost")),
        )

    def is_reply(self, body: Mapping[str, Any]) -> bool:
        """Whether there is a list of output items."""
        return isinstance(body.get("output"), list)

    def read(self, response: Mapping[str, Any]) -> Reading:
        """Take all output items apart together."""
        entries = items_of(response.get("output"))
        items = objects_of(entries)
        texts, refusals = _said(items)
        why = word_of(object_at(response, "incomplete_details").get("reason"))
        calls = [item for item in items if item.get("type") in _CALLS]
        return Reading(
            # Some gateways fill only what the SDK makes of the items.
            text="\n".join(texts) or text_of(response.get("output_text")),
            calls=[
                ProposedCall(call.get("call_id"), call.get("name"), call.get("arguments", call.get("input")))
                for call in calls
            ],
            unparsed=[
                entry if isinstance(entry, str) else json.dumps(entry)
                for entry in entries
                if not isinstance(entry, dict)
            ],
            finish=why or word_of(response.get("status")),
            finish_label="incomplete:",
            cut=response.get("status") == "incomplete"
            or any(call.get("status") == "incomplete" for call in calls),
            refusal="refusal part" if refusals else None,
            refusal_text="\n".join(refusals),
            missing=not self.is_reply(response),
            usage=self.usage(response),
            model=word_of(response.get("model")),
            warnings=[text_of(note) for note in items_of(response.get(STREAM_WARNINGS))],
        )

    def made_ids(self, body: Mapping[str, Any]) -> list[JSON]:
        """Return the call ids among the input items."""
        return _ids(objects_of(body.get("input")))

    def limit(self, body: Mapping[str, Any]) -> JSON:
        """Return ``max_output_tokens``."""
        return body.get("max_output_tokens")


class ResponsesAssembler(EventAssembler):
    """Named events to a response object.

    The last event carries it, but what earlier events showed counts although the last one lists less.
    """

    carries = frozenset({"type"})

    def __init__(self) -> None:
        super().__init__()
        self._response: dict[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, str] = {}
        self._texts: dict[int, str] = {}

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one event."""
        kind = text_of(event.get("type"))
        if kind.endswith((".delta", ".done")) and "reasoning" not in kind and event.get("delta"):
            self.has_content = True
        if kind in _END:
            self._response = object_at(event, "response")
            self.ended = True
            return
        index = self._index(event)
        if kind in ("response.output_item.added", "response.output_item.done"):
            item = object_at(event, "item")
            # Done may leave out what added had told.
            known = {key: value for key, value in item.items() if value not in ("", None, [])}
            self._items[index] = {**item, **self._items.get(index, {}), **known}
            self.has_content = self.has_content or item.get("type") in _CALLS
        elif kind in _PIECES:
            held = self._texts if "text" in kind else self._arguments
            held[index] = held.get(index, "") + text_of(event.get("delta"))
        elif kind in _WHOLES:
            held = self._texts if "text" in kind else self._arguments
            held[index] = text_of(event.get(_WHOLES[kind])) or held.get(index, "")

    def body(self) -> dict[str, Any]:
        """Return the response object."""
        shown = [self._filled(index, item) for index, item in sorted(self._items.items())]
        listed = objects_of(self._response.get("output"))
        if not listed:
            output = shown
        else:
            output = [_united(item, shown) for item in listed]
            known = {_identity(item) for item in listed}
            for place, item in enumerate(shown):
                if item.get("type") in _CALLS and _identity(item) not in known:
                    output.insert(place, item)
        if listed and listed != output:
            self.warnings.append("last_event_lists_less")
        if not output and "output" not in self._response:
            return self._response
        return {**self._response, "output": output}

    def _index(self, event: Mapping[str, JSON]) -> int:
        index = event.get("output_index")
        if isinstance(index, int):
            return index
        id_ = event.get("item_id") or object_at(event, "item").get("id")
        found = (place for place, item in self._items.items() if id_ and item.get("id") == id_)
        return next(found, len(self._items))

    def _filled(self, index: int, item: dict[str, Any]) -> dict[str, Any]:
        """Return an item with the text that arrived for it in pieces, where the item itself has none."""
        if item.get("type") in _CALLS:
            key = "input" if item["type"] == "custom_tool_call" else "arguments"
            return item if item.get(key) else {**item, key: self._arguments.get(index, item.get(key) or "")}
        text = self._texts.get(index)
        if item.get("type") == "message" and text and not any(_said([item])):
            return {**item, "content": [{"type": "output_text", "text": text, "annotations": []}]}
        return item


def _identity(item: Mapping[str, Any]) -> JSON:
    return item.get("call_id") or item.get("id")


def _united(item: dict[str, Any], shown: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a call of the last event with what it leaves out and an earlier event told."""
    if item.get("type") not in _CALLS:
        return item
    before = next((known for known in shown if _identity(known) == _identity(item)), {})
    return {**before, **{key: value for key, value in item.items() if value not in ("", None)}}


def _choice(choice: Choice) -> JSON:
    if choice.mode == "allowed":
        tools = [{"type": "function", "name": name} for name in choice.names]
        return {"type": "allowed_tools", "mode": "auto", "tools": tools}
    return {"type": "function", "name": choice.name} if choice.mode == "named" else choice.mode


def _ids(items: Sequence[Mapping[str, Any]]) -> list[JSON]:
    return [item.get("call_id") for item in items if item.get("type") in _CALLS]


def _with_text(item: dict[str, Any]) -> dict[str, Any]:
    """Return a call for the history: its arguments are a text there, whatever they came as."""
    arguments = item.get("arguments")
    if item.get("type") != "function_call" or isinstance(arguments, str):
        return item
    return {**item, "arguments": json.dumps(arguments or {})}


def _said(items: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the visible text and the refusal of every message item that has one."""
    texts, refusals = [], []
    for item in items:
        if item.get("type", "message") != "message":
            continue
        parts = objects_of(item.get("content"))
        text = said_in(item.get("content"), ("output_text", "text"))
        refusal = "".join(text_of(part.get("refusal")) for part in parts if part.get("type") == "refusal")
        texts += [text] if text else []
        refusals += [refusal] if refusal else []
    return texts, refusals
