"""Real runs, killed, starved and robbed: what is on disk afterwards is what an undisturbed one makes."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.torture.profile import KILLS
from toolbench.domain.log import LOG_NAME, RunLog

CONFIG = {
    "runs": [],
    "baselines": ["always_silent", "keyword_router"],
    "suites": ["delivery"],
    "repetitions": 2,
}


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    run = [sys.executable, "-m", "toolbench", "run", "--config", str(tmp_path / "config.json")]
    return [*run, "--output", str(tmp_path / "run")]


def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def content(run: Path) -> dict[Any, Any]:
    """Return what every attempt of a run did, without when and how fast."""
    log = RunLog.open(run)
    assert log.problems == []
    return {
        attempt.key: (attempt.status, attempt.stop, len(attempt.turns), len(attempt.calls))
        for attempt in log.attempts
    }


def finished(command: list[str]) -> None:
    """Resume until the run is complete."""
    for _ in range(3):
        run = start([*command, "--resume"])
        _, told = run.communicate(timeout=240)
        if run.returncode == 0:
            return
        assert "Traceback" not in told
    raise AssertionError(told)


def test_killed_at_random_moments_nothing_is_lost_and_nothing_doubled(
    tmp_path: Path, command: list[str]
) -> None:
    whole = [*command[:-1], str(tmp_path / "whole")]
    began = time.monotonic()
    run = start(whole)
    _, told = run.communicate(timeout=240)
    assert run.returncode == 0, told
    lasts = time.monotonic() - began
    expected = content(tmp_path / "whole")
    chance = random.Random(20)
    kept: set[Any] = set()
    for number in range(KILLS):
        resume = ["--resume"] if (tmp_path / "run" / LOG_NAME).exists() else []
        run = start([*command, *resume])
        time.sleep(chance.uniform(0, lasts))
        os.kill(run.pid, signal.SIGKILL)
        run.communicate()
        if (tmp_path / "run" / LOG_NAME).exists() and (tmp_path / "run" / LOG_NAME).read_bytes().count(b"\n"):
            there = set(RunLog.open(tmp_path / "run").keys)
            assert kept <= there, f"kill {number} lost {kept - there}"
            kept = there
            if kept == set(expected):
                # All is made: begin again, so that every kill meets a run that is going on.
                assert {**content(tmp_path / "run")} == expected
                (tmp_path / "run" / LOG_NAME).unlink()
                kept = set()
    if (tmp_path / "run" / LOG_NAME).exists():
        finished(command)
        assert content(tmp_path / "run") == expected


def test_a_disk_that_fills_up_stops_the_run_and_keeps_whole_lines(tmp_path: Path, command: list[str]) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    run = start(command, preexec_fn=small)
    _, told = run.communicate(timeout=240)
    assert run.returncode == 2, told
    assert "disk is full" in told or "cannot be written" in told
    assert (tmp_path / "run" / LOG_NAME).read_bytes().endswith(b"\n")
    before = set(RunLog.open(tmp_path / "run").keys)
    assert before
    finished(command)
    log = RunLog.open(tmp_path / "run")
    assert before <= log.keys == set(log.header.plan())


def test_of_two_writers_one_is_refused_and_the_other_finishes(tmp_path: Path, command: list[str]) -> None:
    first, second = start(command), start(command)
    outcomes = [(run.communicate(timeout=240)[1], run.returncode) for run in (first, second)]
    codes = sorted(code for _, code in outcomes)
    assert codes[0] == 0, outcomes
    if codes[1]:
        told = next(text for text, code in outcomes if code)
        assert "another process" in told or "already holds a run" in told
    log = RunLog.open(tmp_path / "run")
    assert log.keys == set(log.header.plan())
    assert (tmp_path / "run" / LOG_NAME).read_bytes().count(b"\n") == len(log) + 1


def test_a_run_with_few_descriptors_finishes(
    tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolbench.simulator import Simulator

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    monkeypatch.setenv("SIMULATOR_KEY", "any-will-do")
    with Simulator() as simulator:
        entry = {
            "provider": "sim",
            "model": "sim-openai",
            "protocol": "chat_completions",
            "base_url": simulator.base_url("chat_completions"),
            "parallelism": 256,
            "api_key_env": "SIMULATOR_KEY",
        }
        (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "runs": [entry], "baselines": []}))
        run = start(command, preexec_fn=few)
        _, told = run.communicate(timeout=280)
    assert run.returncode == 0, told
