"""OpenAI Responses: writing a reply, whole or as named events."""

from __future__ import annotations

from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.simulator.exchange import Conversation, Reply, Request, reply_tokens, seal, tokens
from toolbench.simulator.responses import ID_PREFIX, custom_names
from toolbench.simulator.streaming import Frames, Split, named_event

Item = dict[str, Any]
CREATED = 1795000000

EMPTY: dict[str, JSON] = {
    "error": None,
    "incomplete_details": None,
    "max_output_tokens": None,
    "metadata": {},
    "previous_response_id": None,
    "temperature": 1.0,
    "top_p": 1.0,
    "truncation": "disabled",
    "text": {"format": {"type": "text"}},
}
"""What a response says about itself when nothing else was asked."""


TOOL_DEFAULTS: dict[str, Item] = {
    # A tool that does not say whether it is strict is made strict.
    "function": {"parameters": None, "strict": True},
    "custom": {"format": {"type": "text"}},
}
"""Type of a tool -> what the response says about it where the request is silent."""


def body(request: Request, conversation: Conversation, reply: Reply) -> Item:
    """Return the reply as one JSON body."""
    return _response(request, _items(request, reply), reply)


def count(request: Request) -> Item:
    """Return the tokens of a request, as its reply would tell them."""
    return {"object": "response.input_tokens", "input_tokens": _prompt_tokens(request.body)}


def _prompt_tokens(asked: Item) -> int:
    return tokens(str(asked["input"]), asked.get("instructions"))


def _response(request: Request, items: list[Item], reply: Reply) -> Item:
    asked, thought = request.body, tokens(reply.reasoning)
    prompt, output = _prompt_tokens(asked), reply_tokens(reply) + thought
    return {
        "id": f"resp_{request.reply_id}",
        "object": "response",
        "created_at": CREATED,
        "status": "incomplete" if reply.truncated else "completed",
        **EMPTY,
        **({"incomplete_details": {"reason": "max_output_tokens"}} if reply.truncated else {}),
        "instructions": asked.get("instructions"),
        "model": request.asked,
        "output": items,
        "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
        "reasoning": {"effort": (asked.get("reasoning") or {}).get("effort"), "summary": None},
        "store": asked.get("store") is not False,
        "tool_choice": asked.get("tool_choice", "auto"),
        "tools": [{**TOOL_DEFAULTS[tool["type"]], **tool} for tool in asked.get("tools", ())],
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": prompt + output,
        },
    }


def _items(request: Request, reply: Reply) -> list[Item]:
    stem = request.id("item")
    status = "incomplete" if reply.truncated else "completed"
    items: list[Item] = []
    if reply.reasoning is not None:
        identity = f"rs_{stem}"
        items.append(
            {
                "type": "reasoning",
                "id": identity,
                "summary": [],
                "encrypted_content": seal(request.model, identity),
            }
        )
    parts: list[Item] = []
    if reply.text:
        parts.append({"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []})
    if reply.refusal is not None:
        parts.append({"type": "refusal", "refusal": reply.refusal})
    if parts:
        message = {
            "type": "message",
            "id": f"msg_{stem}",
            "role": "assistant",
            "status": status,
            "content": parts,
        }
        if reply.reasoning is not None:
            message["phase"] = "commentary" if reply.calls else "final_answer"
        items.append(message)
    ending = "after_rs_" if reply.reasoning is not None else ""
    custom = custom_names(request.body)
    for index, call in enumerate(reply.calls):
        kind = "custom_tool_call" if call.name in custom else "function_call"
        identity = f"{ID_PREFIX[kind]}_{stem}_{ending}{index}"
        ids = {"id": identity, "call_id": f"call_{request.id(f'call {index}')}"}
        if call.name in custom:
            items.append({"type": kind, **ids, "name": call.name, "input": call.arguments})
            continue
        written = {"name": call.name, "arguments": call.arguments, "status": status}
        items.append({"type": kind, **ids, **written})
    return items


def frames(request: Request, conversation: Conversation, reply: Reply, split: Split) -> Frames:
    """Return the reply as named events."""
    items = _items(request, reply)
    final = _response(request, items, reply)
    begun = final | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events: list[Item] = [
        {"type": f"response.{step}", "response": begun} for step in ("created", "in_progress")
    ]
    for index, item in enumerate(items):
        events += _item_events(index, item, split)
    events.append({"type": f"response.{final['status']}", "response": final})
    numbered = [event | {"sequence_number": number} for number, event in enumerate(events)]

    def error(failure: JSON) -> list[bytes]:
        told = failure["error"]
        event = {"type": "error", "sequence_number": len(events)}
        return [named_event(event | {key: told[key] for key in ("code", "message", "param")})]

    return Frames("text/event-stream", [named_event(event) for event in numbered], error, b": keep-alive\n\n")


def _item_events(index: int, item: Item, split: Split) -> list[Item]:
    place = {"output_index": index, "item_id": item["id"]}
    opened = {key: value for key, value in item.items() if key != "encrypted_content"}
    events: list[Item] = []
    if item["type"] == "function_call":
        opened |= {"arguments": "", "status": "in_progress"}
        kind, done = (
            "response.function_call_arguments",
            {"name": item["name"], "arguments": item["arguments"]},
        )
        events += [{"type": f"{kind}.delta", **place, "delta": piece} for piece in split(item["arguments"])]
        events.append({"type": f"{kind}.done", **place, **done})
    elif item["type"] == "custom_tool_call":
        opened |= {"input": ""}
        kind = "response.custom_tool_call_input"
        events += [{"type": f"{kind}.delta", **place, "delta": piece} for piece in split(item["input"])]
        events.append({"type": f"{kind}.done", **place, "input": item["input"]})
    elif item["type"] == "message":
        opened |= {"content": [], "status": "in_progress"}
        for number, part in enumerate(item["content"]):
            events += _part_events({**place, "content_index": number}, part, split)
    return [
        {"type": "response.output_item.added", "output_index": index, "item": opened},
        *events,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _part_events(place: Item, part: Item, split: Split) -> list[Item]:
    key = "text" if part["type"] == "output_text" else "refusal"
    kind = f"response.{part['type']}"
    extra: Item = {"logprobs": []} if key == "text" else {}
    return [
        {"type": "response.content_part.added", **place, "part": part | {key: ""}},
        *({"type": f"{kind}.delta", **place, "delta": piece, **extra} for piece in split(part[key])),
        {"type": f"{kind}.done", **place, key: part[key], **extra},
        {"type": "response.content_part.done", **place, "part": part},
    ]
