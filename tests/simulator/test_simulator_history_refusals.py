"""What each provider refuses in a history with calls and results: one test a documented refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from tests.simulator.simulator_bodies import ERROR_TEXT, Post, first_turn, second_turn

Body = dict[str, Any]
Break = Callable[[Body], None]

CHAT, RESPONSES, MESSAGES = "chat_completions", "responses", "messages"
OLLAMA, GEMINI = "ollama_chat", "generate_content"

MODELS = {
    CHAT: [
        "sim-openai",
        "sim-deepseek",
        "sim-deepseek-thinking",
        "sim-mistral",
        "sim-ollama-v1",
        "sim-llama-cpp",
    ],
    RESPONSES: ["sim-openai", "sim-openai-reasoning"],
    MESSAGES: ["sim-claude", "sim-claude-no-forced", "sim-claude-bound", "sim-claude-4-5"],
    OLLAMA: ["sim-ollama", "sim-ollama-thinking"],
    GEMINI: ["sim-gemini"],
}
EVERY = [(protocol, model) for protocol, models in MODELS.items() for model in models]


def history(post: Post, protocol: str, model: str, text: str = "both") -> Body:
    """Return a correct second request with two calls and their results."""
    request = first_turn(protocol, text, model)
    return deepcopy(second_turn(protocol, request, post(protocol, request, model=model).json()))


@pytest.mark.parametrize(("protocol", "model"), EVERY)
def test_a_correct_history_is_accepted(post: Post, protocol: str, model: str) -> None:
    body = history(post, protocol, model)
    reply = post(protocol, body, model=model)
    assert reply.status_code == 200, reply.text
    assert "3 degrees" in reply.text


def set_at(*path: Any, value: Any) -> Break:
    """Return a function that sets one place of a body."""

    def change(body: Body) -> None:
        target: Any = body
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = value

    return change


def drop(*path: Any) -> Break:
    """Return a function that removes one place of a body."""

    def change(body: Body) -> None:
        target: Any = body
        for step in path[:-1]:
            target = target[step]
        del target[path[-1]]

    return change


def repeat(*path: Any) -> Break:
    """Return a function that repeats the element of a list right after itself."""

    def change(body: Body) -> None:
        target: Any = body
        for step in path[:-1]:
            target = target[step]
        target.insert(path[-1] + 1, deepcopy(target[path[-1]]))

    return change


def swap_results_and_calls(body: Body) -> None:
    body["messages"][1:3] = reversed(body["messages"][1:3])


def say_between(body: Body) -> None:
    body["messages"].insert(2, {"role": "user", "content": "wait"})


def same_ids(body: Body) -> None:
    for call in body["messages"][1]["tool_calls"]:
        call["id"] = "abcdefghi"
    for result in body["messages"][2:]:
        result["tool_call_id"] = "abcdefghi"


def foreign_ids(body: Body) -> None:
    for call, result in zip(body["messages"][1]["tool_calls"], body["messages"][2:], strict=True):
        call["id"] = result["tool_call_id"] = f"toolu_{call['id']}"


def split_results(body: Body) -> None:
    first, second = body["messages"][2]["content"]
    body["messages"][2:] = [{"role": "user", "content": [first]}, {"role": "user", "content": [second]}]


def text_before_results(body: Body) -> None:
    body["messages"][2]["content"].insert(0, {"type": "text", "text": "Here:"})


def text_between_results(body: Body) -> None:
    body["messages"][2]["content"].insert(1, {"type": "text", "text": "and:"})


def same_use_ids(body: Body) -> None:
    for block in body["messages"][1]["content"]:
        if block["type"] == "tool_use":
            block["id"] = "toolu_1"
    for block in body["messages"][2]["content"]:
        block["tool_use_id"] = "toolu_1"


def same_call_ids(body: Body) -> None:
    for item in body["input"]:
        if "call_id" in item:
            item["call_id"] = "call_1"


def change_system(body: Body) -> None:
    body["system"] = "Be brief."


def reverse_responses(body: Body) -> None:
    body["contents"][2]["parts"].reverse()


def sign_falsely(body: Body) -> None:
    body["contents"][1]["parts"][0]["thoughtSignature"] = "QUJD"


def split_responses(body: Body) -> None:
    first, second = body["contents"][2]["parts"]
    body["contents"][2:] = [{"role": "user", "parts": [first]}, {"role": "user", "parts": [second]}]


UNANSWERED = "must be followed by tool messages"
UNCALLED = "must be a response to a preceding message"
REASONING = "must be passed back to the API"
COUNT = "number of function response parts is equal"


def think_by_hand(body: Body) -> None:
    body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    body["max_tokens"] = 2000


def empty_error(body: Body, content: Any = "") -> None:
    body["messages"][2]["content"][0] |= {"is_error": True, "content": content}


def rename_chat(body: Body, identity: str) -> None:
    body["messages"][1]["tool_calls"][0]["id"] = body["messages"][2]["tool_call_id"] = identity


def rename_items(body: Body, identity: str) -> None:
    call = next(item for item in body["input"] if item.get("type") == "function_call")
    output = next(item for item in body["input"] if item.get("type") == "function_call_output")
    call["call_id"] = output["call_id"] = identity


def user_after_tool(body: Body, role: str = "user") -> None:
    body["messages"].append({"role": role, "content": "Go on."})


BROKEN: dict[str, tuple[str, str, Break, str]] = {
    "chat: call without result": (CHAT, "sim-openai", drop("messages", 3), UNANSWERED),
    "chat: calls without any result": (CHAT, "sim-openai", drop("messages", slice(2, 4)), UNANSWERED),
    "chat: result without call": (CHAT, "sim-openai", drop("messages", 1), UNCALLED),
    "chat: result before its call": (CHAT, "sim-openai", swap_results_and_calls, UNCALLED),
    "chat: message between call and result": (CHAT, "sim-openai", say_between, UNANSWERED),
    "chat: id of another call": (
        CHAT,
        "sim-openai",
        set_at("messages", 2, "tool_call_id", value="x"),
        UNCALLED,
    ),
    "chat: result given twice": (CHAT, "sim-openai", repeat("messages", 3), UNCALLED),
    "chat: two calls of one id": (CHAT, "sim-openai", same_ids, "Duplicate tool call id"),
    "chat: result without id": (CHAT, "sim-openai", drop("messages", 2, "tool_call_id"), "tool_call_id"),
    "chat: call without id": (
        CHAT,
        "sim-openai",
        drop("messages", 1, "tool_calls", 0, "id"),
        "Missing required",
    ),
    "chat: arguments as an object": (
        CHAT,
        "sim-openai",
        set_at("messages", 1, "tool_calls", 0, "function", "arguments", value={"city": "Oslo"}),
        "expected a string, but got an object instead",
    ),
    "chat: foreign field in a message": (
        CHAT,
        "sim-openai",
        set_at("messages", 1, "reasoning_content", value="x"),
        "Unknown parameter: 'messages[1].reasoning_content'",
    ),
    "chat: content null without calls": (
        CHAT,
        "sim-openai",
        set_at("messages", slice(1, 4), value=[{"role": "assistant", "content": None}]),
        "expected a string, got null",
    ),
    "deepseek thinking: reasoning_content missing": (
        CHAT,
        "sim-deepseek-thinking",
        drop("messages", 1, "reasoning_content"),
        REASONING,
    ),
    "deepseek thinking: reasoning_content null": (
        CHAT,
        "sim-deepseek-thinking",
        set_at("messages", 1, "reasoning_content", value=None),
        REASONING,
    ),
    "deepseek thinking: reasoning_content missing beside text": (
        CHAT,
        "sim-deepseek-thinking",
        set_at("messages", slice(1, 4), value=[{"role": "assistant", "content": "x"}]),
        REASONING,
    ),
    "ollama /v1: arguments not an object": (
        CHAT,
        "sim-ollama-v1",
        set_at("messages", 1, "tool_calls", 0, "function", "arguments", value="[1]"),
        "invalid tool call arguments",
    ),
    "ollama /v1: arguments not JSON": (
        CHAT,
        "sim-ollama-v1",
        set_at("messages", 1, "tool_calls", 0, "function", "arguments", value="{"),
        "invalid tool call arguments",
    ),
    "ollama /v1: content null without calls": (
        CHAT,
        "sim-ollama-v1",
        set_at("messages", slice(1, 4), value=[{"role": "assistant", "content": None}]),
        "invalid message content type: <nil>",
    ),
    "responses: call without output": (RESPONSES, "sim-openai", drop("input", -1), "No tool output found"),
    "responses: output without call": (RESPONSES, "sim-openai", drop("input", 1), "No tool call found"),
    "responses: id of another call": (
        RESPONSES,
        "sim-openai",
        set_at("input", -1, "call_id", value="call_x"),
        "No tool call found for function call output with call_id call_x",
    ),
    "responses: two calls of one id": (RESPONSES, "sim-openai", same_call_ids, "Duplicate function call"),
    "responses: output given twice": (
        RESPONSES,
        "sim-openai",
        repeat("input", 3),
        "Duplicate function call output",
    ),
    "responses: item id of another kind": (
        RESPONSES,
        "sim-openai",
        set_at("input", 1, "id", value="call_1"),
        "Expected an ID that begins with 'fc'",
    ),
    "responses: arguments as an object": (
        RESPONSES,
        "sim-openai",
        set_at("input", 1, "arguments", value={}),
        "'input[1].arguments'",
    ),
    "responses: output as an object": (
        RESPONSES,
        "sim-openai",
        set_at("input", -1, "output", value={"t": 3}),
        "output",
    ),
    "responses: tool message of chat": (
        RESPONSES,
        "sim-openai",
        set_at("input", -1, value={"role": "tool", "tool_call_id": "x", "content": "x"}),
        "'input[4].role'",
    ),
    "responses: reasoning missing": (
        RESPONSES,
        "sim-openai-reasoning",
        drop("input", 1),
        "without its required 'reasoning' item",
    ),
    "responses: reasoning without what it led to": (
        RESPONSES,
        "sim-openai-reasoning",
        drop("input", slice(2, 6)),
        "without its required following item",
    ),
    "responses: encrypted reasoning missing": (
        RESPONSES,
        "sim-openai-reasoning",
        drop("input", 1, "encrypted_content"),
        "Items are not persisted",
    ),
    "responses: encrypted reasoning of another model": (
        RESPONSES,
        "sim-openai-reasoning",
        set_at("input", 1, "encrypted_content", value="x"),
        "could not be verified",
    ),
    "messages: call without result": (
        MESSAGES,
        "sim-claude",
        drop("messages", 2, "content", 1),
        "without `tool_result` blocks immediately after",
    ),
    "messages: calls without any result": (
        MESSAGES,
        "sim-claude-4-5",
        drop("messages", 2),
        "without `tool_result` blocks immediately after",
    ),
    "messages: result without call": (
        MESSAGES,
        "sim-claude",
        drop("messages", 1),
        "unexpected `tool_use_id`",
    ),
    "messages: id of another call": (
        MESSAGES,
        "sim-claude",
        set_at("messages", 2, "content", 0, "tool_use_id", value="toolu_x"),
        "unexpected `tool_use_id`",
    ),
    "messages: two calls of one id": (MESSAGES, "sim-claude", same_use_ids, "ids must be unique"),
    "messages: result given twice": (
        MESSAGES,
        "sim-claude",
        repeat("messages", 2, "content", 1),
        "single result",
    ),
    "messages: results split over messages": (
        MESSAGES,
        "sim-claude",
        split_results,
        "without `tool_result` blocks immediately after",
    ),
    "messages: text before results": (MESSAGES, "sim-claude", text_before_results, "must come first"),
    "messages: text between results": (MESSAGES, "sim-claude", text_between_results, "must come first"),
    "messages: input as a string": (
        MESSAGES,
        "sim-claude",
        set_at("messages", 1, "content", 0, "input", value="{}"),
        "messages.1.content.0.input: Input should be an object",
    ),
    "messages: thinking missing in a loop of manual thinking": (
        MESSAGES,
        "sim-claude-4-5",
        think_by_hand,
        "Expected `thinking` or `redacted_thinking`",
    ),
    "messages: error without content": (MESSAGES, "sim-claude", empty_error, "cannot be empty if `is_error`"),
    "messages: error with an empty text": (
        MESSAGES,
        "sim-claude",
        partial(empty_error, content=[{"type": "text", "text": ""}]),
        "messages.2.content.0.tool_result: content cannot be empty",
    ),
    "chat: id of 41 characters": (
        CHAT,
        "sim-openai",
        partial(rename_chat, identity="c" * 41),
        "messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40",
    ),
    "responses: call_id of 65 characters": (
        RESPONSES,
        "sim-openai",
        partial(rename_items, identity="c" * 65),
        "maximum length 64, but got a string with length 65",
    ),
    "responses: custom output for a function call": (
        RESPONSES,
        "sim-openai",
        set_at("input", -1, "type", value="custom_tool_call_output"),
        "No tool call found for custom tool call output",
    ),
    "gemini: part without anything": (
        GEMINI,
        "sim-gemini",
        set_at("contents", 0, "parts", value=[{"text": "weather"}, {}]),
        "contents[0].parts[1].data: required oneof field 'data'",
    ),
    "gemini: part with a signature only": (
        GEMINI,
        "sim-gemini",
        set_at("contents", 0, "parts", value=[{"thoughtSignature": "x"}]),
        "required oneof field 'data'",
    ),
    "gemini: system instruction without anything": (
        GEMINI,
        "sim-gemini",
        set_at("systemInstruction", value={"parts": [{}]}),
        "system_instruction.parts[0].data",
    ),
    "messages: signature missing": (
        MESSAGES,
        "sim-claude-no-forced",
        drop("messages", 1, "content", 0, "signature"),
        "signature: Field required",
    ),
    "messages: signature empty": (
        MESSAGES,
        "sim-claude-no-forced",
        set_at("messages", 1, "content", 0, "signature", value=""),
        "Invalid `signature`",
    ),
    "messages: thinking changed": (
        MESSAGES,
        "sim-claude-no-forced",
        set_at("messages", 1, "content", 0, "thinking", value="else"),
        "Invalid `signature`",
    ),
    "messages: system changed after bound thinking": (
        MESSAGES,
        "sim-claude-bound",
        change_system,
        "Invalid `signature`",
    ),
    "messages: tools changed after bound thinking": (
        MESSAGES,
        "sim-claude-bound",
        set_at("tools", 0, "description", value="else"),
        "Invalid `signature`",
    ),
    "messages: older message changed after bound thinking": (
        MESSAGES,
        "sim-claude-bound",
        set_at("messages", 0, "content", value="else"),
        "Invalid `signature`",
    ),
    "ollama: arguments as a string": (
        OLLAMA,
        "sim-ollama",
        set_at("messages", 1, "tool_calls", 0, "function", "arguments", value="{}"),
        "cannot unmarshal a string",
    ),
    "ollama: call without result": (OLLAMA, "sim-ollama", drop("messages", 3), "simulator: no tool message"),
    "ollama: result without call": (OLLAMA, "sim-ollama", drop("messages", 1), "answers no call"),
    "ollama: result of another tool": (
        OLLAMA,
        "sim-ollama",
        set_at("messages", 2, "tool_name", value="other"),
        "answers no call",
    ),
    "gemini: call without response": (GEMINI, "sim-gemini", drop("contents", 2, "parts", 1), COUNT),
    "gemini: calls without any response": (GEMINI, "sim-gemini", drop("contents", 2), COUNT),
    "gemini: response without call": (
        GEMINI,
        "sim-gemini",
        drop("contents", 1),
        "immediately after a function call",
    ),
    "gemini: responses in another order": (GEMINI, "sim-gemini", reverse_responses, "names and ids"),
    "gemini: responses split over contents": (GEMINI, "sim-gemini", split_responses, COUNT),
    "gemini: response under another name": (
        GEMINI,
        "sim-gemini",
        set_at("contents", 2, "parts", 0, "functionResponse", "name", value="other"),
        "names and ids",
    ),
    "gemini: response as a string": (
        GEMINI,
        "sim-gemini",
        set_at("contents", 2, "parts", 0, "functionResponse", "response", value="x"),
        "functionResponse.response",
    ),
    "gemini: thought signature missing": (
        GEMINI,
        "sim-gemini",
        drop("contents", 1, "parts", 0, "thoughtSignature"),
        "missing a thought_signature",
    ),
    "gemini: thought signature of someone else": (
        GEMINI,
        "sim-gemini",
        sign_falsely,
        "signature is not valid",
    ),
}


@pytest.mark.parametrize(("protocol", "model", "spoil", "text"), BROKEN.values(), ids=BROKEN)
def test_refused(post: Post, protocol: str, model: str, spoil: Break, text: str) -> None:
    body = history(post, protocol, model)
    spoil(body)
    reply = post(protocol, body, model=model)
    assert reply.status_code == 400, reply.text
    assert text in ERROR_TEXT[protocol](reply.json())


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (foreign_ids, "3280"),
        (drop("messages", 3), "3230"),
        (user_after_tool, "3230"),
        (partial(user_after_tool, role="system"), "3230"),
    ],
    ids=[
        "ids longer than nine characters",
        "fewer results than calls",
        "user after tool",
        "system after tool",
    ],
)
def test_mistral_refuses_with_a_number(post: Post, spoil: Break, code: str) -> None:
    body = history(post, CHAT, "sim-mistral")
    spoil(body)
    reply = post(CHAT, body)
    assert (reply.status_code, reply.json()["code"]) == (400, code)


def test_llama_cpp_calls_broken_history_a_fault_of_its_own(post: Post) -> None:
    body = history(post, CHAT, "sim-llama-cpp")
    body["messages"][1]["tool_calls"][0]["function"]["arguments"] = '{"a":1}{"a":2}'
    reply = post(CHAT, body)
    assert reply.status_code == 500
    assert reply.json()["error"]["message"].startswith("Failed to parse tool call arguments as JSON")


def drop_ids(body: Body) -> None:
    for item in body["input"]:
        if item.get("type") == "function_call":
            del item["id"]


def mark_cache(body: Body) -> None:
    body["tools"][0]["cache_control"] = {"type": "ephemeral"}


def text_after_results(body: Body) -> None:
    body["messages"][2]["content"].append({"type": "text", "text": "Go on."})


def new_question(body: Body) -> None:
    del body["contents"][1]["parts"][0]["thoughtSignature"]
    body["contents"] += [
        {"role": "model", "parts": [{"text": "x"}]},
        {"role": "user", "parts": [{"text": "weather in Rome"}]},
    ]


def sign_with(word: str) -> Break:
    def change(body: Body) -> None:
        body["contents"][1]["parts"][0]["thoughtSignature"] = word

    return change


def parsed_arguments(body: Body) -> None:
    for call in body["messages"][1]["tool_calls"]:
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])


def shown_error(body: Body) -> None:
    image = {"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}
    body["messages"][2]["content"][0] |= {"is_error": True, "content": [image]}


def answered_then_asked(body: Body) -> None:
    body["messages"] += [{"role": "assistant", "content": "3."}, {"role": "user", "content": "3 degrees?"}]


def without_tools(body: Body) -> None:
    del body["tools"]
    del body["messages"][1]["reasoning_content"]


def swap_tool_messages(body: Body) -> None:
    body["messages"][2:] = reversed(body["messages"][2:])


ACCEPTED: dict[str, tuple[str, str, Break]] = {
    "chat: results in another order": (CHAT, "sim-openai", swap_tool_messages),
    "chat: invalid JSON in arguments": (
        CHAT,
        "sim-openai",
        set_at("messages", 1, "tool_calls", 0, "function", "arguments", value="{"),
    ),
    "deepseek thinking: empty reasoning_content": (
        CHAT,
        "sim-deepseek-thinking",
        set_at("messages", 1, "reasoning_content", value=""),
    ),
    "deepseek thinking: no reasoning_content without tools": (CHAT, "sim-deepseek-thinking", without_tools),
    "responses: calls without item ids": (RESPONSES, "sim-openai-reasoning", drop_ids),
    "messages: text after results": (MESSAGES, "sim-claude", text_after_results),
    "messages: cache marks move under bound thinking": (MESSAGES, "sim-claude-bound", mark_cache),
    "messages: system changes without bound thinking": (MESSAGES, "sim-claude-no-forced", change_system),
    "messages: no thinking before the calls of adaptive thinking": (
        MESSAGES,
        "sim-claude-no-forced",
        drop("messages", 1, "content", 0),
    ),
    "messages: empty content of a result that is no error": (
        MESSAGES,
        "sim-claude",
        set_at("messages", 2, "content", 0, "content", value=""),
    ),
    "messages: an error that shows an image": (MESSAGES, "sim-claude", shown_error),
    "chat: id of 40 characters": (CHAT, "sim-openai", partial(rename_chat, identity="c" * 40)),
    "responses: call_id of 64 characters": (
        RESPONSES,
        "sim-openai",
        partial(rename_items, identity="c" * 64),
    ),
    "compatible: id of 99 characters": (CHAT, "sim-compatible", partial(rename_chat, identity="c" * 99)),
    "mistral: arguments as objects": (CHAT, "sim-mistral", parsed_arguments),
    "mistral: a question after the answer": (CHAT, "sim-mistral", answered_then_asked),
    "openai: a question after the results": (CHAT, "sim-openai", user_after_tool),
    "gemini: placeholder signature": (GEMINI, "sim-gemini", sign_with("skip_thought_signature_validator")),
    "gemini: the other placeholder": (
        GEMINI,
        "sim-gemini",
        sign_with("context_engineering_is_the_way_to_go"),
    ),
    "gemini: placeholder as base64": (
        GEMINI,
        "sim-gemini",
        sign_with("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="),
    ),
    "ollama: results without ids": (OLLAMA, "sim-ollama", drop("messages", 2, "tool_call_id")),
    "gemini: older turns need no signature": (GEMINI, "sim-gemini", new_question),
}


@pytest.mark.parametrize(("protocol", "model", "change"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(post: Post, protocol: str, model: str, change: Break) -> None:
    body = history(post, protocol, model)
    change(body)
    reply = post(protocol, body, model=model)
    assert reply.status_code == 200, reply.text
