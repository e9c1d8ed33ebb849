"""References inside a tool's schema: those that lead nowhere are named, wherever they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolbench.authoring.lint import lint
from toolbench.domain.contract import Contract
from toolbench.domain.validation import build_validator, dangling_references
from toolbench.errors import SuiteError

GONE = {"$ref": "#/$defs/Gone"}
PLACES: dict[str, tuple[Any, str]] = {
    "allOf": ({"allOf": [GONE]}, "allOf[0]"),
    "oneOf": ({"oneOf": [{"type": "null"}, GONE]}, "oneOf[1]"),
    "anyOf": ({"anyOf": [GONE]}, "anyOf[0]"),
    "not": ({"not": GONE}, "not"),
    "additionalProperties": ({"type": "object", "additionalProperties": GONE}, "additionalProperties"),
    "prefixItems": ({"type": "array", "prefixItems": [GONE]}, "prefixItems[0]"),
    "items": ({"type": "array", "items": GONE}, "items"),
    "a property called like a keyword": ({"properties": {"default": GONE}}, "properties.default"),
}


def parameters(inside: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"odd": inside}, **more}


@pytest.mark.parametrize("place", PLACES)
def test_lint_names_a_reference_that_leads_nowhere(tmp_path: Path, place: str) -> None:
    inside, where = PLACES[place]
    entry = {"name": "look", "description": "Looks.", "effect": "read", "parameters": parameters(inside)}
    folder = tmp_path / "contracts" / "s"
    folder.mkdir(parents=True)
    (folder / "tools.json").write_text(json.dumps({"version": "1", "tools": [entry]}, indent=1))
    (folder / "prompt.en.md").write_text("Be brief.")
    said = f"$.properties.odd.{where}.$ref: '#/$defs/Gone' leads nowhere in the schema"
    assert [problem for problem in lint([folder / "tools.json"]) if said in problem.reason]
    with pytest.raises(SuiteError, match="leads nowhere"):
        Contract.load(folder / "tools.json")


def test_every_one_of_several_is_named() -> None:
    schema = parameters({"allOf": [GONE, {"$ref": "#/$defs/There"}, {"$ref": "#/definitions/Lost"}]})
    schema["$defs"] = {"There": {"type": "string"}}
    assert [text for _, text in dangling_references(schema)] == ["#/$defs/Gone", "#/definitions/Lost"]
    with pytest.raises(SuiteError, match="'#/definitions/Lost' lead nowhere"):
        build_validator(schema, "here")


@pytest.mark.parametrize(
    "reference",
    ["#", "#/$defs/a~1b", "#/$defs/a%20c", "#/properties/odd/anyOf/0", "#name", "#/$defs/deep/items"],
)
def test_references_that_lead_somewhere_are_none_of_them(reference: str) -> None:
    schema = parameters({"anyOf": [{"type": "string"}, {"$ref": reference}]})
    schema["$defs"] = {
        "a/b": {},
        "a c": {"$anchor": "name"},
        "deep": {"type": "array", "items": {"type": "string"}},
    }
    assert list(dangling_references(schema)) == []
    build_validator(schema, "here")


def test_what_is_only_data_is_no_reference() -> None:
    assert list(dangling_references(parameters({"default": GONE, "enum": [GONE], "const": GONE}))) == []
