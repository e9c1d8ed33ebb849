"""From a log to frames: identity, facts, spend, and what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.numbers.support import PRICE, failed, renamed
from toolbench.errors import LogError
from toolbench.numbers import scorer
from toolbench.numbers.frames import ScoredRun, load, load_run
from toolbench.numbers.outputs import errors_csv, report_text
from toolbench.numbers.rows import ATTEMPT, DTYPES, GROUP


def test_there_is_one_row_per_attempt_with_the_documented_columns(base: ScoredRun, base_run: Path) -> None:
    lines = (base_run / "attempts.jsonl").read_text().splitlines()
    assert len(base.attempts) == len(lines) - 1
    assert list(base.attempts.columns) == ATTEMPT
    assert {name: str(kind) for name, kind in base.attempts.dtypes.items()} == {
        name: DTYPES[name] for name in ATTEMPT
    }
    assert not base.attempts.duplicated([*GROUP, "case_id", "repetition"]).any()


def test_every_documented_column_exists(base: ScoredRun) -> None:
    documented = (load.__doc__ or "").split("Columns")[1].split("Raises")[0]
    first = ["provider", "case_hash", "tools_due", "missing_tools", "unpriced_tries", "error", "behaviour"]
    for name in first:
        assert name in documented
        assert name in base.attempts.columns


def test_a_long_log_is_packed_in_chunks_without_changing_anything(
    base_run: Path, base: ScoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer, "CHUNK", 7)
    again = load_run(base_run)
    pd.testing.assert_frame_equal(again.attempts, base.attempts)
    pd.testing.assert_frame_equal(again.calls, base.calls)
    pd.testing.assert_frame_equal(again.findings, base.findings)


def test_a_run_without_attempts_has_empty_frames_of_the_same_shape(base_run: Path, tmp_path: Path) -> None:
    lines = (base_run / "attempts.jsonl").read_text().splitlines()
    (tmp_path / "attempts.jsonl").write_text(lines[0] + "\n")
    scored = load_run(tmp_path)
    assert scored.attempts.empty
    assert list(scored.attempts.columns) == ATTEMPT
    assert scored.missing == len(scored.planned) == len(lines) - 1


def test_what_was_planned_and_never_made_is_known(base_run: Path, tmp_path: Path) -> None:
    lines = (base_run / "attempts.jsonl").read_text().splitlines()
    (tmp_path / "attempts.jsonl").write_text("\n".join(lines[:11]) + "\n")
    scored = load_run(tmp_path)
    assert len(scored.attempts) == 10
    assert scored.missing == len(lines) - 11


def test_unreadable_lines_are_reported_and_the_rest_is_used(base_run: Path, tmp_path: Path) -> None:
    text = (base_run / "attempts.jsonl").read_text()
    (tmp_path / "attempts.jsonl").write_text(text + '{"type": "attempt", "run')
    scored = load_run(tmp_path)
    assert len(scored.attempts) == len(text.splitlines()) - 1
    assert len(scored.problems) == 1


def test_half_a_character_in_a_reply_costs_nothing(base_run: Path, tmp_path: Path) -> None:
    # As json.loads reads the escape \\ud800: no text file and no column of strings can hold it.
    def halved(attempt: dict[str, Any]) -> dict[str, Any]:
        (first, *rest) = attempt["turns"]
        decision = {**first["decision"], "text": "\ud800 is \udfff"}
        return {**attempt, "turns": [{**first, "decision": decision}, *rest]}

    run = renamed(base_run, tmp_path / "halved", {"always_silent": "half"}, None, halved)
    scored = load_run(run)
    mine = scored.attempts[scored.attempts["model"] == "half"]
    assert mine["scored"].all()
    assert mine["answer"].str.contains(r"\ud800", regex=False).any()
    for text in (report_text(scored), errors_csv(scored)):
        assert text.encode("utf-8")


def test_lines_of_another_run_are_named_and_left_out(base_run: Path, tmp_path: Path) -> None:
    text = (base_run / "attempts.jsonl").read_text()
    last = text.splitlines()[-1].replace('"model": "keyword_router"', '"model": "stranger"')
    (tmp_path / "attempts.jsonl").write_text(text + last + "\n")
    scored = load_run(tmp_path)
    assert len(scored.attempts) == len(text.splitlines()) - 1
    assert ["names a model that the run does not have" in str(problem) for problem in scored.problems] == [
        True
    ]


def test_a_line_whose_calls_lack_records_is_named_and_left_out(base_run: Path, tmp_path: Path) -> None:
    header, *lines = (base_run / "attempts.jsonl").read_text().splitlines()
    torn = next(index for index, line in enumerate(lines) if json.loads(line)["calls"])
    lines[torn] = json.dumps({**json.loads(lines[torn]), "calls": []})
    (tmp_path / "attempts.jsonl").write_text("\n".join([header, *lines]) + "\n")
    scored = load_run(tmp_path)
    assert len(scored.attempts) == len(lines) - 1
    [problem] = scored.problems
    assert problem.line == torn + 2
    assert "have not one record each (none)" in problem.reason


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError):
        load(tmp_path)


def test_an_attempt_that_was_not_scored_has_facts_but_no_counts(base_run: Path, tmp_path: Path) -> None:
    run = renamed(base_run, tmp_path / "down", {"keyword_router": "down"}, PRICE, failed)
    attempts = load(run)
    down = attempts[(attempts["model"] == "down") & (attempts["condition"] == "auto")]
    assert not down["scored"].any()
    assert down["passed"].isna().all()
    assert down["call_due"].any()
    assert set(down["error"]) == {"HTTP 503: try later"}
    assert (down["cost"] == 0).all()
    assert down["latency_ms"].isna().all()


def test_facts_of_a_case_agree_with_what_scored_attempts_count(base: ScoredRun) -> None:
    scored = base.attempts[base.attempts["scored"]]
    assert (scored["decisions"] == ~scored["control"]).all()
    assert (scored["chain_due"] == scored["completable"]).all()
    assert (scored["write_on_offer"] == (scored["write_offered"] > 0)).all()
    # A later user message may never be reached, so a call that is due need not have been required yet.
    assert (scored["call_due"] | (scored["call_required"] == 0)).all()


def test_the_tools_of_missing_calls_are_as_many_as_the_missing_calls(base: ScoredRun) -> None:
    numbers = base.attempts["missing_tools"].map(len)
    assert (numbers == base.attempts["calls_missing"]).all()
    assert numbers.sum() > 0


def test_calls_belong_to_their_attempts(base: ScoredRun) -> None:
    key = [*GROUP, "case_id", "repetition"]
    counted = base.calls.groupby(key).size()
    made = base.attempts.set_index(key)["calls"]
    assert counted.sum() == made.sum()
    assert (made.reindex(counted.index) == counted).all()
    assert set(base.calls["effect"].dropna()) == {"read", "write"}
    right = base.calls[(base.calls["model"] == "keyword_router") & (base.calls["tool"] == "get_order")]
    assert (".order_id: user",) in set(right["origins"])


def test_writes_that_ran_twice_under_one_key_are_counted(base_run: Path, tmp_path: Path) -> None:
    def run_twice(attempt: dict[str, object]) -> dict[str, object]:
        calls: list[dict[str, object]] = attempt["calls"]  # type: ignore[assignment]
        written = [
            {**call, "idempotency_key": "k", "states": ["proposed", "validated", "executed"]}
            for call in calls
        ]
        turns: list[dict[str, Any]] = attempt["turns"]  # type: ignore[assignment]
        asked = [
            {**turn, "decision": {**turn["decision"], "calls": turn["decision"]["calls"] * 2}}
            for turn in turns
        ]
        return {**attempt, "turns": asked, "calls": written + written}

    run = renamed(base_run, tmp_path / "twice", {"keyword_router": "twice"}, None, run_twice)
    attempts = load(run)
    twice = attempts[(attempts["model"] == "twice") & (attempts["turns"] > 1)]
    assert (twice["duplicate_executions"] >= 1).any()
    assert (attempts.loc[attempts["provider"] == "baseline", "duplicate_executions"] == 0).all()


def test_tokens_and_cost_are_added_up_over_all_turns(priced: ScoredRun) -> None:
    strong = priced.attempts[priced.attempts["model"] == "strong"]
    assert (strong["input_tokens"] == 1000 * strong["turns"]).all()
    assert (strong["cached_tokens"] == 400 * strong["turns"]).all()
    each = (600 * 1.0 + 400 * 0.1 + 100 * 4.0) / 1e6
    assert strong["cost"].to_numpy() == pytest.approx(each * strong["turns"].to_numpy())
    assert set(strong["currency"]) == {"USD"}
    baselines = priced.attempts[priced.attempts["provider"] == "baseline"]
    assert baselines["cost"].isna().all()
    assert baselines["input_tokens"].isna().all()


def test_scoring_twice_gives_the_same_frames(base_run: Path, base: ScoredRun) -> None:
    pd.testing.assert_frame_equal(load(base_run)[ATTEMPT], base.attempts[ATTEMPT])


def test_flags_are_missing_where_the_question_does_not_arise(base: ScoredRun) -> None:
    silent = base.attempts[base.attempts["model"] == "always_silent"]
    assert silent["args_valid"].isna().all()
    assert np.isnan(silent["first_token_ms"]).all()


def test_the_log_of_two_models_keeps_them_apart(priced_run: Path) -> None:
    header = json.loads((priced_run / "attempts.jsonl").read_text().splitlines()[0])
    names = {(player["provider"], player["model"]) for player in header["players"]}
    attempts = load(priced_run)
    assert set(zip(attempts["provider"], attempts["model"], strict=True)) == names
