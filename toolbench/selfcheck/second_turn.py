"""The second turn of every protocol: do the results stand where the provider looks for them?

The shapes are read from the request by tables of their own, not by the adapters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.adapters import adapter_for
from toolbench.adapters.samples import Sample, sample_offer, sample_request
from toolbench.domain.config import ModelConfig
from toolbench.domain.record import ToolResult

Result = tuple[str, str, bool]
"""What a result answers (id, or name where the wire has no ids), its text, and whether it is an error."""
RESULTS = (ToolResult("All is well."), ToolResult("Out of order.", is_error=True, code="BROKEN"))


@dataclass(frozen=True)
class Shape:
    """Where a protocol keeps its history, and how its results look in it.

    Attributes
    ----------
    history
        Key of the history in the body.
    together
        Whether the results of all calls share one message.
    made
        The calls of a history entry, as what their results must refer to.
    given
        The results of a history entry.
    """

    history: str
    together: bool
    made: Callable[[Mapping[str, Any]], list[str]]
    given: Callable[[Mapping[str, Any]], list[Result]]


def _prefixed(text: str) -> tuple[str, bool]:
    return text.removeprefix("ERROR: "), text.startswith("ERROR: ")


def _chat_result(message: Mapping[str, Any], key: str) -> list[Result]:
    return [(message[key], *_prefixed(message["content"]))] if message.get("role") == "tool" else []


def _blocks(message: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if block.get("type") == kind] if isinstance(content, list) else []


def _parts(content: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [part[kind] for part in content.get("parts", ()) if kind in part]


SHAPES: Mapping[str, Shape] = {
    "chat_completions": Shape(
        "messages",
        False,
        lambda message: [call["id"] for call in message.get("tool_calls", ())],
        lambda message: _chat_result(message, "tool_call_id"),
    ),
    "responses": Shape(
        "input",
        False,
        lambda item: [item["call_id"]] if item.get("type") == "function_call" else [],
        lambda item: (
            [(item["call_id"], *_prefixed(item["output"]))]
            if item.get("type") == "function_call_output"
            else []
        ),
    ),
    "messages": Shape(
        "messages",
        True,
        lambda message: [block["id"] for block in _blocks(message, "tool_use")],
        lambda message: [
            (block["tool_use_id"], block["content"], block.get("is_error", False))
            for block in _blocks(message, "tool_result")
        ],
    ),
    "ollama_chat": Shape(
        "messages",
        False,
        lambda message: [call["function"]["name"] for call in message.get("tool_calls", ())],
        lambda message: _chat_result(message, "tool_name"),
    ),
    "generate_content": Shape(
        "contents",
        True,
        lambda content: [call["name"] for call in _parts(content, "functionCall")],
        lambda content: [
            (part["name"], text, key == "error")
            for part in _parts(content, "functionResponse")
            for key, text in part["response"].items()
        ],
    ),
}


def second_turn_faults(protocol: str, sample: Sample) -> Iterator[str]:
    """Yield what is wrong with the request that follows a reply with two calls.

    The first call is answered well, the second with an error.
    """
    if protocol not in SHAPES:
        yield "no shape is known for this protocol"
        return
    shape, adapter, offer = SHAPES[protocol], adapter_for(protocol), sample_offer()
    first = sample_request(protocol)
    decision = adapter.parse_decision(sample.body, first, offer)
    before = adapter.start("You work in a library.", [{"role": "user", "content": "Hello"}], offer)
    said = adapter.append_response(before, sample.body)
    answered = adapter.append_tool_results(said, list(zip(decision.calls, RESULTS, strict=True)))
    model = ModelConfig("selfcheck", "m-1", protocol, "http://127.0.0.1")
    history = adapter.build_request(model, answered, offer).body[shape.history]
    added = len(answered) - len(said)
    if added != (1 if shape.together else len(decision.calls)):
        yield f"{added} entries for the results of {len(decision.calls)} calls"
    yield from _placement_faults(shape, history[:-added], history[-added:])


def _placement_faults(
    shape: Shape, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    made: list[str] = []
    for entry in reversed(before):
        calls = shape.made(entry)
        if not calls and made:
            break
        made = [*calls, *made]
        if not calls:
            yield "something stands between the calls and their results"
            break
    given = [result for entry in after for result in shape.given(entry)]
    if [to for to, _, _ in given] != made:
        yield f"results answer {[to for to, _, _ in given]}, the calls were {made}"
    due = [(result.content, result.is_error) for result in RESULTS]
    if [(text, failed) for _, text, failed in given] != due:
        yield f"results read {[(text, failed) for _, text, failed in given]}, given were {due}"
