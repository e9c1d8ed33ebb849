"""Ollama's native chat: writing a reply, whole or as lines of JSON."""

from __future__ import annotations

from typing import Any

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.simulator.exchange import (
    Call,
    Conversation,
    Reply,
    Request,
    reply_tokens,
    tokens,
)
from toolbench.simulator.failures import Failure
from toolbench.simulator.streaming import Frames, Split, json_line

Body = dict[str, Any]
CREATED = "2026-11-30T00:00:00.000000Z"


def body(request: Request, conversation: Conversation, reply: Reply) -> Body:
    """Return the reply as one JSON body."""
    text, calls = _parsed(conversation, reply)
    message: Body = {"role": "assistant", "content": text}
    if reply.reasoning is not None:
        message["thinking"] = reply.reasoning
    if calls:
        message["tool_calls"] = [_call(request, *call) for call in enumerate(calls)]
    return _envelope(request, message) | _ending(request, reply)


def frames(request: Request, conversation: Conversation, reply: Reply, split: Split) -> Frames:
    """Return the reply as lines of JSON; every call is whole in its own line."""
    text, calls = _parsed(conversation, reply)
    messages: list[Body] = [{"content": "", "thinking": piece} for piece in split(reply.reasoning or "")]
    messages += [{"content": piece} for piece in split(text)]
    messages += [{"content": "", "tool_calls": [_call(request, *call)]} for call in enumerate(calls)]
    lines = [_envelope(request, {"role": "assistant", **message}) | {"done": False} for message in messages]
    last = _envelope(request, {"role": "assistant", "content": ""}) | _ending(request, reply)

    def error(failure: JSON) -> list[bytes]:
        return [json_line(failure)]

    return Frames("application/x-ndjson", [json_line(line) for line in [*lines, last]], error, None)


def _parsed(conversation: Conversation, reply: Reply) -> tuple[str, list[tuple[Call, JSON]]]:
    """Return text and calls as this server's parser makes them of what the model wrote.

    Raises
    ------
    Failure
        500 with the model's raw text, when its arguments are not JSON.
    """
    text, calls = reply.text or reply.refusal or "", []
    offered = [tool.name for tool in conversation.tools]
    for call in reply.calls:
        if call.name not in offered:
            # The parser knows the offered tools only: an invented one stays text.
            text += f'{{"name": "{call.name}", "arguments": {call.arguments}}}'
            continue
        try:
            arguments = loads_strict(call.arguments)
        except StrictJSONError as error:
            raise Failure(500, f"error parsing tool call: raw='{call.arguments}', err={error}") from None
        if not isinstance(arguments, dict):
            raise Failure(500, f"error parsing tool call: raw='{call.arguments}', err=not an object")
        calls.append((call, arguments))
    return text, calls


def _call(request: Request, index: int, call: tuple[Call, JSON]) -> Body:
    written, arguments = call
    return {
        "id": f"call_{request.id(f'call {index}', 8).lower()}",
        "function": {"index": index, "name": written.name, "arguments": arguments},
    }


def _envelope(request: Request, message: Body) -> Body:
    return {"model": request.asked, "created_at": CREATED, "message": message}


def _ending(request: Request, reply: Reply) -> Body:
    return {
        "done": True,
        "done_reason": "length" if reply.truncated else "stop",
        "total_duration": 5_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": tokens(str(request.body.get("messages"))),
        "prompt_eval_duration": 1_000_000,
        "eval_count": reply_tokens(reply) + tokens(reply.reasoning),
        "eval_duration": 3_000_000,
    }
