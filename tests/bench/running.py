"""Attempts a second of ``run`` beside a bare loop over the same transport: ``python -m tests.bench.running``.

Every attempt has two turns, a call and an answer, against a server of its own process that answers at once.
The bare loop posts the same two bodies and reads the replies as JSON; it builds, checks and keeps nothing.
Both use this process alone, so that their rates, taken one after the other, tell what ``run`` adds.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from httpx_aiohttp import AiohttpTransport

from tests.support import ROOT
from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.domain.suite import Suite, find_suite
from toolbench.running.runner import run_matrix_sync

CONCURRENCY = (16, 64, 256)
CASES = 50
SERVER = """
import asyncio, json
from aiohttp import web

def reply(message, finish):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps({**head, "choices": [choice], "usage": usage})

called = {"name": "get_order", "arguments": json.dumps({"order_id": "ORD-123456"})}
calls = [{"id": "c1", "type": "function", "function": called}]
call = reply({"content": None, "tool_calls": calls}, "tool_calls")
text = reply({"content": "Order ORD-123456 is in transit."}, "stop")

async def answer(request):
    last = json.loads(await request.read())["messages"][-1]["role"]
    return web.Response(text=text if last == "tool" else call, content_type="application/json")

async def main():
    application = web.Application(client_max_size=2**24)
    application.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@contextmanager
def server() -> Iterator[str]:
    """Start the server; give the address that a model has there."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


@cache
def fifty() -> Suite:
    """Return fifty cases of one message."""
    suite = find_suite(ROOT, "delivery")
    return suite.keep([case for case in suite.cases if case.lang == "en" and not case.turns][:CASES])


def played(url: str, folder: Path, concurrency: int, attempts: int) -> None:
    """Make the attempts of a run."""
    player = {"provider": "p", "model": "m", "protocol": "chat_completions", "base_url": url}
    entry = {
        "runs": [player],
        "baselines": [],
        "conditions": ["auto"],
        "parallelism": concurrency,
        "repetitions": attempts // CASES,
    }
    run_matrix_sync(Config.from_json(entry, "inline", ROOT), [fifty()], folder)


def bare(url: str, bodies: list[Any], concurrency: int, attempts: int) -> None:
    """Post the bodies of the attempts, and do nothing else."""

    async def work(client: httpx.AsyncClient, todo: Iterator[int]) -> None:
        for _ in todo:
            for body in bodies:
                (await client.post(f"{url}/chat/completions", json=body)).json()

    async def main() -> None:
        limits = httpx.Limits(max_connections=512, max_keepalive_connections=512)
        todo = iter(range(attempts))
        async with httpx.AsyncClient(transport=AiohttpTransport(limits=limits), timeout=60) as client:
            await asyncio.gather(*(work(client, todo) for _ in range(concurrency)))

    asyncio.run(main())


def rates(work: Any, attempts: int) -> tuple[float, float]:
    """Return attempts a second, and milliseconds of this process's processor for each."""
    started, spent = time.perf_counter(), time.process_time()
    work()
    return attempts / (time.perf_counter() - started), (time.process_time() - spent) / attempts * 1000


def main(attempts: int) -> None:
    """Print one line for each concurrency."""
    attempts -= attempts % CASES
    with server() as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        played(url, folder / "first", 16, CASES)
        bodies = [turn.request["body"] for turn in next(RunLog.open(folder / "first").attempts).turns]
        assert len(bodies) == 2
        size = sum(len(json.dumps(body)) for body in bodies)
        print(f"{attempts} attempts of two turns, {size} bytes asked, {os.cpu_count()} processors")
        print(f"{'in flight':>9} {'bare/s':>7} {'ms':>6} {'run/s':>7} {'ms':>6} {'share':>6} {'to 16':>6}")
        first = None
        for concurrency in CONCURRENCY:
            plain, plain_ms = rates(lambda c=concurrency: bare(url, bodies, c, attempts), attempts)
            out = folder / str(concurrency)
            ours, ms = rates(lambda c=concurrency, o=out: played(url, o, c, attempts), attempts)
            first = first or ours
            print(
                f"{concurrency:>9} {plain:>7.0f} {plain_ms:>6.2f} {ours:>7.0f} {ms:>6.2f}"
                f" {ours / plain:>6.0%} {ours / first:>6.2f}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
