"""The parquet copy of the attempts: an optional convenience, never the source of truth."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from toolbench.judging import score
from toolbench.numbers import cache, frames
from toolbench.numbers.frames import load


@pytest.fixture
def run(base_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base_run, tmp_path / "run"))


def test_without_pyarrow_there_is_simply_no_cache(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "find_spec", lambda name: None)
    pd.testing.assert_frame_equal(load(run, cache=True), load(run))
    assert not list(run.glob("*.parquet"))


def test_nothing_is_written_unless_asked_for(run: Path) -> None:
    load(run)
    assert not list(run.glob("*.parquet"))


class TestWithPyarrow:
    """What happens where pyarrow is installed."""

    @pytest.fixture(autouse=True)
    def _needs_pyarrow(self) -> None:
        pytest.importorskip("pyarrow")

    def test_a_cached_frame_is_the_same_frame(self, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fresh = load(run, cache=True)
        monkeypatch.setattr(frames, "load_run", None)
        pd.testing.assert_frame_equal(load(run, cache=True), fresh)

    @pytest.mark.parametrize("change", ["longer log", "touched log", "newer judge"])
    def test_any_change_makes_it_useless(
        self, run: Path, change: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        load(run, cache=True)
        log = run / "attempts.jsonl"
        if change == "longer log":
            log.write_text("\n".join(log.read_text().splitlines()[:-5]) + "\n")
        elif change == "touched log":
            os.utime(log, ns=(1, 1))
        else:
            monkeypatch.setattr(score, "VERSION", "next")
        assert cache.read(log) is None
        pd.testing.assert_frame_equal(load(run, cache=True), load(run))
        assert len(list(run.glob("*.parquet"))) == 1

    def test_a_damaged_cache_is_ignored(self, run: Path) -> None:
        fresh = load(run, cache=True)
        (path,) = run.glob("*.parquet")
        path.write_bytes(b"PAR1 not really")
        pd.testing.assert_frame_equal(load(run, cache=True), fresh)
