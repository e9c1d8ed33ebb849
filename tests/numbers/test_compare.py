"""Comparisons: paired by case, and refused when more differs than is compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.numbers.support import PRICE, failed, frame, planned, renamed, row
from toolbench.errors import InputError
from toolbench.numbers.case_rows import OUTCOMES
from toolbench.numbers.compare import SHOWN, TEST, _correct, compare
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.metrics import metrics
from toolbench.numbers.paired import FEWEST_DIFFERING
from toolbench.numbers.rows import FINDING, GROUP
from toolbench.numbers.sides import FACTORS, Side, select
from toolbench.numbers.signature import Signature
from toolbench.numbers.tables import positions
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
    # Five scenarios differ: too few for an interval or a p, and the row says so.
    assert np.isnan([row["ci_low"], row["ci_high"], row["p"]]).all()
    assert "5" in row["test"]
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
    lost = result.newly_failing.set_index("case_id").loc["cancel_explicit"]
    assert "missed_call" in lost["codes"]
    assert "text where a call was due" in lost["reasons"]
    assert (lost["left_passed"], lost["left_n"], lost["right_passed"], lost["right_n"]) == (3, 3, 0, 3)
    back = compare(*sides(base, "always_silent", "keyword_router", **EN))
    assert back.newly_passing.set_index("case_id").loc["cancel_explicit", "codes"] == lost["codes"]


def test_a_case_belongs_to_a_side_that_passes_it_more_often_than_not(base: ScoredRun) -> None:
    attempts = base.attempts.copy()
    mine = (attempts["model"] == "always_silent") & (attempts["case_id"] == "cancel_explicit")
    attempts.loc[mine, "passed"] = (attempts.loc[mine, "repetition"] > 0).astype(float)
    left, right = sides(base, "keyword_router", "always_silent", **EN)
    changed = attempts.loc[right.attempts.index]
    result = compare(left, replace(right, attempts=changed))
    row = result.cases.set_index("case_id").loc["cancel_explicit"]
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


def unsealed(line: dict[str, Any]) -> dict[str, Any]:
    line.pop("seal", None)
    line.get("hashes", {}).pop("header", None)
    return line


def edited(run: Path, target: Path, edit: Any) -> ScoredRun:
    """Return a copy of a run in which ``edit`` has changed the header and every attempt."""
    lines = [json.loads(line) for line in (run / "attempts.jsonl").read_text().splitlines()]
    target.mkdir()
    text = "".join(json.dumps(unsealed(edit(line))) + "\n" for line in lines)
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
    # The attempts of the edited case are not those of the case as it stands there, and so not counted.
    assert any("only the left side has a scored attempt of 1 case" in line for line in result.unpaired)


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


def test_holm_is_over_the_deciding_metric_of_every_model_and_nothing_else(priced: ScoredRun) -> None:
    table = compare(
        *(select(priced, lang="en", condition=name) for name in ("auto", "reversed")), ["condition"]
    )
    rows = table.table
    assert table.primary == "pass_rate"
    corrected = rows[rows["p_holm"].notna()]
    assert set(corrected["metric"]) <= {"pass_rate"}
    assert not (corrected["provider"] == "baseline").any()


def test_a_family_holds_what_was_asked_and_not_what_came_of_it() -> None:
    rows: list[dict[str, Any]] = [
        {"metric": "pass_rate", "models": True, "p": 0.02},
        {"metric": "pass_rate", "models": True},
        {"metric": "pass_rate", "models": False, "p": 1e-9},
        {"metric": "mean_cost", "models": True, "p": 1e-9},
    ]
    _correct(rows, "pass_rate")
    assert [row.get("p_holm") for row in rows] == [0.04, None, None, None]


def test_times_have_no_p_unless_both_sides_took_turns(base: ScoredRun) -> None:
    both = sides(base, "keyword_router", "always_silent", **EN)
    usual, turns = (
        compare(*both, metrics=["mean_latency_ms"], interleaved=declared).table.iloc[0]
        for declared in (False, True)
    )
    assert np.isnan([usual["p"], usual["ci_low"]]).all()
    assert usual["test"] == "none: not measured in turns"
    assert np.isfinite(usual["delta"])
    assert turns["test"] != usual["test"]


def scenarios(number: int, **columns: Any) -> list[dict[str, Any]]:
    """Two variants of each of so many scenarios, three repetitions; every second scenario passes."""
    return [
        row(
            f"s{index:02d}.{variant}",
            index % 2 == 0,
            scenario=f"s{index:02d}",
            repetition=repetition,
            **columns,
        )
        for index in range(number)
        for variant in ("a", "b")
        for repetition in range(3)
    ]


def side(label: str, rows: list[dict[str, Any]], plan: list[dict[str, Any]] | None = None) -> Side:
    made = frame(*rows)
    signatures = {key: Signature({}) for key in positions(made, GROUP)}
    return Side(label, made, pd.DataFrame(columns=FINDING), planned(*(plan or rows)), signatures)


def without_failures(rows: list[dict[str, Any]], keep: int, lose: int) -> list[dict[str, Any]]:
    """Lose so many of the attempts that did not pass, at least ``keep`` repetitions of a case staying."""
    lost, kept = 0, []
    for attempt in rows:
        goes = attempt["passed"] == 0 and attempt["repetition"] >= keep and lost < lose
        lost += goes
        kept.append(row(attempt["case_id"], None, scenario=attempt["scenario"]) if goes else attempt)
    return kept


def test_lost_repetitions_of_an_equal_model_make_no_difference() -> None:
    rows = scenarios(20)
    left, right = side("left", rows), side("right", without_failures(rows, keep=1, lose=38))
    found = compare(left, right, metrics=["pass_rate"]).table.iloc[0]
    # Over attempts the right side would stand 11 points higher.
    assert (found["left"], found["right"], found["delta"]) == (0.5, 0.5, 0.0)
    assert (found["lost"], found["lost_cases"]) == (38, 19)
    assert found["lowest"] == pytest.approx(0.0)
    assert found["highest"] == pytest.approx(38 / 3 / 40)
    assert np.isnan(found["p"])
    assert found["test"] == "none: 38 of 240 attempts lost"


def test_a_verdict_that_holds_whatever_was_lost_is_given_with_its_widest_interval() -> None:
    rows = scenarios(40)
    worse = [{**a, "passed": 0.0} for a in rows]
    found = compare(
        side("l", rows), side("r", without_failures(worse, 2, 20)), metrics=["pass_rate"]
    ).table.iloc[0]
    assert found["test"] == f"{TEST}, 20 of 480 attempts lost"
    assert found["p"] < 0.001
    whole = compare(side("l", rows), side("r", worse), metrics=["pass_rate"]).table.iloc[0]
    assert found["ci_low"] <= whole["ci_low"] + 1e-9
    assert found["ci_high"] > whole["ci_high"]


def test_a_verdict_is_refused_where_lost_attempts_could_turn_it() -> None:
    rows = scenarios(20)
    worse = [{**a, "passed": 0.0} if a["scenario"] < "s16" else a for a in rows]
    few = compare(
        side("l", rows), side("r", without_failures(worse, 2, 1)), metrics=["pass_rate"]
    ).table.iloc[0]
    assert (few["lost"], few["test"]) == (1, TEST)
    assert few["p"] < 0.01
    many = compare(
        side("l", rows), side("r", without_failures(worse, 0, 60)), metrics=["pass_rate"]
    ).table.iloc[0]
    assert many["highest"] > 0 > many["lowest"]
    assert many["test"] == "none: 60 of 240 attempts lost"
    assert np.isnan([many["p"], many["ci_low"]]).all()


def test_attempts_that_were_never_made_are_lost_too() -> None:
    rows = scenarios(20)
    cut = [attempt for attempt in rows if attempt["case_id"] < "s15"]
    found = compare(side("l", rows), side("r", cut, rows), metrics=["pass_rate"]).table.iloc[0]
    assert (found["cases"], found["lost"], found["lost_cases"]) == (30, 30, 10)


def test_what_cannot_be_asked_is_not_lost() -> None:
    rows = scenarios(20)
    refused = [
        row(a["case_id"], None, scenario=a["scenario"], status="unsupported") if a["scenario"] == "s00" else a
        for a in rows
    ]
    found = compare(side("l", rows), side("r", refused), metrics=["pass_rate"])
    assert (found.table["lost"].iloc[0], found.table["cases"].iloc[0]) == (0, 38)
    assert any("only the left side" in line for line in found.unpaired)


def test_variants_of_a_scenario_are_one_cluster() -> None:
    rows = scenarios(20)
    flipped = [{**a, "passed": 0.0} if a["scenario"] in ("s00", "s02", "s04") else a for a in rows]
    found = compare(side("l", rows), side("r", flipped), metrics=["pass_rate"]).table.iloc[0]
    assert (found["cases"], found["clusters"], found["differing"]) == (40, 20, 3)
    assert found["differing"] < FEWEST_DIFFERING
    assert found["test"] == "none: 3 of 20 scenarios differ, fewer than 6"


def test_nine_scenarios_have_a_p_and_the_row_says_why_no_interval() -> None:
    rows = [{**a, "passed": 1.0} for a in scenarios(9)]
    lost = [{**a, "passed": 0.0} for a in rows]
    found = compare(side("l", rows), side("r", lost), metrics=["pass_rate"]).table.iloc[0]
    assert found["p"] == pytest.approx(2.0**-9, rel=1e-6)
    assert np.isnan([found["ci_low"], found["ci_high"]]).all()
    assert found["test"] == f"{TEST}, no interval of 9 scenarios"


def test_detectable_differences_are_told_of_the_deciding_metric_only() -> None:
    rows = scenarios(20)
    table = compare(side("l", rows), side("r", rows), metrics=["pass_rate", "decision_accuracy"]).table
    assert np.isfinite(table["detectable"].iloc[0])
    assert np.isnan(table["detectable"].iloc[1])
    small = scenarios(5)
    assert np.isnan(
        compare(side("l", small), side("r", small), metrics=["pass_rate"]).table["detectable"].iloc[0]
    )


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
    assert "fewer than 6" in said
    assert "newly failing: " in said
    assert "cancel_explicit 3/3 → 0/3  missed_call" in said
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
