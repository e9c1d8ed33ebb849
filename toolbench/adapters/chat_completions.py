"""OpenAI Chat Completions and everything that speaks it.

Differences between servers are entries of ``profiles.json``, not branches here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.adapters.base import Messages, Offer, Request, wire_names
from toolbench.adapters.chat_stream import ChatAssembler
from toolbench.adapters.decide import ProposedCall, Reading, decide
from toolbench.adapters.drafts import Choice, Draft, OfferedTool
from toolbench.adapters.ids import call_ids, legal_id
from toolbench.adapters.profiles import Dialect
from toolbench.adapters.shapes import count_of, items_of, object_at, objects_of, text_of, word_of
from toolbench.adapters.wire import Results, Said, WireAdapter, result_text
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import ModelDecision, Usage


class ChatCompletions(WireAdapter):
    """``POST /chat/completions``."""

    protocol = "chat_completions"

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the bearer header."""
        return {"Authorization": f"Bearer {key}"}

    def append_user(self, messages: Messages, text: str) -> Messages:
        """Add a user message."""
        return [*messages, {"role": "user", "content": text}]

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
        """Add the assistant message as received; only a missing call id is filled in.

        An empty list of calls goes, and a legacy ``function_call`` becomes one call: neither can be replayed.
        """
        message = _message(response)
        message.setdefault("role", "assistant")
        calls = _raw_calls(message)
        message.pop("tool_calls", None)
        message.pop("function_call", None)
        if calls:
            ids = call_ids([call.get("id") for call in calls], _call_count(messages))
            message["tool_calls"] = [{**call, "id": id_} for call, (id_, _) in zip(calls, ids, strict=True)]
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
        if tools:
            draft.put("parallel_tool_calls", model.settings.parallel_tool_calls)
        draft.put_sampling()
        if model.settings.stream:
            draft.body["stream"] = True
            if draft.dialect.stream_options:
                draft.body["stream_options"] = {"include_usage": True}
        return draft.finish("/chat/completions", model.settings.stream)

    def stream_assembler(self) -> ChatAssembler:
        """Return an assembler of chunks."""
        return ChatAssembler()

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply; input includes cached and output reasoning tokens already."""
        usage = object_at(response, "usage")
        cached = count_of(object_at(usage, "prompt_tokens_details").get("cached_tokens"))
        return Usage(
            input=count_of(usage.get("prompt_tokens")),
            output=count_of(usage.get("completion_tokens")),
            cached_input=count_of(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
            reasoning=count_of(object_at(usage, "completion_tokens_details").get("reasoning_tokens")),
        )

    def parse_decision(self, response: Mapping[str, Any], request: Request, offer: Offer) -> ModelDecision:
        """Return the decision in the first choice of a complete response."""
        finish = word_of(object_at(response, "choices", 0).get("finish_reason"))
        message = _message(response)
        refusal = "content_filter" if finish == "content_filter" else None
        if message.get("refusal"):
            refusal = refusal or "message.refusal"
        reading = Reading(
            text=_text(message.get("content")),
            calls=_proposed(message),
            finish=finish,
            cut=finish in ("length", "model_length"),
            says_call=finish in ("tool_calls", "function_call"),
            refusal=refusal,
            refusal_text=text_of(message.get("refusal")),
            missing=not message,
            usage=self.usage(response),
            model=word_of(response.get("model")),
            warnings=["several_choices"] if len(items_of(response.get("choices"))) > 1 else [],
        )
        limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
        before = _call_count(objects_of(request.body.get("messages")))
        return decide(reading, request, offer, before=before, limit=limit)


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
    return choice.mode


def _in_dialect(message: Mapping[str, Any], dialect: Dialect, with_tools: bool) -> dict[str, Any]:
    """Return a message of the history as this server wants it replayed."""
    shown = dict(message)
    if "tool_call_id" in shown:
        shown["tool_call_id"] = legal_id(str(shown["tool_call_id"]), dialect.id_pattern)
    if shown["role"] != "assistant":
        return shown
    if shown.get("tool_calls"):
        shown["tool_calls"] = [
            {**call, "id": legal_id(str(call["id"]), dialect.id_pattern)} for call in shown["tool_calls"]
        ]
        if not shown.get("content") and dialect.empty_content != "echo":
            shown.pop("content", None)
            if dialect.empty_content != "absent":
                shown["content"] = None if dialect.empty_content == "null" else ""
    if with_tools:
        shown = {**dialect.reply_defaults, **shown}
    return shown


def _message(response: Mapping[str, Any]) -> dict[str, Any]:
    return object_at(response, "choices", 0, "message")


def _call_count(messages: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(objects_of(message.get("tool_calls"))) for message in messages)


def _raw_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    calls = objects_of(message.get("tool_calls"))
    legacy = object_at(message, "function_call")
    return [{"type": "function", "function": legacy}] if legacy and not calls else calls


def _proposed(message: Mapping[str, Any]) -> list[ProposedCall]:
    found = []
    for call in _raw_calls(message):
        function = object_at(call, "function") or object_at(call, "custom")
        arguments = function.get("arguments", function.get("input"))
        found.append(ProposedCall(call.get("id"), function.get("name"), arguments))
    return found


def _text(content: JSON) -> str:
    """Return the visible text; a list of parts may hold thinking beside it."""
    if isinstance(content, list):
        return "".join(
            text_of(part.get("text")) for part in objects_of(content) if part.get("type") == "text"
        )
    return text_of(content)
