"""What all adapters share: laying out a frozen canonical history in a protocol's own shape."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from toolbench.adapters.base import Messages, Offer, wire_names
from toolbench.domain.canonical import JSON
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import ToolResult

Results = Sequence[tuple[ToolCall, ToolResult]]

ERROR_PREFIX = "ERROR: "
"""How a failed tool result starts on wires that have no error flag."""


@dataclass(frozen=True)
class Said:
    """What an assistant said in a frozen history; calls carry their wire names."""

    text: str
    calls: tuple[ToolCall, ...]


class WireAdapter(ABC):
    """Base of the adapters. ``legal_name`` is what the wire takes as a tool name."""

    legal_name: ClassVar[re.Pattern[str]] = re.compile(r"^[A-Za-z0-9_-]{1,64}$")

    def start(self, system: str, messages: Sequence[Mapping[str, JSON]], offer: Offer) -> Messages:
        """Return the system prompt and the canonical history in wire form."""
        to_wire = {canonical: wire for wire, canonical in wire_names(offer, self.legal_name).items()}
        history: Messages = [{"role": "system", "content": system}]
        for turn in _turns(messages, to_wire):
            if isinstance(turn, str):
                history = self.append_user(history, turn)
            elif isinstance(turn, Said):
                history = [*history, *self.assistant(turn)]
            else:
                history = self.append_tool_results(history, turn)
        return history

    @abstractmethod
    def append_user(self, messages: Messages, text: str) -> Messages:
        """Add a user message."""

    @abstractmethod
    def append_tool_results(self, messages: Messages, results: Results) -> Messages:
        """Add the results of all calls of one turn, in the provider's own shape."""

    @abstractmethod
    def assistant(self, said: Said) -> Messages:
        """Return the wire messages of an assistant's turn in a frozen history."""


def result_text(result: ToolResult) -> str:
    """Return a result for a wire without an error flag: a failure says so first."""
    return f"{ERROR_PREFIX}{result.content}" if result.is_error else result.content


def _turns(
    messages: Sequence[Mapping[str, JSON]], to_wire: Mapping[str, str]
) -> Iterator[str | Said | list[tuple[ToolCall, ToolResult]]]:
    """Yield user texts, assistant turns, and all results of a turn together, in the order of its calls."""
    calls: dict[str, ToolCall] = {}
    results: dict[str, ToolResult] = {}

    def answered() -> Iterator[list[tuple[ToolCall, ToolResult]]]:
        if results:
            yield [(call, results[id_]) for id_, call in calls.items() if id_ in results]
            results.clear()

    for message in messages:
        if message["role"] == "tool":
            results[str(message["tool_call_id"])] = message["result"]
            continue
        yield from answered()
        if message["role"] == "user":
            yield str(message["content"])
        else:
            calls = {call["id"]: _call(call, to_wire) for call in message.get("tool_calls", ())}
            yield Said(str(message.get("content", "")), tuple(calls.values()))
    yield from answered()


def _call(call: Mapping[str, JSON], to_wire: Mapping[str, str]) -> ToolCall:
    raw = json.dumps(call["arguments"], ensure_ascii=False)
    return ToolCall(call["id"], to_wire.get(call["name"], call["name"]), raw, call["arguments"])
