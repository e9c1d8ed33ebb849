"""The official OpenAI client, on Chat Completions and on Responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulator.simulator_bodies import CHAT_TOOL, RESPONSES_TOOL, first_turn
from toolbench.simulator import Simulator

openai = pytest.importorskip("openai", reason="the OpenAI SDK is a test-only oracle")
pydantic = pytest.importorskip("pydantic", reason="comes with the OpenAI SDK")

CHAT_MODELS = ["sim-openai", "sim-deepseek", "sim-deepseek-thinking", "sim-ollama-v1", "sim-llama-cpp"]
RESPONSES_MODELS = ["sim-openai", "sim-openai-reasoning", "sim-openai-responses-only"]

STATUS_CLASSES = {
    "400": "BadRequestError",
    "401": "AuthenticationError",
    "402": "APIStatusError",
    "403": "PermissionDeniedError",
    "404": "NotFoundError",
    "408": "APIStatusError",
    "409": "ConflictError",
    "413": "APIStatusError",
    "422": "UnprocessableEntityError",
    "429": "RateLimitError",
    "429_quota": "RateLimitError",
    "500": "InternalServerError",
    "502": "InternalServerError",
    "503": "InternalServerError",
    "529": "InternalServerError",
    "html": "InternalServerError",
    "disconnect": "APIConnectionError",
}


@pytest.fixture(scope="module")
def ai(sim: Simulator) -> Iterator[Any]:
    with openai.OpenAI(
        api_key="test-key", base_url=sim.base_url("chat_completions"), max_retries=0, timeout=10
    ) as client:
        yield client


def chat(ai: Any, text: str, model: str = "sim-openai", **more: Any) -> Any:
    said = [{"role": "user", "content": text}]
    return ai.chat.completions.create(model=model, messages=said, tools=[CHAT_TOOL], **more)


def test_chat_text(ai: Any) -> None:
    reply = chat(ai, "hi").choices[0]
    assert (reply.message.content, reply.finish_reason) == ("Hello, мир!", "stop")


@pytest.mark.parametrize("model", CHAT_MODELS)
def test_chat_calls_in_parallel_and_takes_the_results(ai: Any, model: str) -> None:
    first = chat(ai, "both", model)
    message = first.choices[0].message
    assert [json.loads(call.function.arguments)["city"] for call in message.tool_calls] == ["Oslo", "Bergen"]
    assert first.choices[0].finish_reason == "tool_calls"
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": f"{number} degrees"}
        for number, call in enumerate(message.tool_calls)
    ]
    second = ai.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "both"}, message, *results],
        tools=[CHAT_TOOL],
    )
    assert second.choices[0].message.content == "It is 1 degrees."


@pytest.mark.parametrize("model", CHAT_MODELS)
@pytest.mark.parametrize("text", ["both", "weather in Oslo", "hi", "refuse", "long", "nothing"])
def test_chat_stream_assembles_to_the_whole_reply(ai: Any, model: str, text: str) -> None:
    whole = chat(ai, text, model).choices[0]
    with ai.chat.completions.stream(
        model=model,
        messages=[{"role": "user", "content": text}],
        tools=[CHAT_TOOL],
        stream_options={"include_usage": True},
    ) as stream:
        try:
            final = stream.get_final_completion()
        except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError) as cut:
            final = cut.completion
    streamed = final.choices[0]
    assert final.usage is not None
    assert streamed.finish_reason == whole.finish_reason
    assert (streamed.message.content or None) == (whole.message.content or None)
    assert streamed.message.refusal == whole.message.refusal
    assert [call.function.arguments for call in streamed.message.tool_calls or ()] == [
        call.function.arguments for call in whole.message.tool_calls or ()
    ]


@pytest.mark.parametrize("model", CHAT_MODELS)
@pytest.mark.parametrize("text", ["both", "hi", "refuse", "long", "nothing"])
def test_chat_bodies_fit_the_sdk_types(post: Any, model: str, text: str) -> None:
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

    ChatCompletion.model_validate(post("chat_completions", model=model, text=text).json(), strict=True)
    lines = post("chat_completions", model=model, text=text, stream=True).text.splitlines()
    events = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert events.pop() == "[DONE]"
    for event in events:
        ChatCompletionChunk.model_validate_json(event, strict=True)


def test_chat_named_choice_finishes_with_stop(ai: Any) -> None:
    named = {"type": "function", "function": {"name": "get_weather"}}
    reply = chat(ai, "hi", tool_choice=named).choices[0]
    assert (reply.finish_reason, len(reply.message.tool_calls)) == ("stop", 1)


@pytest.mark.parametrize(("fault", "expected"), STATUS_CLASSES.items(), ids=STATUS_CLASSES)
def test_chat_failures_become_the_sdk_classes(ai: Any, fault: str, expected: str) -> None:
    refused = {"temperature": 9} if fault == "400" else {}
    with pytest.raises(getattr(openai, expected)) as caught:
        chat(ai, "hi", "sim-openai" if refused else f"sim-openai+{fault}", **refused)
    if isinstance(caught.value, openai.APIStatusError) and fault != "html":
        assert caught.value.request_id.startswith("req_sim")
        assert caught.value.type


def test_chat_refusal_tells_param_and_code(ai: Any) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        chat(ai, "hi", "sim-openai-reasoning", reasoning_effort="none", max_tokens=10)
    assert (caught.value.param, caught.value.code) == ("max_tokens", "unsupported_parameter")


def test_chat_error_in_the_middle_of_a_stream_is_raised(ai: Any) -> None:
    with pytest.raises(openai.APIError, match="error while processing"):
        list(chat(ai, "hi", "sim-openai+mid_stream_error", stream=True))


def test_the_sdk_retries_after_the_wait_that_is_asked_for(ai: Any, sim: Simulator) -> None:
    sim.clear_journal()
    reply = chat(ai.with_options(max_retries=2), "hi", "sim-openai+429_ms,500,ok")
    assert reply.choices[0].message.content == "Hello, мир!"
    assert [entry["status"] for entry in sim.journal] == [429, 500, 200]


def test_the_sdk_does_not_retry_a_spent_quota(ai: Any, sim: Simulator) -> None:
    sim.clear_journal()
    with pytest.raises(openai.RateLimitError, match="quota"):
        chat(ai.with_options(max_retries=2), "hi", "sim-openai+429_quota")
    assert len(sim.journal) == 1


def respond(ai: Any, given: Any, model: str, **more: Any) -> Any:
    return ai.responses.create(model=model, input=given, tools=[RESPONSES_TOOL], store=False, **more)


@pytest.mark.parametrize("model", RESPONSES_MODELS)
def test_responses_text(ai: Any, model: str) -> None:
    reply = respond(ai, "hi", model)
    assert (reply.output_text, reply.status) == ("Hello, мир!", "completed")


@pytest.mark.parametrize("model", RESPONSES_MODELS)
def test_responses_calls_in_parallel_and_takes_the_results(ai: Any, model: str) -> None:
    first = respond(ai, "both", model)
    calls = [item for item in first.output if item.type == "function_call"]
    assert [json.loads(call.arguments)["city"] for call in calls] == ["Oslo", "Bergen"]
    results = [
        {"type": "function_call_output", "call_id": call.call_id, "output": "3 degrees"} for call in calls
    ]
    history = [{"role": "user", "content": "both"}, *(item.to_dict() for item in first.output), *results]
    assert respond(ai, history, model).output_text == "It is 3 degrees."


@pytest.mark.parametrize("model", RESPONSES_MODELS)
@pytest.mark.parametrize("text", ["both", "weather in Oslo", "hi", "refuse", "long", "nothing"])
def test_responses_stream_assembles_to_the_whole_reply(ai: Any, model: str, text: str) -> None:
    whole = respond(ai, text, model)
    with ai.responses.stream(model=model, input=text, tools=[RESPONSES_TOOL], store=False) as stream:
        events = list(stream)
    kinds = [event.type for event in events]
    assert kinds[0] == "response.created"
    assert kinds[-1] == f"response.{whole.status}"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    streamed = [event.item.to_dict() for event in events if event.type == "response.output_item.done"]
    # Ids are drawn from the request, which differs in its stream flag.
    ids = {"id", "call_id", "encrypted_content"}
    assert [_without(item, ids) for item in streamed] == [
        _without(item.to_dict(), ids) for item in whole.output
    ]


def _without(item: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in names}


@pytest.mark.parametrize("model", RESPONSES_MODELS)
@pytest.mark.parametrize("text", ["both", "hi", "refuse", "long", "nothing"])
def test_responses_bodies_fit_the_sdk_types(post: Any, model: str, text: str) -> None:
    from openai.types.responses import Response, ResponseStreamEvent

    Response.model_validate(post("responses", model=model, text=text).json())
    events = post("responses", model=model, text=text, stream=True).text.strip().split("\n\n")
    adapter = pydantic.TypeAdapter(ResponseStreamEvent)
    for event in events:
        name, data = event.splitlines()
        assert name == f"event: {adapter.validate_json(data.removeprefix('data: ')).type}"


@pytest.mark.parametrize("fault", ["401", "404", "429", "500", "503"])
def test_responses_failures_become_the_sdk_classes(ai: Any, fault: str) -> None:
    with pytest.raises(getattr(openai, STATUS_CLASSES[fault])):
        respond(ai, "hi", f"sim-openai+{fault}")


def test_responses_error_in_the_middle_of_a_stream_is_its_last_event(ai: Any) -> None:
    last = list(respond(ai, "hi", "sim-openai+mid_stream_error", stream=True))[-1]
    assert (last.type, last.message) == ("error", "The server had an error while processing your request.")


CUSTOM_TOOL = {"type": "custom", "name": "run_query", "description": "Runs the SQL that it is given"}


def ask_custom(ai: Any, given: Any, **more: Any) -> Any:
    choice = {"type": "custom", "name": "run_query"}
    return ai.responses.create(
        model="sim-router", input=given, tools=[CUSTOM_TOOL], tool_choice=choice, store=False, **more
    )


def test_responses_custom_tool_takes_text_and_its_output(ai: Any) -> None:
    first = ask_custom(ai, "select 1")
    call = first.output[-1]
    assert (call.type, call.name, call.input) == ("custom_tool_call", "run_query", "select 1")
    output = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "3 degrees"}
    history = [{"role": "user", "content": "select 1"}, call.to_dict(), output]
    last = ai.responses.create(model="sim-openai", input=history, tools=[CUSTOM_TOOL], store=False)
    assert last.output_text == "It is 3 degrees."


def test_responses_custom_tool_streams_its_text(ai: Any) -> None:
    events = list(ask_custom(ai, "select count(*) from orders", stream=True))
    pieces = [event.delta for event in events if event.type == "response.custom_tool_call_input.delta"]
    (done,) = [event for event in events if event.type == "response.custom_tool_call_input.done"]
    assert "".join(pieces) == done.input == events[-1].response.output[-1].input
    assert len(pieces) > 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_responses_custom_tool_fits_the_sdk_types(post: Any, stream: bool) -> None:
    from openai.types.responses import Response, ResponseStreamEvent

    more = {"tools": [CUSTOM_TOOL], "tool_choice": {"type": "custom", "name": "run_query"}}
    reply = post("responses", model="sim-router", text="select 1", stream=stream, **more)
    assert reply.status_code == 200, reply.text
    if not stream:
        Response.model_validate(reply.json())
        return
    adapter = pydantic.TypeAdapter(ResponseStreamEvent)
    for event in reply.text.strip().split("\n\n"):
        adapter.validate_json(event.splitlines()[1].removeprefix("data: "))


def test_responses_tokens_are_counted(ai: Any) -> None:
    said = [{"role": "user", "content": "hi"}]
    counted = ai.responses.input_tokens.count(model="sim-openai", input=said, tools=[RESPONSES_TOOL])
    assert counted.input_tokens == respond(ai, said, "sim-openai").usage.input_tokens


def test_a_model_is_told_alone(ai: Any) -> None:
    assert ai.models.retrieve("sim-openai").id == "sim-openai"
    with pytest.raises(openai.NotFoundError):
        ai.models.retrieve("nobody")


def test_models_are_listed_for_a_key(ai: Any) -> None:
    assert "sim-deepseek-thinking" in [model.id for model in ai.models.list()]
    with pytest.raises(openai.AuthenticationError):
        ai.with_options(api_key="sim-bad-key").models.list()


def test_first_turns_fit_the_sdk_request_types() -> None:
    """The bodies that the other tests send are what the provider documents."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

    for protocol, params in (
        ("chat_completions", CompletionCreateParamsNonStreaming),
        ("responses", ResponseCreateParamsNonStreaming),
    ):
        body = first_turn(protocol)
        assert _drain(pydantic.TypeAdapter(params).validate_python(body)) == body


def _drain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drain(item) for key, item in value.items()}
    if isinstance(value, str | bytes | int | float | bool | None):
        return value
    return [_drain(item) for item in value]
