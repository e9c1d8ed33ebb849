"""Facts of single protocols that decide how a reply is read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.support import chat, chat_calls, offer, read, reply, tool
from toolbench.adapters.ids import call_ids, legal_id
from toolbench.adapters.strict_arguments import parse_arguments


@pytest.mark.parametrize("value", ["length", "model_length"])
def test_chat_text_that_was_cut_off_is_text_with_a_warning(value: str) -> None:
    decision = read("chat_completions", chat({"content": "Once upon"}, value))
    assert (decision.kind, decision.warnings) == ("text", ["truncated_text"])


def test_nothing_at_all_after_a_cut_is_truncated_and_otherwise_empty() -> None:
    assert read("chat_completions", chat({"content": ""}, "length")).reason == "truncated"
    assert read("chat_completions", chat({"content": " \n"}, "stop")).reason == "empty"
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    body = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [reasoning],
    }
    assert read("responses", body).reason == "truncated"


def test_chat_reads_a_custom_tool_call() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "look", "input": "plain words"}}
    decision = read("chat_completions", chat_calls(call))
    assert (decision.calls[0].name, decision.calls[0].error) == ("look", "invalid_json")


def test_chat_takes_arguments_that_come_as_an_object() -> None:
    call = {"id": "a", "function": {"name": "look", "arguments": {"city": "Oslo"}}}
    made = read("chat_completions", chat_calls(call)).calls[0]
    assert (made.arguments, made.raw_is_reserialised) == ({"city": "Oslo"}, True)


def test_deepseek_counts_its_cache_elsewhere() -> None:
    body = chat({"content": "Hi"}, usage={"prompt_tokens": 9, "prompt_cache_hit_tokens": 4})
    assert read("chat_completions", body).usage.cached_input == 4


def test_responses_joins_the_text_of_all_message_items() -> None:
    def item(text: str) -> dict[str, Any]:
        return {"type": "message", "content": [{"type": "output_text", "text": text}]}

    assert (
        read("responses", {"status": "completed", "output": [item("One."), item("Two.")]}).text
        == "One.\nTwo."
    )


def test_responses_that_claims_to_be_complete_though_it_was_cut() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "look", "arguments": '{"city": "O'}
    body = {"status": "completed", "output": [call], "usage": {"output_tokens": 30}}
    assert read("responses", body, max_output_tokens=30).reason == "truncated"


def test_messages_joins_text_cut_up_for_citations() -> None:
    blocks = [
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "warm."},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Really."},
    ]
    assert read("messages", {"content": blocks, "stop_reason": "end_turn"}).text == "It is warm.\nReally."


def test_messages_content_as_a_bare_text() -> None:
    assert read("messages", {"content": "Hi", "stop_reason": "end_turn"}).text == "Hi"


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_messages_never_executes_a_call_after_a_limit(reason: str) -> None:
    body = {**reply("messages", "", [("a", "stop", {})]), "stop_reason": reason}
    assert read("messages", body).reason == "truncated"


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("MALFORMED_FUNCTION_CALL", "malformed_call"),
        ("UNEXPECTED_TOOL_CALL", "unexpected_call"),
        ("TOO_MANY_TOOL_CALLS", "too_many_calls"),
        ("MALFORMED_RESPONSE", "malformed_reply"),
    ],
)
def test_gemini_reports_broken_calls_by_finish_reason(finish: str, reason: str) -> None:
    body = reply("generate_content", "Some text")
    body["candidates"][0]["finishReason"] = finish
    assert (read("generate_content", body).kind, read("generate_content", body).reason) == ("invalid", reason)


def test_gemini_thoughts_are_no_text() -> None:
    body = reply("generate_content", "Hi")
    body["candidates"][0]["content"]["parts"].insert(0, {"text": "Plan", "thought": True})
    assert read("generate_content", body).text == "Hi"


def test_ids_are_filled_in_by_position_and_stay_unique() -> None:
    assert call_ids(["a", None, "call_3", ""], ["x", None]) == [
        ("a", False),
        ("call_4", True),
        ("call_3", False),
        ("call_5", True),
    ]


def test_an_id_of_an_earlier_turn_is_not_used_again() -> None:
    assert call_ids(["a", "b"], ["a", "call_2"], unique=True) == [("call_3", True), ("b", False)]
    assert call_ids(["a", ""], ["a"]) == [("a", False), ("call_2", True)]


def test_a_foreign_id_always_gets_the_same_spelling() -> None:
    pattern = "^[A-Za-z0-9]{9}$"
    assert legal_id("call_1", pattern) == legal_id("call_1", pattern) != legal_id("call_2", pattern)
    assert legal_id("abc123XYZ", pattern) == "abc123XYZ"
    assert legal_id("anything at all", None) == "anything at all"


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ('{"a": 1}', None),
        (' {"a": 1}\n', None),
        ('{"a": 1,}', "invalid_json"),
        ("{'a': 1}", "invalid_json"),
        ('{"a": -Infinity}', "non_finite_number"),
        ('{"a": 1} trailing', "trailing_text"),
        ('{"a": 1, "a": 1}', "duplicate_key"),
        ("[]", "not_an_object"),
        ('"{}"', "double_encoded"),
        ("\ufeff{}", "invalid_json"),
        ("1" * 5000, "invalid_json"),
        (None, "invalid_json"),
    ],
)
def test_the_one_argument_parser(raw: str | None, error: str | None) -> None:
    call = parse_arguments(raw, call_id="a", name="look")
    assert call.error == error
    assert (call.arguments is None) is (error is not None)
    assert call.raw_arguments == (raw or "")


def test_a_tool_with_only_optional_arguments_takes_nothing() -> None:
    optional = tool("look", {"type": "object", "properties": {"city": {"type": "string"}}})
    call = {"id": "a", "function": {"name": "look", "arguments": ""}}
    assert read("chat_completions", chat_calls(call), offer(optional)).calls[0].arguments == {}
