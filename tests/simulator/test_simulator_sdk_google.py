"""The official Google client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulator.simulator_bodies import GEMINI_TOOL, PARAMETERS
from toolbench.simulator import Simulator

genai = pytest.importorskip("google.genai", reason="the Google SDK is a test-only oracle")
types = pytest.importorskip("google.genai.types", reason="the Google SDK is a test-only oracle")
errors = pytest.importorskip("google.genai.errors", reason="the Google SDK is a test-only oracle")

TEXTS = ["both", "weather in Oslo", "hi", "refuse", "long", "nothing"]


@pytest.fixture(scope="module")
def gemini(sim: Simulator) -> Iterator[Any]:
    client = genai.Client(api_key="test-key", http_options=types.HttpOptions(base_url=sim.url, timeout=10000))
    yield client
    client.close()


def config(**more: Any) -> Any:
    tool = types.FunctionDeclaration(
        name="get_weather", description="Current weather", parameters_json_schema=PARAMETERS
    )
    return types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[tool])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        **more,
    )


def ask(gemini: Any, contents: Any, model: str = "sim-gemini", **more: Any) -> Any:
    return gemini.models.generate_content(model=model, contents=contents, config=config(**more))


def test_text(gemini: Any) -> None:
    reply = ask(gemini, "hi")
    assert (reply.text, reply.candidates[0].finish_reason) == ("Hello, мир!", types.FinishReason.STOP)


def test_calls_in_parallel_and_takes_the_results(gemini: Any) -> None:
    said = types.Content(role="user", parts=[types.Part(text="both")])
    first = ask(gemini, [said])
    calls = first.function_calls
    assert [call.args["city"] for call in calls] == ["Oslo", "Bergen"]
    signatures = [part.thought_signature for part in first.candidates[0].content.parts]
    assert [bool(signature) for signature in signatures] == [True, False]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"output": "3 degrees"}
            )
        )
        for call in calls
    ]
    answered = types.Content(role="user", parts=results)
    assert ask(gemini, [said, first.candidates[0].content, answered]).text == "It is 3 degrees."


@pytest.mark.parametrize("text", TEXTS)
def test_stream_assembles_to_the_whole_reply(gemini: Any, text: str) -> None:
    whole = ask(gemini, text)
    chunks = list(gemini.models.generate_content_stream(model="sim-gemini", contents=text, config=config()))
    assert "".join(chunk.text or "" for chunk in chunks) == (whole.text or "")
    calls = [call.args for chunk in chunks for call in chunk.function_calls or ()]
    assert calls == [call.args for call in whole.function_calls or ()]
    assert chunks[-1].usage_metadata == whole.usage_metadata
    if whole.candidates:
        assert chunks[-1].candidates[0].finish_reason == whole.candidates[0].finish_reason
    else:
        assert chunks[-1].prompt_feedback.block_reason == whole.prompt_feedback.block_reason


@pytest.mark.parametrize("text", TEXTS)
def test_bodies_fit_the_sdk_types(post: Any, text: str) -> None:
    body = post("generate_content", text=text).json()
    # The type refuses every key that it does not know.
    types.GenerateContentResponse.model_validate(body)


def test_thoughts_are_told_to_who_asks(gemini: Any) -> None:
    reply = ask(gemini, "hi", thinking_config=types.ThinkingConfig(include_thoughts=True))
    assert [bool(part.thought) for part in reply.candidates[0].content.parts] == [True, False]
    assert reply.usage_metadata.thoughts_token_count > 0


@pytest.mark.parametrize(
    ("fault", "expected", "status"),
    [
        ("401", "ClientError", "UNAUTHENTICATED"),
        ("404", "ClientError", "NOT_FOUND"),
        ("429", "ClientError", "RESOURCE_EXHAUSTED"),
        ("500", "ServerError", "INTERNAL"),
        ("503", "ServerError", "UNAVAILABLE"),
    ],
)
def test_failures_become_the_sdk_classes(gemini: Any, fault: str, expected: str, status: str) -> None:
    with pytest.raises(getattr(errors, expected)) as caught:
        ask(gemini, "hi", f"sim-gemini+{fault}")
    assert (caught.value.code, caught.value.status) == (int(fault), status)


def test_a_refused_request_is_a_client_error(gemini: Any) -> None:
    choice = types.FunctionCallingConfig(mode="ANY", allowed_function_names=["unknown"])
    with pytest.raises(errors.ClientError, match="allowed_function_names"):
        ask(gemini, "hi", tool_config=types.ToolConfig(function_calling_config=choice))


def test_models_are_listed_page_by_page(gemini: Any) -> None:
    paged = [model.name for model in gemini.models.list(config={"page_size": 2})]
    assert paged == [model.name for model in gemini.models.list()]
    assert len(paged) > 2


def test_a_model_is_told_alone(gemini: Any) -> None:
    assert gemini.models.get(model="sim-gemini").name == "models/sim-gemini"
    with pytest.raises(errors.ClientError):
        gemini.models.get(model="nobody")


def test_tokens_are_counted(gemini: Any) -> None:
    counted = gemini.models.count_tokens(model="sim-gemini", contents="hi")
    assert counted.total_tokens == ask(gemini, "hi").usage_metadata.prompt_token_count


@pytest.mark.parametrize(
    "signature", [b"skip_thought_signature_validator", None], ids=["placeholder", "none"]
)
def test_a_call_of_someone_else_is_taken_with_the_placeholder_alone(
    gemini: Any, signature: bytes | None
) -> None:
    call = types.FunctionCall(name="get_weather", args={"city": "Oslo"})
    told = types.FunctionResponse(name="get_weather", response={"output": "3 degrees"})
    history = [
        types.Content(role="user", parts=[types.Part(text="weather in Oslo")]),
        types.Content(role="model", parts=[types.Part(function_call=call, thought_signature=signature)]),
        types.Content(role="user", parts=[types.Part(function_response=told)]),
    ]
    if signature is None:
        with pytest.raises(errors.ClientError, match="thought_signature"):
            ask(gemini, history)
    else:
        assert ask(gemini, history).text == "It is 3 degrees."


def test_models_are_listed(gemini: Any) -> None:
    assert "models/sim-gemini" in [model.name for model in gemini.models.list()]


def test_the_declared_tool_fits_the_sdk_type() -> None:
    types.FunctionDeclaration.model_validate(GEMINI_TOOL)
