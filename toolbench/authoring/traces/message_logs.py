"""Objects with messages, and objects with a request and its response, in any of the five wire shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.adapters import ADAPTERS, assemble, object_at, text_of
from toolbench.authoring.traces.exchanges import Exchange
from toolbench.authoring.traces.histories import history_of, protocol_of
from toolbench.authoring.traces.saved import UNKNOWN, Answered, Saved
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.errors import SuiteError, TransportError

REQUEST = ("request", "request_body", "req", "body")
RESPONSE = ("response", "response_body", "res", "completion")
KEYS = ("case_id", "key", "metadata.case_id", "custom_id", "id")
"""Where the key is looked for, in this order; a path has dots."""
HISTORY = ("messages", "input", "contents")
SCOPES = ("conversation_id", "session_id", "thread_id", "trace_id")
PROVIDERS: Mapping[str, str] = {
    "chat_completions": UNKNOWN,
    "responses": "openai",
    "messages": "anthropic",
    "generate_content": "google",
    "ollama_chat": "ollama",
}
"""Who a conversation is most likely from, where it does not say."""


def is_exchange(value: JSON) -> bool:
    """Whether an object holds a response to a request."""
    return isinstance(value, dict) and any(key in value for key in RESPONSE)


def is_log(value: JSON) -> bool:
    """Whether a value is a history: a list of messages, or an object that has one."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, dict) and "role" in one for one in value)
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in HISTORY)


def log_of(value: JSON, where: str, key: str | None) -> Saved:
    """Return the conversation of a history, whose assistant's messages are the replies.

    Raises
    ------
    SuiteError
        When it is in no known shape.
    """
    record = {"messages": value} if isinstance(value, list) else value
    protocol = protocol_of(record)
    if protocol is None:
        raise SuiteError("its messages are in no shape that is known here")
    system, steps = history_of(protocol, record)
    return Saved(where, steps, key_in(record, key), *_names(record, {}, protocol), _tools(record), system)


def exchange_of(value: Mapping[str, Any], where: str, key: str | None) -> Exchange:
    """Return a request with its response.

    Raises
    ------
    SuiteError
        When there is no request with it, or both are in no known shape.
    """
    request = _body(value, REQUEST)
    if not isinstance(request, dict):
        raise SuiteError("a response without its request: nobody knows what was asked")
    response = _body(value, RESPONSE)
    protocol = protocol_of(request, response)
    if protocol is None:
        raise SuiteError("request and response are in no shape that is known here")
    if isinstance(response, str):
        response = _streamed(response, protocol)
    if not isinstance(response, dict):
        raise SuiteError("its response is no object")
    system, steps = history_of(protocol, request)
    took = next(
        (value[name] for name in ("latency_ms", "duration_ms") if isinstance(value.get(name), int | float)),
        None,
    )
    began = text_of(value.get("started_at") or value.get("timestamp"))
    late = float(took) if took is not None and 0 <= took < 1e12 else None
    reply = Answered(protocol, response, request, began, late)
    names = _names(
        {**request, **{k: v for k, v in value.items() if k in ("provider", "model")}}, response, protocol
    )
    saved = Saved(where, [*steps, reply], key_in(value, key), *names, _tools(request), system)
    scope = next((text_of(value[name]) for name in SCOPES if name in value), "")
    return Exchange(saved, scope, text_of(response.get("id")), text_of(request.get("previous_response_id")))


def key_in(record: Mapping[str, Any], path: str | None) -> str | None:
    """Return what joins a record with a case: what is at a dotted path, or at the first of the usual ones."""
    for one in (path,) if path else KEYS:
        *folders, name = one.split(".")
        found = object_at(record, *folders).get(name)
        if isinstance(found, str | int) and not isinstance(found, bool):
            return str(found)
    return None


def _names(request: Mapping[str, Any], response: Mapping[str, Any], protocol: str) -> tuple[str, str]:
    model = request.get("model") or response.get("model") or response.get("modelVersion")
    return text_of(request.get("provider")) or PROVIDERS[protocol], text_of(model) or UNKNOWN


def _tools(request: Mapping[str, Any]) -> Sequence[JSON] | None:
    """Return the tools that were on offer; the oldest shape calls them functions."""
    listed = request.get("tools", request.get("functions"))
    return listed if isinstance(listed, list) else None


def _body(value: Mapping[str, Any], names: Sequence[str]) -> JSON:
    """Return a body, also from an object around it with status and headers, or from its text."""
    found = next((value[name] for name in names if name in value), None)
    if isinstance(found, dict) and isinstance(found.get("body"), dict | str):
        found = found["body"]
    if isinstance(found, str):
        try:
            return loads_strict(found)
        except StrictJSONError:
            return found
    return found


def _streamed(text: str, protocol: str) -> JSON:
    """Return the body behind a stream that was kept as a text."""
    try:
        return assemble(ADAPTERS[protocol].stream_assembler(), text)
    except TransportError as fault:
        return {"error": {"message": fault.message, "code": fault.code}}
