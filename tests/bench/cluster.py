"""A run on a cluster of this machine against the same run in one process: rates, and whose time it takes.

Run: python -m tests.bench.cluster [attempts] [workers]

Everything shares the processors of one machine, so the rates are those of the bookkeeping, not of a cluster:
what counts is the time of client and scheduler an attempt, which is what bounds a cluster of any size.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tests.cluster.conftest import Cluster, Process
from tests.support import delivery
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME
from toolbench.numbers.frames import load_run
from toolbench.running.runner import run_matrix_sync

TICKS = os.sysconf("SC_CLK_TCK")


def used(process: Process) -> float:
    """Return the processor seconds that a program has used."""
    fields = Path(f"/proc/{process.popen.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main(attempts: int, workers: int) -> None:
    """Print a line a way of playing, and one a way of judging."""
    suite = delivery().keep(delivery().cases[:50])
    os.environ["BENCH_KEY"] = "any-key-will-do"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Process(folder, "-m", "toolbench", "serve", "simulator", "--port", "0")
        url = server.wait_for(r"(http://\S+?/v1)\b")
        cluster = Cluster(folder)
        for _ in range(workers):
            cluster.start_worker()
        model = {
            "provider": "p",
            "model": "sim-openai",
            "protocol": "chat_completions",
            "base_url": url,
            "api_key_env": "BENCH_KEY",
            "parallelism": 16,
        }
        data = {"runs": [model], "baselines": [], "repetitions": -(-attempts // len(suite.cases))}
        config = Config.from_json(data, "bench")
        try:
            for name, scheduler in (("one process", None), (f"{workers} workers", cluster.address)):
                run = folder / name.replace(" ", "-")
                before, began, here = used(cluster.scheduler), time.monotonic(), time.process_time()
                summary = run_matrix_sync(config, [suite], run, scheduler=scheduler)
                seconds, made = time.monotonic() - began, summary.made
                assert summary.complete, summary
                size = (run / LOG_NAME).stat().st_size / made
                print(
                    f"run, {name}: {made} attempts, {made / seconds:.0f}/s, {size:.0f} bytes each, "
                    f"client {1000 * (time.process_time() - here) / made:.2f} ms each, "
                    f"scheduler {1000 * (used(cluster.scheduler) - before) / made:.2f} ms each"
                )
            for name, scheduler in (("one process", None), (f"{workers} workers", cluster.address)):
                before, began, here = used(cluster.scheduler), time.monotonic(), time.process_time()
                load_run(run, cache=False, scheduler=scheduler)
                seconds = time.monotonic() - began
                print(
                    f"load, {name}: {made / seconds:.0f}/s, "
                    f"client {1000 * (time.process_time() - here) / made:.2f} ms each, "
                    f"scheduler {1000 * (used(cluster.scheduler) - before) / made:.2f} ms each"
                )
        finally:
            cluster.end()
            server.end()


if __name__ == "__main__":
    main(*(int(given) for given in (sys.argv[1:] + ["2000", "2"][len(sys.argv) - 1 :])))
