"""Putting the events of an Anthropic Messages stream together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolbench.adapters.shapes import object_at, objects_of, text_of
from toolbench.adapters.streams import EventAssembler
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_VISIBLE = ("text_delta", "input_json_delta")


class MessagesAssembler(EventAssembler):
    """Events to a message object. ``ping`` and unknown events carry nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one event."""
        kind = event.get("type")
        index = event.get("index")
        if kind == "message_start":
            self._message = object_at(event, "message")
        elif kind == "content_block_start" and isinstance(index, int):
            self._blocks[index] = object_at(event, "content_block")
            self.has_content = self.has_content or self._blocks[index].get("type") == "tool_use"
        elif kind == "content_block_delta" and isinstance(index, int):
            self._delta(index, object_at(event, "delta"))
        elif kind == "message_delta":
            self._message.update(object_at(event, "delta"))
            usage = {k: v for k, v in object_at(event, "usage").items() if v is not None}
            self._message["usage"] = {**object_at(self._message, "usage"), **usage}
        elif kind == "message_stop":
            self.ended = True

    def body(self) -> dict[str, Any]:
        """Return the message object.

        An input that is not one strict object stays the text it came as, for the argument parser to judge.
        """
        for index, text in self._inputs.items():
            if text:
                self._blocks[index]["input"] = _object_or_text(text)
        return {**self._message, "content": [block for _, block in sorted(self._blocks.items())]}

    def _delta(self, index: int, delta: Mapping[str, JSON]) -> None:
        kind = text_of(delta.get("type"))
        block = self._blocks.setdefault(index, {})
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + text_of(delta.get("partial_json"))
        elif kind == "citations_delta":
            block["citations"] = [*objects_of(block.get("citations")), object_at(delta, "citation")]
        elif kind in _TEXTS:
            key = _TEXTS[kind]
            block[key] = text_of(block.get(key)) + text_of(delta.get(key))
        self.has_content = self.has_content or kind in _VISIBLE


def _object_or_text(text: str) -> JSON:
    try:
        value = loads_strict(text)
    except StrictJSONError:
        return text
    return value if isinstance(value, dict) else text
