"""Time and peak memory of a run that gets the worst replies, and of judging it again.

``python -m tests.bench.worst [CHECKOUT]`` plays one case per reply against a server on this machine, through
the command line alone, so that any version can be measured. A baseline plays the same case as well: whatever
the reply is, its attempt must be scored. The tables are in ``tests/bench/README.md``.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import ROOT

SECONDS = 60
"""After so long a command is ended."""
_MEMORY = 8 * 2**30


class Reply(NamedTuple):
    """What the server says: at once, or (``late``) once the tool that it asks for first has answered."""

    body: bytes
    headers: Mapping[str, str]
    status: int = 200
    late: bool = False


def _message(late: bool = False, **message: Any) -> Reply:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    body = {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}]}
    return Reply(json.dumps(body).encode(), {"Content-Type": "application/json"}, late=late)


def _calls(arguments: str, number: int = 1, name: str = "get_order") -> Reply:
    function = {"name": name, "arguments": arguments}
    calls = [{"id": f"c{index}", "type": "function", "function": function} for index in range(number)]
    return _message(content=None, tool_calls=calls)


def _said(text: str) -> Reply:
    return _message(late=True, content=text)


@cache
def _bomb() -> bytes:
    """Return 3.2 GB of blanks, compressed three times."""
    packed: Iterator[bytes] = (b" " * 2**20 for _ in range(3200))
    for _ in range(3):
        packed = _packed(packed)
    return b"".join(packed)


def _packed(parts: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield from (packer.compress(part) for part in parts)
    yield packer.flush()


RIGHT = json.dumps({"order_id": "ORD-123456"})


def replies() -> dict[str, Reply]:
    """Return an ordinary reply and the worst ones, by name."""
    nested = '{"order_id": ' + "[" * 600 + "]" * 600 + "}"
    parcel = {"origin": "Kazan", "destination": "Samara", "weight_kg": "9" * 309, "service": "express"}
    return {
        "an ordinary one": _said("Your order is in transit, in Kazan."),
        "error page of 1 MB of `<`": Reply(b"<" * 10**6, {"Content-Type": "text/html"}, 400),
        f"gzip in gzip in gzip: {len(_bomb())} bytes hold 3.2 GB": Reply(
            _bomb(), {"Content-Type": "application/json", "Content-Encoding": "gzip, gzip, gzip"}
        ),
        "a letter with 500,000 accents": _said("e" + "\u0301\u0323" * 250_000),
        "1 MB of dates": _said("2026-01-02 " * 90_000),
        "100,000 calls": _calls(RIGHT, 100_000),
        "an argument of 600 levels": _calls(nested),
        "a number argument of 309 digits, as text": _calls(json.dumps(parcel), name="quote_delivery"),
        "an answer with a number of 5,000 digits": _said("The order weighs " + "7" * 5000 + " kg."),
        "100,000 clauses": _said("It is in Kazan, and it is not in Kazan, but I cancelled it; " * 25_000),
        "lone surrogates": _said("\ud800 in transit \udfff" * 1000),
    }


class _Server(ThreadingHTTPServer):
    reply: Reply


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        reply = self.server.reply
        if reply.late and b'"role":"tool"' not in asked.replace(b" ", b""):
            reply = _calls(RIGHT)
        self.send_response(reply.status)
        for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Measured(NamedTuple):
    """How a command ended (``None``: it had to be), after how many seconds, with how many MB at most."""

    code: int | None
    seconds: float
    megabytes: float

    def __str__(self) -> str:
        end = f"over {SECONDS} s" if self.code is None else f"{self.seconds:.1f} s"
        return f"{end}, {self.megabytes:,.0f} MB, exit {'–' if self.code is None else self.code}"


def measured(command: list[str], checkout: Path) -> Measured:
    """Run a command of toolbench as it is in a checkout."""
    env = {**os.environ, "PYTHONPATH": str(checkout), "NO_PROXY": "*"}
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "toolbench", *command],
        cwd=checkout,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY)),
    ) as process:
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            seconds = time.perf_counter() - began
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return Measured(process.returncode, seconds, used.ru_maxrss / 1024)
            if seconds > SECONDS:
                os.killpg(process.pid, signal.SIGKILL)
                _, _, used = os.wait4(process.pid, 0)
                process.returncode = -9
                return Measured(None, seconds, used.ru_maxrss / 1024)
            time.sleep(0.02)


def play(reply: Reply, checkout: Path) -> tuple[Measured, Measured]:
    """Play one case against a reply and score the run."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.reply = reply
    threading.Thread(target=server.serve_forever, daemon=True).start()
    case = {"id": "lookup", "class": "k", "lang": "en", "user": "Check order ORD-123456."}
    call = {"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}
    case |= {"expect": {"kind": "tool_call", "calls": [call], "final": {"facts": [["transit"]]}}, "tags": []}
    player = {"provider": "p", "model": "m", "protocol": "chat_completions"}
    config = {
        "runs": [{**player, "base_url": f"http://127.0.0.1:{server.server_address[1]}/v1"}],
        "baselines": ["always_silent"],
        "conditions": ["auto"],
        "repetitions": 1,
        "retries": {"tries": 1, "max_wait": 1},
    }
    try:
        with tempfile.TemporaryDirectory() as folder:
            run, cases = Path(folder) / "run", Path(folder) / "cases.jsonl"
            (Path(folder) / "config.json").write_text(json.dumps(config), encoding="utf-8")
            cases.write_text(json.dumps(case) + "\n", encoding="utf-8")
            played = ["run", "--config", f"{folder}/config.json", "--cases", str(cases), "--output", str(run)]
            tools = checkout / "contracts/delivery/tools.json"
            return measured([*played, "--tools", str(tools)], checkout), measured(
                ["score", str(run)], checkout
            )
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    """Print a line a reply."""
    checkout = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    print("| reply | `run` | `score` |\n| --- | --- | --- |", flush=True)
    for name, reply in replies().items():
        run, score = play(reply, checkout)
        print(f"| {name} | {run} | {score} |", flush=True)


if __name__ == "__main__":
    main()
