"""Every figure has its denominator; what was not scored or never run is beside it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.numbers.support import failed, frame, planned, renamed, row, twice, value
from toolbench.errors import InputError
from toolbench.numbers.definitions import RATES
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.intervals import FEWEST
from toolbench.numbers.metrics import metrics
from toolbench.numbers.rows import GROUP


def test_transport_errors_are_beside_the_denominator_with_their_bounds() -> None:
    # Four passes, eight failures, four answers that never came.
    rows = [row(f"c{i:02d}", passed) for i, passed in enumerate([True] * 4 + [False] * 8 + [None] * 4)]
    figures = metrics(frame(*rows))
    assert value(figures, "pass_rate") == pytest.approx(4 / 12)
    assert value(figures, "pass_rate", "numerator") == 4
    assert value(figures, "pass_rate", "denominator") == 12
    assert round(value(figures, "pass_rate", "ci_low"), 2) == 0.14
    assert round(value(figures, "pass_rate", "ci_high"), 2) == 0.62
    assert value(figures, "pass_rate", "clusters") == 12
    assert value(figures, "pass_rate", "not_scored") == 4
    assert value(figures, "pass_rate", "worst") == pytest.approx(4 / 16)
    assert value(figures, "pass_rate", "best") == pytest.approx(8 / 16)
    assert value(figures, "transport_errors") == 4
    assert value(figures, "attempted") == 16
    assert value(figures, "scored") == 12


def test_for_a_rate_that_should_be_low_the_worst_is_the_highest() -> None:
    figures = metrics(frame(row("a", unsafe=1.0), row("b"), row("c", None)))
    assert value(figures, "unsafe_call_rate") == 1 / 2
    assert value(figures, "unsafe_call_rate", "best") == pytest.approx(1 / 3)
    assert value(figures, "unsafe_call_rate", "worst") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("status", "metric"),
    [
        ("transport_error", "transport_errors"),
        ("unsupported", "unsupported"),
        ("judge_error", "judge_errors"),
    ],
)
def test_each_reason_for_no_score_has_its_own_count(status: str, metric: str) -> None:
    figures = metrics(frame(row("a"), row("b", None, status=status)))
    counts = {name: value(figures, name) for name in ("transport_errors", "unsupported", "judge_errors")}
    assert counts == {**dict.fromkeys(counts, 0), metric: 1}
    assert value(figures, "pass_rate", "denominator") == 1


def test_what_is_left_to_a_person_is_in_no_figure_and_in_both_bounds() -> None:
    rows = [row(f"c{i}", passed) for i, passed in enumerate([True] * 6 + [False] * 2)]
    left = {"passed": 0.0, "completed": 0.0, "recoveries": 1.0, "recoveries_right": 0.0, "answers": 1.0}
    figures = metrics(frame(*rows, *(row(f"r{i}", review=1.0, **left) for i in range(2))))
    assert value(figures, "to_review") == 2
    assert value(figures, "scored") == 10
    for name in ("pass_rate", "completion_rate"):
        assert value(figures, name) == pytest.approx(6 / 8)
        assert value(figures, name, "to_review") == 2
        assert value(figures, name, "worst") == pytest.approx(6 / 10)
        assert value(figures, name, "best") == pytest.approx(8 / 10)
    # What a text says is open; what was called is not.
    assert value(figures, "decision_accuracy", "denominator") == 10
    assert value(figures, "decision_accuracy", "to_review") == 0
    assert np.isnan(value(figures, "error_recovery_accuracy"))
    assert value(figures, "error_recovery_accuracy", "worst") == 0
    assert value(figures, "error_recovery_accuracy", "best") == 1


def test_what_is_left_to_a_person_adds_to_what_was_lost() -> None:
    figures = metrics(frame(row("a"), row("b", False), row("c", None), row("d", review=1.0, passed=0.0)))
    assert value(figures, "pass_rate") == 1 / 2
    assert (value(figures, "pass_rate", "not_scored"), value(figures, "pass_rate", "to_review")) == (1, 1)
    assert value(figures, "pass_rate", "worst") == 1 / 4
    assert value(figures, "pass_rate", "best") == 3 / 4


def test_a_false_claim_left_to_a_person_may_be_one() -> None:
    figures = metrics(frame(row("a"), row("b", review=1.0, passed=0.0)))
    assert value(figures, "false_claim_rate") == 0
    assert value(figures, "false_claim_rate", "best") == 0
    assert value(figures, "false_claim_rate", "worst") == 1 / 2


def test_the_calls_of_an_attempt_that_spent_its_budget_stay_in_every_denominator() -> None:
    stopped = row("b", False, status="budget", stop="budget")
    figures = metrics(frame(row("a"), stopped))
    assert value(figures, "budget_stops") == 1
    assert value(figures, "pass_rate") == 1 / 2
    assert value(figures, "raw_schema_validity", "denominator") == 2


def test_classes_that_never_ran_have_no_figure_and_do_not_pull_the_mean_down() -> None:
    # known_failures.md B22: plan single 10, parallel 10, web 10; done 9 of 10 and 5 of 10.
    made = [row(f"s{i}", i < 9, case_class="single") for i in range(10)]
    made += [row(f"p{i}", i < 5, case_class="parallel") for i in range(10)]
    plan = planned(*made, *(row(f"w{i}", case_class="web") for i in range(10)))
    whole = metrics(frame(*made), planned=plan)
    assert value(whole, "pass_rate") == pytest.approx(14 / 20)
    assert value(whole, "coverage") == pytest.approx(20 / 30)
    assert (value(whole, "coverage", "numerator"), value(whole, "coverage", "denominator")) == (20, 30)
    assert value(whole, "pass_rate", "macro") == pytest.approx((0.9 + 0.5) / 2)
    assert value(whole, "pass_rate", "classes") == 2
    by_class = metrics(frame(*made), ["case_class"], plan)
    assert np.isnan(value(by_class, "pass_rate", case_class="web"))
    assert value(by_class, "pass_rate", "denominator", case_class="web") == 0
    assert value(by_class, "coverage", case_class="web") == 0
    assert value(by_class, "pass_rate", case_class="single") == pytest.approx(0.9)


def test_micro_counts_attempts_and_macro_counts_classes() -> None:
    rows = [row(f"a{i}", True, case_class="large") for i in range(9)] + [row("b", False, case_class="small")]
    figures = metrics(frame(*rows))
    assert value(figures, "pass_rate") == pytest.approx(0.9)
    assert value(figures, "pass_rate", "macro") == pytest.approx(0.5)


def test_an_empty_denominator_gives_no_figure() -> None:
    silent = row("a", False, calls=0.0, calls_raw_valid=0.0, calls_wrong=0.0, calls_made=0.0)
    figures = metrics(frame(silent))
    for name in ("raw_schema_validity", "tool_precision", "exact_argument_accuracy", "order_validity"):
        assert np.isnan(value(figures, name))
        assert value(figures, name, "denominator") == 0
        assert np.isnan(value(figures, name, "ci_low"))


def test_no_attempt_at_all_gives_an_empty_frame_with_all_columns() -> None:
    assert metrics(frame()).empty
    assert list(metrics(frame()).columns) == list(metrics(frame(row())).columns)


@pytest.mark.parametrize("lacking", GROUP)
def test_merging_conditions_languages_or_models_is_refused(lacking: str) -> None:
    with pytest.raises(InputError, match=f"lacks {lacking}.*never merged"):
        metrics(frame(row()).drop(columns=[lacking]))


def test_forced_and_automatic_choice_stay_two_groups() -> None:
    figures = metrics(frame(row("a", True), row("a", False, condition="forced")))
    assert value(figures, "pass_rate", condition="auto") == 1
    assert value(figures, "pass_rate", condition="forced") == 0


def test_an_attempt_counts_under_each_of_its_tags() -> None:
    figures = metrics(
        frame(row("a", True, tags=("x", "y")), row("b", False, tags=("x",)), row("c")), ["tags"]
    )
    assert value(figures, "pass_rate", tags="x") == 0.5
    assert value(figures, "pass_rate", tags="y") == 1
    assert set(figures["tags"]) == {"x", "y"}


def test_a_control_has_no_rates_only_the_calls_that_were_impossible() -> None:
    control = row("a", False, control=True, decisions=0.0, calls=2.0, control_calls=2.0)
    figures = metrics(frame(control))
    assert np.isnan(value(figures, "pass_rate"))
    assert np.isnan(value(figures, "raw_schema_validity"))
    assert value(figures, "control_calls") == 2


def test_all_spend_counts_towards_what_was_completed() -> None:
    usd = {"currency": "USD"}
    rows = [
        row("a", True, cost=0.10, **usd),
        row("b", False, cost=0.20, **usd),
        row("c", None, cost=0.05, completed=None, **usd),
    ]
    figures = metrics(frame(*rows))
    assert value(figures, "cost_per_completed") == pytest.approx(0.35)
    assert value(figures, "cost_per_completed", "unit") == "USD a completed attempt"
    assert value(figures, "cost") == pytest.approx(0.35)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([row("a", cost=None), row("b", cost=0.1)], id="one unknown cost"),
        pytest.param([row("a", False, cost=0.1)], id="nothing completed"),
    ],
)
def test_an_unknown_cost_is_no_figure(rows: list[dict[str, object]]) -> None:
    assert np.isnan(value(metrics(frame(*rows)), "cost_per_completed"))


def test_latency_quantiles_are_over_known_times() -> None:
    rows = [row(f"c{i}", latency_ms=float(i)) for i in range(1, 101)] + [row("x", latency_ms=None)]
    figures = metrics(frame(*rows))
    assert value(figures, "latency_p50") == 50.5
    assert value(figures, "latency_p95") == pytest.approx(np.percentile(np.arange(1, 101), 95))
    assert value(figures, "latency_p95", "denominator") == 100


def test_figures_do_not_depend_on_the_order_of_the_log(base: ScoredRun) -> None:
    shuffled = base.attempts.sample(frac=1, random_state=1)
    key = [*GROUP, "metric"]
    first, second = (metrics(f).sort_values(key, ignore_index=True) for f in (base.attempts, shuffled))
    pd.testing.assert_frame_equal(first, second)


def test_figures_are_those_counted_by_hand_from_the_log(base: ScoredRun, base_run: Path) -> None:
    """A second implementation: plain loops over the JSONL and the findings."""
    where = {"model": "random_tool", "lang": "ru", "condition": "auto"}
    lines = [json.loads(line) for line in (base_run / "attempts.jsonl").read_text().splitlines()[1:]]
    mine = [line for line in lines if all(line[name] == wanted for name, wanted in where.items())]
    bad = base.findings[(base.findings[list(where)] == list(where.values())).all(axis=1)]
    failing = set(zip(bad["case_id"], bad["repetition"], strict=True))
    passes = sum((line["case_id"], line["repetition"]) not in failing for line in mine)
    calls = [call for line in mine for call in line["calls"] if call["turn"] >= 0]
    rejected = Counter(call["rejection"] for call in calls)
    figures = metrics(base.attempts)
    assert value(figures, "attempted", **where) == len(mine)
    assert value(figures, "pass_rate", "numerator", **where) == passes
    assert value(figures, "raw_schema_validity", "denominator", **where) == len(calls)
    assert value(figures, "raw_schema_validity", "numerator", **where) == rejected[None]


def test_every_rate_is_between_0_and_1_and_inside_its_interval(base: ScoredRun) -> None:
    figures = metrics(twice(base).attempts)
    rates = figures[figures["metric"].isin([rate.name for rate in RATES]) & figures["value"].notna()]
    assert (rates["numerator"] <= rates["denominator"]).all()
    known = rates[rates["ci_low"].notna()]
    assert len(known) > 80
    assert (known["clusters"] >= FEWEST).all()
    assert (rates.loc[rates["ci_low"].isna(), "clusters"] < FEWEST).all()
    assert (known["ci_low"] <= known["value"]).all()
    assert (known["value"] <= known["ci_high"]).all()


def test_one_column_is_named_by_a_plain_string(base: ScoredRun) -> None:
    pd.testing.assert_frame_equal(
        metrics(base.attempts, "case_class"), metrics(base.attempts, ["case_class"])
    )
    with pytest.raises(InputError, match="the frame lacks colour;"):
        metrics(base.attempts, "colour")


def test_variants_widen_the_interval_to_that_of_their_scenarios() -> None:
    outcomes = [True] * 8 + [False] * 4
    alone = [row(f"s{i}", passed) for i, passed in enumerate(outcomes)]
    variants = [
        row(f"s{i}.v{j}", passed, scenario=f"s{i}") for i, passed in enumerate(outcomes) for j in range(7)
    ]
    one, seven = (metrics(frame(*rows)) for rows in (alone, variants))
    for end in ("ci_low", "ci_high"):
        assert value(one, "pass_rate", end) == pytest.approx(value(seven, "pass_rate", end))
    assert (value(seven, "pass_rate", "cases"), value(seven, "pass_rate", "clusters")) == (84, 12)
    assert (value(seven, "latency_p50", "cases"), value(seven, "latency_p50", "clusters")) == (84, 12)


def test_a_95th_percentile_of_few_scenarios_has_no_interval() -> None:
    figures = metrics(frame(*(row(f"c{i}", latency_ms=float(i)) for i in range(30))))
    assert np.isfinite(value(figures, "latency_p95"))
    assert np.isnan(value(figures, "latency_p95", "ci_high"))
    assert np.isfinite(value(figures, "latency_p50", "ci_high"))


def test_several_runs_are_never_merged() -> None:
    rows = frame(row("a"), row("b"), row("a", False), row("b", False))
    figures = metrics(rows.assign(run_id=["one", "one", "two", "two"]))
    assert value(figures, "pass_rate", run_id="one") == 1
    assert value(figures, "pass_rate", run_id="two") == 0


def test_baselines_are_beside_the_models_like_any_player(priced: ScoredRun) -> None:
    figures = metrics(priced.attempts)
    here = {"lang": "en", "condition": "auto"}
    router = value(figures, "pass_rate", model="keyword_router", **here)
    assert value(figures, "pass_rate", model="strong", **here) == router
    assert value(figures, "pass_rate", model="always_silent", **here) < router


def test_a_model_that_could_not_be_reached_is_never_scored_zero(base_run: Path, tmp_path: Path) -> None:
    run = renamed(base_run, tmp_path / "down", {"keyword_router": "down"}, None, failed)
    scored = load_run(run)
    figures = metrics(scored.attempts, planned=scored.planned)
    here = {"model": "down", "lang": "en", "condition": "auto"}
    assert np.isnan(value(figures, "pass_rate", **here))
    assert value(figures, "transport_error_share", **here) == 1
    assert value(figures, "pass_rate", "worst", **here) == 0
    assert value(figures, "pass_rate", "best", **here) == 1
