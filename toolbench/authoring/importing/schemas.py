"""A parameter schema of any dialect as one that toolbench can check: what cannot be checked is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.patterns import is_trap
from toolbench.domain.validation import build_validator
from toolbench.errors import SuiteError

EMPTY: Mapping[str, JSON] = {"type": "object", "properties": {}, "additionalProperties": False}
"""A tool that takes nothing."""

DATA = ("enum", "const", "default", "examples", "example")
"""Keywords whose values are data, not schemas."""

NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
"""Keywords whose values are schemas by name; the names are no keywords."""

SNAKE: Mapping[str, str] = {
    "any_of": "anyOf", "additional_properties": "additionalProperties", "min_length": "minLength",
    "max_length": "maxLength", "min_items": "minItems", "max_items": "maxItems",
    "min_properties": "minProperties", "max_properties": "maxProperties",
    "property_ordering": "propertyOrdering", "ref": "$ref", "defs": "$defs",
}  # fmt: skip
"""Keywords as Google's Python client spells them."""


def usable_schema(schema: Mapping[str, Any]) -> tuple[dict[str, JSON], list[str]]:
    """Return the same rules in Draft 2020-12, and what had to be left out, one line each.

    Upper-case type names and ``nullable`` (Gemini, OpenAPI 3.0) and exclusive bounds of Draft 4 are
    translated; formats and patterns that cannot be checked and references out of the document are left out.

    Raises
    ------
    SuiteError
        When what is left is still no usable schema.
    """
    lost: list[str] = []
    usable = _schema(dict(schema), "$", lost)
    usable.pop("$schema", None)
    if "type" not in usable:
        usable = {"type": "object", **usable}
    if usable["type"] != "object":
        raise SuiteError(f"its parameters are of type {str(usable['type'])[:40]!r}, an object is needed")
    build_validator(usable, "parameters")
    return usable, lost


def _schema(node: dict[str, Any], path: str, lost: list[str]) -> dict[str, JSON]:
    made: dict[str, JSON] = {}
    for written, value in node.items():
        key = SNAKE.get(written, written)
        at = f"{path}.{key}"
        # A client's own types write every keyword they know; null says that it was not set.
        if value is None and key not in ("const", "default"):
            continue
        if key in DATA:
            made[key] = value
        elif key in NAMED and isinstance(value, dict):
            made[key] = {name: _any(inner, f"{at}.{name}", lost) for name, inner in value.items()}
        elif reason := _unusable(key, value):
            lost.append(f"{at}: {str(value)[:60]!r} {reason}")
        else:
            made[key] = _any(value, at, lost)
    return _translated(made)


def _any(value: JSON, path: str, lost: list[str]) -> JSON:
    if isinstance(value, dict):
        return _schema(value, path, lost)
    if isinstance(value, list):
        return [_any(inner, f"{path}[{index}]", lost) for index, inner in enumerate(value)]
    return value


def _unusable(key: str, value: JSON) -> str | None:
    """Return why a keyword cannot be carried over, if it cannot."""
    if not isinstance(value, str):
        return None
    if key == "$ref" and not value.startswith("#"):
        return "leaves the document and is never fetched"
    if key in ("$id", "id", "$anchor", "$dynamicRef", "$recursiveRef"):
        return "names places that a tool's schema does not have"
    return _unchecked(key, value) if key in ("format", "pattern") else None


@cache
def _unchecked(key: str, value: str) -> str | None:
    """Return why a format or pattern cannot be checked; many tools share a few of them."""
    try:
        build_validator({"type": "string", key: value}, "")
    except SuiteError:
        return "is not checked here"
    return "can take forever to match" if key == "pattern" and is_trap(value) else None


def _translated(node: dict[str, Any]) -> dict[str, JSON]:
    kind = node.get("type")
    if isinstance(kind, str) and kind.isupper():
        node["type"] = kind.lower()
    if node.pop("nullable", False) is True and isinstance(node.get("type"), str):
        node["type"] = [node["type"], "null"]
        if "enum" in node and None not in node["enum"]:
            node["enum"] = [*node["enum"], None]
    for name in ("minimum", "maximum"):
        strict = f"exclusive{name.title()}"
        if node.get(strict) is True and name in node:
            node[strict] = node.pop(name)
        elif isinstance(node.get(strict), bool):
            del node[strict]
    for name in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"):
        # Gemini writes 64-bit numbers as text.
        if isinstance(node.get(name), str) and node[name].isdecimal():
            node[name] = int(node[name])
    return node


def references(node: JSON) -> Iterator[str]:
    """Yield every reference of a schema, data left out."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for key, value in node.items():
            if key not in DATA:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)
