import subprocess
import sys
from typing import Any

import pytest

from tests.support import ROOT
from toolbench.domain.validation import argument_issues, build_validator, portable_regex
from toolbench.errors import SuiteError


def issues(schema: dict[str, Any], value: Any) -> list[tuple[str, str]]:
    return [(issue.code, issue.path) for issue in argument_issues(build_validator(schema, "t"), value)]


def of_property(schema: dict[str, Any], value: Any) -> list[str]:
    whole = {"type": "object", "properties": {"v": schema}}
    return [code for code, _ in issues(whole, {"v": value})]


@pytest.mark.parametrize(
    ("schema", "value", "codes"),
    [
        pytest.param({"type": "number"}, "5", ["wrong_type"], id="text-for-number"),
        pytest.param({"type": "number", "maximum": 100}, 300, ["out_of_range"], id="too-large"),
        pytest.param({"type": "number", "exclusiveMinimum": 0}, 0, ["out_of_range"], id="on-the-open-bound"),
        pytest.param({"type": "string", "enum": ["a", "b"]}, "c", ["not_in_enum"], id="outside-enum"),
        pytest.param(
            {"type": "string", "enum": ["a"]}, 1, ["wrong_type"], id="wrong-type-in-enum-is-one-fault"
        ),
        pytest.param(
            {"type": "string", "pattern": "^ORD-[0-9]{6}$"}, "123", ["pattern_mismatch"], id="pattern"
        ),
        pytest.param({"type": "string", "minLength": 10}, "short", ["too_short"], id="too-short"),
        pytest.param({"type": "string", "maxLength": 2}, "long", ["too_long"], id="too-long"),
        pytest.param({"type": "string", "minLength": 1}, "", ["empty_value"], id="empty"),
        pytest.param(
            {"type": "string", "pattern": "^x$", "minLength": 1}, "", ["empty_value"], id="empty-is-one-fault"
        ),
        pytest.param({"type": "string"}, None, ["null_value"], id="null"),
        pytest.param({"type": "array", "uniqueItems": True}, [1, 1], ["duplicate_item"], id="twice"),
        pytest.param({"type": "string", "format": "date-time"}, "20-04", ["bad_format"], id="date-time"),
        pytest.param({"type": "string", "format": "uuid"}, "nope", ["bad_format"], id="uuid"),
        pytest.param({"type": "array", "items": {"type": "number"}}, [12, 15], [], id="integers-are-numbers"),
        pytest.param({"type": "integer"}, 1.0, [], id="1.0-is-an-integer"),
        pytest.param({"type": "integer"}, True, ["wrong_type"], id="true-is-no-integer"),
        pytest.param({"multipleOf": 0.1}, 10.1, [], id="multiple-in-decimal"),
        pytest.param({"multipleOf": 0.1}, 10.15, ["out_of_range"], id="no-multiple"),
        pytest.param({"enum": [1]}, True, ["not_in_enum"], id="true-is-not-1"),
        pytest.param({"pattern": "^[A-Z]{2}$"}, "LV\n", ["pattern_mismatch"], id="no-newline-at-the-end"),
        pytest.param({"pattern": "^\\d$"}, "\uff15", ["pattern_mismatch"], id="ascii-digits-only"),
        pytest.param({"anyOf": [{"type": "number"}, {"type": "null"}]}, "x", ["wrong_type"], id="any-of"),
    ],
)
def test_each_fault_has_its_own_code(schema: dict[str, Any], value: Any, codes: list[str]) -> None:
    assert of_property(schema, value) == codes


def test_missing_and_unexpected_properties_are_named_one_by_one() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert issues(schema, {"x": 1, "y": 2}) == [
        ("missing_required", "$.a"),
        ("missing_required", "$.b"),
        ("unexpected_property", "$.x"),
        ("unexpected_property", "$.y"),
    ]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        pytest.param(
            {"type": "object", "properties": {"a": {"minimum": "2"}}}, "not a valid JSON Schema", id="bound"
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"pattern": "("}}}, "regular expression", id="regex"
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"pattern": "^\\p{L}+$"}}}, "not portable", id="unicode"
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"pattern": "(?i)x"}}}, "not portable", id="flag"
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"format": "phone"}}}, "not checked here", id="format"
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}, "leaves", id="remote-ref"
        ),
    ],
)
def test_an_unusable_schema_is_the_suites_fault_and_found_at_load(
    schema: dict[str, Any], message: str
) -> None:
    with pytest.raises(SuiteError, match=message):
        build_validator(schema, "tools.json: tool t")


def test_dollar_inside_a_class_or_escaped_stays_itself() -> None:
    assert portable_regex(r"^[$]\$$").search("$$")
    assert not portable_regex(r"^[$]\$$").search("$$\n")


def test_the_grammar_of_international_addresses_is_built_when_a_format_asks_for_it() -> None:
    script = """
import sys
from toolbench.domain.validation import argument_issues, build_validator
assert "rfc3987_syntax" not in sys.modules
validator = build_validator({"type": "string", "format": "iri"}, "here")
for value in ("no address", "http://пример.рф/а"):
    print([issue.code for issue in argument_issues(validator, value)])
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines() == ["['bad_format']", "[]"]
