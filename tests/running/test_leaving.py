"""What leaves this machine: requests to the addresses of a configuration, and nothing else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.running.test_runner import Server
from tests.support import ROOT, delivery, make_case, said
from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.running.runner import run_matrix_sync

SUITE = delivery().keep([make_case(id="hello", user="Hello!", expect={"kind": "text"})])
WATCHED = """
import sys
def watch(event, given):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        with open(sys.argv[-1] + ".asked", "a") as file:
            print(given[1] if event != "socket.getaddrinfo" else given[:2], file=file)
sys.addaudithook(watch)
from toolbench.cli import main
main()
"""


def asked(*arguments: object) -> set[str]:
    """Run a command on a run, its last argument, and return whom it has asked so far."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = Path(f"{arguments[-1]}.asked")
    return set(told.read_text().splitlines()) if told.exists() else set()


def test_a_run_asks_the_address_of_its_configuration_and_a_report_nobody(tmp_path: Path) -> None:
    def answer(number: int) -> tuple[int, dict[str, Any]]:
        return 200, said("hi")

    with Server(answer) as server:
        model = {"provider": "p", "model": "m", "protocol": "chat_completions"}
        model["base_url"] = f"http://127.0.0.1:{server.port}/v1"
        chosen = {"suites": ["delivery"], "cases": {"ids": ["no_tool_needed"], "langs": ["en"]}}
        config = {"runs": [model], "conditions": ["auto"], "repetitions": 2, **chosen}
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        found = asked("run", "--config", tmp_path / "config.json", "--output", tmp_path / "run")
        assert found == {f"('127.0.0.1', {server.port})"}
        assert len(server.seen) == 2
    for command in ("score", "report"):
        assert asked(command, tmp_path / "run") == found


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_and_is_not_followed(tmp_path: Path, status: int) -> None:
    def never(number: int) -> tuple[int, dict[str, Any]]:
        return 200, said("hi")

    with Server(never) as elsewhere:

        def away(number: int) -> tuple[int, dict[str, Any], dict[str, str]]:
            return status, {}, {"Location": f"http://127.0.0.1:{elsewhere.port}/v1/chat/completions"}

        with Server(away) as server:
            model = {"provider": "p", "model": "m", "protocol": "chat_completions"}
            model["base_url"] = f"http://127.0.0.1:{server.port}/v1"
            data = {"runs": [model], "baselines": [], "repetitions": 1, "retries": {"tries": 1}}
            run_matrix_sync(Config.from_json(data, "config.json"), [SUITE], tmp_path / "r")
        assert len(server.seen) == 1
        assert elsewhere.seen == []
    (attempt,) = RunLog.open(tmp_path / "r").attempts
    assert attempt.status == "transport_error"
