"""The neutral shapes that every adapter works on: an offer of tools, a request, a frozen history's turns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ModelDecision, ToolCall
from toolbench.domain.record import ToolResult

ToolChoice = str
"""``auto``, ``none``, ``required``, ``named:<tool>``, or ``allowed:<tool>,<tool>``."""

Messages = list[dict[str, Any]]
"""A history in a protocol's own shape."""

Results = Sequence[tuple[ToolCall, ToolResult]]

ERROR_PREFIX = "ERROR: "
"""How a failed tool result starts on wires that have no error flag."""


@dataclass(frozen=True)
class SettingNote:
    """One setting on its way: what was asked for, what was put on the wire, and whether it took effect."""

    asked: JSON
    sent: JSON
    honoured: bool | None = None

    def to_json(self) -> dict[str, JSON]:
        """Return the three fields of a turn record's ``settings`` entry."""
        return {"asked": self.asked, "sent": self.sent, "honoured": self.honoured}


@dataclass(frozen=True)
class Request:
    """A request without address and key.

    Attributes
    ----------
    path
        Appended to the base URL, which ends with the API version; may end in a query.
    body
        The JSON body.
    headers
        Headers of the protocol and of the configuration; never credentials.
    settings
        Setting → note.
    tool_names
        Wire name → canonical name, a bijection over the tools on offer.
    losses
        What the translation of the tools could not carry over, one line each.
    stream
        Whether the reply comes as a stream.
    """

    path: str
    body: dict[str, JSON]
    headers: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, SettingNote] = field(default_factory=dict)
    tool_names: Mapping[str, str] = field(default_factory=dict)
    losses: Sequence[str] = ()
    stream: bool = False


@dataclass(frozen=True)
class Offer:
    """The tools of one turn as the model will see them.

    Attributes
    ----------
    tools
        Already worded for the condition.
    names
        Shown name → the contract's name.
    choice
        How the model may choose.
    parallel
        Whether several calls in one turn are allowed, where the condition decides that; ``None`` leaves it to
        the model's settings.
    """

    tools: tuple[ToolSpec, ...]
    lang: str
    names: Mapping[str, str]
    choice: ToolChoice = "auto"
    parallel: bool | None = None


@dataclass(frozen=True)
class Said:
    """What an assistant said in a frozen history; calls carry their wire names."""

    text: str
    calls: tuple[ToolCall, ...]


def result_text(result: ToolResult) -> str:
    """Return a result for a wire without an error flag: a failure says so first."""
    return f"{ERROR_PREFIX}{result.content}" if result.is_error else result.content


def wire_names(offer: Offer, legal: re.Pattern[str]) -> dict[str, str]:
    """Return wire name → contract name for the tools on offer: a bijection, legal on this wire.

    Illegal characters become ``_``; names that collide afterwards get a numbered suffix.
    """
    names: dict[str, str] = {}
    # Legal names keep their spelling whatever else is on offer, so they are placed first.
    for tool in sorted(offer.tools, key=lambda tool: not legal.match(tool.name)):
        wire = tool.name if legal.match(tool.name) else re.sub(r"[^A-Za-z0-9_-]", "_", tool.name)[:60]
        number = 2
        while wire in names:
            wire = f"{wire[:58]}_{number}"
            number += 1
        names[wire] = offer.names[tool.name]
    return names


def turns_of(
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


def settled(request: Request, decision: ModelDecision) -> dict[str, dict[str, JSON]]:
    """Return the setting notes of a turn, with what the reply itself shows about their effect."""
    notes = {name: note.to_json() for name, note in request.settings.items()}

    def observe(name: str, honoured: bool | None) -> None:
        if name in notes and notes[name]["sent"] is not None and honoured is not None:
            notes[name]["honoured"] = honoured

    mode, _, names = str(notes.get("tool_choice", {}).get("asked", "auto")).partition(":")
    called = {call.name for call in decision.calls}
    if mode == "none":
        observe("tool_choice", not called)
    elif mode == "required":
        observe("tool_choice", bool(called))
    elif mode == "named":
        observe("tool_choice", called == {names})
    elif mode == "allowed":
        observe("tool_choice", called <= set(names.split(",")))
    if notes.get("parallel_tool_calls", {}).get("asked") is False and len(decision.calls) > 1:
        observe("parallel_tool_calls", False)
    limit = notes.get("max_output_tokens", {}).get("sent")
    if isinstance(limit, int) and decision.usage.output is not None and decision.usage.output > limit:
        observe("max_output_tokens", False)
    return notes
