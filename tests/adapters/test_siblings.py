"""The awkward replies once more in other spellings: other vendors' words, other nesting, other cuts.

A reader that knows one spelling knows nothing: each kind of reply is here in at least one form that no reader
was written for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.support import chat, chat_call, chunk
from tests.adapters.test_replies import BOTH, GEMINI, PARIS, Fate, Script, played

CITY = json.dumps({"city": "Paris"})
CALL = {"body": chat({"tool_calls": [chat_call(CITY, "get_weather")]}, "tool_calls")}
MODELS_OWN = Fate("ok", "invalid", "invalid")
ONCE_MORE = "ok", "answered", "tool_call", PARIS
ANSWERED = Fate("ok", "answered", "text")
CALLED = Fate(*ONCE_MORE)


def says(text: str, **message: Any) -> Script:
    return [{"body": chat({"content": text, **message})}]


def error(status: int, body: Any, **headers: str) -> Script:
    return [{"status": status, "body": body, "headers": headers}]


def pieces(*calls: dict[str, Any], finish: str = "tool_calls") -> Script:
    """Return a stream of one fragment of a call an event."""
    chunks = [chunk({"tool_calls": [call]}) for call in calls]
    return [{"sse": [*chunks, chunk({}, finish), "[DONE]"]}]


def piece(arguments: str | None, name: str | None = None, **rest: Any) -> dict[str, Any]:
    return {**rest, "function": {"name": name, "arguments": arguments}}


def responses(*events: dict[str, Any]) -> Script:
    return [{"events": list(events)}]


def added(**item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": 0, "item": item}


def finished(*output: Any, **rest: Any) -> dict[str, Any]:
    body = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": list(output)}
    return {"type": "response.completed", "response": {**body, **rest}}


OPENED = {"type": "function_call", "id": "fc_9", "call_id": "call_9", "name": "get_weather", "arguments": ""}

SIBLINGS: dict[str, tuple[str, Fate, Script]] = {
    "per_minute_tokens": (
        "gemini_429_per_minute",
        Fate(*ONCE_MORE, ("rate_limited",)),
        [
            *error(
                429,
                {
                    "error": {
                        "message": "Rate limit reached for model `m` on tokens per minute (TPM): Limit 6000. "
                        "Please try again in 20ms. Need more? Upgrade at example.test/settings/billing",
                        "type": "tokens",
                        "code": "rate_limit_exceeded",
                    }
                },
            ),
            CALL,
        ],
    ),
    "per_day_in_a_list": (
        "gemini_429_per_day",
        Fate("transport_error", "quota_exhausted", protocol=GEMINI),
        error(
            429,
            [
                {
                    "error": {
                        "code": 429,
                        "status": "RESOURCE_EXHAUSTED",
                        "message": "Quota exceeded.",
                        "details": [
                            {"@type": "x/RetryInfo", "retryDelay": "2s"},
                            {
                                "@type": "x/QuotaFailure",
                                "violations": [{"quotaId": "RequestsPerDayPerProject"}],
                            },
                        ],
                    }
                }
            ],
        ),
    ),
    "spend_limit": (
        "openai_429_insufficient_quota",
        Fate("transport_error", "quota_exhausted"),
        error(
            429, {"error": {"message": "Stop.", "type": "billing", "code": "project_spend_limit_exceeded"}}
        ),
    ),
    "spend_limit_of_a_router": (
        "openai_429_insufficient_quota",
        Fate("transport_error", "payment_required"),
        error(402, {"error": {"code": 402, "message": "This request requires more credits"}}),
    ),
    "tool_use_failed_by_a_router": (
        "groq_tool_use_failed",
        MODELS_OWN,
        error(
            400,
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 400,
                    "metadata": {
                        "raw": json.dumps(
                            {
                                "error": {
                                    "code": "tool_use_failed",
                                    "failed_generation": "<function=get_weather>",
                                }
                            }
                        )
                    },
                }
            },
        ),
    ),
    "schema_mismatch_in_words": (
        "groq_schema_mismatch",
        MODELS_OWN,
        error(400, {"error": {"message": "Tool call validation failed: attempted to call tool 'x'"}}),
    ),
    "parse_failure_of_llama_cpp": (
        "ollama_500_parse",
        MODELS_OWN,
        error(500, {"error": {"code": 500, "message": "Failed to parse input at pos 12: <tool_call>{"}}),
    ),
    "parse_failure_in_a_stream": (
        "ollama_500_parse",
        MODELS_OWN,
        [
            {
                "sse": [
                    chunk({"content": ""}),
                    {"error": {"code": 500, "message": "Failed to parse tool call arguments as JSON: {"}},
                ]
            }
        ],
    ),
    "finish_abort": (
        "finish_network_error",
        Fate(*ONCE_MORE, ("error_in_reply",)),
        [{"body": chat({"content": ""}, "abort")}, CALL],
    ),
    "finish_error_of_a_router": (
        "finish_network_error",
        Fate(*ONCE_MORE, ("error_in_reply",)),
        [{"body": chat({"content": ""}, "error")}, CALL],
    ),
    "finish_filter": (
        "finish_sensitive",
        Fate("ok", "refused", "refusal"),
        [{"body": chat({}, "content_filter")}],
    ),
    "finish_safety": (
        "finish_sensitive",
        Fate("ok", "refused", "refusal", protocol=GEMINI),
        [{"body": {"candidates": [{"finishReason": "PROHIBITED_CONTENT"}]}}],
    ),
    "error_of_vllm_under_200": (
        "object_error_200",
        Fate("transport_error", "not_found"),
        [{"body": {"object": "error", "error": {"message": "no", "type": "NotFoundError", "code": 404}}}] * 2,
    ),
    "base_resp": (
        "code_msg",
        Fate("transport_error", "quota_exhausted"),
        [{"body": {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}}] * 2,
    ),
    "errors_in_a_list": (
        "detail",
        Fate(*ONCE_MORE, ("no_reply",)),
        [{"body": {"errors": [{"message": "upstream closed the connection"}]}}, CALL],
    ),
    "null_choices": ("empty_object", Fate(*ONCE_MORE, ("no_reply",)), [{"body": {"choices": None}}, CALL]),
    "a_bare_list": ("empty_object", Fate(*ONCE_MORE, ("not_an_object",)), [{"body": []}, CALL]),
    "nothing_but_an_error_in_a_stream": (
        "stream_object_error",
        Fate(*ONCE_MORE, ("error_in_stream",)),
        [{"sse": [{"error": {"message": "The engine went away", "type": "server_error"}}]}, CALL],
    ),
    "schema_of_a_tool_named_seed": (
        "schema_tool_named_temperature",
        Fate("transport_error", "schema_refused"),
        error(
            400,
            {"error": {"message": "tools.0.custom.input_schema: JSON schema is invalid: seed: wrong type"}},
        ),
    ),
    "body_of_the_wrong_type": (
        "echoed_body",
        Fate("transport_error", "schema_refused"),
        error(
            422,
            {
                "detail": [
                    {
                        "type": "string_type",
                        "loc": ["body", "messages", 2, "content"],
                        "msg": "Input should be a valid string",
                        "input": {"tool_choice": "required", "temperature": 0},
                    }
                ]
            },
        ),
    ),
    "reasoning_refused_by_cerebras": (
        "reasoning_replayed",
        Fate("unsupported", "history_refused", "tool_call", PARIS, profile="cerebras"),
        [
            {
                "body": chat(
                    {"reasoning_content": "Hm.", "tool_calls": [chat_call(CITY, "get_weather")]}, "tool_calls"
                )
            },
            *error(
                400,
                {
                    "message": "messages.2.assistant.reasoning_content: property "
                    "'messages.2.assistant.reasoning_content' is unsupported",
                    "code": "wrong_api_format",
                },
            ),
        ],
    ),
    "ids_that_count_up": (
        "id_changes_per_fragment",
        CALLED,
        pieces(
            piece("", "get_weather", index=0, id="chatcmpl-tool-1"),
            piece('{"ci', index=0, id="chatcmpl-tool-2"),
            piece('ty": "Par', index=0, id="chatcmpl-tool-3"),
            piece('is"}', index=0, id="chatcmpl-tool-4"),
        ),
    ),
    "id_only_at_the_end": (
        "id_changes_name_null",
        CALLED,
        pieces(
            piece("{", "get_weather", index=0),
            piece('"city":', "", index=0),
            piece('"Paris"}', index=0, id="late"),
        ),
    ),
    "two_calls_without_an_index": (
        "control_two_calls_index0",
        Fate("ok", "answered", "tool_call", BOTH),
        pieces(
            piece('{"city":"Pa', "get_weather", id="a"),
            piece('ris"}', id="a"),
            piece("", "get_weather", id="b"),
            piece('{"city":"Oslo"}', id="b"),
        ),
    ),
    "two_calls_with_null_ids": (
        "same_tool_index0_no_id",
        Fate("ok", "answered", "tool_call", BOTH),
        pieces(
            piece('{"city":"Paris"}', "get_weather", index=0, id=None),
            piece('{"city":', "get_weather", index=0, id=None),
            piece('"Oslo"}', index=0, id=None),
        ),
    ),
    "two_calls_whole_in_one_message": (
        "same_tool_one_chunk",
        Fate("ok", "answered", "tool_call", BOTH),
        [
            {
                "body": chat(
                    {
                        "tool_calls": [
                            chat_call({"city": "Paris"}, "get_weather", id=""),
                            chat_call({"city": "Oslo"}, "get_weather", id="null"),
                        ]
                    },
                    "tool_calls",
                )
            }
        ],
    ),
    "only_the_opening_tag": (
        "close_tag_only",
        Fate("ok", "invalid", "invalid"),
        says("<think>The user asks for the weather. Should I call get_weather?"),
    ),
    "another_tag": ("pair", ANSWERED, says("[THINK]Which city?[/THINK]I would rather not say.")),
    "a_longer_tag": ("pair", ANSWERED, says("<thinking>\nWhich city?\n</thinking>\nIt is sunny.")),
    "closing_tag_behind_a_question": (
        "close_only_question",
        ANSWERED,
        says("Do they mean Paris, Texas?</think>It is sunny."),
    ),
    "hermes": (
        "invoke",
        ANSWERED,
        says(f'<tool_call>\n{{"name": "get_weather", "arguments": {CITY}}}\n</tool_call>'),
    ),
    "llama_function": ("minimax", ANSWERED, says(f"<function=get_weather>{CITY}</function>")),
    "mistral_calls": (
        "dsml",
        ANSWERED,
        says(f'[TOOL_CALLS][{{"name": "get_weather", "arguments": {CITY}}}]'),
    ),
    "code_block": ("pythonic", ANSWERED, says("```python\nget_weather(city='Paris')\n```")),
    "limit_while_resuming": (
        "resume",
        ANSWERED,
        [
            *error(
                429, {"message": "Requests rate limit exceeded", "code": "1300"}, **{"retry-after-ms": "10"}
            ),
            *says("You are welcome. Paris."),
        ],
    ),
    "arguments_done_before_a_text": (
        "completed_lists_text_only",
        Fate(*ONCE_MORE, protocol="responses"),
        responses(
            added(**OPENED),
            {
                "type": "response.function_call_arguments.done",
                "output_index": 0,
                "item_id": "fc_9",
                "arguments": CITY,
            },
            {"type": "response.output_item.done", "output_index": 0, "item": {**OPENED, "arguments": CITY}},
            finished(
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Wait."}],
                }
            ),
        ),
    ),
    "done_with_empty_fields": (
        "done_without_name",
        Fate(*ONCE_MORE, protocol="responses"),
        responses(
            added(**OPENED),
            {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": CITY[:7]},
            {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": CITY[7:]},
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"type": "function_call", "id": "fc_9", "name": "", "call_id": None, "arguments": ""},
            },
            finished(),
        ),
    ),
    "completed_without_output": (
        "no_item_done_empty_output",
        Fate(*ONCE_MORE, protocol="responses"),
        responses(
            added(**OPENED),
            {"type": "response.function_call_arguments.delta", "item_id": "fc_9", "delta": CITY},
            {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "model": "m"}},
        ),
    ),
    "blank_text_behind_a_call": (
        "empty_text_block_before_call",
        Fate(*ONCE_MORE, protocol="messages"),
        [
            {
                "body": {
                    "type": "message",
                    "role": "assistant",
                    "model": "m",
                    "stop_reason": "tool_use",
                    "content": [
                        {"type": "text", "text": "\n\n"},
                        {
                            "type": "tool_use",
                            "id": "toolu_9",
                            "name": "get_weather",
                            "input": {"city": "Paris"},
                        },
                        {"type": "text", "text": " "},
                    ],
                }
            }
        ],
    ),
    "blank_text_with_a_delta": (
        "stream_empty_text_then_tool",
        Fate(*ONCE_MORE, protocol="messages"),
        [
            {
                "events": [
                    {
                        "type": "message_start",
                        "message": {"id": "m9", "role": "assistant", "model": "m", "content": []},
                    },
                    {
                        "type": "content_block_start",
                        "index": 0,
                        "content_block": {"type": "text", "text": ""},
                    },
                    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}},
                    {"type": "content_block_stop", "index": 0},
                    {
                        "type": "content_block_start",
                        "index": 1,
                        "content_block": {"type": "tool_use", "id": "t", "name": "get_weather", "input": {}},
                    },
                    {
                        "type": "content_block_delta",
                        "index": 1,
                        "delta": {"type": "input_json_delta", "partial_json": CITY},
                    },
                    {
                        "type": "message_delta",
                        "delta": {"stop_reason": "tool_use"},
                        "usage": {"output_tokens": 3},
                    },
                    {"type": "message_delta", "delta": {"stop_reason": None}},
                    {"type": "message_stop"},
                ]
            }
        ],
    ),
}
"""Name → the script of ``replies/`` that it is another spelling of, its fate, and the script."""
LEAKED = ("hermes", "llama_function", "mistral_calls", "code_block")


@pytest.mark.parametrize("name", SIBLINGS)
def test_another_spelling_has_the_fate_of_its_kind(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, fate, script = SIBLINGS[name]
    attempt, requests = played(script, fate, tmp_path / "r", monkeypatch)
    assert (attempt.status, attempt.stop) == (fate.status, fate.stop), attempt.error
    assert bool(attempt.turns) == bool(fate.kind)
    if not fate.kind:
        return
    first = attempt.turns[0]
    cities = tuple((call.arguments or {}).get("city") for call in first.decision.calls)
    assert (first.decision.kind, cities) == (fate.kind, fate.cities)
    if fate.retried:
        assert tuple(retry["code"] for retry in first.retries) == fate.retried
    assert ("leaked_tool_call" in first.decision.warnings) >= (name in LEAKED)
    assert "think" not in first.decision.text.lower()
    for message in requests[-1].get("messages", ()):
        blocks = message["content"] if isinstance(message.get("content"), list) else []
        assert all(block.get("text", "x").strip() for block in blocks), "blank texts are never replayed"


def test_every_script_has_a_sibling() -> None:
    from tests.adapters.test_replies import FATES

    assert set(FATES) - {kind for kind, _, _ in SIBLINGS.values()} == set()
