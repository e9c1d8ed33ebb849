"""What a router says it has charged, from the reply to the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.adapters.support import chat
from tests.support import delivery, make_case
from toolbench.domain.config import Config
from toolbench.numbers.frames import load_run
from toolbench.numbers.metrics import metrics
from toolbench.running import crew
from toolbench.running.runner import run_matrix_sync
from toolbench.running.transport import Transport

SUITE = delivery().keep([make_case(id="chat", user="Hello!", expect={"kind": "text"})])
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.00125}
PRICE = {"currency": "EUR", "date": "2026-11-30", "input": 100, "output": 100}


@pytest.mark.parametrize(
    ("more", "spent", "unit"),
    [
        ({"profile": "openrouter"}, 0.0025, "USD (charged)"),
        ({}, 0.0025, "credits of p (charged)"),
        ({"profile": "openrouter", "price": PRICE}, 0.003, "EUR"),
    ],
)
def test_a_charge_is_the_cost_where_no_price_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], spent: float, unit: str
) -> None:
    inner = httpx.MockTransport(lambda _: httpx.Response(200, json=chat({"content": "Hello."}, usage=USAGE)))

    class Scripted(Transport):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "transport": inner})

    monkeypatch.setattr(crew, "Transport", Scripted)
    entry = {
        "provider": "p",
        "model": "m",
        "protocol": "chat_completions",
        "base_url": "http://127.0.0.1:9/v1",
    }
    config = {"runs": [{**entry, **more}], "baselines": [], "repetitions": 2}
    run_matrix_sync(Config.from_json(config, "inline"), [SUITE], tmp_path / "r")
    scored = load_run(tmp_path / "r")
    assert not scored.problems
    table = metrics(scored.attempts, (), scored.planned).set_index("metric")
    assert table.loc["cost", "value"] == pytest.approx(spent)
    assert scored.attempts["currency"].unique().tolist() == [unit]
