"""The same figures, cut finer: by case class, by tag, by tool, and by turn of the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pandas as pd

from toolbench.judging.counts import COUNT
from toolbench.numbers.definitions import RATES, Rate
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.metrics import FIGURE, TYPES, metrics
from toolbench.numbers.rows import CASE, GROUP
from toolbench.numbers.tables import PerCase, positions

CALL_RATES: tuple[Rate, ...] = tuple(rate for rate in RATES if rate.numerator.startswith("calls_"))
"""The rates over calls: the only ones that a single tool or turn has."""
SIZES = ("attempted", "scored", "coverage")
BROKEN_DOWN = (*SIZES, *(rate.name for rate in RATES))
"""What is told of a class or a tag: how much there is of it, and the rates."""


def call_metrics(
    attempts: pd.DataFrame, calls: pd.DataFrame, by: Literal["tool", "turn"] = "tool"
) -> pd.DataFrame:
    """Return the metrics of calls per tool, or per turn (0 is the first reply of an attempt).

    A tool's recall counts the calls of it that were due and not made. A call that was not made has no turn,
    so by turn there is no recall. Calls where none was possible, or the tool was given, are left out.

    Returns
    -------
    DataFrame
        One row per group, tool or turn, and metric, with the columns of :func:`toolbench.metrics`.
    """
    rows = _counted(calls)
    if by == "tool":
        rows = pd.concat([rows, _counted(_missing(attempts))], ignore_index=True)
    given = set(attempts.loc[~attempts["decision_due"].astype(bool), "condition"])
    rows = rows[~rows["condition"].isin(given)]
    rates = [rate for rate in CALL_RATES if by == "tool" or rate.name != "tool_recall"]
    keys = [*GROUP, by]
    cases = PerCase(rows, keys, rates)
    figures = [
        {**dict(zip(keys, key, strict=True)), **row}
        for key in positions(rows, keys)
        for row in cases.figures(key)
    ]
    return pd.DataFrame(figures, columns=[*keys, *FIGURE]).astype(TYPES)


def breakdowns(scored: ScoredRun) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield every breakdown as ``(name, column, frame)``: sizes and rates."""
    for name, column in (("class", "case_class"), ("tag", "tags")):
        yield name, column, metrics(scored.attempts, [column], scored.planned, BROKEN_DOWN)
    yield "tool", "tool", call_metrics(scored.attempts, scored.calls, "tool")
    yield "turn", "turn", call_metrics(scored.attempts, scored.calls, "turn")


def _counted(calls: pd.DataFrame) -> pd.DataFrame:
    """Give every call the count columns that the rates are made of."""
    expected = calls["role"] == "expected"
    made = calls["role"] != "missing"
    counts = {
        COUNT.calls: made,
        COUNT.calls_right: expected,
        COUNT.calls_made: expected | calls["role"].isin(["extra", "repeat"]),
        COUNT.calls_due: expected | ~made,
        COUNT.calls_raw_valid: calls["tier"] == "raw_valid",
        COUNT.calls_repairable: calls["tier"] == "repairable",
        COUNT.calls_invalid: calls["tier"] == "invalid",
        COUNT.calls_selected: expected,
        COUNT.calls_exact: expected & calls["exact"].fillna(False).astype(bool),
        COUNT.calls_normalized: expected & calls["normalized"].fillna(False).astype(bool),
    }
    kept = [name for name in [*GROUP, *CASE, "tool", "turn"] if name in calls]
    return calls[kept].assign(**{name: values.astype(float) for name, values in counts.items()})


def _missing(attempts: pd.DataFrame) -> pd.DataFrame:
    """One row per expected call that was not made, in the shape of the ``calls`` frame."""
    due = attempts[[*GROUP, *CASE, "missing_tools"]].explode("missing_tools")
    due = due[due["missing_tools"].notna()].rename(columns={"missing_tools": "tool"})
    due = due.assign(tool=due["tool"].astype("str"), role="missing", tier=None)
    return due.assign(exact=pd.array([False] * len(due)), normalized=pd.array([False] * len(due)))
