"""What each provider's strict mode takes."""

from __future__ import annotations

from typing import Any

import pytest

from toolbench.simulator.exchange import Tool
from toolbench.simulator.strict_subset import strict_fault

Schema = dict[str, Any]


def obj(required: list[str] | None = None, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


TEXT: Schema = {"type": "string"}
DEEP: Schema = TEXT
for _ in range(10):
    DEEP = obj(a=DEEP)
TREE = obj(root={"$ref": "#/$defs/node"}) | {
    "$defs": {"node": obj(next={"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]})}
}
LINKED = obj(place={"$ref": "#/$defs/place"}) | {"$defs": {"place": obj(city=TEXT)}}

VERDICTS: dict[str, tuple[Schema, str]] = {
    "plain": (obj(city=TEXT), "openai anthropic deepseek"),
    "nullable": (
        obj(unit={"type": ["string", "null"], "enum": ["C", "F", None]}),
        "openai anthropic deepseek",
    ),
    "nested anyOf": (obj(a={"anyOf": [TEXT, {"type": "null"}]}), "openai anthropic deepseek"),
    "definition": (LINKED, "openai anthropic deepseek"),
    "recursion": (TREE, "openai deepseek"),
    "optional property": (obj([], city=TEXT), "anthropic"),
    "minimum": (obj(n={"type": "integer", "minimum": 0}), "openai deepseek"),
    "minLength": (obj(s={"type": "string", "minLength": 1}), ""),
    "minItems 1": (obj(a={"type": "array", "items": TEXT, "minItems": 1}), "openai anthropic"),
    "minItems 2": (obj(a={"type": "array", "items": TEXT, "minItems": 2}), "openai"),
    "maxItems": (obj(a={"type": "array", "items": TEXT, "maxItems": 3}), "openai"),
    "format date": (obj(d={"type": "string", "format": "date"}), "openai anthropic"),
    "format uri": (obj(d={"type": "string", "format": "uri"}), "anthropic"),
    "format uuid": (obj(d={"type": "string", "format": "uuid"}), "openai anthropic deepseek"),
    "allOf": (obj(a={"allOf": [TEXT]}), "anthropic"),
    "allOf with $ref": (obj(a={"allOf": [{"$ref": "#/$defs/p"}]}) | {"$defs": {"p": obj()}}, ""),
    "oneOf": (obj(a={"oneOf": [TEXT]}), ""),
    "anyOf at the root": (obj(a=TEXT) | {"anyOf": [obj(a=TEXT)]}, "anthropic deepseek"),
    "enum of objects": (obj(a={"enum": [{"b": 1}]}), "openai deepseek"),
    "external $ref": (obj(a={"$ref": "https://example.org/x"}), ""),
    "open object": ({"type": "object", "properties": {}}, ""),
    "open object inside": (obj(a={"type": "object", "properties": {}}), ""),
    "eleven levels": (DEEP, "anthropic deepseek"),
    "root is an array": ({"type": "array", "items": TEXT}, ""),
    "1001 enum values": (obj(a={"enum": [str(n) for n in range(1001)]}), "anthropic deepseek"),
    "25 optional properties": (obj([], **{f"p{n}": TEXT for n in range(25)}), ""),
    "17 unions": (obj(**{f"p{n}": {"type": ["string", "null"]} for n in range(17)}), "openai deepseek"),
}


@pytest.mark.parametrize("provider", ["openai", "anthropic", "deepseek"])
@pytest.mark.parametrize(("schema", "accepted"), VERDICTS.values(), ids=VERDICTS)
def test_subset(provider: str, schema: Schema, accepted: str) -> None:
    fault = strict_fault([Tool("t", "", schema, strict=True)], provider)
    assert (fault is None) == (provider in accepted.split()), fault


def test_tools_that_are_not_strict_are_left_alone() -> None:
    loose = Tool("loose", "", {"type": "object"})
    strict = Tool("strict", "", obj(), strict=True)
    assert strict_fault([loose], "openai") is None
    assert strict_fault([loose, strict], "openai") is None
    assert strict_fault([loose, strict], "deepseek") == ("loose", "all functions must set strict to true")


def test_anthropic_takes_twenty_strict_tools() -> None:
    tools = [Tool(f"t{number}", "", obj(), strict=True) for number in range(21)]
    assert strict_fault(tools[:20], "anthropic") is None
    assert "21 strict tools" in str(strict_fault(tools, "anthropic"))
