"""The one strict reader of tool-call arguments, shared by every protocol. It never repairs anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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

    def call(
        arguments: Mapping[str, Any] | None, error: str | None = None, detail: str | None = None
    ) -> ToolCall:
        return ToolCall(
            id=call_id,
            name=name,
            raw_arguments=text,
            arguments=arguments,
            error=error,
            error_detail=detail,
            id_synthesized=id_synthesized,
            raw_is_reserialised=reserialised,
        )

    reserialised = not isinstance(raw, str | None)
    if too_deep(raw):
        text = ""
        return call(None, "invalid_json", "nested too deeply")
    text = json.dumps(raw, ensure_ascii=False) if reserialised else (raw or "")
    if text == "" and takes_nothing:
        return call({})
    try:
        value = loads_strict(text)
    except StrictJSONError as fault:
        return call(None, fault.code, str(fault))
    if too_deep(value):
        return call(None, "invalid_json", "nested too deeply")
    if isinstance(value, dict) and object_wire and not reserialised:
        return call(None, "double_encoded", "a JSON string that holds the object")
    if isinstance(value, dict):
        return call(value)
    if isinstance(value, str) and _holds_object(value):
        return call(None, "double_encoded", "a JSON string that holds the object")
    return call(None, "not_an_object", f"a JSON {_json_type(value)}")


def _holds_object(text: str) -> bool:
    try:
        return isinstance(loads_strict(text), dict)
    except StrictJSONError:
        return False


def _json_type(value: JSON) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names.get(type(value), "null")
