"""What a case can say beyond equality: rules by path, alternatives, own tools, late tools, end states."""

from __future__ import annotations

from typing import Any

import pytest

from toolbench.domain.case import Case
from toolbench.domain.suite import Suite
from toolbench.judging.score import Verdict
from toolbench.selfcheck.rehearse import Move, Proposal, judge, rehearse


def tool(name: str, effect: str = "read", **properties: Any) -> dict[str, Any]:
    keys = {key: properties.pop(key) for key in ("writes", "ask_words") if key in properties}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"name": name, "description": name, "effect": effect, "parameters": schema, **keys}


NUMBER, TEXT = {"type": "number"}, {"type": "string"}
ADDRESS = {
    "type": "object",
    "properties": {"city": TEXT, "zip": TEXT, "lines": {"type": "array", "items": TEXT}},
}
TOOLS = [
    tool("find", q=TEXT, limit={"type": "integer", "default": 10}),
    tool("search", words=TEXT),
    tool(
        "order",
        "write",
        address=ADDRESS,
        items={"type": "array", "items": {"type": "object"}},
        total=NUMBER,
        note=TEXT,
    ),
    tool(
        "book",
        "write",
        id=TEXT,
        hour=TEXT,
        guests={"type": "integer"},
        writes={"object": "booking", "key": ["id"]},
    ),
    tool("move", "write", id=TEXT, hour=TEXT, writes={"object": "booking", "key": ["id"], "how": "merge"}),
    tool("cancel", "write", id=TEXT, writes={"object": "booking", "key": ["id"], "how": "remove"}),
]
OK = [{"tool": one["name"], "results": [{"ok": {"state": "done"}}]} for one in TOOLS]


def suite(case: dict[str, Any], **more: Any) -> Suite:
    case = {
        "id": "c",
        "class": "c",
        "lang": "en",
        "user": "Please do what we said: order 7, B1, 18, 19.",
        **case,
    }
    return Suite.from_snapshot(
        {
            "name": "shop",
            "contract": {"version": "1", "tools": TOOLS},
            "prompts": {"en": "Use the tools."},
            "executor": {"version": "1", "rules": OK},
            "rules": {"version": "1"},
            "overlays": {},
            "cases": [case],
            **more,
        },
        "test",
    )


def calls(*made: tuple[str, dict[str, Any]]) -> list[Move]:
    return [*(Move(calls=(Proposal(*one),)) for one in made), Move(text="All right.")]


def verdict(case: dict[str, Any], *made: tuple[str, dict[str, Any]]) -> Verdict:
    whole = suite(case)
    return judge(whole, whole.cases[0], calls(*made))


def expecting(*due: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"expect": {"kind": "tool_call", "calls": list(due)}, **more}


def values(found: Verdict) -> set[str]:
    """Codes about calls and values; where a value comes from is another matter here."""
    return set(found.codes) - {"ungrounded_argument"}


GOOD = {
    "address": {"city": "Oslo", "zip": "0150", "lines": ["a", "b"]},
    "items": [{"sku": "x", "price": 10.0}, {"sku": "y", "price": 20.0}],
    "total": 30,
    "note": "Ring twice, please",
}


@pytest.mark.parametrize(
    ("rules", "change", "right"),
    [
        pytest.param({}, {"total": 30.2}, False, id="equality"),
        pytest.param({"total": {"tolerance": 0.5}}, {"total": 30.2}, True, id="tolerance"),
        pytest.param({"total": {"tolerance": 0.1}}, {"total": 30.2}, False, id="beyond-tolerance"),
        pytest.param({"total": {"relative": 0.01}}, {"total": 30.2}, True, id="relative"),
        pytest.param({"note": {"contains": ["ring", "twice"]}}, {"note": "twice RING"}, True, id="contains"),
        pytest.param({"note": {"contains": ["knock"]}}, {}, False, id="contains-not"),
        pytest.param({"note": {"regex": "(?i)^ring"}}, {"note": "ring!"}, True, id="regex"),
        pytest.param({"note": {"regex": "^ring$"}}, {}, False, id="regex-not"),
        pytest.param({"note": {"any": True}}, {"note": "whatever"}, True, id="any"),
        pytest.param(
            {"note": {"normalizer": "text"}}, {"note": "RING twice,  please"}, True, id="normalizer"
        ),
        pytest.param(
            {"address.city": {"normalizer": "city"}},
            {"address": {"city": "city of Oslo", "zip": "0150", "lines": ["a", "b"]}},
            True,
            id="normalizer-at-a-path",
        ),
        pytest.param(
            {"address.lines": {"unordered": True}},
            {"address": {"city": "Oslo", "zip": "0150", "lines": ["b", "a"]}},
            True,
            id="unordered",
        ),
        pytest.param(
            {"items": {"unordered": True}, "items[].price": {"tolerance": 0.5}},
            {"items": [{"sku": "y", "price": 20.4}, {"sku": "x", "price": 9.8}]},
            True,
            id="unordered-with-a-rule-for-each",
        ),
        pytest.param(
            {"items": {"unordered": True}},
            {"items": [{"sku": "y", "price": 20.4}, {"sku": "x", "price": 9.8}]},
            False,
            id="unordered-and-equal",
        ),
    ],
)
def test_a_rule_stands_for_equality_at_its_path(
    rules: dict[str, Any], change: dict[str, Any], right: bool
) -> None:
    due = {"tool": "order", "arguments": GOOD, "compare": rules}
    found = verdict(expecting(due), ("order", {**GOOD, **change}))
    assert ("argument_mismatch" not in found.codes) == right
    assert found.calls[0].exact == right


def test_rules_of_the_case_hold_for_every_call_and_a_call_has_the_last_word() -> None:
    due = {"tool": "order", "arguments": GOOD}
    strict = {**due, "compare": {"total": {"tolerance": 0.0}}}
    made = ("order", {**GOOD, "total": 30.2})
    rules = {"total": {"tolerance": 0.5}}
    assert values(verdict(expecting(due, compare=rules), made)) == set()
    assert values(verdict(expecting(strict, compare=rules), made)) == {"argument_mismatch"}


@pytest.mark.parametrize(
    ("address", "right"),
    [
        pytest.param({"city": "Oslo", "lines": ["a", "b"]}, True, id="left-out"),
        pytest.param({"city": "Kristiania", "zip": "0150", "lines": ["a", "b"]}, True, id="accepted"),
        pytest.param({"city": "Bergen", "zip": "0150", "lines": ["a", "b"]}, False, id="another"),
        pytest.param({"city": "Oslo", "zip": "0150"}, False, id="what-is-due-left-out"),
    ],
)
def test_accepted_values_and_what_may_be_left_out_have_paths(address: dict[str, Any], right: bool) -> None:
    due = {
        "tool": "order",
        "arguments": GOOD,
        "accept": {"address.city": ["Kristiania"]},
        "optional": ["address.zip"],
    }
    found = verdict(expecting(due), ("order", {**GOOD, "address": address}))
    assert ("argument_mismatch" not in found.codes) == right


def test_what_the_case_leaves_open_comes_from_nowhere_in_particular() -> None:
    due = {"tool": "order", "arguments": {"note": "Anything"}}
    made = ("order", {"note": "Qwertz zyxwvut"})
    assert "ungrounded_argument" in verdict(expecting(due), made).codes
    open_ = {**due, "compare": {"note": {"any": True}}}
    assert verdict(expecting(open_), made).codes == ()


EITHER = {
    "tool": "find",
    "arguments": {"q": "order 7"},
    "or": [{"tool": "search", "arguments": {"words": "order 7"}}],
}


@pytest.mark.parametrize(
    ("made", "codes"),
    [
        pytest.param([("find", {"q": "order 7"})], set(), id="the-one"),
        pytest.param([("search", {"words": "order 7"})], set(), id="the-other"),
        pytest.param([("find", {"q": "order 7", "limit": 10})], set(), id="with-the-default"),
        pytest.param(
            [("find", {"q": "order 7"}), ("search", {"words": "order 7"})], {"extra_call"}, id="both"
        ),
        pytest.param([("search", {"words": "B1"})], {"argument_mismatch"}, id="the-other-wrong"),
    ],
)
def test_one_of_two_tools_is_due(made: list[tuple[str, dict[str, Any]]], codes: set[str]) -> None:
    assert values(verdict(expecting(EITHER), *made)) == codes


ONCE = ("find", {"q": "order 7"})
OTHER = ("find", {"q": "B1"})


@pytest.mark.parametrize(
    ("limits", "made", "codes"),
    [
        pytest.param({"at_least": 0}, [("search", {"words": "B1"})], set(), id="none-needed"),
        pytest.param({"at_least": 0}, [("search", {"words": "B1"}), ONCE], set(), id="one-allowed"),
        pytest.param({"at_least": 2}, [("search", {"words": "B1"}), ONCE], {"missing_call"}, id="one-short"),
        pytest.param(
            {"at_most": 2}, [("search", {"words": "B1"}), ONCE, OTHER, ("find", {"q": "19"})],
            {"extra_call"}, id="one-too-many",
        ),
        pytest.param(
            {"at_most": None}, [("search", {"words": "B1"}), ONCE, OTHER, ("find", {"q": "19"})],
            set(), id="any-number",
        ),
    ],
)  # fmt: skip
def test_a_call_is_due_at_least_and_at_most_so_often(
    limits: dict[str, Any], made: list[tuple[str, dict[str, Any]]], codes: set[str]
) -> None:
    due = {"tool": "find", "arguments": {"q": "order 7"}, "compare": {"q": {"any": True}}, **limits}
    search = {"tool": "search", "arguments": {"words": "B1"}}
    assert values(verdict(expecting(search, due), *made)) == codes


BOOKED = {"object": "booking", "fields": {"id": "B1", "hour": "19"}}


@pytest.mark.parametrize(
    ("state", "made", "codes"),
    [
        pytest.param({"written": [BOOKED]}, [("book", {"id": "B1", "hour": "19"})], set(), id="straight"),
        pytest.param(
            {"written": [BOOKED]},
            [("book", {"id": "B1", "hour": "18"}), ("move", {"id": "B1", "hour": "19"})],
            set(), id="another-path",
        ),
        pytest.param({"written": [BOOKED]}, [("find", {"q": "B1"})], {"missing_write"}, id="not-done"),
        pytest.param(
            {"written": [BOOKED]}, [("book", {"id": "B1", "hour": "18"})], {"wrong_write"}, id="wrong-field"
        ),
        pytest.param(
            {"written": [BOOKED]},
            [("book", {"id": "B1", "hour": "19"}), ("book", {"id": "7", "hour": "19"})],
            {"forbidden_write"}, id="one-more",
        ),
        pytest.param(
            {"written": [BOOKED], "nothing_else": False},
            [("book", {"id": "B1", "hour": "19"}), ("book", {"id": "7", "hour": "19"})],
            set(), id="one-more-allowed",
        ),
        pytest.param(
            {"written": [BOOKED]},
            [("book", {"id": "B1", "hour": "19"}), ("cancel", {"id": "B1"})],
            {"wrong_write"}, id="done-and-undone",
        ),
        pytest.param(
            {"written": [{"object": "booking", "fields": {"id": "B1", "removed": True}}]},
            [("cancel", {"id": "B1"})], set(), id="removed",
        ),
        pytest.param(
            {"never": [{"object": "booking", "fields": {"hour": "18"}}]},
            [("book", {"id": "B1", "hour": "18"}), ("move", {"id": "B1", "hour": "19"})],
            {"forbidden_write"}, id="never-at-any-moment",
        ),
        pytest.param({"written": []}, [("book", {"id": "B1"})], {"forbidden_write"}, id="nothing-at-all"),
        pytest.param(
            {"written": [{"object": "order", "fields": {"note": "order 7"}}]},
            [("order", {"note": "order 7", "total": 19})], set(), id="undeclared-object",
        ),
    ],
)  # fmt: skip
def test_the_end_state_is_what_was_written_whatever_the_path(
    state: dict[str, Any], made: list[tuple[str, dict[str, Any]]], codes: set[str]
) -> None:
    case = {"expect": {"kind": "tool_call"}, "end_state": state}
    assert values(verdict(case, *made)) == codes


def test_what_failed_has_not_been_written_and_what_timed_out_although_done_has() -> None:
    error = {"code": "DOWN", "permanent": True, "message": "Down."}
    case = {"expect": {"kind": "tool_call"}, "end_state": {"written": [BOOKED]}}
    made = calls(("book", {"id": "B1", "hour": "19"}))
    for effect in (False, True):
        rules = [{"tool": "book", "results": [{"error": error, "effect": effect}]}]
        whole = suite(case, executor={"version": "1", "rules": rules})
        assert ("missing_write" in judge(whole, whole.cases[0], made).codes) == (not effect)


@pytest.mark.parametrize(
    ("made", "forbidden"),
    [
        pytest.param(("book", {"id": "B1", "hour": "18"}), True, id="with-these-arguments"),
        pytest.param(("book", {"id": "B1", "hour": "19"}), False, id="with-others"),
    ],
)
def test_a_call_is_forbidden_by_its_arguments(made: tuple[str, dict[str, Any]], forbidden: bool) -> None:
    expect = {"kind": "tool_call", "forbidden_calls": [{"tool": "book", "arguments": {"hour": "18"}}]}
    assert ("forbidden_call" in verdict({"expect": expect}, made).codes) == forbidden


def test_a_case_brings_tools_and_a_prompt_of_its_own() -> None:
    brought = tool("find", title=TEXT)
    case = {
        **expecting({"tool": "find", "arguments": {"title": "order 7"}}),
        "tools": [brought],
        "system": "Hm.",
    }
    whole = suite(case)
    attempt = rehearse(whole, whole.cases[0], calls(("find", {"title": "order 7"})))
    body: Any = attempt.turns[0].request["body"]
    assert [one["function"]["name"] for one in body["tools"]] == ["find"]
    assert list(body["tools"][0]["function"]["parameters"]["properties"]) == ["title"]
    assert body["messages"][0]["content"] == "Hm."
    assert judge(whole, whole.cases[0], calls(("find", {"title": "order 7"}))).passed
    assert whole.contract.by_name["find"].properties.keys() == {"q", "limit"}
    copy = Suite.from_snapshot(whole.snapshot(), "copy")
    assert copy.of(copy.cases[0]).contract.hash == whole.of(whole.cases[0]).contract.hash


def test_a_case_names_another_contract() -> None:
    case = {**expecting({"tool": "lamp", "arguments": {}}), "contract": "lamps"}
    lamps = {"version": "7", "tools": [tool("lamp")]}
    rules = [{"tool": "lamp", "results": [{"ok": "on"}]}]
    whole = suite(case, contracts={"lamps": lamps}, executor={"version": "1", "rules": rules})
    assert judge(whole, whole.cases[0], calls(("lamp", {}))).passed
    assert "contract.lamps" in whole.hashes
    assert Suite.from_snapshot(whole.snapshot(), "copy").hashes == whole.hashes


LATE = {
    **expecting({"tool": "find", "arguments": {"q": "order 7"}}),
    "turns": [
        {
            "user": "Now search order 7.",
            "tools": ["search"],
            "expect": {"kind": "tool_call", "calls": [{"tool": "search", "arguments": {"words": "order 7"}}]},
        }
    ],
}
FIRST, THEN = ("find", {"q": "order 7"}), ("search", {"words": "order 7"})


def test_a_tool_can_appear_later() -> None:
    whole = suite(LATE)
    case = whole.cases[0]
    attempt = rehearse(whole, case, [*calls(FIRST), *calls(THEN)])
    bodies: list[Any] = [turn.request["body"] for turn in attempt.turns]
    offered = [{one["function"]["name"] for one in body["tools"]} for body in bodies]
    assert ["search" in names for names in offered] == [False, False, True, True]
    assert judge(whole, case, [*calls(FIRST), *calls(THEN)]).passed
    early = judge(whole, case, [*calls(THEN), *calls(THEN)])
    assert "unknown_tool" in early.codes


ASK = tool("quote", day=TEXT, city=TEXT, ask_words={"day": {"en": ["which day", "what day"]}})
QUOTE = {"tool": "quote", "arguments": {"day": "Friday", "city": "Oslo"}}
REPLIES = {"day": "On Friday.", "city": {"reply": "To Oslo.", "words": ["where to"]}}
ASKED = {
    "user": "What would a delivery cost?",
    "tools": [ASK],
    "on_ask": REPLIES,
    **expecting(QUOTE),
}
RULES = {"executor": {"version": "1", "rules": [{"tool": "quote", "results": [{"ok": "see above"}]}]}}
CALL = Move(calls=(Proposal("quote", QUOTE["arguments"]),))  # type: ignore[arg-type]
END = Move(text="All right.")


@pytest.mark.parametrize(
    ("moves", "heard", "codes"),
    [
        pytest.param(
            [Move(text="Which day, and where to?"), CALL, END], ["On Friday. To Oslo."], (), id="at-once"
        ),
        pytest.param(
            [Move(text="Which day?"), Move(text="And where to?"), CALL, END],
            ["On Friday.", "To Oslo."], (), id="one-by-one",
        ),
        pytest.param(
            [Move(text="It depends on the day. Where to?"), CALL, END],
            ["To Oslo."], ("ungrounded_argument",), id="only-what-is-asked",
        ),
        pytest.param([Move(text="What colour?")], [], ("missed_call",), id="nothing-of-it"),
        pytest.param(
            [Move(text="Which day?"), Move(text="Which day?")], ["On Friday."], ("missed_call",), id="twice"
        ),
    ],
)  # fmt: skip
def test_the_user_answers_what_is_asked(moves: list[Move], heard: list[str], codes: tuple[str, ...]) -> None:
    case = {**ASKED, "expect": {**ASKED["expect"], "calls": [{**QUOTE, "accept": {}}]}}
    whole = suite(case, **RULES)
    attempt = rehearse(whole, whole.cases[0], moves)
    assert [turn.said for turn in attempt.turns if turn.said] == heard
    found = judge(whole, whole.cases[0], moves)
    # The expected value is right wherever it comes from; what was guessed is judged by its answer.
    assert set(found.codes) == set(codes) - {"ungrounded_argument"}


def test_a_turn_that_answers_is_not_reached_without_a_question() -> None:
    asks = {"kind": "clarification", "missing_fields": ["day"]}
    case = {
        **ASKED,
        "on_ask": {},
        "expect": asks,
        "turns": [{"on_ask": REPLIES, "expect": {"kind": "tool_call", "calls": [QUOTE]}}],
    }
    whole = suite(case, **RULES)
    moves = [Move(text="Which day is it for?"), CALL, END]
    assert judge(whole, whole.cases[0], moves).passed
    silent = rehearse(whole, whole.cases[0], [END])
    assert len(silent.turns) == 1
    assert judge(whole, whole.cases[0], [END]).codes == ("missing_clarification",)


def test_what_the_user_answered_is_a_source_of_values() -> None:
    case = {**ASKED, "expect": {"kind": "tool_call"}, "end_state": {"written": []}}
    whole = suite(case, **RULES)
    asked = judge(whole, whole.cases[0], [Move(text="Which day, and where to?"), CALL, END])
    assert asked.codes == ()
    guessed = judge(whole, whole.cases[0], [CALL, END])
    assert guessed.codes == ("ungrounded_argument",)


def test_a_case_without_any_of_it_keeps_its_meaning() -> None:
    case = Case.from_json({"id": "c", "class": "c", "lang": "en", "user": "x", "expect": {"kind": "text"}})
    assert (case.offered(["a", "b"]), case.end_state, case.brought, case.system) == (
        ("a", "b"),
        None,
        (),
        None,
    )
