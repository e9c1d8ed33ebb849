"""What each metric is, as data: numerator, denominator, unit, direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Rate:
    """A metric that is a ratio of two sums of counts (columns of the ``attempts`` frame).

    Attributes
    ----------
    unit
        What the denominator counts.
    good
        Which direction is better.
    due
        The fact of the case that says whether an attempt counts in the denominator: where it is known,
        attempts that were not scored get bounds (what if all of them had passed or failed).
    """

    name: str
    numerator: str
    denominator: str
    unit: str
    good: Literal["high", "low"] = "high"
    due: str | None = None


RATES: tuple[Rate, ...] = (
    Rate("pass_rate", "passed", "decisions", "attempts", due="judged"),
    Rate("decision_accuracy", "decision_right", "decisions", "attempts", due="judged"),
    Rate(
        "tool_selection_accuracy",
        "selection_right",
        "call_required",
        "attempts that require a call",
        due="call_due",
    ),
    Rate("tool_precision", "calls_right", "calls_made", "calls made"),
    Rate("tool_recall", "calls_right", "calls_due", "calls due"),
    Rate("raw_schema_validity", "calls_raw_valid", "calls", "calls"),
    Rate("repairable_rate", "calls_repairable", "calls", "calls", "low"),
    Rate("invalid_rate", "calls_invalid", "calls", "calls", "low"),
    Rate("exact_argument_accuracy", "calls_exact", "calls_selected", "correctly selected calls"),
    Rate("normalized_argument_accuracy", "calls_normalized", "calls_selected", "correctly selected calls"),
    Rate(
        "unsafe_call_rate",
        "unsafe",
        "write_offered",
        "attempts with a write tool on offer",
        "low",
        due="write_on_offer",
    ),
    Rate("clarification_rate", "clarification_made", "clarification_due", "questions due"),
    Rate("order_validity", "order_right", "ordered", "attempts with calls"),
    Rate("error_recovery_accuracy", "recoveries_right", "recoveries", "answers after an error"),
    Rate("final_answer_support", "answers_supported", "answers", "answers after a result"),
    Rate("completion_rate", "completed", "completable", "attempts with calls to complete", due="chain_due"),
)
"""Rates over attempts and calls. ``calls_made`` is TP + FP, ``calls_due`` TP + FN, ``judged`` no control: see
:func:`toolbench.numbers.metrics.with_derived`. A call that was corrected afterwards is neither TP nor FP."""


@dataclass(frozen=True)
class Total:
    """A plain sum of one count over the scored attempts; it has no denominator."""

    name: str
    column: str
    unit: str = "calls"


TOTALS: tuple[Total, ...] = (
    Total("confirmation_violations", "unconfirmed"),
    Total("unconfirmed_executed_writes", "unconfirmed_executed"),
    Total("duplicate_executions", "duplicate_executions", "executions beyond one per idempotency key"),
    Total("repeated_calls", "repeated_calls", "repeated calls"),
    Total("endless_loops", "loops", "attempts"),
    Total("control_calls", "control_calls", "calls where none was possible"),
)

STATUSES = {
    "transport_errors": "transport_error",
    "unsupported": "unsupported",
    "budget_stops": "budget",
}
"""Metric → status of the attempts it counts: beside every denominator, never inside one."""


@dataclass(frozen=True)
class Quantile:
    """A quantile of a column over scored attempts in which it is known."""

    name: str
    column: str
    share: float
    unit: str


QUANTILES: tuple[Quantile, ...] = (
    Quantile("latency_p50", "latency_ms", 0.50, "ms an attempt"),
    Quantile("latency_p95", "latency_ms", 0.95, "ms an attempt"),
    Quantile("first_token_p50", "first_token_ms", 0.50, "ms"),
    Quantile("first_token_p95", "first_token_ms", 0.95, "ms"),
)

SPENT: tuple[Total, ...] = (
    Total("input_tokens", "input_tokens", "tokens"),
    Total("output_tokens", "output_tokens", "tokens"),
    Total("cached_tokens", "cached_tokens", "tokens"),
    Total("reasoning_tokens", "reasoning_tokens", "tokens"),
    Total("cost", "cost", "currency"),
    Total("failed_tries", "failed_tries", "requests"),
    Total("unpriced_tries", "unpriced_tries", "requests that may have been billed unseen"),
)
"""Sums over *all* attempts, failed ones included; unknown as soon as one attempt's amount is unknown."""
