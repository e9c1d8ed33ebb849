"""A run at concurrency 64 against a server that takes 60 requests in any minute: nothing may fail.

``python -m tests.bench.limited [CHECKOUT]`` plays 150 attempts through the command line, once for each way in
which a limit becomes known: written in the configuration, told in the headers of replies, and met (429 with
Retry-After). It takes some three minutes; the figures are in ``tests/bench/README.md``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support import ROOT

LIMIT, WINDOW, ATTEMPTS, WORKERS = 60, 60.0, 150, 64
BODY = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]
}
WAYS = ("configured", "told", "met")


class _Server(ThreadingHTTPServer):
    request_queue_size = 256

    def __init__(self, tells: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tells, self.lock = tells, threading.Lock()
        self.arrived: list[float] = []
        self.served: list[float] = []

    def admits(self) -> tuple[bool, int, float]:
        """Count a request: whether it is within the limit, how many are left, and when the next may come."""
        with self.lock:
            now = time.monotonic()
            self.arrived.append(now)
            recent = [at for at in self.served if at > now - WINDOW]
            if admitted := len(recent) < LIMIT:
                self.served.append(now)
                recent.append(now)
            return admitted, LIMIT - len(recent), recent[0] + WINDOW - now


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        admitted, left, wait = self.server.admits()
        body = json.dumps(
            BODY if admitted else {"error": {"message": "slow down", "type": "rate_limit_error"}}
        )
        self.send_response(200 if admitted else 429)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if not admitted:
            self.send_header("Retry-After", str(int(wait) + 1))
        if self.server.tells:
            self.send_header("x-ratelimit-limit-requests", str(LIMIT))
            self.send_header("x-ratelimit-remaining-requests", str(left))
            self.send_header("x-ratelimit-reset-requests", f"{wait:.3f}s")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def busiest(times: list[float]) -> int:
    """Return the most that came within any window."""
    return max((sum(at <= other < at + WINDOW for other in times) for at in times), default=0)


def play(way: str, checkout: Path) -> str:
    """Play a run and return a line of the table."""
    server = _Server(tells=way == "told")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    player: dict[str, Any] = {"provider": "p", "model": "m", "protocol": "chat_completions"}
    player["base_url"] = f"http://127.0.0.1:{server.server_address[1]}/v1"
    if way == "configured":
        player["requests_per_minute"] = LIMIT
    config = {"runs": [player], "baselines": [], "conditions": ["auto"], "repetitions": ATTEMPTS}
    case = {
        "id": "hello",
        "class": "k",
        "lang": "en",
        "user": "Hello!",
        "expect": {"kind": "text"},
        "tags": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        run, cases = Path(folder) / "run", Path(folder) / "cases.jsonl"
        (Path(folder) / "config.json").write_text(
            json.dumps({**config, "parallelism": WORKERS}), encoding="utf-8"
        )
        cases.write_text(json.dumps(case) + "\n", encoding="utf-8")
        command = ["run", "--config", f"{folder}/config.json", "--cases", str(cases), "--output", str(run)]
        command += ["--tools", str(checkout / "contracts/delivery/tools.json")]
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "toolbench", *command],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            capture_output=True,
            check=False,
        )
        seconds = time.monotonic() - began
        # An older version refuses a configuration with a limit in it, and there is no log.
        log = run / "attempts.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines()[1:] if log.exists() else []
    server.shutdown()
    server.server_close()
    ended = Counter(json.loads(line)["status"] for line in lines)
    sent, refused = len(server.arrived), len(server.arrived) - len(server.served)
    cells = (
        way,
        ended["ok"],
        ATTEMPTS - ended["ok"],
        sent,
        refused,
        busiest(server.arrived),
        done.returncode,
    )
    return f"| {' | '.join(map(str, cells))} | {seconds:.0f} s |"


def main() -> None:
    """Play the three runs side by side."""
    checkout = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    print("| limit | ok | failed or not made | sent | refused | most in a minute | exit | time |")
    print("|" + " --- |" * 8)
    with ThreadPoolExecutor(len(WAYS)) as pool:
        for line in pool.map(play, WAYS, [checkout] * len(WAYS)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
