"""Labels of people: beside the log, only growing, and used only for what they were given to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import attempt_of, delivery, make_case, said
from toolbench.domain import labels
from toolbench.domain.labels import LABELS_NAME, Label
from toolbench.domain.record import Attempt
from toolbench.errors import LogError


@pytest.fixture
def attempt() -> Attempt:
    return attempt_of(
        make_case(id="one", user="Hello", expect={"kind": "text"}), [said("Hello.")], delivery()
    )


def given(attempt: Attempt, **changes: object) -> Label:
    made = labels.label(attempt, "5.1", "unclear_claim", "pass", who="Ada", note=" fine ")
    return replace(made, **changes)  # type: ignore[arg-type]


def known(attempt: Attempt) -> dict[object, str]:
    return {attempt.key: labels.digest(attempt)}


def test_a_label_comes_back_as_it_was_given_and_the_last_one_counts(tmp_path: Path, attempt: Attempt) -> None:
    labels.append(tmp_path, given(attempt))
    labels.append(tmp_path, given(attempt, verdict="fail", note="on reflection"))
    labels.append(tmp_path, given(attempt, code=None))
    read = labels.read(tmp_path, known(attempt), "5.1")  # type: ignore[arg-type]
    assert read.problems == ()
    assert {code: label.verdict for (_, code), label in read.found.items()} == {
        "unclear_claim": "fail",
        None: "pass",
    }
    assert len((tmp_path / LABELS_NAME).read_text().splitlines()) == 3
    assert given(attempt).note == "fine"


def test_a_run_without_labels_has_none(tmp_path: Path) -> None:
    assert labels.read(tmp_path, {}, "5.1") == labels.Labels({}, ())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"judge": "4.0"}, "what judge 4.0 found, this is judge 5.1", id="another judge"),
        pytest.param({"digest": "0" * 64}, "was made again since", id="another try"),
    ],
)
def test_a_label_of_something_else_is_named_and_not_used(
    tmp_path: Path, attempt: Attempt, changes: dict[str, object], problem: str
) -> None:
    labels.append(tmp_path, given(attempt, **changes))
    read = labels.read(tmp_path, known(attempt), "5.1")  # type: ignore[arg-type]
    assert read.found == {}
    assert [problem in line for line in read.problems] == [True]
    assert f"{LABELS_NAME}:1: " in read.problems[0]


def test_a_label_of_an_attempt_that_is_not_there_is_named(tmp_path: Path, attempt: Attempt) -> None:
    labels.append(tmp_path, given(attempt))
    (problem,) = labels.read(tmp_path, {}, "5.1").problems
    assert "which this run does not have" in problem


def test_a_name_that_breaks_lines_is_spelt_out_in_what_is_said_of_it(
    tmp_path: Path, attempt: Attempt
) -> None:
    labels.append(tmp_path, given(replace(attempt, provider="a\r\n\x1b[2Jb\u202e")))
    (problem,) = labels.read(tmp_path, known(attempt), "5.1").problems  # type: ignore[arg-type]
    assert r"a\r\n\x1b[2Jb\u202e/" in problem
    assert problem.isprintable()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"verdict": "pass"', id="torn"),
        pytest.param('{"verdict": "pass"}', id="fields missing"),
        pytest.param('["pass"]', id="no object"),
        pytest.param('{"who": "a", "who": "b"}', id="a key twice"),
    ],
)
def test_a_broken_line_costs_itself_alone(tmp_path: Path, attempt: Attempt, line: str) -> None:
    (tmp_path / LABELS_NAME).write_text(line)
    labels.append(tmp_path, given(attempt))
    read = labels.read(tmp_path, known(attempt), "5.1")  # type: ignore[arg-type]
    assert len(read.found) == 1
    assert [f"{LABELS_NAME}:1: " in problem for problem in read.problems] == [True]


@pytest.mark.parametrize("changes", [{"verdict": "maybe"}, {"who": ""}, {"note": "x" * 2001}, {"extra": 1}])
def test_what_would_not_be_read_is_not_written(
    tmp_path: Path, attempt: Attempt, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = given(attempt).to_json() | changes
    monkeypatch.setattr(Label, "to_json", lambda label: json.loads(json.dumps(whole)))
    with pytest.raises(LogError, match="cannot be kept"):
        labels.append(tmp_path, given(attempt))
    assert not (tmp_path / LABELS_NAME).exists()
