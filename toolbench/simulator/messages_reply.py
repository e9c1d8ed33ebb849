"""Anthropic Messages: writing a reply, whole or as named events."""

from __future__ import annotations

from typing import Any

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.simulator.exchange import Conversation, Reply, Request, reply_tokens, tokens
from toolbench.simulator.messages import signature
from toolbench.simulator.streaming import Frames, Split, named_event

Block = dict[str, Any]


def body(request: Request, conversation: Conversation, reply: Reply) -> Block:
    """Return the reply as one JSON body.

    The reply holds arguments as an object. What the model wrote and no reader understands becomes ``{}``.
    """
    blocks = _blocks(request, reply)
    for block, call in zip(blocks[len(blocks) - len(reply.calls) :], reply.calls, strict=True):
        block["input"] = _object(call.arguments)
    return _message(request, reply, blocks)


def frames(request: Request, conversation: Conversation, reply: Reply, split: Split) -> Frames:
    """Return the reply as named events."""
    final = _message(request, reply, [])
    started = final | {"stop_reason": None, "usage": final["usage"] | {"output_tokens": 1}}
    started.pop("stop_details", None)
    events: list[Block] = [{"type": "message_start", "message": started}, {"type": "ping"}]
    blocks = _blocks(request, reply)
    written = [None] * (len(blocks) - len(reply.calls)) + [call.arguments for call in reply.calls]
    for index, (block, arguments) in enumerate(zip(blocks, written, strict=True)):
        opened, deltas = _deltas(block, arguments, split)
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ended = {key: final[key] for key in ("stop_reason", "stop_sequence", "stop_details") if key in final}
    events.append({"type": "message_delta", "delta": ended, "usage": final["usage"]})
    events.append({"type": "message_stop"})

    def error(failure: JSON) -> list[bytes]:
        return [named_event(failure)]

    return Frames(
        "text/event-stream",
        [named_event(event) for event in events],
        error,
        named_event({"type": "ping"}),
    )


def count(request: Request) -> Block:
    """Return the tokens of a request, as its reply would tell them."""
    return {"input_tokens": _prompt_tokens(request)}


def _prompt_tokens(request: Request) -> int:
    return tokens(str(request.body["messages"]))


def _blocks(request: Request, reply: Reply) -> list[Block]:
    """Return the content with the input of every call still empty."""
    blocks: list[Block] = []
    if reply.reasoning is not None:
        proof = signature(request, len(request.body["messages"]), reply.reasoning)
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": proof})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for index, call in enumerate(reply.calls):
        identity = f"toolu_{request.id(f'call {index}')}"
        blocks.append({"type": "tool_use", "id": identity, "name": call.name, "input": {}})
    return blocks


def _message(request: Request, reply: Reply, blocks: list[Block]) -> Block:
    thought = tokens(reply.reasoning)
    message: Block = {
        "id": f"msg_{request.reply_id}",
        "type": "message",
        "role": "assistant",
        "model": request.asked,
        "content": blocks,
        "stop_reason": _stop_reason(reply),
        "stop_sequence": None,
        "usage": {
            "input_tokens": _prompt_tokens(request),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": reply_tokens(reply) + thought,
            "output_tokens_details": {"thinking_tokens": thought},
            "service_tier": "standard",
        },
    }
    if reply.refusal is not None:
        message["stop_details"] = {
            "type": "refusal",
            "category": "general_harms",
            "explanation": reply.refusal,
        }
    return message


def _stop_reason(reply: Reply) -> str:
    if reply.truncated:
        return "max_tokens"
    if reply.refusal is not None:
        return "refusal"
    return "tool_use" if reply.calls else "end_turn"


def _object(arguments: str) -> JSON:
    try:
        value = loads_strict(arguments)
    except StrictJSONError:
        return {}
    return value if isinstance(value, dict) else {}


def _deltas(block: Block, arguments: str | None, split: Split) -> tuple[Block, list[Block]]:
    """Return a block as it opens, and what fills it."""
    if arguments is not None:
        pieces = ["", *(split(arguments) if arguments != "{}" else [])]
        return block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in split(block["thinking"])]
        return block | {"thinking": "", "signature": ""}, [
            *deltas,
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    return block | {"text": ""}, [{"type": "text_delta", "text": piece} for piece in split(block["text"])]
