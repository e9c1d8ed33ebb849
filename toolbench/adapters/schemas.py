"""From a tool's JSON Schema to what a wire can carry, with one line for everything lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

from toolbench.domain.canonical import JSON, canonical_json, loads_strict
from toolbench.domain.validation import referenced
from toolbench.errors import SuiteError

_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
_SINGLE = frozenset(
    {
        *("items", "additionalItems", "unevaluatedItems", "contains"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("not", "if", "then", "else", "contentSchema"),
    }
)
_DEFINITIONS = ("$defs", "definitions")


class InexpressibleError(SuiteError):
    """A tool's schema that a wire cannot carry; other wires may."""


@dataclass(frozen=True)
class Rules:
    """What one wire makes of a schema. Fields as in ``schema_rules.json``."""

    name: str
    says: str
    change: bool
    references: Literal["inline", "keep"]
    keywords: Sequence[str] | None
    formats: Sequence[str] | None = None
    values: Mapping[str, Sequence[JSON]] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    root_refuses: Sequence[str] = ()
    needs_items: bool = False
    closed: bool = False
    all_required: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)


@cache
def _all_rules() -> Mapping[str, Rules]:
    text = resources.files("toolbench.adapters").joinpath("schema_rules.json").read_text("utf-8")
    return {name: Rules(name, **entry) for name, entry in loads_strict(text)["rules"].items()}


def rules_named(name: str | None) -> Rules:
    """Return a rule set; ``None`` is ``plain``: everything is sent, references written out."""
    return _all_rules()[name or "plain"]


def translate(schema: Mapping[str, JSON], rules: Rules, tool: str) -> tuple[dict[str, Any], list[str]]:
    """Return a tool's parameter schema as the wire takes it, and what was lost.

    Raises
    ------
    InexpressibleError
        For a recursive schema on a wire without references, or a reference that leads nowhere.
    """
    translation = _Translation(schema, rules, tool)
    return translation.run(), translation.losses


def over_limits(schemas: Sequence[Mapping[str, JSON]], rules: Rules) -> list[str]:
    """Return a line for every size limit that the tools of a request exceed together."""
    if not rules.limits:
        return []
    found: Counter[str] = Counter({"strict tools": len(schemas)})
    for schema in schemas:
        depth = max((depth for depth, _ in _objects(schema)), default=0)
        found["depth"] = max(found["depth"], depth)
        for _, node in _objects(schema):
            properties = node["properties"]
            found["properties"] += len(properties)
            found["optional parameters"] += len(set(properties) - set(node.get("required", ())))
            for value in properties.values():
                if isinstance(value, dict):
                    found["enum values"] += len(value.get("enum", ()))
                    found["union-typed parameters"] += "anyOf" in value or isinstance(value.get("type"), list)
    return [
        f"{found[what]} {what} are more than the {limit} that strict mode allows"
        for what, limit in rules.limits.items()
        if found[what] > limit
    ]


def without_added_nulls(
    arguments: Mapping[str, JSON], original: Mapping[str, JSON], sent: Mapping[str, JSON]
) -> dict[str, JSON]:
    """Return arguments without the nulls that only the strict translation made the model write.

    A ``null`` goes where the contract has an optional property that forbids null and the sent schema required
    it; every other value stays as it is.
    """
    return _strip(arguments, translate(original, rules_named(None), "")[0], sent)


def _strip(arguments: Mapping[str, JSON], original: JSON, sent: JSON) -> dict[str, JSON]:
    kept: dict[str, JSON] = {}
    for name, value in arguments.items():
        before = _property(original, name)
        added = name in _get(sent, "required", ()) and name not in _get(original, "required", ())
        if value is None and added and before is not None and not _takes_null(before):
            continue
        if isinstance(value, dict) and before is not None:
            value = _strip(value, before, _object_branch(_property(sent, name)))
        kept[name] = value
    return kept


def _object_branch(schema: JSON) -> JSON:
    """Return the object behind the union with null that made an optional object nullable."""
    for branch in _get(schema, "anyOf", ()):
        if isinstance(branch, dict) and "properties" in branch:
            return branch
    return schema


def _get(schema: JSON, key: str, default: Any) -> Any:
    return schema.get(key, default) if isinstance(schema, Mapping) else default


def _property(schema: JSON, name: str) -> JSON:
    return _get(schema, "properties", {}).get(name)


def _objects(node: JSON, depth: int = 1) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield ``(depth, node)`` of every schema that has properties."""
    if isinstance(node, dict):
        here = isinstance(node.get("properties"), dict)
        if here:
            yield depth, node
        for key, value in node.items():
            children = value.values() if key in _BY_NAME and isinstance(value, dict) else [value]
            for child in children:
                yield from _objects(child, depth + here)
    elif isinstance(node, list):
        for child in node:
            yield from _objects(child, depth)


class _Translation:
    """One schema on its way to one wire."""

    def __init__(self, schema: Mapping[str, JSON], rules: Rules, tool: str) -> None:
        self._root = dict(schema)
        self._rules = rules
        self._tool = tool
        self._kept: dict[str, str] = {}
        self.losses: list[str] = []

    def run(self) -> dict[str, Any]:
        schema: dict[str, Any] = self._node(self._root, "$", ())
        for keyword in self._rules.root_refuses:
            if schema.pop(keyword, None) is not None:
                self._lose(f"$.{keyword}", self._rules.says.replace("allowed", "allowed at the root"))
        done: set[str] = set()
        while todo := [ref for ref in self._kept if ref not in done]:
            for reference in todo:
                done.add(reference)
                section, _, name = reference.removeprefix("#/").partition("/")
                if section in _DEFINITIONS and "/" not in name:
                    target = self._node(self._target(reference, "$"), f"$.{section}.{name}", (reference,))
                    schema.setdefault(section, {})[name] = target
        return schema

    def _node(self, node: JSON, path: str, inside: tuple[str, ...]) -> Any:
        if not isinstance(node, Mapping):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str):
            if reference in inside or reference == "#":
                return self._recursion(node, reference, path)
            # What stands beside the reference (a description, say) is nearer to the property and wins.
            beside = {key: value for key, value in node.items() if key != "$ref"}
            merged = {**self._target(reference, path), **beside}
            return self._node(merged, path, (*inside, reference))
        result: dict[str, Any] = {}
        for keyword, value in node.items():
            if keyword in _DEFINITIONS:
                continue
            name = self._rules.renamed.get(keyword, keyword)
            if name != keyword:
                self._lose(f"{path}.{keyword}", f"became {name}")
            if not self._allowed(name, value):
                self._lose(f"{path}.{keyword}", self._said(name, value))
                if self._rules.change:
                    continue
            result[name] = self._children(name, value, f"{path}.{keyword}", inside)
        if (
            self._rules.needs_items
            and "array" in _kinds(result)
            and not {"items", "prefixItems"} & set(result)
        ):
            self._lose(f"{path}.items", "became {}: an array without items is refused")
            result["items"] = {}
        return self._closed(result, path)

    def _children(self, keyword: str, value: JSON, path: str, inside: tuple[str, ...]) -> JSON:
        if keyword in _BY_NAME and isinstance(value, Mapping):
            return {name: self._node(child, f"{path}.{name}", inside) for name, child in value.items()}
        if keyword in _LISTS and isinstance(value, list):
            return [self._node(child, f"{path}[{index}]", inside) for index, child in enumerate(value)]
        return self._node(value, path, inside) if keyword in _SINGLE else value

    def _allowed(self, keyword: str, value: JSON) -> bool:
        rules = self._rules
        if rules.keywords is not None and keyword not in rules.keywords:
            return False
        if keyword == "format" and rules.formats is not None:
            return value in rules.formats
        return keyword not in rules.values or value in rules.values[keyword]

    def _said(self, keyword: str, value: JSON) -> str:
        kept = self._rules.keywords is not None and keyword in self._rules.keywords
        return f"{canonical_json(value)} {self._rules.says}" if kept else self._rules.says

    def _closed(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        """Shut an object to unknown properties, and make all known ones required, where strict mode asks."""
        is_object = node.get("type") == "object" or "properties" in node
        if not (is_object and self._rules.closed):
            return node
        if node.get("additionalProperties") is not False:
            self._lose(f"{path}.additionalProperties", "became false in strict mode")
            node["additionalProperties"] = False
        if self._rules.all_required:
            properties = node.setdefault("properties", {})
            required = node["required"] = list(node.get("required", ()))
            for name in [name for name in properties if name not in required]:
                how = "required" if _takes_null(properties[name]) else "required and nullable"
                self._lose(f"{path}.properties.{name}", f"became {how} in strict mode")
                properties[name] = _nullable(properties[name])
                required.append(name)
        return node

    def _recursion(self, node: Mapping[str, JSON], reference: str, path: str) -> dict[str, JSON]:
        if self._rules.references == "inline":
            raise InexpressibleError(
                f"tool {self._tool}: {path}: the schema is recursive ({reference}), which this wire cannot "
                f"express ({self._rules.name}); write the levels out or leave this model out of the suite"
            )
        self._kept[reference] = path
        if self._rules.keywords is None:
            return dict(node)
        for keyword in sorted(set(node) - {"$ref"}):
            self._lose(f"{path}.{keyword}", "cannot stand beside a recursive reference")
        return {"$ref": reference}

    def _target(self, reference: str, path: str) -> dict[str, Any]:
        target = referenced(self._root, reference)
        if not isinstance(target, Mapping):
            raise InexpressibleError(
                f"tool {self._tool}: {path}: the reference {reference} leads nowhere in the tool's own schema"
            )
        return dict(target)

    def _lose(self, path: str, what: str) -> None:
        line = f"{self._tool}: {path} {what}"
        if line not in self.losses:
            self.losses.append(line)


def _kinds(schema: Mapping[str, JSON]) -> list[Any]:
    kinds = schema.get("type")
    return kinds if isinstance(kinds, list) else [kinds]


def _takes_null(schema: JSON) -> bool:
    if not isinstance(schema, Mapping):
        return schema is True
    if "$ref" in schema:
        return False
    if "enum" in schema:
        return None in schema["enum"]
    if "const" in schema:
        return schema["const"] is None
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(_takes_null(branch) for branch in schema[keyword])
    kinds = schema.get("type")
    return kinds is None or kinds == "null" or (isinstance(kinds, list) and "null" in kinds)


def _nullable(schema: JSON) -> JSON:
    """Return the schema with null as one more value."""
    if _takes_null(schema) or not isinstance(schema, Mapping):
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "const" in schema or not kinds or {"object", "array"} & set(kinds):
        outside = {key: value for key, value in schema.items() if key in ("description", "title")}
        inside = {key: value for key, value in schema.items() if key not in outside}
        return {**outside, "anyOf": [inside, {"type": "null"}]}
    enum = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [*kinds, "null"], **enum}
