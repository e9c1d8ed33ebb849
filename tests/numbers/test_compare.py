"""Comparisons: paired by case, and refused when more differs than is compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.numbers.support import PRICE, failed, renamed
from toolbench.errors import InputError
from toolbench.numbers.compare import OUTCOMES, SHOWN, compare
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.metrics import metrics
from toolbench.numbers.sides import FACTORS, Side, select
from toolbench.showing.comparison import text

EN = {"lang": "en", "condition": "auto"}


def sides(scored: ScoredRun, left: str, right: str, **where: str) -> tuple[Side, Side]:
    return select(scored, model=left, **where), select(scored, model=right, **where)


def test_two_models_are_compared_case_by_case(base: ScoredRun) -> None:
    result = compare(*sides(base, "keyword_router", "always_silent", **EN))
    figures = metrics(base.attempts)
    row = result.table.set_index("metric").loc["pass_rate"]
    for side, model in (("left", "keyword_router"), ("right", "always_silent")):
        mine = figures[
            (figures["model"] == model) & (figures["lang"] == "en") & (figures["condition"] == "auto")
        ]
        assert row[side] == pytest.approx(mine.set_index("metric").loc["pass_rate", "value"])
    assert row["delta"] == pytest.approx(row["right"] - row["left"])
    assert row["ci_low"] < row["delta"] < row["ci_high"] <= 0
    assert row["p"] <= row["p_holm"] <= 1
    assert row["cases"] == 9
    assert list(result.table["metric"]) == list(SHOWN)


def test_languages_and_conditions_are_compared_apart(base: ScoredRun) -> None:
    result = compare(*sides(base, "keyword_router", "random_tool"))
    arms = set(zip(result.table["lang"], result.table["condition"], strict=True))
    assert {("en", "auto"), ("ru", "auto"), ("en", "reversed"), ("ru", "reversed")} <= arms
    assert set(result.shared) == {"provider", "protocol", "suite", "lang", "condition"}


def test_every_case_has_one_outcome(base: ScoredRun) -> None:
    result = compare(*sides(base, "keyword_router", "always_silent", **EN))
    row = result.cases["outcome"].value_counts()
    assert set(row.index) <= set(OUTCOMES)
    assert row.sum() == 9
    assert row["only left"] == len(result.newly_failing) > 0
    assert row.get("only right", 0) == len(result.newly_passing)


def test_newly_failing_cases_come_with_the_reasons_of_the_failing_side(base: ScoredRun) -> None:
    result = compare(*sides(base, "keyword_router", "always_silent", **EN))
    lost = result.newly_failing.set_index("case_id").loc["direct_lookup"]
    assert "missed_call" in lost["codes"]
    assert "text where a call was due" in lost["reasons"]
    assert (lost["left_passed"], lost["left_n"], lost["right_passed"], lost["right_n"]) == (3, 3, 0, 3)
    back = compare(*sides(base, "always_silent", "keyword_router", **EN))
    assert back.newly_passing.set_index("case_id").loc["direct_lookup", "codes"] == lost["codes"]


def test_a_case_belongs_to_a_side_that_passes_it_more_often_than_not(base: ScoredRun) -> None:
    attempts = base.attempts.copy()
    mine = (attempts["model"] == "always_silent") & (attempts["case_id"] == "direct_lookup")
    attempts.loc[mine, "passed"] = (attempts.loc[mine, "repetition"] > 0).astype(float)
    left, right = sides(base, "keyword_router", "always_silent", **EN)
    changed = attempts.loc[right.attempts.index]
    result = compare(left, Side("changed", changed, right.findings, right.signatures))
    row = result.cases.set_index("case_id").loc["direct_lookup"]
    assert (row["right_passed"], row["right_n"], row["outcome"]) == (2, 3, "both")


def test_a_side_against_itself_differs_in_nothing(base: ScoredRun) -> None:
    side = select(base, model="random_tool", **EN)
    result = compare(side, side, [])
    tested = result.table.dropna(subset=["p"])
    assert (tested["delta"] == 0).all()
    assert (tested["p"] == 1).all()
    assert result.newly_failing.empty
    assert result.newly_passing.empty


def test_tool_order_is_compared_within_one_run(base: ScoredRun) -> None:
    left = select(base, model="always_first_tool", condition="auto")
    right = select(base, model="always_first_tool", condition="reversed")
    result = compare(left, right, ["condition"])
    unsafe = result.table[result.table["metric"] == "unsafe_call_rate"].set_index("lang")
    assert (unsafe["delta"] > 0).all()
    with pytest.raises(InputError, match=r"no group in common.*condition: auto against reversed"):
        compare(left, right, ["model"])
    with pytest.raises(
        InputError, match="differ in more than prompt: arm: usual against tool_order=reversed"
    ):
        compare(left, right, ["prompt"])


def edited(run: Path, target: Path, edit: Any) -> ScoredRun:
    """Return a copy of a run in which ``edit`` has changed the header and every attempt."""
    lines = [json.loads(line) for line in (run / "attempts.jsonl").read_text().splitlines()]
    target.mkdir()
    text = "".join(json.dumps(edit(line)) + "\n" for line in lines)
    (target / "attempts.jsonl").write_text(text)
    return load_run(target)


def new_prompt(line: dict[str, Any]) -> dict[str, Any]:
    line["run_id"] = "edited"
    if line["type"] == "run":
        line["suites"][0]["prompts"] = {"en": "Call only when needed.", "ru": "Только по делу."}
    return line


def test_two_runs_are_compared_model_by_model(base: ScoredRun, base_run: Path, tmp_path: Path) -> None:
    other = edited(base_run, tmp_path / "edited", new_prompt)
    result = compare(select(base), select(other), ["prompt"])
    assert result.table["model"].nunique() == 4
    assert {"model", "condition", "lang"} <= set(result.shared)
    assert result.sides[0][1] == "edited"


def test_runs_that_differ_in_more_than_the_factor_are_refused_with_every_difference(
    base: ScoredRun, base_run: Path, tmp_path: Path
) -> None:
    def edit(line: dict[str, Any]) -> dict[str, Any]:
        line = new_prompt(line)
        if line["type"] == "run":
            line["config"]["loop_limit"] = 2
            line["versions"]["toolbench"] = "99"
        return line

    other = edited(base_run, tmp_path / "edited", edit)
    with pytest.raises(InputError) as refusal:
        compare(select(base), select(other), ["prompt"])
    assert "loop_limit: 5 against 2" in str(refusal.value)
    assert "version: " in str(refusal.value)
    assert "prompt: en@" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_groups_that_only_one_side_has_are_named(base: ScoredRun) -> None:
    left = select(base, lang="en")
    result = compare(left, select(base, model="random_tool", lang="en", condition="auto"), [])
    assert set(result.table["model"]) == {"random_tool"}
    assert any(
        "keyword_router" in line and "only the left side has this group" in line for line in result.unpaired
    )


def test_a_case_that_was_edited_is_not_paired(base: ScoredRun, base_run: Path, tmp_path: Path) -> None:
    def edit(line: dict[str, Any]) -> dict[str, Any]:
        if line["type"] == "run":
            line["suites"][0]["cases"][0]["user"] = "Something else."
        return line

    other = edited(base_run, tmp_path / "edited", edit)
    with pytest.raises(InputError, match="cases: "):
        compare(select(base, **EN), select(other, **EN), [])
    result = compare(select(base, **EN), select(other, **EN), ["cases"])
    assert (result.table["cases"] <= 8).all()
    assert any("different versions of 1 case" in line for line in result.unpaired)


def test_cases_without_a_score_on_one_side_are_left_out_and_named(base_run: Path, tmp_path: Path) -> None:
    def lose(attempt: dict[str, Any]) -> dict[str, Any]:
        return failed(attempt) if attempt["case_id"] == "direct_lookup" else attempt

    scored = load_run(renamed(base_run, tmp_path / "partly", {"keyword_router": "partly"}, PRICE, lose))
    result = compare(*sides(scored, "keyword_router", "partly", **EN))
    assert "direct_lookup" not in set(result.cases["case_id"])
    assert any("only the left side has a scored attempt of 1 case" in line for line in result.unpaired)


def test_cost_and_latency_are_compared_where_they_are_known(priced: ScoredRun) -> None:
    models = compare(*sides(priced, "strong", "cheap", **EN)).table.set_index("metric")
    assert models.loc["mean_cost", "cases"] == 9
    baseline = compare(*sides(priced, "strong", "keyword_router", **EN)).table.set_index("metric")
    assert baseline.loc["mean_cost", "cases"] == 0
    assert np.isnan(baseline.loc["mean_cost", "delta"])
    assert np.isnan(baseline.loc["mean_cost", "p_holm"])


def test_holm_is_over_everything_shown_together(base: ScoredRun) -> None:
    alone = compare(*sides(base, "keyword_router", "always_silent", **EN), metrics=["pass_rate"]).table
    together = compare(*sides(base, "keyword_router", "always_silent", **EN)).table.set_index("metric")
    assert alone["p_holm"].iloc[0] == alone["p"].iloc[0]
    assert together.loc["pass_rate", "p_holm"] > together.loc["pass_rate", "p"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"factors": ["luck"]}, "unknown factor 'luck'; there are: model", id="factor"),
        pytest.param({"metrics": ["luck"]}, "no metric 'luck' to compare; there are: pass_rate", id="metric"),
    ],
)
def test_an_unknown_name_is_refused_with_those_there_are(
    base: ScoredRun, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        compare(*sides(base, "keyword_router", "random_tool"), **arguments)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        pytest.param({"model": "nobody"}, "no model 'nobody' here; there is always_silent", id="value"),
        pytest.param({"colour": "red"}, "'colour' is not one of provider", id="column"),
    ],
)
def test_a_side_that_does_not_exist_is_refused(base: ScoredRun, where: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        select(base, **where)


def test_a_side_with_several_models_is_asked_to_choose(base: ScoredRun) -> None:
    with pytest.raises(InputError, match=r"several values of model .*choose one"):
        compare(select(base, model="random_tool"), select(base, lang="en"), ["model"])


def test_few_cases_are_warned_about(base: ScoredRun) -> None:
    result = compare(*sides(base, "keyword_router", "random_tool", **EN))
    assert any("9 paired cases" in line for line in result.warnings)


def test_the_text_shows_deltas_cases_and_reasons(base: ScoredRun) -> None:
    said = text(compare(*sides(base, "keyword_router", "always_silent", **EN)))
    assert "pass_rate" in said
    assert "Holm" in said
    assert "newly failing: " in said
    assert "direct_lookup 3/3 → 0/3  missed_call" in said
    assert "–" in said


def test_every_factor_names_only_columns_and_keys_that_exist(base: ScoredRun) -> None:
    side = select(base, **EN)
    columns, keys = set(base.attempts.columns), set(next(iter(side.signatures.values())).values)
    for factor in FACTORS.values():
        assert set(factor.columns) <= columns
        assert set(factor.keys) <= keys


def test_comparing_twice_gives_the_same_numbers(base: ScoredRun) -> None:
    first, second = (text(compare(*sides(base, "keyword_router", "random_tool"))) for _ in range(2))
    assert first == second
