"""What a model did in one turn, free of any wire format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from toolbench.domain.canonical import JSON

MOST_CALLS = 500
"""Calls of one reply that are read; a model has made thirty of them on a bad day."""

DecisionKind = Literal["tool_call", "text", "refusal", "invalid"]


@dataclass(frozen=True)
class ToolCall:
    """One proposed call.

    Attributes
    ----------
    id
        The provider's call id, or a deterministic stand-in when ``id_synthesized``.
    name
        Canonical tool name (mapped back from the wire), as the model wrote it when unknown.
    raw_arguments
        The argument text exactly as received. ``raw_is_reserialised`` when the wire carries an object and
        the text was made from it.
    arguments
        The parsed object, or ``None`` when ``error`` is set.
    error
        ``invalid_json``, ``duplicate_key``, ``non_finite_number``, ``trailing_text``, ``not_an_object``,
        ``double_encoded`` or ``truncated``.
    """

    id: str
    name: str
    raw_arguments: str
    arguments: Mapping[str, JSON] | None
    error: str | None = None
    error_detail: str | None = None
    id_synthesized: bool = False
    raw_is_reserialised: bool = False


@dataclass(frozen=True)
class Usage:
    """Tokens of one reply in one comparable form; ``None`` where the provider does not say.

    ``input`` includes tokens read from a cache and written to it, and ``output`` includes reasoning tokens on
    every provider. ``cost`` is what a router says it has charged, in its own currency.
    """

    input: int | None = None
    output: int | None = None
    cached_input: int | None = None
    reasoning: int | None = None
    cache_write: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class ModelDecision:
    """The content of one reply: calls decide by presence, never by the finish reason.

    ``reason`` explains ``invalid`` (``truncated``, ``bad_arguments``, ``empty``, ``finish_without_call``,
    ``continuation`` …) and, for a refusal, where it was signalled. ``response_id`` is the id that the server
    gave the reply.
    """

    kind: DecisionKind
    text: str = ""
    calls: Sequence[ToolCall] = ()
    reason: str | None = None
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    returned_model: str | None = None
    warnings: Sequence[str] = ()
    leaked_calls: Sequence[Mapping[str, JSON]] = ()
    response_id: str | None = None

    def to_json(self) -> dict[str, JSON]:
        """Return a plain JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ModelDecision:
        """Rebuild from :meth:`to_json`."""
        return cls(
            **{
                **data,
                "calls": tuple(ToolCall(**call) for call in data["calls"]),
                "usage": Usage(**data["usage"]),
            }
        )
