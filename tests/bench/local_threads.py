"""Tokens a second of the embedded model by threads and by how they wait, alone and beside a busy process.

A figure of one arm means little on a machine with other work; the last column compares the arms of one round,
which are measured within the same minute. Run with ``python tests/bench/local_threads.py [MODEL]``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx

from toolbench.local import LocalServer

ROUNDS, TOKENS = 3, 48
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
ARMS: Mapping[str, tuple[int, Mapping[str, str]]] = {
    "one core left free": (max(1, CORES - 1), {"GOMP_SPINCOUNT": "300000"}),
    "every core, libgomp's own spinning": (CORES, {"GOMP_SPINCOUNT": "300000"}),
    "every core, no spinning": (CORES, {"OMP_WAIT_POLICY": "passive"}),
    "every core, spins 100 times": (CORES, {"GOMP_SPINCOUNT": "100"}),
    "every core, spins 1,000 times": (CORES, {"GOMP_SPINCOUNT": "1000"}),
}


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """Run a process beside it that never rests."""
    if not busy:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def speeds(model: str, threads: int, environment: Mapping[str, str]) -> list[float]:
    """Return generated tokens a second, alone and beside a busy process."""
    before = dict(os.environ)
    os.environ.pop("GOMP_SPINCOUNT", None)
    os.environ.update({"GOMP_SPINCOUNT": "0", **environment})
    try:
        with LocalServer(model, threads=threads) as server:
            return [_speed(server, busy) for busy in (False, True)]
    finally:
        os.environ.clear()
        os.environ.update(before)


def _speed(server: LocalServer, busy: bool) -> float:
    body = {"prompt": "One, two, three, four,", "n_predict": TOKENS, "temperature": 0, "ignore_eos": True}
    with neighbour(busy):
        address = server.base_url.removesuffix("/v1") + "/completion"
        reply = httpx.post(address, json=body, timeout=600, trust_env=False).json()
    return float(reply["timings"]["predicted_per_second"])


def main(model: str) -> None:
    """Print the table."""
    found: dict[str, list[list[float]]] = {name: [] for name in ARMS}
    for _ in range(ROUNDS):
        for name, (threads, environment) in ARMS.items():
            found[name].append(speeds(model, threads, environment))
    print(f"{model}, {CORES} cores, load before {os.getloadavg()[0]:.1f}, medians of {ROUNDS} rounds")
    first = next(iter(found.values()))
    for name, rounds in found.items():
        alone, beside = (statistics.median(r[i] for r in rounds) for i in (0, 1))
        ratios = [
            statistics.median(r[i] / base[i] for r, base in zip(rounds, first, strict=True)) for i in (0, 1)
        ]
        print(
            f"{name:36} {alone:6.1f} alone {beside:6.1f} beside a busy process; "
            f"to the first line {ratios[0]:.2f} and {ratios[1]:.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "qwen2.5-coder-0.5b-instruct")
