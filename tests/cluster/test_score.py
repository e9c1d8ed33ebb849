"""Parts of a log judged by the workers of a cluster give the verdicts of one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import toolbench
from tests.cluster.conftest import Cluster
from tests.support import delivery
from toolbench.cli import main
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME
from toolbench.errors import ClusterError
from toolbench.numbers import frames
from toolbench.numbers.frames import load_run
from toolbench.running.runner import run_matrix_sync


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two baselines with a broken line."""
    folder = tmp_path_factory.mktemp("runs") / "r"
    data = {"runs": [], "baselines": ["keyword_router", "always_first_tool"], "repetitions": 4}
    run_matrix_sync(Config.from_json(data, "c"), [delivery().keep(delivery().cases[:10])], folder)
    with open(folder / LOG_NAME, "ab") as log:
        log.write(b"broken\n")
    return folder


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one, other)


def test_shards_judged_on_a_cluster_are_those_of_one_process(
    cluster: Cluster, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "FAR_PART", 2**16)
    seen: list[tuple[int, int]] = []
    here = load_run(run)
    there = load_run(run, lambda done, all_: seen.append((done, all_)), scheduler=cluster.address)
    same(here.attempts, there.attempts)
    same(here.calls, there.calls)
    same(here.findings, there.findings)
    same(here.figures, there.figures)
    assert [str(problem) for problem in there.problems] == [str(problem) for problem in here.problems]
    assert str(run) in str(there.problems[0])
    assert len(seen) > 3
    assert seen[-1][0] == seen[-1][1]


def test_a_lost_worker_changes_no_verdict(
    start_cluster: Callable[..., Cluster], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = start_cluster()
    cluster.start_worker()
    victim = cluster.start_worker()
    monkeypatch.setattr(frames, "FAR_PART", 2**14)

    def kill(done: int, total: int) -> None:
        if victim in cluster.workers:
            cluster.kill(victim)

    same(load_run(run, kill, scheduler=cluster.address).attempts, load_run(run).attempts)


def test_load_and_score_take_a_scheduler(cluster: Cluster, run: Path) -> None:
    same(toolbench.load(run, scheduler=cluster.address), toolbench.load(run))
    far = CliRunner().invoke(main, ["score", str(run), "--json", "--scheduler", cluster.address])
    near = CliRunner().invoke(main, ["score", str(run), "--json"])
    assert far.stdout == near.stdout


def test_labels_are_judged_here_and_that_is_said(cluster: Cluster, run: Path) -> None:
    assert frames.ALONE in load_run(run, labels=True, scheduler=cluster.address).notes


def test_a_scheduler_that_is_away_is_one_line(run: Path) -> None:
    with pytest.raises(ClusterError, match="without --scheduler"):
        load_run(run, scheduler="tcp://127.0.0.1:9")
