"""From the neutral parts of a reply to a decision: one order of questions for every protocol."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolbench.adapters.base import Offer, Request
from toolbench.adapters.ids import call_ids
from toolbench.adapters.leaks import find_leaked_calls
from toolbench.adapters.schemas import without_added_nulls
from toolbench.adapters.shapes import object_at, objects_of, text_of
from toolbench.adapters.strict_arguments import parse_arguments
from toolbench.domain.canonical import JSON
from toolbench.domain.decision import ModelDecision, ToolCall, Usage

_THINK = re.compile(r"\A\s*<think>(.*?)</think>\s*", re.DOTALL)


@dataclass(frozen=True)
class ProposedCall:
    """One call as found on the wire, unchecked."""

    id: JSON
    name: JSON
    arguments: JSON


@dataclass
class Reading:
    """A reply taken apart.

    Attributes
    ----------
    cut
        The server says that the reply ran into a limit.
    says_call
        The finish reason claims a call.
    refusal
        Where a refusal was signalled, ``None`` when it was not.
    refusal_text
        What was said instead, when it is not among the visible text.
    fault
        Why a reply without calls is no answer even if it has text.
    missing
        There is nothing where the message should be.
    carries_objects
        The wire carries arguments as an object, so their text is not the model's own.
    """

    text: str = ""
    calls: Sequence[ProposedCall] = ()
    finish: str | None = None
    cut: bool = False
    says_call: bool = False
    refusal: str | None = None
    refusal_text: str = ""
    fault: str | None = None
    missing: bool = False
    carries_objects: bool = False
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    warnings: list[str] = field(default_factory=list)


def decide(reading: Reading, request: Request, offer: Offer, *, before: int, limit: JSON) -> ModelDecision:
    """Return the decision; the first matching row decides.

    ====================================================  ===========================
    nothing where the message should be                   invalid: no_choices
    a refusal is signalled                                refusal; calls not executed
    calls, and the reply was cut off                      invalid: truncated
    calls, and arguments that are not one strict object   invalid: bad_arguments
    calls                                                 tool_call
    the server reports a broken call or a pause           invalid: its reason
    the finish reason claims a call                       invalid: finish_without_call
    no text                                               invalid: truncated or empty
    text                                                  text
    ====================================================  ===========================

    Parameters
    ----------
    before
        Calls in the history of the request, for numbering ids that are missing.
    limit
        The token limit that was sent, if any.
    """
    text, warnings = _visible(reading.text, reading.warnings)
    calls = _calls(reading, request, offer, before, warnings)
    common: dict[str, Any] = {
        "text": text,
        "finish_reason": reading.finish,
        "usage": reading.usage,
        "returned_model": reading.model,
        "warnings": warnings,
    }
    if reading.missing:
        return ModelDecision("invalid", reason="no_choices", **common)
    if reading.refusal is not None:
        common["text"] = text or reading.refusal_text
        return ModelDecision("refusal", calls=calls, reason=reading.refusal, **common)
    used = reading.usage.output
    full = isinstance(limit, int) and used is not None and used >= limit
    if calls:
        return _decide_calls(calls, reading.cut, full, common)
    leaked, marked = find_leaked_calls(text, request.tool_names)
    if leaked or marked:
        warnings.append("leaked_tool_call")
    common["leaked_calls"] = leaked
    if reading.fault or reading.says_call:
        return ModelDecision("invalid", reason=reading.fault or "finish_without_call", **common)
    if not text.strip():
        return ModelDecision("invalid", reason="truncated" if reading.cut or full else "empty", **common)
    if reading.cut:
        warnings.append("truncated_text")
    return ModelDecision("text", **common)


def _decide_calls(calls: list[ToolCall], cut: bool, full: bool, common: dict[str, Any]) -> ModelDecision:
    broken = [call for call in calls if call.error]
    # A reply that ran into the limit is never executed: a call that happens to parse may not be the last one.
    # Without the server saying so, only an argument text that stops early shows the cut.
    if cut or (full and any(call.error == "invalid_json" for call in broken)):
        shown = [
            replace(call, error="truncated", arguments=None) if call.error == "invalid_json" else call
            for call in calls
        ]
        return ModelDecision("invalid", calls=shown, reason="truncated", **common)
    if broken:
        return ModelDecision("invalid", calls=calls, reason="bad_arguments", **common)
    return ModelDecision("tool_call", calls=calls, **common)


def _visible(text: str, warnings: Sequence[str]) -> tuple[str, list[str]]:
    """Take a leading think block off the text, as servers with a reasoning parser do."""
    think = _THINK.match(text)
    if think:
        return text[think.end() :], [*warnings, "reasoning_in_content"]
    return text, list(warnings)


def _calls(
    reading: Reading, request: Request, offer: Offer, before: int, warnings: list[str]
) -> list[ToolCall]:
    tools = {offer.names.get(tool.name, tool.name): tool for tool in offer.tools}
    sent = _sent_schemas(request.body)
    calls = []
    ids = call_ids([call.id for call in reading.calls], before)
    for proposed, (id_, synthesized) in zip(reading.calls, ids, strict=True):
        wire_name = text_of(proposed.name)
        name = request.tool_names.get(wire_name, wire_name)
        tool = tools.get(name)
        call = parse_arguments(
            proposed.arguments,
            call_id=id_,
            name=name,
            takes_nothing=tool is not None and not tool.required,
            id_synthesized=synthesized,
            object_wire=reading.carries_objects,
        )
        if call.arguments and tool is not None and wire_name in sent:
            stripped = without_added_nulls(call.arguments, tool.parameters, sent[wire_name])
            if stripped != call.arguments:
                call = replace(call, arguments=stripped)
                warnings.append("null_for_absent")
        calls.append(call)
    if any(call.id_synthesized for call in calls):
        warnings.append("call_id_synthesized")
    return calls


def _sent_schemas(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the schemas that went out in strict form, by wire name: the function-style wires have them."""
    functions = [tool.get("function") or tool for tool in objects_of(body.get("tools"))]
    return {
        text_of(function.get("name")): object_at(function, "parameters")
        for function in functions
        if isinstance(function, dict) and function.get("strict") is True
    }
