"""Wanted calls played through a script: where rules, policy or results end a chain, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from toolbench.authoring.outcomes import Book, Playing
from toolbench.domain.case import Permissions
from toolbench.domain.contract import Contract
from toolbench.domain.rules import Rules
from toolbench.domain.tool_script import ToolScript
from toolbench.errors import SuiteError

STRING = {"type": "string"}


def tool(name: str, effect: str, **policy: Any) -> dict[str, Any]:
    properties = {"who": STRING, "key": STRING, "amount": {"type": "number"}}
    return {
        "name": name,
        "description": name,
        "parameters": {"type": "object", "properties": properties},
        "effect": effect,
        **policy,
    }


CONTRACT = Contract.from_json(
    {
        "version": "1",
        "tools": [
            tool("find", "read"),
            tool("look", "read", ownership=["who"]),
            tool("pay", "write", limits={"amount": 100}),
        ],
    },
    "test",
)
FOUND = {"people": [{"key": "K1", "free": True}]}
OPEN = {"tool": "look", "path": "open", "equals": True}
TWO = {"people": [{"key": "K1"}, {"key": "K2"}]}
OUTCOMES = {
    "find": {
        "ok": {},
        "empty": {},
        "several": {"when": {"path": "people[].key", "more_than": 1}},
        "GONE": {},
    },
    "look": {
        "ok": {},
        "large": {"when": {"path": "amount", "above": 50}},
        "shut": {"when": {"path": "open", "equals": False}},
    },
    "pay": {"ok": {}},
}
FIND: dict[str, Any] = {"tool": "find", "arguments": {"who": "Ann"}}
LOOK: dict[str, Any] = {"tool": "look", "arguments": {"key": {"result": "find.people[].key"}}}
PAY: dict[str, Any] = {"tool": "pay", "arguments": {"key": {"result": "find.people[].key"}, "amount": 5}}


def playing(
    found: Any = FOUND, looked: Any = None, rules: dict[str, Any] | None = None, **policy: Any
) -> Playing:
    result = found if isinstance(found, dict) and "error" in found else {"ok": found}
    script = {
        "version": "1",
        "rules": [
            {"tool": "find", "results": [result]},
            {"tool": "look", "results": [{"ok": looked or {"open": True}}]},
            {"tool": "pay", "results": [{"ok": {"paid": "$amount"}}]},
        ],
    }
    book = Book(
        data={"outcomes": OUTCOMES},
        contract=CONTRACT,
        executor=ToolScript.from_json(script),
        rules=Rules.from_json({"version": "1", **(rules or {})}),
        lang="en",
        seed=1,
    )
    return Playing(book, Permissions.from_json(policy), {})


def names(play: Playing, *calls: dict[str, Any], chain: bool = True) -> list[str]:
    return [step.call["tool"] for step in play.play(calls, chain=chain)]


def test_values_of_results_go_into_later_calls() -> None:
    play = playing()
    in_text = {"tool": "pay", "arguments": {"key": {"result": "find.people[].key", "in": "for {}!"}}}
    assert names(play, FIND, LOOK, in_text) == ["find", "look", "pay"]
    assert [step.call["arguments"].get("key") for step in play.steps] == [None, "K1", "for K1!"]


GONE = {"error": {"code": "GONE", "permanent": True, "message": "gone"}}


@pytest.mark.parametrize(
    ("options", "made"),
    [
        pytest.param({"found": {"people": []}}, ["find"], id="nothing_found"),
        pytest.param({"found": TWO}, ["find"], id="ambiguous"),
        pytest.param(
            {"found": GONE, "rules": {"requires": {"look": ["find"]}}}, ["find"], id="needed_step_failed"
        ),
        pytest.param(
            {"looked": {"open": False}, "rules": {"unless": {"pay": [OPEN]}}},
            ["find", "look"],
            id="condition_not_met",
        ),
        pytest.param({"permitted": []}, ["find", "look"], id="not_permitted"),
        pytest.param({"rules": {"confirm": ["pay"]}}, ["find", "look"], id="to_be_confirmed"),
        pytest.param(
            {"done": [{"tool": "pay", "arguments": {"key": "K1", "amount": 5}}]},
            ["find", "look"],
            id="done_before",
        ),
        pytest.param(
            {"rules": {"confirm": ["pay"]}, "confirmed": ["pay"]}, ["find", "look", "pay"], id="confirmed"
        ),
        pytest.param({}, ["find", "look", "pay"], id="nothing_in_the_way"),
    ],
)
def test_a_chain_ends_where_it_must(options: dict[str, Any], made: list[str]) -> None:
    assert names(playing(**options), FIND, LOOK, PAY) == made


@pytest.mark.parametrize(
    "rules",
    [{"stop_after_error": {"GONE": ["pay"]}}, {"requires": {"pay": ["find"]}}],
    ids=["stop", "requires"],
)
def test_an_error_forbids_what_rules_say(rules: dict[str, Any]) -> None:
    pay = {"tool": "pay", "arguments": {"key": "K1", "amount": 5}}
    assert names(playing(GONE, rules=rules), FIND, pay) == ["find"]


def test_an_empty_result_forbids_what_rules_say() -> None:
    pay = {"tool": "pay", "arguments": {"key": "K1", "amount": 5}}
    assert names(playing({"people": []}), FIND, pay) == ["find", "pay"]
    assert names(playing({"people": []}, rules={"stop_after_empty": {"find": ["pay"]}}), FIND, pay) == [
        "find"
    ]


def test_a_limit_and_a_foreign_object_hold_a_call_back() -> None:
    dear = {"tool": "pay", "arguments": {"key": "K1", "amount": 101}}
    foreign = {"tool": "look", "arguments": {"who": "Bob"}}
    assert names(playing(owned={"who": ["Ann"]}), dear, foreign, FIND, chain=False) == ["find"]


def test_a_write_is_wanted_once() -> None:
    pay = {"tool": "pay", "arguments": {"key": "K1", "amount": 5}}
    assert names(playing(), pay, pay, chain=False) == ["pay"]


def test_after_the_users_answer_a_confirmation_is_given() -> None:
    play = playing(rules={"confirm": ["pay"]})
    pay = {"tool": "pay", "arguments": {"key": "K1", "amount": 5}}
    assert names(play, pay) == []
    assert names(play.confirmed(), pay) == ["pay"]


@pytest.mark.parametrize(
    ("found", "looked", "outcomes"),
    [
        (FOUND, {"open": True}, ["ok", "ok"]),
        (FOUND, {"open": False}, ["ok", "shut"]),
        (FOUND, {"amount": 51}, ["ok", "large"]),
        (FOUND, {"amount": 50}, ["ok", "ok"]),
        (TWO, None, ["several"]),
        ({"people": []}, None, ["empty"]),
        (GONE, None, ["GONE"]),
    ],
)
def test_an_outcome_is_named_by_its_condition(found: Any, looked: Any, outcomes: list[str]) -> None:
    play = playing(found, looked)
    play.play([FIND, LOOK], chain=True)
    assert [step.outcome for step in play.steps] == outcomes


def test_a_history_happens_whatever_the_rules_say() -> None:
    play = playing(rules={"requires": {"look": ["find"]}, "confirm": ["pay"]})
    play.happen([FIND, LOOK, PAY])
    assert [step.call["tool"] for step in play.steps] == ["find", "look", "pay"]
    with pytest.raises(SuiteError, match="no earlier result has a value for look"):
        playing().happen([LOOK])
