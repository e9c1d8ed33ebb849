"""Lint: every kind of input that would make a figure untrustworthy is refused, with file, line and reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolbench.authoring.lint import lint

ROOT = Path(__file__).parents[2]

Suite = dict[str, Any]


def good_suite() -> Suite:
    """A small suite without a problem: find an order, read its slots, book one."""
    return {
        "tools": {
            "version": "1",
            "tools": [
                {
                    "name": "find_order",
                    "description": {"en": "Finds an order"},
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "phone": {"type": "string", "minLength": 4},
                            "limit": {"type": "integer"},
                        },
                        "required": ["phone"],
                        "additionalProperties": False,
                    },
                    "effect": "read",
                    "ask_words": {"phone": {"en": ["phone"]}},
                },
                {
                    "name": "book_slot",
                    "description": {"en": "Books a slot"},
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "order_id": {"type": "string", "pattern": "^ORD-[0-9]{6}$"},
                            "city": {"type": "string"},
                            "weight": {"type": "number", "maximum": 100},
                        },
                        "required": ["order_id", "city", "weight"],
                        "additionalProperties": False,
                    },
                    "effect": "write",
                    "actions": {"en": ["book", "reserve"]},
                    "synonyms": {"city": {"Kazan": ["Kazani", "Казань", "Казани"]}},
                },
            ],
        },
        "executor": {
            "version": "1",
            "rules": [
                {
                    "tool": "find_order",
                    "when": {"phone": "5550"},
                    "results": [
                        {"error": {"code": "NOT_FOUND", "permanent": True, "message": {"en": "not found"}}}
                    ],
                },
                {"tool": "find_order", "results": [{"ok": {"orders": [{"id": "ORD-123456"}]}}]},
                {"tool": "book_slot", "results": [{"ok": {"status": "booked_today", "city": "$city"}}]},
            ],
        },
        "rules": {
            "version": "1",
            "requires": {"book_slot": ["find_order"]},
            "depends_on_result": {"book_slot": {"order_id": "find_order.orders[].id"}},
        },
        "cases": [
            {
                "id": "chain",
                "class": "chain",
                "lang": "en",
                "user": "My phone is 5551. Book the delivery to Kazani, 2,5 kg.",
                "expect": {
                    "kind": "tool_call",
                    "calls": [
                        {"tool": "find_order", "arguments": {"phone": "5551"}},
                        {
                            "tool": "book_slot",
                            "arguments": {"order_id": "ORD-123456", "city": "Kazan", "weight": 2.5},
                        },
                    ],
                    "order": "strict",
                    "final": {"facts": [["booked today"]]},
                },
            },
            {
                "id": "ask",
                "class": "ask",
                "lang": "en",
                "user": "Where is my order?",
                "expect": {"kind": "clarification", "must_not_call": True, "missing_fields": ["phone"]},
            },
            {
                "id": "frozen",
                "class": "frozen",
                "lang": "en",
                "messages": [
                    {"role": "user", "content": "Find the order of 5550"},
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": "c1", "name": "find_order", "arguments": {"phone": "5550"}}],
                    },
                    {"role": "tool", "tool_call_id": "c1"},
                ],
                "expect": {
                    "kind": ["text", "clarification"],
                    "final": {"facts": [["not found"]]},
                    "recovery": {"kind": "text"},
                },
            },
        ],
    }


def write_suite(root: Path, suite: Suite) -> Path:
    """Write the suite as files, JSON documents with one value a line; return its folder."""
    folder = root / "contracts" / "shop"
    folder.mkdir(parents=True)
    (root / "cases").mkdir()
    for name in ("tools", "executor", "rules"):
        if name in suite:
            content = suite[name] if isinstance(suite[name], str) else json.dumps(suite[name], indent=1)
            (folder / f"{name}.json").write_text(content, encoding="utf-8")
    (folder / "prompt.en.md").write_text("Be brief.", encoding="utf-8")
    lines = [
        case if isinstance(case, str) else json.dumps(case, ensure_ascii=False) for case in suite["cases"]
    ]
    (root / "cases" / "shop.en.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def line_of(path: Path, piece: str) -> int:
    return next(n for n, line in enumerate(path.read_text("utf-8").split("\n"), 1) if piece in line)


Change = Callable[[Suite], object]


def chain(suite: Suite) -> dict[str, Any]:
    return suite["cases"][0]


def chain_call(suite: Suite, index: int) -> dict[str, Any]:
    return chain(suite)["expect"]["calls"][index]


def ask(suite: Suite) -> dict[str, Any]:
    return suite["cases"][1]["expect"]


def frozen(suite: Suite) -> dict[str, Any]:
    return suite["cases"][2]


def parameters(suite: Suite, index: int) -> dict[str, Any]:
    return suite["tools"]["tools"][index]["parameters"]


def add_when(suite: Suite, pattern: str) -> None:
    """Add a rule that answers cities of a pattern."""
    add_rule(suite, 0, tool="book_slot", when={"city": {"pattern": pattern}}, results=[{"ok": 1}])


def add_rule(suite: Suite, position: int, **rule: Any) -> None:
    suite["executor"]["rules"].insert(position, rule)


LAMP = {"name": "lamp", "description": "Lamp", "parameters": {"type": "object"}, "effect": "write"}
TRAPPED = {"type": "string", "pattern": "(a+)+$"}


def late(suite: Suite) -> None:
    chain(suite).update(turns=[{"user": "Go on.", "tools": ["book_slot"], "expect": {"kind": "text"}}])


BAD_CASES: list[tuple[str, Change, int, str]] = [
    ("broken_json", lambda s: s["cases"].insert(1, '{"id": "x",'), 2, "not valid JSON"),
    (
        "duplicate_key",
        lambda s: s["cases"].insert(1, '{"id": "x", "id": "y"}'),
        2,
        "the key 'id' occurs twice",
    ),
    ("schema_violation", lambda s: ask(s).update(kind="shrug"), 2, "kind"),
    ("unknown_field", lambda s: s["cases"][1].update(note="x"), 2, "note"),
    ("no_message_at_all", lambda s: s["cases"][1].pop("user"), 2, "user, messages"),
    ("duplicate_id", lambda s: s["cases"][1].update(id="chain"), 2, "already used in"),
    ("language_without_prompt", lambda s: s["cases"][1].update(lang="de"), 2, "no prompt.de.md"),
    ("language_of_another_file", lambda s: s["cases"][1].update(lang="de"), 2, "'de' in a file for 'en'"),
    (
        "unknown_tool_on_offer",
        lambda s: chain(s).update(tools=["find_order", "fly"]),
        1,
        "tools: unknown tool 'fly'",
    ),
    (
        "unknown_tool_expected",
        lambda s: chain_call(s, 0).update(tool="fly"),
        1,
        "expect.calls: unknown tool 'fly'",
    ),
    (
        "unknown_tool_forbidden",
        lambda s: ask(s).update(forbidden_tools=["fly"]),
        2,
        "forbidden_tools: unknown tool",
    ),
    (
        "unknown_tool_in_recovery",
        lambda s: frozen(s)["expect"]["recovery"].update(forbidden_tools=["fly"]),
        3,
        "recovery.forbidden_tools: unknown tool 'fly'",
    ),
    (
        "unknown_tool_in_history",
        lambda s: frozen(s)["messages"][1]["tool_calls"][0].update(name="fly"),
        3,
        "messages.tool_calls: unknown tool 'fly'",
    ),
    (
        "unknown_tool_in_policy",
        lambda s: chain(s).update(policy={"confirmed": ["fly"]}),
        1,
        "policy.confirmed",
    ),
    ("unknown_owned_argument", lambda s: chain(s).update(policy={"owned": {"wing": [1]}}), 1, "policy.owned"),
    ("own_tool_without_schema", lambda s: chain(s).update(tools=[{**LAMP, "parameters": 1}]), 1, "tools"),
    (
        "own_tool_with_a_trap",
        lambda s: s["cases"][1].update(
            tools=["find_order", {**LAMP, "parameters": {"type": "object", "properties": {"a": TRAPPED}}}]
        ),
        2,
        "tools: lamp: $.properties.a.pattern",
    ),
    (
        "another_contract_that_is_not_there",
        lambda s: chain(s).update(contract="lamps"),
        1,
        "lamps/tools.json",
    ),
    ("late_tool_expected_early", lambda s: late(s), 1, "book_slot is expected, but not on offer"),
    (
        "rule_for_nothing",
        lambda s: chain_call(s, 1).update(compare={"city.name": {"any": True}, "town": {"any": True}}),
        1,
        "expect.calls[1]",
    ),
    (
        "rule_with_a_trap",
        lambda s: chain_call(s, 1).update(compare={"city": {"regex": "(a+)+$"}}),
        1,
        "takes ever longer",
    ),
    (
        "rule_that_the_example_breaks",
        lambda s: chain_call(s, 1).update(compare={"city": {"contains": ["Samara"]}}),
        1,
        "do not meet their own rules",
    ),
    (
        "unknown_normalizer",
        lambda s: chain_call(s, 1).update(compare={"city": {"normalizer": "town"}}),
        1,
        "no normalizer 'town'",
    ),
    ("more_at_least_than_at_most", lambda s: chain_call(s, 0).update(at_least=3, at_most=2), 1, "at_most: 2"),
    (
        "alternative_with_an_unknown_tool",
        lambda s: chain_call(s, 0).update({"or": [{"tool": "fly", "arguments": {}}]}),
        1,
        "unknown tool 'fly'",
    ),
    (
        "alternative_that_violates_the_contract",
        lambda s: chain_call(s, 0).update({"or": [{"tool": "find_order", "arguments": {"phone": 1}}]}),
        1,
        "calls[0].or[0].arguments: violates the contract",
    ),
    (
        "expected_and_forbidden_call",
        lambda s: chain(s)["expect"].update(forbidden_calls=[{"tool": "find_order"}]),
        1,
        "forbidden_calls[0]: find_order is expected and forbidden",
    ),
    (
        "answer_to_no_argument",
        lambda s: chain(s).update(on_ask={"colour": "Red."}),
        1,
        "on_ask.colour: no tool on offer has such an argument",
    ),
    (
        "answer_where_the_question_is_the_end",
        lambda s: s["cases"][1].update(on_ask={"phone": "5551"}),
        2,
        "a question is the end here",
    ),
    (
        "answer_to_no_question",
        lambda s: chain(s).update(turns=[{"on_ask": {"phone": "5551"}, "expect": {"kind": "text"}}]),
        1,
        "none is expected before",
    ),
    (
        "end_state_of_no_tool",
        lambda s: chain(s).update(end_state={"written": [{"object": "lamp"}]}),
        1,
        "no tool writes 'lamp' (they write book_slot)",
    ),
    (
        "end_state_with_an_unknown_field",
        lambda s: chain(s).update(end_state={"written": [{"object": "book_slot", "fields": {"hue": 1}}]}),
        1,
        "book_slot has no 'hue'",
    ),
    (
        "written_and_never",
        lambda s: chain(s).update(
            end_state={"written": [{"object": "book_slot"}], "never": [{"object": "book_slot"}]}
        ),
        1,
        "must never be",
    ),
    (
        "result_without_call",
        lambda s: frozen(s)["messages"][2].update(tool_call_id="c9"),
        3,
        "'c9' answers no open call",
    ),
    ("call_without_result", lambda s: frozen(s)["messages"].pop(), 3, "the call 'c1' has no result"),
    (
        "gold_out_of_range",
        lambda s: chain_call(s, 1)["arguments"].update(weight=250),
        1,
        "calls[1].arguments: violates the contract at $.weight: out_of_range",
    ),
    (
        "gold_of_wrong_type",
        lambda s: chain_call(s, 1)["arguments"].update(weight="2.5"),
        1,
        "violates the contract at $.weight: wrong_type",
    ),
    (
        "gold_without_required_argument",
        lambda s: chain_call(s, 1)["arguments"].pop("city"),
        1,
        "violates the contract at $.city: missing_required",
    ),
    (
        "accepted_value_violates_contract",
        lambda s: chain_call(s, 1).update(accept={"weight": ["2.5"]}),
        1,
        "accept.weight: '2.5' violates the contract",
    ),
    (
        "accept_without_argument",
        lambda s: chain_call(s, 0).update(accept={"limit": [1]}),
        1,
        "accept: 'limit'",
    ),
    (
        "optional_but_required",
        lambda s: chain_call(s, 1).update(optional=["city"]),
        1,
        "'city' is required by",
    ),
    (
        "optional_without_argument",
        lambda s: chain_call(s, 0).update(optional=["limit"]),
        1,
        "optional: 'limit'",
    ),
    (
        "invented_number",
        lambda s: chain_call(s, 1)["arguments"].update(weight=3.5),
        1,
        "calls[1].arguments.weight: 3.5 cannot be derived",
    ),
    (
        "undeclared_city_form",
        lambda s: s["tools"]["tools"][1].pop("synonyms"),
        1,
        "calls[1].arguments.city: 'Kazan' cannot be derived",
    ),
    (
        "value_of_no_result",
        lambda s: chain_call(s, 1)["arguments"].update(order_id="ORD-999999"),
        1,
        "calls[1].arguments.order_id: 'ORD-999999' cannot be derived",
    ),
    (
        "call_of_another_kind",
        lambda s: chain(s)["expect"].update(kind="text"),
        1,
        "calls: a call is expected, but",
    ),
    ("must_not_call_with_calls", lambda s: chain(s)["expect"].update(must_not_call=True), 1, "must_not_call"),
    (
        "forbidden_and_expected",
        lambda s: chain(s)["expect"].update(forbidden_tools=["book_slot"]),
        1,
        "book_slot is expected and forbidden",
    ),
    (
        "expected_but_not_on_offer",
        lambda s: chain(s).update(tools=["find_order"]),
        1,
        "book_slot is expected, but not",
    ),
    (
        "missing_field_of_no_tool",
        lambda s: ask(s).update(missing_fields=["colour"]),
        2,
        "has an argument 'colour'",
    ),
    (
        "missing_field_without_words",
        lambda s: s["tools"]["tools"][0].pop("ask_words"),
        2,
        "no tool on offer has ask_words of 'phone' in 'en'",
    ),
    (
        "missing_field_of_tool_not_on_offer",
        lambda s: s["cases"][1].update(tools=["book_slot"]),
        2,
        "no tool on offer has an argument 'phone'",
    ),
    (
        "missing_field_but_text",
        lambda s: ask(s).update(kind="text"),
        2,
        "nothing is asked for when the kind is text",
    ),
    (
        "parallel_with_one_call",
        lambda s: (chain(s)["expect"].update(parallel="required"), chain(s)["expect"]["calls"].pop()),
        1,
        "parallel: required, but 1 call",
    ),
    (
        "parallel_although_dependent",
        lambda s: chain(s)["expect"].update(parallel="required"),
        1,
        "only after a result of find_order",
    ),
    (
        "order_against_rules",
        lambda s: chain(s)["expect"]["calls"].reverse(),
        1,
        "book_slot is expected before find_order",
    ),
    (
        "transition_against_rules",
        lambda s: s["rules"].update(transitions={"START": ["book_slot"]}),
        1,
        "find_order may not follow START",
    ),
    (
        "same_call_twice",
        lambda s: chain(s)["expect"]["calls"].insert(0, chain_call(s, 0)),
        1,
        "the same call of find_order is expected 2 times",
    ),
    (
        "fact_of_no_result",
        lambda s: frozen(s)["expect"]["final"].update(facts=[["delivered", "доставлен"]]),
        3,
        "final.facts[0]: no tool result or message can produce any of ['delivered', 'доставлен']",
    ),
    (
        "answer_of_no_result",
        lambda s: chain(s)["expect"]["final"].update(answers=[["tomorrow"]]),
        1,
        "final.answers[0]",
    ),
    (
        "recovery_without_error",
        lambda s: chain(s)["expect"].update(recovery={"kind": "text"}),
        1,
        "recovery: no result of these calls is an error",
    ),
    (
        "call_nobody_answers",
        lambda s: s["executor"]["rules"].__setitem__(
            1, {**s["executor"]["rules"][1], "when": {"phone": "5559"}}
        ),
        1,
        "no executor rule answers find_order",
    ),
    (
        "bad_follow_up",
        lambda s: s["cases"][1].update(
            turns=[
                {
                    "user": "It is 5551",
                    "expect": {
                        "kind": "tool_call",
                        "calls": [{"tool": "find_order", "arguments": {"phone": "4444"}}],
                    },
                }
            ]
        ),
        2,
        "turns[0].expect.calls[0].arguments.phone: '4444' cannot be derived",
    ),
]

BAD_FILES: list[tuple[str, Change, str, str, str]] = [
    # name, change, file, piece of the line it must point at, reason
    ("tools_broken_json", lambda s: s.update(tools='{\n "tools": [}'), "tools.json", "[}", "not valid JSON"),
    (
        "tools_repeated_key",
        lambda s: s.update(tools='{"version": "1",\n "tools": [],\n "version": "2"}'),
        "tools.json",
        '"2"',
        "the key 'version' occurs twice",
    ),
    (
        "tools_schema_violation",
        lambda s: s["tools"]["tools"][0].update(effect="fly"),
        "tools.json",
        '"fly"',
        "tools[0].effect",
    ),
    (
        "tool_twice",
        lambda s: s["tools"]["tools"][1].update(name="find_order"),
        "tools.json",
        '"find_order"',
        "defined twice",
    ),
    (
        "parameters_no_json_schema",
        lambda s: parameters(s, 0)["properties"]["phone"].update(minLength="four"),
        "tools.json",
        '"parameters"',
        "not a valid JSON Schema",
    ),
    (
        "unregistered_format",
        lambda s: parameters(s, 0)["properties"]["phone"].update(format="phone-number"),
        "tools.json",
        '"parameters"',
        "'phone-number' is not checked here",
    ),
    (
        "parameter_pattern_not_portable",
        lambda s: parameters(s, 0)["properties"]["phone"].update(pattern="(?<!0)[0-9]+"),
        "tools.json",
        '"parameters"',
        "is not portable",
    ),
    (
        "required_but_not_allowed",
        lambda s: parameters(s, 0)["required"].append("colour"),
        "tools.json",
        '"required"',
        "requires 'colour'",
    ),
    (
        "synonym_of_no_argument",
        lambda s: s["tools"]["tools"][0].update(synonyms={"colour": {"red": ["crimson"]}}),
        "tools.json",
        '"synonyms"',
        "'colour' is not an argument of this tool",
    ),
    (
        "ask_word_of_no_argument",
        lambda s: s["tools"]["tools"][0].update(ask_words={"colour": {"en": ["colour"]}}),
        "tools.json",
        '"ask_words"',
        "'colour' is not an argument of this tool",
    ),
    (
        "write_without_actions",
        lambda s: s["tools"]["tools"][1].pop("actions"),
        "tools.json",
        '"book_slot"',
        "no actions for language 'en'",
    ),
    (
        "actions_in_another_language_only",
        lambda s: s["tools"]["tools"][1].update(actions={"ru": ["забронировать"]}),
        "tools.json",
        '"book_slot"',
        "no actions for language 'en'",
    ),
    (
        "synonym_outside_enum",
        lambda s: (
            s["tools"]["tools"][0].update(synonyms={"limit": {"7": ["seven"]}}),
            parameters(s, 0)["properties"]["limit"].update(enum=[1, 2]),
        ),
        "tools.json",
        '"7"',
        "'7' is not one of the enum values",
    ),
    (
        "description_without_language",
        lambda s: s["tools"]["tools"][0].update(description={"ru": "Ищет"}),
        "tools.json",
        '"description"',
        "no description for language 'en'",
    ),
    (
        "executor_schema_violation",
        lambda s: add_rule(s, 0, tool="book_slot", results=[]),
        "executor.json",
        '"results": []',
        "rules[0].results",
    ),
    (
        "executor_unknown_tool",
        lambda s: add_rule(s, 0, tool="fly", results=[{"ok": 1}]),
        "executor.json",
        '"fly"',
        "rules[0].tool: unknown tool 'fly'",
    ),
    (
        "executor_unknown_argument",
        lambda s: add_rule(s, 0, tool="book_slot", when={"wing": 1}, results=[{"ok": 1}]),
        "executor.json",
        '"wing"',
        "book_slot has no argument 'wing'",
    ),
    (
        "executor_value_never_valid",
        lambda s: add_rule(s, 0, tool="book_slot", when={"weight": 500}, results=[{"ok": 1}]),
        "executor.json",
        "500",
        "500 never reaches the tool: out_of_range",
    ),
    (
        "executor_pattern_does_not_compile",
        lambda s: add_rule(s, 0, tool="book_slot", when={"city": {"pattern": "(a"}}, results=[{"ok": 1}]),
        "executor.json",
        "(a",
        "is not a regular expression",
    ),
    (
        "executor_rule_shadowed",
        lambda s: add_rule(s, 3, tool="book_slot", when={"weight": 5}, results=[{"ok": "light"}]),
        "executor.json",
        '"weight": 5',
        "rules[3]: can never match: rules[2]",
    ),
    (
        "executor_rule_repeated",
        lambda s: add_rule(s, 1, tool="find_order", when={"phone": "5550"}, results=[{"ok": "again"}]),
        "executor.json",
        '"phone": "5550"',
        "rules[1]: can never match: rules[0]",
    ),
    (
        "executor_placeholder_of_no_argument",
        lambda s: s["executor"]["rules"][2]["results"][0]["ok"].update(city="$town"),
        "executor.json",
        '"$town"',
        "$town is not an argument of book_slot",
    ),
    (
        "executor_text_without_language",
        lambda s: s["executor"]["rules"][0]["results"][0]["error"].update(hint={"ru": "нет"}),
        "executor.json",
        '"hint"',
        "no text for language 'en'",
    ),
    (
        "rules_unknown_tool",
        lambda s: s["rules"].update(confirm=["fly"]),
        "rules.json",
        '"fly"',
        "unknown tool 'fly'",
    ),
    (
        "rules_unknown_transition",
        lambda s: s["rules"].update(transitions={"find_order": ["book_slot", "fly"]}),
        "rules.json",
        '"fly"',
        "transitions.find_order[1]: unknown tool 'fly'",
    ),
    (
        "rules_unknown_error_code",
        lambda s: s["rules"].update(stop_after_error={"NO_FUEL": ["book_slot"]}),
        "rules.json",
        "NO_FUEL",
        "no executor rule answers with NO_FUEL",
    ),
    (
        "rules_unknown_argument",
        lambda s: s["rules"]["depends_on_result"]["book_slot"].update(wing="find_order.orders[].id"),
        "rules.json",
        '"wing"',
        "book_slot has no argument 'wing'",
    ),
    (
        "rules_path_of_no_result",
        lambda s: s["rules"]["depends_on_result"]["book_slot"].update(city="find_order.orders[].town"),
        "rules.json",
        "town",
        "no result of find_order has 'orders[].town'",
    ),
    (
        "when_with_unicode_property",
        lambda s: add_rule(
            s, 0, tool="book_slot", when={"city": {"pattern": "\\p{L}+ booked"}}, results=[{"ok": 1}]
        ),
        "executor.json",
        "\\\\p{L}",
        "is not portable",
    ),
    (
        "when_with_inline_flag",
        lambda s: add_rule(
            s, 0, tool="book_slot", when={"city": {"pattern": "(?i)booked"}}, results=[{"ok": 1}]
        ),
        "executor.json",
        "(?i)",
        "is not portable",
    ),
    (
        "when_with_variable_lookbehind",
        lambda s: add_rule(
            s, 0, tool="book_slot", when={"city": {"pattern": "(?<!not |never )booked"}}, results=[{"ok": 1}]
        ),
        "executor.json",
        "(?<!not",
        "is not a regular expression",
    ),
]


def test_the_small_suite_has_no_problem(tmp_path: Path) -> None:
    assert lint([write_suite(tmp_path, good_suite())]) == []


@pytest.mark.parametrize(
    ("change", "line", "reason"), [pytest.param(*rest, id=name) for name, *rest in BAD_CASES]
)
def test_a_bad_case_is_refused(tmp_path: Path, change: Change, line: int, reason: str) -> None:
    suite = good_suite()
    change(suite)
    write_suite(tmp_path, suite)
    file = tmp_path / "cases" / "shop.en.jsonl"
    problems = lint([file])
    assert any(p.file == file and p.line == line and reason in p.reason for p in problems), problems
    assert {p.line for p in problems} == {line}


@pytest.mark.parametrize(
    ("change", "name", "piece", "reason"), [pytest.param(*rest, id=name) for name, *rest in BAD_FILES]
)
def test_a_bad_suite_file_is_refused(
    tmp_path: Path, change: Change, name: str, piece: str, reason: str
) -> None:
    suite = good_suite()
    change(suite)
    file = write_suite(tmp_path, suite) / name
    lines = file.read_text("utf-8").split("\n")
    pointed_at = [
        problem
        for problem in lint([file])
        if problem.file == file
        and reason in problem.reason
        and piece in "\n".join(lines[problem.line - 1 : problem.line + 4])
    ]
    assert pointed_at, lint([file])


def test_a_problem_reads_as_file_line_reason(tmp_path: Path) -> None:
    suite = good_suite()
    ask(suite)["missing_fields"] = ["colour"]
    write_suite(tmp_path, suite)
    [problem] = lint([tmp_path])
    assert str(problem) == (
        f"{tmp_path / 'cases' / 'shop.en.jsonl'}:2: case ask: expect.missing_fields: "
        "no tool on offer has an argument 'colour'"
    )


def test_ids_are_unique_over_all_files_of_a_language(tmp_path: Path) -> None:
    suite = good_suite()
    write_suite(tmp_path, suite)
    again = tmp_path / "cases" / "shop.regression.en.jsonl"
    again.write_text(json.dumps(ask_case := suite["cases"][1]) + "\n", encoding="utf-8")
    [problem] = lint([tmp_path])
    assert problem.file == again
    assert f"shop.en.jsonl:{suite['cases'].index(ask_case) + 1}" in problem.reason


def test_one_broken_line_does_not_hide_the_others(tmp_path: Path) -> None:
    suite = good_suite()
    ask(suite)["missing_fields"] = ["colour"]
    suite["cases"].insert(0, "{")
    write_suite(tmp_path, suite)
    assert [problem.line for problem in lint([tmp_path])] == [1, 3]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        pytest.param("absent.jsonl", None, "no such file", id="absent_file"),
        pytest.param(
            "cases/other.en.jsonl", "{}\n", "contracts/other/tools.json, is missing", id="no_contract"
        ),
        pytest.param("notes.txt", "hello", "neither a case file", id="another_file"),
        pytest.param("empty/x.txt", "hello", "no tools.json and no cases", id="folder_without_suites"),
    ],
)
def test_what_cannot_be_checked_is_a_problem(
    tmp_path: Path, name: str, content: str | None, reason: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    [problem] = lint([path.parent if path.parent.name == "empty" else path])
    assert reason in problem.reason


def test_an_empty_case_file_is_a_problem(tmp_path: Path) -> None:
    write_suite(tmp_path, {**good_suite(), "cases": []})
    [problem] = lint([tmp_path])
    assert problem.reason == "no case in this file"


def test_a_tool_without_script_is_not_asked_for_facts(tmp_path: Path) -> None:
    suite = good_suite()
    suite["cases"] = [
        {
            "id": "unscripted",
            "class": "unscripted",
            "lang": "en",
            "user": "Find 5551",
            "expect": {
                "kind": "tool_call",
                "calls": [{"tool": "find_order", "arguments": {"phone": "5551"}}],
                "final": {"facts": [["anything"]]},
            },
        }
    ]
    suite["executor"] = {"version": "1", "rules": []}
    del suite["rules"]
    assert lint([write_suite(tmp_path, suite)]) == []


@pytest.mark.parametrize("folder", sorted((ROOT / "contracts").glob("*/")), ids=lambda path: path.name)
def test_a_shipped_suite_has_no_problem(folder: Path) -> None:
    assert [str(problem) for problem in lint([folder])] == []
