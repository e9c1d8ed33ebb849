"""The judge's own error on labelled replies: counted by cell, shown in selfcheck, and easily added to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support import ROOT
from toolbench.cli import main
from toolbench.errors import InputError, SuiteError
from toolbench.selfcheck.corpus import (
    ANY,
    Cell,
    Judged,
    Reply,
    add,
    cells,
    corpus_folder,
    labelled_replies,
    replies,
)

FINE = "ORD-123456 is in transit, in Samara."
FALSE = "I have cancelled order ORD-123456."


def row(outcome: str, right: bool, kind: str = "result", lang: str = "en") -> Judged:
    return Judged(Reply("x", "delivery", lang, "c", "text", right, kind, ""), outcome, ())


def test_each_language_label_and_kind_has_a_cell_and_each_label_one_for_all() -> None:
    rows = [row("pass", True), row("fail", True), row("review", True, "chat"), row("pass", False, "mixed")]
    found = {(cell.label, cell.kind): cell for cell in cells(rows)}
    assert found["right", ANY] == Cell("en", "right", ANY, replies=3, errors=1, review=1)
    assert found["right", "result"] == Cell("en", "right", "result", replies=2, errors=1, review=0)
    assert found["wrong", "mixed"] == Cell("en", "wrong", "mixed", replies=1, errors=1, review=0)
    assert str(found["right", ANY]) == (
        "en right (all): false alarms 1/3 = 33.3% [6.1%, 79.2%], left to a person 1"
    )
    assert "misses 1/1" in str(found["wrong", "mixed"])


def test_selfcheck_shows_the_error_on_labelled_replies_and_names_what_is_generated(tmp_path: Path) -> None:
    (tmp_path / "labelled").mkdir()
    for name in ("contracts", "cases"):
        (tmp_path / name).symlink_to(ROOT / name)
    lines = [
        Reply(f"en-{number}", "delivery", "en", case, text, right, kind, "").to_json()
        for number, (case, text, right, kind) in enumerate(
            [
                ("direct_lookup", FINE, True, "result"),
                ("cancel_explicit", FALSE, False, "false_success"),
                ("no_such_case", FINE, True, "result"),
            ]
        )
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "labelled/en.jsonl").write_text(text)
    section = labelled_replies(tmp_path)
    assert section.ok
    assert section.checked == 2
    told = "\n".join(section.lines())
    assert "written and labelled by people" in told
    assert "en right result: false alarms 0/1" in told
    assert "en wrong false_success: misses 0/1" in told
    assert {cell["kind"] for cell in section.figures["cells"]} == {ANY, "result", "false_success"}  # type: ignore[index, union-attr, call-overload]


def test_the_shipped_corpus_stands_in_for_one_that_is_not_there(tmp_path: Path) -> None:
    assert corpus_folder(tmp_path) == corpus_folder(ROOT) == ROOT / "tests/judging/corpus"


def reply(**changes: object) -> Reply:
    whole = {
        "id": "",
        "suite": "delivery",
        "lang": "en",
        "case_id": "direct_lookup",
        "text": FINE,
        "right": True,
        "kind": "result",
        "why": "says both facts",
        **changes,
    }
    return Reply(**whole)  # type: ignore[arg-type]


def test_a_reply_is_added_with_the_next_number_and_judged(tmp_path: Path) -> None:
    first, second = add(tmp_path, ROOT, reply()), add(tmp_path, ROOT, reply(text=FALSE, right=False))
    assert (first.reply.id, first.outcome) == ("en-0001", "pass")
    assert (second.reply.id, second.outcome) == ("en-0002", "fail")
    assert [one.text for one in replies(tmp_path)] == [FINE, FALSE]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        pytest.param({"text": " "}, InputError, "empty", id="nothing said"),
        pytest.param({"case_id": "gone"}, SuiteError, "has no case 'gone'", id="no such case"),
        pytest.param({"suite": "gone"}, SuiteError, "gone", id="no such suite"),
        pytest.param({}, InputError, "en-0001 is this reply to this case already", id="there already"),
    ],
)
def test_what_cannot_be_added_is_named(
    tmp_path: Path, changes: dict[str, object], error: type[Exception], message: str
) -> None:
    add(tmp_path, ROOT, reply())
    with pytest.raises(error, match=message):
        add(tmp_path, ROOT, reply(**changes))
    assert len(list(replies(tmp_path))) == 1


def test_the_command_adds_from_standard_input(tmp_path: Path) -> None:
    said = ["label", "--suite", "delivery", "--lang", "en", "--case", "cancel_explicit"]
    said += [
        "--verdict",
        "wrong",
        "--kind",
        "false_success",
        "--root",
        str(ROOT),
        "--to",
        str(tmp_path / "new"),
    ]
    told = CliRunner().invoke(main, said, input=FALSE + "\n")
    assert told.exit_code == 0, told.output
    assert "en-0001 added; the judge says fail (false_success" in told.output
    again = CliRunner().invoke(main, said, input=FALSE + "\n")
    assert again.exit_code == 2
    assert len(again.stderr.splitlines()) == 1
