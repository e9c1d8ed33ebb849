"""The judge held against people, and figures that use what people say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.numbers.support import value
from toolbench.cli import main
from toolbench.domain import labels
from toolbench.domain.labels import LABELS_NAME, Said
from toolbench.domain.log import RunLog
from toolbench.domain.record import Attempt
from toolbench.errors import InputError
from toolbench.numbers.agreement import WHOLE, Cell, agreement
from toolbench.numbers.compare import compare
from toolbench.numbers.frames import load, load_run
from toolbench.numbers.intervals import wilson
from toolbench.numbers.metrics import metrics
from toolbench.numbers.outputs import report_json
from toolbench.numbers.signature import judge_version

ROUTER = {"model": "keyword_router", "lang": "en", "condition": "auto"}


@pytest.fixture
def run(base_run: Path, tmp_path: Path) -> Path:
    """A copy of the run, so that labels can stand beside it."""
    (tmp_path / "run").mkdir()
    shutil.copy(base_run / "attempts.jsonl", tmp_path / "run")
    return tmp_path / "run"


def attempts(run: Path, passed: bool) -> list[tuple[Attempt, Sequence[str]]]:
    """Return the router's English attempts that pass, or fail, with their codes."""
    frame = load_run(run).attempts.query("model == 'keyword_router' and lang == 'en' and condition == 'auto'")
    codes = {(row.case_id, row.repetition): row.codes for row in frame.itertuples() if row.passed == passed}
    mine = [one for one in RunLog.open(run).attempts if all(getattr(one, k) == v for k, v in ROUTER.items())]
    return [
        (one, codes[one.case_id, one.repetition]) for one in mine if (one.case_id, one.repetition) in codes
    ]


def say(run: Path, attempt: Attempt, code: str | None, verdict: Said, judge: str | None = None) -> None:
    said = labels.label(attempt, judge or judge_version(), code, verdict, who="Ada", note="seen")
    labels.append(run, said)


def test_misses_and_false_alarms_are_counted_by_language_and_code(run: Path) -> None:
    before = (run / "attempts.jsonl").read_bytes()
    right, wrong = attempts(run, passed=True), attempts(run, passed=False)
    say(run, right[0][0], None, "fail")
    say(run, right[1][0], None, "pass")
    failing, codes = wrong[0]
    for code in codes:
        say(run, failing, code, "pass")
    upheld, its = wrong[1]
    say(run, upheld, its[0], "fail")
    say(run, wrong[2][0], None, "unclear")
    found = agreement(run)
    assert found.problems == ()
    assert (found.labels, found.undecided) == (4 + len(codes), 1)
    cells = {(cell.lang, cell.code): cell for cell in found.cells}
    assert cells["en", WHOLE] == Cell("en", WHOLE, right=2, alarms=1, wrong=2, misses=1, review=0)
    assert sum(cell.alarms for (_, code), cell in cells.items() if code != WHOLE) == len(codes)
    assert sum(cell.misses for (_, code), cell in cells.items() if code != WHOLE) == 0
    assert (run / "attempts.jsonl").read_bytes() == before


def test_a_fault_that_a_person_names_and_the_judge_does_not_is_a_miss_of_that_code(run: Path) -> None:
    say(run, attempts(run, passed=True)[0][0], "false_success", "fail")
    assert [(cell.code, cell.wrong, cell.misses) for cell in agreement(run).cells] == [
        (WHOLE, 1, 1),
        ("false_success", 1, 1),
    ]


def test_wilsons_interval_is_the_published_one() -> None:
    # Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson(0, 0) is None


def test_the_command_prints_a_table_and_json(run: Path) -> None:
    say(run, attempts(run, passed=True)[0][0], None, "fail")
    told = CliRunner().invoke(main, ["agreement", str(run)])
    assert told.exit_code == 0, told.output
    assert "1/1 [20.7%, 100.0%]" in told.output
    data = json.loads(CliRunner().invoke(main, ["agreement", str(run), "--json"]).output)
    (cell,) = data["cells"]
    assert (cell["wrong"], cell["misses"], cell["alarms_interval"]) == (1, 1, None)
    assert cell["misses_interval"] == pytest.approx(wilson(1, 1))


def test_labels_that_cannot_be_used_are_named_a_line_each(run: Path) -> None:
    attempt = attempts(run, passed=True)[0][0]
    say(run, attempt, None, "pass")
    say(run, attempt, "no_such_code", "pass")
    say(run, attempt, "missing_fact", "pass", judge="1.1")
    with (run / LABELS_NAME).open("a") as file:
        file.write('{"verdict": "pass"\n')
    told = CliRunner().invoke(main, ["agreement", str(run)])
    assert told.exit_code == 1
    lines = told.stderr.splitlines()
    assert len(lines) == 3
    assert any("no_such_code" in line for line in lines)
    assert any("labels.jsonl:3: is about what judge 1.1 found" in line for line in lines)
    assert any("labels.jsonl:4: not valid JSON" in line for line in lines)
    assert "1/1" not in told.stdout.split("misses")[0]


def test_a_run_without_labels_says_what_to_do(run: Path) -> None:
    with pytest.raises(InputError, match="there are no labels"):
        agreement(run)
    told = CliRunner().invoke(main, ["agreement", str(run)])
    assert told.exit_code == 2


def test_figures_use_labels_when_asked_to_and_the_signature_says_so(run: Path) -> None:
    plain = load_run(run)
    right, wrong = attempts(run, passed=True), attempts(run, passed=False)
    say(run, right[0][0], None, "fail")
    for attempt, codes in wrong[:3]:
        for code in codes:
            say(run, attempt, code, "pass")
    again, used = load_run(run), load_run(run, labels=True)
    before, unused, after = (
        value(metrics(scored.attempts), "pass_rate", "numerator", **ROUTER) for scored in (plain, again, used)
    )
    assert before == unused
    assert after == before + 3 - 1
    lost = used.findings.query("code == 'judged_by_person'")
    assert list(lost["reason"]) == ["Ada says that it is wrong: seen"]
    lines = [report_json(scored)["results"][0]["signature"] for scored in (again, used)]  # type: ignore[index, call-overload]
    assert "|labels:none|" in lines[0]
    assert " by Ada@" in lines[1]
    with pytest.raises(InputError, match="labels: none against"):
        compare(again, used, factors=["model"])
    assert len(compare(again, used, factors=["labels"]).table) > 0
    assert load(run, labels=True)["passed"].sum() == used.attempts["passed"].sum()


def test_score_and_gate_take_labels(run: Path) -> None:
    say(run, attempts(run, passed=True)[0][0], None, "fail")
    plain, used = (
        json.loads(CliRunner().invoke(main, ["score", str(run), "--json", *more]).output)
        for more in ([], ["--labels"])
    )
    assert "labels:none" in plain["signature"]
    assert "labels:1 by Ada@" in used["signature"]
    assert "judged_by_person" not in json.dumps(plain["results"])
    assert "judged_by_person" in json.dumps(used["results"])
    assert CliRunner().invoke(main, ["score", str(run), "--labels"]).exit_code == 0
