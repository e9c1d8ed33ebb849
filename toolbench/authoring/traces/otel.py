"""OpenTelemetry spans of the GenAI conventions → exchanges.

Read are ``gen_ai.input.messages``, ``gen_ai.output.messages``, ``gen_ai.system_instructions``,
``gen_ai.tool.definitions``, usage, model and provider of spans that asked a model, and ``execute_tool``
spans. A span is what the Python SDK's exporter prints or a collector's file exporter writes (OTLP as JSON).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from toolbench.adapters import object_at, objects_of, text_of
from toolbench.authoring.traces.exchanges import Exchange
from toolbench.authoring.traces.histories import whole
from toolbench.authoring.traces.saved import UNKNOWN, Answered, Asked, Returned, Saved, Step, result_in
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict

MODEL_OPERATIONS = ("chat", "text_completion", "generate_content")
KEYS = ("toolbench.case_id", "case_id", "case.id")
"""Attributes of any span of a trace that join it with a case."""
USAGE: Mapping[str, str] = {
    "gen_ai.usage.input_tokens": "prompt_tokens",
    "gen_ai.usage.prompt_tokens": "prompt_tokens",
    "gen_ai.usage.output_tokens": "completion_tokens",
    "gen_ai.usage.completion_tokens": "completion_tokens",
}
"""Attribute → name of the same count in a reply; both conventions that there have been."""
_VALUES = ("stringValue", "boolValue", "doubleValue", "bytesValue")


@dataclass(frozen=True)
class Span:
    """What is read of a span; times in nanoseconds since 1970, 0 where unknown."""

    trace: str
    attributes: Mapping[str, JSON]
    start: int
    end: int
    failed: bool

    @property
    def operation(self) -> str:
        """What was done in it."""
        return text_of(self.attributes.get("gen_ai.operation.name"))


Executed = dict[str, dict[str, Span]]
"""Trace → call id → the span of ``execute_tool``."""


def is_spans(value: JSON) -> bool:
    """Whether a value is a span, or a document of spans."""
    return isinstance(value, dict) and (
        "resourceSpans" in value or (isinstance(value.get("context"), dict) and "attributes" in value)
    )


def exchanges_of(values: Sequence[JSON], where: str, key: str | None) -> tuple[list[Exchange], list[str]]:
    """Return the exchanges of spans in the order they began, and a remark for what was not read.

    Parameters
    ----------
    key
        Attribute that joins a trace with a case, instead of :data:`KEYS`.
    """
    spans = sorted((span for value in values for span in _spans(value)), key=lambda span: span.start)
    keys, tools = _keys(spans, key), _executed(spans)
    found: list[Exchange] = []
    silent = 0
    for number, span in enumerate(spans, 1):
        if span.operation not in MODEL_OPERATIONS:
            continue
        steps = _steps(span, tools)
        if steps is None:
            silent += 1
            continue
        found.append(_exchange(span, steps, f"{where}: span {number}", keys, tools))
    told = (
        [
            f"{where}: {silent} spans left out: they hold no messages; the instrumentation has to be told to "
            "capture content in spans (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)"
        ]
        if silent
        else []
    )
    return found, told


def _exchange(
    span: Span,
    read: tuple[str, list[Step]],
    where: str,
    keys: Mapping[str, str],
    tools: Executed,
) -> Exchange:
    attributes = span.attributes
    system, steps = read
    model = attributes.get("gen_ai.request.model") or attributes.get("gen_ai.response.model")
    provider = attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system")
    definitions = _parsed(attributes.get("gen_ai.tool.definitions"))
    saved = Saved(
        where=where,
        steps=steps,
        key=keys.get(span.trace),
        provider=text_of(provider) or UNKNOWN,
        model=text_of(model) or UNKNOWN,
        tools=definitions if isinstance(definitions, list) else None,
        system=system,
    )
    ran = [
        Returned(call, result_in(tool.attributes["gen_ai.tool.call.result"]), tool.failed)
        for call, tool in tools.get(span.trace, {}).items()
        if tool.start >= span.end and "gen_ai.tool.call.result" in tool.attributes
    ]
    scope = text_of(attributes.get("gen_ai.conversation.id")) or span.trace
    return Exchange(saved, scope, results=ran)


def _keys(spans: Sequence[Span], key: str | None) -> dict[str, str]:
    """Return trace → key, by the first span that has one."""
    found: dict[str, str] = {}
    for span in spans:
        for name in (key,) if key else KEYS:
            if isinstance(span.attributes.get(name), str | int):
                found.setdefault(span.trace, str(span.attributes[name]))
    return found


def _executed(spans: Sequence[Span]) -> Executed:
    """Return trace → call id → the span that carried the call out."""
    found: Executed = {}
    for span in spans:
        if span.operation == "execute_tool":
            found.setdefault(span.trace, {})[text_of(span.attributes.get("gen_ai.tool.call.id"))] = span
    return found


def _steps(span: Span, tools: Executed) -> tuple[str, list[Step]] | None:
    """Return the system prompt, and the history with the reply; ``None`` when there are no messages."""
    given, made = (
        objects_of(_parsed(span.attributes.get(f"gen_ai.{side}.messages"))) for side in ("input", "output")
    )
    if not given or not (made or span.failed):
        return None
    system = [_text(objects_of(_parsed(span.attributes.get("gen_ai.system_instructions"))))]
    steps: list[Step] = []
    for message in given:
        parts = objects_of(message.get("parts"))
        if message.get("role") in ("system", "developer"):
            system.append(_text(parts))
        elif message.get("role") == "assistant":
            steps.append(whole(_message(parts), "chat_completions"))
        else:
            steps += _said(parts, span.trace, tools)
    steps.append(_reply(span, made))
    return "\n\n".join(filter(None, system)), steps


def _said(parts: Sequence[Mapping[str, Any]], trace: str, tools: Executed) -> list[Step]:
    """Return what a user's or a tool's message says."""
    steps: list[Step] = []
    for part in parts:
        if part.get("type") == "tool_call_response":
            call = text_of(part.get("id"))
            ran = tools.get(trace, {}).get(call)
            content = part.get("response", part.get("result", ""))
            steps.append(Returned(call, result_in(content), ran.failed if ran else None))
        elif text_of(part.get("content")):
            steps.append(Asked(text_of(part["content"])))
    return steps


def _reply(span: Span, made: Sequence[Mapping[str, Any]]) -> Answered:
    """Return the span's reply: the first of its choices, or its error."""
    attributes = span.attributes
    body: dict[str, JSON]
    if made:
        reasons = attributes.get("gen_ai.response.finish_reasons")
        reason = made[0].get("finish_reason") or (
            reasons[0] if isinstance(reasons, list) and reasons else None
        )
        message = _message(objects_of(made[0].get("parts")))
        usage = {name: attributes[key] for key, name in USAGE.items() if key in attributes}
        body = {"choices": [{"message": message, "finish_reason": reason or "stop"}], "usage": usage}
        if isinstance(attributes.get("gen_ai.response.model"), str):
            body["model"] = attributes["gen_ai.response.model"]
    else:
        body = {"error": {"message": text_of(attributes.get("error.type")) or "the span ended with an error"}}
    began = datetime.fromtimestamp(span.start / 1e9, UTC).isoformat(timespec="milliseconds")
    took = round((span.end - span.start) / 1e6, 1) if 0 < span.start <= span.end else None
    request = {"model": attributes.get("gen_ai.request.model")}
    return Answered("chat_completions", body, request, began if span.start else "", took)


def _message(parts: Sequence[Mapping[str, Any]]) -> dict[str, JSON]:
    """Return an assistant's parts as a message of Chat Completions."""
    calls = [
        {
            "id": part.get("id"),
            "type": "function",
            "function": {"name": part.get("name"), "arguments": part.get("arguments")},
        }
        for part in parts
        if part.get("type") == "tool_call"
    ]
    message: dict[str, JSON] = {"role": "assistant", "content": _text(parts) or None}
    return {**message, "tool_calls": calls} if calls else message


def _text(parts: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(text_of(part.get("content")) for part in parts if part.get("type") == "text")


def _spans(value: JSON) -> Iterator[Span]:
    if not isinstance(value, dict):
        return
    for resource in objects_of(value.get("resourceSpans")):
        for scope in objects_of(resource.get("scopeSpans")):
            for span in objects_of(scope.get("spans")):
                status = object_at(span, "status").get("code")
                yield Span(
                    text_of(span.get("traceId")),
                    {
                        text_of(one.get("key")): _plain(one.get("value"))
                        for one in objects_of(span.get("attributes"))
                    },
                    _nanoseconds(span.get("startTimeUnixNano")),
                    _nanoseconds(span.get("endTimeUnixNano")),
                    status in (2, "STATUS_CODE_ERROR"),
                )
    if isinstance(value.get("context"), dict):
        yield Span(
            text_of(object_at(value, "context").get("trace_id")),
            object_at(value, "attributes"),
            _nanoseconds(value.get("start_time")),
            _nanoseconds(value.get("end_time")),
            object_at(value, "status").get("status_code") == "ERROR",
        )


def _nanoseconds(value: JSON) -> int:
    """Return a time as OTLP writes it (a number, often as a text) or as the SDK prints it (ISO 8601)."""
    text = str(value)
    if text.isdecimal() and len(text) < 20:
        return int(text)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1e9)
    except ValueError:
        return 0


def _plain(value: JSON) -> JSON:
    """Return an OTLP value as plain JSON."""
    if not isinstance(value, dict):
        return None
    for name in _VALUES:
        if name in value:
            return value[name]
    if "intValue" in value:
        return int(value["intValue"]) if str(value["intValue"]).lstrip("-").isdecimal() else None
    if "arrayValue" in value:
        return [_plain(one) for one in objects_of(object_at(value, "arrayValue").get("values"))]
    listed = objects_of(object_at(value, "kvlistValue").get("values"))
    return {text_of(one.get("key")): _plain(one.get("value")) for one in listed}


def _parsed(value: JSON) -> JSON:
    """Return an attribute that may be JSON in a text."""
    if not isinstance(value, str):
        return value
    try:
        return loads_strict(value)
    except StrictJSONError:
        return None
