"""Verdicts kept beside the log: an optional convenience, never the source of truth."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from toolbench.domain import extensions
from toolbench.domain.keys import AttemptKey
from toolbench.domain.log import LOG_NAME
from toolbench.domain.record import Attempt
from toolbench.judging import score
from toolbench.numbers import cache, shards
from toolbench.numbers.frames import ScoredRun, load, load_run
from toolbench.numbers.scorer import Scorer


@pytest.fixture
def run(base_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "WORTH_KEEPING", 0)
    return Path(shutil.copytree(base_run, tmp_path / "run"))


def assert_same(one: ScoredRun, other: ScoredRun) -> None:
    for name in ("attempts", "calls", "findings", "planned"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))
    assert (one.problems, one.log.resumed) == (other.problems, other.log.resumed)
    assert one.log.keys == other.log.keys
    assert [attempt.key for attempt in one.log.attempts] == [attempt.key for attempt in other.log.attempts]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the cases that are judged from now on."""
    names: list[str] = []
    judge = Scorer.judged

    def noted(self: Scorer, attempt: Attempt, *first: AttemptKey | None) -> object:
        names.append(attempt.case_id)
        return judge(self, attempt, *first)

    monkeypatch.setattr(Scorer, "judged", noted)
    return names


def test_without_pyarrow_there_is_simply_no_cache(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "find_spec", lambda name: None)
    pd.testing.assert_frame_equal(load(run), load(run, cache=False))
    assert os.listdir(run) == [LOG_NAME]


def test_a_log_that_is_judged_in_a_moment_has_none(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "WORTH_KEEPING", 10**9)
    load(run)
    assert os.listdir(run) == [LOG_NAME]


def test_parts_judged_in_processes_of_their_own_are_the_whole(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run / LOG_NAME
    with path.open("a") as stream:
        stream.write("no JSON\n")
    monkeypatch.setattr("toolbench.numbers.frames.IN_PROCESSES", 0)
    monkeypatch.setattr("toolbench.numbers.frames.LEAST_PART", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    seen: list[tuple[int, int]] = []
    parallel = load_run(run, lambda *now: seen.append(now), cache=False)
    monkeypatch.undo()
    assert_same(parallel, load_run(run, cache=False))
    lines = len(path.read_text().splitlines())
    assert seen == sorted(seen)
    assert seen[-1] == (lines, lines)


def test_what_one_process_alone_has_registered_is_neither_handed_on_nor_kept(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolbench.numbers.frames.IN_PROCESSES", 0)
    monkeypatch.setattr("toolbench.numbers.frames.score_parts", lambda *parts: pytest.fail("handed on"))
    monkeypatch.setattr(extensions, "_decorated", dict(extensions._decorated))
    extensions.extension("normalizers", "loud", "1")(str.upper)
    load_run(run)
    assert os.listdir(run) == [LOG_NAME]


@pytest.mark.parametrize("size", [1, 5_000, 10**9])
def test_a_log_is_split_between_lines(run: Path, size: int) -> None:
    path = run / LOG_NAME
    text = path.read_bytes()
    parts = [text[start:stop] for start, stop in shards.split(path, 0, len(text), size)]
    assert b"".join(parts) == text
    assert all(part.endswith(b"\n") for part in parts)


class TestWithPyarrow:
    """What happens where pyarrow is installed."""

    @pytest.fixture(autouse=True)
    def _needs_pyarrow(self) -> None:
        pytest.importorskip("pyarrow")

    def test_what_is_kept_is_what_was_judged(self, run: Path, judged: list[str]) -> None:
        fresh = load_run(run)
        judged.clear()
        assert_same(load_run(run), fresh)
        assert judged == []

    def test_a_log_that_has_grown_is_judged_where_it_grew(self, run: Path, judged: list[str]) -> None:
        path = run / LOG_NAME
        *lines, last = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines))
        load_run(run)
        path.write_text("".join([*lines, last, '{"half a']))
        judged.clear()
        grown = load_run(run)
        assert judged == [json.loads(last)["case_id"]]
        assert [problem.line for problem in grown.problems] == [len(lines) + 2]
        assert_same(grown, load_run(run, cache=False))

    def test_an_attempt_made_again_later_carries_the_one_before(self, run: Path) -> None:
        path = run / LOG_NAME
        *_, last = path.read_text().splitlines(keepends=True)
        failed = {**json.loads(last), "status": "transport_error", "stop": "timeout"}
        failed |= {"turns": [], "calls": []}
        failed["error"] = {"code": "timeout", "message": "late"}
        path.write_text(path.read_text().replace(last, json.dumps(failed) + "\n"))
        assert load_run(run).attempts["status"].iloc[-1] == "transport_error"
        with path.open("a") as stream:
            stream.write(last)
        again = load_run(run)
        assert again.attempts["earlier_errors"].sum() == 1
        assert_same(again, load_run(run, cache=False))

    @pytest.mark.parametrize("change", ["shorter log", "changed line", "damaged file", "mixed files"])
    def test_any_other_change_makes_it_useless(self, run: Path, change: str, judged: list[str]) -> None:
        path = run / LOG_NAME
        load_run(run)
        if change == "shorter log":
            path.write_text("".join(path.read_text().splitlines(keepends=True)[:-5]))
        elif change == "changed line":
            path.write_text(path.read_text().replace('"seconds": ', '"seconds": 1', 1))
        elif change == "damaged file":
            (run / cache.FOLDER / "calls.parquet").write_bytes(b"PAR1 not really")
        else:
            kept = (run / cache.FOLDER / "calls.parquet").read_bytes()
            shutil.rmtree(run / cache.FOLDER)
            load_run(run)
            (run / cache.FOLDER / "calls.parquet").write_bytes(kept)
        judged.clear()
        found = load_run(run)
        assert len(judged) == len(found.attempts)
        assert_same(found, load_run(run, cache=False))

    def test_verdicts_of_another_judge_are_made_again_and_that_is_said(
        self, run: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert load_run(run).notes == []
        monkeypatch.setattr(score, "VERSION", "next")
        judged.clear()
        (note,) = load_run(run).notes
        assert "another judge" in note
        assert "\n" not in note
        assert judged
        assert load_run(run).notes == []
