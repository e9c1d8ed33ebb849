"""The official Ollama client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulator.simulator_bodies import CHAT_TOOL
from toolbench.simulator import Simulator

ollama = pytest.importorskip("ollama", reason="the Ollama SDK is a test-only oracle")

MODELS = ["sim-ollama", "sim-ollama-thinking"]
TEXTS = ["both", "weather in Oslo", "hi", "refuse", "long", "nothing"]


@pytest.fixture(scope="module")
def llama(sim: Simulator) -> Iterator[Any]:
    client = ollama.Client(host=sim.url, timeout=10)
    yield client
    client._client.close()


def ask(llama: Any, text: str, model: str = "sim-ollama", **more: Any) -> Any:
    said = [{"role": "user", "content": text}]
    return llama.chat(model=model, messages=said, tools=[CHAT_TOOL], **more)


def test_text(llama: Any) -> None:
    reply = ask(llama, "hi")
    assert (reply.message.content, reply.done_reason) == ("Hello, мир!", "stop")


@pytest.mark.parametrize("model", MODELS)
def test_calls_in_parallel_and_takes_the_results(llama: Any, model: str) -> None:
    first = ask(llama, "both", model)
    calls = first.message.tool_calls
    assert [call.function.arguments["city"] for call in calls] == ["Oslo", "Bergen"]
    assert (first.message.thinking is not None) == (model == "sim-ollama-thinking")
    results = [{"role": "tool", "tool_name": call.function.name, "content": "3 degrees"} for call in calls]
    history = [{"role": "user", "content": "both"}, first.message, *results]
    last = llama.chat(model=model, messages=history, tools=[CHAT_TOOL])
    assert last.message.content == "It is 3 degrees."


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", TEXTS)
def test_stream_assembles_to_the_whole_reply(llama: Any, model: str, text: str) -> None:
    whole = ask(llama, text, model)
    lines = list(ask(llama, text, model, stream=True))
    assert "".join(line.message.content or "" for line in lines) == whole.message.content
    assert "".join(line.message.thinking or "" for line in lines) == (whole.message.thinking or "")
    calls = [call for line in lines for call in line.message.tool_calls or ()]
    assert calls == list(whole.message.tool_calls or ())
    assert [line.done for line in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1].done_reason == whole.done_reason


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", TEXTS)
def test_bodies_fit_the_sdk_types(post: Any, model: str, text: str) -> None:
    reply = post("ollama_chat", model=model, text=text)
    assert ollama.ChatResponse.model_validate(reply.json(), strict=False).model == model


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
def test_failures_become_response_errors(llama: Any, status: int) -> None:
    with pytest.raises(ollama.ResponseError) as caught:
        ask(llama, "hi", f"sim-ollama+{status}")
    assert caught.value.status_code == status


def test_a_model_without_tools_says_so(llama: Any) -> None:
    with pytest.raises(ollama.ResponseError, match="does not support tools"):
        ask(llama, "hi", "sim-ollama-no-tools")


def test_error_in_the_middle_of_a_stream_is_raised(llama: Any) -> None:
    with pytest.raises(ollama.ResponseError, match="unexpectedly stopped"):
        list(ask(llama, "hi", "sim-ollama+mid_stream_error", stream=True))


def test_models_are_listed(llama: Any) -> None:
    assert "sim-ollama" in [model.model for model in llama.list().models]


def test_a_model_is_told_alone(llama: Any) -> None:
    assert llama.show("sim-ollama-thinking").capabilities == ["completion", "tools", "thinking"]
    with pytest.raises(ollama.ResponseError, match="not found"):
        llama.show("nobody")
