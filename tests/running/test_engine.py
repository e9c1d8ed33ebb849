from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.support import ROOT
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.log import RunLog
from toolbench.domain.record import Progress
from toolbench.domain.suite import find_suite
from toolbench.errors import ServingError, TransportError
from toolbench.local import LocalServer
from toolbench.running import engine
from toolbench.running.engine import DIED, line_to
from toolbench.running.patience import GIVEN_UP
from toolbench.running.runner import run_matrix_sync
from toolbench.running.transport import Response

MODEL = ModelConfig("embedded", "tiny", "chat_completions", "embedded:")
REPLY = Response(200, {}, "{}", {}, 1.0)


class Server:
    """A server that dies when told to."""

    made: ClassVar[Server]
    extra_body: Mapping[str, Any] = {"min_p": 0.1}
    model = "tiny"

    def __init__(self, weights: str, **_: Any) -> None:
        self.starts, self.dead, self.startable = 0, False, True
        type(self).made = self

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{8000 + self.starts}/v1"

    def start(self) -> None:
        if not self.startable:
            raise ServingError("no memory")
        self.starts += 1
        self.dead = False

    def stop(self) -> None:
        pass

    def ended(self) -> str | None:
        return "the server of tiny ended by itself (SIGABRT): last words" if self.dead else None


@pytest.fixture(autouse=True)
def _server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "local_model" not in request.keywords:
        monkeypatch.setattr(engine, "LocalServer", Server)


async def answer(model: ModelConfig) -> Response:
    return REPLY


async def hang(model: ModelConfig) -> Response:
    await asyncio.sleep(60)
    return REPLY


async def die(model: ModelConfig) -> Response:
    Server.made.dead = True
    return await hang(model)


async def break_off(model: ModelConfig) -> Response:
    raise TransportError("connection_lost", "the connection was lost", retryable=True)


async def _fault(line: engine.Line, to: engine.SendTo) -> TransportError:
    with pytest.raises(TransportError) as caught:
        await line.send(to)
    return caught.value


def test_request_under_which_the_server_dies_names_its_last_words_and_the_next_finds_a_new_one() -> None:
    async def main() -> tuple[TransportError, Response, str, list[str]]:
        lines: list[str] = []
        async with line_to(MODEL, tell=lines.append) as line:
            fault = await _fault(line, die)
            return fault, await line.send(answer), line.model.base_url, lines

    fault, reply, address, lines = asyncio.run(main())
    assert (fault.code, fault.retryable) == (DIED, False)
    assert "SIGABRT" in fault.message
    assert "last words" in fault.message
    assert reply is REPLY
    assert address.endswith(":8002/v1")
    assert [line.split()[0] for line in lines] == ["loading", "loaded", "the", "loading", "loaded"]


def test_broken_connection_is_waited_on_for_the_death_behind_it() -> None:
    async def die_behind(model: ModelConfig) -> Response:
        asyncio.get_running_loop().call_later(0.3, setattr, Server.made, "dead", True)
        return await break_off(model)

    async def main() -> TransportError:
        async with line_to(MODEL) as line:
            return await _fault(line, die_behind)

    assert asyncio.run(main()).code == DIED


def test_failure_of_a_server_that_lives_stays_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "DYING", 0.05)

    async def main() -> TransportError:
        async with line_to(MODEL) as line:
            return await _fault(line, break_off)

    assert asyncio.run(main()).code == "connection_lost"
    assert Server.made.starts == 1


def test_server_that_died_between_requests_costs_none() -> None:
    async def main() -> Response:
        async with line_to(MODEL) as line:
            Server.made.dead = True
            return await line.send(answer)

    assert asyncio.run(main()) is REPLY
    assert Server.made.starts == 2


def test_parallel_requests_of_a_dead_server_fail_together_and_start_one_new_one() -> None:
    async def main() -> list[Any]:
        async with line_to(MODEL) as line:
            first = await asyncio.gather(
                line.send(hang), line.send(die), line.send(hang), return_exceptions=True
            )
            return first + await asyncio.gather(*(line.send(answer) for _ in range(3)))

    told = asyncio.run(main())
    assert [fault.code for fault in told[:3]] == [DIED] * 3
    assert told[3:] == [REPLY] * 3
    assert Server.made.starts == 2


def test_server_that_always_dies_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "RESTARTS", 2)

    async def main() -> tuple[list[str], str | None]:
        async with line_to(MODEL) as line:
            return [(await _fault(line, die)).code for _ in range(5)], line.closed

    codes, closed = asyncio.run(main())
    assert codes == [DIED] * 3 + [GIVEN_UP] * 2
    assert closed is not None
    assert "3 times" in closed
    assert "last words" in closed
    assert Server.made.starts == 3


def test_server_that_cannot_be_started_again_is_given_up_with_the_reason() -> None:
    async def main() -> TransportError:
        async with line_to(MODEL) as line:
            Server.made.dead, Server.made.startable = True, False
            return await _fault(line, answer)

    fault = asyncio.run(main())
    assert (fault.code, fault.message) == (GIVEN_UP, "no memory")


def test_what_the_engine_needs_is_in_every_request_unless_the_configuration_says_otherwise() -> None:
    async def main(**own: Any) -> Mapping[str, Any]:
        async with line_to(ModelConfig(**{**vars(MODEL), "extra_body": own})) as line:
            return line.model.extra_body

    assert asyncio.run(main()) == {"min_p": 0.1}
    assert asyncio.run(main(min_p=0, top_k=1)) == {"min_p": 0, "top_k": 1}


@pytest.mark.local_model
def test_killed_engine_costs_one_attempt_and_the_run_goes_on(
    smollm2: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: list[LocalServer] = []

    class Known(LocalServer):
        def start(self) -> LocalServer:
            servers.append(self)
            return super().start()

    monkeypatch.setattr(engine, "LocalServer", Known)
    run = {
        "provider": "embedded",
        "model": smollm2,
        "protocol": "chat_completions",
        "base_url": "embedded:",
        # Long replies, so that the kill meets one.
        "extra_body": {"ignore_eos": True},
        "settings": {"max_output_tokens": 200},
    }
    plan = {
        "runs": [run],
        "baselines": [],
        "cases": {"ids": ["no_tool_needed"], "langs": ["en"]},
        "repetitions": 3,
        "loop_limit": 1,
    }

    def after(progress: Progress) -> None:
        if progress.done == 1:
            threading.Timer(0.3, os.kill, (servers[-1].pid, signal.SIGKILL)).start()

    summary = run_matrix_sync(
        Config.from_json(plan, "test"), [find_suite(ROOT, "delivery")], tmp_path / "run", on_attempt=after
    )
    made = sorted(RunLog.open(tmp_path / "run").attempts, key=lambda attempt: attempt.repetition)
    assert [attempt.status for attempt in made] == ["ok", "transport_error", "ok"]
    assert made[1].stop == DIED
    assert made[1].error is not None
    assert "SIGKILL" in str(made[1].error["message"])
    assert len(servers) == 2
    assert summary.abandoned == {}
    assert (summary.made, summary.transport_errors) == (3, 1)
