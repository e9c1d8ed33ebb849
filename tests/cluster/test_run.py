"""A run on a cluster of processes is the run of one process: what its log has, and what failing costs."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import Cluster, Echo, Process, Relay
from tests.support import delivery
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME, RunLog
from toolbench.errors import ClusterError
from toolbench.numbers.frames import load_run
from toolbench.running.runner import run_matrix_sync
from toolbench.simulator import Simulator

KEY = "canary-of-the-workers-4711"
SUITE = delivery().keep(delivery().cases[:12])


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator() as running:
        yield running


def config(simulator: Simulator | None, repetitions: int = 2, **changes: Any) -> Config:
    entry = {
        "provider": "p",
        "model": "sim-openai",
        "protocol": "chat_completions",
        "base_url": simulator.base_url("chat_completions") if simulator else "http://127.0.0.1:9/v1",
        "api_key_env": "CLUSTER_KEY",
        "parallelism": 4,
    }
    data = {"runs": [entry], "baselines": ["keyword_router"], "repetitions": repetitions, **changes}
    return Config.from_json(data, "config.json")


def test_a_run_that_loses_a_worker_has_each_attempt_once_and_the_figures_of_a_local_run(
    cluster: Cluster, simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = config(simulator, repetitions=12)
    victim = cluster.start_worker(CLUSTER_KEY=KEY)
    made: list[Any] = []
    waits: list[str] = []

    def on_attempt(progress: Any) -> None:
        made.append(progress.attempt.key)
        if len(made) == 170:
            cluster.kill(victim)

    summary = run_matrix_sync(
        wanted,
        [SUITE],
        tmp_path / "far",
        scheduler=cluster.address,
        on_attempt=on_attempt,
        on_wait=waits.append,
    )
    assert summary.complete
    monkeypatch.setenv("CLUSTER_KEY", KEY)
    run_matrix_sync(wanted, [SUITE], tmp_path / "near")
    far, near = RunLog.open(tmp_path / "far"), RunLog.open(tmp_path / "near")
    assert far.keys == near.keys
    assert sorted(made) == sorted(far.keys)
    assert len((tmp_path / "far" / LOG_NAME).read_text().splitlines()) == len(far) + 1
    one, other = (load_run(tmp_path / name).figures for name in ("far", "near"))
    times = one["metric"].str.contains("latency|seconds|token_ms")
    assert one[~times].round(9).equals(other[~times].round(9))
    assert any(victim in line for line in waits)
    assert KEY not in (tmp_path / "far" / LOG_NAME).read_text()


def test_one_limiter_serves_the_whole_cluster(cluster: Cluster, simulator: Simulator, tmp_path: Path) -> None:
    wanted = config(simulator, repetitions=1, baselines=[])
    model = replace(wanted.runs[0], requests_per_minute=600)
    began = time.monotonic()
    run_matrix_sync(replace(wanted, runs=(model,)), [SUITE], tmp_path / "r", scheduler=cluster.address)
    requests = sum(len(attempt.turns) for attempt in RunLog.open(tmp_path / "r").attempts)
    assert requests >= len(SUITE.cases)
    # Two limiters would have let them through in half of this.
    assert time.monotonic() - began >= (requests - 1) / 10.0


def test_what_workers_wait_for_is_told(cluster: Cluster, simulator: Simulator, tmp_path: Path) -> None:
    wanted = config(simulator, repetitions=1, baselines=[])
    model, waits = replace(wanted.runs[0], model="sim-openai+429,ok"), list[str]()
    once = SUITE.keep(SUITE.cases[:1])
    summary = run_matrix_sync(
        replace(wanted, runs=(model,)),
        [once],
        tmp_path / "r",
        scheduler=cluster.address,
        on_wait=waits.append,
    )
    assert summary.complete
    assert any("all requests wait" in line for line in waits)


def test_no_key_passes_the_scheduler_or_reaches_a_log(
    start_cluster: Callable[..., Cluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = "canary-of-the-client-0815"
    monkeypatch.setenv("CLUSTER_KEY", mine)
    cluster = start_cluster()
    with Relay(cluster.address) as relay, Echo() as echo:
        cluster.address = relay.address
        cluster.start_worker(CLUSTER_KEY=KEY)
        wanted = config(None, repetitions=1, baselines=[], retries={"tries": 1, "patience": 0})
        model = replace(wanted.runs[0], base_url=echo.url)
        run_matrix_sync(replace(wanted, runs=(model,)), [SUITE], tmp_path / "r", scheduler=relay.address)
    assert f"Bearer {KEY}" in echo.heard
    seen = bytes(relay.seen) + (tmp_path / "r" / LOG_NAME).read_bytes()
    assert b"CLUSTER_KEY" in seen
    for key in (KEY, mine):
        assert key.encode() not in seen
        assert not any(key in line for process in cluster.processes for line in process.lines)


def test_an_interrupted_run_is_continued_with_or_without_the_cluster(
    cluster: Cluster, simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(progress: Any) -> None:
        if progress.done == 5:
            # As Ctrl-C does.
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setenv("CLUSTER_KEY", KEY)
    wanted, run = config(simulator, baselines=[]), tmp_path / "r"
    with pytest.raises(KeyboardInterrupt):
        run_matrix_sync(wanted, [SUITE], run, scheduler=cluster.address, on_attempt=stop)
    kept = len(RunLog.open(run))
    assert 5 <= kept < 24
    on_cluster = run_matrix_sync(
        wanted, [SUITE], run, resume=True, scheduler=cluster.address, among=lambda key: key.repetition == 0
    )
    assert on_cluster.made + kept < 24
    here = run_matrix_sync(wanted, [SUITE], run, resume=True)
    assert here.complete
    assert len(RunLog.open(run)) == 24


def test_a_scheduler_that_is_lost_costs_what_was_on_its_way(
    start_cluster: Callable[..., Cluster],
    simulator: Simulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = start_cluster()
    cluster.start_worker(CLUSTER_KEY=KEY)
    reported: list[Any] = []

    def on_attempt(progress: Any) -> None:
        reported.append(progress.attempt.key)
        if len(reported) == 10:
            cluster.scheduler.end()

    monkeypatch.setenv("CLUSTER_KEY", KEY)
    wanted, run = config(simulator, repetitions=10, baselines=[]), tmp_path / "r"
    with pytest.raises(ClusterError, match=r"the scheduler is gone; what was finished is kept.*--resume"):
        run_matrix_sync(wanted, [SUITE], run, scheduler=cluster.address, on_attempt=on_attempt)
    assert RunLog.open(run).keys == set(reported)
    assert run_matrix_sync(wanted, [SUITE], run, resume=True).complete


def test_a_budget_stops_a_run_on_a_cluster(cluster: Cluster, simulator: Simulator, tmp_path: Path) -> None:
    wanted = config(simulator, repetitions=20, baselines=[], budgets={"requests": 20})
    summary = run_matrix_sync(wanted, [SUITE], tmp_path / "r", scheduler=cluster.address)
    assert summary.stopped == "budgets.requests of 20 is spent"
    assert summary.made < 60


def test_workers_end_a_run_whose_client_was_killed(
    cluster: Cluster, simulator: Simulator, tmp_path: Path
) -> None:
    entry = {**asdict(config(simulator).runs[0]), "requests_per_minute": 60}
    keep = ("provider", "model", "protocol", "base_url", "api_key_env", "requests_per_minute")
    data = {"runs": [{name: entry[name] for name in keep}], "baselines": [], "suites": ["delivery"]}
    (tmp_path / "config.json").write_text(json.dumps(data))
    command = ("-m", "toolbench", "run", "--config", "config.json", "--output", "r", "--langs", "en")
    client = Process(tmp_path, *command, "--scheduler", cluster.address)
    log = tmp_path / "r" / LOG_NAME
    until(lambda: log.exists() and log.read_bytes().count(b"\n") > 1)
    assert sum(open_runs(cluster).values()) == 2
    client.end()
    until(lambda: sum(open_runs(cluster).values()) == 0)


def open_runs(cluster: Cluster) -> dict[str, int]:
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        found: dict[str, int] = client.run(opened)
    return found


def opened() -> int:
    from toolbench.running.scaled import worker

    return len(worker._OPEN)


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)
