"""Whatever a server sends as JSON, an adapter answers with a decision or a TransportError."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.support import PROTOCOLS, ask, model, offer, ok
from toolbench.adapters import adapter_for
from toolbench.adapters.faults import classify, in_reply
from toolbench.adapters.samples import samples
from toolbench.adapters.streams import assemble
from toolbench.errors import TransportError

WORDS = {
    "chat_completions": (
        "choices message delta tool_calls function_call function name arguments id index content refusal "
        "finish_reason usage prompt_tokens completion_tokens prompt_tokens_details model role text type "
        "reasoning_details custom input"
    ),
    "responses": (
        "output type content call_id name arguments status incomplete_details reason usage input_tokens "
        "output_tokens model refusal text item output_index delta response"
    ),
    "messages": (
        "content type id name input text stop_reason stop_details category usage input_tokens model index "
        "delta content_block message partial_json citation"
    ),
    "ollama_chat": (
        "message content tool_calls function name arguments id done done_reason model eval_count role"
    ),
    "generate_content": (
        "candidates content parts functionCall name args id text thought finishReason role promptFeedback "
        "blockReason usageMetadata promptTokenCount modelVersion"
    ),
}
# fmt: off
VALUES: list[Any] = [
    "tool_use", "text", "function_call", "message", "output_text", "refusal", "stop", "tool_calls",
    "length", "look", "assistant", "response.completed", "response.output_item.done", "content_block_start",
    "content_block_delta", "message_start", "message_delta", "message_stop", "input_json_delta",
    "citations_delta", "thinking",
    "", "null", "<think>a</think>", '{"city": "Oslo"}', "{}{}", '{"name": "look", "arguments": {}}', "\ud800",
    None, True, False, 0, 1, -1, 2.5, 2**70, float("nan"), float("inf"),
]
# fmt: on
SEEDS = st.integers(0, 2**40)


class Scribble:
    """Random JSON out of the words of a protocol: much faster than drawing every node."""

    def __init__(self, seed: int, words: str) -> None:
        self.random = random.Random(seed)
        self.words = words.split()

    def any(self, depth: int = 4) -> Any:
        kind = self.random.random()
        if depth and kind < 0.35:
            return self.object(depth - 1)
        if depth and kind < 0.6:
            return [self.any(depth - 1) for _ in range(self.random.randrange(4))]
        return self.random.choice(VALUES)

    def object(self, depth: int = 4) -> dict[str, Any]:
        keys = self.random.choices(self.words, k=self.random.randrange(7))
        return {key: self.any(depth) for key in keys}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        found += places(child, (*path, key))
    return found


def survive(protocol: str, body: Any) -> None:
    """Do everything the conversation loop does with a reply."""
    before = json.dumps(body)
    adapter, what = adapter_for(protocol), offer()
    fault = adapter.fault(body)
    request = ask(protocol, what)
    decision = adapter.parse_decision(body, request, what)
    decision.to_json()
    adapter.usage(body)
    if fault is None and decision.kind in ("text", "tool_call"):
        history = adapter.start("Be brief.", [{"role": "user", "content": "Hi"}], what)
        history = adapter.append_response(history, body)
        if decision.calls:
            history = adapter.append_tool_results(history, [(call, ok()) for call in decision.calls])
        json.dumps(adapter.build_request(model(protocol), history, what).body)
    assert json.dumps(body) == before


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(SEEDS)
@settings(max_examples=300)
def test_any_json_object(protocol: str, seed: int) -> None:
    survive(protocol, Scribble(seed, WORDS[protocol]).object())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(SEEDS)
@settings(max_examples=300)
def test_any_sample_with_any_part_replaced(protocol: str, seed: int) -> None:
    scribble = Scribble(seed, WORDS[protocol])
    body = copy.deepcopy(dict(scribble.random.choice(samples(protocol)).body))
    *outer, last = scribble.random.choice(places(body)[1:])
    holder: Any = body
    for key in outer:
        holder = holder[key]
    holder[last] = scribble.any()
    survive(protocol, body)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(SEEDS)
@settings(max_examples=300)
def test_any_stream_of_any_events(protocol: str, seed: int) -> None:
    scribble = Scribble(seed, WORDS[protocol])
    events = [scribble.object() for _ in range(scribble.random.randrange(7))]
    prefix = "" if protocol == "ollama_chat" else "data: "
    ends = {
        "chat_completions": "[DONE]",
        "responses": '{"type": "response.completed", "response": {}}',
        "messages": '{"type": "message_stop"}',
        "ollama_chat": '{"done": true}',
        "generate_content": '{"candidates": [{"finishReason": "STOP"}]}',
    }
    lines = [*map(json.dumps, events), ends[protocol]]
    text = "".join(f"{prefix}{line}\n\n" for line in lines)
    try:
        body = assemble(adapter_for(protocol).stream_assembler(), text)
    except TransportError:
        return
    survive(protocol, body)


@given(SEEDS, st.integers(300, 599))
def test_any_error_body(seed: int, status: int) -> None:
    body = Scribble(seed, "error message detail code type").any()
    fault = classify(status, {}, json.dumps(body))
    assert "\n" not in fault.message
    in_reply({"error": body})


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("depth", [150, 500, 900, 100_000])
def test_nesting_that_breaks_every_reader_downstream(depth: int) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": nested(depth)}}
    body = {"choices": [{"message": {"content": "", "tool_calls": [call]}, "finish_reason": "stop"}]}
    assert adapter_for("chat_completions").fault(body) is None
    decision = adapter_for("chat_completions").parse_decision(body, ask("chat_completions"), offer())
    assert decision.calls[0].error == "invalid_json"
    decision.to_json()
    assert classify(500, {}, nested(depth)).code == "server_error"
    leak = '{"name": "look", "arguments": ' + nested(depth) + "}"
    body = {"choices": [{"message": {"content": leak}, "finish_reason": "stop"}]}
    adapter_for("chat_completions").parse_decision(body, ask("chat_completions"), offer()).to_json()
    with pytest.raises(TransportError):
        assemble(
            adapter_for("chat_completions").stream_assembler(), f'data: {{"error": {nested(depth)}}}\n\n'
        )


def test_a_body_nested_too_deeply_is_no_reply() -> None:
    faults = [adapter_for("chat_completions").fault(json.loads(nested(depth))) for depth in (200, 60)]
    assert [fault and fault.code for fault in faults] == ["too_deep", "no_reply"]
