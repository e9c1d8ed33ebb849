"""The one strict reader of tool-call arguments, shared by every protocol. It never repairs anything."""

from __future__ import annotations

import json
from dataclasses import replace

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict, too_deep
from toolbench.domain.decision import ToolCall


def parse_arguments(
    raw: JSON,
    *,
    call_id: str,
    name: str,
    takes_nothing: bool = False,
    id_synthesized: bool = False,
    object_wire: bool = False,
) -> ToolCall:
    """Turn the argument text of a call into a :class:`ToolCall`, with a code for every way it can be wrong.

    Parameters
    ----------
    raw
        The text exactly as received, or an object on wires that carry one (it is then re-serialised and
        flagged). ``None`` counts as an empty text.
    takes_nothing
        Whether the tool has no required argument: an empty text then means ``{}``.
    object_wire
        Whether the wire carries an object, so that a text that holds one was encoded once too often.
    """

    reserialised = not isinstance(raw, str | None)
    deep = too_deep(raw)
    text = "" if deep else json.dumps(raw, ensure_ascii=False) if reserialised else (raw or "")
    call = ToolCall(call_id, name, text, None, None, None, id_synthesized, reserialised)
    if deep:
        return replace(call, error="invalid_json", error_detail="nested too deeply")
    if text == "" and takes_nothing:
        return replace(call, arguments={})
    try:
        value = loads_strict(text)
    except StrictJSONError as fault:
        return replace(call, error=fault.code, error_detail=str(fault))
    if too_deep(value):
        return replace(call, error="invalid_json", error_detail="nested too deeply")
    wrapped = isinstance(value, dict) and object_wire and not reserialised
    if wrapped or (isinstance(value, str) and _holds_object(value)):
        return replace(call, error="double_encoded", error_detail="a JSON string that holds the object")
    if isinstance(value, dict):
        return replace(call, arguments=value)
    return replace(call, error="not_an_object", error_detail=f"a JSON {_json_type(value)}")


def _holds_object(text: str) -> bool:
    try:
        return isinstance(loads_strict(text), dict)
    except StrictJSONError:
        return False


def _json_type(value: JSON) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names.get(type(value), "null")
