"""How long a large run takes to load, and how much memory: ``python -m tests.bench.frames [attempts]``.

Figures are ratios to what the same machine needs to read the file as JSON, so that they can be compared
between machines. Each step runs in a process of its own, from cold; ``README.md`` tells what was measured.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tests.bench.logs import make_log
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.metrics import metrics
from toolbench.numbers.outputs import report_text


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of a call, and its result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def main(attempts: int) -> None:
    """Measure and print one line per step."""
    with tempfile.TemporaryDirectory() as folder:
        run = make_log(Path(folder) / "run", attempts)
        size = (run / "attempts.jsonl").stat().st_size
        base, lines = timed(lambda: read_json_lines(run / "attempts.jsonl"))
        print(f"{lines - 1} attempts, {size / 1e6:.0f} MB; reading them as JSON: {base:.2f} s = 1")
        for step in ("cold", "kept"):
            told = json.loads(subprocess.check_output([sys.executable, "-m", "tests.bench.frames", str(run)]))
            each = told["seconds"] / lines * 1e6
            print(
                f"{step:<16} {told['seconds']:7.2f} s of processors = {told['seconds'] / base:6.1f}"
                f"  ({each:.0f} µs each), {told['wall']:.2f} s by the clock, {told['peak']:.0f} MB at most"
            )
        scored = load_run(run)
        for name, work in STEPS.items():
            seconds, _ = timed(partial(work, scored))
            print(f"{name:<16} {seconds:7.2f} s = {seconds / base:6.1f}")


def load_once(run: str) -> None:
    """Load a run and print what it took, its processes included and imports not."""
    before, clock = os.times(), time.perf_counter()
    load_run(run)
    after, wall = os.times(), time.perf_counter() - clock
    seconds = sum(after[:4]) - sum(before[:4])
    peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"seconds": seconds, "wall": wall, "peak": peak / 1e3}))


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
    wanted = sys.argv[1] if len(sys.argv) > 1 else "5700"
    main(int(wanted)) if wanted.isdigit() else load_once(wanted)
