"""Every single fault of an argument object produces exactly the code that belongs to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolbench.authoring.mutate import BAD_FORMATS, Mutation, mutate_arguments
from toolbench.domain.contract import Contract, ToolSpec
from toolbench.domain.suite import find_suite

ROOT = Path(__file__).parents[2]

GOOD_FORMATS = {
    "date": "2026-01-31",
    "time": "10:00:00Z",
    "date-time": "2026-01-31T10:00:00Z",
    "email": "ann@example.org",
    "idn-email": "ann@example.org",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/a",
}

EVERYTHING = ToolSpec.from_json(
    {
        "name": "everything",
        "description": "One argument of each sort",
        "effect": "read",
        "parameters": {
            "type": "object",
            "required": ["count"],
            "additionalProperties": False,
            "$defs": {
                "item": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string", "minLength": 2, "maxLength": 5}},
                }
            },
            "properties": {
                "count": {"type": "integer", "minimum": 1, "maximum": 3},
                "items": {"type": "array", "minItems": 2, "maxItems": 3, "items": {"$ref": "#/$defs/item"}},
                "labels": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
                "level": {"type": "integer", "enum": [1, 2]},
                "share": {"type": "number", "multipleOf": 0.1, "exclusiveMaximum": 5},
                "flag": {"type": "boolean"},
                "extra": {"type": "object"},
                "note": {"type": ["string", "null"], "maxLength": 3},
                "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                **{f"of_{name}": {"type": "string", "format": name} for name in GOOD_FORMATS},
            },
        },
    }
)
VALID: dict[str, Any] = {
    "count": 2,
    "items": [{"name": "abc"}, {"name": "abd"}],
    "labels": ["a"],
    "level": 1,
    "share": 0.3,
    "flag": True,
    "extra": {},
    "note": "a",
    "code": "ABC",
    "either": "x",
    **{f"of_{name}": value for name, value in GOOD_FORMATS.items()},
}


def mutations_of_shipped_gold() -> list[Any]:
    """One set of mutations for each tool of each shipped suite, from the first case that expects it."""
    found = []
    for folder in sorted((ROOT / "contracts").glob("*/")):
        contract = Contract.load(folder / "tools.json")
        gold = {
            call.tool: call.arguments
            for case in reversed(find_suite(ROOT, folder.name).cases)
            for call in case.expect.calls
        }
        for name, arguments in gold.items():
            found += [
                pytest.param(contract.by_name[name], mutation, id=f"{name}-{mutation.kind}-{mutation.path}")
                for mutation in mutate_arguments(contract.by_name[name], arguments)
            ]
    return found


@pytest.mark.parametrize(("tool", "mutation"), mutations_of_shipped_gold())
def test_a_fault_of_a_shipped_tool_has_its_code(tool: ToolSpec, mutation: Mutation) -> None:
    assert {issue.code for issue in tool.issues(mutation.arguments)} == mutation.expected_codes


@pytest.mark.parametrize(
    "mutation",
    [pytest.param(m, id=f"{m.kind}-{m.path}") for m in mutate_arguments(EVERYTHING, VALID)],
)
def test_a_fault_of_any_schema_has_its_code(mutation: Mutation) -> None:
    assert {issue.code for issue in EVERYTHING.issues(mutation.arguments)} == mutation.expected_codes


def test_every_kind_of_fault_is_made() -> None:
    assert not EVERYTHING.issues(VALID)
    assert {mutation.kind for mutation in mutate_arguments(EVERYTHING, VALID)} >= {
        "drop_required",
        "unknown_property",
        "wrong_type",
        "number_as_string",
        "null",
        "empty",
        "out_of_enum",
        "below_minimum",
        "above_maximum",
        "at_exclusive_maximum",
        "bad_pattern",
        "bad_format",
        "too_short",
        "too_long",
        "duplicate_item",
    }
    assert BAD_FORMATS.keys() == GOOD_FORMATS.keys()


def test_nested_values_are_reached() -> None:
    paths = {mutation.path for mutation in mutate_arguments(EVERYTHING, VALID)}
    assert "$.items[0].name" in paths


def test_the_given_arguments_are_left_alone() -> None:
    before = repr(VALID)
    list(mutate_arguments(EVERYTHING, VALID))
    assert repr(VALID) == before


def test_a_nullable_value_has_no_null_fault_and_a_combinator_none_at_all() -> None:
    found = {(mutation.path, mutation.kind) for mutation in mutate_arguments(EVERYTHING, VALID)}
    assert ("$.note", "null") not in found
    assert not any(path == "$.either" for path, _ in found)
