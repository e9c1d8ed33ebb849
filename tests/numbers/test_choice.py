"""Pareto: what is dominated is said, no winner is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.numbers.support import PRICE, renamed
from toolbench.numbers.choice import pareto
from toolbench.numbers.frames import ScoredRun, load_run


@pytest.fixture(scope="module")
def two_prices(base_run: Path, tmp_path_factory: pytest.TempPathFactory) -> ScoredRun:
    """Two equally good models at two prices, and one that is worse."""
    models = {"keyword_router": "dear", "always_first_tool": "poor"}
    first = renamed(base_run, tmp_path_factory.mktemp("choice") / "one", models, PRICE)

    def cheaper(header: dict[str, Any]) -> dict[str, Any]:
        players = [
            p if p["model"] != "fair" else {**p, "price": {**PRICE, "input": 0.1, "output": 0.4}}
            for p in header["players"]
        ]
        return {**header, "players": players}

    second = first.parent / "two"
    return load_run(renamed(first, second, {"keyword_router": "fair"}, PRICE, header=cheaper))


def rows(scored: ScoredRun, gates: dict[str, Any] | None = None) -> pd.DataFrame:
    table = pareto(scored, gates)
    return table[(table["lang"] == "en") & (table["condition"] == "auto")].set_index("model")


def test_a_dearer_model_that_is_no_better_is_dominated(two_prices: ScoredRun) -> None:
    table = rows(two_prices)
    assert table.loc["fair", "efficient"]
    assert not table.loc["dear", "efficient"]
    assert table.loc["dear", "dominated_by"] == ("acme/fair/chat_completions",)
    assert table.loc["fair", "dominated_by"] == ()


def test_without_a_cost_nothing_is_said_about_efficiency(two_prices: ScoredRun) -> None:
    table = rows(two_prices)
    assert pd.isna(table.loc["keyword_router", "efficient"])
    assert pd.isna(table.loc["poor", "cost_per_completed"])
    assert pd.isna(table.loc["poor", "efficient"])


def test_a_failed_gate_takes_a_model_out(two_prices: ScoredRun) -> None:
    gate = {"name": "g", "metric": "pass_rate", "min": 0.1}
    table = rows(
        two_prices, {"version": "t", "min_n": 9, "gates": [{**gate, "min": 1, "where": {"model": ["fair"]}}]}
    )
    assert table.loc["fair", "gates"] == "fail"
    assert pd.isna(table.loc["fair", "efficient"])
    assert table.loc["dear", "efficient"]
    assert table.loc["dear", "gates"] == "none"
    passed = rows(two_prices, {"version": "t", "min_n": 9, "gates": [gate]})
    assert passed.loc["dear", "gates"] == "pass"


def test_a_run_that_has_not_begun_has_rows_without_figures(two_prices: ScoredRun, tmp_path: Path) -> None:
    first = two_prices.log.path.read_text().splitlines()[0]
    (tmp_path / "attempts.jsonl").write_text(first + "\n")
    table = pareto(load_run(tmp_path))
    assert len(table) == len(pareto(two_prices))
    assert table["efficient"].isna().all()


def test_there_is_one_row_per_result_in_the_order_of_the_run(two_prices: ScoredRun) -> None:
    table = pareto(two_prices)
    keys = list(table[["model", "lang", "condition"]].itertuples(index=False, name=None))
    planned = two_prices.planned[["model", "lang", "condition"]].drop_duplicates()
    assert keys == list(planned.itertuples(index=False, name=None))
