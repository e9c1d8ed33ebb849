"""Logs of Inspect, as its JSON format has them: one conversation a sample and epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolbench.adapters import object_at, objects_of, text_of
from toolbench.authoring.traces.histories import whole
from toolbench.authoring.traces.message_logs import key_in
from toolbench.authoring.traces.saved import (
    UNKNOWN,
    Answered,
    Asked,
    Returned,
    Saved,
    Step,
    text_in,
)
from toolbench.domain.canonical import JSON

ATTACHED = "attachment://"
"""How a long text is written that stands at the sample's ``attachments``."""


def is_inspect(value: JSON) -> bool:
    """Whether a value is a log of Inspect."""
    return isinstance(value, dict) and isinstance(value.get("eval"), dict) and "samples" in value


def talks_of(log: Mapping[str, Any], where: str, key: str | None) -> Iterator[Saved]:
    """Yield the conversation of every sample; its ``id`` is the key."""
    provider, slash, model = text_of(object_at(log, "eval").get("model")).partition("/")
    for number, sample in enumerate(objects_of(log.get("samples")), 1):
        attachments = object_at(sample, "attachments")
        system: list[str] = []
        steps = list(_steps(objects_of(sample.get("messages")), system, attachments))
        asked = [event for event in objects_of(sample.get("events")) if event.get("event") == "model"]
        yield Saved(
            where=f"{where}: sample {number}",
            steps=_timed(steps, asked),
            key=key_in(sample, key) if key else str(sample.get("id", number)),
            provider=provider if slash else UNKNOWN,
            model=(model if slash else provider) or UNKNOWN,
            tools=_tools(asked),
            system="\n\n".join(filter(None, system)),
        )


def _steps(
    messages: Sequence[Mapping[str, Any]], system: list[str], attachments: Mapping[str, Any]
) -> Iterator[Step]:
    for message in messages:
        role, text = message.get("role"), _said(message.get("content"), attachments)
        if role == "system":
            system.append(text)
        elif role == "user":
            yield Asked(text)
        elif role == "tool":
            failed = bool(message.get("error"))
            text = text or text_of(object_at(message, "error").get("message"))
            yield Returned(text_of(message.get("tool_call_id")), text, failed)
        elif role == "assistant":
            calls = [_call(call) for call in objects_of(message.get("tool_calls"))]
            yield whole(
                {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})},
                "chat_completions",
            )


def _said(content: JSON, attachments: Mapping[str, Any]) -> str:
    """Return the visible text of a message; what it thought is none."""
    visible = content if isinstance(content, str) else _texts(content)
    text = text_in(visible)
    if text.startswith(ATTACHED):
        return text_of(attachments.get(text.removeprefix(ATTACHED))) or text
    return text


def _texts(content: JSON) -> list[JSON]:
    return [part for part in objects_of(content) if part.get("type", "text") == "text"]


def _call(call: Mapping[str, Any]) -> dict[str, JSON]:
    """Return a call as Chat Completions has it; one that could not be parsed keeps the text it was."""
    arguments = call.get("arguments")
    function = {"name": call.get("function"), "arguments": arguments}
    return {"id": call.get("id"), "type": "function", "function": function}


def _timed(steps: Sequence[Step], asked: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Give every reply the time and the usage of its request, where each has one."""
    answers = [step for step in steps if isinstance(step, Answered)]
    if len(asked) != len(answers):
        return list(steps)
    events = iter(asked)
    return [_of_event(step, next(events)) if isinstance(step, Answered) else step for step in steps]


def _of_event(step: Answered, event: Mapping[str, Any]) -> Answered:
    output = object_at(event, "output")
    usage = object_at(output, "usage")
    counts = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
    took = output.get("time", event.get("working_time"))
    late = round(took * 1000, 1) if isinstance(took, int | float) and 0 <= took < 1e9 else None
    reason = text_of(object_at(output, "choices", 0).get("stop_reason"))
    choice = dict(step.body["choices"][0])
    if reason in _FINISH:
        choice["finish_reason"] = _FINISH[reason]
    body = {"choices": [choice], "usage": counts, "model": output.get("model")}
    return Answered(step.protocol, body, step.request, text_of(event.get("timestamp")), late)


_FINISH: Mapping[str, str] = {
    "stop": "stop", "tool_calls": "tool_calls", "max_tokens": "length", "model_length": "length",
    "content_filter": "content_filter",
}  # fmt: skip
"""Inspect's reasons to stop → those of Chat Completions; its "unknown" says nothing."""


def _tools(asked: Sequence[Mapping[str, Any]]) -> Sequence[JSON] | None:
    """Return the tools of the first request that had any."""
    return next(
        (event["tools"] for event in asked if isinstance(event.get("tools"), list) and event["tools"]), None
    )
