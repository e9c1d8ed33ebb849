"""Short ways to a model, an offer, a reply and a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.adapters import adapter_for
from toolbench.adapters.wire import Offer, Request
from toolbench.domain.config import ModelConfig, Settings
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ModelDecision, ToolCall
from toolbench.domain.record import ToolResult

PROTOCOLS = ("chat_completions", "responses", "messages", "ollama_chat", "generate_content")
OBJECT_WIRES = ("messages", "ollama_chat", "generate_content")


def tool(name: str, parameters: Mapping[str, Any] | None = None, description: str = "Does it.") -> ToolSpec:
    schema = parameters or {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    return ToolSpec(name, {"": description}, schema)


NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
LOOK, STOP = tool("look"), tool("stop", NOTHING)


def offer(*tools: ToolSpec, choice: str = "auto") -> Offer:
    chosen = tools or (LOOK, STOP)
    return Offer(chosen, "en", {t.name: t.name for t in chosen}, choice)


def model(protocol: str, name: str = "m-1", **options: Any) -> ModelConfig:
    """Return a model; settings are given by name beside the fields of ModelConfig."""
    known = ("profile", "capabilities", "extra_body")
    settings = {key: value for key, value in options.items() if key not in known}
    rest = {key: value for key, value in options.items() if key in known}
    return ModelConfig("p", name, protocol, "http://x/v1", settings=Settings(**settings), **rest)


def ask(
    protocol: str,
    what: Offer | None = None,
    history: Sequence[Mapping[str, Any]] = ({"role": "user", "content": "Hi"},),
    **options: Any,
) -> Request:
    """Build the request for a canonical history."""
    adapter, what = adapter_for(protocol), what or offer()
    return adapter.build_request(model(protocol, **options), adapter.start("Be brief.", history, what), what)


def read(protocol: str, body: Mapping[str, Any], what: Offer | None = None, **options: Any) -> ModelDecision:
    """Return the decision in a reply."""
    what = what or offer()
    return adapter_for(protocol).parse_decision(body, ask(protocol, what, **options), what)


def chat(message: Mapping[str, Any], finish: str | None = "stop", **top: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, **message},
        "finish_reason": finish,
    }
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice], **top}


def chat_call(arguments: Any, name: str = "look", **call: Any) -> dict[str, Any]:
    return {"id": "call_a", "type": "function", "function": {"name": name, "arguments": arguments}, **call}


def chat_calls(*calls: Mapping[str, Any], finish: str = "tool_calls", **top: Any) -> dict[str, Any]:
    return chat({"tool_calls": list(calls)}, finish, **top)


def reply(protocol: str, text: str = "", calls: Sequence[tuple[str | None, str, Any]] = ()) -> dict[str, Any]:
    """Return a plain reply of a protocol: a text and calls ``(id, wire name, argument object)``."""
    import json

    if protocol == "chat_completions":
        made = [chat_call(json.dumps(args), name, id=id_) for id_, name, args in calls]
        return chat({"content": text or None, **({"tool_calls": made} if made else {})})
    if protocol == "responses":
        output: list[Any] = []
        if text:
            output.append(
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            )
        output += [
            {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(args)}
            for id_, name, args in calls
        ]
        return {"object": "response", "status": "completed", "model": "m-1", "output": output}
    if protocol == "messages":
        blocks: list[Any] = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": id_, "name": n, "input": args} for id_, n, args in calls]
        return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "end_turn"}
    if protocol == "ollama_chat":
        made = [
            {**({"id": id_} if id_ else {}), "function": {"name": n, "arguments": args}}
            for id_, n, args in calls
        ]
        message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
        return {"model": "m-1", "message": message, "done": True, "done_reason": "stop"}
    parts: list[Any] = [{"text": text}] if text else []
    for id_, name, args in calls:
        parts.append({"functionCall": {**({"id": id_} if id_ else {}), "name": name, "args": args}})
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}


def sse(*events: Any, done: bool = True) -> str:
    import json

    blocks = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(blocks) + ("data: [DONE]\n\n" if done else "")


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **top: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": dict(delta), "finish_reason": finish}]
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m-1", "choices": choices, **top}


def ok(content: str = "fine") -> ToolResult:
    return ToolResult(content)


def failed(content: str = "no such city") -> ToolResult:
    return ToolResult(content, is_error=True)


def with_results(
    protocol: str,
    body: Mapping[str, Any],
    results: Sequence[ToolResult],
    what: Offer | None = None,
    **options: Any,
) -> tuple[Request, Sequence[ToolCall]]:
    """Play one turn with calls and return the second request and the calls."""
    what = what or offer()
    adapter = adapter_for(protocol)
    player = model(protocol, **options)
    history = adapter.start("Be brief.", [{"role": "user", "content": "Hi"}], what)
    first = adapter.build_request(player, history, what)
    calls = adapter.parse_decision(body, first, what).calls
    history = adapter.append_response(history, body)
    history = adapter.append_tool_results(history, list(zip(calls, results, strict=True)))
    return adapter.build_request(player, history, what), calls
