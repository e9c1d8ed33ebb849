"""From one record and its verdict to flat rows: the columns of the three frames, defined once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from toolbench.domain.case import Case
from toolbench.domain.condition import Condition
from toolbench.domain.keys import BASELINE
from toolbench.domain.price import Tariff
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.judging.counts import COUNT
from toolbench.judging.guard import Judged
from toolbench.judging.score import Verdict
from toolbench.numbers.cost import attempt_cost, failed_tries, priced_by, way_of

GROUP = ["provider", "model", "protocol", "suite", "lang", "condition"]
"""Columns that are never merged in one figure."""

CASE = ["case_id", "scenario", "case_class", "repetition"]
"""``scenario`` is what the case is a variant of: the cluster of every interval and every p."""

FACTS = ["control", "decision_due", "call_due", "write_on_offer", "chain_due", "write_due", "nested_due"]
"""What the case alone decides, known of attempts that were never scored as well."""

COUNTS = list(COUNT.by_name())
FLAGS = [
    "tool_selected_correctly",
    "args_valid",
    "call_order_valid",
    "final_answer_supported",
    "tool_execution_success",
]
AMOUNTS = [
    "turns",
    "latency_ms",
    "first_token_ms",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cost",
    "seconds",
    "failed_tries",
    "unpriced_tries",
    "earlier_errors",
]
TEXTS = [
    "case_hash",
    "status",
    "stop",
    "error",
    "kind",
    "behaviour",
    "answer",
    "via",
    "currency",
    "price_table",
]
TUPLES = ["tags", "codes", "missing_tools", "tools_due"]

ATTEMPT = [*GROUP, *CASE, "scored", *TEXTS, *TUPLES, *FACTS, *AMOUNTS, *COUNTS, *FLAGS]
CALL = [
    *GROUP,
    *CASE,
    "index",
    "turn",
    "tool",
    "raw_arguments",
    "state",
    "tier",
    "repairs",
    "origins",
    "role",
    "exact",
    "normalized",
    "codes",
    "effect",
    "nested",
    "error",
]
FINDING = [*GROUP, *CASE, "code", "layer", "path", "expected", "actual", "reason"]

DTYPES: Mapping[str, str] = {
    **dict.fromkeys([*GROUP, "case_id", "scenario", "case_class", *TEXTS, "tool", "raw_arguments"], "str"),
    **dict.fromkeys(["state", "tier", "role", "effect"], "str"),
    **dict.fromkeys(["code", "layer", "path", "expected", "actual", "reason"], "str"),
    **dict.fromkeys(["repetition", "index", "turn", "reply", "line", "position"], "int64"),
    **dict.fromkeys(["scored", *FACTS, "nested"], "bool"),
    **dict.fromkeys([*AMOUNTS, *COUNTS], "float64"),
    **dict.fromkeys([*FLAGS, "exact", "normalized"], "boolean"),
    **dict.fromkeys([*TUPLES, "repairs", "origins"], "object"),
}


def of_models(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return which rows of any frame belong to models, and not to baselines."""
    return frame["provider"] != BASELINE


def case_facts(suite: Suite, case: Case, condition: Condition) -> dict[str, Any]:
    """Return the columns that a case and a condition decide before any model is asked."""
    control, judged = condition.control, not (condition.control or condition.arguments_only)
    suite = suite.of(case)
    expectations = (case.expect, *(turn.expect for turn in case.turns))
    due = [call.tool for expect in expectations for call in expect.calls]
    shown = condition.shown(suite.contract, case)
    return {
        "case_class": case.klass,
        "scenario": case.scenario,
        "case_hash": case.hash[:12],
        "tags": tuple(sorted(case.tags)),
        "control": control,
        "decision_due": judged,
        "call_due": judged and any(expect.call_required for expect in expectations),
        "write_on_offer": not condition.arguments_only and any(tool.effect == "write" for tool in shown),
        "chain_due": judged and case.chain_due,
        "write_due": any(suite.contract.by_name[tool].effect == "write" for tool in due),
        "nested_due": any(
            isinstance(value, dict | list)
            for expect in expectations
            for call in expect.calls
            for value in call.arguments.values()
        ),
        "tools_due": tuple(due) if judged else (),
    }


def identity(attempt: Attempt) -> dict[str, Any]:
    """Return the group columns and those that name the attempt inside its group."""
    return {
        **{name: getattr(attempt, name) for name in GROUP},
        "case_id": attempt.case_id,
        "repetition": attempt.repetition,
    }


def attempt_row(attempt: Attempt, judged: Judged, tariff: Tariff) -> dict[str, Any]:
    """Return everything about an attempt that is not identity or fact of its case."""
    every = (*attempt.earlier, attempt)
    usages = [turn.decision.usage for one in every for turn in one.turns]
    failed, unpriced = (sum(counts) for counts in zip(*map(failed_tries, every), strict=True))
    first = attempt.turns[0] if attempt.turns else None
    verdict = judged.verdict
    spent = _total([attempt_cost(one, tariff) for one in every])
    priced = tariff.price is not None or spent is not None
    via = way_of(every)
    return {
        "status": judged.status,
        "stop": attempt.stop,
        "error": judged.problem or (str(attempt.error["message"]) if attempt.error else None),
        "scored": verdict is not None,
        "via": via,
        "turns": len(attempt.turns),
        "latency_ms": _total([turn.latency_ms for turn in attempt.turns]),
        "first_token_ms": first.first_token_ms if first else None,
        "input_tokens": _total([usage.input for usage in usages]),
        "output_tokens": _total([usage.output for usage in usages]),
        "cached_tokens": _total([usage.cached_input for usage in usages]),
        "reasoning_tokens": _total([usage.reasoning for usage in usages]),
        "cost": spent,
        "currency": tariff.currency if priced else None,
        "price_table": priced_by(tariff.table, via) if priced else None,
        "seconds": attempt.seconds,
        "failed_tries": failed,
        "unpriced_tries": unpriced,
        "earlier_errors": sum(one.status == "transport_error" for one in attempt.earlier),
        **(_judged(verdict) if verdict else {"codes": (), "missing_tools": ()}),
    }


def _judged(verdict: Verdict) -> dict[str, Any]:
    return {
        "kind": verdict.kinds[0] if verdict.kinds else None,
        "codes": verdict.codes,
        "missing_tools": verdict.missing,
        "behaviour": verdict.behaviour,
        "answer": verdict.answer,
        **verdict.counts.by_name(),
        **verdict.flags,
    }


def _total(values: list[Any]) -> Any:
    """Sum, unknown as soon as one part is unknown."""
    return None if not values or any(value is None for value in values) else sum(values)


def call_rows(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Yield one row per proposed call."""
    for call in verdict.calls:
        yield {
            **{name: getattr(call, name) for name in ("index", "turn", "tool", "raw_arguments", "state")},
            **{name: getattr(call, name) for name in ("role", "exact", "normalized")},
            **{name: getattr(call, name) for name in ("effect", "nested", "error")},
            "tier": call.tier.tier,
            "repairs": call.tier.repairs,
            "origins": tuple(f"{path}: {origin or 'nowhere'}" for path, origin in call.origins.items()),
            "codes": tuple(call.codes),
        }


def finding_rows(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Yield one row per finding."""
    for finding in verdict.findings:
        yield {name: getattr(finding, name) for name in FINDING[len(GROUP) + len(CASE) :]}
