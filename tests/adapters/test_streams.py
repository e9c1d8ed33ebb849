"""A streamed reply is the same reply: same body, same decision, however the bytes are cut."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.streaming import REPLIES
from tests.adapters.support import PROTOCOLS, ask, chunk, read, sse
from toolbench.adapters import adapter_for
from toolbench.adapters.samples import mismatches, samples
from toolbench.adapters.streams import LineSplitter, assemble
from toolbench.errors import TransportError


def assembled(protocol: str, chunks: list[bytes]) -> dict[str, Any]:
    splitter, assembler = LineSplitter(), adapter_for(protocol).stream_assembler()
    for data in chunks:
        for line in splitter.feed(data):
            assembler.feed(line)
    assembler.feed(splitter.rest())
    return assembler.finish()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(data=st.data())
def test_any_chunking_gives_the_body_of_the_reply_sent_whole(protocol: str, data: st.DataObject) -> None:
    drawn = data.draw(REPLIES[protocol])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(drawn.stream)), max_size=8)))
    pieces = zip([0, *cuts], [*cuts, len(drawn.stream)], strict=True)
    body = assembled(protocol, [drawn.stream[a:b] for a, b in pieces])
    assert body == drawn.body
    assert read(protocol, body) == read(protocol, drawn.body)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(data=st.data())
def test_a_stream_cut_anywhere_is_an_error_or_the_whole_reply(protocol: str, data: st.DataObject) -> None:
    drawn = data.draw(REPLIES[protocol])
    end = data.draw(st.integers(0, len(drawn.stream)))
    try:
        body = assembled(protocol, [drawn.stream[:end]])
    except TransportError:
        return
    whole, part = read(protocol, drawn.body), read(protocol, body)
    assert (part.kind, part.calls, part.text) == (whole.kind, whole.calls, whole.text)


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_lines_put_together_are_the_text(data: bytes, cuts: list[int]) -> None:
    splitter, lines = LineSplitter(), list[str]()
    bounds = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for a, b in itertools.pairwise(bounds):
        lines += splitter.feed(data[a:b])
    lines.append(splitter.rest())
    whole = [line.decode("utf-8", "replace") for line in data.split(b"\n")]
    assert lines == whole


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_whole_text_of_a_log_gives_the_same_body(protocol: str) -> None:
    text = json.dumps(samples(protocol)[0].body)
    if protocol == "ollama_chat":
        assert assemble(adapter_for(protocol).stream_assembler(), text) == samples(protocol)[0].body
    if protocol == "generate_content":
        body = assemble(adapter_for(protocol).stream_assembler(), f"data: {text}\r\n\r\n")
        assert body == samples(protocol)[0].body


def test_data_spread_over_lines_is_one_event() -> None:
    first, second = json.dumps(chunk({"content": "Hi"}, "stop"), indent=1).split("\n", 1)
    lines = [f"data: {first}", *(f"data: {line}" for line in second.split("\n")), "", "data: [DONE]", ""]
    body = assemble(adapter_for("chat_completions").stream_assembler(), "\n".join(lines))
    assert body["choices"][0]["message"]["content"] == "Hi"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_that_streams_says_so(protocol: str) -> None:
    request = ask(protocol, stream=True)
    assert request.stream
    assert not ask(protocol).stream
    streams = request.body.get("stream") is True or "streamGenerateContent?alt=sse" in request.path
    assert streams
    assert ask("ollama_chat").body["stream"] is False


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([chunk({"role": "assistant", "content": ""})], False, id="role-only"),
        pytest.param([chunk({"reasoning_content": "hm"})], False, id="reasoning"),
        pytest.param([chunk({"content": "H"})], True, id="text"),
        pytest.param([chunk({"tool_calls": [{"index": 0, "function": {"name": "look"}}]})], True, id="call"),
    ],
)
def test_content_is_a_text_or_a_call(events: list[Any], expected: bool) -> None:
    assembler = adapter_for("chat_completions").stream_assembler()
    for line in sse(*events, done=False).split("\n"):
        assembler.feed(line)
    assert assembler.has_content is expected


@pytest.mark.parametrize(
    ("deltas", "details"),
    [
        pytest.param(
            [
                {"type": "reasoning.text", "text": "a", "index": 0},
                {"type": "reasoning.text", "text": "b", "index": 0},
            ],
            [{"type": "reasoning.text", "text": "ab", "index": 0}],
            id="joined",
        ),
        pytest.param(
            [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.encrypted", "data": "x"}],
            [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.encrypted", "data": "x"}],
            id="apart",
        ),
    ],
)
def test_reasoning_details_are_put_together(deltas: list[Any], details: list[Any]) -> None:
    events = [chunk({"reasoning_details": [delta]}) for delta in deltas] + [chunk({"content": "Hi"}, "stop")]
    body = assemble(adapter_for("chat_completions").stream_assembler(), sse(*events))
    assert body["choices"][0]["message"]["reasoning_details"] == details


def test_calls_cut_by_the_limit_and_usage_in_an_empty_chunk() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"city":"abc'}}
    events = [
        chunk({"tool_calls": [call]}, "tool_calls"),
        chunk(None, usage={"prompt_tokens": 20, "completion_tokens": 64}),
    ]
    body = assemble(adapter_for("chat_completions").stream_assembler(), sse(*events))
    decision = read("chat_completions", body, max_output_tokens=64)
    assert (decision.reason, decision.usage.output) == ("truncated", 64)
    assert read("chat_completions", body, max_output_tokens=90).calls[0].error == "invalid_json"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_shipped_samples(protocol: str) -> None:
    names = {sample.name for sample in samples(protocol)}
    wanted = {"text", "one_call", "several_calls", "invalid_arguments", "refusal", "truncated", "leaked_call"}
    assert names == wanted - ({"refusal"} if protocol == "ollama_chat" else set())
    for sample in samples(protocol):
        assert mismatches(sample) == [], sample.name


def test_a_wrong_expectation_is_found() -> None:
    sample = samples("messages")[1]
    wrong = replace(sample, expect={"kind": "text", "calls": [{"name": "other"}], "text": ["x"]})
    assert len(mismatches(wrong)) == 3


def test_a_name_behind_finished_arguments_names_the_call_that_follows() -> None:
    pieces = [("look", '{"city":"Paris"}'), ("look", ""), (None, '{"city":'), (None, '"Oslo"}')]
    deltas = [
        {"tool_calls": [{"index": 0, "function": {"name": name, "arguments": text}}]} for name, text in pieces
    ]
    lines = [f"data: {json.dumps(chunk(delta))}" for delta in deltas]
    lines.append(f"data: {json.dumps(chunk({}, 'tool_calls'))}")
    body = assemble(adapter_for("chat_completions").stream_assembler(), "\n".join(lines))
    calls = body["choices"][0]["message"]["tool_calls"]
    assert [
        (call["function"]["name"], json.loads(call["function"]["arguments"])["city"]) for call in calls
    ] == [
        ("look", "Paris"),
        ("look", "Oslo"),
    ]
