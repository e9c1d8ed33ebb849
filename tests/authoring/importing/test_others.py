"""Tests of promptfoo and samples of Inspect: what is about tools becomes cases, the rest is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.authoring.importing.support import ORDER, files, import_, write
from toolbench.domain.suite import Suite, find_suite

GET = {"name": "get_order", "description": "Get the state of an order.", "parameters": ORDER}
CANCEL = {"name": "cancel_order", "description": "Cancel an order.", "parameters": ORDER}
CONFIG = """
prompts:
  - "Please help: {{question}}"
  - "Second"
providers:
  - id: openai:chat:gpt-x
    config:
      tools: file://tools.json
defaultTest:
  assert:
    - type: is-valid-openai-tools-call
tests:
  - description: looks it up
    vars: {question: "Where is ORD-123456?"}
    assert:
      - {type: "trajectory:tool-used", value: get_order}
      - {type: "trajectory:tool-args-match", value: {name: get_order, args: {order_id: ORD-123456}}}
      - {type: "not-trajectory:tool-used", value: cancel_order}
      - {type: llm-rubric, value: is polite}
  - description: both
    vars: {question: "Where is ORD-123456? Cancel it."}
    assert:
      - {type: "trajectory:tool-sequence", value: {steps: [get_order, cancel_order]}}
  - description: set
    vars: {question: "Cancel ORD-123456"}
    assert:
      - {type: tool-call-f1, value: "cancel_order, get_order"}
  - description: only words
    vars: {question: "Hello"}
    assert:
      - {type: contains, value: Hi}
  - description: template
    vars: {other: "Hello"}
"""


def promptfoo(tmp_path: Path, config: str = CONFIG) -> Any:
    write(tmp_path / "tools.json", [{"type": "function", "function": tool} for tool in (GET, CANCEL)])
    file = write(tmp_path / "promptfooconfig.yaml", config)
    return import_("promptfoo", file, "--name", "shop", "--into", tmp_path / "bench")


def suite(tmp_path: Path) -> Suite:
    return find_suite(tmp_path / "bench", "shop")


def test_tests_of_promptfoo_that_name_tools_are_cases(tmp_path: Path) -> None:
    result = promptfoo(tmp_path)
    assert result.exit_code in (0, 1), result.output
    cases = {case.id: case for case in suite(tmp_path).cases}
    assert set(cases) == {"looks_it_up", "both", "set"}
    looked = cases["looks_it_up"]
    assert looked.user_texts == ("Please help: Where is ORD-123456?",)
    assert [dict(call.arguments) for call in looked.expect.calls] == [{"order_id": "ORD-123456"}]
    assert looked.expect.forbidden_tools == ["cancel_order"]
    both = cases["both"].expect
    assert ([call.tool for call in both.calls], both.order) == (["get_order", "cancel_order"], "strict")
    assert both.calls[0].optional == ["order_id"]
    assert [call.tool for call in cases["set"].expect.calls] == ["cancel_order", "get_order"]


@pytest.mark.parametrize(
    "remark",
    [
        "llm-rubric: left out",
        "contains: left out",
        "only words: left out: nothing in it is about tools",
        "template: left out: its prompt",
        "1 further prompts: left out",
    ],
)
def test_what_a_case_cannot_say_is_named(remark: str, tmp_path: Path) -> None:
    assert remark in promptfoo(tmp_path).output


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{", "not valid YAML"),
        ("[]", "no configuration of promptfoo"),
        ("tests: [1]", "no tool in it that could be used"),
        (CONFIG.replace("tools.json", "../../etc/passwd.json"), "only a JSON or YAML file beside it"),
        (CONFIG.replace("tools.json", "tools.py:make"), "only a JSON or YAML file beside it"),
        (CONFIG.replace("value: get_order}", "value: find_order}"), "unknown tool 'find_order'"),
        (
            CONFIG.partition("tests:")[0] + "tests: [{vars: {question: Hi}}]",
            "no test in it that is about tools",
        ),
        ("tests: !!python/object/apply:os.system ['true']", "not valid YAML"),
        ("a: &a [1]\nb: [*a, *a]\ntests: []", "aliases are not read"),
        ("tests: " + "[" * 5000, "not valid YAML"),
    ],
)
def test_a_file_that_is_none_is_told_in_one_line(config: str, said: str, tmp_path: Path) -> None:
    result = promptfoo(tmp_path, config)
    assert (result.exit_code, said in result.output, result.output.count("\n")) == (2, True, 1), result.output
    assert files(tmp_path / "bench") == []


def log(*samples: Any) -> dict[str, Any]:
    event = {"event": "model", "tools": [GET, CANCEL]}
    return {"eval": {"model": "openai/m"}, "samples": [{**one, "events": [event]} for one in samples]}


def test_samples_of_inspect_that_expect_a_call_are_cases(tmp_path: Path) -> None:
    right = {"expected_tool": "get_order", "expected_arguments": {"order_id": "ORD-123456"}}
    told = {"id": 1, "input": "Where is ORD-123456?", "target": "shipped", "metadata": right}
    words = {"id": 2, "input": "Hello", "target": "Hi", "metadata": {}}
    talk = {"id": 3, "input": [{"role": "user", "content": "And ORD-123456?"}], "metadata": right}
    file = write(tmp_path / "log.json", log(told, words, talk))
    result = import_("inspect", file, "--name", "shop", "--into", tmp_path / "bench")
    assert result.exit_code == 0, result.output
    assert "case 2: left out: it says neither which call nor which kind" in result.output
    assert [case.id for case in suite(tmp_path).cases] == ["1", "3"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"eval": {}}, "no log of Inspect"),
        ({"samples": [None]}, "no tools in it"),
        (log({"input": "Hello"}), "no case in it that could be used"),
    ],
)
def test_a_log_without_tools_or_expectations_is_told(value: Any, said: str, tmp_path: Path) -> None:
    result = import_("inspect", write(tmp_path / "log.json", json.dumps(value)), "--into", tmp_path / "bench")
    assert (result.exit_code, said in result.output, result.output.count("\n")) == (2, True, 1), result.output
