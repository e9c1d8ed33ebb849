"""Streamed replies: bytes to lines, lines to events, events to the body that was streamed.

Everything here is pure; the transport only brings the bytes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from toolbench.adapters.faults import in_reply
from toolbench.domain.canonical import JSON, too_deep
from toolbench.errors import TransportError

STREAM_WARNINGS = "stream_warnings"
"""Key of an assembled body that lists what the stream contradicted itself in."""

_TELLING = frozenset({"message", "detail", "msg", "code", "errors", "error_msg", "status_msg", "base_resp"})


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


def assemble(assembler: EventAssembler, text: str) -> dict[str, Any]:
    """Return the body behind the complete text of a streamed reply, as a log keeps it."""
    for line in text.split("\n"):
        assembler.feed(line)
    return assembler.finish()


class EventAssembler(ABC):
    """Base of the assemblers: finds the events in the lines and the errors among the events.

    No single signal is trusted: what contradicts what came before is settled and noted under
    :data:`STREAM_WARNINGS` of the body.
    """

    sse: ClassVar[bool] = True
    """Server-sent events; otherwise one JSON object a line."""

    done_ends: ClassVar[bool] = False
    """Whether ``[DONE]`` ends a reply; elsewhere it proves nothing, gateways add it to any stream."""

    carries: ClassVar[frozenset[str]]
    """Keys of which every event of the protocol has one."""

    def __init__(self) -> None:
        self.has_content = False
        self.ended = False
        self.warnings: list[str] = []
        self._pending = ""
        self._begun = False
        self._stray: dict[str, Any] | None = None
        self._reported: JSON = None

    @property
    def begun(self) -> bool:
        """Whether any event has arrived."""
        return self._begun or self._stray is not None or self._reported is not None

    def feed(self, line: str) -> None:
        r"""Take one line without its ``\n``; a lone ``\r`` ends a line as well.

        Comments, keep-alives and event names carry nothing.
        """
        for part in line.removeprefix("\ufeff").removesuffix("\r").split("\r"):
            self._line(part)

    def _line(self, line: str) -> None:
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
        """Return the body; a stream without its end mark is no reply.

        Raises
        ------
        TransportError
            For a stream that is no JSON, that broke off, or in which the server reported an error of its own.
        """
        if self._pending:
            self._take(self._pending, whole=True)
        if self._stray is not None and not (self._begun and self.ended):
            raise in_reply(self._stray, "error_in_stream")
        if not self.ended:
            raise TransportError(
                "incomplete_stream", "the stream broke off before its end", 200, retryable=True
            )
        body = self.body()
        noted = {STREAM_WARNINGS: list(dict.fromkeys(self.warnings))} if self.warnings else {}
        return {**body, **({"error": self._reported} if self._reported else {}), **noted}

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
            self._sort(event)
        return True

    def _sort(self, event: dict[str, Any]) -> None:
        """Tell an event of the protocol from an error, and from what no protocol has."""
        if event.get("error") or "error" in (event.get("type"), event.get("object")):
            error = event.get("error") or event
            fault = in_reply({"error": error}, "error_in_stream")
            if not fault.decides:
                raise fault
            self._reported, self.ended = error, True
        elif self.carries.isdisjoint(event):
            self._stray = self._stray if _TELLING.isdisjoint(event) else event
        else:
            self._begun = True
            self.event(event)

    @abstractmethod
    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one event."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """Return the body after the last event, as it would have been without streaming."""


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
