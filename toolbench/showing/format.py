"""Figures as texts: what a share, a difference, a p-value or an amount looks like wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

NAMES = {
    "pass_rate": "all checks passed",
    "decision_accuracy": "decision",
    "reply_accuracy": "kind of reply",
    "tool_selection_accuracy": "selection",
    "raw_schema_validity": "raw validity",
    "exact_argument_accuracy": "exact arguments",
    "normalized_argument_accuracy": "arguments, normalised",
    "unsafe_call_rate": "unsafe calls",
    "authorised_calls": "authorised writes",
    "clarification_rate": "asked when due",
    "needless_question_rate": "needless questions",
    "error_recovery_accuracy": "recovery",
    "permanent_error_recovery": "recovery, lasting errors",
    "temporary_error_recovery": "recovery, passing errors",
    "final_answer_support": "answer supported",
    "false_claim_rate": "false claims",
    "completion_rate": "completed",
}
"""Metric → what it is called on a page."""

NOTHING = "–"
"""In place of a figure that there is none of."""


def each(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a frame, their cells as attributes."""
    yield from frame.itertuples(index=False)


def percent(value: float) -> str:
    """Return a share as ``62 %``."""
    return NOTHING if pd.isna(value) else f"{100 * value:.0f} %"


def points(delta: float, low: float, high: float) -> str:
    """Return a difference of shares in percentage points with its interval: ``-12 [-30, +5]``."""
    if pd.isna(delta):
        return NOTHING
    ends = "" if pd.isna(low) else f" [{100 * low:+.0f}, {100 * high:+.0f}]"
    return f"{100 * delta:+.0f}{ends}"


def amount(value: float) -> str:
    """Return an amount that is no share (ms, tokens, cost) with four digits."""
    return NOTHING if pd.isna(value) else f"{value:.4g}"


def p_text(value: float) -> str:
    """Return a p-value with as many digits as make sense."""
    return NOTHING if pd.isna(value) else f"{value:.3f}" if value >= 0.001 else "< 0.001"


def fraction(above: float, below: float) -> str:
    """Return ``62 % (5/8)``, or ``–`` when there is nothing to divide by."""
    return f"{percent(above / below)} ({above:.0f}/{below:.0f})" if below else NOTHING


def share(row: Mapping[str, Any]) -> str:
    """Return a row of a metrics frame as ``62 % (5/8) [31–86]``, or ``–`` when the denominator is empty."""
    if pd.isna(row["value"]):
        return NOTHING
    ends = "" if pd.isna(row["ci_low"]) else f" [{100 * row['ci_low']:.0f}–{100 * row['ci_high']:.0f}]"
    return fraction(row["numerator"], row["denominator"]) + ends


def money(value: float, currency: object) -> str:
    """Return a cost with its currency."""
    return NOTHING if pd.isna(value) else f"{value:.4f} {currency}"
