"""Anthropic Messages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolbench.adapters.base import ProviderAdapter
from toolbench.adapters.decide import ProposedCall, Reading
from toolbench.adapters.drafts import Choice, Draft
from toolbench.adapters.ids import call_ids, legal_id
from toolbench.adapters.profiles import Dialect
from toolbench.adapters.shapes import count_of, items_of, object_at, objects_of, text_of, total, word_of
from toolbench.adapters.streams import STREAM_WARNINGS, EventAssembler
from toolbench.adapters.wire import ERROR_PREFIX, Offer, Request, Results, Said, wire_names
from toolbench.adapters.wire import Messages as History
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import Usage

_MODES = {"auto": "auto", "none": "none", "required": "any", "named": "tool"}


class Messages(ProviderAdapter):
    """``POST /messages``. The system prompt leads the history and leaves it when a request is built."""

    protocol = "messages"
    unique_ids = True

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the key header."""
        return {"x-api-key": key}

    def append_user(self, messages: History, text: str) -> History:
        """Add a user message; behind tool results it becomes part of their message."""
        return _add_user(messages, [{"type": "text", "text": text}])

    def assistant(self, said: Said) -> History:
        """Return one assistant message of blocks."""
        blocks: list[JSON] = [{"type": "text", "text": said.text}] if said.text else []
        for call in said.calls:
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        return [{"role": "assistant", "content": blocks}]

    def append_response(self, messages: History, response: Mapping[str, Any]) -> History:
        """Add the content blocks as received, thinking and signatures included."""
        blocks = _blocks(response)
        uses = [index for index, block in enumerate(blocks) if block.get("type") == "tool_use"]
        ids = call_ids([blocks[index].get("id") for index in uses], _ids(messages), self.unique_ids)
        for index, (id_, _) in zip(uses, ids, strict=True):
            blocks[index] = {**blocks[index], "id": id_, "input": blocks[index].get("input") or {}}
        return [*messages, {"role": "assistant", "content": blocks}]

    def append_tool_results(self, messages: History, results: Results) -> History:
        """Add one user message that starts with all results, in call order."""
        blocks = []
        for call, result in results:
            block = {"type": "tool_result", "tool_use_id": call.id, "content": result.content}
            blocks.append({**block, "is_error": True} if result.is_error else block)
        return _add_user(messages, blocks)

    def build_request(self, model: ModelConfig, messages: History, offer: Offer) -> Request:
        """Return the request; every setting is noted as asked and as sent."""
        draft = Draft(model, wire_names(offer, self.legal_name))
        system, *history = messages
        draft.body["model"] = model.model
        if system["content"]:
            draft.body["system"] = system["content"]
        draft.body["messages"] = [_in_dialect(message, draft.dialect) for message in history]
        tools = draft.tools(offer)
        if tools:
            draft.body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.schema,
                    **({} if tool.strict is None else {"strict": tool.strict}),
                }
                for tool in tools
            ]
        draft.choose(offer, _choice)
        # The wire has the opposite switch, as part of any choice but none.
        possible = object_at(draft.body, "tool_choice").get("type", "none") != "none"
        draft.put_parallel(offer, opposite=True, possible=possible)
        draft.put_sampling()
        if model.settings.stream:
            draft.body["stream"] = True
        return draft.finish("/messages", model.settings.stream)

    def stream_assembler(self) -> MessagesAssembler:
        """Return an assembler of named events."""
        return MessagesAssembler()

    def usage(self, response: Mapping[str, Any]) -> Usage:
        """Return the tokens of a reply: input is new, written to the cache and read from it together."""
        usage = object_at(response, "usage")
        read = count_of(usage.get("cache_read_input_tokens"))
        written = count_of(usage.get("cache_creation_input_tokens"))
        return Usage(
            input=total(count_of(usage.get("input_tokens")), written, read),
            output=count_of(usage.get("output_tokens")),
            cached_input=read,
            reasoning=count_of(object_at(usage, "output_tokens_details").get("thinking_tokens")),
            cache_write=written,
        )

    def is_reply(self, body: Mapping[str, Any]) -> bool:
        """Whether there is a content."""
        return isinstance(body.get("content"), list | str)

    def read(self, response: Mapping[str, Any]) -> Reading:
        """Take the content blocks apart."""
        blocks = _blocks(response)
        stop = word_of(response.get("stop_reason"))
        details = object_at(response, "stop_details")
        category = text_of(details.get("category"))
        return Reading(
            text="\n".join(_texts(blocks)),
            calls=[
                ProposedCall(block.get("id"), block.get("name"), block.get("input"))
                for block in blocks
                if block.get("type") == "tool_use"
            ],
            finish=stop,
            finish_label="stop_reason",
            refusal=f"stop_reason {category}".strip() if stop == "refusal" else None,
            refusal_text=text_of(details.get("explanation")),
            missing=not self.is_reply(response),
            carries_objects=True,
            usage=self.usage(response),
            model=word_of(response.get("model")),
            warnings=[text_of(note) for note in items_of(response.get(STREAM_WARNINGS))],
        )

    def made_ids(self, body: Mapping[str, Any]) -> list[JSON]:
        """Return the ids of the ``tool_use`` blocks in the messages."""
        return _ids(objects_of(body.get("messages")))

    def limit(self, body: Mapping[str, Any]) -> JSON:
        """Return ``max_tokens``."""
        return body.get("max_tokens")


def _blocks(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = response.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects_of(content)


def _choice(choice: Choice) -> JSON:
    mode = {"type": _MODES[choice.mode]}
    return {**mode, "name": choice.name} if choice.mode == "named" else mode


def _add_user(messages: History, blocks: Sequence[JSON]) -> History:
    last = messages[-1]
    if last["role"] == "user":
        return [*messages[:-1], {"role": "user", "content": [*last["content"], *blocks]}]
    return [*messages, {"role": "user", "content": list(blocks)}]


def _in_dialect(message: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Return a message of the history as this server wants it replayed; blank texts are refused."""
    blocks = []
    for block in message["content"]:
        kind = block.get("type")
        key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(str(kind))
        if key:
            block = {**block, key: legal_id(str(block[key]), dialect.id_pattern)}
        if kind == "tool_result" and block.get("is_error") and not dialect.error_flag:
            block = {**block, "content": f"{ERROR_PREFIX}{block['content']}"}
        if kind != "text" or text_of(block.get("text")).strip():
            blocks.append(block)
    return {**message, "content": blocks}


def _ids(messages: Sequence[Mapping[str, Any]]) -> list[JSON]:
    return [
        block.get("id")
        for message in messages
        for block in objects_of(message.get("content"))
        if block.get("type") == "tool_use"
    ]


def _texts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the visible texts; blocks that touch are one text cut up for citations."""
    for kind, group in itertools.groupby(blocks, key=lambda block: block.get("type")):
        if kind == "text":
            yield "".join(text_of(block.get("text")) for block in group)


_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_VISIBLE = ("text_delta", "input_json_delta")


class MessagesAssembler(EventAssembler):
    """Events to a message object. ``ping`` and unknown events carry nothing.

    The end is ``message_stop``, or the reason to stop where a server leaves that event out.
    """

    carries = frozenset({"type"})

    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}

    def event(self, event: Mapping[str, JSON]) -> None:
        """Take one event."""
        kind = event.get("type")
        given = event.get("index")
        index = given if isinstance(given, int) else max(self._blocks, default=0)
        if kind == "message_start":
            self._message = {**object_at(event, "message")}
            self._blocks = dict(enumerate(objects_of(self._message.get("content"))))
        elif kind == "content_block_start":
            index = index if isinstance(given, int) else len(self._blocks)
            if self._blocks.get(index):
                self.warnings.append("block_index_used_twice")
                index = max(self._blocks) + 1
            self._blocks[index] = object_at(event, "content_block")
            self.has_content = self.has_content or self._blocks[index].get("type") == "tool_use"
        elif kind == "content_block_delta":
            self._delta(index, object_at(event, "delta"))
        elif kind == "message_delta":
            # A null later on takes nothing back.
            self._message.update({k: v for k, v in object_at(event, "delta").items() if v is not None})
            usage = {k: v for k, v in object_at(event, "usage").items() if v is not None}
            self._message["usage"] = {**object_at(self._message, "usage"), **usage}
            self.ended = self.ended or bool(self._message.get("stop_reason"))
        elif kind == "message_stop":
            self.ended = True

    def body(self) -> dict[str, Any]:
        """Return the message object.

        An input that is not one strict object stays the text it came as, for the argument parser to judge.
        """
        for index, text in self._inputs.items():
            if text:
                self._blocks[index]["input"] = _object_or_text(text)
        content = {"content": [block for _, block in sorted(self._blocks.items())]}
        return {**self._message, **(content if self._message or self._blocks else {})}

    def _delta(self, index: int, delta: Mapping[str, JSON]) -> None:
        kind = text_of(delta.get("type"))
        block = self._blocks.setdefault(index, {})
        if kind in _TEXTS and not block:
            block["type"] = kind.removesuffix("_delta").replace("signature", "thinking")
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
