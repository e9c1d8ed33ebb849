"""OpenAI Chat Completions and everything that speaks it.

Differences between servers are entries of ``profiles.json``, not branches here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.adapters.base import ProviderAdapter
from toolbench.adapters.chat_completions_stream import ChatAssembler, function_of
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
    said_in,
    text_of,
    word_of,
)
from toolbench.adapters.streams import STREAM_WARNINGS
from toolbench.adapters.wire import Messages, Offer, Request, Results, Said, result_text, wire_names
from toolbench.domain.canonical import JSON
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


def _proposed(call: Mapping[str, Any]) -> ProposedCall:
    function = function_of(call)
    return ProposedCall(
        call.get("id"), function.get("name"), function.get("arguments", function.get("input"))
    )


def _with_text(call: dict[str, Any]) -> dict[str, Any]:
    """Return a call for the history: its arguments are a text there, whatever they came as."""
    if call.get("type") == "custom" or object_at(call, "custom"):
        return call
    function = function_of(call)
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    if "function" not in call:
        call = {"type": "function"}
    return {**call, "function": {**function, "arguments": text}}


def _text(content: JSON) -> str:
    """Return the visible text; a list of parts may hold thinking beside it."""
    return said_in(content, ("text", "output_text"))
