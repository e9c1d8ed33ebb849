"""The five protocols side by side: paths, readers and writers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.simulator import (
    chat_completions,
    chat_completions_reply,
    generate_content,
    generate_content_reply,
    messages,
    messages_reply,
    ollama_chat,
    ollama_chat_reply,
    responses,
    responses_reply,
)
from toolbench.simulator.exchange import Conversation, Reply, Request
from toolbench.simulator.failures import Family, families
from toolbench.simulator.streaming import Frames, Split


@dataclass(frozen=True)
class Wire:
    """One protocol.

    Attributes
    ----------
    base
        Path of its base URL, up to and including the version.
    paths
        Where requests are posted.
    family
        Family whose errors it speaks, and that answers while the model is not known.
    varying
        The family by model, where servers of one protocol differ.
    streams
        What a request that does not say gets.
    normalised
        Spells the fields of a body in one way, where the provider takes several.
    count, counts
        Tells the tokens of a request, and the paths of its own where that is asked for; None: not served.
    """

    base: str
    paths: tuple[str, ...]
    family: str
    read: Callable[[Request], Conversation]
    body: Callable[[Request, Conversation, Reply], dict[str, Any]]
    frames: Callable[[Request, Conversation, Reply, Split], Frames]
    streams: bool = False
    normalised: Callable[[JSON], JSON] = lambda body: body
    count: Callable[[Request], dict[str, Any]] | None = None
    counts: tuple[str, ...] = ()
    varying: Callable[[Request], Family] | None = None

    def family_of(self, request: Request) -> Family:
        """Return the family whose errors a request is answered with."""
        return self.varying(request) if self.varying is not None else families()[self.family]


WIRES: dict[str, Wire] = {
    "chat_completions": Wire(
        "/v1",
        # DeepSeek serves at the root, and its strict mode under /beta.
        ("/v1/chat/completions", "/chat/completions", "/beta/chat/completions"),
        "openai",
        chat_completions.read,
        chat_completions_reply.body,
        chat_completions_reply.frames,
        varying=chat_completions.family_of,
    ),
    "responses": Wire(
        "/v1",
        ("/v1/responses",),
        "openai",
        responses.read,
        responses_reply.body,
        responses_reply.frames,
        count=responses_reply.count,
        counts=("/v1/responses/input_tokens",),
    ),
    "messages": Wire(
        "/v1",
        ("/v1/messages",),
        "anthropic",
        messages.read,
        messages_reply.body,
        messages_reply.frames,
        count=messages_reply.count,
        counts=("/v1/messages/count_tokens",),
    ),
    "ollama_chat": Wire(
        "/api",
        ("/api/chat",),
        "ollama",
        ollama_chat.read,
        ollama_chat_reply.body,
        ollama_chat_reply.frames,
        streams=True,
    ),
    "generate_content": Wire(
        "/v1beta",
        # Its own client asks for v1 by itself.
        ("/v1beta/models/{target:.+}", "/v1/models/{target:.+}"),
        "gemini",
        generate_content.read,
        generate_content_reply.body,
        generate_content_reply.frames,
        normalised=generate_content.normalised,
        count=generate_content_reply.count,
    ),
}
"""Protocol -> how it is spoken."""
