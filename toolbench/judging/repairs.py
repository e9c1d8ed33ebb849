"""Named, versioned, deterministic repairs: they decide the tier of a call and change nothing else.

``raw_valid``: the call is valid as written. ``repairable``: a chain of these repairs makes it valid; the
chain and the value before and after are kept. ``invalid``: nothing here helps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.domain.contract import ToolSpec

VERSION = "2"

_DEEPEST_REFERENCE = 20
LONGEST_NUMBER = 300
"""Characters of a text that is read as a number: beyond, it has no finite value."""

Tier = Literal["raw_valid", "repairable", "invalid"]


@dataclass(frozen=True)
class TierResult:
    """Tier of one call; ``repairs`` names the chain, ``after`` is the repaired argument object."""

    tier: Tier
    repairs: tuple[str, ...] = ()
    after: Mapping[str, JSON] | None = None


def tier_of(tool: ToolSpec | None, raw: str, arguments: Mapping[str, JSON] | None) -> TierResult:
    """Return the validity tier of a call; a call of an unknown tool is invalid, nothing can repair it."""
    if tool is None:
        return TierResult("invalid")
    chain: list[str] = []
    value: JSON = arguments
    if value is None:
        name, value = _read(raw)
        if name is None:
            return TierResult("invalid")
        chain.append(name)
    elif not tool.issues(value):
        return TierResult("raw_valid")
    for name, repair in VALUE_REPAIRS.items():
        if not tool.issues(value):
            break
        changed = _each(value, tool.parameters, repair, tool.parameters)
        if changed != value:
            chain.append(name)
            value = changed
    if tool.issues(value):
        return TierResult("invalid")
    return TierResult("repairable", tuple(chain), value)


def _read(raw: str) -> tuple[str | None, JSON]:
    for name, repair in TEXT_REPAIRS.items():
        value = repair(raw)
        if isinstance(value, dict):
            return name, value
    return None, None


def _strict(text: str, last_wins: bool = False) -> JSON:
    try:
        return loads_strict(text, last_wins=last_wins)
    except StrictJSONError:
        return None


def _empty_as_object(raw: str) -> JSON:
    return {} if not raw.strip() else None


def _unwrap(raw: str) -> JSON:
    value = _strict(raw)
    return _strict(value) if isinstance(value, str) else None


def _without_fence(raw: str) -> JSON:
    found = re.fullmatch(r"\s*```[a-z]*\s*(.*?)\s*```\s*", raw, re.DOTALL)
    return _strict(found.group(1)) if found else None


def _first_object(raw: str) -> JSON:
    start = raw.find("{")
    if start < 0:
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(raw, start)
    except (ValueError, RecursionError):
        return None
    return _strict(raw[start:end])


def _last_duplicate(raw: str) -> JSON:
    return _strict(raw, last_wins=True)


TEXT_REPAIRS: Mapping[str, Callable[[str], JSON]] = {
    "empty_as_object": _empty_as_object,
    "unwrap_double_encoding": _unwrap,
    "strip_code_fence": _without_fence,
    "first_object_only": _first_object,
    "last_duplicate_key": _last_duplicate,
}
"""Repairs of a text that is not one strict JSON object, tried in this order; the first that works is used."""


Schema = Mapping[str, Any]
Change = Callable[[JSON, Schema], JSON]


def _each(value: JSON, schema: JSON, change: Change, root: Schema) -> JSON:
    """Apply a change to every value that the schema describes, outermost last."""
    schema = _described(schema, root)
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        value = {key: _each(inner, properties.get(key, others), change, root) for key, inner in value.items()}
    elif isinstance(value, list):
        first = schema.get("prefixItems", ())
        described = [*first, *[schema.get("items")] * len(value)]
        value = [_each(inner, one, change, root) for inner, one in zip(value, described, strict=False)]
    return change(value, schema)


def _described(schema: JSON, root: Schema) -> Schema:
    """Return what a schema says of a value itself: references followed, ``null`` beside a branch left out."""
    found: dict[str, Any] = {}
    for _ in range(_DEEPEST_REFERENCE):
        if not isinstance(schema, dict):
            break
        found = {**schema, **found}
        branches = [one for key in ("anyOf", "oneOf", "allOf") for one in schema.get(key, ())]
        branches = [one for one in branches if one != {"type": "null"}]
        schema = (
            _target(root, schema["$ref"]) if "$ref" in schema else branches[0] if len(branches) == 1 else None
        )
    return found


def _target(root: Schema, reference: str) -> JSON:
    """Return what a reference inside a document points to, ``None`` where it leads nowhere."""
    node: JSON = root
    for step in filter(None, unquote(reference.removeprefix("#")).split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            node = node[int(name)] if name.isdigit() and int(name) < len(node) else None
        else:
            node = node.get(name) if isinstance(node, dict) else None
    return node


def _types(schema: Schema) -> set[str]:
    declared = schema.get("type", ())
    return {declared} if isinstance(declared, str) else set(declared)


def _nested_json(value: JSON, schema: Schema) -> JSON:
    if isinstance(value, str) and _types(schema) & {"array", "object"} and "string" not in _types(schema):
        inner = _strict(value)
        return inner if isinstance(inner, dict | list) else value
    return value


def _number_from_text(value: JSON, schema: Schema) -> JSON:
    wanted = _types(schema)
    readable = isinstance(value, str) and len(value) <= LONGEST_NUMBER
    if readable and wanted & {"number", "integer"} and "string" not in wanted:
        text = value.strip().replace(",", ".")
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        if re.fullmatch(r"-?\d+\.\d+", text) and "number" in wanted:
            return float(text)
    return value


def _text_from_number(value: JSON, schema: Schema) -> JSON:
    if isinstance(value, int | float) and not isinstance(value, bool) and _types(schema) == {"string"}:
        return json.dumps(value)
    return value


def _enum_case(value: JSON, schema: Schema) -> JSON:
    if isinstance(value, str) and value not in schema.get("enum", [value]):
        for allowed in schema["enum"]:
            if isinstance(allowed, str) and allowed.casefold() == value.strip().casefold():
                return allowed
    return value


def _trim(value: JSON, schema: Schema) -> JSON:
    return value.strip() if isinstance(value, str) and _types(schema) <= {"string"} else value


def _drop_null(value: JSON, schema: Schema) -> JSON:
    if isinstance(value, dict) and "properties" in schema:
        required = schema.get("required", ())
        return {k: v for k, v in value.items() if v is not None or k in required}
    return value


VALUE_REPAIRS: Mapping[str, Change] = {
    "nested_json_text": _nested_json,
    "number_from_text": _number_from_text,
    "text_from_number": _text_from_number,
    "enum_letter_case": _enum_case,
    "trim_blanks": _trim,
    "drop_null_optional": _drop_null,
}
"""Repairs of a parsed object and of every value in it, in this order while the object is not valid."""
