"""What every wire protocol has to offer, and the neutral shapes it works on.

An adapter is pure: it turns a history into a request and a response into a decision. It opens no
connection, knows no key, and judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ModelDecision, ToolCall, Usage
from toolbench.domain.record import ToolResult

ToolChoice = str
"""``auto``, ``none``, ``required``, or ``named:<tool>``."""


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
        Protocol headers (a version header, say); never credentials.
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

    ``tools`` are already worded for the condition; ``names`` maps each wire name to the contract's name.
    """

    tools: tuple[ToolSpec, ...]
    lang: str
    names: Mapping[str, str]
    choice: ToolChoice = "auto"


Messages = list[dict[str, Any]]


class StreamAssembler(Protocol):
    """Puts the lines of a streamed reply together, one line at a time.

    Every method raises :class:`TransportError` for a stream that reports an error, is no JSON, or breaks off.
    """

    has_content: bool
    """Whether text or part of a call has arrived."""

    def feed(self, line: str) -> None:
        r"""Take one line without its ``\n``."""
        ...

    def finish(self) -> dict[str, Any]:
        """Return the body that the same reply would have had without streaming."""
        ...


class ProviderAdapter(Protocol):
    """One wire protocol.

    Wire messages are plain lists of dicts in the protocol's own shape; every method returns a new list.
    """

    protocol: str

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry a key."""
        ...

    def start(self, system: str, messages: Sequence[Mapping[str, JSON]], offer: Offer) -> Messages:
        """Return the wire form of a system prompt and a canonical history.

        Tool messages of the history carry a ready :class:`ToolResult` under ``result``.
        """
        ...

    def append_user(self, messages: Messages, text: str) -> Messages:
        """Add a user message."""
        ...

    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add what the model answered, verbatim."""
        ...

    def append_tool_results(
        self, messages: Messages, results: Sequence[tuple[ToolCall, ToolResult]]
    ) -> Messages:
        """Add the results of all calls of one turn, in the provider's own shape."""
        ...

    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request for the next turn.

        Raises
        ------
        TransportError
            With ``unsupported``, for a setting the model is known to refuse and that has no substitute.
        SuiteError
            For a tool whose schema the wire cannot express.
        """
        ...

    def stream_assembler(self) -> StreamAssembler:
        """Return a fresh assembler for one streamed reply."""
        ...

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply in comparable form."""
        ...

    def parse_decision(self, response: Mapping[str, Any], request: Request, offer: Offer) -> ModelDecision:
        """Return what the model decided. Never raises for anything a model can have caused."""
        ...


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


def settled(request: Request, decision: ModelDecision) -> dict[str, dict[str, JSON]]:
    """Return the setting notes of a turn, with what the reply itself shows about their effect."""
    notes = {name: note.to_json() for name, note in request.settings.items()}

    def observe(name: str, honoured: bool | None) -> None:
        if name in notes and notes[name]["sent"] is not None and honoured is not None:
            notes[name]["honoured"] = honoured

    choice = str(notes.get("tool_choice", {}).get("asked", "auto"))
    called = [call.name for call in decision.calls]
    if choice == "none":
        observe("tool_choice", not called)
    elif choice == "required":
        observe("tool_choice", bool(called))
    elif choice.startswith("named:"):
        observe("tool_choice", bool(called) and set(called) == {choice.removeprefix("named:")})
    if notes.get("parallel_tool_calls", {}).get("asked") is False and len(decision.calls) > 1:
        observe("parallel_tool_calls", False)
    limit = notes.get("max_output_tokens", {}).get("sent")
    if isinstance(limit, int) and decision.usage.output is not None and decision.usage.output > limit:
        observe("max_output_tokens", False)
    return notes
