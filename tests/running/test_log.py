import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import ROOT, attempt_of, delivery, make_case, said
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME, LogWriter, RunLog
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
    assert lines == len(planned) + 1


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
    [{"config": {}}, {"config": {"repetitions": "x", "seed": 0}}, {"conditions": [{"name": "a", "odd": 1}]}],
    ids=["no-config", "wrong-type", "unknown-condition-key"],
)
def test_a_header_that_cannot_be_used_is_one_line(tmp_path: Path, change: dict[str, object]) -> None:
    new_log(tmp_path / "r", 1)
    lines = (tmp_path / "r" / LOG_NAME).read_text().split("\n")
    lines[0] = json.dumps({**json.loads(lines[0]), **change})
    (tmp_path / "r" / LOG_NAME).write_text("\n".join(lines))
    with pytest.raises(LogError, match=":1: "):
        RunLog.open(tmp_path / "r")


def test_a_line_nested_without_end_is_a_bad_line(tmp_path: Path) -> None:
    new_log(tmp_path / "r", 1)
    with (tmp_path / "r" / LOG_NAME).open("a") as log:
        log.write("[" * 100_000 + "\n")
    assert len(RunLog.open(tmp_path / "r").problems) == 1
