"""report.json and errors.csv: complete, stable to the byte, harmless to open."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.numbers.support import PRICE, failed, renamed, value
from toolbench.domain.canonical import sha256
from toolbench.domain.files import schema_validator
from toolbench.numbers.definitions import RATES
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.gates import default_gates
from toolbench.numbers.metrics import metrics
from toolbench.numbers.outputs import _stable, errors_csv, report_json, report_text, safe_cell
from toolbench.numbers.rows import GROUP


@pytest.fixture(scope="module")
def report(priced: ScoredRun) -> dict[str, Any]:
    return report_json(priced)


def result(report: dict[str, Any], **where: str) -> dict[str, Any]:
    (found,) = (r for r in report["results"] if all(r[name] == wanted for name, wanted in where.items()))
    return dict(found)


def test_the_report_fits_its_schema(report: dict[str, Any]) -> None:
    schema_validator("report").validate(json.loads(json.dumps(report)))


def test_a_report_with_gates_fits_its_schema(base_run: Path, tmp_path: Path) -> None:
    gates = default_gates()

    def fix(header: dict[str, Any]) -> dict[str, Any]:
        return {**header, "gates": gates, "hashes": {**header["hashes"], "gates": sha256(gates)}}

    scored = load_run(renamed(base_run, tmp_path / "g", {"keyword_router": "m"}, PRICE, header=fix))
    made = report_json(scored)
    schema_validator("report").validate(made)
    assert made["gates"]["hash"] == sha256(gates)
    assert made["gates"]["changed_after_run"] is False
    assert len(made["gates"]["results"]) == len(gates["gates"]) * 4


def test_computed_twice_it_is_equal_to_the_byte(priced_run: Path, priced: ScoredRun) -> None:
    assert report_text(load_run(priced_run)) == report_text(priced)
    assert errors_csv(load_run(priced_run)) == errors_csv(priced)


def test_the_order_in_which_attempts_ended_changes_nothing(priced_run: Path, tmp_path: Path) -> None:
    first, *rest = (priced_run / "attempts.jsonl").read_text().splitlines()
    random.Random(3).shuffle(rest)
    (tmp_path / "attempts.jsonl").write_text("\n".join([first, *rest]) + "\n")
    assert report_text(load_run(tmp_path)) == report_text(load_run(priced_run))


def test_every_result_has_every_metric_as_the_metrics_function_gives_it(
    report: dict[str, Any], priced: ScoredRun
) -> None:
    figures = metrics(priced.attempts, planned=priced.planned)
    where = {"model": "cheap", "lang": "ru", "condition": "reversed"}
    mine = result(report, **where)
    for rate in RATES:
        figure = mine["metrics"][rate.name]
        for column in ("value", "numerator", "denominator", "ci_low", "ci_high"):
            wanted = value(figures, rate.name, column, **where)
            assert figure[column] == (None if wanted != wanted else pytest.approx(wanted, rel=1e-8))
    assert mine["attempted"] == mine["scored"] == mine["planned"] == 27
    assert mine["transport_errors"] == mine["unsupported"] == mine["budget_stops"] == 0


def test_there_is_one_result_per_model_language_and_condition(report: dict[str, Any]) -> None:
    keys = [tuple(r[name] for name in GROUP) for r in report["results"]]
    assert len(keys) == len(set(keys)) == 6 * 2 * 3


def test_a_missing_figure_is_null_and_never_zero(report: dict[str, Any]) -> None:
    silent = result(report, model="always_silent", lang="en", condition="auto")
    validity = silent["metrics"]["raw_schema_validity"]
    assert validity["value"] is None
    assert validity["denominator"] == 0
    assert silent["metrics"]["cost_per_completed"]["value"] is None


def test_what_was_planned_and_never_run_is_there_as_null(priced_run: Path, tmp_path: Path) -> None:
    lines = (priced_run / "attempts.jsonl").read_text().splitlines()
    kept = [line for line in lines if '"case_id": "direct_lookup"' not in line or '"type": "run"' in line]
    (tmp_path / "attempts.jsonl").write_text("\n".join(kept) + "\n")
    scored = load_run(tmp_path)
    mine = result(report_json(scored), model="strong", lang="en", condition="auto")
    never = mine["breakdowns"]["class"]["direct_lookup"]
    assert never["pass_rate"]["value"] is None
    assert never["coverage"]["value"] == 0
    assert mine["metrics"]["coverage"]["value"] == pytest.approx(24 / 27)
    assert report_json(scored)["made"] == len(kept) - 1


def test_findings_are_counted_per_attempt(report: dict[str, Any], priced: ScoredRun) -> None:
    where = {"model": "cheap", "lang": "en", "condition": "auto"}
    mine = priced.attempts[(priced.attempts[list(where)] == list(where.values())).all(axis=1)]
    wanted = sum("unsafe_call" in codes for codes in mine["codes"])
    assert result(report, **where)["failures"]["unsafe_call"] == wanted > 0


def test_no_clock_and_no_path_is_in_the_report(priced: ScoredRun, priced_run: Path) -> None:
    text = report_text(priced)
    assert str(priced_run.parent) not in text


def test_log_and_report_hold_letters_as_letters_and_hide_nothing(base_run: Path, tmp_path: Path) -> None:
    log = (base_run / "attempts.jsonl").read_text("utf-8")
    assert "заказ" in log
    assert "\\u0437" not in log

    def labelled(header: dict[str, Any]) -> dict[str, Any]:
        return {**header, "labels": {"кто": "Маша\u202e\u200b\U000e0041"}}

    scored = load_run(renamed(base_run, tmp_path / "named", {"keyword_router": "m"}, header=labelled))
    text = report_text(scored)
    assert '"кто": "Маша\\u202e\\u200b\\udb40\\udc41"' in text
    assert json.loads(text)["labels"] == {"кто": "Маша\u202e\u200b\U000e0041"}
    text.encode()


def test_a_run_that_has_not_begun_has_a_report(priced_run: Path, tmp_path: Path) -> None:
    first = (priced_run / "attempts.jsonl").read_text().splitlines()[0]
    (tmp_path / "attempts.jsonl").write_text(first + "\n")
    scored = load_run(tmp_path)
    made = report_json(scored)
    schema_validator("report").validate(made)
    assert made["made"] == 0
    assert all(result["metrics"]["pass_rate"]["value"] is None for result in made["results"])
    assert errors_csv(scored).count("\n") == 1


def test_prices_are_there_with_their_date(report: dict[str, Any]) -> None:
    prices = {entry["model"]: entry["price"] for entry in report["prices"]}
    assert prices["strong"]["date"] == "2026-11-30"
    assert prices["keyword_router"] is None


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_there_is_one_line_per_finding_with_the_columns_of_the_spec(priced: ScoredRun) -> None:
    text = errors_csv(priced)
    assert text.startswith("provider,model,case_id,attempt,error_code,expected,actual,")
    assert len(rows_of(text)) == len(priced.findings)
    assert len(text.splitlines()) == len(priced.findings) + 1
    assert {row["attempt"] for row in rows_of(text)} == {"1", "2", "3"}
    assert {row["protocol"] for row in rows_of(text)} >= {"chat_completions"}
    assert errors_csv(priced, bom=True) == "\ufeff" + text


def test_counts_in_the_report_are_exact() -> None:
    assert _stable({"tokens": 12_345_678_901.0, "share": 1 / 3}) == {
        "tokens": 12_345_678_901,
        "share": 0.333333333,
    }


def test_attempts_without_a_score_are_listed_apart(base_run: Path, tmp_path: Path) -> None:
    scored = load_run(renamed(base_run, tmp_path / "down", {"keyword_router": "down"}, None, failed))
    mine = [row for row in rows_of(errors_csv(scored)) if row["model"] == "down"]
    assert len(mine) == (scored.attempts["model"] == "down").sum() > 0
    assert {row["error_code"] for row in mine} == {"transport_error"}
    assert {row["actual"] for row in mine} == {"overloaded"}
    assert {row["reason"] for row in mine} == {"HTTP 503: try later"}


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        pytest.param("=1+1", "'=1+1", id="equals"),
        pytest.param("+1", "'+1", id="plus"),
        pytest.param("-1", "-1", id="negative number"),
        pytest.param("-2.5", "-2.5", id="negative fraction"),
        pytest.param("-1+cmd", "'-1+cmd", id="minus"),
        pytest.param("a;=1+1;b; @x", "a;'=1+1;b;' @x", id="behind a semicolon"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="at"),
        pytest.param("\t=1", "'\\t=1", id="tab"),
        pytest.param("\r=1", "'\\r=1", id="carriage return"),
        pytest.param("  =1", "'  =1", id="blanks first"),
        pytest.param("\uff1d1", "'\uff1d1", id="fullwidth equals"),
        pytest.param("a\nb", "a\\nb", id="newline inside"),
        pytest.param("a\u2028b", "a\\u2028b", id="line separator"),
        pytest.param("\ud800", "\\ud800", id="lone surrogate"),
        pytest.param("a\u202eb\u200b\ufeff", "a\\u202eb\\u200b\\ufeff", id="direction and width"),
        pytest.param("\U000e0041", "\\U000e0041", id="tag"),
        pytest.param('say "hi", ok', 'say "hi", ok', id="quotes and commas"),
        pytest.param("2,5 кг", "2,5 кг", id="Russian"),
        pytest.param(None, "", id="missing"),
        pytest.param(3, "3", id="number"),
    ],
)
def test_no_cell_is_a_formula_or_breaks_a_line(text: object, cell: str) -> None:
    assert safe_cell(text) == cell


@given(st.text(st.characters(codec=None)))
def test_any_text_becomes_one_harmless_line(text: str) -> None:
    cell = safe_cell(text)
    assert len(cell.splitlines()) <= 1
    assert not cell.strip().startswith(("=", "+", "-", "@"))
    cell.encode()


def test_hostile_model_text_reaches_the_file_as_text(base_run: Path, tmp_path: Path) -> None:
    hostile = '=HYPERLINK("http://x","y")\n<script>'

    def say(attempt: dict[str, Any]) -> dict[str, Any]:
        turns = attempt["turns"]
        for turn in turns:
            turn["decision"] |= {"text": hostile, "calls": [], "kind": "text"}
        return {**attempt, "turns": turns[:1], "calls": []}

    scored = load_run(renamed(base_run, tmp_path / "evil", {"keyword_router": "evil"}, None, say))
    text = errors_csv(scored)
    cells = [cell for row in rows_of(text) for cell in row.values()]
    assert any("HYPERLINK" in cell for cell in cells)
    assert not any(cell.startswith("=") for cell in cells)
    assert len(text.splitlines()) == len(rows_of(text)) + 1
