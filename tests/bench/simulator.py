"""Processor time that the simulator needs for one request: ``python -m tests.bench.simulator [requests]``.

The client is another process, so that only the server is measured: its thread, and nothing else, works here.
A plain request (one suite's tools, system prompt, one question) should stay below a millisecond.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from tests.adapters.support import model
from tests.faults.support import FAMILIES, SCRIPT
from tests.simulator.simulator_bodies import HEADERS
from tests.support import ROOT
from toolbench.adapters import adapter_for
from toolbench.adapters.wire import Offer, Request
from toolbench.domain.suite import find_suite
from toolbench.simulator import Simulator

WARM_UP = 50
CLIENT = """
import asyncio, json, sys, aiohttp
url, body, requests, headers = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
async def work(session, todo):
    for number in todo:
        # No two are equal, so that nothing can be remembered.
        async with session.post(url, data=body.replace("@@", str(number)), headers=headers) as reply:
            text = await reply.text()
            assert reply.status == 200, text
async def main():
    todo = iter(range(requests))
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(work(session, todo) for _ in range(8)))
asyncio.run(main())
"""


def request(protocol: str, stream: bool) -> Request:
    """Return the first request of a case of the tickets suite."""
    suite = find_suite(ROOT, "tickets")
    tools = tuple(suite.contract.offered(None, "canonical"))
    offer = Offer(tools, "en", {tool.name: tool.name for tool in tools})
    family = FAMILIES[protocol]
    player = model(protocol, family["model"], profile=family.get("profile"), stream=stream)
    asked = [{"role": "user", "content": "My laptop @@ does not start."}]
    adapter = adapter_for(protocol)
    return adapter.build_request(player, adapter.start(suite.prompt("en", None), asked, offer), offer)


def cost_ms(protocol: str, stream: bool, requests: int) -> tuple[float, int]:
    """Return the milliseconds of processor time of a request, and its size in bytes."""
    asked = request(protocol, stream)
    body = json.dumps(asked.body)
    headers = json.dumps({**HEADERS, **asked.headers, "content-type": "application/json"})
    with Simulator(SCRIPT) as sim:
        command = [sys.executable, "-c", CLIENT, sim.base_url(protocol) + asked.path, body]
        subprocess.run([*command, str(WARM_UP), headers], check=True)
        started = time.process_time()
        subprocess.run([*command, str(requests), headers], check=True)
        return (time.process_time() - started) / requests * 1000, len(body)


def main(requests: int) -> None:
    """Measure and print one line per protocol and way."""
    for protocol in FAMILIES:
        for stream in (False, True):
            spent, size = cost_ms(protocol, stream, requests)
            print(f"{protocol:18} {'stream' if stream else 'whole':7} {size:6} bytes {spent:7.3f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500)
