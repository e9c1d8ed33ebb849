"""Anthropic Messages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolbench.adapters.base import Messages as History
from toolbench.adapters.base import Offer, Request, wire_names
from toolbench.adapters.decide import ProposedCall, Reading, decide
from toolbench.adapters.drafts import Choice, Draft
from toolbench.adapters.ids import call_ids, legal_id
from toolbench.adapters.messages_stream import MessagesAssembler
from toolbench.adapters.profiles import Dialect
from toolbench.adapters.shapes import count_of, object_at, objects_of, text_of, total, word_of
from toolbench.adapters.wire import ERROR_PREFIX, Results, Said, WireAdapter
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import ModelDecision, Usage

_MODES = {"auto": "auto", "none": "none", "required": "any", "named": "tool"}


class Messages(WireAdapter):
    """``POST /messages``. The system prompt leads the history and leaves it when a request is built."""

    protocol = "messages"

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
        ids = call_ids([blocks[index].get("id") for index in uses], _call_count(messages))
        for index, (id_, _) in zip(uses, ids, strict=True):
            blocks[index] = {**blocks[index], "id": id_}
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
        if tools:
            parallel = model.settings.parallel_tool_calls
            # The wire has the opposite switch, as part of any choice but none.
            possible = object_at(draft.body, "tool_choice").get("type", "none") != "none"
            draft.put("parallel_tool_calls", parallel, spelled=not parallel, possible=possible)
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
        )

    def parse_decision(self, response: Mapping[str, Any], request: Request, offer: Offer) -> ModelDecision:
        """Return the decision in the content blocks."""
        blocks = _blocks(response)
        stop = word_of(response.get("stop_reason"))
        details = object_at(response, "stop_details")
        category = text_of(details.get("category"))
        reading = Reading(
            text="\n".join(_texts(blocks)),
            calls=[
                ProposedCall(block.get("id"), block.get("name"), block.get("input"))
                for block in blocks
                if block.get("type") == "tool_use"
            ],
            finish=stop,
            cut=stop in ("max_tokens", "model_context_window_exceeded"),
            says_call=stop == "tool_use",
            refusal=f"stop_reason {category}".strip() if stop == "refusal" else None,
            refusal_text=text_of(details.get("explanation")),
            fault="continuation" if stop == "pause_turn" else None,
            missing=not isinstance(response.get("content"), list | str),
            carries_objects=True,
            usage=self.usage(response),
            model=word_of(response.get("model")),
        )
        before = _call_count(objects_of(request.body.get("messages")))
        return decide(reading, request, offer, before=before, limit=request.body.get("max_tokens"))


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
    """Return a message of the history as this server wants it replayed."""
    blocks = []
    for block in message["content"]:
        kind = block.get("type")
        key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(str(kind))
        if key:
            block = {**block, key: legal_id(str(block[key]), dialect.id_pattern)}
        if kind == "tool_result" and block.get("is_error") and not dialect.error_flag:
            block = {**block, "content": f"{ERROR_PREFIX}{block['content']}"}
        blocks.append(block)
    return {**message, "content": blocks}


def _call_count(messages: Sequence[Mapping[str, Any]]) -> int:
    return sum(block.get("type") == "tool_use" for m in messages for block in objects_of(m.get("content")))


def _texts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the visible texts; blocks that touch are one text cut up for citations."""
    for kind, group in itertools.groupby(blocks, key=lambda block: block.get("type")):
        if kind == "text":
            yield "".join(text_of(block.get("text")) for block in group)
