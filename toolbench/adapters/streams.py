"""Streamed replies: bytes to lines, lines to events, events to the body that was streamed.

Everything here is pure; the transport only brings the bytes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from toolbench.adapters.base import StreamAssembler
from toolbench.adapters.faults import reply_error
from toolbench.domain.canonical import JSON, too_deep
from toolbench.errors import TransportError


class LineSplitter:
    r"""Cuts a byte stream into lines at ``\n`` and nowhere else.

    JSON inside a line may hold U+2028 and other characters that Python counts as line ends.
    """

    def __init__(self) -> None:
        self._open: list[bytes] = []

    def feed(self, chunk: bytes) -> list[str]:
        r"""Return the lines that are complete now, without their ``\n``."""
        first, *others = chunk.split(b"\n")
        self._open.append(first)
        if not others:
            return []
        lines = [b"".join(self._open), *others[:-1]]
        self._open = [others[-1]]
        return [line.decode("utf-8", "replace") for line in lines]

    def rest(self) -> str:
        r"""Return what follows the last ``\n``."""
        rest, self._open = b"".join(self._open), []
        return rest.decode("utf-8", "replace")


def assemble(assembler: StreamAssembler, text: str) -> dict[str, Any]:
    """Return the body behind the complete text of a streamed reply, as a log keeps it."""
    for line in text.split("\n"):
        assembler.feed(line)
    return assembler.finish()


class EventAssembler(ABC):
    """Base of the assemblers: finds the events in the lines and the errors among the events."""

    sse: ClassVar[bool] = True
    """Server-sent events; otherwise one JSON object a line."""

    done_ends: ClassVar[bool] = False
    """Whether ``[DONE]`` ends a reply; elsewhere it proves nothing, gateways add it to any stream."""

    def __init__(self) -> None:
        self.has_content = False
        self.ended = False
        self._pending = ""

    def feed(self, line: str) -> None:
        """Take one line; comments, keep-alives and event names carry nothing."""
        line = line.removesuffix("\r")
        if not self.sse:
            if line.strip():
                self._take(line, whole=True)
            return
        name, _, value = line.partition(":")
        if name == "data":
            # An event's data may be spread over lines: it is complete when it is a JSON value.
            self._pending += value.removeprefix(" ")
            if self._take(self._pending, whole=False):
                self._pending = ""
        elif not line and self._pending:
            self._take(self._pending, whole=True)

    def finish(self) -> dict[str, Any]:
        """Return the body; a stream without its end mark is no reply."""
        if self._pending:
            self._take(self._pending, whole=True)
        if not self.ended:
            raise TransportError(
                "incomplete_stream", "the stream broke off before its end", 200, retryable=True
            )
        return self.body()

    def _take(self, text: str, whole: bool) -> bool:
        if text.strip() == "[DONE]":
            self.ended = self.ended or self.done_ends
            return True
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            if not whole:
                return False
            shown = " ".join(text[:80].split())
            raise TransportError(
                "bad_stream", f"a streamed event is not JSON: {shown!r}", 200, retryable=True
            ) from None
        if too_deep(event):
            raise TransportError("too_deep", "a streamed event is nested too deeply to be read", 200)
        if isinstance(event, dict):
            error = event.get("error") or (event if event.get("type") == "error" else None)
            if error:
                raise reply_error("error_in_stream", error)
            self.event(event)
        return True

    @abstractmethod
    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one event."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """Return the body after the last event."""


def merge_delta(into: dict[str, Any], delta: Mapping[str, JSON], plain: frozenset[str] = frozenset()) -> None:
    """Add a fragment to what has arrived: texts are joined, lists prolonged, objects merged.

    Null adds nothing. Keys in ``plain`` are repeated whole rather than sent in pieces.
    """
    for key, value in delta.items():
        old = into.get(key)
        if value is None:
            into.setdefault(key, None)
        elif isinstance(old, list) and isinstance(value, list):
            into[key] = [*old, *value]
        elif isinstance(old, str) and isinstance(value, str) and key not in plain:
            into[key] = old + value
        elif isinstance(old, dict) and isinstance(value, dict):
            merge_delta(old, value, plain)
        else:
            into[key] = dict(value) if isinstance(value, dict) else value
