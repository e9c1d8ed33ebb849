"""Cases and configurations of other benches: the course's own files run after one command each."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from tests.authoring.importing.support import ORDER, files, import_, write
from toolbench.authoring.importing import cases_of
from toolbench.authoring.lint import lint
from toolbench.cli import main
from toolbench.domain.log import RunLog

TOOLS = [
    {"name": "get_order", "description": "Return an order.", "parameters": ORDER},
    {"name": "cancel_order", "description": "Cancel an order.", "parameters": ORDER},
]
ARGUMENTS = {"order_id": "ORD-123456"}
ROUTING = [
    {"id": "direct", "user": "Где заказ ORD-123456?",
     "expect": {"kind": "tool_call", "tool": "get_order", "arguments": ARGUMENTS}},
    {"id": "missing", "user": "Where is my order?",
     "expect": {"kind": "text", "must_not_call": True, "contains_any": ["number", "ORD-"]}},
]  # fmt: skip
TICKET = """{
«case_id»: «order_missing_017»,
«user_input»: «Отмени мой заказ»,
«available_tools»: [«cancel_order»],
«expected»: {
«action»: «ask_clarification»,
«missing_fields»: [«order_id»],
«forbidden_tools»: [«cancel_order»]
}
}
"""
CONFIG = {
    "runs": [
        {"provider": "a", "model": "REPLACE_WITH_MODEL_ID", "base_url": "REPLACE_WITH_PROVIDER_ENDPOINT"},
        {"provider": "b", "model": "m-1", "base_url": "http://127.0.0.1:9/v1"},
    ],
    "temperature": 0,
    "max_output_tokens": 500,
    "repetitions": 3,
    "parallelism": 1,
    "colour": "red",
}  # fmt: skip


def lines(rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def cases(root: Path, name: str = "shop") -> dict[str, dict[str, Any]]:
    found = [
        json.loads(line)
        for path in sorted((root / "cases").glob(f"{name}.*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return {case["id"]: case for case in found}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tools.json", TOOLS)
    return tmp_path


def test_the_courses_tools_cases_and_configuration_run_after_one_command_each(here: Path) -> None:
    write(here / "theirs.json", {**CONFIG, "runs": CONFIG["runs"][:1]})
    write(here / "theirs.jsonl", lines(ROUTING))
    assert import_("openai-tools", "tools.json", "--name", "shop").exit_code == 0
    imported = import_("cases", "theirs.jsonl", "--suite", "shop")
    assert imported.exit_code == 0, imported.output
    assert files(here / "cases") == ["shop.en.jsonl", "shop.ru.jsonl"]
    configured = import_("config", "theirs.json", "--suite", "shop")
    assert configured.exit_code == 0
    assert "runs[0]: left out: model and base_url still hold a placeholder" in configured.stderr
    assert "colour: left out" in configured.stderr
    played = CliRunner().invoke(main, ["run", "--config", "config.json", "--output", "runs/2026-08-01.jsonl"])
    assert played.exit_code == 0, played.output
    header = RunLog.open(here / "runs/2026-08-01").header
    assert header.config["repetitions"] == 3
    assert len(list(header.plan())) == 4 * 3 * 2


def test_routing_cases_keep_what_they_say(here: Path) -> None:
    write(here / "theirs.jsonl", lines(ROUTING))
    result = import_("cases", "theirs.jsonl", "--suite", "shop", "--tools", "tools.json")
    assert result.exit_code == 0, result.output
    assert cases(here)["direct"]["expect"] == {
        "kind": "tool_call", "calls": [{"tool": "get_order", "arguments": ARGUMENTS}],
    }  # fmt: skip
    assert cases(here)["missing"]["expect"] == {
        "kind": ["clarification", "text"], "must_not_call": True, "contains_any": ["number", "ORD-"],
    }  # fmt: skip
    assert "1 case: a text may be a question" in result.stderr


def test_ticket_cases_with_typographic_quotation_marks_are_read(here: Path) -> None:
    result = import_("cases", write(here / "t.jsonl", TICKET), "--suite", "shop", "--tools", "tools.json")
    assert result.exit_code == 0, result.output
    case = cases(here)["order_missing_017"]
    assert (case["lang"], case["tools"]) == ("ru", ["cancel_order"])
    assert case["expect"] == {
        "kind": "clarification", "missing_fields": ["order_id"], "forbidden_tools": ["cancel_order"],
    }  # fmt: skip
    assert "typographic quotation marks were read as straight ones" in result.stderr


def test_the_entry_of_a_configuration_gets_a_protocol_that_is_called_a_guess(here: Path) -> None:
    result = import_("config", write(here / "c.json", CONFIG), "--suite", "shop", "--to", "new.json")
    assert result.exit_code == 0
    made = json.loads((here / "new.json").read_text())
    assert [run["protocol"] for run in made["runs"]] == ["chat_completions"]
    assert made["defaults"] == {"temperature": 0, "max_output_tokens": 500}
    assert "runs[1]: protocol chat_completions is a guess" in result.stderr
    again = import_("config", "c.json", "--suite", "shop", "--to", "new.json")
    assert (again.exit_code, len(again.output.splitlines())) == (2, 1)


TABLE = """id,question,category,expected_tool,expected_arguments,notes
a,Where is ORD-123456?,Look Up,get_order,"{""order_id"": ""ORD-123456""}",x
b,Cancel ORD-654321,write,cancel_order,"{""order_id"": ""ORD-654321""}",y
"""


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_read(separator: str, here: Path) -> None:
    text = pd.read_csv(write(here / "c.csv", TABLE)).to_csv(index=False, sep=separator)
    path = write(here / ("c.tsv" if separator == "\t" else "c.csv"), text)
    result = import_("cases", path, "--suite", "shop", "--tools", "tools.json")
    assert result.exit_code == 0, result.output
    assert [case["class"] for case in cases(here).values()] == ["look_up", "write"]
    assert cases(here)["b"]["expect"]["calls"][0]["arguments"] == {"order_id": "ORD-654321"}
    assert "notes: left out in 2 cases" in result.stderr


def test_a_frame_is_read_and_empty_cells_are_nothing() -> None:
    frame = pd.DataFrame(
        {
            "user": ["Where is ORD-123456?", "Hello"],
            "tool": ["get_order", None],
            "arguments": [ARGUMENTS, float("nan")],
            "action": [None, "answer"],
        }
    )
    made = cases_of(frame.to_dict("records"), ["get_order"]).cases
    assert [case["id"] for case in made] == ["case_1", "case_2"]
    assert [case["expect"]["kind"] for case in made] == ["tool_call", ["clarification", "text"]]


def test_calls_in_openais_shape_histories_and_odd_ids_are_read() -> None:
    call = {"type": "function", "function": {"name": "get_order", "arguments": json.dumps(ARGUMENTS)}}
    rows = [
        {
            "name": "№ 1: first/second",
            "messages": [
                {"role": "system", "content": "Be good."},
                {"role": "user", "content": "Where is ORD-123456?"},
            ],
            "expected": {"tool_calls": [call]},
        },
        {"name": "№ 1: first/second", "user": "Hi", "expect": {"kind": "refusal"}},
    ]
    read = cases_of(rows, ["get_order"])
    assert [case["id"] for case in read.cases] == ["1_first_second", "1_first_second.2"]
    assert read.cases[0]["messages"] == [{"role": "user", "content": "Where is ORD-123456?"}]
    assert read.cases[0]["expect"]["calls"] == [{"tool": "get_order", "arguments": ARGUMENTS}]
    assert any("neither the user's nor the assistant's" in remark for remark in read.remarks)


def test_a_case_that_says_nothing_usable_is_left_out_by_name() -> None:
    good = {"user": "Hi", "expect": {"kind": "text"}}
    rows = [
        good,
        {"id": "vague", "user": "Hi"},
        {"id": "mute", "expect": {"kind": "text"}},
        {"id": "odd", "user": "Hi", "expect": {"kind": "dance"}},
        {"id": "torn", "user": "Hi", "tool": "get_order", "arguments": "{order"},
    ]
    read = cases_of(rows, ["get_order"], where="x.csv")
    assert [case["id"] for case in read.cases] == ["case_1"]
    for said in (
        "x.csv: case vague: left out: it says neither which call",
        "x.csv: case mute: left out: no input",
        "x.csv: case odd: left out: 'dance' is no kind of behaviour",
        "x.csv: case torn: left out: '{order' is not JSON",
    ):
        assert any(remark.startswith(said) for remark in read.remarks), read.remarks


BAD = {
    "a_missing_tool": (
        lines([{"id": "a", "user": "x", "tool": "get_ordr"}]),
        "case a: unknown tool 'get_ordr'",
    ),
    "not_json": ("{", "not valid JSON"),
    "a_list_of_texts": ('["a"]', "case 1: 'a' is no object"),
    "nothing_usable": (lines([{"user": "Hi"}]), "no case in it that could be used"),
    "empty": ("", "the file is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_cases_are_one_line_and_leave_nothing(name: str, here: Path) -> None:
    content, said = BAD[name]
    write(here / "c.jsonl", content)
    there = files(here)
    result = import_("cases", "c.jsonl", "--suite", "shop", "--tools", "tools.json")
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert said in result.output
    assert files(here) == there


def test_cases_never_replace_others_and_need_their_suite(here: Path) -> None:
    write(here / "c.jsonl", lines(ROUTING))
    absent = import_("cases", "c.jsonl", "--suite", "shop")
    assert (absent.exit_code, "no such file" in absent.output) == (2, True)
    assert import_("cases", "c.jsonl", "--suite", "shop", "--tools", "tools.json").exit_code == 0
    again = import_("cases", "c.jsonl", "--suite", "shop")
    assert again.exit_code == 2
    assert "is there already" in again.output


def test_what_lint_refuses_is_told_at_once(here: Path) -> None:
    invented = [{"id": "a", "user": "Where is it?", "tool": "get_order", "arguments": ARGUMENTS}]
    result = import_(
        "cases", write(here / "c.jsonl", lines(invented)), "--suite", "shop", "--tools", "tools.json"
    )
    assert result.exit_code == 1
    assert "'ORD-123456' cannot be derived" in result.stderr
    assert len(lint([here / "contracts"])) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("user,tool\na,b,c\n", ":2: more cells than the header has", id="a_cell_too_many"),
        pytest.param("user,tool\n", "a table needs a header and at least one row", id="no_row"),
        pytest.param('user\n"a', "not a CSV table", id="open_quotation"),
    ],
)
def test_a_torn_table_names_its_line(text: str, said: str, here: Path) -> None:
    result = import_("cases", write(here / "c.csv", text), "--suite", "shop", "--tools", "tools.json")
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert said in result.output
