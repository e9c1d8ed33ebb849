"""What cannot work is refused in one line that names the local way, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.cluster.conftest import Cluster
from tests.support import MODEL, delivery
from toolbench.cli import main
from toolbench.cluster import connection
from toolbench.domain.config import Config
from toolbench.errors import ClusterError, ConfigError, InputError
from toolbench.running.runner import run_matrix_sync

SUITE = delivery().keep(delivery().cases[:2])
NOWHERE = "tcp://127.0.0.1:9"
OTHER = (
    "import distributed.node as node\n"
    "from distributed.cli.dask_scheduler import main\n"
    "mine = node.get_versions\n"
    "def other(*args, **options):\n"
    "    found = mine(*args, **options)\n"
    "    found['packages']['distributed'] = '2020.1'\n"
    "    return found\n"
    "node.get_versions = other\n"
    "main(['--host', '127.0.0.1', '--port', '0', '--no-dashboard'])\n"
)


def config(**model: Any) -> Config:
    return Config(runs=(replace(MODEL, **model),), baselines=(), repetitions=1)


def refused(address: str, folder: Path, wanted: Config | None = None) -> str:
    with pytest.raises((ClusterError, InputError)) as error:
        run_matrix_sync(wanted or config(), [SUITE], folder / "r", scheduler=address)
    told = str(error.value)
    assert "\n" not in told
    assert "--scheduler" in told or "env:" in told
    assert not (folder / "r").exists()
    return told


def test_a_scheduler_that_is_away(tmp_path: Path) -> None:
    assert "no scheduler of this version answers there" in refused(NOWHERE, tmp_path)


def test_an_address_that_is_none(tmp_path: Path) -> None:
    assert "address" in refused("carrier-pigeon://roof", tmp_path)


def test_the_command_ends_with_exit_code_2_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"runs": [], "suites": ["delivery"]}')
    command = ["run", "--config", str(tmp_path / "config.json"), "--output", str(tmp_path / "r")]
    result = CliRunner().invoke(main, [*command, "--scheduler", NOWHERE])
    assert result.exit_code == 2
    assert result.stderr.startswith("toolbench: ")
    assert result.stderr.count("\n") == 1


def test_the_extra_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda name: None)
    with pytest.raises(Exception, match=r"toolcall-workbench\[scale\].*without --scheduler"):
        run_matrix_sync(config(), [SUITE], tmp_path / "r", scheduler=NOWHERE)
    assert not (tmp_path / "r").exists()


def test_a_scheduler_without_workers_and_workers_without_a_key_or_weights(
    start_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = start_cluster()
    assert "no worker" in refused(cluster.address, tmp_path)
    worker = cluster.start_worker(CLUSTER_KEY=None, TOOLBENCH_CACHE=str(tmp_path / "cache"))
    told = refused(cluster.address, tmp_path, config(api_key_env="CLUSTER_KEY"))
    assert f"worker {worker}: runs: test/m-1: the environment variable CLUSTER_KEY is not set" in told
    embedded = config(base_url=f"embedded:{tmp_path / 'none.gguf'}")
    with pytest.raises(ClusterError, match=r"worker tcp://.*none\.gguf.*without --scheduler"):
        run_matrix_sync(embedded, [SUITE], tmp_path / "e", scheduler=cluster.address)


def test_a_scheduler_of_another_version(start_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = start_cluster("-c", OTHER)
    assert "distributed 2020.1" in refused(cluster.address, tmp_path)


@pytest.mark.parametrize(
    "model",
    [
        {"headers": {"x-session-token": "abcdefgh"}},
        {"base_url": "https://me:secret@example.org/v1"},
        {"base_url": "https://example.org/v1?api_key=abc"},
    ],
    ids=["header", "login", "query"],
)
def test_a_configuration_that_holds_a_secret(model: dict[str, Any], tmp_path: Path) -> None:
    told = refused(NOWHERE, tmp_path, config(**model))
    assert "through the scheduler" in told
    assert "secret@" not in told


def test_live_tools_are_played_on_one_machine(tmp_path: Path) -> None:
    live = replace(SUITE, executor=replace(SUITE.executor, kind="mcp", server="http://127.0.0.1:9"))
    from toolbench.running.scaled.crew import refuse_live_tools

    with pytest.raises(ConfigError, match="played again"):
        refuse_live_tools([live])
