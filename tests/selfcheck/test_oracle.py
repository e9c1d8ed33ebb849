"""The perfect player is perfect in every figure; players that know nothing are neither that nor worthless."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from tests.judging.suites import NAMES, SUITES
from toolbench.adapters import adapter_for
from toolbench.adapters.wire import Request
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.config import BASELINES, ModelConfig
from toolbench.domain.keys import AttemptKey
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.judging.score import score
from toolbench.numbers.definitions import RATES
from toolbench.numbers.metrics import metrics
from toolbench.running.baselines import baseline
from toolbench.running.conversation import Stage
from toolbench.running.play import play
from toolbench.running.transport import Response
from toolbench.selfcheck.judge_checks import ORACLE_CONDITIONS
from toolbench.selfcheck.oracle import perform
from toolbench.selfcheck.rehearse import finished, rehearse
from toolbench.selfcheck.rehearsed import imperfect, judged

AUTO = BUILT_IN_CONDITIONS["auto"]


def oracle_frame(suite: Suite, condition_name: str) -> pd.DataFrame:
    condition = BUILT_IN_CONDITIONS[condition_name]
    frame, _ = judged(
        (suite, condition, rehearse(suite, case, perform(suite, case, condition).script, condition))
        for case in filter(condition.admits, suite.cases)
    )
    return frame


@pytest.mark.parametrize("condition", ORACLE_CONDITIONS)
@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_the_perfect_player_has_no_finding_and_perfect_figures(suite: Suite, condition: str) -> None:
    frame = oracle_frame(suite, condition)
    assert len(frame) > 0
    assert [codes for codes in frame["codes"] if codes] == []
    assert list(imperfect(frame)) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_there_to_be_perfect(name: str) -> None:
    figures = metrics(oracle_frame(SUITES[name], "auto"))
    values = figures[figures["metric"].isin([rate.name for rate in RATES])].groupby("metric")["value"]
    # A suite without errors to recover from or questions to ask proves less than it seems to.
    without = {metric for metric, found in values if found.isna().all()}
    assert without <= {"unsafe_call_rate", "authorised_calls"}


def test_without_tools_the_perfect_player_calls_nothing_and_counts_as_no_decision() -> None:
    figures = metrics(oracle_frame(SUITES["delivery"], "no_tools")).set_index("metric")
    assert figures.loc["control_calls", "value"].sum() == 0
    assert figures.loc["decision_accuracy", "value"].isna().all()


def test_an_imperfect_figure_is_named() -> None:
    suite = SUITES["studio"]
    case = suite.case_by_key["en", "amount"]
    script = perform(suite, case).script
    worse, _ = judged([(suite, AUTO, rehearse(suite, case, [script[0], *script], AUTO))])
    named = " ".join(imperfect(worse))
    assert "order_validity is 0" in named
    assert "repeated_calls is 1" in named


@pytest.mark.parametrize("suite", [SUITES[name] for name in NAMES], ids=lambda suite: suite.name)
def test_answers_are_in_the_language_of_the_case(suite: Suite) -> None:
    for case in suite.cases:
        pieces = [piece for scene in perform(suite, case).scenes for piece in scene.answer]
        for text in (piece.text for piece in pieces if piece.kind == "field" or not piece.options):
            assert any("а" <= letter <= "я" for letter in text.lower()) is (case.lang == "ru"), case.id


def baseline_attempts(suite: Suite, name: str) -> list[Attempt]:
    model = ModelConfig("baseline", name, "chat_completions", "baseline:")
    attempts = []
    for case in suite.cases:
        player = baseline(name, suite.contract, case.lang, seed=0)

        async def send(request: Request, player: Any = player) -> Response:
            body = player(request.body)
            return Response(200, {}, json.dumps(body), body, 0.0)

        stage = Stage(suite, case, AUTO, model, adapter_for(model.protocol))
        planned = AttemptKey("baseline", name, model.protocol, suite.name, case.lang, "auto", case.id, 0)
        attempts.append(finished(play(stage, planned, "r", {"case": case.hash}, send)))
    return attempts


@pytest.mark.parametrize("player", BASELINES)
@pytest.mark.parametrize("suite", [SUITES[name] for name in NAMES], ids=lambda suite: suite.name)
def test_a_player_that_knows_nothing_scores_between_nothing_and_perfection(suite: Suite, player: str) -> None:
    attempts = baseline_attempts(suite, player)
    verdicts = [score(attempt, suite, AUTO) for attempt in attempts]
    right = sum(verdict.counts.decision_right for verdict in verdicts if verdict)
    passed = sum(verdict.passed for verdict in verdicts if verdict)
    assert 0 < right < len(attempts)
    assert 0 <= passed < len(attempts)


def totals(suite: Suite, player: str) -> dict[str, float]:
    frame, _ = judged((suite, AUTO, attempt) for attempt in baseline_attempts(suite, player))
    return {
        name: float(frame[name].sum()) for name in ("calls", "unsafe", "selection_right", "calls_missing")
    }


@pytest.mark.parametrize("suite", [SUITES[name] for name in NAMES], ids=lambda suite: suite.name)
def test_each_null_player_is_scored_for_what_it_does(suite: Suite) -> None:
    silent, first = totals(suite, "always_silent"), totals(suite, "always_first_tool")
    random, router = totals(suite, "random_tool"), totals(suite, "keyword_router")
    due = sum(len(case.expect.calls) for case in suite.cases)
    assert silent == {"calls": 0, "unsafe": 0, "selection_right": 0, "calls_missing": silent["calls_missing"]}
    assert silent["calls_missing"] >= due
    assert first["calls"] > 0
    assert 0 < random["calls"] < first["calls"] + len(suite.cases)
    assert router["calls"] > 0
