"""The translation of a tool's schema, and the list of what it loses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.adapters.support import ask, chat_call, chat_calls, offer, read, tool
from toolbench.adapters.schemas import over_limits, rules_named, translate, without_added_nulls
from toolbench.errors import SuiteError, TransportError

STRICT = ("openai_strict", "anthropic_strict", "deepseek_strict")


def obj(properties: dict[str, Any], *required: str, **rest: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **rest,
    }


HOISTED = obj(
    {"locale": {"$ref": "#/$defs/L", "description": "user locale"}},
    "locale",
    **{"$defs": {"L": {"type": "string", "enum": ["en", "lv"], "description": "a language"}}},
)
RECURSIVE = obj(
    {"next": {"$ref": "#/$defs/N", "description": "the next one"}},
    "next",
    **{"$defs": {"N": obj({"n": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}}, "n")}},
)


@pytest.mark.parametrize("rules", [None, *STRICT, "ollama", "gemini"])
def test_references_are_written_out_and_the_nearer_description_wins(rules: str | None) -> None:
    schema, _ = translate(HOISTED, rules_named(rules), "t")
    locale = schema["properties"]["locale"]
    assert locale == {"type": "string", "enum": ["en", "lv"], "description": "user locale"}
    assert "$defs" not in schema


@pytest.mark.parametrize("rules", ["anthropic_strict", "ollama", "gemini"])
def test_recursion_is_refused_where_references_are_unknown(rules: str) -> None:
    with pytest.raises(SuiteError, match=r"tool t: \$\.properties\.next.*recursive"):
        translate(RECURSIVE, rules_named(rules), "t")


@pytest.mark.parametrize("rules", [None, "openai_strict", "deepseek_strict"])
def test_recursion_stays_a_reference_elsewhere(rules: str | None) -> None:
    schema, _ = translate(RECURSIVE, rules_named(rules), "t")
    value: dict[str, Any] = {"next": {"n": {"n": {"n": None}}}}
    assert Draft202012Validator(schema).is_valid(value)
    assert not Draft202012Validator(schema).is_valid({"next": {"n": {"n": 5}}})


def test_recursion_of_the_root() -> None:
    schema, _ = translate(obj({"child": {"$ref": "#"}}), rules_named("openai_strict"), "t")
    assert schema["properties"]["child"]["anyOf"][0] == {"$ref": "#"}


def test_a_request_with_a_recursive_schema_is_refused_before_it_is_sent() -> None:
    with pytest.raises(TransportError, match="recursive") as caught:
        ask("ollama_chat", offer(tool("walk", RECURSIVE)))
    assert (caught.value.code, caught.value.unsupported) == ("schema_inexpressible", True)


def test_a_reference_that_leads_nowhere() -> None:
    with pytest.raises(SuiteError, match="leads nowhere"):
        translate(obj({"a": {"$ref": "#/$defs/X"}}), rules_named(None), "t")


def test_siblings_of_a_recursive_reference_are_reported() -> None:
    nested = obj({"n": {"$ref": "#/$defs/N", "description": "lost"}}, "n")
    schema = obj({"next": {"$ref": "#/$defs/N"}}, "next", **{"$defs": {"N": nested}})
    _, losses = translate(schema, rules_named("openai_strict"), "t")
    assert any("description cannot stand beside a recursive reference" in line for line in losses)


def test_plain_leaves_everything_as_it_is() -> None:
    schema = obj(
        {"a": {"type": "string", "minLength": 1, "default": "x", "not": {"const": "y"}}}, "a", allOf=[{}]
    )
    assert translate(schema, rules_named(None), "t") == (schema, [])


def test_every_loss_has_a_line_with_its_path() -> None:
    schema = obj(
        {
            "n": {"type": "integer", "minimum": 1},
            "kind": {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            "when": {"type": "string", "format": "uri-reference"},
            "list": {"type": "array", "items": obj({"x": {"type": "number"}}), "minItems": 2},
        },
        "n",
        "kind",
        "when",
        "list",
    )
    _, losses = translate(schema, rules_named("anthropic_strict"), "t")
    assert losses == [
        "t: $.properties.n.minimum is not allowed in strict mode",
        "t: $.properties.kind.oneOf became anyOf",
        "t: $.properties.kind.oneOf[0].maxLength is not allowed in strict mode",
        't: $.properties.when.format "uri-reference" is not allowed in strict mode',
        "t: $.properties.list.minItems 2 is not allowed in strict mode",
    ]


def test_an_open_object_is_closed_in_strict_mode() -> None:
    schema, losses = translate({"type": "object", "properties": {}}, rules_named("openai_strict"), "t")
    assert schema["additionalProperties"] is False
    assert losses == ["t: $.additionalProperties became false in strict mode"]


def test_any_of_at_the_root_is_refused_by_openai() -> None:
    schema, losses = translate(obj({}, anyOf=[{"required": []}]), rules_named("openai_strict"), "t")
    assert "anyOf" not in schema
    assert losses == ["t: $.anyOf is not allowed at the root in strict mode"]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param({"type": "string"}, id="type"),
        pytest.param({"type": "string", "enum": ["a", "b"]}, id="enum"),
        pytest.param({"type": "string", "const": "a"}, id="const"),
        pytest.param({"anyOf": [{"type": "string"}, {"type": "integer"}]}, id="union"),
        pytest.param(obj({"x": {"type": "integer"}}, "x"), id="object"),
        pytest.param({"type": "array", "items": {"type": "string"}}, id="array"),
    ],
)
def test_an_optional_property_becomes_nullable(before: dict[str, Any]) -> None:
    schema, losses = translate(obj({"p": before}), rules_named("openai_strict"), "t")
    assert schema["required"] == ["p"]
    assert Draft202012Validator(schema).is_valid({"p": None})
    assert losses == ["t: $.properties.p became required and nullable in strict mode"]


def test_limits_of_strict_mode_are_counted_over_all_tools() -> None:
    many = obj({f"p{n}": {"type": ["string", "null"]} for n in range(9)})
    lines = over_limits([many, many, many], rules_named("anthropic_strict"))
    assert lines == [
        "27 optional parameters are more than the 24 that strict mode allows",
        "27 union-typed parameters are more than the 16 that strict mode allows",
    ]
    assert over_limits([many], rules_named("openai_strict")) == []


UNITS = obj({"city": {"type": "string"}, "units": {"type": "string"}}, "city")


def test_a_null_that_strict_mode_asked_for_means_absent() -> None:
    what = offer(tool("look", UNITS))
    body = chat_calls(chat_call('{"city": "Paris", "units": null}'))
    decision = read("chat_completions", body, what, profile="openai", strict=True)
    assert decision.calls[0].arguments == {"city": "Paris"}
    assert decision.calls[0].raw_arguments == '{"city": "Paris", "units": null}'
    assert decision.warnings == ["null_for_absent"]


@pytest.mark.parametrize(
    ("strict", "schema", "arguments"),
    [
        pytest.param(None, UNITS, '{"city": "Paris", "units": null}', id="not-strict"),
        pytest.param(True, UNITS, '{"city": null, "units": "C"}', id="required"),
        pytest.param(True, UNITS, '{"city": "Paris", "units": ""}', id="empty-text"),
        pytest.param(
            True, obj({"units": {"type": ["string", "null"]}}), '{"units": null}', id="null-allowed"
        ),
    ],
)
def test_any_other_value_stays(strict: bool | None, schema: dict[str, Any], arguments: str) -> None:
    body = chat_calls(chat_call(arguments))
    decision = read("chat_completions", body, offer(tool("look", schema)), profile="openai", strict=strict)
    assert decision.calls[0].raw_arguments == arguments
    assert "null_for_absent" not in decision.warnings


def test_nulls_inside_nested_objects() -> None:
    original = obj({"to": obj({"street": {"type": "string"}, "flat": {"type": "string"}}, "street")})
    sent, _ = translate(original, rules_named("openai_strict"), "t")
    arguments = {"to": {"street": "Brivibas", "flat": None}}
    assert without_added_nulls(arguments, original, sent) == {"to": {"street": "Brivibas"}}


SCALARS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {"type": "string", "enum": ["a", "b"]},
        {"type": ["number", "null"]},
        {"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "boolean"}]},
        {"type": "string", "format": "email", "default": "a@b.c"},
    ]
)


def _objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["a", "b", "c"])
    return st.builds(
        lambda properties, required: obj(properties, *sorted(set(required) & set(properties))),
        st.dictionaries(names, inner, max_size=3),
        st.lists(names),
    )


SCHEMAS = _objects(
    st.recursive(
        SCALARS, lambda s: _objects(s) | s.map(lambda x: {"type": "array", "items": x}), max_leaves=6
    )
)


@given(SCHEMAS, st.sampled_from([None, *STRICT, "ollama", "gemini"]))
def test_translation_changes_nothing_in_place_and_is_stable(schema: dict[str, Any], name: str | None) -> None:
    before = deepcopy(schema)
    once, losses = translate(schema, rules_named(name), "t")
    assert schema == before
    assert losses or once == schema
    again, _ = translate(once, rules_named(name), "t")
    assert again == once


def every_object(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for child in node.values():
            yield from every_object(child)
    elif isinstance(node, list):
        for child in node:
            yield from every_object(child)


@given(SCHEMAS)
def test_openai_strict_schemas_keep_the_rules_of_strict_mode(schema: dict[str, Any]) -> None:
    sent, _ = translate(schema, rules_named("openai_strict"), "t")
    for node in every_object(sent):
        assert node["additionalProperties"] is False
        assert set(node["required"]) == set(node["properties"])


UNIT = {"type": "string", "enum": ["c", "f"]}
FILTER = {"type": "object", "properties": {"op": {"enum": ["eq"]}}}


@pytest.mark.parametrize("rules", [None, *STRICT, "openai", "anthropic", "ollama", "gemini"])
@pytest.mark.parametrize(
    "inside",
    [
        {"allOf": [{"$ref": "#/definitions/Unit"}]},
        {"oneOf": [{"$ref": "#/definitions/Unit"}, {"type": "null"}]},
        {"anyOf": [{"$ref": "#/definitions/Unit"}, {"type": "null"}]},
        {"not": {"$ref": "#/definitions/Unit"}},
        {"type": "object", "additionalProperties": {"$ref": "#/definitions/Filter"}},
        {"type": "array", "prefixItems": [{"$ref": "#/definitions/Unit"}], "items": False},
        {"type": "array", "items": {"$ref": "#/definitions/Filter"}},
    ],
    ids=lambda schema: next(key for key in schema if key != "type"),
)
def test_no_wire_is_sent_a_reference_without_its_target(rules: str | None, inside: dict[str, Any]) -> None:
    schema = {**obj({"odd": inside}), "definitions": {"Unit": UNIT, "Filter": FILTER}}
    sent, _ = translate(schema, rules_named(rules), "t")
    assert "$ref" not in json.dumps(sent)
    assert "definitions" not in sent
