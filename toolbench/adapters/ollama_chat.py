"""Ollama's native chat."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.adapters.base import ProviderAdapter
from toolbench.adapters.decide import ProposedCall, Reading
from toolbench.adapters.drafts import Draft
from toolbench.adapters.ids import call_ids
from toolbench.adapters.shapes import count_of, items_of, object_at, objects_of, text_of, word_of
from toolbench.adapters.streams import EventAssembler, merge_delta
from toolbench.adapters.wire import Messages, Offer, Request, Results, Said, result_text, wire_names
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import Usage


class OllamaChat(ProviderAdapter):
    """``POST /chat`` below ``/api``. The wire has no tool choice; arguments travel as objects."""

    protocol = "ollama_chat"

    def assistant(self, said: Said) -> Messages:
        """Return one assistant message."""
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.calls:
            message["tool_calls"] = [
                {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
                for call in said.calls
            ]
        return [message]

    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add the message as received, with the ids the decision gave where the server gave any."""
        message = {"role": "assistant", **object_at(response, "message")}
        calls = objects_of(_entries(message))
        message.pop("tool_calls", None)
        if calls:
            ids = call_ids([call.get("id") for call in calls], _ids(messages))
            message["tool_calls"] = [
                _with_object({**call, "id": id_} if call.get("id") else call)
                for call, (id_, _) in zip(calls, ids, strict=True)
            ]
        return [*messages, message]

    def append_tool_results(self, messages: Messages, results: Results) -> Messages:
        """Add one ``tool`` message per call, in call order.

        The tool's name comes from the message that made the call; an id goes along if the server gave one.
        """
        made = objects_of(messages[-1].get("tool_calls"))
        ids = call_ids([call.get("id") for call in made], _ids(messages[:-1]))
        names = {
            id_: object_at(call, "function").get("name") for call, (id_, _) in zip(made, ids, strict=True)
        }
        answers: Messages = []
        for call, result in results:
            answer = {"role": "tool", "tool_name": names[call.id], "content": result_text(result)}
            given = any(call.id == made_call.get("id") for made_call in made)
            answers.append({**answer, "tool_call_id": call.id} if given else answer)
        return [*messages, *answers]

    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request; what the wire has no field for is noted as not honoured."""
        draft = Draft(model, wire_names(offer, self.legal_name))
        draft.body.update(model=model.model, messages=messages)
        tools = draft.tools(offer)
        if tools:
            draft.body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.schema,
                    },
                }
                for tool in tools
            ]
        draft.choose(offer, lambda choice: choice.mode)
        draft.put_parallel(offer)
        draft.put_sampling()
        # Without the field the server streams.
        draft.body["stream"] = model.settings.stream
        return draft.finish("/chat", model.settings.stream)

    def stream_assembler(self) -> OllamaAssembler:
        """Return an assembler of JSON lines."""
        return OllamaAssembler()

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply; a warm cache can leave the input count out."""
        return Usage(
            input=count_of(response.get("prompt_eval_count")), output=count_of(response.get("eval_count"))
        )

    def is_reply(self, body: Mapping[str, Any]) -> bool:
        """Whether there is a message, and the reply has ended."""
        return isinstance(body.get("message"), dict) and body.get("done") is not False

    def read(self, response: Mapping[str, Any]) -> Reading:
        """Take the message apart; ``done_reason`` is ``stop`` with calls as well."""
        message = object_at(response, "message")
        entries = _entries(message)
        calls = []
        for call in objects_of(entries):
            function = _function(call)
            calls.append(ProposedCall(call.get("id"), function.get("name"), function.get("arguments")))
        return Reading(
            text=text_of(message.get("content")),
            calls=calls,
            unparsed=[
                entry if isinstance(entry, str) else json.dumps(entry)
                for entry in entries
                if not isinstance(entry, dict)
            ],
            finish=word_of(response.get("done_reason")),
            missing=not message,
            carries_objects=True,
            usage=self.usage(response),
            model=word_of(response.get("model")),
        )

    def made_ids(self, body: Mapping[str, Any]) -> list[JSON]:
        """Return the ids of the calls in the messages."""
        return _ids(objects_of(body.get("messages")))

    def limit(self, body: Mapping[str, Any]) -> JSON:
        """Return ``num_predict``."""
        return object_at(body, "options").get("num_predict")


class OllamaAssembler(EventAssembler):
    """One JSON object a line to one reply: texts are joined, calls come whole."""

    sse = False
    carries = frozenset({"message", "done"})

    def __init__(self) -> None:
        super().__init__()
        self._reply: dict[str, Any] = {}
        self._message: dict[str, Any] = {}

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one line's object."""
        self._reply.update({k: v for k, v in event.items() if v is not None})
        merge_delta(self._message, object_at(event, "message"), frozenset({"role"}))
        self.has_content = self.has_content or bool(
            self._message.get("content") or self._message.get("tool_calls")
        )
        self.ended = self.ended or event.get("done") is True

    def body(self) -> dict[str, Any]:
        """Return the whole reply."""
        return {**self._reply, **({"message": self._message} if "message" in self._reply else {})}


def _ids(messages: Sequence[Mapping[str, Any]]) -> list[JSON]:
    return [call.get("id") for message in messages for call in objects_of(message.get("tool_calls"))]


def _entries(message: Mapping[str, Any]) -> list[Any]:
    """Return the entries among the calls of a message; imitations send one that is in no list."""
    given = message.get("tool_calls")
    return [given] if isinstance(given, dict | str) and given else items_of(given)


def _function(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a call with its name; imitations leave the object around it out."""
    return object_at(call, "function") or {key: call[key] for key in ("name", "arguments") if key in call}


def _with_object(call: dict[str, Any]) -> dict[str, Any]:
    """Return a call for the history: its arguments are an object there, also where the model gave none."""
    function = _function(call)
    kept = {"id": call["id"]} if "id" in call and "function" not in call else {}
    outer = call if "function" in call else kept
    return {**outer, "function": {**function, "arguments": function.get("arguments") or {}}}
