"""Gemini generateContent: writing a reply, whole or streamed."""

from __future__ import annotations

from typing import Any

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.simulator.exchange import Conversation, Reply, Request, reply_tokens, tokens
from toolbench.simulator.generate_content import counted, signature
from toolbench.simulator.streaming import Frames, Split, data_event

Part = dict[str, Any]


def body(request: Request, conversation: Conversation, reply: Reply) -> Part:
    """Return the reply as one JSON body."""
    thoughts = [{"text": reply.reasoning, "thought": True}] if _shows_thoughts(request, reply) else []
    texts = [{"text": reply.text}] if reply.text else []
    calls, finish = _calls(request, conversation, reply)
    return _chunk(request, reply, [*thoughts, *texts, *calls], finish) | _usage(request, reply)


def frames(request: Request, conversation: Conversation, reply: Reply, split: Split) -> Frames:
    """Return the reply as chunks; every call is whole in its own chunk."""
    thoughts = split(reply.reasoning or "") if _shows_thoughts(request, reply) else []
    calls, finish = _calls(request, conversation, reply)
    parts: list[Part] = [{"text": piece, "thought": True} for piece in thoughts]
    parts += [{"text": piece} for piece in split(reply.text)]
    chunks = [_chunk(request, reply, [part], None) for part in [*parts, *calls]]
    chunks.append(_chunk(request, reply, [], finish) | _usage(request, reply))

    def error(failure: JSON) -> list[bytes]:
        return [data_event(failure)]

    return Frames("text/event-stream", [data_event(chunk) for chunk in chunks], error, b": keep-alive\n\n")


def count(request: Request) -> Part:
    """Return the tokens of a request, as its reply would tell them."""
    prompt = _prompt_tokens(counted(request.body))
    return {"totalTokens": prompt, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}]}


def _prompt_tokens(asked: Part) -> int:
    return tokens(str(asked["contents"]))


def _shows_thoughts(request: Request, reply: Reply) -> bool:
    config = request.body.get("generationConfig", {}).get("thinkingConfig", {})
    return reply.reasoning is not None and bool(config.get("includeThoughts"))


def _calls(request: Request, conversation: Conversation, reply: Reply) -> tuple[list[Part], str]:
    """Return the calls and the finish reason; one call that cannot be read loses all."""
    parts: list[Part] = []
    finish = "MAX_TOKENS" if reply.truncated else "STOP"
    for index, call in enumerate(reply.calls):
        try:
            arguments = loads_strict(call.arguments)
        except StrictJSONError:
            arguments = None
        if not isinstance(arguments, dict):
            return [], "MAX_TOKENS" if reply.truncated else "MALFORMED_FUNCTION_CALL"
        part: Part = {
            "functionCall": {"id": request.id(f"call {index}", 8), "name": call.name, "args": arguments}
        }
        if index == 0 and (conversation.thinking or request.model.needs_thought_signature):
            part["thoughtSignature"] = signature(request.model, call.name, arguments)
        parts.append(part)
    return parts, finish


def _chunk(request: Request, reply: Reply, parts: list[Part], finish: str | None) -> Part:
    chunk: Part = {"modelVersion": request.asked, "responseId": request.reply_id}
    if reply.refusal is not None:
        return chunk | {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    candidate: Part = {"index": 0, "content": {"role": "model", "parts": parts}}
    if not parts:
        candidate["content"].pop("parts")
    if finish is not None:
        candidate["finishReason"] = finish
    return chunk | {"candidates": [candidate]}


def _usage(request: Request, reply: Reply) -> Part:
    prompt, written, thought = _prompt_tokens(request.body), reply_tokens(reply), tokens(reply.reasoning)
    spent = {"promptTokenCount": prompt, "totalTokenCount": prompt + written + thought}
    if written:
        spent["candidatesTokenCount"] = written
    if thought:
        spent["thoughtsTokenCount"] = thought
    return {"usageMetadata": spent}
