"""The official Mistral client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulator.simulator_bodies import CHAT_TOOL
from toolbench.simulator import Simulator

mistralai = pytest.importorskip("mistralai.client", reason="the Mistral SDK is a test-only oracle")
errors = pytest.importorskip("mistralai.client.errors", reason="the Mistral SDK is a test-only oracle")


@pytest.fixture(scope="module")
def mistral(sim: Simulator) -> Iterator[Any]:
    with mistralai.Mistral(api_key="test-key", server_url=sim.url, timeout_ms=10000) as client:
        yield client


def ask(mistral: Any, messages: Any, model: str = "sim-mistral", **more: Any) -> Any:
    said = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    return mistral.chat.complete(model=model, messages=said, tools=[CHAT_TOOL], **more)


def test_text(mistral: Any) -> None:
    reply = ask(mistral, "hi", random_seed=7).choices[0]
    assert (reply.message.content, reply.finish_reason) == ("Hello, мир!", "stop")


@pytest.mark.parametrize("more", [{}, {"reasoning_effort": "high"}], ids=["plain", "thinking"])
def test_calls_in_parallel_and_takes_the_results(mistral: Any, more: dict[str, str]) -> None:
    first = ask(mistral, "both", **more).choices[0].message
    assert [json.loads(call.function.arguments)["city"] for call in first.tool_calls] == ["Oslo", "Bergen"]
    assert [len(call.id) for call in first.tool_calls] == [9, 9]
    results = [
        {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": "3 degrees"}
        for call in first.tool_calls
    ]
    last = ask(mistral, [{"role": "user", "content": "both"}, first, *results])
    assert last.choices[0].message.content == "It is 3 degrees."


@pytest.mark.parametrize("text", ["both", "weather in Oslo", "hi", "refuse", "long", "nothing"])
def test_stream_assembles_to_the_whole_reply(mistral: Any, text: str) -> None:
    whole = ask(mistral, text)
    said = [{"role": "user", "content": text}]
    with mistral.chat.stream(model="sim-mistral", messages=said, tools=[CHAT_TOOL]) as stream:
        chunks = [event.data for event in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    calls = [call.function.arguments for delta in deltas for call in delta.tool_calls or ()]
    assert calls == [call.function.arguments for call in whole.choices[0].message.tool_calls or ()]
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_failures_become_sdk_errors(mistral: Any, status: int) -> None:
    with pytest.raises(errors.SDKError) as caught:
        ask(mistral, "hi", f"sim-mistral+{status}")
    assert caught.value.status_code == status


def test_a_request_of_the_wrong_shape_is_a_validation_error(mistral: Any) -> None:
    with pytest.raises(errors.HTTPValidationError) as caught:
        ask(mistral, "hi", temperature=9.0)
    assert caught.value.data.detail[0].loc == ["body", "temperature"]


def test_arguments_may_come_back_as_an_object(mistral: Any) -> None:
    first = ask(mistral, "weather in Oslo").choices[0].message
    (call,) = first.tool_calls
    call.function.arguments = json.loads(call.function.arguments)
    result = {"role": "tool", "tool_call_id": call.id, "content": "3 degrees"}
    last = ask(mistral, [{"role": "user", "content": "weather in Oslo"}, first, result])
    assert last.choices[0].message.content == "It is 3 degrees."


def test_a_user_message_after_a_result_is_refused(mistral: Any) -> None:
    first = ask(mistral, "weather in Oslo").choices[0].message
    result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "3 degrees"}
    said = [{"role": "user", "content": "weather in Oslo"}, first, result, {"role": "user", "content": "So?"}]
    with pytest.raises(errors.SDKError, match="Unexpected role 'user' after role 'tool'"):
        ask(mistral, said)


def test_a_model_is_told_alone(mistral: Any) -> None:
    assert mistral.models.retrieve(model_id="sim-mistral").capabilities.function_calling is True
