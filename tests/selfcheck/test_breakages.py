"""Every mistake is reported: correct behaviour broken in every applicable way, over every case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.judging.suites import NAMES, SUITES
from toolbench.domain.suite import Suite
from toolbench.judging import arguments, order, policy, provenance, score, selection
from toolbench.selfcheck.breakages import BREAKERS, MutationScore, mutation_score
from toolbench.selfcheck.breaking import Workpiece
from toolbench.selfcheck.donors import Donors
from toolbench.selfcheck.oracle import perform
from toolbench.selfcheck.traces import broken_traces

STUDIO = SUITES["studio"]

CODES = {
    "missed_call", "unexpected_call", "unsafe_call", "missing_clarification", "text_and_call", "refused",
    "no_decision", "leaked_tool_call", "wrong_text", "missing_refusal", "unknown_tool", "wrong_tool",
    "missing_call", "extra_call", "forbidden_tool", "parallel_policy", "invalid_json", "duplicate_key",
    "non_finite_number", "trailing_text", "not_an_object", "double_encoded", "truncated", "wrong_type",
    "missing_required", "not_in_enum", "out_of_range", "pattern_mismatch", "too_short", "too_long",
    "bad_format", "unexpected_property", "empty_value", "null_value", "duplicate_item",
    "argument_mismatch", "ungrounded_argument", "forbidden_early_call", "skipped_step", "repeated_call",
    "race_before_result", "wrong_branch_after_error", "call_after_empty_result", "wrong_order",
    "unconfirmed_write", "foreign_object", "duplicate_operation", "not_permitted", "limit_exceeded",
    "fact_mismatch", "false_success", "hidden_tool_failure", "missing_fact", "unanswered_question",
    "invented_value", "no_answer", "wrong_recovery", "loop_limit", "truncated_text",
    "claims_check_without_call", "forbidden_call", "missing_write", "wrong_write", "forbidden_write",
}  # fmt: skip
"""Every code of the specification that is about one attempt (a budget ends an attempt unscored)."""

TOTAL = MutationScore()


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_every_breakage_of_every_case_is_reported_with_the_right_code(suite: Suite) -> None:
    result = mutation_score([(suite, suite.cases)])
    TOTAL.codes.update(result.codes)
    assert [str(survivor) for survivor in result.survivors] == []
    assert result.score == 1
    assert result.made > 30 * len(suite.cases)


def test_every_code_has_a_breakage_that_it_must_report() -> None:
    codes = Counter(TOTAL.codes) or mutation_score((s, s.cases) for s in SUITES.values()).codes
    assert sorted(CODES - set(codes)) == []
    assert sorted(set(codes) - CODES) == []


def test_every_breaker_has_something_to_break() -> None:
    idle = {breaker.__name__ for breaker in BREAKERS}
    for suite in SUITES.values():
        donors = {lang: Donors(suite, lang) for lang in suite.langs}
        for case in suite.cases:
            work = Workpiece(perform(suite, case), donors[case.lang])
            idle -= {b.__name__ for b in BREAKERS if b.__name__ in idle and next(b(work), None)}
    assert idle == set()


def nothing(*_: Any) -> Iterator[Any]:
    return iter(())


BLINDED: dict[str, tuple[object, str, set[str]]] = {
    "decision": (score, "check_decision", {"missed_call", "unsafe_call", "leaked_tool_call"}),
    "selection": (selection, "check_selection", {"wrong_tool", "extra_call", "parallel_policy"}),
    "syntax": (arguments, "check_arguments", {"wrong_type", "invalid_json", "truncated"}),
    "values": (arguments, "check_values", {"argument_mismatch"}),
    "provenance": (provenance, "check_provenance", {"ungrounded_argument"}),
    "expected_order": (order, "check_expected_order", {"wrong_order"}),
    "order": (order, "check_order", {"repeated_call", "race_before_result", "skipped_step"}),
    "policy": (policy, "check_policy", {"unconfirmed_write", "foreign_object", "limit_exceeded"}),
    "answer": (score, "check_answer", {"missing_fact", "invented_value", "hidden_tool_failure"}),
    "budget": (score, "check_budget", {"loop_limit", "truncated_text"}),
}


@pytest.mark.parametrize(("home", "check", "codes"), BLINDED.values(), ids=BLINDED)
def test_a_judge_without_one_of_its_checks_lets_breakages_survive(
    home: object, check: str, codes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, check, nothing)
    result = mutation_score([(STUDIO, STUDIO.cases)])
    missed = {code for survivor in result.survivors for code in survivor.expected}
    assert codes <= missed
    assert result.score is not None
    assert result.score < 1


def test_a_survivor_says_what_was_done_and_what_was_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "check_expected_order", nothing)
    case = STUDIO.case_by_key["en", "slots.book"]
    texts = [str(survivor) for survivor in mutation_score([(STUDIO, [case])]).survivors]
    assert (
        "studio/en/slots.book: steps_exchanged (book_slot before find_slots): wrong_order due, "
        "got forbidden_early_call, ungrounded_argument" in texts
    )


def test_no_breakage_gives_no_score() -> None:
    assert mutation_score([]).score is None


TRACES = broken_traces()


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_a_broken_trace_is_explained_by_exactly_its_codes(trace: Any) -> None:
    assert trace.reported() == trace.codes, trace.why


def test_there_are_broken_traces_enough_and_none_is_right() -> None:
    assert len(TRACES) >= 15
    assert len({trace.name for trace in TRACES}) == len(TRACES)
    assert all(trace.codes for trace in TRACES)


def test_donors_are_valid_and_never_the_call_itself() -> None:
    for name in NAMES:
        suite = SUITES[name]
        for lang in suite.langs:
            donors = Donors(suite, lang)
            case = next(case for case in suite.cases if case.lang == lang and case.expect.calls)
            gold = perform(suite, case)
            for tool in suite.contract.tools:
                for call in donors.calls(tool, gold):
                    assert tool.issues(call.arguments) == []
                    assert call.key not in {own.key for own in gold.calls}
