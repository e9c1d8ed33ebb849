"""Workers of one endpoint wait together: for a rate limit, for a server that is away, and not for ever."""

import asyncio
import math
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.support import delivery, make_case, said
from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.errors import TransportError
from toolbench.running.patience import GIVEN_UP, Endpoint
from toolbench.running.runner import run_matrix, run_matrix_sync

SUITE = delivery().keep([make_case(id="hello", user="Hello!", expect={"kind": "text"})])


def settings(port: int, repetitions: int, parallelism: int = 1, **data: Any) -> Config:
    entry = {
        "provider": "p",
        "model": "m",
        "protocol": "chat_completions",
        "base_url": f"http://127.0.0.1:{port}/v1",
    }
    runs = [{**entry, **data.pop("entry", {})}]
    more = {"runs": runs, "baselines": [], "repetitions": repetitions, "parallelism": parallelism, **data}
    return Config.from_json(more, "config.json")


class Limited:
    """A server that lets so many requests through in every window of so many seconds."""

    def __init__(self, limit: int, window: float, retry_after: bool = True, tells: bool = False) -> None:
        self.limit, self.window, self.retry_after, self.tells = limit, window, retry_after, tells
        self.arrived: list[float] = []
        self.served: list[float] = []

    async def answer(self, request: web.Request) -> web.Response:
        await request.read()
        now = time.monotonic()
        self.arrived.append(now)
        recent = [when for when in self.served if when > now - self.window]
        if len(recent) >= self.limit:
            wait = recent[0] + self.window - now
            headers = {"retry-after-ms": f"{wait * 1000:.0f}"} if self.retry_after else {}
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers=headers)
        self.served.append(now)
        recent.append(now)
        left = {
            "x-ratelimit-remaining-requests": str(self.limit - len(recent)),
            "x-ratelimit-reset-requests": f"{math.ceil(1000 * (recent[0] + self.window - now))}ms",
        }
        return web.json_response(said("hi"), headers=left if self.tells else {})

    async def __aenter__(self) -> "Limited":
        application = web.Application()
        application.router.add_post("/v1/chat/completions", self.answer)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *details: object) -> None:
        await self._runner.cleanup()


@pytest.mark.parametrize("retry_after", [True, False], ids=["with-retry-after", "without"])
async def test_sixty_four_workers_finish_under_a_limit_of_sixty(tmp_path: Path, retry_after: bool) -> None:
    """Sixty requests in two seconds stand for sixty a minute."""
    lines: list[str] = []
    async with Limited(60, 2.0, retry_after) as server:
        summary = await run_matrix(
            settings(server.port, 240, 64), [SUITE], tmp_path / "r", on_wait=lines.append
        )
    assert summary.complete, summary
    assert summary.made == 240
    refused = len(server.arrived) - len(server.served)
    # The first burst finds the limit with what is in flight; from then on the pace keeps below it.
    assert refused <= 40, refused
    assert lines
    assert "p/m: HTTP 429: slow down; all requests wait" in lines[0]


async def test_a_limit_that_the_replies_tell_is_never_exceeded(tmp_path: Path) -> None:
    async with Limited(60, 2.0, tells=True) as server:
        summary = await run_matrix(settings(server.port, 240, 64), [SUITE], tmp_path / "r")
    assert summary.complete
    assert summary.transport_errors == 0
    assert len(server.arrived) == len(server.served) == 240


async def test_a_limit_that_is_known_is_never_exceeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolbench.running import patience

    monkeypatch.setattr(patience, "MINUTE", 3.0)
    async with Limited(30, 3.0) as server:
        entry = {"requests_per_minute": 30}
        summary = await run_matrix(settings(server.port, 60, 32, entry=entry), [SUITE], tmp_path / "r")
    assert summary.complete
    assert len(server.arrived) == len(server.served) == 60


async def test_a_limit_that_was_told_too_high_is_found_out_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolbench.running import patience

    monkeypatch.setattr(patience, "MINUTE", 1.0)
    async with Limited(20, 1.0) as server:
        entry = {"requests_per_minute": 40}
        run = run_matrix(settings(server.port, 60, 32, entry=entry), [SUITE], tmp_path / "r")
        summary = await asyncio.wait_for(run, 30)
    assert summary.complete
    assert len(server.served) == 60
    assert len(server.arrived) < 90


async def test_a_limit_that_was_spent_before_says_nothing_about_its_pace(tmp_path: Path) -> None:
    async with Limited(1000, 2.0) as server:
        # As after a run that has just used everything up.
        server.served = [time.monotonic() - 0.5] * 1000
        run = run_matrix(settings(server.port, 100, 8), [SUITE], tmp_path / "r")
        summary = await asyncio.wait_for(run, 15)
    assert summary.complete
    assert summary.transport_errors == 0
    assert len(server.arrived) <= 100 + 16


async def test_a_server_that_is_away_for_a_while_ends_nothing(tmp_path: Path) -> None:
    async with Limited(1000, 1.0) as first:
        port = first.port
        run = asyncio.create_task(run_matrix(settings(port, 400, 4), [SUITE], tmp_path / "r"))
        while len(first.served) < 40:
            await asyncio.sleep(0.01)
    await asyncio.sleep(2.5)
    second = Limited(1000, 1.0)
    application = web.Application()
    application.router.add_post("/v1/chat/completions", second.answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        summary = await run
    finally:
        await runner.cleanup()
    assert summary.complete, summary
    assert {attempt.status for attempt in RunLog.open(tmp_path / "r").attempts} == {"ok"}


async def test_a_wait_beyond_all_patience_gives_up_at_once_and_burns_nothing(tmp_path: Path) -> None:
    async with Limited(3, 5000.0) as server:
        config = settings(server.port, 50, 2, retries={"patience": 30})
        summary = await run_matrix(config, [SUITE], tmp_path / "r")
    assert "more than the patience of 30 s" in summary.abandoned["p/m/chat_completions"]
    assert len(server.arrived) <= 5
    assert summary.transport_errors <= 2
    assert summary.made <= 5


def test_a_server_that_stays_away_is_given_up_when_patience_ends(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = time.monotonic()
    config = settings(port, 50, 8, retries={"patience": 1.5, "max_wait": 0.3})
    summary = run_matrix_sync(config, [SUITE], tmp_path / "r")
    assert 1.5 <= time.monotonic() - started < 6
    assert list(summary.abandoned) == ["p/m/chat_completions"]
    assert summary.made <= 8


async def test_nothing_is_sent_before_the_moment_a_server_named() -> None:
    endpoint = Endpoint("p/m", patience=60, max_wait=1)
    sent_at = await endpoint.enter()
    told = TransportError("rate_limited", "slow", 429, retryable=True, retry_after=0.4)
    started = time.monotonic()
    endpoint.failed(told, sent_at)
    entered = await asyncio.gather(*(asyncio.wait_for(endpoint.enter(), 5) for _ in range(1)))
    assert all(when - started >= 0.4 for when in entered)


async def test_after_a_pause_one_looks_whether_it_is_over() -> None:
    endpoint = Endpoint("p/m", patience=60, max_wait=0.1)
    sent = [await endpoint.enter() for _ in range(6)]
    told = TransportError("overloaded", "busy", 529, retryable=True)
    for when in sent:
        endpoint.failed(told, when)
    waiting = [asyncio.create_task(endpoint.enter()) for _ in range(6)]
    await asyncio.sleep(0.3)
    assert sum(task.done() for task in waiting) == 1
    endpoint.answered()
    await asyncio.sleep(0.05)
    assert sum(task.done() for task in waiting) == 3
    for task in waiting:
        task.cancel()


async def test_an_endpoint_that_was_given_up_sends_nothing() -> None:
    endpoint = Endpoint("p/m", patience=1, max_wait=1)
    told = TransportError("rate_limited", "tomorrow", 429, retryable=True, retry_after=9999)
    endpoint.failed(told, await endpoint.enter())
    with pytest.raises(TransportError) as error:
        await endpoint.enter()
    assert error.value.code == GIVEN_UP
