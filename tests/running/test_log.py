import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT, attempt_of, delivery, make_case, said
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME, RunLog
from toolbench.domain.log_writer import LogWriter
from toolbench.domain.record import Attempt
from toolbench.errors import LogError
from toolbench.running.header import make_header

CASE = make_case(user="Hello!", expect={"kind": "text"})


def plain(text: str) -> str:
    return text


def new_log(folder: Path, attempts: int = 3) -> list[Attempt]:
    suite = delivery().keep([CASE])
    header = make_header(Config.from_json({"runs": [], "repetitions": 9}, "c"), [suite], folder.name)
    made = [
        Attempt.from_json(
            {
                **attempt_of(CASE, [said(f"hi {n}")]).to_json(),
                "run_id": folder.name,
                "repetition": n,
                "provider": "baseline",
                "model": "always_silent",
            }
        )
        for n in range(attempts)
    ]
    folder.mkdir(exist_ok=True)
    with LogWriter(folder, plain) as writer:
        writer.append(header)
        for attempt in made:
            writer.append(attempt)
    return made


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("prompts", ["text"]),
        ("prompts", {"en": 1}),
        ("overlays", {"bad": []}),
        ("cases", ["c"]),
        ("rules", 5),
    ],
)
def test_a_suite_of_another_shape_in_the_header_is_refused_in_one_line(
    part: str, value: Any, tmp_path: Path
) -> None:
    new_log(tmp_path / "r")
    log = tmp_path / "r" / LOG_NAME
    first, _, rest = log.read_text(encoding="utf-8").partition("\n")
    header = {**json.loads(first), "seal": None}
    header["suites"][0][part] = value
    log.write_text(json.dumps(header) + "\n" + rest, encoding="utf-8")
    with pytest.raises(LogError, match=f"suites.*{part}") as refused:
        RunLog.open(tmp_path / "r")
    assert "\n" not in str(refused.value)


def test_integers_of_any_size_and_half_characters_come_back_from_a_header() -> None:
    call = {"tool": "get_order", "arguments": {"order_id": 10**25 + 1}}
    case = make_case(user="half \ud83d", expect={"kind": "tool_call", "calls": [call]})
    config = Config.from_json({"runs": [], "repetitions": 1}, "c")
    header = make_header(config, [delivery().keep([case])], "r")
    (again,) = header.load_suites()["delivery"].cases
    assert again.expect.calls[0].arguments["order_id"] == 10**25 + 1
    assert again.hash == case.hash


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    made = new_log(tmp_path / "r")
    log = RunLog.open(tmp_path / "r")
    assert json.dumps([a.to_json() for a in log.attempts]) == json.dumps([a.to_json() for a in made])
    assert log.problems == []
    assert log.header.load_suites()["delivery"].cases == (CASE,)


def test_attempts_can_be_read_more_than_once(tmp_path: Path) -> None:
    new_log(tmp_path / "r")
    log = RunLog.open(tmp_path / "r")
    assert len(list(log.attempts)) == len(list(log.attempts)) == 3


def test_of_the_same_attempt_the_last_record_counts(tmp_path: Path) -> None:
    made = new_log(tmp_path / "r", 2)
    again = Attempt.from_json({**made[0].to_json(), "stop": "second"})
    with LogWriter(tmp_path / "r", plain) as writer:
        writer.append(again)
    stops = {attempt.repetition: attempt.stop for attempt in RunLog.open(tmp_path / "r").attempts}
    assert stops == {0: "second", 1: "answered"}


@pytest.mark.parametrize(
    ("damage", "problems", "kept"),
    [
        pytest.param(lambda lines: [*lines[:3], lines[3][: len(lines[3]) // 2]], 1, 2, id="torn-tail"),
        pytest.param(
            lambda lines: [lines[0], lines[1][:50] + lines[2], lines[3]], 1, 1, id="one-line-inside-another"
        ),
        pytest.param(lambda lines: [lines[0], lines[1] + lines[2], lines[3]], 0, 3, id="two-glued-together"),
        pytest.param(lambda lines: [*lines[:2], "", "  ", *lines[2:]], 0, 3, id="blank-lines"),
        pytest.param(lambda lines: [*lines[:2], "\0\0\0", *lines[2:]], 1, 3, id="zero-bytes"),
        pytest.param(lambda lines: ["\ufeff" + lines[0], *lines[1:]], 0, 3, id="byte-order-mark"),
        pytest.param(lambda lines: [*lines, '{"type": "attempt"}'], 1, 3, id="record-of-another-shape"),
        pytest.param(lambda lines: [*lines, "[]"], 1, 3, id="no-object"),
    ],
)
def test_a_damaged_log_gives_what_is_readable_and_names_the_rest(
    tmp_path: Path, damage: object, problems: int, kept: int
) -> None:
    new_log(tmp_path / "r")
    file = tmp_path / "r" / LOG_NAME
    lines = file.read_text().split("\n")[:-1]
    file.write_text("\n".join(damage(lines)), encoding="utf-8")  # type: ignore[operator]
    log = RunLog.open(tmp_path / "r")
    assert len(log.problems) == problems, log.problems
    assert len(list(log.attempts)) == kept
    assert all(f"{LOG_NAME}:" in str(problem) for problem in log.problems)


def test_a_torn_tail_is_set_aside_and_appending_goes_on(tmp_path: Path) -> None:
    made = new_log(tmp_path / "r")
    file = tmp_path / "r" / LOG_NAME
    whole = file.read_bytes()
    file.write_bytes(whole[:-30])
    with LogWriter(tmp_path / "r", plain) as writer:
        bad = writer.set_torn_tail_aside()
        writer.append(made[2])
    assert bad is not None
    assert bad.line == 4
    assert (tmp_path / "r" / f"{LOG_NAME}.bad").read_bytes() == whole.split(b"\n")[3][:-29] + b"\n"
    assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "header is missing", id="empty"),
        pytest.param('{"type": "attempt"}\n', "header is missing", id="no-header"),
        pytest.param("not json\n", "header is missing", id="not-json"),
    ],
)
def test_a_log_without_a_header_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / LOG_NAME).write_text(content)
    with pytest.raises(LogError, match=message):
        RunLog.open(tmp_path)


def test_a_missing_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no such run"):
        RunLog.open(tmp_path / "nope")


def test_two_writers_on_one_run_are_refused(tmp_path: Path) -> None:
    new_log(tmp_path / "r")
    with (
        LogWriter(tmp_path / "r", plain),
        pytest.raises(LogError, match="another process"),
        LogWriter(tmp_path / "r", plain),
    ):
        pass


def test_integers_beyond_64_bits_survive(tmp_path: Path) -> None:
    made = new_log(tmp_path / "r", 1)
    big = 2**70 + 1
    data = made[0].to_json()
    data["error"] = {"code": "x", "message": "y", "n": big}
    with LogWriter(tmp_path / "r", plain) as writer:
        writer.append(Attempt.from_json(data))
    (attempt,) = RunLog.open(tmp_path / "r").attempts
    assert attempt.error is not None
    assert attempt.error["n"] == big


def test_a_run_killed_in_the_middle_resumes_without_losing_or_repeating(tmp_path: Path) -> None:
    """kill -9 a real process while it writes, then resume: every attempt is there exactly once."""
    config = {
        "runs": [],
        "baselines": ["always_silent", "keyword_router"],
        "suites": ["delivery"],
        "repetitions": 30,
    }
    file = ROOT / "runs" / f".test-{os.getpid()}.json"
    file.write_text(json.dumps(config))
    run = tmp_path / "killed"
    command = [sys.executable, "-m", "toolbench", "run", "--config", str(file), "--output", str(run)]
    try:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if (run / LOG_NAME).exists() and (run / LOG_NAME).stat().st_size > 3_000_000:
                break
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        before = {attempt.key: attempt.started_at for attempt in RunLog.open(run).attempts}
        # A kernel that dies between two pages of one write leaves a line like this.
        with open(run / LOG_NAME, "ab") as log:
            log.write(b'{"type": "attempt", "run_id": "kil')
        done = subprocess.run([*command, "--resume"], capture_output=True, text=True, cwd=ROOT, timeout=120)
    finally:
        file.unlink()
    assert done.returncode == 0, done.stderr
    assert "set aside" in done.stderr
    after = [(attempt.key, attempt.started_at) for attempt in RunLog.open(run).attempts]
    planned = list(RunLog.open(run).header.plan())
    assert 0 < len(before) < len(planned)
    assert sorted(key for key, _ in after) == sorted(planned)
    assert all(dict(after)[key] == when for key, when in before.items())
    lines = (run / LOG_NAME).read_bytes().count(b"\n")
    # The header, every attempt, and one line that says the run was resumed.
    assert lines == len(planned) + 2


def test_attempts_of_another_run_are_named_and_left_out(tmp_path: Path) -> None:
    made = new_log(tmp_path / "r", 1)
    foreign = [
        {**made[0].to_json(), "run_id": "other"},
        {**made[0].to_json(), "case_id": "nobody"},
        {**made[0].to_json(), "model": "stranger"},
        {**made[0].to_json(), "condition": "sideways"},
    ]
    with (tmp_path / "r" / LOG_NAME).open("a") as log:
        log.writelines(json.dumps(value) + "\n" for value in foreign)
    opened = RunLog.open(tmp_path / "r")
    assert len(opened.problems) == 4
    assert [a.case_id for a in opened.attempts] == ["c"]


@pytest.mark.parametrize(
    "change",
    [
        {"config": {}},
        {"config": {"repetitions": "x", "seed": 0}},
        {"conditions": [{"name": "a", "odd": 1}]},
        {"conditions": [{"name": "auto", "cases": {}, "repetitions": "\x00"}]},
        {"conditions": [{"name": "auto", "cases": {"ids": 7}}]},
        {"conditions": [{"name": "auto", "cases": {"a\r\nb": []}}]},
        {"players": [{"provider": 1, "model": "m", "protocol": "p"}]},
        {"imported": {"sources": [], "made": [["p", "m", "chat_completions", "s", "en", "auto", "c", "x"]]}},
        # Written as Infinity, which is no JSON and which no part of a run can be hashed with.
        {"config": {"seed": float("inf")}},
    ],
    ids=[
        *("no-config", "wrong-type", "unknown-condition-key", "repetitions-as-text", "ids-as-number"),
        "unknown-key-of-two-lines",
        *("a-number-as-name", "imported-as-text", "no-finite-number"),
    ],
)
def test_a_header_that_cannot_be_used_is_one_line(tmp_path: Path, change: dict[str, object]) -> None:
    new_log(tmp_path / "r", 1)
    lines = (tmp_path / "r" / LOG_NAME).read_text().split("\n")
    lines[0] = json.dumps({**json.loads(lines[0]), "seal": None, **change})
    (tmp_path / "r" / LOG_NAME).write_text("\n".join(lines))
    with pytest.raises(LogError, match=":1: ") as refused:
        RunLog.open(tmp_path / "r")
    assert str(refused.value).isprintable()


def test_a_number_that_is_not_finite_costs_its_line(tmp_path: Path) -> None:
    made = new_log(tmp_path / "r", 1)
    with (tmp_path / "r" / LOG_NAME).open("a") as log:
        log.write(json.dumps({**made[0].to_json(), "repetition": float("inf")}) + "\n")
        log.write(json.dumps({**made[0].to_json(), "repetition": 1}).replace("}", ', "x": 1e999}', 1) + "\n")
    assert [problem.reason for problem in RunLog.open(tmp_path / "r").problems] == [
        "not valid JSON: Infinity is not a JSON number",
        "not valid JSON: the number 1e999 is too large",
    ]


@pytest.mark.parametrize("first", ["", " \t", "\ufeff"], ids=["empty", "blank", "mark"])
def test_a_log_whose_first_line_holds_nothing_is_no_usable_log(tmp_path: Path, first: str) -> None:
    new_log(tmp_path / "r", 1)
    file = tmp_path / "r" / LOG_NAME
    file.write_text(f"{first}\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    with pytest.raises(LogError, match="the run header is missing"):
        RunLog.open(tmp_path / "r")


def test_a_line_nested_without_end_is_a_bad_line(tmp_path: Path) -> None:
    new_log(tmp_path / "r", 1)
    with (tmp_path / "r" / LOG_NAME).open("a") as log:
        log.write("[" * 100_000 + "\n")
    assert len(RunLog.open(tmp_path / "r").problems) == 1


def changed(run: Path, number: int, **change: object) -> None:
    """Change fields of one line of a log, and nothing else."""
    file = run / LOG_NAME
    lines = file.read_text(encoding="utf-8").split("\n")
    lines[number] = json.dumps({**json.loads(lines[number]), **change}, ensure_ascii=False)
    file.write_text("\n".join(lines), encoding="utf-8")


def test_an_edited_header_is_refused(tmp_path: Path) -> None:
    new_log(tmp_path / "r")
    changed(tmp_path / "r", 0, labels={"who": "somebody else"})
    with pytest.raises(LogError, match=r"its seal does not fit"):
        RunLog.open(tmp_path / "r")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "log format 2: it was written by a newer toolbench"),
        ({"colour": "red"}, "the header has 'colour': it was written by another version"),
        ({"format": "x"}, "log format 'x': this version reads 1"),
    ],
    ids=["newer-format", "one-more-field", "no-format"],
)
def test_a_header_of_another_version_is_called_that(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    new_log(tmp_path / "r")
    changed(tmp_path / "r", 0, **change)
    with pytest.raises(LogError, match=message):
        RunLog.open(tmp_path / "r")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"repetition": 9}, "repetition 9 of this case and condition was not planned"),
        ({"hashes": {"contract": "0" * 64}}, "was made with another contract than this run's"),
        ({"hashes": {"case": "0" * 64}}, "was made with another case than this run's"),
        ({"hashes": {"header": "0" * 64}}, "was made with another header than this run's"),
        ({"turns": [{"decision": 1}]}, "turns"),
        ({"seconds": "long"}, "seconds"),
        ({"calls": [{"turn": "x"}]}, "calls"),
    ],
    ids=["repetition", "contract", "case", "header", "turns", "seconds", "calls"],
)
def test_a_line_that_is_not_of_this_run_or_of_a_wrong_type_costs_itself(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    new_log(tmp_path / "r")
    changed(tmp_path / "r", 2, **change)
    log = RunLog.open(tmp_path / "r")
    assert len(list(log.attempts)) == 2
    (problem,) = log.problems
    assert problem.line == 3
    assert reason in problem.reason


def test_two_logs_joined_by_cat_give_the_first_and_name_the_rest(tmp_path: Path) -> None:
    new_log(tmp_path / "r")
    suite = delivery().keep([make_case(id="other", user="Bye!", expect={"kind": "text"})])
    other = make_header(Config.from_json({"runs": [], "repetitions": 9}, "c"), [suite], "r")
    (tmp_path / "s").mkdir()
    with LogWriter(tmp_path / "s", plain) as writer:
        writer.append(other)
    lines = (tmp_path / "r" / LOG_NAME).read_text().split("\n")
    strangers = [{**json.loads(line), "hashes": {"header": other.seal}} for line in lines[1:4]]
    with (tmp_path / "r" / LOG_NAME).open("a") as log:
        log.write((tmp_path / "s" / LOG_NAME).read_text())
        log.writelines(json.dumps(value) + "\n" for value in strangers)
    opened = RunLog.open(tmp_path / "r")
    assert len(list(opened.attempts)) == 3
    assert [problem.line for problem in opened.problems] == [5, 6, 7, 8]


@pytest.mark.parametrize("deleted", ["log", "folder", "replaced"])
def test_a_log_that_is_taken_away_is_noticed_at_the_next_line(tmp_path: Path, deleted: str) -> None:
    import shutil

    made = new_log(tmp_path / "r")
    with LogWriter(tmp_path / "r", plain) as writer:
        writer.append(made[0])
        if deleted == "folder":
            shutil.rmtree(tmp_path / "r")
        else:
            (tmp_path / "r" / LOG_NAME).unlink()
        if deleted == "replaced":
            (tmp_path / "r" / LOG_NAME).write_text("")
        with pytest.raises(LogError, match="deleted or replaced"):
            writer.append(made[1])
        with pytest.raises(LogError, match="deleted or replaced"):
            writer.append(made[2])


def test_deleting_the_lock_file_lets_no_second_writer_in(tmp_path: Path) -> None:
    new_log(tmp_path / "r")
    with LogWriter(tmp_path / "r", plain):
        (tmp_path / "r" / ".lock").unlink(missing_ok=True)
        with pytest.raises(LogError, match="another process"), LogWriter(tmp_path / "r", plain):
            pass


def test_nothing_is_moved_out_of_a_file_that_is_no_log(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_text("my diary, without a line end")
    with LogWriter(tmp_path, plain) as writer, pytest.raises(LogError, match="does not begin as a log"):
        writer.set_torn_tail_aside()
    assert (tmp_path / LOG_NAME).read_text() == "my diary, without a line end"
    assert not (tmp_path / f"{LOG_NAME}.bad").exists()


def test_letters_are_written_as_letters(tmp_path: Path) -> None:
    made = new_log(tmp_path / "r", 1)
    with LogWriter(tmp_path / "r", plain) as writer:
        writer.append(Attempt.from_json({**made[0].to_json(), "stop": "ответ \u2028"}))
        writer.append(Attempt.from_json({**made[0].to_json(), "stop": "half \ud83d"}))
    raw = (tmp_path / "r" / LOG_NAME).read_bytes()
    assert "ответ".encode() in raw
    assert rb"half \ud83d" in raw
    (attempt,) = RunLog.open(tmp_path / "r").attempts
    assert attempt.stop == "half \ud83d"
    assert [earlier.stop for earlier in attempt.earlier] == ["answered", "ответ \u2028"]


def test_lines_that_gather_are_flushed_together_and_all_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = new_log(tmp_path / "r")
    flushes = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: (flushes.append(1), time.sleep(0.02), real(descriptor))
    )
    with LogWriter(tmp_path / "r", plain) as writer:
        futures = [writer.submit(made[n % 3]) for n in range(200)]
        for future in futures:
            future.result()
    assert len(flushes) < 50
    assert (tmp_path / "r" / LOG_NAME).read_bytes().count(b"\n") == 204
