"""A new suite from tools of one's own, and its drafts: made by rules, marked, neither run nor counted."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.authoring.importing.support import files, write
from toolbench.authoring.importing import draft_cases, ground_of, read_source
from toolbench.authoring.importing.samples import of_pattern, sample
from toolbench.authoring.lint import lint
from toolbench.cli import main
from toolbench.domain.case import Case
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.log import RunLog
from toolbench.domain.suite import Suite, find_suite
from toolbench.domain.validation import build_validator


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def tool(name: str, required: list[str], **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": f"It does {name}.", "parameters": schema}


ORDER = {"type": "string", "pattern": "^ORD-[0-9]{6}$", "description": "Such as `ORD-123456`."}
TOOLS = [
    tool("get_order", ["order_id"], order_id=ORDER),
    tool(
        "cancel_order", ["order_id", "reason"],
        order_id=ORDER, reason={"type": "string", "enum": ["late", "other"]},
    ),
    tool("quote", ["weight_kg"], weight_kg={"type": "number", "exclusiveMinimum": 0, "maximum": 1000}),
]  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tools.json", TOOLS)
    write(tmp_path / "config.json", {"runs": [], "suites": ["shop"], "repetitions": 1})
    return tmp_path


def made(here: Path, lang: str = "en") -> Suite:
    result = invoke("new", "shop", "--from", "openai-tools:tools.json", "--lang", lang)
    assert result.exit_code == 0, result.output
    return find_suite(here, "shop")


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_ten_drafts_show_every_rule_and_pass_lint(lang: str, here: Path) -> None:
    suite = made(here, lang)
    assert len(suite.cases) == 10
    assert {case.klass for case in suite.cases} == {
        "complete", "missing_argument", "forbidden_write", "neighbour", "boundary",
    }  # fmt: skip
    assert all(case.draft for case in suite.cases)
    assert suite.langs == (lang,)
    assert lint([here / "contracts"]) == []


def test_a_draft_expects_what_its_rule_says(here: Path) -> None:
    ground = ground_of(read_source("openai-tools:tools.json"), "shop")
    cases = {case["id"]: Case.from_json(case) for case in draft_cases(ground, most=100)[0]}
    assert len(cases) == 3 + 3 + 1 + 3 + 2
    missing = cases["quote.missing_argument"]
    assert (missing.expect.kinds, missing.expect.missing_fields) == (("clarification",), ["weight_kg"])
    boundary = cases["quote.boundary"]
    assert boundary.expect.calls[0].arguments == {"weight_kg": 1000}
    forbidden = cases["cancel_order.forbidden_write"]
    assert (forbidden.expect.must_not_call, forbidden.expect.forbidden_tools) == (True, ["cancel_order"])
    neighbour = cases["cancel_order.neighbour"]
    assert [call.tool for call in neighbour.expect.calls] == ["get_order"]
    assert neighbour.expect.forbidden_tools == ["cancel_order"]
    assert "ORD-123456" in cases["get_order.complete"].user_texts[0]


def test_many_tools_do_not_crowd_out_the_rules(here: Path) -> None:
    many = [
        tool(f"delete_{word}", ["count"], count={"type": "integer", "maximum": 9})
        for word in "abcdefghijklmno"
    ]
    write(here / "tools.json", many)
    assert len(Counter(case.klass for case in made(here).cases)) == 5


def test_drafts_are_neither_run_nor_planned_until_their_mark_is_deleted(here: Path) -> None:
    suite = made(here)
    assert [BUILT_IN_CONDITIONS["auto"].admits(case) for case in suite.cases] == [False] * 10
    refused = invoke("run", "--config", "config.json", "--output", "run")
    assert refused.exit_code == 2
    assert "10 drafts wait until somebody deletes their mark" in refused.output
    path = here / "cases/shop.en.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    del lines[0]["draft"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    played = invoke("run", "--config", "config.json", "--output", "run")
    assert played.exit_code == 0, played.output
    assert {key.case_id for key in RunLog.open(here / "run").header.plan()} == {lines[0]["id"]}
    assert invoke("score", "run", "--json").exit_code == 0


def test_a_tool_that_must_be_confirmed_is_confirmed_where_its_call_is_right(here: Path) -> None:
    write(here / "tools.json", [{**TOOLS[1], "confirmation": True}])
    cases = {case.klass: case for case in made(here).cases}
    assert cases["complete"].policy.confirmed == ["cancel_order"]
    assert "neighbour" not in cases


def test_a_tool_whose_arguments_nobody_can_make_up_is_named(here: Path) -> None:
    odd = tool("get_odd", ["a"], a={"type": "string", "pattern": "^(?=.*[0-9])(?!.*a)[b-z]{3}1$"})
    write(here / "tools.json", [odd, TOOLS[0]])
    result = invoke("new", "shop", "--from", "openai-tools:tools.json")
    assert result.exit_code == 0, result.output
    assert "get_odd: no call of it was drafted" in result.stderr


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("soap:x", "no source that is known"),
        ("openai-tools:absent.json", "no such file"),
        ("python:no_such_module_here", "ModuleNotFoundError"),
        ("openapi:config.json", "no OpenAPI 3 document"),
    ],
)
def test_bad_sources_are_one_line_and_leave_nothing(source: str, said: str, here: Path) -> None:
    there = files(here)
    result = invoke("new", "shop", "--from", source)
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert said in result.output
    assert files(here) == there


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^[A-Z]{2}\\d{3}(-x|-y)?$"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "minLength": 30},
        {"type": "string", "maxLength": 4},
        {"type": "integer", "minimum": 10, "multipleOf": 4},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "integer", "maximum": -5},
        {"type": ["null", "boolean"]},
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 2},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"type": "object", "properties": {"b": {"const": 3}}, "required": ["b"]}},
        },
    ],
)
def test_a_sample_fits_its_schema(schema: dict[str, Any]) -> None:
    assert list(build_validator(schema, "s").iter_errors(sample(schema))) == []


def test_a_schema_that_needs_itself_for_ever_ends() -> None:
    endless = {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}
    assert isinstance(sample(endless), dict)
    round_and_round = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    sample(round_and_round)
    assert of_pattern("^(a|b){3}c*$") == "aaa"
