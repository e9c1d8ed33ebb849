import asyncio
import json
import os
import socket
import stat
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.support import delivery, make_case, said
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME, RunLog
from toolbench.errors import ConfigError, LogError
from toolbench.running.runner import Progress, run_matrix, run_matrix_sync

SUITE = delivery().keep(
    [
        make_case(id="hello", user="Hello!", expect={"kind": "text"}),
        make_case(
            id="lookup",
            user="Where is ORD-123456?",
            expect={
                "kind": "tool_call",
                "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}],
            },
        ),
    ]
)


def config(**data: Any) -> Config:
    return Config.from_json(
        {"runs": [], "repetitions": 2, "retries": {"tries": 1, "patience": 0}, **data}, "config.json"
    )


def model(port: int, name: str = "m", **entry: Any) -> dict[str, Any]:
    return {
        "provider": "p",
        "model": name,
        "protocol": "chat_completions",
        "base_url": f"http://127.0.0.1:{port}/v1",
        **entry,
    }


class Server:
    """A bounded HTTP server that answers with what ``answer`` returns: status, body, headers if any."""

    def __init__(self, answer: Any) -> None:
        seen: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                seen.append(json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or "null"))
                status, body, *more = answer(len(seen))
                data = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {**dict(*more), "content-length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            # What a redirect that is followed may become.
            do_GET = do_POST

            def log_message(self, *arguments: Any) -> None:
                pass

        self.seen = seen
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def __enter__(self) -> "Server":
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *details: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_every_planned_attempt_is_made_once(tmp_path: Path) -> None:
    seen: list[Progress] = []
    summary = run_matrix_sync(
        config(conditions=["auto", "reversed"]), [SUITE], tmp_path / "r", on_attempt=seen.append
    )
    log = RunLog.open(tmp_path / "r")
    assert summary.complete
    assert sorted(a.key for a in log.attempts) == sorted(p for p in log.header.plan())
    assert len(seen) == summary.total == 4 * 2 * 2 * 2
    assert [progress.done for progress in seen] == list(range(1, summary.total + 1))


def test_tool_order_and_tools_off_reach_the_wire(tmp_path: Path) -> None:
    with Server(lambda n: (200, said("hi"))) as server:
        conditions = ["auto", "reversed", "no_tools", {"name": "forced"}]
        run_matrix_sync(
            config(runs=[model(server.port)], baselines=[], conditions=conditions, repetitions=1),
            [SUITE],
            tmp_path / "r",
        )
        bodies = server.seen
    names = [[tool["function"]["name"] for tool in body.get("tools", [])] for body in bodies]
    assert names[0] == ["get_order", "quote_delivery", "cancel_order"]
    assert names[2] == names[0][::-1]
    assert names[4] == []
    assert "tool_choice" not in bodies[4]
    assert bodies[6]["tool_choice"] == "required"
    assert len(bodies) == 7


def test_a_dead_server_is_given_up_and_can_be_resumed(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = config(runs=[model(port)], baselines=["always_silent"], repetitions=5)
    summary = run_matrix_sync(settings, [SUITE], tmp_path / "r")
    assert list(summary.abandoned) == ["p/m/chat_completions"]
    assert f"127.0.0.1:{port}" in summary.abandoned["p/m/chat_completions"]
    assert summary.transport_errors == 3
    assert not summary.complete
    assert summary.made == 10 + 3


def test_resume_makes_only_what_is_missing_and_retries_errors_on_request(tmp_path: Path) -> None:
    with Server(lambda n: (500, {"error": "x"}) if n <= 2 else (200, said("hi"))) as server:
        settings = config(runs=[model(server.port)], baselines=[], repetitions=2)
        first = run_matrix_sync(settings, [SUITE], tmp_path / "r")
        again = run_matrix_sync(settings, [SUITE], tmp_path / "r", resume=True)
        retried = run_matrix_sync(settings, [SUITE], tmp_path / "r", resume=True, retry_errors=True)
    assert (first.made, first.transport_errors) == (4, 2)
    assert (again.made, again.skipped) == (0, 4)
    assert (retried.made, retried.skipped, retried.transport_errors) == (2, 2, 0)
    assert {a.status for a in RunLog.open(tmp_path / "r").attempts} == {"ok"}


def test_a_changed_case_forbids_resuming_and_is_named(tmp_path: Path) -> None:
    run_matrix_sync(config(), [SUITE], tmp_path / "r")
    changed = SUITE.keep([*SUITE.cases, make_case(id="new", user="x", expect={"kind": "text"})])
    with pytest.raises(LogError, match=r"changed: suites\.delivery\.cases"):
        run_matrix_sync(config(), [changed], tmp_path / "r", resume=True)


def test_an_existing_run_is_not_overwritten(tmp_path: Path) -> None:
    run_matrix_sync(config(), [SUITE], tmp_path / "r")
    before = (tmp_path / "r" / LOG_NAME).read_bytes()
    with pytest.raises(LogError, match="already holds a run"):
        run_matrix_sync(config(), [SUITE], tmp_path / "r")
    assert (tmp_path / "r" / LOG_NAME).read_bytes() == before


def test_resuming_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no run to resume"):
        run_matrix_sync(config(), [SUITE], tmp_path / "r", resume=True)


@pytest.mark.skipif(
    os.geteuid() == 0 and not Path("/proc/self").exists(), reason="needs a file system that refuses"
)
def test_an_output_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LogError, match="cannot be created"):
        run_matrix_sync(config(), [SUITE], tmp_path / "file" / "r")
    assert stat.S_ISREG((tmp_path / "file").stat().st_mode)


def test_nothing_to_run_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no case is left"):
        run_matrix_sync(config(cases={"ids": ["nope"]}), [SUITE], tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_an_unknown_description_variant_is_refused_at_once(tmp_path: Path) -> None:
    from toolbench.errors import SuiteError

    with pytest.raises(SuiteError, match=r"no descriptions\.none_such\.json"):
        run_matrix_sync(
            config(conditions=[{"name": "x", "descriptions": "none_such"}]), [SUITE], tmp_path / "r"
        )


def test_budgets_stop_the_run_cleanly(tmp_path: Path) -> None:
    with Server(lambda n: (200, said("hi"))) as server:
        settings = config(runs=[model(server.port)], baselines=[], repetitions=9, budgets={"requests": 5})
        summary = run_matrix_sync(settings, [SUITE], tmp_path / "r")
    assert summary.made == 5
    assert summary.stopped == "budgets.requests of 5 is spent"
    assert len(RunLog.open(tmp_path / "r")) == 5


def test_parallel_attempts_overlap_and_are_all_kept(tmp_path: Path) -> None:
    import threading

    together, most, lock = 0, 0, threading.Lock()

    def answer(number: int) -> tuple[int, dict[str, Any]]:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        import time

        time.sleep(0.05)
        with lock:
            together -= 1
        return 200, said("hi")

    with Server(answer) as server:
        settings = config(runs=[model(server.port)], baselines=[], repetitions=8, parallelism=4)
        summary = run_matrix_sync(settings, [SUITE], tmp_path / "r")
    assert summary.complete
    assert most == 4
    assert len(RunLog.open(tmp_path / "r")) == 16


async def test_cancelling_keeps_what_is_finished_and_reacts_at_once(tmp_path: Path) -> None:
    import time

    def answer(number: int) -> tuple[int, dict[str, Any]]:
        if number > 3:
            time.sleep(3)
        return 200, said("hi")

    with Server(answer) as server:
        settings = config(runs=[model(server.port)], baselines=[], repetitions=9)
        task = asyncio.create_task(run_matrix(settings, [SUITE], tmp_path / "r"))
        while not (tmp_path / "r" / LOG_NAME).exists() or len(RunLog.open(tmp_path / "r")) < 3:
            await asyncio.sleep(0.02)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 1
    assert len(RunLog.open(tmp_path / "r")) == 3


async def test_the_blocking_form_works_inside_a_running_loop(tmp_path: Path) -> None:
    assert run_matrix_sync(config(), [SUITE], tmp_path / "r").complete


def test_no_key_reaches_any_file_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "sk-TEST-0123456789abcdef"
    monkeypatch.setenv("TEST_KEY", canary)

    def answer(number: int) -> tuple[int, dict[str, Any]]:
        return (
            (401, {"error": {"message": f"bad key {canary}"}})
            if number == 2
            else (200, said(f"key {canary}"))
        )

    with Server(answer) as server:
        run = model(server.port, api_key_env="TEST_KEY", headers={"X-Api": "env:TEST_KEY"})
        run_matrix_sync(config(runs=[run], baselines=[]), [SUITE], tmp_path / "r")
    for file in (tmp_path / "r").rglob("*"):
        assert canary.encode() not in file.read_bytes(), file
    assert b"[redacted]" in (tmp_path / "r" / LOG_NAME).read_bytes()


def test_asked_sent_and_honoured_are_three_fields(tmp_path: Path) -> None:
    with Server(lambda n: (200, said("no call"))) as server:
        settings = config(
            runs=[model(server.port, capabilities={"temperature": "unsupported"})],
            baselines=[],
            conditions=["forced"],
        )
        run_matrix_sync(settings, [SUITE], tmp_path / "r")
        assert "temperature" not in server.seen[0]
    attempt = next(RunLog.open(tmp_path / "r").attempts)
    assert attempt.turns[0].settings["tool_choice"] == {
        "asked": "required",
        "sent": "required",
        "honoured": False,
    }
    assert attempt.turns[0].settings["temperature"] == {"asked": 0, "sent": None, "honoured": False}


def test_a_kernel_interrupt_ends_the_run_within_a_second_and_leaves_nothing_running(tmp_path: Path) -> None:
    """As in a notebook: a loop is running already, and the interrupt comes while the cell is blocked."""
    import signal
    import threading
    import time

    async def cell(port: int) -> float:
        settings = config(runs=[model(port)], baselines=[], repetitions=500)
        threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run_matrix_sync(settings, [SUITE], tmp_path / "r")
        return time.monotonic() - started

    def answer(number: int) -> tuple[int, dict[str, Any]]:
        time.sleep(0.02)
        return 200, said("hi")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Server(answer) as server:
            loop = asyncio.new_event_loop()
            try:
                seconds = loop.run_until_complete(cell(server.port))
            finally:
                loop.close()
            sent = len(server.seen)
            time.sleep(0.3)
            assert len(server.seen) == sent
    finally:
        signal.signal(signal.SIGINT, before)
    assert seconds < 1.7
    assert "toolbench-run" not in [thread.name for thread in threading.enumerate()]
    assert 0 < len(RunLog.open(tmp_path / "r")) <= sent


def test_every_cause_behind_a_group_is_told_as_itself() -> None:
    from toolbench.running.runner import _cause

    disk = LogError("the disk is full")
    group = ExceptionGroup("many", [ExceptionGroup("inner", [OSError("x"), disk]), ValueError("y")])
    assert _cause(group) is disk
    assert isinstance(_cause(ExceptionGroup("one", [ExceptionGroup("two", [OSError(24, "files")])])), OSError)


def test_what_decides_no_verdict_may_change_between_sessions_and_is_recorded(tmp_path: Path) -> None:
    first = config(labels={"who": "me"}, budgets={"requests": 100})
    run_matrix_sync(first, [SUITE], tmp_path / "r")
    again = config(labels={"who": "you"}, parallelism=4, timeouts={"total": 5}, budgets={"seconds": 100})
    assert run_matrix_sync(again, [SUITE], tmp_path / "r", resume=True).made == 0
    (resumed,) = RunLog.open(tmp_path / "r").resumed
    assert resumed.changes == [
        "config.budgets.requests",
        "config.budgets.seconds",
        "config.labels.who",
        "config.parallelism",
        "config.timeouts.total",
    ]
    with pytest.raises(LogError, match=r"changed: config\.repetitions"):
        run_matrix_sync(config(repetitions=3), [SUITE], tmp_path / "r", resume=True)


def test_a_budget_is_kept_over_resumes(tmp_path: Path) -> None:
    with Server(lambda n: (200, said("hi"))) as server:
        settings = config(runs=[model(server.port)], baselines=[], repetitions=50, budgets={"requests": 20})
        made = [
            run_matrix_sync(settings, [SUITE], tmp_path / "r", resume=number > 0).made for number in range(3)
        ]
        assert made == [20, 0, 0]
        assert len(server.seen) == 20


def test_a_header_left_unfinished_by_a_crash_is_written_anew(tmp_path: Path) -> None:
    run_matrix_sync(config(), [SUITE], tmp_path / "r")
    file = tmp_path / "r" / LOG_NAME
    file.write_bytes(file.read_bytes()[:300])
    summary = run_matrix_sync(config(), [SUITE], tmp_path / "r", resume=True)
    assert summary.complete
    assert summary.set_aside is not None
    assert (tmp_path / "r" / f"{LOG_NAME}.bad").read_bytes().startswith(b'{"run_id"')


def test_a_run_whose_folder_vanishes_says_so(tmp_path: Path) -> None:
    import shutil

    def answer(number: int) -> tuple[int, dict[str, Any]]:
        if number == 5:
            shutil.rmtree(tmp_path / "r")
        return 200, said("hi")

    with Server(answer) as server:
        settings = config(runs=[model(server.port)], baselines=[], repetitions=50, parallelism=4)
        with pytest.raises(LogError, match="was deleted or replaced during the run"):
            run_matrix_sync(settings, [SUITE], tmp_path / "r")
        assert len(server.seen) < 20


def test_a_retried_attempt_keeps_what_its_first_try_has_cost(tmp_path: Path) -> None:
    from toolbench.numbers.frames import load

    with Server(lambda n: (500, {"error": "x"}) if n <= 2 else (200, said("hi"))) as server:
        settings = config(runs=[model(server.port)], baselines=[], repetitions=2)
        run_matrix_sync(settings, [SUITE], tmp_path / "r")
        run_matrix_sync(settings, [SUITE], tmp_path / "r", resume=True, retry_errors=True)
    frame = load(tmp_path / "r")
    assert frame["status"].eq("ok").all()
    assert frame["failed_tries"].sum() == 2
    assert frame["earlier_errors"].sum() == 2
