"""Figures by tool and by turn."""

from __future__ import annotations

import numpy as np
import pytest

from tests.numbers.support import value
from toolbench.numbers.breakdowns import breakdowns, call_metrics
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.metrics import metrics

HERE = {"model": "random_tool", "lang": "en", "condition": "auto"}


@pytest.mark.parametrize(
    "metric", ["tool_precision", "tool_recall", "raw_schema_validity", "exact_argument_accuracy"]
)
def test_the_tools_together_are_the_whole(base: ScoredRun, metric: str) -> None:
    whole, by_tool = metrics(base.attempts), call_metrics(base.attempts, base.calls, "tool")
    mine = by_tool[(by_tool[list(HERE)] == list(HERE.values())).all(axis=1)]
    for column in ("numerator", "denominator"):
        total = mine.loc[mine["metric"] == metric, column].sum()
        assert total == value(whole, metric, column, **HERE)


def test_the_turns_together_are_the_whole(base: ScoredRun) -> None:
    # The baselines never call after a result: pretend that every other call was such a one.
    calls = base.calls.assign(turn=base.calls.index % 2)
    whole, by_turn = metrics(base.attempts), call_metrics(base.attempts, calls, "turn")
    mine = by_turn[(by_turn[list(HERE)] == list(HERE.values())).all(axis=1)]
    assert mine["turn"].nunique() == 2
    total = mine.loc[mine["metric"] == "raw_schema_validity", "denominator"].sum()
    assert total == value(whole, "raw_schema_validity", "denominator", **HERE)
    assert "tool_recall" not in set(by_turn["metric"])


def test_a_tool_that_was_due_and_never_called_has_a_recall_of_zero_and_no_precision(base: ScoredRun) -> None:
    by_tool = call_metrics(base.attempts, base.calls, "tool")
    silent = {"model": "always_silent", "lang": "en", "condition": "auto", "tool": "get_order"}
    assert value(by_tool, "tool_recall", **silent) == 0
    assert value(by_tool, "tool_recall", "denominator", **silent) > 0
    assert np.isnan(value(by_tool, "tool_precision", **silent))


def test_controls_have_no_figures_of_calls(base: ScoredRun) -> None:
    assert "no_tools" not in set(call_metrics(base.attempts, base.calls)["condition"])


def test_every_breakdown_of_the_spec_is_there(base: ScoredRun) -> None:
    found = {name: set(frame[column]) for name, column, frame in breakdowns(base)}
    assert set(found) == {"class", "tag", "tool", "turn"}
    assert "cancel_implicit" in found["class"]
    assert "base" in found["tag"]
    assert {"get_order", "quote_delivery", "cancel_order"} <= found["tool"]
