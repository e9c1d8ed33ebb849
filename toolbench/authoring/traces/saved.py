"""One conversation as it was kept somewhere, free of the shape it was kept in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolbench.domain.canonical import JSON

UNKNOWN = "unknown"
"""Provider or model of a conversation that does not tell."""


@dataclass(frozen=True)
class Asked:
    """What the user said."""

    text: str


@dataclass(frozen=True)
class Answered:
    """One reply of the model, as a body of the protocol; what was not kept is empty or ``None``.

    ``request`` is the body that was sent. Times are in milliseconds.
    """

    protocol: str
    body: Mapping[str, Any]
    request: Mapping[str, Any] = field(default_factory=dict)
    started_at: str = ""
    latency_ms: float | None = None


@dataclass(frozen=True)
class Returned:
    """What a tool answered; ``is_error`` is ``None`` where the shape has no place for that."""

    call_id: str
    content: str
    is_error: bool | None = None


Step = Asked | Answered | Returned


@dataclass(frozen=True)
class Saved:
    """A conversation.

    Attributes
    ----------
    where
        File and place in it.
    key
        What joins it with a case, where it has such a thing.
    tools
        Tools on offer, in the shape they were sent in; ``None`` where the file does not tell.
    """

    where: str
    steps: Sequence[Step]
    key: str | None = None
    provider: str = UNKNOWN
    model: str = UNKNOWN
    tools: Sequence[JSON] | None = None
    system: str = ""

    @property
    def answers(self) -> list[Answered]:
        """The replies of the model."""
        return [step for step in self.steps if isinstance(step, Answered)]


def text_in(content: JSON) -> str:
    """Return the text of a message's content: a string, or parts that have a text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_in, content)))
    if isinstance(content, dict):
        said = content.get("text", content.get("content"))
        return said if isinstance(said, str) else ""
    return ""


def result_in(content: JSON) -> str:
    """Return a tool's result as a text: as it is, the text of its parts, else as JSON."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    if parts and all(isinstance(part, dict) and text_in(part) for part in parts):
        return text_in(content)
    return json.dumps(content, ensure_ascii=False)
