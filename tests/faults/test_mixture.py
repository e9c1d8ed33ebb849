"""Failures of all kinds at once, 64 attempts in flight: all that was planned is told, and it ends in time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.faults.support import FAMILIES, SCRIPT, accounted, entry, play
from tests.support import delivery, make_case
from toolbench.numbers import load_run
from toolbench.simulator import Simulator

IN_FLIGHT = 64
REPETITIONS = 16
TOTAL_S = 1.0
TRIES = 2

MIXTURE = (
    "ok,500,ok,cut_stream,ok,disconnect,408,ok,malformed_json,409,ok,"
    "truncated_body,keep_alive,ok,error_200,mid_stream_error,ok,hang"
)
"""One step a request; equal requests of different attempts share the walk."""

LIMITED = "ok,429_ms,ok,500,429_ms,ok,disconnect,429_ms,keep_alive,ok,429_ms,408,ok"
"""Limits of a rate among other failures: the runner answers them by slowing down."""

CASES = [
    make_case(
        id=f"lookup-{number}",
        user=f"Where is ORD-12345{number}?",
        expect={
            "kind": "tool_call",
            "calls": [{"tool": "get_order", "arguments": {"order_id": f"ORD-12345{number}"}}],
        },
    )
    for number in range(2)
]


def test_everything_planned_is_accounted_for_and_nothing_hangs(tmp_path: Path) -> None:
    with Simulator(SCRIPT) as sim:
        entries: list[dict[str, Any]] = [
            entry(sim, protocol, MIXTURE, stream, provider="stream" if stream else "whole")
            for protocol in FAMILIES
            for stream in (False, True)
        ]
        # A forced choice that this model refuses is unsupported, whatever else goes wrong.
        entries.append(entry(sim, "messages", model="sim-claude-no-forced"))
        started = time.monotonic()
        attempts = play(
            tmp_path / "run",
            [delivery().keep(CASES)],
            entries,
            conditions=["auto", {"name": "forced", "tool_choice": "required", "repetitions": 4}],
            repetitions=REPETITIONS,
            parallelism=IN_FLIGHT,
            timeouts={"total": TOTAL_S},
            retries={"tries": TRIES, "max_wait": 0.05, "patience": 0},
        )
        took = time.monotonic() - started
    counted = accounted(tmp_path / "run")
    planned = len(entries) * len(CASES) * (REPETITIONS + 4)
    assert counted.pop("planned") == planned == len(attempts) == sum(counted.values())
    assert counted["unsupported"] >= len(CASES) * 4
    assert min(counted["scored"], counted["transport_errors"]) > planned // 10
    assert {attempt.stop for attempt in attempts if attempt.status == "transport_error"} >= {"timeout"}
    # An attempt of two requests waits for at most four timeouts.
    longest = max(attempt.seconds for attempt in attempts)
    assert longest < 2 * TRIES * TOTAL_S + 5
    assert took < len(entries) * (2 * TRIES * TOTAL_S + 5)


def test_rate_limits_among_other_failures_cost_no_attempt(tmp_path: Path) -> None:
    with Simulator(SCRIPT) as sim:
        entries = [
            entry(sim, protocol, f"{LIMITED},{'ok,' * place}ok", stream)
            for place, protocol in enumerate(FAMILIES)
            for stream in (place % 2 == 0,)
        ]
        attempts = play(
            tmp_path / "run",
            [delivery().keep(CASES)],
            entries,
            repetitions=4,
            parallelism=IN_FLIGHT,
            timeouts={"total": 5},
            retries={"tries": 8, "max_wait": 0.05, "patience": 60},
        )
    counted = accounted(tmp_path / "run")
    assert counted.pop("planned") == len(entries) * len(CASES) * 4 == len(attempts)
    assert counted.pop("scored") == len(attempts), counted
    limited = [retry for attempt in attempts for turn in attempt.turns for retry in turn.retries]
    assert sum(retry["code"] == "rate_limited" for retry in limited) > len(entries)
    assert {retry["code"] for retry in limited} > {"rate_limited"}


def test_a_budget_stops_attempts_that_have_failed_then(tmp_path: Path) -> None:
    with Simulator(SCRIPT) as sim:
        entries = [entry(sim, protocol, "ok,500,ok,cut_stream,ok,disconnect") for protocol in FAMILIES]
        attempts = play(
            tmp_path / "run",
            [delivery().keep(CASES)],
            entries,
            repetitions=8,
            parallelism=IN_FLIGHT,
            budgets={"attempt_requests": 1},
            retries={"tries": 1, "patience": 0},
        )
    counted = accounted(tmp_path / "run")
    assert counted.pop("planned") == sum(counted.values()) == len(attempts)
    # One request is never enough here: whoever got a reply spent the budget, and that is a failure.
    scored = load_run(tmp_path / "run").attempts.query("scored")
    assert counted["scored"] == len(scored) == sum(attempt.status == "budget" for attempt in attempts)
    assert all("budget_exceeded" in codes for codes in scored["codes"])
    assert scored["passed"].sum() == 0
    assert min(counted["scored"], counted["transport_errors"]) > 0
