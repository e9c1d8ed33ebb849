"""A second, independent way from a reply to its stream: what the assemblers have to undo.

A reply is written as the body a server would send whole and as the events it would send piece by piece, with
every freedom servers take.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", "a\u2028b", "c\u0085d", "line\r\nline", "данные: [DONE]"]
)
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | TEXT
ARGUMENTS = st.dictionaries(TEXT, SCALARS | st.lists(SCALARS, max_size=2), max_size=3)


@dataclass(frozen=True)
class Drawn:
    """A reply as the body sent whole, and as the lines of its stream."""

    body: dict[str, Any]
    stream: bytes


@dataclass(frozen=True)
class Said:
    text: str
    calls: list[tuple[str, str, dict[str, Any]]]


SAID = st.builds(
    Said,
    TEXT,
    st.lists(st.tuples(st.just(""), st.sampled_from(["look", "stop", "x"]), ARGUMENTS), max_size=3).map(
        lambda calls: [(f"id_{n}", name, arguments) for n, (_, name, arguments) in enumerate(calls)]
    ),
)
Draw = Callable[[st.SearchStrategy[Any]], Any]


def cut(draw: Draw, text: str, least: int = 0) -> list[str]:
    """Cut a text into pieces, empty ones included."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=least, max_size=3)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def sse(draw: Draw, events: list[Any], names: bool = False, done: bool = False) -> bytes:
    """Write server-sent events with either line end, comments and blanks in between."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    noise = draw(st.lists(st.sampled_from([": keep-alive", "", ": PROCESSING"]), max_size=3))
    lines: list[str] = []
    for number, event in enumerate(events):
        if number < len(noise):
            lines += [noise[number], ""]
        lines += [f"event: {event['type']}"] if names else []
        text = json.dumps(event, ensure_ascii=draw(st.booleans()))
        lines += [f"data:{draw(st.sampled_from(['', ' ']))}{text}", ""]
    if done:
        lines += ["data: [DONE]", ""]
    return end.join([*lines, ""]).encode()


@st.composite
def chat(draw: Draw) -> Drawn:
    said: Said = draw(SAID)
    finish = draw(st.sampled_from(["stop", "tool_calls", "length"]))
    texts = [json.dumps(arguments) for _, _, arguments in said.calls]
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": text}}
            for (id_, name, _), text in zip(said.calls, texts, strict=True)
        ]
    top = {"id": "c1", "created": 1, "model": "m-1"}
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    body = {
        **top,
        "usage": usage,
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }
    deltas: list[Any] = [{"role": "assistant", "content": None}]
    deltas += [{"content": piece} for piece in (cut(draw, said.text) if said.text else [])]
    deltas += _call_fragments(draw, said, texts)
    chunks: list[Any] = [
        {
            **top,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": d, "finish_reason": None}],
        }
        for d in deltas
    ]
    chunks.append({**top, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({**top, "choices": [], "usage": usage})
    return Drawn(body, sse(draw, chunks, done=draw(st.booleans())))


def _call_fragments(draw: Draw, said: Said, texts: list[str]) -> list[Any]:
    numbering = draw(st.sampled_from(["right", "zero", "none", "from three"]))
    later_id = draw(st.sampled_from([None, "", "null", "same", "absent"]))
    repeat_name = draw(st.booleans())
    per_call: list[list[Any]] = []
    for number, ((id_, name, _), text) in enumerate(zip(said.calls, texts, strict=True)):
        index = {"right": number, "zero": 0, "none": None, "from three": number + 3}[numbering]
        fragments = []
        for position, piece in enumerate(cut(draw, text)):
            function: dict[str, Any] = {"arguments": piece or draw(st.sampled_from(["", None]))}
            fragment: dict[str, Any] = {"function": function}
            # Without index and id a name means a new call, so a server of that kind cannot repeat it.
            if position == 0 or (repeat_name and not (numbering == "none" and later_id != "same")):
                function["name"] = name
            if position == 0 or later_id == "same":
                fragment["id"] = id_
            elif later_id != "absent":
                fragment["id"] = later_id
            fragments.append(fragment if index is None else {"index": index, **fragment})
        per_call.append(fragments)
    if numbering in ("right", "from three") and draw(st.booleans()):
        order = [number for number, fragments in enumerate(per_call) for _ in fragments]
        order = draw(st.permutations(order))
        firsts = sorted(range(len(per_call)), key=order.index)
        # Calls begin in their own order, whatever is interleaved after.
        mapped = {old: new for new, old in enumerate(firsts)}
        return [{"tool_calls": [per_call[mapped[n]].pop(0)]} for n in order if per_call[mapped[n]]] + [
            {"tool_calls": [fragment]} for fragments in per_call for fragment in fragments
        ]
    return [{"tool_calls": [fragment]} for fragments in per_call for fragment in fragments]


@st.composite
def responses(draw: Draw) -> Drawn:
    said: Said = draw(SAID)
    items: list[Any] = [{"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "e"}]
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        items.append(
            {"type": "message", "id": "m_0", "role": "assistant", "status": "completed", "content": [part]}
        )
    for id_, name, arguments in said.calls:
        text = json.dumps(arguments)
        call = {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": name, "arguments": text}
        items.append({**call, "status": "completed"})
    status = draw(st.sampled_from(["completed", "incomplete"]))
    body = {
        "id": "r_1",
        "object": "response",
        "status": status,
        "error": None,
        "model": "m-1",
        "output": items,
    }
    events: list[Any] = [
        {"type": "response.created", "response": {**body, "status": "in_progress", "output": []}}
    ]
    for number, item in enumerate(items):
        events.append(
            {"type": "response.output_item.added", "output_index": number, "item": {"type": item["type"]}}
        )
        deltas = cut(draw, item.get("arguments", ""))
        events += [
            {"type": "response.function_call_arguments.delta", "output_index": number, "delta": piece}
            for piece in (deltas if item["type"] == "function_call" else [])
        ]
        events.append({"type": "response.output_item.done", "output_index": number, "item": item})
    last = {**body, "output": items if draw(st.booleans()) else []}
    events.append({"type": f"response.{status}", "response": last})
    events = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return Drawn(body, sse(draw, events, names=True))


@st.composite
def messages(draw: Draw) -> Drawn:
    said: Said = draw(SAID)
    thinking = draw(TEXT)
    blocks: list[Any] = [{"type": "thinking", "thinking": thinking, "signature": "sig"}]
    blocks += [{"type": "text", "text": said.text}] if said.text else []
    blocks += [{"type": "tool_use", "id": i, "name": n, "input": arguments} for i, n, arguments in said.calls]
    stop = draw(st.sampled_from(["end_turn", "tool_use", "max_tokens"]))
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    start = {**body, "content": [], "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1}}
    events: list[Any] = [{"type": "message_start", "message": start}]
    for number, block in enumerate(blocks):
        opened = {
            "thinking": {"type": "thinking", "thinking": "", "signature": ""},
            "text": {"type": "text", "text": ""},
            "tool_use": {**block, "input": {}},
        }[block["type"]]
        events.append({"type": "content_block_start", "index": number, "content_block": opened})
        deltas: list[Any] = []
        if block["type"] == "thinking":
            deltas += [{"type": "thinking_delta", "thinking": piece} for piece in cut(draw, thinking)]
            deltas.append({"type": "signature_delta", "signature": "sig"})
        elif block["type"] == "text":
            deltas += [{"type": "text_delta", "text": piece} for piece in cut(draw, said.text)]
        else:
            text = json.dumps(block["input"]) if block["input"] or draw(st.booleans()) else ""
            deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in cut(draw, text)]
        events += [{"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas]
        events += [{"type": "ping"}, {"type": "content_block_stop", "index": number}]
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 4}})
    events.append({"type": "message_stop"})
    return Drawn(body, sse(draw, events, names=True))


@st.composite
def ollama(draw: Draw) -> Drawn:
    said: Said = draw(SAID)
    calls = [
        {"id": id_, "function": {"index": number, "name": name, "arguments": arguments}}
        for number, (id_, name, arguments) in enumerate(said.calls)
    ]
    message = {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})}
    end = {"done": True, "done_reason": draw(st.sampled_from(["stop", "length"])), "eval_count": 4}
    body = {"model": "m-1", "message": message, **end}
    lines: list[Any] = [
        {"model": "m-1", "message": {"role": "assistant", "content": piece}, "done": False}
        for piece in cut(draw, said.text)
    ]
    lines += [
        {"model": "m-1", "message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False}
        for call in calls
    ]
    lines.append({"model": "m-1", "message": {"role": "assistant", "content": ""}, **end})
    text = "".join(json.dumps(line, ensure_ascii=draw(st.booleans())) + "\n" for line in lines)
    return Drawn(body, text.encode())


@st.composite
def gemini(draw: Draw) -> Drawn:
    said: Said = draw(SAID)
    thought = draw(TEXT)
    parts: list[Any] = [{"text": thought, "thought": True}] if thought else []
    parts += [{"text": said.text}] if said.text else []
    for number, (id_, name, arguments) in enumerate(said.calls):
        signature = {"thoughtSignature": "sig"} if number == 0 else {}
        parts.append({"functionCall": {"id": id_, "name": name, "args": arguments}, **signature})
    finish = draw(st.sampled_from(["STOP", "MAX_TOKENS"]))
    usage = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}, "modelVersion": "m-1"}
    content = {"role": "model", "parts": parts}
    body = {"candidates": [{"index": 0, "content": content, "finishReason": finish}], **usage}
    pieces: list[Any] = []
    for part in parts:
        if "text" in part:
            pieces += [{**part, "text": piece} for piece in cut(draw, part["text"])]
        else:
            pieces.append(part)
    events: list[Any] = [
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [p]}}], "modelVersion": "m-1"}
        for p in pieces
    ]
    last = {"index": 0, "content": {"role": "model", "parts": []}, "finishReason": finish}
    events.append({"candidates": [last], **usage})
    return Drawn(body, sse(draw, events))


REPLIES: dict[str, st.SearchStrategy[Drawn]] = {
    "chat_completions": chat(),
    "responses": responses(),
    "messages": messages(),
    "ollama_chat": ollama(),
    "generate_content": gemini(),
}
