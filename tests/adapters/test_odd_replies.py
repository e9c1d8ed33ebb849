"""Replies in some server's own spelling: what the model said is read, and no habit is its fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.adapters.support import chat, chat_call, chunk, ok, read, reply, sse, with_results
from toolbench.adapters import adapter_for, assemble
from toolbench.errors import TransportError

CITY = '{"city": "Paris"}'


def message(content: Any, **more: Any) -> dict[str, Any]:
    item = {"type": "message", "role": "assistant", "content": content, **more}
    return {**reply("responses"), "output": [item]}


def ollama(call: Any) -> dict[str, Any]:
    return {**reply("ollama_chat"), "message": {"role": "assistant", "content": "", "tool_calls": call}}


SAID: dict[str, tuple[str, dict[str, Any]]] = {
    "chat: parts as the other API calls them": (
        "chat_completions",
        chat({"content": [{"type": "output_text", "text": "Hi."}]}),
    ),
    "chat: parts that are texts": ("chat_completions", chat({"content": ["H", "i."]})),
    "chat: one part in no list": ("chat_completions", chat({"content": {"type": "text", "text": "Hi."}})),
    "chat: a part without a type": ("chat_completions", chat({"content": [{"text": "Hi."}]})),
    "chat: thinking beside it": (
        "chat_completions",
        chat(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                    {"type": "text", "text": "Hi."},
                ]
            }
        ),
    ),
    "responses: a content that is a text": ("responses", message("Hi.")),
    "responses: parts as the other API calls them": ("responses", message([{"type": "text", "text": "Hi."}])),
    "responses: an item without a type": (
        "responses",
        {
            **reply("responses"),
            "output": [{"role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}],
        },
    ),
    "responses: nothing but the SDK's own field": ("responses", {**reply("responses"), "output_text": "Hi."}),
    "messages: a content that is a text": ("messages", {**reply("messages"), "content": "Hi."}),
}
CALLED: dict[str, tuple[str, dict[str, Any]]] = {
    "chat: arguments as an object": (
        "chat_completions",
        chat({"tool_calls": [chat_call({"city": "Paris"})]}, "tool_calls"),
    ),
    "chat: a call in no list": ("chat_completions", chat({"tool_calls": chat_call(CITY)}, "stop")),
    "chat: a call that is flat": (
        "chat_completions",
        chat({"tool_calls": [{"id": "a", "name": "look", "arguments": CITY}]}, "stop"),
    ),
    "ollama: a call in no list": (
        "ollama_chat",
        ollama({"function": {"name": "look", "arguments": {"city": "Paris"}}}),
    ),
    "ollama: a call that is flat": (
        "ollama_chat",
        ollama([{"name": "look", "arguments": {"city": "Paris"}}]),
    ),
    "responses: arguments as an object": (
        "responses",
        {
            **reply("responses"),
            "output": [
                {"type": "function_call", "call_id": "c", "name": "look", "arguments": {"city": "Paris"}}
            ],
        },
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_was_said_is_read(name: str) -> None:
    protocol, body = SAID[name]
    decision = read(protocol, body)
    assert (decision.kind, decision.text) == ("text", "Hi.")


@pytest.mark.parametrize("name", CALLED)
def test_what_was_called_is_read_and_can_be_sent_back(name: str) -> None:
    protocol, body = CALLED[name]
    decision = read(protocol, body)
    assert [(call.name, dict(call.arguments or {})) for call in decision.calls] == [
        ("look", {"city": "Paris"})
    ]
    request, _ = with_results(protocol, body, [ok("sunny")])
    assert "Paris" in json.dumps(request.body)
    if protocol == "ollama_chat":
        (call,) = request.body["messages"][-2]["tool_calls"]
        assert call["function"] == {"name": "look", "arguments": {"city": "Paris"}}


def test_a_whole_message_behind_its_pieces_is_not_said_twice() -> None:
    last = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]
    }
    text = sse(chunk({"content": "H"}), chunk({"content": "i"}), last)
    body = assemble(adapter_for("chat_completions").stream_assembler(), text)
    assert read("chat_completions", body).text == "Hi."


def test_a_call_that_gemini_could_not_read_is_kept() -> None:
    said = "Malformed function call: print(default_api.look(city='Paris'))"
    body = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": said}]}
    decision = read("generate_content", body)
    assert (decision.kind, decision.reason, decision.text) == ("invalid", "malformed_call", said)


@pytest.mark.parametrize(
    ("protocol", "body"),
    [
        ("chat_completions", {"choices": [{"text": "Hi.", "finish_reason": "stop"}]}),
        ("chat_completions", {"choices": {"0": {"message": {"content": "Hi."}}}}),
        ("responses", chat({"content": "Hi."})),
        ("responses", {**reply("responses"), "status": "queued"}),
        ("responses", {**reply("responses"), "status": "cancelled"}),
        ("messages", chat({"content": "Hi."})),
        ("messages", {"type": "message", "content": None}),
        ("ollama_chat", {"model": "m", "response": "Hi.", "done": True}),
        ("ollama_chat", {**reply("ollama_chat", "Hi."), "done": False}),
        ("ollama_chat", {**reply("ollama_chat"), "done_reason": "load"}),
        ("generate_content", {"candidates": [], "usageMetadata": {}}),
        ("generate_content", {"candidates": [{"finishReason": "OTHER"}]}),
    ],
)
def test_another_protocols_reply_or_none_is_the_servers_fault(protocol: str, body: dict[str, Any]) -> None:
    fault = adapter_for(protocol).fault(body)
    assert isinstance(fault, TransportError)
    assert fault.retryable
    assert not fault.decides
