"""The official Anthropic client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulator.simulator_bodies import MESSAGES_TOOL, first_turn
from toolbench.simulator import Simulator

anthropic = pytest.importorskip("anthropic", reason="the Anthropic SDK is a test-only oracle")
pydantic = pytest.importorskip("pydantic", reason="comes with the Anthropic SDK")

MODELS = ["sim-claude", "sim-claude-no-forced", "sim-claude-bound", "sim-claude-4-5"]

STATUS_CLASSES = {
    "401": ("AuthenticationError", "authentication_error"),
    "402": ("PaymentRequiredError", "billing_error"),
    "403": ("PermissionDeniedError", "permission_error"),
    "404": ("NotFoundError", "not_found_error"),
    "409": ("ConflictError", "conflict_error"),
    "413": ("ContentTooLargeError", "request_too_large"),
    "429": ("RateLimitError", "rate_limit_error"),
    "429_quota": ("RateLimitError", "rate_limit_error"),
    "500": ("InternalServerError", "api_error"),
    "529": ("OverloadedError", "overloaded_error"),
}


@pytest.fixture(scope="module")
def claude(sim: Simulator) -> Iterator[Any]:
    with anthropic.Anthropic(api_key="test-key", base_url=sim.url, max_retries=0, timeout=10) as client:
        yield client


def ask(claude: Any, messages: Any, model: str = "sim-claude", **more: Any) -> Any:
    said = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    return claude.messages.create(model=model, max_tokens=2000, messages=said, tools=[MESSAGES_TOOL], **more)


def test_text(claude: Any) -> None:
    reply = ask(claude, "hi")
    assert (reply.content[0].text, reply.stop_reason) == ("Hello, мир!", "end_turn")


@pytest.mark.parametrize("model", MODELS)
def test_calls_in_parallel_and_takes_the_results(claude: Any, model: str) -> None:
    first = ask(claude, "both", model)
    calls = [block for block in first.content if block.type == "tool_use"]
    assert ([call.input["city"] for call in calls], first.stop_reason) == (["Oslo", "Bergen"], "tool_use")
    results = [
        {"type": "tool_result", "tool_use_id": calls[0].id, "content": "no such city", "is_error": True},
        {"type": "tool_result", "tool_use_id": calls[1].id, "content": "3 degrees"},
    ]
    history = [
        {"role": "user", "content": "both"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": results},
    ]
    last = ask(claude, history, model)
    assert last.content[-1].text == "It is 3 degrees."


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", ["both", "weather in Oslo", "hi", "refuse", "long", "nothing"])
def test_stream_assembles_to_the_whole_reply(claude: Any, model: str, text: str) -> None:
    whole = ask(claude, text, model)
    with claude.messages.stream(
        model=model,
        max_tokens=2000,
        messages=[{"role": "user", "content": text}],
        tools=[MESSAGES_TOOL],
    ) as stream:
        streamed = stream.get_final_message()
    assert (streamed.stop_reason, streamed.usage.output_tokens) == (
        whole.stop_reason,
        whole.usage.output_tokens,
    )
    assert streamed.stop_details == whole.stop_details
    assert [_said(block) for block in streamed.content] == [_said(block) for block in whole.content]


def _said(block: Any) -> dict[str, Any]:
    # Ids are drawn from the request, which differs in its stream flag.
    return {key: value for key, value in block.to_dict().items() if key not in ("id", "parsed_output")}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", ["both", "hi", "refuse", "long", "nothing"])
def test_bodies_fit_the_sdk_types(post: Any, model: str, text: str) -> None:
    from anthropic.types import Message, RawMessageStreamEvent

    Message.model_validate(post("messages", model=model, text=text).json(), strict=True)
    adapter = pydantic.TypeAdapter(RawMessageStreamEvent)
    for event in post("messages", model=model, text=text, stream=True).text.strip().split("\n\n"):
        name, data = event.splitlines()
        if name != "event: ping":
            assert name == f"event: {adapter.validate_json(data.removeprefix('data: ')).type}"


@pytest.mark.parametrize(("fault", "expected"), STATUS_CLASSES.items(), ids=STATUS_CLASSES)
def test_failures_become_the_sdk_classes(claude: Any, fault: str, expected: tuple[str, str]) -> None:
    with pytest.raises(getattr(anthropic, expected[0])) as caught:
        ask(claude, "hi", f"sim-claude+{fault}")
    assert caught.value.body["error"]["type"] == expected[1]
    assert caught.value.request_id == caught.value.body["request_id"]


def test_a_refused_request_is_a_bad_request_error(claude: Any) -> None:
    with pytest.raises(anthropic.BadRequestError, match="are not supported for this model"):
        ask(claude, "hi", "sim-claude-no-forced", tool_choice={"type": "any"})


def test_error_in_the_middle_of_a_stream_is_raised(claude: Any) -> None:
    with pytest.raises(anthropic.APIStatusError) as caught:
        list(ask(claude, "hi", "sim-claude+mid_stream_error", stream=True))
    assert caught.value.body["error"]["type"] == "api_error"


def test_the_sdk_retries_until_the_server_is_free(claude: Any, sim: Simulator) -> None:
    sim.clear_journal()
    reply = ask(claude.with_options(max_retries=2), "hi", "sim-claude+429_ms,ok")
    assert reply.content[0].text == "Hello, мир!"
    assert [entry["status"] for entry in sim.journal] == [429, 200]


def test_the_older_api_version_is_served_too(claude: Any) -> None:
    older = {"anthropic-version": "2023-06-01"}
    reply = ask(claude, "hi", "sim-claude-4-5", extra_headers=older, extra_body={"temperature": 0.2})
    assert reply.content[0].text == "Hello, мир!"


def test_models_are_listed_for_a_key(claude: Any) -> None:
    names = [model.id for model in claude.models.list()]
    assert "sim-claude-no-forced" in names
    assert "sim-openai" not in names


def test_models_are_listed_page_by_page(claude: Any) -> None:
    names = [model.id for model in claude.models.list(limit=3)]
    assert len(claude.models.list(limit=3).data) == 3
    assert names == [model.id for model in claude.models.list(limit=1000)]


def test_a_model_is_told_alone(claude: Any) -> None:
    assert claude.models.retrieve("sim-claude").display_name == "sim-claude"
    with pytest.raises(anthropic.NotFoundError):
        claude.models.retrieve("sim-openai")


def test_tokens_are_counted(claude: Any) -> None:
    said = [{"role": "user", "content": "hi"}]
    counted = claude.messages.count_tokens(model="sim-claude", messages=said, tools=[MESSAGES_TOOL])
    assert counted.input_tokens == ask(claude, said).usage.input_tokens


def test_calls_that_the_model_never_thought_about_are_taken_in_adaptive_thinking(claude: Any) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
    history = [
        {"role": "user", "content": "weather in Oslo"},
        {"role": "assistant", "content": [call]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3 degrees"}],
        },
    ]
    assert ask(claude, history, thinking={"type": "adaptive"}).content[-1].text == "It is 3 degrees."
    with pytest.raises(anthropic.BadRequestError, match="Expected `thinking`"):
        ask(claude, history, thinking={"type": "enabled", "budget_tokens": 1024})


def test_the_first_turn_fits_the_sdk_request_type() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    pydantic.TypeAdapter(MessageCreateParamsNonStreaming).validate_python(first_turn("messages"))
