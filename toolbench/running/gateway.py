"""What a gateway makes of a provider's replies: one fixed exchange, played directly and through it.

The exchange is a question that calls for a tool, the call, its result and the answer, whole and streamed. Two
samples of one model never say the same, so values are compared only where a provider's are steady (the
model's name, finish reasons, the form of ids); of everything else it is asked whether it is there at all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolbench.adapters import Offer, adapter_for
from toolbench.domain.canonical import JSON
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ModelDecision
from toolbench.domain.record import ToolResult
from toolbench.errors import ConfigError, TransportError
from toolbench.running.redaction import redactor_for
from toolbench.running.transport import Response, Transport

WEATHER = ToolSpec(
    "get_weather",
    {"": "Returns the current weather of a city."},
    {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Name of the city"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
SYSTEM = "You answer questions about the weather. Always call get_weather before you answer."
QUESTION = "What is the weather in Oslo right now?"
RESULT = '{"temperature_c": 3, "sky": "rain"}'
ROOM = 2000
"""Tokens of a reply at the least."""

TRIES: Mapping[str, float] = {"tries": 2, "max_wait": 10.0}

ASPECTS: Mapping[str, tuple[str, ...]] = {
    "signatures": ("signature", "thoughtSignature", "encrypted_content", "data"),
    "reasoning": ("reasoning", "reasoning_content", "reasoning_details", "thinking", "summary"),
    "refusal details": ("stop_details", "promptFeedback"),
    "fingerprint": ("system_fingerprint",),
}
"""What is told of a reply → names of the fields that hold it on any wire."""

ID_FORM = re.compile(r"^([A-Za-z]+[_-])?")


@dataclass(frozen=True)
class Difference:
    """One thing that a gateway drops, adds, changes or fails at.

    Attributes
    ----------
    how
        ``dropped``, ``added``, ``changed`` or ``failed``.
    where
        The reply it was found in: ``call``, ``answer``, each ``whole`` or ``streamed``.
    what
        In one or two words: ``finish reason``, ``usage: cached_input``, ``signatures`` …
    direct, gateway
        What either side said; empty where it said nothing.
    """

    how: str
    where: str
    what: str
    direct: str = ""
    gateway: str = ""

    def __str__(self) -> str:
        """Return one line."""
        sides = f": {self.direct or 'nothing'} → {self.gateway or 'nothing'}"
        return f"{self.how} ({self.where}) {self.what}{sides if self.direct or self.gateway else ''}"


@dataclass(frozen=True)
class Comparison:
    """A gateway's entry beside the direct one, and what differs; empty when nothing does."""

    direct: ModelConfig
    gateway: ModelConfig
    differences: Sequence[Difference]


Facts = Mapping[str, str]
"""What → what was said about it; steady words, or ``present``."""


async def compare_gateways(path: Path, label: str) -> list[Comparison]:
    """Play the exchange with every entry labelled ``label`` and with the same model behind other labels.

    Raises
    ------
    ConfigError
        When the configuration is wrong, nothing has this label, or no other entry has its model and protocol.
    """
    config = Config.load(path)
    served = [run for run in config.runs if run.kind == "http"]
    pairs = [
        (direct, other)
        for direct in served
        for other in served
        if direct.provider == label != other.provider and _same_model(direct, other)
    ]
    if not pairs:
        labels = ", ".join(sorted({run.provider for run in config.runs}))
        raise ConfigError(
            f"{path}: --against {label}: it takes an entry with this provider label and another one with "
            f"the same model and protocol; the labels are: {labels}"
        )
    async with Transport(redactor_for(config), config.timeouts, {**TRIES, **config.retries}) as transport:
        return list(await asyncio.gather(*(_compared(transport, *pair) for pair in pairs)))


def _same_model(direct: ModelConfig, other: ModelConfig) -> bool:
    # Gateways put the maker in front: openai/gpt-5.5.
    names = {model.model.rpartition("/")[2] for model in (direct, other)}
    return direct.protocol == other.protocol and len(names) == 1


async def _compared(transport: Transport, direct: ModelConfig, gateway: ModelConfig) -> Comparison:
    found: list[Difference] = []
    for stream in (False, True):
        mode = "streamed" if stream else "whole"
        sides = [await _exchange(transport, _prepared(model, stream)) for model in (direct, gateway)]
        if sides[0][0].get("decision", "tool_call") != "tool_call":
            found.append(Difference("failed", f"call, {mode}", "direct", "the model did not call the tool"))
            continue
        for turn, name in enumerate(("call", "answer")):
            ours, theirs = (facts[turn] if turn < len(facts) else None for facts in sides)
            found += differences(ours, theirs, f"{name}, {mode}")
    return Comparison(direct, gateway, found)


def _prepared(model: ModelConfig, stream: bool) -> ModelConfig:
    """Return a model that takes the exchange: no setting that some refuse, and room to think."""
    room = max(model.settings.max_output_tokens, ROOM)
    return replace(
        model, settings=replace(model.settings, stream=stream, temperature=None, max_output_tokens=room)
    )


async def _exchange(transport: Transport, model: ModelConfig) -> list[Facts]:
    """Return the facts of the two replies; a failure is the last one's only fact."""
    adapter = adapter_for(model.protocol)
    offer = Offer((WEATHER,), "en", {WEATHER.name: WEATHER.name})
    messages = adapter.start(SYSTEM, [{"role": "user", "content": QUESTION}], offer)
    told: list[Facts] = []
    try:
        for _ in range(2):
            request = adapter.build_request(model, messages, offer)
            reply = await transport.send(model, adapter, request)
            decision = adapter.parse_decision(reply.body, request, offer)
            told.append(facts_of(reply, decision))
            if decision.kind != "tool_call":
                break
            messages = adapter.append_response(messages, reply.body)
            result = ToolResult(RESULT, is_error=False)
            messages = adapter.append_tool_results(messages, [(call, result) for call in decision.calls])
    except TransportError as fault:
        told.append({"error": f"{fault.code}: {fault.message}"[:200]})
    return told


def facts_of(reply: Response, decision: ModelDecision) -> Facts:
    """Return what a reply says about each thing; what it is silent about is left out."""
    facts: dict[str, str | None] = {
        "decision": decision.kind,
        "model name": decision.returned_model,
        "finish reason": decision.finish_reason,
        "request id": "present" if reply.request_id else None,
        # A server that does not stream sends the whole reply in one piece.
        "stream": "present" if reply.first_token_ms is not None else None,
        "rate limits": "present" if any("ratelimit" in name for name in reply.headers) else None,
        "reply id": _form(reply.body.get("id") or reply.body.get("responseId")),
    }
    for call in decision.calls[:1]:
        facts["call id"] = None if call.id_synthesized else _form(call.id)
        facts["arguments"] = call.error or "an object"
    for name, tokens in vars(decision.usage).items():
        facts[f"usage: {name}"] = None if tokens is None else "present"
    held = {name for name, value in _leaves(reply.body) if value}
    for aspect, names in ASPECTS.items():
        facts[aspect] = "present" if held.intersection(names) else None
    return {what: said for what, said in facts.items() if said is not None}


def differences(direct: Facts | None, gateway: Facts | None, where: str) -> Iterator[Difference]:
    """Yield what differs between two replies in the same place; None is a reply that was not reached."""
    if direct is None:
        if gateway is not None:
            yield Difference("added", where, "reply", "", gateway.get("decision", "an error"))
        return
    if gateway is None:
        yield Difference("dropped", where, "reply", direct.get("decision", "an error"))
        return
    for facts, side in ((direct, "direct"), (gateway, "gateway")):
        if "error" in facts:
            yield Difference("failed", where, side, **{side: facts["error"]})
    if "error" in direct or "error" in gateway:
        return
    for what in dict.fromkeys([*direct, *gateway]):
        ours, theirs = direct.get(what, ""), gateway.get(what, "")
        if ours != theirs:
            yield Difference(
                "changed" if ours and theirs else "dropped" if ours else "added", where, what, ours, theirs
            )


def _form(identity: JSON) -> str | None:
    """Return how an id begins and what it is made of, without what differs from reply to reply."""
    if not isinstance(identity, str) or not identity:
        return None
    prefix = ID_FORM.match(identity)
    return f"{prefix[0] if prefix else ''}…"


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, JSON]]:
    """Yield every field that holds a list or a plain value: an object may only echo what was asked."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _leaves(child, key)
        return
    yield name, value
    if isinstance(value, list):
        for child in value:
            yield from _leaves(child)
