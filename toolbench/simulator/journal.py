"""The last requests that the simulator received, without anybody's keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from toolbench.domain.canonical import JSON

KEPT_HEADERS = frozenset(
    {"accept", "anthropic-beta", "anthropic-version", "content-type", "user-agent", "x-simulator-fault"}
)
"""A list of what is kept, because a list of secret headers is never complete."""

KEPT_BYTES = 64 << 10


@dataclass
class Entry:
    """One request.

    Attributes
    ----------
    model
        As asked for.
    body
        The parsed body; None when it is no JSON object or larger than 64 KiB.
    status
        Of the reply; None when the connection was torn down.
    fault
        Name of the injected fault, ``ok`` for none.
    refusal
        Why the simulator refused it, None when it did not.
    """

    number: int
    protocol: str
    path: str
    headers: dict[str, str]
    model: str = ""
    stream: bool = False
    body: JSON = None
    status: int | None = None
    fault: str = "ok"
    refusal: str | None = None


class Journal:
    """A bounded list of entries, safe to read from another thread."""

    def __init__(self, limit: int) -> None:
        self._entries: deque[Entry] = deque(maxlen=limit)
        self.count = 0

    def open(self, protocol: str, path: str, headers: Mapping[str, str]) -> Entry:
        """Add an entry, which its request fills in as it goes."""
        self.count += 1
        kept = {name: value for name, value in headers.items() if name in KEPT_HEADERS}
        entry = Entry(self.count, protocol, path, kept)
        self._entries.append(entry)
        return entry

    def rows(self) -> list[dict[str, Any]]:
        """Return a copy of every entry, oldest first."""
        return [asdict(entry) for entry in tuple(self._entries)]

    def clear(self) -> None:
        """Forget every entry; numbers go on."""
        self._entries.clear()


def without_keys(text: str, keys: set[str]) -> str:
    """Return ``text`` with every key blotted out."""
    for key in keys:
        text = text.replace(key, "[key]")
    return text
