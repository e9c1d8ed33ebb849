"""Runs through batch endpoints: what they come to, and what a crash, a limit or a bad result does to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import toolbench
from tests.faults.support import SCRIPT
from tests.support import ROOT, delivery
from toolbench.adapters.batches import BATCHES, lots
from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.errors import ConfigError, LogError
from toolbench.running import batch as desk
from toolbench.running.ledger import LEDGER_NAME, Ledger
from toolbench.running.runner import run_matrix_sync
from toolbench.running.summary import RunSummary
from toolbench.simulator import Settings, Simulator

SUITE = delivery().keep(delivery().cases[:8])
KEY = "TEST_BATCH_KEY"
PRICE = {"currency": "USD", "date": "2026-11-30", "input": 1.0, "output": 2.0}
WIRES: Mapping[str, Mapping[str, str]] = {
    "chat_completions": {"model": "sim-openai", "profile": "openai"},
    "responses": {"model": "sim-openai"},
    "messages": {"model": "sim-claude"},
}
EVERY_WIRE = pytest.mark.parametrize("protocol", WIRES)
ONE_EACH = pytest.mark.parametrize("protocol", ["chat_completions", "messages"])


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "test-batch-key")
    monkeypatch.setattr(desk, "FIRST_LOOK", 0.02)


@pytest.fixture
def sim() -> Iterator[Simulator]:
    faults = {
        "expires": ["batch_expired", "ok"],
        "always-expires": "batch_expired",
        "half": ["529", "ok"],
        "refuses": "401",
        "loses": ["batch_missing", "ok"],
        "tears": ["batch_malformed", "ok"],
        "mixes": "batch_foreign",
        "repeats": "batch_twice",
    }
    models = {
        f"{like}-{name}": {"like": like, "fault": fault}
        for like in ("sim-openai", "sim-claude")
        for name, fault in faults.items()
    }
    with Simulator({**SCRIPT, "models": models}) as running:
        yield running


def entry(sim: Simulator, protocol: str, fault: str = "", **more: Any) -> dict[str, Any]:
    wire = dict(WIRES[protocol])
    wire["model"] += f"-{fault}" if fault else ""
    address = {"base_url": sim.base_url(protocol), "api_key_env": KEY}
    return {"provider": "p", "protocol": protocol, "price": PRICE, **address, **wire, **more}


def config(*runs: dict[str, Any], **more: Any) -> Config:
    retries = {"tries": 3, "patience": 0, "max_wait": 0.1}
    return Config.from_json(
        {"runs": list(runs), "baselines": [], "repetitions": 1, "retries": retries, **more}, "config.json"
    )


def told(sim: Simulator, *paths: str) -> int:
    """Return how many batches have been handed in."""
    return sum(
        row["path"] in ("/v1/batches", "/v1/messages/batches") and row["body"] is not None
        for row in sim.journal
    )


def run(settings: Config, folder: Path, **more: Any) -> tuple[RunSummary, list[str]]:
    lines: list[str] = []
    return run_matrix_sync(settings, [SUITE], folder, on_wait=lines.append, **more), lines


def content(folder: Path) -> dict[Any, Any]:
    """Return what every attempt did, without ids, times and ways."""
    log = RunLog.open(folder)
    assert log.problems == []
    found = list(log.attempts)
    assert len({attempt.key for attempt in found}) == len(found)
    return {
        attempt.key: (
            attempt.status,
            attempt.stop,
            [(turn.request["path"], turn.decision.kind, turn.decision.text) for turn in attempt.turns],
            [(call.tool, call.arguments, call.states) for call in attempt.calls],
        )
        for attempt in found
    }


@EVERY_WIRE
@pytest.mark.parametrize("batch", ["every", "first"])
def test_a_run_in_batches_is_an_online_run_at_another_price(
    sim: Simulator, protocol: str, batch: str, tmp_path: Path
) -> None:
    run(config(entry(sim, protocol)), tmp_path / "online")
    made, _ = run(config(entry(sim, protocol, batch=batch)), tmp_path / "batch")
    assert made.complete
    assert made.batches_out == []
    assert content(tmp_path / "batch") == content(tmp_path / "online")
    assert told(sim) == (2 if batch == "every" else 1)
    online, mine = (toolbench.load(tmp_path / name) for name in ("online", "batch"))
    times_and_money = (
        "latency",
        "seconds",
        "first_token",
        "cost",
        "via",
        "run_id",
        "price_table",
        "started_at",
    )
    same = [column for column in online if not column.startswith(times_and_money)]
    assert mine[same].equals(online[same])
    assert mine["latency_ms"].isna().all()
    turns = [turn for attempt in RunLog.open(tmp_path / "batch").attempts for turn in attempt.turns]
    ways = Counter(turn.settings["via"]["sent"] for turn in turns)
    assert ways == ({"batch": 16} if batch == "every" else {"batch": 8, "online": 8})
    assert all((turn.latency_ms is None) == turn.in_batch for turn in turns)
    assert set(mine["via"]) == {"batch" if batch == "every" else "batch+online"}
    compared = toolbench.compare(tmp_path / "online", tmp_path / "batch", metrics=("pass_rate", "mean_cost"))
    assert any(line.startswith("via: online against batch") for line in compared.warnings)
    assert list(compared.table["delta"].fillna(-9)) == [0, -9]
    if batch == "every":
        assert mine["cost"].sum() == pytest.approx(online["cost"].sum() / 2)
    else:
        assert online["cost"].sum() / 2 < mine["cost"].sum() < online["cost"].sum()


def test_the_share_that_a_batch_costs_is_part_of_the_price(sim: Simulator, tmp_path: Path) -> None:
    run(config(entry(sim, "messages", batch="every")), tmp_path / "half")
    dear = {**PRICE, "batch": 0.9}
    run(config(entry(sim, "messages", batch="every", price=dear)), tmp_path / "dear")
    half, more = (toolbench.load(tmp_path / name)["cost"].sum() for name in ("half", "dear"))
    assert more == pytest.approx(half / 0.5 * 0.9)


@ONE_EACH
@pytest.mark.parametrize("fault", ["expires", "half", "loses", "tears"])
def test_what_has_no_answer_is_asked_again_in_a_further_batch(
    sim: Simulator, protocol: str, fault: str, tmp_path: Path
) -> None:
    made, lines = run(config(entry(sim, protocol, fault, batch="every")), tmp_path / "r")
    assert made.complete
    assert told(sim) == 4
    tries = [turn.retries for attempt in RunLog.open(tmp_path / "r").attempts for turn in attempt.turns]
    code = {"expires": "batch_expired", "half": "overloaded"}.get(fault, "batch_result_missing")
    assert {entry["code"] for retries in tries for entry in retries} == {code}
    assert {len(retries) for retries in tries} == {1}
    if fault == "tears":
        assert sum("results are no JSON and are left out (line 1)" in line for line in lines) == 2


@ONE_EACH
@pytest.mark.parametrize(
    ("fault", "stop", "batches"), [("always-expires", "batch_expired", 3), ("refuses", "unauthorized", 1)]
)
def test_what_does_not_heal_is_a_transport_error(
    sim: Simulator, protocol: str, fault: str, stop: str, batches: int, tmp_path: Path
) -> None:
    made, _ = run(config(entry(sim, protocol, fault, batch="every")), tmp_path / "r")
    assert {attempt.stop for attempt in RunLog.open(tmp_path / "r").attempts} == {stop}
    assert (made.transport_errors, told(sim)) == (len(SUITE.cases), batches)


@ONE_EACH
def test_results_of_others_and_repeated_ones_are_left_out_and_told(
    sim: Simulator, protocol: str, tmp_path: Path
) -> None:
    for fault, words in (("mixes", "have an id that is none of ours"), ("repeats", "come twice")):
        made, lines = run(config(entry(sim, protocol, fault, batch="every")), tmp_path / fault)
        assert made.complete
        assert sum(f"8 results {words} and are left out" in line for line in lines) == 2


CASES = "cases/delivery.en.jsonl"


def command(sim: Simulator, protocol: str, folder: Path) -> list[str]:
    entries = [entry(sim, protocol, batch="every")]
    settings = {"runs": entries, "baselines": [], "repetitions": 1, "suites": ["delivery"]}
    (folder / "config.json").write_text(json.dumps(settings))
    cases = ",".join(case.id for case in SUITE.cases)
    start = [sys.executable, "-m", "toolbench", "run", "--config", str(folder / "config.json")]
    return [*start, "--langs", "en", "--cases", cases, "--output", str(folder / "run")]


@ONE_EACH
def test_killed_while_a_batch_is_out_it_collects_that_batch_and_pays_once(
    sim: Simulator, protocol: str, tmp_path: Path
) -> None:
    sim.settings = Settings(batch_s=1.5)
    line = command(sim, protocol, tmp_path)
    process = subprocess.Popen(
        line, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True
    )
    began = time.monotonic()
    while not (told(sim) and '"told"' in _text(tmp_path / "run" / LEDGER_NAME)):
        assert time.monotonic() - began < 30, "nothing was handed in"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    assert (told(sim), len(Ledger(tmp_path / "run").out)) == (1, 1)
    sim.settings = Settings()
    resumed = run_matrix_sync(Config.load(tmp_path / "config.json"), [SUITE], tmp_path / "run", resume=True)
    assert resumed.complete
    # One more: for the second turns.
    assert told(sim) == 2
    assert Ledger(tmp_path / "run").out == []
    run(config(entry(sim, protocol)), tmp_path / "online")
    assert content(tmp_path / "run") == content(tmp_path / "online")


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@ONE_EACH
def test_a_batch_whose_id_was_never_told_is_found(sim: Simulator, protocol: str, tmp_path: Path) -> None:
    """As after a crash between the provider's yes and our writing it down: the line is taken away here."""
    settings = config(entry(sim, protocol, batch="every"))
    run(settings, tmp_path / "r")
    log, ledger = tmp_path / "r" / "attempts.jsonl", tmp_path / "r" / LEDGER_NAME
    log.write_text(log.read_text().splitlines()[0] + "\n")
    ledger.write_text(ledger.read_text().splitlines()[0] + "\n")
    made, _ = run(settings, tmp_path / "r", resume=True)
    assert made.complete
    # Two of the first session and the second turns of this one.
    assert told(sim) == 3


@ONE_EACH
def test_a_connection_that_breaks_as_the_batch_begins_does_not_begin_it_twice(
    sim: Simulator, protocol: str, tmp_path: Path
) -> None:
    broken = {"x-simulator-fault": json.dumps(["disconnect", *["ok"] * 9])}
    made, _ = run(config(entry(sim, protocol, batch="every", headers=broken)), tmp_path / "r")
    assert (made.complete, made.transport_errors, told(sim)) == (True, 0, 2)
    assert "disconnect" in [row["fault"] for row in sim.journal if row["path"].endswith("/batches")]


def test_a_torn_last_line_of_the_ledger_has_announced_nothing(sim: Simulator, tmp_path: Path) -> None:
    settings = config(entry(sim, "messages", batch="every"))
    run(settings, tmp_path / "r")
    ledger = tmp_path / "r" / LEDGER_NAME
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + b'{"what": "asked", "tag": "x"')
    assert len(Ledger(tmp_path / "r").lots) == 2
    assert ledger.read_bytes() == whole
    ledger.write_bytes(b'{"tag": 1}\n' + whole)
    with pytest.raises(LogError, match=r"batches\.jsonl:1: is no line of a ledger"):
        run(settings, tmp_path / "r", resume=True)


def test_a_run_that_is_stopped_leaves_its_batch_or_cancels_it_if_asked(
    sim: Simulator, tmp_path: Path
) -> None:
    import asyncio

    from toolbench.running.runner import run_matrix

    settings = config(entry(sim, "messages", batch="every"))
    for cancel in (False, True):
        sim.settings = Settings(batch_s=1.0)
        folder = tmp_path / str(cancel)
        lines: list[str] = []

        async def stopped(folder: Path = folder, cancel: bool = cancel, lines: list[str] = lines) -> None:
            going = asyncio.create_task(
                run_matrix(settings, [SUITE], folder, cancel_batches=cancel, on_wait=lines.append)
            )
            while not any("is handed in" in line for line in lines):
                await asyncio.sleep(0.02)
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)

        asyncio.run(stopped())
        assert any("is cancelled" in line for line in lines) == cancel
        assert any("batches are still out" in line for line in lines) != cancel
        if not cancel:
            with pytest.raises(LogError, match=r"batches are still out .*--batch --resume"):
                run(config(entry(sim, "messages")), folder, resume=True)
        sim.settings = Settings()
        before = told(sim)
        assert run(settings, folder, resume=True)[0].complete
        assert told(sim) - before == (2 if cancel else 1)


def test_a_batch_may_be_continued_online_once_none_is_out(sim: Simulator, tmp_path: Path) -> None:
    half = SUITE.keep(SUITE.cases[:4])
    wanted = {case.id for case in half.cases}
    settings = config(entry(sim, "messages", batch="every"))
    run(settings, tmp_path / "r", among=lambda key: key.case_id in wanted)
    made, _ = run(config(entry(sim, "messages")), tmp_path / "r", resume=True)
    assert (made.complete, made.skipped) == (True, 4)
    assert toolbench.load(tmp_path / "r")["latency_ms"].isna().sum() == 4


def test_an_account_with_little_room_gets_its_batch_in_halves(sim: Simulator, tmp_path: Path) -> None:
    sim.settings = Settings(batch_requests=3)
    made, lines = run(config(entry(sim, "chat_completions", batch="first")), tmp_path / "r")
    assert made.complete
    assert sum("handed in again in two halves" in line for line in lines) == 3
    assert told(sim) == 7


def test_what_a_provider_would_not_begin_is_asked_anew_by_a_later_session(
    sim: Simulator, tmp_path: Path
) -> None:
    sim.settings = Settings(batch_requests=0)
    settings = config(entry(sim, "chat_completions", batch="first"))
    made, _ = run(settings, tmp_path / "r")
    assert made.transport_errors == len(SUITE.cases)
    told_so = {str(attempt.error) for attempt in RunLog.open(tmp_path / "r").attempts}
    assert all("batch refused (token_limit_exceeded)" in line for line in told_so)
    sim.settings = Settings()
    assert run(settings, tmp_path / "r", resume=True, retry_errors=True)[0].complete


def test_batches_keep_to_the_limits_of_their_provider(
    sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {kind: (wire.most_requests, wire.most_bytes) for kind, wire in BATCHES.items()}
    assert limits == {"files": (50_000, 200_000_000), "messages": (100_000, 256_000_000)}
    assert [list(part) for part in lots([b"x" * 10] * 7, 3, 10**6)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [len(part) for part in lots([b"x" * 99] * 7, 100, 264)] == [2, 2, 2, 1]
    assert list(lots([], 3, 100)) == []
    monkeypatch.setattr(type(BATCHES["messages"]), "most_requests", 3)
    made, _ = run(config(entry(sim, "messages", batch="first")), tmp_path / "r")
    assert made.complete
    assert told(sim) == 3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"profile": "compatible"},
            r"sim-openai/chat_completions has no batch endpoint \(name the profile",
        ),
        ({"protocol": "ollama_chat", "profile": None}, "p/sim-openai/ollama_chat has no batch endpoint"),
        ({"base_url": "embedded:x"}, "has no batch endpoint"),
        ({"settings": {"stream": True}}, '"stream": true, which no batch can do'),
    ],
    ids=["profile", "protocol", "embedded", "stream"],
)
def test_what_cannot_go_through_batches_is_refused_by_name(
    sim: Simulator, more: dict[str, Any], words: str, tmp_path: Path
) -> None:
    wanted = {name: value for name, value in more.items() if value is not None}
    one = {**entry(sim, "chat_completions", batch="every"), **wanted}
    if more.get("protocol"):
        del one["profile"]
    with pytest.raises(ConfigError, match=words):
        run(config(one), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_limit_of_seconds_an_attempt_is_refused(sim: Simulator, tmp_path: Path) -> None:
    settings = config(entry(sim, "messages", batch="every"), budgets={"attempt_seconds": 5})
    with pytest.raises(ConfigError, match=r"budgets\.attempt_seconds: an attempt in batches takes hours"):
        run(settings, tmp_path / "r")


def test_a_budget_counts_what_a_batch_may_come_to(sim: Simulator, tmp_path: Path) -> None:
    """Without the estimate all eight would have gone out before the first usage was known."""
    one = entry(sim, "messages", batch="every", settings={"max_output_tokens": 1000})
    made, lines = run(config(one, budgets={"tokens": 6000}), tmp_path / "r")
    first = next(line for line in lines if "is handed in" in line)
    number = int(first.split(" with ")[1].split()[0])
    assert 1 <= number < len(SUITE.cases)
    spent = toolbench.load(tmp_path / "r")[["input_tokens", "output_tokens"]].sum().sum()
    assert made.complete or spent >= 6000


def test_a_key_that_is_refused_gives_the_player_up_and_asks_nothing(sim: Simulator, tmp_path: Path) -> None:
    os.environ[KEY] = "sim-bad-key"
    made, _ = run(config(entry(sim, "chat_completions", batch="every")), tmp_path / "r")
    assert (made.made, told(sim)) == (0, 0)
    assert "its batch endpoint: HTTP 401" in made.abandoned["p/sim-openai/chat_completions"]
    os.environ[KEY] = "test-batch-key"
    assert run(config(entry(sim, "chat_completions", batch="every")), tmp_path / "r", resume=True)[0].complete


def test_a_batch_that_its_provider_has_forgotten_is_asked_again(sim: Simulator, tmp_path: Path) -> None:
    settings = config(entry(sim, "messages", batch="every"))
    run(settings, tmp_path / "r")
    log, ledger = tmp_path / "r" / "attempts.jsonl", tmp_path / "r" / LEDGER_NAME
    log.write_text(log.read_text().splitlines()[0] + "\n")
    ledger.write_text(ledger.read_text().replace("msgbatch_sim", "msgbatch_old"))
    made, _ = run(settings, tmp_path / "r", resume=True)
    assert (made.complete, told(sim)) == (True, 4)
