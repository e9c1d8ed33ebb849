"""Chat Completions and its dialects: writing a reply, whole or streamed."""

from __future__ import annotations

from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.simulator.dialects import Flavour, dialects
from toolbench.simulator.exchange import Conversation, Reply, Request, reply_tokens, tokens
from toolbench.simulator.streaming import Frames, Split, data_event

CREATED = 1795000000
Body = dict[str, Any]


def body(request: Request, conversation: Conversation, reply: Reply) -> Body:
    """Return the reply as one JSON body."""
    dialect = dialects()[request.model.dialect]
    message: Body = {"role": "assistant", "content": _content(reply, dialect)}
    if dialect.refusal == "field":
        message["refusal"] = reply.refusal
    if dialect.reasoning_field and dialect.reasoning_field != "content_parts" and conversation.thinking:
        message[dialect.reasoning_field] = reply.reasoning
    if calls := _calls(request, reply, dialect, dialect.call_index):
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _finish(conversation, reply, dialect)}
    if dialect.strict == "openai":
        choice["logprobs"] = None
    return _envelope(request, dialect, "chat.completion", [choice]) | {
        "usage": usage(request, reply, dialect)
    }


def frames(request: Request, conversation: Conversation, reply: Reply, split: Split) -> Frames:
    """Return the reply as chunks in server-sent events."""
    dialect = dialects()[request.model.dialect]

    def chunk(delta: Body, finish: str | None = None) -> Body:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return _envelope(request, dialect, "chat.completion.chunk", choices)

    opening: Body = {"role": "assistant", "content": dialect.silent_content}
    if dialect.reasoning_must_return and reply.reasoning is not None:
        # Also an empty reasoning has to come back, so a stream must show that there is one.
        opening[str(dialect.reasoning_field)] = ""
    deltas = [opening, *_deltas(request, reply, dialect, split)]
    chunks = [chunk(delta) for delta in deltas]
    last = chunk({}, _finish(conversation, reply, dialect))
    wants_usage = bool((request.body.get("stream_options") or {}).get("include_usage"))
    spent = {"usage": usage(request, reply, dialect)}
    if dialect.usage_in_last_chunk:
        last |= spent
    chunks.append(last)
    if wants_usage and not dialect.usage_in_last_chunk:
        chunks.append(_envelope(request, dialect, "chat.completion.chunk", []) | spent)
    events = [data_event(value) for value in chunks] + [b"data: [DONE]\n\n"]
    if dialect.keep_alive:
        events.insert(0, f"{dialect.keep_alive}\n\n".encode())

    def error(failure: JSON) -> list[bytes]:
        # Ollama turns a failure into an empty chunk, and its stream ends there.
        return [data_event(chunk({}) if dialect.errors == "ollama_v1" else failure)]

    return Frames("text/event-stream", events, error, b": keep-alive\n\n")


def usage(request: Request, reply: Reply, dialect: Flavour) -> Body:
    """Return the usage; reasoning is part of the completion's tokens."""
    prompt, thought = tokens(str(request.body["messages"])), tokens(reply.reasoning)
    completion = reply_tokens(reply) + thought
    spent: Body = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    if dialect.cache_usage:
        spent |= {"prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": prompt}
    return spent


def _envelope(request: Request, dialect: Flavour, kind: str, choices: list[Body]) -> Body:
    wrapped: Body = {
        "id": f"chatcmpl-{request.reply_id}",
        "object": kind,
        "created": CREATED,
        "model": request.asked,
        "choices": choices,
    }
    if dialect.fingerprint:
        wrapped["system_fingerprint"] = dialect.fingerprint
    return wrapped


def _finish(conversation: Conversation, reply: Reply, dialect: Flavour) -> str:
    if reply.truncated:
        return "length"
    if reply.refusal is not None and dialect.refusal == "content_filter":
        return "content_filter"
    if reply.calls:
        return dialect.named_finish if conversation.choice.named else "tool_calls"
    return "stop"


def _text(reply: Reply, dialect: Flavour) -> str:
    return reply.text or (reply.refusal if dialect.refusal == "text" else None) or ""


def _content(reply: Reply, dialect: Flavour) -> JSON:
    text = _text(reply, dialect)
    if dialect.reasoning_field == "content_parts" and reply.reasoning is not None:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": reply.reasoning}]}
        return [thought, *([{"type": "text", "text": text}] if text else [])]
    silent = bool(reply.calls) or (reply.refusal is not None and dialect.refusal == "field")
    return text or (dialect.silent_content if silent else "")


def _calls(request: Request, reply: Reply, dialect: Flavour, indexed: bool) -> list[Body]:
    prefix, length = dialect.call_id["prefix"], dialect.call_id["length"]
    return [
        {
            **({"index": index} if indexed else {}),
            "id": prefix + request.id(f"call {index}", length),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for index, call in enumerate(reply.calls)
    ]


def _deltas(request: Request, reply: Reply, dialect: Flavour, split: Split) -> list[Body]:
    deltas: list[Body] = []
    if reply.reasoning is not None and dialect.reasoning_field == "content_parts":
        for piece in split(reply.reasoning):
            thought = [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]
            deltas.append({"content": thought})
    elif reply.reasoning is not None and dialect.reasoning_field:
        deltas += [{dialect.reasoning_field: piece} for piece in split(reply.reasoning)]
    deltas += [{"content": piece} for piece in split(_text(reply, dialect))]
    if dialect.refusal == "field" and reply.refusal is not None:
        deltas += [{"refusal": piece} for piece in split(reply.refusal)]
    for call in _calls(request, reply, dialect, indexed=True):
        if dialect.whole_calls:
            deltas.append({"tool_calls": [call]})
            continue
        arguments = call["function"]["arguments"]
        opened = {**call, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [opened]})
        deltas += [
            {"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]}
            for piece in split(arguments)
        ]
    return deltas
