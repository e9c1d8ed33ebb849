"""One value that a JSON Schema allows, as a person would make it up: the schema's own examples come first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.validation import portable_regex

DEEPEST = 6
"""Levels of objects in objects; a recursive schema has no last one."""

FORMATS: Mapping[str, str] = {
    "date": "2026-03-14",
    "time": "09:30:00Z",
    "date-time": "2026-03-14T09:30:00Z",
    "email": "anna@example.com",
    "idn-email": "anna@example.com",
    "uuid": "3f2b8c1e-5d64-4a7b-9c0f-1e2d3c4b5a69",
    "ipv4": "192.0.2.10",
    "ipv6": "2001:db8::10",
    "uri": "https://example.com/page",
    "hostname": "example.com",
    "duration": "P1D",
}


def sample(schema: Any, name: str = "value", root: Mapping[str, Any] | None = None, depth: int = 0) -> JSON:
    """Return a value for a schema; the caller validates it, because not every schema can be satisfied."""
    if not isinstance(schema, dict):
        return name
    root = schema if root is None else root
    schema = _resolved(schema, root)
    for given in (schema.get("examples"), schema.get("enum")):
        if isinstance(given, list) and given:
            return given[0]
    for key in ("const", "example", "default"):
        if schema.get(key) is not None:
            return schema[key]
    branch = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if schema.get(key)), None)
    if branch and "type" not in schema:
        merged = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf")}
        return sample({**merged, **branch[0]} if isinstance(branch[0], dict) else {}, name, root, depth + 1)
    kind = schema.get("type")
    kind = next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind
    return _of_type(str(kind), schema, name, root, depth)


def _of_type(kind: str, schema: Mapping[str, Any], name: str, root: Mapping[str, Any], depth: int) -> JSON:
    if kind == "object":
        if depth > DEEPEST:
            return {}
        required = schema.get("required") or ()
        properties = schema.get("properties") or {}
        return {key: sample(properties.get(key, {}), key, root, depth + 1) for key in required}
    if kind == "array":
        if depth > DEEPEST:
            return []
        count = max(1, int(schema.get("minItems", 1)))
        return [sample(schema.get("items", {}), name, root, depth + 1)] * min(count, 100)
    if kind in ("integer", "number"):
        return _number(kind, schema)
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    return _text(schema, name)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references, but not round in a circle."""
    for _ in range(8):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            break
        target: Any = root
        for part in reference.removeprefix("#").strip("/").split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            target = target.get(part, {}) if isinstance(target, dict) and part else target
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **rest} if isinstance(target, dict) else rest
    return dict(schema)


def _number(kind: str, schema: Mapping[str, Any]) -> JSON:
    step = schema.get("multipleOf", 1)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    least = schema.get("minimum", None if above is None else above + step)
    most = schema.get("maximum", None if below is None else below - step)
    value = 3 * step
    if least is not None and value < least:
        value = -(-least // step) * step
    if most is not None and value > most:
        value = most // step * step
    if above is not None and below is not None and not above < value < below:
        value = (above + below) / 2
    return int(value) if kind == "integer" or value == int(value) else value


def _text(schema: Mapping[str, Any], name: str) -> str:
    pattern, form = schema.get("pattern"), schema.get("format")
    if isinstance(pattern, str):
        said = str(schema.get("description", ""))[:2000]
        fits = portable_regex(pattern)
        shown = (word.strip("\"'`.,;:()«»") for word in re.findall(r"\S+", said))
        return next((word for word in shown if word and fits.search(word)), None) or of_pattern(pattern)
    if isinstance(form, str) and form in FORMATS:
        return FORMATS[form]
    text = f"example {name.replace('_', ' ')}"
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    while len(text) < min(least, 2000):
        text += " and more"
    return text if most is None else text[: int(most)].strip()


def of_pattern(source: str) -> str:
    """Return a text for the plain patterns that identifiers have: letters, classes, groups, counts.

    For anything further the text is a guess that will not match, which the caller sees.
    """
    made: list[str] = []
    parts = list(_PART.finditer(source.removeprefix("^").removesuffix("$")))
    for match in parts:
        piece, low = match["piece"], match["low"]
        quantifier = match["quantifier"] or ""
        times = int(low) if low else 0 if quantifier in ("?", "*") else 1
        made.append(_piece(piece) * min(times, 100))
    return "".join(made)


_PART = re.compile(
    r"(?P<piece>\\.|\[(?:\\.|[^\]\\])+\]|\((?:\?:)?(?:[^()|]*)(?:\|[^()]*)?\)|.)"
    r"(?P<quantifier>\{(?P<low>\d+)(?:,\d*)?\}|[?*+])?\??"
)
_ESCAPED: Mapping[str, str] = {"d": "4", "w": "a", "s": " ", "D": "x", "S": "x", "W": "-", "b": "", "B": ""}


def _piece(piece: str) -> str:
    if piece.startswith("\\"):
        return _ESCAPED.get(piece[1], piece[1])
    if piece.startswith("["):
        inside = piece[1:-1]
        if inside.startswith("^"):
            return next((char for char in "x4-" if char not in inside), "x")
        return _ESCAPED.get(inside[1], inside[1]) if inside.startswith("\\") else inside[0]
    if piece.startswith("(") and len(piece) > 1:
        return of_pattern(piece[1:-1].removeprefix("?:").split("|")[0])
    return "x" if piece == "." else piece
