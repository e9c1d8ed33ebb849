import time

import pytest

from tests.support import attempt_of, called, delivery, make_case
from toolbench.domain.contract import Contract
from toolbench.domain.patterns import is_trap, pattern
from toolbench.errors import PatternTooSlow, SuiteError


@pytest.mark.parametrize("source", ["(a+)+$", "(a|a)*$", r"(\w+\s?)*$", "(.*a){12}$", "(x+x+)+y"])
def test_a_trap_is_named_and_never_hangs(source: str) -> None:
    started = time.monotonic()
    assert is_trap(source)
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "source", ["^ORD-[0-9]{6}$", r"\b(was|were) (not )?cancell?ed\b", "(ab)+c", "[а-я]+ю"]
)
def test_an_honest_pattern_is_no_trap(source: str) -> None:
    assert not is_trap(source)


def test_no_shipped_pattern_is_a_trap() -> None:
    from tests.support import ROOT
    from toolbench.domain.files import read_json
    from toolbench.domain.validation import schema_patterns

    found = [
        source
        for tools in sorted(ROOT.glob("contracts/*/tools.json"))
        for entry in read_json(tools)["tools"]
        for _, source in schema_patterns(entry["parameters"])
    ]
    assert len(found) > 10
    assert [source for source in found if is_trap(source)] == []


def test_a_search_has_an_end() -> None:
    with pytest.raises(PatternTooSlow, match="was still searching 2001 characters"):
        pattern("(a|a)*$").search("a" * 2000 + "!", 0.2)


def test_what_is_no_expression_is_one_line() -> None:
    with pytest.raises(SuiteError, match="is not a regular expression"):
        pattern("(")


def test_a_slow_pattern_of_a_contract_costs_one_attempt() -> None:
    """A live run meets the pattern when it validates a call; the attempt ends and says why."""
    suite = delivery()
    snapshot = suite.snapshot()
    tool = next(t for t in snapshot["contract"]["tools"] if t["name"] == "get_order")
    tool["parameters"]["properties"]["order_id"]["pattern"] = "^(a|a)*$"
    slow = type(suite).from_snapshot(snapshot, "test")
    assert isinstance(slow.contract, Contract)
    case = make_case(user="Where is it?", expect={"kind": "text"})
    attempt = attempt_of(case, [called(("get_order", {"order_id": "a" * 2000 + "!"}))], slow)
    assert attempt.status == "judge_error"
    assert attempt.error is not None
    assert "was still searching" in str(attempt.error["message"])
    assert len(attempt.turns) == 1


def test_a_bracket_within_a_set_is_a_bracket_and_warns_nobody() -> None:
    assert pattern("[[a]").search("x[")
