"""Live tools: real functions and real MCP servers, their limits, the double consent, recording and replay."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolbench.authoring.lint import lint
from toolbench.cli import main
from toolbench.domain.log import RunLog
from toolbench.domain.record import CallRecord

HERE = Path(__file__).parent
SERVER = f"{sys.executable} {HERE / 'live_server.py'}"
ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
MODULE = "tests.running.live_functions"


def workspace(
    root: Path, tool: str, executor: dict[str, Any], effect: str = "read", times: int = 1, **config: Any
) -> Path:
    """Write a suite of one tool, and a scripted model that calls it and repeats what it was told."""
    entry = {"name": tool, "description": tool, "parameters": ID, "effect": effect}
    folder = root / "contracts/lamps"
    folder.mkdir(parents=True)
    (root / "cases").mkdir()
    files = {
        folder / "tools.json": {"version": "1", "tools": [entry]},
        folder / "executor.json": {"version": "1", "timeout_seconds": 20, **executor},
        root / "cases/lamps.en.jsonl": {
            "id": "one", "class": "one", "lang": "en", "user": "What about lamp L1?",
            "expect": {"kind": "tool_call", "calls": [{"tool": tool, "arguments": {"id": "L1"}}]},
        },
        root / "model.json": {
            "models": {
                "m": {
                    "rules": [
                        {"when": {"after_tool_result": True}, "then": {"text": "It says: $result"}},
                        {"then": {"calls": [{"name": tool, "arguments": {"id": "L1"}}] * times}},
                    ]
                }
            }
        },
        root / "config.json": {
            "runs": [
                {
                    "provider": "p", "model": "m", "protocol": "chat_completions",
                    "base_url": "simulator:model.json",
                }
            ],
            "baselines": [], "suites": ["lamps"], "repetitions": 1, **config,
        },
    }  # fmt: skip
    for path, data in files.items():
        path.write_text(json.dumps(data), encoding="utf-8")
    (folder / "prompt.en.md").write_text("Use the tools.", encoding="utf-8")
    return root


def run(root: Path, *options: str, output: str = "run") -> Result:
    command = ["run", "--config", str(root / "config.json"), "--output", str(root / output), *options]
    return CliRunner().invoke(main, command)


def calls(root: Path, output: str = "run") -> Sequence[CallRecord]:
    (attempt,) = RunLog.open(root / output).attempts
    return attempt.calls


def only(root: Path, output: str = "run") -> CallRecord:
    (record,) = calls(root, output)
    return record


def mcp(server: str = SERVER, **more: Any) -> dict[str, Any]:
    pytest.importorskip("mcp")
    return {"kind": "mcp", "server": server, **more}


def python(name: str, tool: str = "look", **more: Any) -> dict[str, Any]:
    return {"kind": "python", "callables": {tool: f"{MODULE}:{name}"}, **more}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, str(HERE / "live_server.py"), str(port)])
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_a_read_tool_of_a_server_is_called_and_recorded(
    wire: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = SERVER if wire == "stdio" else request.getfixturevalue("address")
    root = workspace(tmp_path, "state", mcp(server, names={"state": "lamp.state"}))
    assert lint([root / "contracts"]) == []
    done = run(root)
    assert done.exit_code == 0, done.output
    record = only(root)
    assert record.succeeded
    assert record.result is not None
    assert record.result.value == {"id": "L1", "state": "on"}
    assert record.result.content == '{"id": "L1", "state": "on"}'
    assert record.started_at is not None
    assert record.seconds is not None
    assert 0 < record.seconds < 20


def test_what_was_recorded_is_replayed_word_by_word_without_the_server(tmp_path: Path) -> None:
    root = workspace(tmp_path, "switch", mcp(), "write", allow_writes=True)
    done = run(root, "--allow-writes", "--record", str(root / "recorded"))
    assert done.exit_code == 0, done.output
    assert "1 call recorded" in done.output
    executor = root / "contracts/lamps/executor.json"
    executor.write_text(json.dumps({"version": "1", "kind": "mcp", "server": "/no/such/server"}))
    replayed = run(root, "--replay", str(root / "recorded"), output="again")
    assert replayed.exit_code == 0, replayed.output
    before, after = only(root).result, only(root, "again").result
    assert before is not None
    assert after is not None
    assert before.content == after.content == "Lamp L1 is now\noff."
    assert run(root, "--resume", "--record", str(root / "recorded")).exit_code == 2


@pytest.mark.parametrize(
    ("config", "options", "written"),
    [
        pytest.param({}, (), False, id="no-consent"),
        pytest.param({"allow_writes": True}, (), False, id="only-the-configuration"),
        pytest.param({"allow_writes": True}, ("--allow-writes",), True, id="both"),
    ],
)
def test_a_write_needs_both_consents(
    config: dict[str, Any], options: tuple[str, ...], written: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("LAMP_LOG", str(tmp_path / "log"))
    root = workspace(tmp_path, "switch", mcp(env=["LAMP_LOG"]), "write", times=2, **config)
    done = run(root, *options)
    assert (tmp_path / "log").exists() == written
    first, second = calls(root)
    assert first.succeeded == written
    if written:
        # The same write is carried out once, whoever repeats it.
        assert (tmp_path / "log").read_text() == "L1\n"
        assert second.replayed
    else:
        assert first.result is not None
        assert first.result.code == "WRITE_NOT_ALLOWED"
        assert done.output.count("switch was not carried out: it writes") == 1


def test_the_flag_alone_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    root = workspace(tmp_path, "switch", mcp(), "write")
    done = run(root, "--allow-writes")
    assert done.exit_code == 2
    assert "true in the configuration as well" in done.output
    assert not (root / "run").exists()


def test_a_baseline_never_writes_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMP_LOG", str(tmp_path / "log"))
    executor = mcp(env=["LAMP_LOG"])
    root = workspace(tmp_path, "switch", executor, "write", allow_writes=True, runs=[], baselines=["first"])
    done = run(root, "--allow-writes")
    assert done.exit_code in (0, 2), done.output
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("executor", "tool", "code", "told"),
    [
        pytest.param(
            lambda: mcp(timeout_seconds=3), "slow", "TIMEOUT", "no answer within 3 s", id="mcp-slow"
        ),
        pytest.param(mcp, "broken", "TOOL_ERROR", "the fuse is blown", id="mcp-error"),
        pytest.param(
            lambda: python("slow", timeout_seconds=3), "look", "TIMEOUT", "within 3 s", id="python-slow"
        ),
        pytest.param(
            lambda: python("broken"), "look", "TOOL_ERROR", "ValueError: no lamp L1", id="python-error"
        ),
        pytest.param(lambda: python("strange"), "look", "TOOL_ERROR", "TypeError", id="python-no-json"),
    ],
)
def test_a_failing_tool_is_an_error_the_model_is_told(
    executor: Any, tool: str, code: str, told: str, tmp_path: Path
) -> None:
    root = workspace(tmp_path, tool, executor())
    started = time.monotonic()
    assert run(root).exit_code == 0
    result = only(root).result
    assert result is not None
    assert result.code == code
    assert told in result.content
    assert time.monotonic() - started < 40


def test_a_server_that_dies_under_a_call_costs_the_attempt_and_blames_nobody(tmp_path: Path) -> None:
    root = workspace(tmp_path, "dies", mcp())
    done = run(root)
    assert done.exit_code == 1
    (attempt,) = RunLog.open(root / "run").attempts
    assert (attempt.status, attempt.stop) == ("transport_error", "tool_server")


@pytest.mark.parametrize(
    ("executor", "tool", "told"),
    [
        pytest.param(lambda: mcp(), "fly", "has no tool fly", id="mcp-unknown-tool"),
        pytest.param(lambda: mcp("/no/such/program"), "slow", "/no/such/program", id="mcp-no-server"),
        pytest.param(
            lambda: mcp("http://127.0.0.1:9/mcp", headers={"Authorization": "env:NO_SUCH_KEY"}),
            "slow", "NO_SUCH_KEY is not set", id="mcp-no-key",
        ),
        pytest.param(lambda: python("hidden"), "look", "@toolbench.live_tool above it", id="python-unmarked"),
        pytest.param(
            lambda: {"kind": "python", "callables": {"look": "os:system"}},
            "look", "@toolbench.live_tool above it", id="python-anything",
        ),
        pytest.param(
            lambda: {"kind": "python", "callables": {"look": "no_such_module:f"}},
            "look", "No module named", id="python-no-module",
        ),
    ],
)  # fmt: skip
def test_tools_that_are_not_there_stop_the_command_with_one_line(
    executor: Any, tool: str, told: str, tmp_path: Path
) -> None:
    root = workspace(tmp_path, tool, executor())
    done = run(root)
    assert done.exit_code == 2
    assert told in done.output
    assert len(done.output.strip().split("\n")) == 1
    assert not (root / "run").exists()


def test_registered_functions_run_in_a_process_of_their_own(tmp_path: Path) -> None:
    root = workspace(tmp_path, "look", python("look"))
    assert lint([root / "contracts"]) == []
    assert run(root).exit_code == 0
    result = only(root).result
    assert result is not None
    assert result.value == {"id": "L1", "state": "on"}


def test_a_long_result_is_cut_and_a_secret_is_not_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace(tmp_path / "long", "long", mcp())
    assert run(root).exit_code == 0
    result = only(root).result
    assert result is not None
    assert result.cut_from == 20_000
    assert len(result.content) < 5000
    monkeypatch.setenv("LAMP_KEY", "sk-very-secret-lamp-key-1")
    root = workspace(tmp_path / "secret", "secret", mcp(env=["LAMP_KEY"]))
    assert run(root).exit_code == 0
    assert "very-secret" not in (root / "run/attempts.jsonl").read_text()


def test_a_guessed_effect_is_taken_for_a_write(tmp_path: Path) -> None:
    root = workspace(tmp_path, "look", python("look"))
    path = root / "contracts/lamps/tools.json"
    data = json.loads(path.read_text())
    data["tools"][0]["guessed"] = {"effect": "its name"}
    path.write_text(json.dumps(data))
    done = run(root)
    assert "its effect is a guess" in done.output
    result = only(root).result
    assert result is not None
    assert result.code == "WRITE_NOT_ALLOWED"
