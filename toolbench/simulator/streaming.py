"""Pieces of text and frames of the three streaming forms."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from toolbench.domain.canonical import JSON

Split = Callable[[str], list[str]]
"""Cuts a text into the pieces that a stream sends one by one."""


@dataclass(frozen=True)
class Frames:
    """A streamed reply.

    Attributes
    ----------
    content_type
        Of the HTTP reply.
    frames
        One event each, ready to send.
    error
        Writes an error body as a frame of the same form.
    comment
        A frame that says nothing, None where the form has none.
    """

    content_type: str
    frames: list[bytes]
    error: Callable[[JSON], list[bytes]]
    comment: bytes | None


def dumps(value: JSON) -> bytes:
    """Return JSON of any value that came out of JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # Lone surrogates and integers beyond 64 bits are JSON too, but not to the fast writer.
        return json.dumps(value).encode()


def splitter(size: int, shuffled: random.Random | None) -> Split:
    """Return a cutter into pieces of ``size`` characters, or of 1 to ``size`` drawn from ``shuffled``."""

    def split(text: str) -> list[str]:
        pieces = []
        start = 0
        while start < len(text):
            end = start + (shuffled.randint(1, size) if shuffled else size)
            pieces.append(text[start:end])
            start = end
        return pieces

    return split


def data_event(value: JSON) -> bytes:
    """Return a server-sent event without a name."""
    return b"data: " + dumps(value) + b"\n\n"


def named_event(value: JSON) -> bytes:
    """Return a server-sent event that is named by its ``type``."""
    return f"event: {value['type']}\n".encode() + data_event(value)


def json_line(value: JSON) -> bytes:
    """Return one line of NDJSON."""
    return dumps(value) + b"\n"
