"""The part of JSON Schema that each provider's strict mode takes (`strict_subsets.json`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.simulator.exchange import Tool
from toolbench.simulator.failures import HERE

Rules = dict[str, Any]
Node = tuple[str, dict[str, JSON], int]


@cache
def subset(provider: str) -> Rules:
    """Return a provider's rules."""
    rules: Rules = json.loads((HERE / "strict_subsets.json").read_text("utf-8"))[provider]
    return rules


def strict_fault(tools: Sequence[Tool], provider: str) -> tuple[str, str] | None:
    """Return the first tool that strict mode refuses and why, or None.

    Only tools marked strict are looked at, save for the providers that want all or none.
    """
    rules = subset(provider)
    strict = [tool for tool in tools if tool.strict]
    if not strict:
        return None
    if rules.get("all_tools_strict") and len(strict) < len(tools):
        return next(tool.name for tool in tools if not tool.strict), "all functions must set strict to true"
    for tool in strict:
        for why in _faults(tool.parameters, rules):
            return tool.name, why
    return _over_limits(strict, rules)


def _faults(schema: JSON, rules: Rules) -> Iterator[str]:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield 'the root must have type "object"'
        return
    if "anyOf" in schema and not rules["root_any_of"]:
        yield "anyOf is not permitted at the root"
    if not rules["recursion"] and _recursive(schema):
        yield "recursive schemas are not supported"
    for path, node, depth in _nodes(schema, "$", 1):
        if depth > rules.get("max_depth", depth):
            yield f"{path}: nested more than {rules['max_depth']} levels deep"
        yield from _keyword_faults(path, node, rules)
        if _is_object(node):
            yield from _object_faults(path, node, rules)


def _keyword_faults(path: str, node: dict[str, JSON], rules: Rules) -> Iterator[str]:
    for keyword in node:
        if keyword not in rules["keywords"]:
            yield f"{path}: '{keyword}' is not permitted"
    if "format" in node and node["format"] not in rules["formats"]:
        yield f"{path}: format {node['format']!r} is not supported"
    if node.get("minItems", 0) > rules.get("min_items_up_to", float("inf")):
        yield f"{path}: minItems may only be 0 or 1"
    if rules.get("primitive_enums") and any(isinstance(value, dict | list) for value in node.get("enum", ())):
        yield f"{path}: enum values must be primitives"
    reference = node.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        yield f"{path}: external $ref is not supported"
    if any(isinstance(part, dict) and "$ref" in part for part in node.get("allOf", ())):
        yield f"{path}: allOf with $ref is not supported"


def _object_faults(path: str, node: dict[str, JSON], rules: Rules) -> Iterator[str]:
    if node.get("additionalProperties") is not False:
        yield f"{path}: 'additionalProperties' is required to be supplied and to be false"
    if rules["every_property_required"]:
        missing = sorted(set(node.get("properties", {})) - set(node.get("required", [])))
        if missing:
            yield f"{path}: 'required' must name every key in properties. Missing '{missing[0]}'"


def _over_limits(tools: Sequence[Tool], rules: Rules) -> tuple[str, str] | None:
    nodes = [node for tool in tools for _, node, _ in _nodes(tool.parameters, "$", 1)]
    objects = [node for node in nodes if "properties" in node]
    names = [name for node in objects for name in node["properties"]]
    values = [value for node in nodes for value in node.get("enum", ())]
    optional = [
        name for node in objects for name in node["properties"] if name not in node.get("required", ())
    ]
    unions = [node for node in nodes if "anyOf" in node or isinstance(node.get("type"), list)]
    counts = {
        "max_strict_tools": (len(tools), "strict tools"),
        "max_properties": (len(names), "properties"),
        "max_enum_values": (len(values), "enum values"),
        "max_name_characters": (
            sum(len(str(text)) for text in [*names, *values]),
            "characters in names and enums",
        ),
        "max_optional_properties": (len(optional), "optional properties"),
        "max_unions": (len(unions), "parameters with union types"),
    }
    for limit, (count, what) in counts.items():
        if count > rules.get(limit, count):
            return tools[
                0
            ].name, f"Schema is too complex: {count} {what}, at most {rules[limit]} are supported"
    return None


def _is_object(node: dict[str, JSON]) -> bool:
    kind = node.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node


def _nodes(schema: JSON, path: str, depth: int) -> Iterator[Node]:
    """Yield every subschema with its place and its depth in objects and arrays."""
    if not isinstance(schema, dict):
        return
    yield path, schema, depth
    for name, child in schema.get("properties", {}).items():
        yield from _nodes(child, f"{path}.{name}", depth + 1)
    for name, child in schema.get("$defs", {}).items():
        yield from _nodes(child, f"{path}.$defs.{name}", depth)
    yield from _nodes(schema.get("items"), f"{path}[]", depth + 1)
    for keyword in ("anyOf", "allOf", "oneOf"):
        for child in schema.get(keyword, ()):
            yield from _nodes(child, path, depth)


def _recursive(schema: dict[str, JSON]) -> bool:
    """Return whether a definition reaches itself (references into anything but $defs count as recursion)."""
    definitions = schema.get("$defs", {})
    reached = {
        name: {other for other in definitions if f'"#/$defs/{other}"' in canonical_json(body)}
        for name, body in definitions.items()
    }
    for _ in definitions:
        reached = {name: near.union(*(reached[other] for other in near)) for name, near in reached.items()}
    return any(name in near for name, near in reached.items()) or '"$ref":"#"' in canonical_json(schema)
