"""Requests a second through plain httpx and through the transport toolbench uses, as ratios in one run.

Run: python tests/bench/transport.py [requests]
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import httpx
from aiohttp import web
from httpx_aiohttp import AiohttpTransport

REPLY = json.dumps(
    {"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}
)
BODY = {"model": "m", "messages": [{"role": "user", "content": "x" * 2000}]}


async def serve() -> tuple[web.AppRunner, int]:
    """Start a server that answers at once, on a free port of this machine."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(text=REPLY, content_type="application/json")

    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return runner, runner.addresses[0][1]


async def rate(transport: httpx.AsyncBaseTransport, url: str, concurrency: int, requests: int) -> float:
    """Return requests a second with so many in flight; failures count as nothing."""
    todo = iter(range(requests))
    done = 0

    async def work(client: httpx.AsyncClient) -> None:
        nonlocal done
        for _ in todo:
            try:
                response = await client.post(url, json=BODY)
                done += response.is_success
            except httpx.HTTPError:
                continue

    async with httpx.AsyncClient(transport=transport, timeout=60) as client:
        started = time.perf_counter()
        await asyncio.gather(*(work(client) for _ in range(concurrency)))
        return done / (time.perf_counter() - started)


async def main(requests: int) -> None:
    """Print one line for each concurrency."""
    runner, port = await serve()
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    limits = httpx.Limits(max_connections=512, max_keepalive_connections=128)
    print(f"{'in flight':>9} {'httpx/s':>9} {'aiohttp/s':>9} {'ratio':>6}")
    for concurrency in (1, 16, 64, 256):
        plain = await rate(httpx.AsyncHTTPTransport(limits=limits), url, concurrency, requests)
        ours = await rate(AiohttpTransport(limits=limits), url, concurrency, requests)
        print(f"{concurrency:>9} {plain:>9.0f} {ours:>9.0f} {ours / plain if plain else float('inf'):>6.1f}")
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500))
