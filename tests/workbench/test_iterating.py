"""What a workbench owes to somebody who tries one wording after another."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import shlex
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.workbench.workbench_support import baseline_bench, folder_with_suites, simulated_bench
from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.domain.record import TurnRecord
from toolbench.errors import LogError
from toolbench.showing.view import RunView
from toolbench.workbench import Bench, Place, case_grid, choosing, comparing, open_bench, reviewing
from toolbench.workbench.case_grid import Column
from toolbench.workbench.exporting import COLUMNS, attempts_csv
from toolbench.workbench.history import Effects, trials
from toolbench.workbench.history import page as history_page
from toolbench.workbench.requesting import Sending, curl, python
from toolbench.workbench.running import _new_folder, duration, status

GET_ORDER = Place("get_order")
PROMISE = " Can help with anything you ask."


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIM_KEY", "sim-any-key")


async def tried(bench: Bench) -> RunView:
    """Play a wording that misleads the simulated model."""
    bench.draft.write(GET_ORDER, bench.draft.committed[GET_ORDER] + PROMISE)
    await bench.play()
    assert bench.session.folder is not None
    return RunView(bench.session.folder)


# Whom to begin with


def test_a_bench_begins_with_players_that_read_descriptions(tmp_path: Path) -> None:
    path = folder_with_suites(tmp_path)
    config = Config.load(path)
    first = open_bench(path).choice.players
    assert [choosing.players(config)[name].kind for name in first] == ["embedded"]
    names = list(choosing.players(config))
    assert names.index("always_silent") > names.index(first[0])


def test_an_embedded_model_is_offered_with_what_it_takes_to_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLBENCH_CACHE", str(tmp_path / "cache"))
    config = Config.load(folder_with_suites(tmp_path))
    name, player = next(iter(choosing.players(config).items()))
    assert re.search(r"on this machine, \d+ MB to fetch first$", choosing.described(name, player))
    weights = tmp_path / "mine.gguf"
    weights.write_bytes(b"GGUF" + b"x" * 3_000_000)
    mine = replace(player, base_url=f"embedded:{weights}")
    assert choosing.described("mine", mine).endswith("3 MB to load")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "load_seconds.json").write_text(json.dumps({"mine": 2.5}))
    assert choosing.described("mine", mine).endswith("3 MB, loads in about 2.5 s")
    (tmp_path / "cache" / "load_seconds.json").write_text("torn {")
    assert choosing.described("mine", mine).endswith("3 MB to load")


# Running


async def test_a_stopped_run_has_both_wordings_of_every_case_it_got_to(tmp_path: Path) -> None:
    with simulated_bench(tmp_path, latency=0.03) as bench:
        bench.choose(repetitions=3)
        bench.draft.write(GET_ORDER, "x")
        bench.start()
        while bench.attempts is None or len(bench.attempts) < 6:
            await asyncio.sleep(0.01)
        bench.session.stop()
        while bench.session.busy:
            await asyncio.sleep(0.01)
        assert bench.attempts is not None
        sizes = bench.attempts.groupby(["case_id", "repetition"])["condition"].nunique()
        assert (sizes == 1).sum() <= 1
        assert (sizes == 2).sum() >= 2


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "idle",
    [pytest.param(signal.SIG_IGN, id="ignored"), pytest.param(signal.default_int_handler, id="error")],
)
async def test_an_interrupt_of_the_kernel_stops_a_run_that_no_cell_waits_for(
    tmp_path: Path, idle: Any
) -> None:
    # This process is made to look like a kernel that executes nothing.
    before = signal.signal(signal.SIGINT, idle)
    try:
        with simulated_bench(tmp_path, latency=30) as bench:
            bench.start()
            while signal.getsignal(signal.SIGINT) == idle:
                await asyncio.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)
            while bench.session.busy:
                await asyncio.sleep(0.02)
            assert bench.session.state == "stopped"
            await asyncio.sleep(0.1)
            assert signal.getsignal(signal.SIGINT) == idle
    finally:
        signal.signal(signal.SIGINT, before)


async def test_outside_a_kernel_an_interrupt_stays_what_it_was(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with simulated_bench(tmp_path, latency=1) as bench:
        bench.start()
        await asyncio.sleep(0.6)
        assert signal.getsignal(signal.SIGINT) == before
        bench.session.stop()
        while bench.session.busy:
            await asyncio.sleep(0.01)


def test_runs_that_start_in_the_same_second_get_folders_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: _new_folder(tmp_path, "delivery"), range(24)))
    assert len(set(made)) == 24


async def test_the_status_says_how_long_the_rest_will_take(tmp_path: Path) -> None:
    with simulated_bench(tmp_path, latency=0.05) as bench:
        bench.choose(repetitions=3)
        lines = []
        bench.session.on_change = lambda: lines.append(status(bench.session, bench.attempts))
        await bench.play()
        assert any(re.search(r"about \d+ s left", line) for line in lines)
        assert "left" not in status(bench.session, bench.attempts)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (150, "2 min"), (7199, "120 min"), (9000, "2 h")]
)
def test_times_are_said_in_their_own_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# Looking


def frame(rows: list[tuple[str, str, str, float, str]]) -> pd.DataFrame:
    names = ["case_id", "player", "condition", "passed", "behaviour"]
    made = pd.DataFrame(rows, columns=names)
    return made.assign(scored=True, review=0.0, codes=[()] * len(made), provider="p", status="ok")


def test_only_differing_asks_what_a_wording_does_to_one_player() -> None:
    call, text = json.dumps([["tool_call", [["get_order", "{}"]]]]), json.dumps([["text", []]])
    rows = [
        ("players differ", "good", "auto", 1.0, call),
        ("players differ", "good", "auto-edited", 1.0, call),
        ("players differ", "bad", "auto", 0.0, text),
        ("players differ", "bad", "auto-edited", 0.0, text),
        ("wordings differ", "good", "auto", 1.0, call),
        ("wordings differ", "good", "auto-edited", 0.0, text),
        ("decisions differ", "bad", "auto", 0.0, call),
        ("decisions differ", "bad", "auto-edited", 0.0, text),
    ]
    attempts = frame(rows)
    found = case_grid.grid(attempts, attempts, "differing")
    assert set(found.cases) == {"wordings differ", "decisions differ"}
    assert found.cells["wordings differ", Column("good", "auto")].decision == "get_order"


async def test_the_banner_names_changed_decisions_as_well(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        view = await tried(bench)
        text = comparing.effects(view, [("auto", "auto-edited")]).text
        assert (
            "Another decision in 1 of 2 cases (no_tool_needed), the same with other arguments in 0." in text
        )


async def test_everything_two_sides_differ_in_is_named(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        view = await tried(bench)
        left, right = comparing.arms(view)
        found = comparing.factors(comparing.side((view, left)), comparing.side((view, right)))
        named = dict(zip(found["what"], found["accepted as"], strict=True))
        assert named["descriptions"] == "descriptions"
        assert named["condition"] == "prompt" or named["condition"] == "the choice of sides"
        bench.choose(repetitions=2)
        await bench.play()
        assert bench.session.folder is not None
        later = RunView(bench.session.folder)
        other = comparing.arms(later)[1]
        page = comparing.refusal_page("no", (view, left), (later, other)).text
        assert "repetitions" in page
        assert "descriptions" in page


# Going back


async def test_a_wording_that_was_tried_is_listed_with_its_effect_and_can_be_restored(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        await tried(bench)
        wording = bench.draft.texts[GET_ORDER]
        bench.draft.undo()
        await bench.play()
        (trial,) = trials(bench.session.runs)
        assert trial.changed == (GET_ORDER,)
        text = history_page([trial], Effects()).text
        assert "100 % → 50 %" in text
        assert "1/2" in text
        assert "1 wording tried" in text
        bench.choose(lang="ru")
        assert bench.restore(trial) == []
        assert bench.choice.lang == "en"
        assert bench.draft.changed == [GET_ORDER]
        assert bench.draft.texts[GET_ORDER] == wording


def test_texts_of_places_that_are_gone_are_named(tmp_path: Path) -> None:
    draft = baseline_bench(tmp_path).draft
    assert draft.restore({GET_ORDER: "x", Place("gone"): "y"}) == [Place("gone")]
    assert draft.changed == [GET_ORDER]


# Taking away


async def sent(bench: Bench) -> tuple[TurnRecord, dict[str, Any]]:
    await bench.play()
    assert bench.session.folder is not None
    log = RunLog.open(bench.session.folder)
    return next(iter(log.attempts)).turns[0], dict(log.header.config["runs"][0])


async def test_a_copied_request_says_what_was_sent_and_holds_no_key(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        turn, entry = await sent(bench)
        sending = Sending.of(turn, entry)
        line = curl(sending)
        words = shlex.split(line.replace("\\\n", ""))
        assert words[1] == f"{entry['base_url']}/chat/completions"
        assert json.loads(words[words.index("-d") + 1]) == turn.request["body"]
        assert "Authorization: Bearer $SIM_KEY" in words or "authorization: Bearer $SIM_KEY" in words
        script = python(sending)
        compile(script, "copied", "exec")
        assert 'os.environ["SIM_KEY"]' in script
        assert "sim-any-key" not in line + script


async def test_the_copied_script_sends_what_the_run_sent(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        turn, entry = await sent(bench)
        script = python(Sending.of(turn, entry)).replace("print(", "result = (")
        scope: dict[str, Any] = {}
        await asyncio.to_thread(exec, script, scope)
        assert scope["result"][0] == 200
        assert scope["body"] == turn.request["body"]


async def test_a_hostile_log_puts_no_command_into_a_copied_line(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        turn, entry = await sent(bench)
        evil = {**entry, "api_key_env": "$(touch pwned)", "base_url": "http://x/v1; touch pwned"}
        line = curl(Sending.of(turn, evil))
        assert "$(touch" not in line
        assert shlex.split(line.replace("\\\n", ""))[1] == "http://x/v1; touch pwned/chat/completions"


async def test_the_table_of_attempts_is_one_record_a_line(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        view = await tried(bench)
        attempts = view.attempts.assign(answer=["=1+1\n2"] * len(view.attempts))
        rows = list(csv.DictReader(attempts_csv(attempts).splitlines()))
        assert len(rows) == 4
        assert tuple(rows[0]) == COLUMNS
        assert rows[0]["answer"].startswith("'=1+1")
        assert [row["codes"].split()[:1] for row in rows if row["passed"] != "1.0"] == [["unexpected_call"]]


# Reviewing


async def test_findings_are_looked_at_one_by_one_and_the_log_stays_as_it_is(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        view = await tried(bench)
        log = (Path(view.path) / "attempts.jsonl").read_bytes()
        queue = reviewing.queue(view, "false calls")
        assert [(item.attempt.case_id, item.code) for item in queue.items] == [
            ("no_tool_needed", "unexpected_call")
        ]
        assert queue.done == 0
        with pytest.raises(LogError, match="who"):
            reviewing.say(view, queue.items[0], "fail", "")
        reviewing.say(view, queue.items[0], "fail", "Ada", "nothing was asked for")
        again = reviewing.queue(RunView(view.path), "false calls")
        assert again.done == 1
        assert "fail (Ada)" in str(again.items[0])
        assert (Path(view.path) / "attempts.jsonl").read_bytes() == log


def test_the_first_queue_is_what_the_judge_could_not_tell() -> None:
    findings = pd.DataFrame({"code": ["unclear_claim", "wrong_tool"], "layer": ["review", "selection"]})
    assert next(iter(reviewing.QUEUES)) == "unclear"
    assert list(reviewing.QUEUES["unclear"](findings)) == [True, False]
