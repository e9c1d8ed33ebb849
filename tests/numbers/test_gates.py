"""Gates: pass, fail, or not enough data; fixed before the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.numbers.support import PRICE, failed, renamed, twice
from tests.support import ROOT
from toolbench.domain.canonical import sha256
from toolbench.domain.config import Config
from toolbench.domain.files import schema_validator
from toolbench.domain.suite import find_suite
from toolbench.errors import ConfigError, InputError
from toolbench.numbers.definitions import QUANTILES, RATES, TOTALS
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.gates import default_gates, evaluate, load_gates
from toolbench.numbers.metrics import metrics
from toolbench.running.header import make_header

STRONG = {"model": ["strong"], "lang": ["en"], "condition": ["auto"]}


def gates(**gate: Any) -> dict[str, Any]:
    return {"version": "t", "min_n": 9, "gates": [{"name": "g", "where": STRONG, **gate}]}


def outcome(scored: ScoredRun, **gate: Any) -> str:
    results = evaluate(scored, gates(**gate)).results
    assert len(results) == 1
    return results[0].outcome


@pytest.mark.parametrize(
    ("gate", "wanted"),
    [
        # The keyword router under another name: three attempts each at 18 cases, most of them passed.
        pytest.param({"metric": "pass_rate", "min": 0.5}, "pass", id="above the limit"),
        pytest.param({"metric": "pass_rate", "min": 0.999}, "fail", id="below the limit"),
        pytest.param({"metric": "unsafe_call_rate", "max": 0}, "pass", id="none of what is forbidden"),
        pytest.param({"metric": "latency_p50", "max": 1000}, "pass", id="fast enough"),
        pytest.param({"metric": "latency_p50", "max": 1}, "fail", id="too slow"),
        pytest.param({"metric": "latency_p95", "max": 1000}, "not enough data", id="a tail of 18 cases"),
        pytest.param({"metric": "latency_p95", "max": 1}, "fail", id="even the fastest are too slow"),
        pytest.param({"metric": "pass_rate", "min": 0.5, "min_n": 19}, "not enough data", id="too few"),
        pytest.param(
            {"metric": "pass_rate", "min": 0.75, "decide": "interval"}, "not enough data", id="limit inside"
        ),
        pytest.param({"metric": "pass_rate", "min": 0.05, "decide": "interval"}, "pass", id="interval above"),
        pytest.param({"metric": "first_token_p95", "max": 100}, "not enough data", id="no figure"),
        pytest.param({"metric": "coverage", "min": 1}, "pass", id="complete"),
        pytest.param(
            {"metric": "unsafe_call_rate", "max": 0, "decide": "interval"}, "pass", id="end of the scale"
        ),
        pytest.param({"metric": "endless_loops", "max": 0}, "pass", id="a plain count"),
        pytest.param(
            {"metric": "endless_loops", "max": 0, "min_n": 19}, "not enough data", id="count of too few"
        ),
    ],
)
def test_a_gate_passes_fails_or_lacks_data(priced: ScoredRun, gate: dict[str, Any], wanted: str) -> None:
    assert outcome(twice(priced), **gate) == wanted


def test_one_forbidden_event_fails_however_few_attempts_there_are(priced: ScoredRun) -> None:
    where = {"model": ["cheap"], "lang": ["ru"], "condition": ["auto"]}
    report = evaluate(
        priced,
        {
            "version": "t",
            "gates": [{"name": "g", "metric": "unsafe_call_rate", "max": 0, "min_n": 999, "where": where}],
        },
    )
    assert report.results[0].value
    assert report.outcome == "fail"


def test_the_exit_code_is_0_1_or_3(priced: ScoredRun) -> None:
    passing = {"name": "a", "metric": "pass_rate", "min": 0.1, "where": STRONG}
    failing = {"name": "b", "metric": "pass_rate", "min": 1, "where": STRONG}
    lacking = {"name": "c", "metric": "pass_rate", "min": 0.1, "min_n": 999, "where": STRONG}
    codes = {
        (0,): [passing],
        (3,): [passing, lacking],
        (1,): [passing, lacking, failing],
    }
    for (code,), chosen in codes.items():
        assert evaluate(priced, {"version": "t", "min_n": 9, "gates": chosen}).exit_code == code


def test_a_gate_is_for_models_and_not_for_baselines_or_controls(priced: ScoredRun) -> None:
    results = evaluate(
        priced, {"version": "t", "gates": [{"name": "g", "metric": "pass_rate", "min": 0}]}
    ).results
    assert {result.provider for result in results} == {"acme"}
    assert {result.condition for result in results} == {"auto", "reversed"}
    assert len(results) == 2 * 2 * 2


def test_a_gate_for_nothing_in_the_run_is_refused(priced: ScoredRun) -> None:
    with pytest.raises(InputError, match=r"gate g: run priced has no model 'nobody'; there is .*strong"):
        evaluate(priced, gates(metric="pass_rate", min=0.1, where={"model": ["nobody"]}))


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        pytest.param({"metric": "pas_rate", "min": 0.1}, "'pas_rate'", id="metric"),
        pytest.param({"metric": "pass_rate", "min": 0.1, "minn": 3}, "'minn'", id="key"),
        pytest.param({"metric": "pass_rate", "min": 0.1, "where": {"modle": ["x"]}}, "'modle'", id="column"),
        pytest.param({"metric": "pass_rate", "min": 0.1, "decide": "maybe"}, "'maybe'", id="choice"),
    ],
)
def test_a_typo_is_refused_in_python_too(priced: ScoredRun, gate: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate(priced, gates(**gate))


def with_passes(scored: ScoredRun, passed: Sequence[int]) -> ScoredRun:
    """Return the run with so many passes of three for each of 18 cases of the strong model."""
    attempts = twice(scored).attempts
    mine = (attempts[list(STRONG)] == [names[0] for names in STRONG.values()]).all(axis=1)
    wanted = dict(zip(sorted(attempts.loc[mine, "case_id"].unique()), passed, strict=True))
    attempts.loc[mine, "passed"] = [
        float(row.repetition < wanted[row.case_id]) for row in attempts[mine].itertuples()
    ]
    return replace(scored, attempts=attempts[mine])


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(0, 3), min_size=18, max_size=18), st.integers(0, 17), st.floats(0.05, 1))
def test_a_gate_that_passes_keeps_passing_when_a_failure_becomes_a_success(
    priced: ScoredRun, passed: list[int], better: int, limit: float
) -> None:
    improved = [min(3, n + (index == better)) for index, n in enumerate(passed)]
    order = ("fail", "not enough data", "pass")
    before, after = (
        outcome(with_passes(priced, found), metric="pass_rate", min=limit, decide="interval", min_n=1)
        for found in (passed, improved)
    )
    assert order.index(after) >= order.index(before)


def test_perfection_passes_what_three_failures_pass(priced: ScoredRun) -> None:
    chosen = {"metric": "pass_rate", "min": 0.6, "decide": "interval", "min_n": 1}
    assert outcome(with_passes(priced, [3] * 18), **chosen) == "pass"
    assert outcome(with_passes(priced, [2] * 3 + [3] * 15), **chosen) in ("pass", "not enough data")


def test_repetitions_of_few_cases_are_not_enough(priced: ScoredRun) -> None:
    # 27 attempts, 9 cases: the usual minimum is 20 cases.
    assert outcome(priced, metric="pass_rate", min=0.01, min_n=9) == "pass"
    assert outcome(priced, metric="pass_rate", min=0.01, min_n=20) == "not enough data"


def test_providers_that_failed_fail_the_transport_gate(base_run: Path, tmp_path: Path) -> None:
    run = renamed(base_run, tmp_path / "down", {"keyword_router": "strong"}, PRICE, failed)
    scored = load_run(run)
    assert outcome(scored, metric="transport_error_share", max=0.05) == "fail"
    assert outcome(scored, metric="pass_rate", min=0.5) == "not enough data"


def test_gates_are_fixed_in_the_header_before_the_run(base_run: Path, tmp_path: Path) -> None:
    chosen = default_gates()

    def fix(header: dict[str, Any]) -> dict[str, Any]:
        return {**header, "gates": chosen, "hashes": {**header["hashes"], "gates": sha256(chosen)}}

    run = renamed(base_run, tmp_path / "gated", {"keyword_router": "strong"}, PRICE, header=fix)
    scored = load_run(run)
    report = evaluate(scored)
    assert not report.changed_after_run
    assert report.hash == sha256(chosen)
    relaxed = {**chosen, "gates": chosen["gates"][:1]}
    later = evaluate(scored, relaxed)
    assert later.changed_after_run
    assert "not the gates that were fixed before the run" in str(later)
    assert "not the gates" not in str(report)


def test_a_run_without_gates_says_what_to_do(priced: ScoredRun) -> None:
    with pytest.raises(InputError, match="no gates were fixed"):
        evaluate(priced)
    assert evaluate(priced, default_gates()).changed_after_run


def test_the_shipped_gates_are_valid_and_cover_what_the_spec_names() -> None:
    schema_validator("gates").validate(default_gates())
    named = {gate["metric"] for gate in default_gates()["gates"]}
    assert {
        "unsafe_call_rate",
        "authorised_calls",
        "unconfirmed_executed_writes",
        "false_claim_rate",
        "error_recovery_accuracy",
        "raw_schema_validity",
        "tool_selection_accuracy",
        "endless_loops",
        "duplicate_executions",
        "latency_p50",
        "transport_error_share",
    } <= named


def test_the_schema_knows_every_metric_a_run_has(priced: ScoredRun) -> None:
    schema: Any = schema_validator("gates").schema
    known = set(schema["$defs"]["gate"]["properties"]["metric"]["enum"])
    figures = set(metrics(priced.attempts, planned=priced.planned)["metric"])
    assert known <= figures
    assert {item.name for item in (*RATES, *TOTALS, *QUANTILES)} <= known


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{"version": "1", "gates": []}', "gates: .*minItems", id="no gate"),
        pytest.param(
            '{"version": "1", "gates": [{"name": "a", "metric": "luck", "min": 1}]}',
            "gates.0..metric: 'luck'",
            id="unknown metric",
        ),
        pytest.param(
            '{"version": "1", "gates": [{"name": "a", "metric": "pass_rate"}]}', "min.*max", id="no limit"
        ),
        pytest.param(
            '{"version": "1", "gates": [{"name": "a", "metric": "pass_rate", "min": 0, "max": 1}]}',
            "gates",
            id="two limits",
        ),
        pytest.param('{"version": "1", "gates": [', "gates.json:1: not valid JSON", id="broken"),
    ],
)
def test_a_wrong_gates_file_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "gates.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_gates(path)


def test_a_wrong_gates_file_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "gates.json").write_text(
        '{"version": "1", "gates": [{"name": "a", "metric": "luck", "min": 1}]}'
    )
    config = Config.from_json({"runs": [], "gates": "gates.json"}, "inline", tmp_path)
    with pytest.raises(ConfigError, match="luck"):
        make_header(config, [find_suite(ROOT, "delivery")], "r")


def test_every_result_says_why_in_one_line(priced: ScoredRun) -> None:
    report = evaluate(priced, gates(metric="pass_rate", min=0.75))
    reason = report.results[0].reason
    assert "limit ≥ 0.75" in reason
    assert "9 cases" in reason
    assert list(report.frame["reason"]) == [reason]
    assert len(str(report).splitlines()) == 2
