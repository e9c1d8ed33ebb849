"""From the neutral parts of a reply to a decision: one order of questions for every protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolbench.adapters.finish import End
from toolbench.adapters.ids import call_ids
from toolbench.adapters.leaks import find_leaked_calls
from toolbench.adapters.reasoning import without_reasoning
from toolbench.adapters.schemas import without_added_nulls
from toolbench.adapters.shapes import object_at, objects_of, text_of
from toolbench.adapters.strict_arguments import parse_arguments
from toolbench.adapters.wire import Offer, Request
from toolbench.domain.canonical import JSON
from toolbench.domain.decision import ModelDecision, ToolCall, Usage
from toolbench.errors import TransportError


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
    finish
        The server's word for the end of the reply; ``finish_label`` says which field it is from.
    cut
        A part of the reply says that it is incomplete.
    refusal
        Where a refusal was signalled other than by the finish reason.
    refusal_text
        What was said instead, when it is not among the visible text.
    unparsed
        Entries among the calls that are no calls, as JSON texts.
    missing
        There is nothing where the message should be.
    carries_objects
        The wire carries arguments as an object, so their text is not the model's own.
    """

    text: str = ""
    calls: Sequence[ProposedCall] = ()
    finish: str | None = None
    finish_label: str = ""
    cut: bool = False
    refusal: str | None = None
    refusal_text: str = ""
    unparsed: Sequence[str] = ()
    missing: bool = False
    carries_objects: bool = False
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether the model has said nothing at all."""
        return not (self.text.strip() or self.calls or self.unparsed or self.refusal)


def decide(
    reading: Reading,
    end: End,
    request: Request,
    offer: Offer,
    *,
    taken: Sequence[JSON],
    unique: bool,
    limit: JSON,
) -> ModelDecision:
    """Return the decision; the first matching row decides.

    ====================================================  ===========================
    nothing where the message should be                   invalid: no_choices
    a refusal is signalled                                refusal; calls not executed
    calls, and the reply was cut off                      invalid: truncated
    an entry among the calls is none                      invalid: unparsed_call
    calls, and arguments that are not one strict object   invalid: bad_arguments
    calls                                                 tool_call
    the server reports a broken call or a pause           invalid: its reason
    the finish reason claims a call                       invalid: finish_without_call
    no text                                               invalid: truncated or empty
    text                                                  text
    ====================================================  ===========================

    Parameters
    ----------
    end
        What the finish reason means, see :mod:`toolbench.adapters.finish`.
    taken, unique
        Ids of the calls in the history of the request, and whether none may be used again.
    limit
        The token limit that was sent, if any.
    """
    text, reasoned = without_reasoning(reading.text)
    warnings = [*reading.warnings, *(["reasoning_in_content"] if reasoned else [])]
    if end == "unknown":
        warnings.append("unknown_finish_reason")
    ids = call_ids([call.id for call in reading.calls], taken, unique)
    calls = _calls(reading, request, offer, ids, warnings)
    common: dict[str, Any] = {
        "text": text,
        "finish_reason": reading.finish,
        "usage": reading.usage,
        "returned_model": reading.model,
        "warnings": warnings,
    }
    if reading.missing:
        return ModelDecision("invalid", reason="no_choices", **common)
    refusal = reading.refusal
    if end == "refusal":
        refusal = refusal or f"{reading.finish_label} {reading.finish}".strip()
    if refusal is not None:
        common["text"] = text or reading.refusal_text
        return ModelDecision("refusal", calls=calls, reason=refusal, **common)
    used = reading.usage.output
    full = isinstance(limit, int) and used is not None and used >= limit
    cut = reading.cut or end == "cut"
    if reading.unparsed and not cut:
        common["text"] = "\n".join([*([text] if text else []), *reading.unparsed])
        return ModelDecision("invalid", calls=calls, reason="unparsed_call", **common)
    if calls:
        return _decide_calls(calls, cut, full, common)
    leaked, marked = find_leaked_calls(text, request.tool_names)
    if leaked or marked:
        warnings.append("leaked_tool_call")
    common["leaked_calls"] = leaked
    broken = "finish_without_call" if end == "call" else end.removeprefix("invalid:")
    if broken != end:
        return ModelDecision("invalid", reason=broken, **common)
    if not text.strip():
        return ModelDecision("invalid", reason="truncated" if cut or full else "empty", **common)
    if cut:
        warnings.append("truncated_text")
    return ModelDecision("text", **common)


def reported_decision(fault: TransportError, reading: Reading, request: Request) -> ModelDecision:
    """Return the decision in a turn that the server reports as an error: the model's, with what it wrote."""
    text = "\n".join(part for part in (reading.text, fault.generated) if part)
    refused = fault.decides == "refusal"
    leaked, _ = find_leaked_calls(text, request.tool_names)
    return ModelDecision(
        "refusal" if refused else "invalid",
        text=text,
        reason=fault.code,
        finish_reason=reading.finish,
        usage=reading.usage,
        returned_model=reading.model,
        warnings=[*reading.warnings, "reported_as_error"],
        leaked_calls=[] if refused else leaked,
    )


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


def _calls(
    reading: Reading, request: Request, offer: Offer, ids: Sequence[tuple[str, bool]], warnings: list[str]
) -> list[ToolCall]:
    tools = {offer.names.get(tool.name, tool.name): tool for tool in offer.tools}
    sent = _sent_schemas(request.body)
    calls = []
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
