"""The history of a request in any of the five wire shapes → what was said, answered and returned in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolbench.adapters import items_of, object_at, objects_of, text_of
from toolbench.authoring.traces.saved import Answered, Asked, Returned, Step, result_in, text_in
from toolbench.domain.canonical import JSON

Body = Mapping[str, Any]


def protocol_of(request: Body, response: JSON = None) -> str | None:
    """Return the protocol that a request and its response are in, ``None`` for no known one."""
    reply = response if isinstance(response, Mapping) else {}
    if "choices" in reply:
        return "chat_completions"
    if isinstance(reply.get("output"), list) or isinstance(request.get("input"), str | list):
        return "responses"
    if "candidates" in reply or "contents" in request:
        return "generate_content"
    if isinstance(reply.get("message"), dict) and "done" in reply:
        return "ollama_chat"
    if not isinstance(request.get("messages"), list):
        return "messages" if isinstance(reply.get("content"), list) and reply.get("role") else None
    # A system prompt beside the messages, schemas of that name and blocks of calls are Anthropic's alone.
    blocks = [
        block.get("type")
        for message in objects_of(request["messages"])
        for block in objects_of(message.get("content"))
    ]
    apart = {"tool_use", "tool_result"} & set(map(str, blocks)) or "system" in request
    schemas = any("input_schema" in tool for tool in objects_of(request.get("tools")))
    return "messages" if apart or schemas or isinstance(reply.get("content"), list) else "chat_completions"


def history_of(protocol: str, request: Body) -> tuple[str, list[Step]]:
    """Return the system prompt and the steps of a request's history."""
    system: list[str] = []
    steps = list(_READERS[protocol](request, system))
    return "\n\n".join(filter(None, system)), steps


def whole(message: Body, protocol: str) -> Answered:
    """Return an assistant's message of a history of messages as the reply that it was."""
    calls = message.get("tool_calls") or message.get("function_call")
    if protocol == "ollama_chat":
        return Answered(protocol, {"message": message, "done": True, "done_reason": "stop"})
    finish = message.get("finish_reason") or ("tool_calls" if calls else "stop")
    return Answered(protocol, {"choices": [{"message": message, "finish_reason": finish}]})


def _messages(protocol: str) -> Callable[[Body, list[str]], Iterator[Step]]:
    def read(request: Body, system: list[str]) -> Iterator[Step]:
        for message in objects_of(request.get("messages")):
            role = message.get("role")
            if role in ("system", "developer"):
                system.append(text_in(message.get("content")))
            elif role in ("user", "human"):
                yield Asked(text_in(message.get("content")))
            elif role in ("assistant", "model", "ai"):
                yield whole(message, protocol)
            elif role in ("tool", "function"):
                name = message.get("tool_call_id") or message.get("tool_name") or message.get("name")
                yield Returned(text_of(name), result_in(message.get("content")))

    return read


def _blocks(request: Body, system: list[str]) -> Iterator[Step]:
    system.append(text_in(request.get("system")))
    for message in objects_of(request.get("messages")):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects_of(content)
        if message.get("role") == "assistant":
            called = any(block.get("type") == "tool_use" for block in blocks)
            stop = "tool_use" if called else "end_turn"
            yield Answered("messages", {"role": "assistant", "content": blocks, "stop_reason": stop})
            continue
        if message.get("role") == "system":
            system.append(text_in(content))
            continue
        for block in blocks:
            if block.get("type") == "tool_result":
                said = result_in(block.get("content", ""))
                yield Returned(text_of(block.get("tool_use_id")), said, block.get("is_error") is True)
            elif block.get("type") == "text":
                yield Asked(text_of(block.get("text")))


def _items(request: Body, system: list[str]) -> Iterator[Step]:
    system.append(text_in(request.get("instructions")))
    given = request.get("input")
    if isinstance(given, str):
        yield Asked(given)
    output: list[JSON] = []
    for item in objects_of(given):
        role, kind = item.get("role"), text_of(item.get("type"))
        if role == "assistant" and isinstance(item.get("content"), str):
            item = {**item, "type": "message", "content": [{"type": "output_text", "text": item["content"]}]}
        if role == "assistant" or kind in ("function_call", "custom_tool_call", "reasoning"):
            output.append(item)
            continue
        if output:
            yield Answered("responses", {"output": output, "status": "completed"})
            output = []
        if role in ("system", "developer"):
            system.append(text_in(item.get("content")))
        elif role == "user":
            yield Asked(text_in(item.get("content")))
        elif kind.endswith("_output"):
            yield Returned(text_of(item.get("call_id")), result_in(item.get("output")))
    if output:
        yield Answered("responses", {"output": output, "status": "completed"})


def _contents(request: Body, system: list[str]) -> Iterator[Step]:
    instruction = object_at(request, "systemInstruction") or object_at(request, "system_instruction")
    system.append(text_in(instruction.get("parts")))
    for content in objects_of(request.get("contents")):
        if content.get("role") == "model":
            reply = {"content": content, "finishReason": "STOP"}
            yield Answered("generate_content", {"candidates": [reply]})
            continue
        for part in items_of(content.get("parts")):
            returned = object_at(part, "functionResponse") or object_at(part, "function_response")
            if returned:
                said = returned.get("response")
                failed = isinstance(said, dict) and "error" in said
                yield Returned(text_of(returned.get("id") or returned.get("name")), result_in(said), failed)
            elif text_in(part):
                yield Asked(text_in(part))


_READERS: Mapping[str, Callable[[Body, list[str]], Iterator[Step]]] = {
    "chat_completions": _messages("chat_completions"),
    "ollama_chat": _messages("ollama_chat"),
    "messages": _blocks,
    "responses": _items,
    "generate_content": _contents,
}
