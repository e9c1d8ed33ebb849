"""How long a large run takes to load, and how much memory: ``python -m tests.bench.frames [attempts]``.

The log is made of a real run of the baselines, repeated. Figures are ratios to what the same machine needs to
read the file as JSON, so that they can be compared between machines.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tests.support import ROOT
from toolbench.domain.config import Config
from toolbench.domain.suite import find_suite
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.metrics import metrics
from toolbench.numbers.outputs import report_text
from toolbench.running.runner import run_matrix_sync


def make_run(folder: Path, attempts: int) -> Path:
    """Write a run of about so many attempts: one round of the baselines, with its repetitions multiplied."""
    seed = folder / "seed"
    config = Config.from_json({"runs": [], "conditions": ["auto"], "repetitions": 1}, "inline", ROOT)
    run_matrix_sync(config, [find_suite(ROOT, "delivery")], seed)
    first, *lines = (seed / "attempts.jsonl").read_text().splitlines()
    header = json.loads(first)
    times = max(1, attempts // len(lines))
    header["config"]["repetitions"] = times
    large = folder / "large"
    large.mkdir()
    with open(large / "attempts.jsonl", "w") as stream:
        stream.write(json.dumps(header) + "\n")
        for repetition in range(times):
            for line in lines:
                stream.write(line.replace('"repetition": 0', f'"repetition": {repetition}', 1) + "\n")
    return large


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of a call, and its result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def main(attempts: int) -> None:
    """Measure and print one line per step."""
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), attempts)
        size = (run / "attempts.jsonl").stat().st_size
        base, lines = timed(lambda: read_json_lines(run / "attempts.jsonl"))
        print(f"{lines - 1} attempts, {size / 1e6:.0f} MB; reading them as JSON: {base:.2f} s = 1")
        seconds, scored = timed(lambda: load_run(run))
        each = seconds / lines * 1e6
        print(f"load and judge   {seconds:7.1f} s  = {seconds / base:6.1f}  ({each:.0f} µs each)")
        for name, work in STEPS.items():
            seconds, _ = timed(partial(work, scored))
            print(f"{name:<16} {seconds:7.1f} s  = {seconds / base:6.1f}")
        frames = (scored.attempts, scored.calls, scored.findings, scored.planned)
        held = sum(frame.memory_usage(deep=True).sum() for frame in frames)
        print(f"frames           {held / 1e6:7.0f} MB = {held / size:6.2f} of the log, every text counted")
        tracemalloc.start()
        load_run(run)
        peak = tracemalloc.get_traced_memory()[1]
        print(f"peak of loading  {peak / 1e6:7.0f} MB = {peak / size:6.2f} of the log")


def read_json_lines(log: Path) -> int:
    """Return the number of lines, each read as JSON: the unit of all times."""
    with open(log, "rb") as stream:
        return sum(1 for line in stream if orjson.loads(line))


STEPS: dict[str, Callable[[ScoredRun], Any]] = {
    "metrics": lambda scored: metrics(scored.attempts, planned=scored.planned),
    "by class": lambda scored: metrics(scored.attempts, ["case_class"], scored.planned),
    "report.json": report_text,
}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
