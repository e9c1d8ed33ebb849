"""Every fault of the simulator × every protocol × whole and streamed, through the real runner."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support import FAMILIES, FAULTS, HARMLESS, SCRIPT, SLOW, accounted, entry, play
from tests.support import delivery, make_case
from toolbench.simulator import Simulator

SUITE = delivery().keep(
    [
        make_case(
            id="lookup",
            user="Where is ORD-123456?",
            expect={
                "kind": "tool_call",
                "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}],
            },
        ),
        make_case(id="hello", user="Hello!", expect={"kind": "text"}),
    ]
)
CODES = {
    "401": "unauthorized",
    "402": "payment_required",
    "403": "forbidden",
    "404": "not_found",
    "429_quota": "quota_exhausted",
    "hang": "timeout",
    "slow_drip": "timeout",
}
"""Fault → the word that its attempts end with, where one word says all."""

NO_QUOTA = ("ollama_chat",)
"""Protocols that have one word for every limit."""

QUICK_FAULTS = tuple(fault for fault in FAULTS if fault not in SLOW)
TIMEOUT_S = 0.5

WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
EVERY = pytest.mark.parametrize("protocol", FAMILIES)


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with Simulator(SCRIPT) as running:
        yield running


@WAYS
@EVERY
def test_a_fault_is_the_providers_and_every_attempt_is_accounted_for(
    tmp_path: Path, sim: Simulator, protocol: str, stream: bool
) -> None:
    entries = [entry(sim, protocol, fault, stream) for fault in QUICK_FAULTS]
    attempts = play(tmp_path / "run", [SUITE], entries, parallelism=2)
    found = {(attempt.model.partition("+")[2], attempt.status) for attempt in attempts}
    assert found == {(fault, "ok" if fault in HARMLESS else "transport_error") for fault in QUICK_FAULTS}
    for attempt in attempts:
        fault = attempt.model.partition("+")[2]
        if fault != "429_quota" or protocol not in NO_QUOTA:
            assert attempt.stop == CODES.get(fault, attempt.stop), fault
    counted = accounted(tmp_path / "run")
    harmed = len(QUICK_FAULTS) - len(HARMLESS)
    assert counted.pop("planned") == sum(counted.values()) == 2 * len(QUICK_FAULTS)
    assert (counted["scored"], counted["transport_errors"]) == (2 * len(HARMLESS), 2 * harmed)


@WAYS
@EVERY
def test_nothing_hangs_past_its_timeout(tmp_path: Path, sim: Simulator, protocol: str, stream: bool) -> None:
    started = time.monotonic()
    attempts = play(
        tmp_path / "run",
        [SUITE],
        [entry(sim, protocol, fault, stream) for fault in SLOW],
        parallelism=2,
        timeouts={"total": TIMEOUT_S},
        retries={"tries": 1, "patience": 0},
    )
    took = time.monotonic() - started
    assert {(attempt.status, attempt.stop) for attempt in attempts} == {("transport_error", "timeout")}
    assert TIMEOUT_S * len(SLOW) <= took < (TIMEOUT_S + 3) * len(SLOW)
    counted = accounted(tmp_path / "run")
    assert counted["planned"] == counted["transport_errors"] == 4


@WAYS
@EVERY
def test_a_fault_that_passes_costs_a_try_and_no_score(
    tmp_path: Path, sim: Simulator, protocol: str, stream: bool
) -> None:
    passing = ("429_ms", "500", "503", "disconnect", "cut_stream", "malformed_json")
    entries = [entry(sim, protocol, f"{fault},ok", stream) for fault in passing]
    attempts = play(tmp_path / "run", [SUITE], entries, parallelism=2)
    assert {attempt.model: attempt.error for attempt in attempts if attempt.error} == {}
    for attempt in attempts:
        assert len(attempt.turns[0].retries) == 1, attempt.model
    assert accounted(tmp_path / "run")["scored"] == 2 * len(passing)
