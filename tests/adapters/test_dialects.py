"""A reply in each dialect's own shape, and the requests before and behind it, held against the SDKs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.adapters.support import ask, chat, chat_call, failed, offer, ok, read, reply, with_results
from tests.adapters.test_oracles import drained, request_types, spelled
from toolbench.adapters import dialects

CALLS = [
    chat_call('{"city": "Paris"}', id="call_1", index=0),
    chat_call('{"city": "Oslo"}', id="call_2", index=1),
]
DETAILS = [{"type": "reasoning.text", "text": "Both.", "format": "unknown", "index": 0}]
USAGE = {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}


def calls(message: dict[str, Any] | None = None, **top: Any) -> dict[str, Any]:
    return chat({"tool_calls": CALLS, **(message or {})}, "tool_calls", **{"usage": USAGE, **top})


CHAT: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "qwen": (calls({"content": "", "reasoning_content": "Both."}), ("reasoning_content",)),
    "kimi": (calls({"content": "", "reasoning_content": "Both."}), ("reasoning_content",)),
    "glm": (calls({"content": "\n", "reasoning_content": "Both."}, request_id="r-1"), ("reasoning_content",)),
    "minimax": (
        calls(
            {"content": "<think>Both.</think>\n", "name": "MiniMax AI", "audio_content": ""},
            base_resp={"status_code": 0, "status_msg": ""},
            input_sensitive=False,
        ),
        ("audio_content",),
    ),
    "groq": (calls({"reasoning": "Both."}, x_groq={"id": "req_1"}, usage={**USAGE, "queue_time": 0.1}), ()),
    "cerebras": (calls({"reasoning": "Both."}, time_info={"queue_time": 0.1}), ()),
    "openrouter": (
        calls(
            {"content": "", "refusal": None, "reasoning": "Both.", "reasoning_details": DETAILS},
            provider="Somebody",
            usage={**USAGE, "cost": 0.0004, "cost_details": {"upstream_inference_cost": None}},
        ),
        ("reasoning", "reasoning_details"),
    ),
    "azure": (
        calls({"refusal": None, "annotations": []}, prompt_filter_results=[{"prompt_index": 0}]),
        ("annotations",),
    ),
    "xai": (
        calls(
            {"content": "", "reasoning_content": "Both.", "refusal": None},
            usage={**USAGE, "cost_in_usd_ticks": 1},
        ),
        ("reasoning_content",),
    ),
    "bedrock": (calls({"content": None, "reasoning": "Both."}), ("reasoning",)),
}
"""Dialect → a reply with two calls, and fields of the history that OpenAI's own types do not know."""
EXTRAS = ("index",)


def without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [without(item, names) for item in value]
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return value


def check(protocol: str, body: dict[str, Any], beside: tuple[str, ...] = ()) -> None:
    """Hold a body against the SDK's types: nothing is refused and nothing dropped but what is named."""
    plain = without({k: v for k, v in body.items() if k not in ("stream", "stream_options")}, beside)
    assert spelled(drained(request_types(protocol).validate_python(plain))) == spelled(plain)


def test_every_dialect_of_a_vendor_has_a_reply_here() -> None:
    general = {"compatible", "openai", "llama_cpp", "lm_studio", "ollama_v1", "deepseek", "mistral"}
    assert set(CHAT) == set(dialects("chat_completions")[1]) - general


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("profile", CHAT)
def test_both_requests_of_a_dialect_fit_the_sdk(profile: str, stream: bool) -> None:
    body, beside = CHAT[profile]
    options = {"profile": profile, "stream": stream}
    check("chat_completions", ask("chat_completions", **options).body)
    second, made = with_results("chat_completions", body, [ok(), failed()], **options)
    assert [call.id for call in made] == ["call_1", "call_2"]
    check("chat_completions", second.body, (*EXTRAS, *beside))
    (message,) = (m for m in second.body["messages"] if m["role"] == "assistant")
    dropped = dialects("chat_completions")[1][profile].reply_drops
    assert not set(dropped) & set(message)
    assert set(beside) - {"annotations", "audio_content"} <= set(message), "what has to come back does"


@pytest.mark.parametrize("profile", CHAT)
def test_the_calls_of_a_dialect_are_read(profile: str) -> None:
    decision = read("chat_completions", CHAT[profile][0], profile=profile)
    assert decision.kind == "tool_call"
    assert [dict(call.arguments or {}) for call in decision.calls] == [{"city": "Paris"}, {"city": "Oslo"}]
    assert decision.usage.input == 20
    assert decision.usage.cost == (0.0004 if profile == "openrouter" else None)
    assert "Both" not in decision.text


@pytest.mark.parametrize("profile", ["compatible", "bedrock", "deepseek"])
def test_generic_servers_of_messages_get_and_give_what_the_sdk_knows(profile: str) -> None:
    body = {
        **reply("messages", "I look.", [("t-1", "look", {"city": "Paris"}), ("t-2", "stop", {})]),
        "id": "chatcmpl-12",
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    body["content"].insert(0, {"type": "thinking", "thinking": "Hm.", "signature": ""})
    # The types of today's SDK have no temperature; these servers speak the version that has.
    first = ask("messages", profile=profile)
    assert first.headers["anthropic-version"] == "2023-06-01"
    check("messages", first.body, ("temperature",))
    second, _ = with_results("messages", body, [ok(), failed()], profile=profile)
    check("messages", second.body, ("temperature",))


@pytest.mark.parametrize("profile", sorted(dialects("responses")[1]))
def test_requests_of_servers_of_responses_fit_the_sdk(profile: str) -> None:
    body = reply("responses", "I look.", [("call_1", "look", {"city": "Paris"})])
    check("responses", ask("responses", profile=profile).body)
    second, _ = with_results("responses", body, [ok()], profile=profile)
    sent = json.loads(json.dumps(second.body))
    for item in sent["input"]:
        if item.get("type") == "message":
            item.update(id="msg_1", status="completed")
            item["content"] = [{"annotations": [], **part} for part in item["content"]]
    check("responses", sent)


FORCING = ("openai", "azure", "groq", "openrouter", "xai", "bedrock", "compatible")


@pytest.mark.parametrize(
    ("profile", "choice"),
    [(name, choice) for name in FORCING for choice in ("required", "named:look")]
    + [("openai", "allowed:look")],
)
def test_a_choice_that_can_be_sent_fits_the_sdk(profile: str, choice: str) -> None:
    request = ask("chat_completions", offer(choice=choice), profile=profile)
    check("chat_completions", request.body)
    assert request.settings["tool_choice"].sent is not None
