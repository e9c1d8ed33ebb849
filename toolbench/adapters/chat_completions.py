"""OpenAI Chat Completions and everything that speaks it.

Differences between servers are entries of ``profiles.json``, not branches here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolbench.adapters.arguments import parse_arguments
from toolbench.adapters.base import (
    ERROR_PREFIX,
    Messages,
    Offer,
    Request,
    SettingNote,
    function_choice,
    profile_of,
    wire_names,
)
from toolbench.adapters.leaks import find_leaked_calls
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ModelDecision, ToolCall, Usage
from toolbench.domain.record import ToolResult

_LEGAL_NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
_THINK = re.compile(r"\A\s*<think>(.*?)</think>\s*", re.DOTALL)


class ChatCompletions:
    """``POST /chat/completions``."""

    protocol = "chat_completions"

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the bearer header."""
        return {"Authorization": f"Bearer {key}"}

    def start(self, system: str, messages: Sequence[Mapping[str, JSON]], offer: Offer) -> Messages:
        """Return the system message and the canonical history in wire form."""
        to_wire = {canonical: wire for wire, canonical in wire_names(offer, _LEGAL_NAME).items()}
        history: Messages = [{"role": "system", "content": system}]
        for message in messages:
            if message["role"] == "tool":
                history.append(_tool_message(str(message["tool_call_id"]), message["result"]))
            elif "tool_calls" in message:
                calls = [
                    {
                        "id": call["id"],
                        "type": "function",
                        "function": {
                            "name": to_wire.get(call["name"], call["name"]),
                            "arguments": json.dumps(call["arguments"], ensure_ascii=False),
                        },
                    }
                    for call in message["tool_calls"]
                ]
                history.append(
                    {"role": "assistant", "content": message.get("content", ""), "tool_calls": calls}
                )
            else:
                history.append({"role": message["role"], "content": message["content"]})
        return history

    def append_user(self, messages: Messages, text: str) -> Messages:
        """Add a user message."""
        return [*messages, {"role": "user", "content": text}]

    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add the assistant message as received; only a missing call id is filled in."""
        message = dict(_message(response))
        message.setdefault("role", "assistant")
        calls = message.get("tool_calls")
        if calls:
            ids = _call_ids(calls)
            message["tool_calls"] = [{**call, "id": id_} for call, (id_, _) in zip(calls, ids, strict=True)]
        return [*messages, message]

    def append_tool_results(
        self, messages: Messages, results: Sequence[tuple[ToolCall, ToolResult]]
    ) -> Messages:
        """Add one ``tool`` message per call, in call order."""
        return [*messages, *(_tool_message(call.id, result) for call, result in results)]

    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request; every setting is noted as asked and as sent."""
        profile = profile_of(model)
        names = wire_names(offer, _LEGAL_NAME)
        body: dict[str, Any] = {"model": model.model, "messages": messages}
        settings = model.settings
        notes: dict[str, SettingNote] = {}

        def send(setting: str, field: str | None, value: JSON) -> None:
            wanted = value is not None
            refused = model.capabilities.get(setting) == "unsupported" or field is None
            if wanted and not refused and field is not None:
                body[field] = value
            if wanted:
                ignored = (
                    setting in profile.get("ignored", ()) or model.capabilities.get(setting) == "ignored"
                )
                notes[setting] = SettingNote(
                    asked=value,
                    sent=None if refused else value,
                    honoured=False if refused or ignored else None,
                )

        if offer.tools:
            tools, choice = function_choice(offer, names, profile)
            body["tools"] = [self._tool(wire, tool, offer.lang, settings.strict) for wire, tool in tools]
            send("tool_choice", "tool_choice", choice)
            notes["tool_choice"] = replace(notes["tool_choice"], asked=offer.choice)
            send("parallel_tool_calls", profile["parallel_field"], settings.parallel_tool_calls)
            if settings.strict is not None:
                ignored = "strict" in profile.get("ignored", ())
                notes["strict"] = SettingNote(settings.strict, settings.strict, False if ignored else None)
        send("max_output_tokens", profile["max_tokens_field"], settings.max_output_tokens)
        send("temperature", "temperature", settings.temperature)
        send("seed", profile["seed_field"], settings.seed)
        if settings.stream:
            body.update(stream=True, stream_options={"include_usage": True})
        body.update(model.extra_body)
        return Request("/chat/completions", body, settings=notes, tool_names=names)

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply."""
        return _usage(response.get("usage"))

    def parse_decision(self, response: Mapping[str, Any], request: Request, offer: Offer) -> ModelDecision:
        """Return the decision in the first choice of a complete response."""
        choices = response.get("choices") or []
        choice = choices[0] if choices and isinstance(choices[0], dict) else {}
        message = _message(response)
        finish = choice.get("finish_reason")
        usage = _usage(response.get("usage"))
        text, warnings = _text(message.get("content"))
        if len(choices) > 1:
            warnings.append("several_choices")
        common: dict[str, Any] = {
            "text": text,
            "finish_reason": finish,
            "usage": usage,
            "returned_model": response.get("model"),
        }
        if not message:
            return ModelDecision("invalid", reason="no_choices", warnings=warnings, **common)
        if message.get("refusal") or finish == "content_filter":
            common["text"] = text or str(message.get("refusal") or "")
            reason = "content_filter" if finish == "content_filter" else "message.refusal"
            return ModelDecision("refusal", reason=reason, warnings=warnings, **common)
        calls = list(_calls(message, request, offer))
        if any(call.id_synthesized for call in calls):
            warnings.append("call_id_synthesized")
        limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
        cut = finish == "length" or (limit is not None and usage.output is not None and usage.output >= limit)
        if calls:
            return _decide_calls(calls, finish == "length", cut, warnings, common)
        leaked, marked = find_leaked_calls(text, request.tool_names)
        if leaked or marked:
            warnings.append("leaked_tool_call")
        common["leaked_calls"] = leaked
        if finish in ("tool_calls", "function_call"):
            return ModelDecision("invalid", reason="finish_without_call", warnings=warnings, **common)
        if not text.strip():
            return ModelDecision(
                "invalid", reason="truncated" if cut else "empty", warnings=warnings, **common
            )
        if finish == "length":
            warnings.append("truncated_text")
        return ModelDecision("text", warnings=warnings, **common)

    @staticmethod
    def _tool(wire_name: str, tool: ToolSpec, lang: str, strict: bool | None) -> dict[str, JSON]:
        function: dict[str, JSON] = {
            "name": wire_name,
            "description": tool.described(lang),
            "parameters": dict(tool.parameters),
        }
        if strict is not None:
            function["strict"] = strict
        return {"type": "function", "function": function}


def _decide_calls(
    calls: list[ToolCall], said_cut: bool, cut: bool, warnings: list[str], common: dict[str, Any]
) -> ModelDecision:
    broken = [call for call in calls if call.error]
    # A reply that ran into the limit is never executed: a call that happens to parse may not be the last one.
    # Without the server saying so, only an argument text that stops early shows the cut.
    if said_cut or (cut and any(call.error == "invalid_json" for call in broken)):
        shown = [
            replace(call, error="truncated", arguments=None) if call.error == "invalid_json" else call
            for call in calls
        ]
        return ModelDecision("invalid", calls=shown, reason="truncated", warnings=warnings, **common)
    if broken:
        return ModelDecision("invalid", calls=calls, reason="bad_arguments", warnings=warnings, **common)
    return ModelDecision("tool_call", calls=calls, warnings=warnings, **common)


def _message(response: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = response.get("choices") or []
    first = choices[0] if choices and isinstance(choices[0], dict) else {}
    message = first.get("message")
    return message if isinstance(message, dict) else {}


def _call_ids(calls: Sequence[Mapping[str, Any]]) -> list[tuple[str, bool]]:
    """Return ``(id, synthesized)`` per call; a missing or repeated id gets a stand-in by position."""
    seen: set[str] = set()
    ids = []
    for index, call in enumerate(calls):
        given = call.get("id")
        usable = isinstance(given, str) and given not in ("", "null") and given not in seen
        id_ = given if usable else f"call_{index}"
        seen.add(str(id_))
        ids.append((str(id_), not usable))
    return ids


def _calls(message: Mapping[str, Any], request: Request, offer: Offer) -> Iterator[ToolCall]:
    raw_calls = [call for call in message.get("tool_calls") or [] if isinstance(call, dict)]
    legacy = message.get("function_call")
    if not raw_calls and isinstance(legacy, dict):
        raw_calls = [{"function": legacy}]
    takes_nothing = {tool.name for tool in offer.tools if not tool.required}
    for call, (id_, synthesized) in zip(raw_calls, _call_ids(raw_calls), strict=True):
        function = call.get("function") or call.get("custom") or {}
        wire_name = str(function.get("name") or "")
        name = request.tool_names.get(wire_name, wire_name)
        yield parse_arguments(
            function.get("arguments", function.get("input")),
            call_id=id_,
            name=name,
            takes_nothing=name in takes_nothing,
            id_synthesized=synthesized,
        )


def _text(content: JSON) -> tuple[str, list[str]]:
    """Return the visible text: parts joined, a leading think block taken off (and noted)."""
    if isinstance(content, list):
        parts = (
            part.get("text", "") for part in content if isinstance(part, dict) and part.get("type") == "text"
        )
        content = "".join(str(part) for part in parts)
    text = content if isinstance(content, str) else ""
    think = _THINK.match(text)
    if think:
        return text[think.end() :], ["reasoning_in_content"]
    return text, []


def _usage(usage: JSON) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    return Usage(
        input=usage.get("prompt_tokens"),
        output=usage.get("completion_tokens"),
        cached_input=prompt.get("cached_tokens", usage.get("prompt_cache_hit_tokens")),
        reasoning=completion.get("reasoning_tokens"),
    )


def _tool_message(call_id: str, result: ToolResult) -> dict[str, JSON]:
    content = f"{ERROR_PREFIX}{result.content}" if result.is_error else result.content
    return {"role": "tool", "tool_call_id": call_id, "content": content}
