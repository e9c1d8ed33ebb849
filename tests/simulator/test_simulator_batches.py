"""Batches, as the official clients hand them in and read them back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.simulator.simulator_bodies import CHAT_TOOL, MESSAGES_TOOL, RESPONSES_TOOL, SCRIPT
from toolbench.simulator import Settings, Simulator

openai = pytest.importorskip("openai", reason="the OpenAI SDK is a test-only oracle")
anthropic = pytest.importorskip("anthropic", reason="the Anthropic SDK is a test-only oracle")

MODELS = {
    name: {"like": like, "fault": fault}
    for like in ("sim-openai", "sim-claude")
    for name, fault in (
        (f"{like}-expired", "batch_expired"),
        (f"{like}-busy", "529"),
        (f"{like}-slow", {"fault": "batch_slow", "seconds": 0.4}),
        (f"{like}-foreign", "batch_foreign"),
        (f"{like}-torn", "batch_malformed"),
        (f"{like}-lost", "batch_missing"),
    )
}


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with Simulator({**SCRIPT, "models": {**SCRIPT["models"], **MODELS}}) as running:
        yield running


@pytest.fixture(scope="module")
def ai(sim: Simulator) -> Iterator[Any]:
    with openai.OpenAI(
        api_key="test-key", base_url=sim.base_url("chat_completions"), max_retries=0
    ) as client:
        yield client


@pytest.fixture(scope="module")
def claude(sim: Simulator) -> Iterator[Any]:
    with anthropic.Anthropic(api_key="test-key", base_url=sim.url, max_retries=0) as client:
        yield client


def chat_line(id_: str, text: str = "weather in Oslo", **more: Any) -> dict[str, Any]:
    body = {
        "model": "sim-openai",
        "messages": [{"role": "user", "content": text}],
        "tools": [CHAT_TOOL],
        **more,
    }
    return {"custom_id": id_, "method": "POST", "url": "/v1/chat/completions", "body": body}


def handed_in(ai: Any, *lines: Any, endpoint: str = "/v1/chat/completions", **more: Any) -> Any:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    file = ai.files.create(file=("requests.jsonl", text.encode()), purpose="batch")
    assert (file.purpose, file.bytes) == ("batch", len(text.encode()))
    made = ai.batches.create(
        input_file_id=file.id, endpoint=endpoint, completion_window="24h", metadata={"of": "me"}, **more
    )
    return ai.batches.retrieve(made.id)


def read(ai: Any, file: str | None) -> list[Any]:
    return [json.loads(line) for line in ai.files.content(file).text.splitlines()] if file else []


@pytest.mark.parametrize("endpoint", ["/v1/chat/completions", "/v1/responses"])
def test_a_file_of_requests_comes_back_as_a_file_of_answers(ai: Any, endpoint: str) -> None:
    lines = [chat_line("a"), chat_line("b", "hi")]
    kind: Any = openai.types.chat.ChatCompletion
    if endpoint == "/v1/responses":
        kind = openai.types.responses.Response
        for line in lines:
            said = line["body"].pop("messages")
            line["url"] = endpoint
            line["body"] = {**line["body"], "input": said, "tools": [RESPONSES_TOOL], "store": False}
    batch = handed_in(ai, *lines, endpoint=endpoint)
    openai.types.Batch.model_validate(batch.model_dump(), strict=True)
    assert (batch.status, batch.error_file_id, batch.metadata) == ("completed", None, {"of": "me"})
    assert (batch.request_counts.total, batch.request_counts.completed) == (2, 2)
    found = {line["custom_id"]: line for line in read(ai, batch.output_file_id)}
    assert set(found) == {"a", "b"}
    assert {line["error"] for line in found.values()} == {None}
    answer = kind.model_validate(found["a"]["response"]["body"])
    assert "get_weather" in str(answer)
    assert batch.id in [one.id for one in ai.batches.list(limit=2).data]


@pytest.mark.parametrize(
    ("name", "status", "counted"),
    [("expired", "expired", (0, 1)), ("busy", "completed", (0, 1)), ("lost", "completed", (1, 0))],
)
def test_what_fails_is_in_the_file_of_errors(ai: Any, name: str, status: str, counted: Any) -> None:
    batch = handed_in(ai, chat_line("a", model=f"sim-openai-{name}"))
    counts = batch.request_counts
    assert (batch.status, (counts.completed, counts.failed)) == (status, counted)
    errors = read(ai, batch.error_file_id)
    if name == "expired":
        assert (errors[0]["response"], errors[0]["error"]["code"]) == (None, "batch_expired")
    elif name == "busy":
        assert errors[0]["response"]["status_code"] == 529
        assert "message" in errors[0]["response"]["body"]["error"]
    else:
        assert errors == read(ai, batch.output_file_id) == []


@pytest.mark.parametrize(
    ("lines", "code", "line"),
    [
        (["{"], "invalid_json_line", 1),
        ([""], "empty_file", None),
        ([chat_line("a"), chat_line("a")], "duplicate_custom_id", 2),
        ([chat_line("a"), chat_line("b", model="sim-echo")], "model_mismatch", 2),
        ([{**chat_line("a"), "url": "/v1/responses"}], "url_mismatch", 1),
        ([{**chat_line("a"), "method": "GET"}], "missing_required_parameter", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_file_is_refused_by_the_batch(ai: Any, lines: Any, code: str, line: int | None) -> None:
    batch = handed_in(ai, *lines)
    (error,) = batch.errors.data
    assert (batch.status, error.code, error.line) == ("failed", code, line)


def test_a_bad_call_is_refused_at_once(ai: Any) -> None:
    for call in (
        lambda: ai.files.create(file=("requests.txt", b"{}"), purpose="batch"),
        lambda: ai.files.create(file=("requests.jsonl", b"{}"), purpose="vision"),
        lambda: ai.batches.create(input_file_id="file-x", endpoint="/v1/responses", completion_window="24h"),
        lambda: ai.batches.create(input_file_id="file-x", endpoint="/v1/models", completion_window="24h"),
        lambda: ai.batches.create(input_file_id="f", endpoint="/v1/responses", completion_window="1h"),
    ):
        with pytest.raises(openai.BadRequestError):
            call()
    for missing in (lambda: ai.batches.retrieve("batch_x"), lambda: ai.files.content("file-x")):
        with pytest.raises(openai.NotFoundError):
            missing()
    with pytest.raises(openai.AuthenticationError):
        ai.with_options(api_key="sim-bad-key").batches.list()


def test_what_is_wrong_with_one_request_is_its_own_error(ai: Any) -> None:
    batch = handed_in(ai, chat_line("a", tool_choice="any"), chat_line("b"), chat_line("c", stream=True))
    assert {line["custom_id"]: line["response"]["status_code"] for line in read(ai, batch.error_file_id)} == {
        "a": 400,
        "c": 400,
    }
    assert [line["custom_id"] for line in read(ai, batch.output_file_id)] == ["b"]


def test_a_slow_batch_can_be_cancelled(ai: Any) -> None:
    batch = handed_in(ai, chat_line("a", model="sim-openai-slow"))
    assert (batch.status, batch.output_file_id) == ("in_progress", None)
    batch = ai.batches.cancel(batch.id)
    assert batch.status == "cancelled"
    assert [line["error"]["code"] for line in read(ai, batch.error_file_id)] == ["batch_cancelled"]


def test_a_limit_of_waiting_requests_refuses_a_batch(sim: Simulator, ai: Any) -> None:
    sim.settings = Settings(batch_requests=1)
    try:
        batch = handed_in(ai, chat_line("a"), chat_line("b"))
    finally:
        sim.settings = replace(sim.settings, batch_requests=None)
    assert (batch.status, batch.errors.data[0].code) == ("failed", "token_limit_exceeded")


def entry(id_: str, model: str = "sim-claude", **more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "weather in Oslo"}]
    body = {"model": model, "max_tokens": 100, "messages": said, "tools": [MESSAGES_TOOL], **more}
    return {"custom_id": id_, "params": body}


def kinds(claude: Any, *requests: dict[str, Any]) -> dict[str, str]:
    batch = claude.messages.batches.create(requests=requests)
    while batch.processing_status != "ended":
        time.sleep(0.05)
        batch = claude.messages.batches.retrieve(batch.id)
    return {one.custom_id: one.result.type for one in claude.messages.batches.results(batch.id)}


def test_messages_succeed_fail_and_expire_one_by_one(claude: Any) -> None:
    assert kinds(
        claude,
        entry("good"),
        entry("expired", "sim-claude-expired"),
        entry("busy", "sim-claude-busy"),
        entry("wrong", temperature=0),
        entry("unknown", "nobody"),
    ) == {
        "good": "succeeded",
        "expired": "expired",
        "busy": "errored",
        "wrong": "errored",
        "unknown": "errored",
    }


def test_results_are_messages_and_errors_in_the_shape_of_the_provider(claude: Any) -> None:
    made = claude.messages.batches.create(requests=[entry("a"), entry("b", temperature=0)])
    assert (made.request_counts.succeeded, made.request_counts.errored) == (1, 1)
    found = {one.custom_id: one.result for one in claude.messages.batches.results(made.id)}
    strictly = anthropic.types.Message.model_validate(found["a"].message.model_dump(), strict=True)
    assert strictly.content[-1].name == "get_weather"
    assert found["b"].error.error.type == "invalid_request_error"
    assert next(iter(claude.messages.batches.list(limit=1))).id == made.id


def test_foreign_and_lost_results_are_as_scripted(claude: Any) -> None:
    assert kinds(claude, entry("a", "sim-claude-foreign"), entry("b", "sim-claude-lost")) == {
        "somebody-elses": "succeeded",
        "a": "succeeded",
    }


def test_a_slow_batch_of_messages_has_no_results_yet_and_can_be_cancelled(claude: Any) -> None:
    made = claude.messages.batches.create(requests=[entry("a", "sim-claude-slow")])
    assert (made.processing_status, made.request_counts.processing, made.results_url) == (
        "in_progress",
        1,
        None,
    )
    with pytest.raises(anthropic.AnthropicError):
        list(claude.messages.batches.results(made.id))
    made = claude.messages.batches.cancel(made.id)
    assert [one.result.type for one in claude.messages.batches.results(made.id)] == ["canceled"]


@pytest.mark.parametrize(
    "requests",
    [[], [entry("a"), entry("a")], [entry("no blanks")], [{"custom_id": "a"}], [{**entry("a"), "more": 1}]],
    ids=["empty", "twice", "id", "no params", "extra"],
)
def test_a_bad_batch_of_messages_is_refused_at_once(claude: Any, requests: Any) -> None:
    with pytest.raises(anthropic.BadRequestError):
        claude.messages.batches.create(requests=requests)


def test_messages_need_a_version_and_a_known_batch(sim: Simulator, claude: Any) -> None:
    import httpx

    bare: Callable[..., httpx.Response] = httpx.get
    reply = bare(f"{sim.url}/v1/messages/batches", headers={"x-api-key": "test-key"}, trust_env=False)
    assert reply.status_code == 400
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.batches.retrieve("msgbatch_x")
