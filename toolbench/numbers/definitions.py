"""What each metric is, as data: numerator, denominator, unit, direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolbench.judging.counts import COUNT, CountName


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
    worded
        Whether the wording of a text decides it: an attempt that only a person can judge then counts in no
        figure, and in both bounds.
    """

    name: str
    numerator: CountName
    denominator: CountName
    unit: str
    good: Literal["high", "low"] = "high"
    due: str | None = None
    worded: bool = False


RATES: tuple[Rate, ...] = (
    Rate("pass_rate", COUNT.passed, COUNT.decisions, "attempts", due="decision_due", worded=True),
    Rate("decision_accuracy", COUNT.decision_right, COUNT.decisions, "attempts", due="decision_due"),
    Rate("reply_accuracy", COUNT.reply_right, COUNT.decisions, "attempts", due="decision_due", worded=True),
    Rate(
        "tool_selection_accuracy",
        COUNT.selection_right,
        COUNT.call_required,
        "attempts that require a call",
        due="call_due",
    ),
    Rate("tool_precision", COUNT.calls_right, COUNT.calls_made, "calls made"),
    Rate("tool_recall", COUNT.calls_right, COUNT.calls_due, "calls due"),
    Rate("raw_schema_validity", COUNT.calls_raw_valid, COUNT.calls, "calls"),
    Rate("repairable_rate", COUNT.calls_repairable, COUNT.calls, "calls", "low"),
    Rate("invalid_rate", COUNT.calls_invalid, COUNT.calls, "calls", "low"),
    Rate("exact_argument_accuracy", COUNT.calls_exact, COUNT.calls_selected, "correctly selected calls"),
    Rate(
        "normalized_argument_accuracy",
        COUNT.calls_normalized,
        COUNT.calls_selected,
        "correctly selected calls",
    ),
    Rate(
        "unsafe_call_rate",
        COUNT.unsafe,
        COUNT.write_offered,
        "attempts with a write tool on offer",
        "low",
        due="write_on_offer",
    ),
    Rate("authorised_calls", COUNT.critical_authorised, COUNT.critical_calls, "writes proposed"),
    Rate(
        "clarification_rate", COUNT.clarification_made, COUNT.clarification_due, "questions due", worded=True
    ),
    Rate(
        "needless_question_rate",
        COUNT.needless_questions,
        COUNT.decisions,
        "attempts",
        "low",
        due="decision_due",
        worded=True,
    ),
    Rate("order_validity", COUNT.order_right, COUNT.ordered, "attempts with calls"),
    Rate(
        "error_recovery_accuracy",
        COUNT.recoveries_right,
        COUNT.recoveries,
        "user messages whose handling met an error",
        worded=True,
    ),
    Rate(
        "permanent_error_recovery",
        COUNT.permanent_recovered,
        COUNT.permanent_errors,
        "user messages whose handling met an error that lasts",
        worded=True,
    ),
    Rate(
        "temporary_error_recovery",
        COUNT.temporary_recovered,
        COUNT.temporary_errors,
        "user messages whose handling met only passing errors",
        worded=True,
    ),
    Rate(
        "final_answer_support",
        COUNT.answers_supported,
        COUNT.answers,
        "user messages for which there were results",
        worded=True,
    ),
    Rate(
        "false_claim_rate",
        COUNT.false_claims,
        COUNT.decisions,
        "attempts",
        "low",
        due="decision_due",
        worded=True,
    ),
    Rate(
        "completion_rate",
        COUNT.completed,
        COUNT.completable,
        "attempts with calls to complete",
        due="chain_due",
        worded=True,
    ),
)
"""Rates over attempts and calls."""


@dataclass(frozen=True)
class Mean:
    """A mean of an amount over the scored attempts in which it is known; less is better."""

    column: str
    worded = False

    @property
    def name(self) -> str:
        """What it is called among the metrics."""
        return f"mean_{self.column}"

    @property
    def numerator(self) -> str:
        """The column that is summed."""
        return self.column

    @property
    def denominator(self) -> str:
        """The column that is 1 where the amount is known."""
        return f"{self.column}_known"


MEANS: tuple[Mean, ...] = (Mean("latency_ms"), Mean("output_tokens"), Mean("cost"))
"""What two sides are compared in beside the rates."""


@dataclass(frozen=True)
class Total:
    """A plain sum of one count over the scored attempts; it has no denominator."""

    name: str
    column: str
    unit: str = "calls"


TOTALS: tuple[Total, ...] = (
    Total("confirmation_violations", COUNT.unconfirmed),
    Total("unconfirmed_executed_writes", COUNT.unconfirmed_executed),
    Total("duplicate_executions", COUNT.duplicate_executions, "executions beyond one per idempotency key"),
    Total("repeated_calls", COUNT.repeated_calls, "repeated calls"),
    Total("endless_loops", COUNT.loops, "attempts"),
    Total("control_calls", COUNT.control_calls, "calls where none was possible"),
)

CACHED = "cached"
"""Status of an attempt whose replies are another attempt's: neither lost nor a sample."""

UNSCORED = {
    "transport_errors": "transport_error",
    "unsupported": "unsupported",
    "judge_errors": "judge_error",
    "cached_answers": CACHED,
}
"""Metric → status of the attempts it counts: beside every denominator, never inside one."""
STATUSES = {**UNSCORED, "budget_stops": "budget"}
"""Those stopped by a budget of their own are scored, as failures."""


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
