"""What all protocols have in common once a request has been read, and before a reply is written."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolbench.domain.canonical import JSON, canonical_json

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
SEAL = "seal"


@dataclass(frozen=True)
class Tool:
    """A tool on offer; a custom one takes any text instead of arguments."""

    name: str
    description: str
    parameters: JSON
    strict: bool = False
    custom: bool = False


@dataclass(frozen=True)
class Choice:
    """What the request asks about calling.

    Attributes
    ----------
    mode
        ``auto``, ``none`` or ``required``.
    names
        The only tools that may be called; empty for all of them.
    named
        One tool was demanded by name, which some wires answer in a special way.
    """

    mode: str = "auto"
    names: tuple[str, ...] = ()
    named: bool = False


@dataclass(frozen=True)
class Result:
    """A tool result that the history ends with."""

    name: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """What a decision may depend on.

    Attributes
    ----------
    turn
        Replies in the whole history, plus one.
    step
        Replies since the last user message, plus one.
    results
        Non-empty when the history ends with tool results.
    thinking
        Whether the model thinks before it answers.
    """

    tools: tuple[Tool, ...]
    choice: Choice
    parallel: bool
    user: str
    turn: int
    step: int
    results: tuple[Result, ...]
    thinking: bool


@dataclass(frozen=True)
class Call:
    """A call as the model wrote it."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    """What the model decided.

    Attributes
    ----------
    truncated
        The token limit cut it.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    refusal: str | None = None
    reasoning: str | None = None
    truncated: bool = False


@dataclass(frozen=True)
class Model:
    """One served model and what it refuses; see ``simulator.schema.json`` for the fields."""

    id: str
    protocols: tuple[str, ...]
    dialect: str
    thinking: str
    refuses: frozenset[str]
    refuses_thinking: frozenset[str]
    binds_prefix: bool
    needs_thought_signature: bool
    fault: JSON
    rules: tuple[JSON, ...]


@dataclass(frozen=True)
class Request:
    """One request as it arrived.

    Attributes
    ----------
    asked
        The model id as the client wrote it.
    headers
        Names in lower case.
    seed
        Varies everything that is drawn at random.
    path
        Where it was posted.
    counting
        Its tokens are wanted, not a reply.
    arrived
        What tells its arrival from every other, at this server or another.
    """

    model: Model
    asked: str
    body: dict[str, Any]
    headers: Mapping[str, str]
    stream: bool
    seed: int = 0
    path: str = ""
    counting: bool = False
    arrived: str = ""

    @cached_property
    def digest(self) -> str:
        """Fingerprint of model and body: equal requests get equal calls and equal draws."""
        text = canonical_json([self.seed, self.asked, self.body])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def random(self, purpose: str) -> random.Random:
        """Return a generator that depends on the request and the purpose only."""
        return random.Random(f"{self.digest}:{purpose}")

    def id(self, purpose: str, length: int = 24) -> str:
        """Return an id of letters and digits."""
        return "".join(self.random(f"id:{purpose}").choices(ALPHABET, k=length))

    @property
    def reply_id(self) -> str:
        """An id that no other reply has: one that comes twice is a cache's."""
        return self.id(f"reply {self.arrived}")


def seal(model: Model, *parts: JSON) -> str:
    """Return an opaque proof (signature, encrypted reasoning) that ``model`` wrote ``parts``."""
    return (
        SEAL + hashlib.sha256(canonical_json([model.id, *parts]).encode("utf-8", "surrogatepass")).hexdigest()
    )


def tokens(*texts: str | None) -> int:
    """Return a made-up but steady count: four characters a token, at least one for any text."""
    return sum(-(-len(text) // 4) for text in texts if text)


def reply_tokens(reply: Reply) -> int:
    """Return the tokens of everything but the reasoning."""
    calls = [part for call in reply.calls for part in (call.name, call.arguments)]
    return tokens(reply.text, reply.refusal, *calls)
