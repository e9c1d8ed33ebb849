"""A response id that comes twice: one sample where a cache answered, a warning where it is only an id."""

from __future__ import annotations

import json
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from tests.adapters.support import chat, chat_call
from tests.support import delivery, make_case
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME
from toolbench.numbers import cache, frames
from toolbench.numbers.cautions import cautions
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.metrics import metrics
from toolbench.running import crew
from toolbench.running.runner import run_matrix_sync
from toolbench.running.transport import Transport
from toolbench.showing.terminal import score_table

CALL = {"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}
SUITE = delivery().keep(
    [make_case(id="lookup", user="Where is ORD-123456?", expect={"kind": "tool_call", "calls": [CALL]})]
)
REPETITIONS = 4


def played(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ids: list[str], texts: list[str] | None = None
) -> ScoredRun:
    """Play repetitions whose first replies have these ids and whose answers have these texts."""
    numbers = count()
    attempt = -1

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal attempt
        if json.loads(request.content)["messages"][-1]["role"] == "user":
            attempt = next(numbers)
            made = [chat_call(json.dumps(CALL["arguments"]), "get_order")]
            return httpx.Response(200, json=chat({"tool_calls": made}, "tool_calls", id=ids[attempt]))
        text = texts[attempt] if texts else "It is in transit."
        return httpx.Response(200, json=chat({"content": text}, id=f"{ids[attempt]}answer"))

    class Scripted(Transport):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "transport": httpx.MockTransport(answer)})

    monkeypatch.setattr(crew, "Transport", Scripted)
    entry = {
        "provider": "p",
        "model": "m",
        "protocol": "chat_completions",
        "base_url": "http://127.0.0.1:9/v1",
    }
    config = {"runs": [entry], "baselines": [], "repetitions": REPETITIONS}
    run_matrix_sync(Config.from_json(config, "inline"), [SUITE], folder)
    return load_run(folder)


def test_a_reply_that_comes_twice_is_one_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = played(tmp_path / "r", monkeypatch, ["cmpl-aaaaaaaa"] * 3 + ["cmpl-bbbbbbbb"])
    assert scored.attempts["status"].tolist() == ["ok", "cached", "cached", "ok"]
    assert scored.attempts["scored"].tolist() == [True, False, False, True]
    assert "repetition 1" in scored.attempts["error"][1]
    table = metrics(scored.attempts, (), scored.planned).set_index("metric")
    assert table.loc["pass_rate", "denominator"] == 2
    assert table.loc["cached_answers", "value"] == 2
    assert table.loc["pass_rate", "not_scored"] == 0, "nothing is lost"
    assert any(line.startswith("cache: p/m/chat_completions: 2 attempts") for line in cautions(scored))
    told = score_table(tmp_path / "r")
    assert "cache: p/m/chat_completions: 2 attempts" in told
    assert "cached answers" in told


def test_parts_of_a_log_know_of_each_others_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["It is in transit.", "It is in transit.", "It is in transit, I see.", "It is in transit."]
    whole = played(tmp_path / "r", monkeypatch, ["cmpl-aaaaaaaa"] * 3 + ["cmpl-bbbbbbbb"], texts)
    assert whole.attempts["status"].tolist() == ["ok", "cached", "ok", "ok"]
    assert len(whole.reused) == 2
    assert not whole.calls["repetition"].eq(1).any()
    monkeypatch.setattr(frames, "IN_PROCESSES", 0)
    monkeypatch.setattr(frames, "LEAST_PART", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    parts = load_run(tmp_path / "r")
    for name in ("attempts", "calls", "findings"):
        pd.testing.assert_frame_equal(getattr(parts, name), getattr(whole, name))
    assert parts.reused == whole.reused


def test_kept_verdicts_know_of_replies_that_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(cache, "WORTH_KEEPING", 0)
    whole = played(tmp_path / "r", monkeypatch, ["cmpl-aaaaaaaa"] * 3 + ["cmpl-bbbbbbbb"])
    log = tmp_path / "r" / LOG_NAME
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:3]))
    shutil.rmtree(tmp_path / "r" / cache.FOLDER)
    assert load_run(tmp_path / "r").attempts["status"].tolist() == ["ok", "cached"]
    log.write_text("".join(lines))
    grown = load_run(tmp_path / "r")
    for name in ("attempts", "calls", "findings"):
        pd.testing.assert_frame_equal(getattr(grown, name), getattr(whole, name))
    assert grown.reused == whole.reused


def test_an_id_with_another_text_is_a_sample_and_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"It is in transit, {word}." for word in ("so far", "I see", "it seems", "still")]
    scored = played(tmp_path / "r", monkeypatch, ["cmpl-aaaaaaaa"] * REPETITIONS, texts)
    assert scored.attempts["scored"].all()
    assert [line for line in cautions(scored) if line.startswith("ids: ")] == [
        "ids: p/m/chat_completions: 3 replies with the id of another reply and another content"
    ]


@pytest.mark.parametrize("id_", ["chatcmpl-7", "chatcmpl-998", "c1", ""])
def test_an_id_from_a_short_counter_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, id_: str
) -> None:
    numbers = iter(range(1000))
    ids = [id_] * REPETITIONS
    scored = played(tmp_path / "r", monkeypatch, ids, [f"Text {next(numbers)}" for _ in ids])
    assert scored.attempts["scored"].all()


def test_equal_replies_with_ids_of_their_own_are_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = played(tmp_path / "r", monkeypatch, [f"cmpl-{letter * 8}" for letter in "abcd"])
    assert scored.attempts["scored"].all()
    assert not scored.reused
