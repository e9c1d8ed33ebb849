"""The one base of all adapters: a wire protocol, free of connection, key and judgement.

An adapter turns a history into a request and a reply into a decision.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from toolbench.adapters.decide import Reading, decide, reported_decision
from toolbench.adapters.faults import in_reply
from toolbench.adapters.finish import end_of
from toolbench.adapters.shapes import word_of
from toolbench.adapters.streams import EventAssembler
from toolbench.adapters.wire import (
    Messages,
    Offer,
    Request,
    Results,
    Said,
    turns_of,
    wire_names,
)
from toolbench.domain.canonical import JSON, too_deep
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import ModelDecision, Usage
from toolbench.errors import TransportError


class ProviderAdapter(ABC):
    """One wire protocol.

    Wire messages are plain lists of dicts in the protocol's own shape; every method returns a new list.
    """

    protocol: ClassVar[str]

    legal_name: ClassVar[re.Pattern[str]] = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
    """What the wire takes as a tool name."""

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry a key."""
        return {"Authorization": f"Bearer {key}"}

    reply_id: ClassVar[str] = "id"
    """The field of a reply that tells it from all others."""

    unique_ids: ClassVar[bool] = False
    """Whether a call id has to be unique in the whole history."""

    # From a history to a request.

    def start(self, system: str, messages: Sequence[Mapping[str, JSON]], offer: Offer) -> Messages:
        """Return the wire form of a system prompt and a canonical history.

        Tool messages of the history carry a ready :class:`ToolResult` under ``result``.
        """
        to_wire = {canonical: wire for wire, canonical in wire_names(offer, self.legal_name).items()}
        history: Messages = [{"role": "system", "content": system}]
        for turn in turns_of(messages, to_wire):
            if isinstance(turn, str):
                history = self.append_user(history, turn)
            elif isinstance(turn, Said):
                history = [*history, *self.assistant(turn)]
            else:
                history = self.append_tool_results(history, turn)
        return history

    def append_user(self, messages: Messages, text: str) -> Messages:
        """Add a user message."""
        return [*messages, {"role": "user", "content": text}]

    @abstractmethod
    def assistant(self, said: Said) -> Messages:
        """Return the wire messages of an assistant's turn in a frozen history."""

    @abstractmethod
    def append_response(self, messages: Messages, response: Mapping[str, Any]) -> Messages:
        """Add what the model answered, as it came."""

    @abstractmethod
    def append_tool_results(self, messages: Messages, results: Results) -> Messages:
        """Add the results of all calls of one turn, in the provider's own shape."""

    @abstractmethod
    def build_request(self, model: ModelConfig, messages: Messages, offer: Offer) -> Request:
        """Return the request for the next turn.

        Raises
        ------
        TransportError
            With ``unsupported``, for a setting or a schema that the model is known not to take and that has
            no substitute.
        """

    # From a reply to a decision.

    @abstractmethod
    def stream_assembler(self) -> EventAssembler:
        """Return a fresh assembler for one streamed reply."""

    @abstractmethod
    def is_reply(self, body: Mapping[str, Any]) -> bool:
        """Whether a body has the structure that every reply of this protocol has."""

    @abstractmethod
    def read(self, response: Mapping[str, Any]) -> Reading:
        """Take a reply apart."""

    @abstractmethod
    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply in comparable form."""

    @abstractmethod
    def made_ids(self, body: Mapping[str, Any]) -> list[JSON]:
        """Return the ids of the calls in the history of a request."""

    @abstractmethod
    def limit(self, body: Mapping[str, Any]) -> JSON:
        """Return the token limit that a request carries."""

    def fault(self, body: JSON) -> TransportError | None:
        """Return why a body under status 200 is no reply, or ``None`` when it is one.

        Without the protocol's structure there is no reply, whatever else is in the body; and a finish reason
        can say that the server, not the model, ended it.
        """
        if not isinstance(body, Mapping):
            return TransportError("not_an_object", "the reply is JSON but not an object", 200, retryable=True)
        if too_deep(body):
            return TransportError("too_deep", "the reply is nested too deeply to be read", 200)
        if body.get("error") or not self.is_reply(body):
            return in_reply(body)
        reading = self.read(body)
        end = end_of(self.protocol, reading.finish)
        # A reason that nobody knows is no verdict on an empty reply either.
        if end == "break" or (end == "unknown" and reading.empty):
            return in_reply({"error": f"the server ended the reply with {reading.finish!r}"})
        return None

    def parse_decision(self, response: Mapping[str, Any], request: Request, offer: Offer) -> ModelDecision:
        """Return what the model decided. Never raises for anything a model can have caused."""
        fault = self.fault(response)
        reading = self.read(response)
        if fault is not None and fault.decides:
            decision = reported_decision(fault, reading, request)
        else:
            decision = decide(
                reading,
                end_of(self.protocol, reading.finish),
                request,
                offer,
                taken=self.made_ids(request.body),
                unique=self.unique_ids,
                limit=self.limit(request.body),
            )
        return replace(decision, response_id=word_of(response.get(self.reply_id)))
