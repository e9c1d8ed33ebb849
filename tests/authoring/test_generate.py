"""Cases made by rule: reproducible to the byte, balanced, and with expectations that follow from the data."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from toolbench.authoring.generate import as_jsonl, generate, write
from toolbench.authoring.slots import deal
from toolbench.domain.files import validate
from toolbench.domain.suite import Suite, find_suite
from toolbench.errors import SuiteError

ROOT = Path(__file__).parents[2]
DELIVERY = ROOT / "contracts" / "delivery"
BASE_CLASSES = {
    "direct_lookup",
    "missing_id",
    "quote_complete",
    "quote_missing_service",
    "cancel_explicit",
    "cancel_implicit",
    "invalid_id",
    "no_tool_needed",
    "two_requests",
}
SUITES = {"delivery": 60, "tickets": 60, "course": 20, "reschedule": 20, "refund": 20}
"""Suite -> least number of cases a language."""
SECOND_TURN_CLASSES = {"after_ok", "after_not_found", "after_permanent_error", "after_temporary_error"}

both_languages = pytest.mark.parametrize("lang", ["ru", "en"])


@pytest.fixture(scope="module")
def delivery() -> Suite:
    return find_suite(ROOT, "delivery")


@pytest.mark.parametrize("folder", [path.parent for path in ROOT.glob("contracts/*/variants.json")], ids=str)
def test_the_committed_cases_are_what_the_rules_make(folder: Path, tmp_path: Path) -> None:
    written = write(folder, tmp_path)
    assert written
    for path in written:
        assert path.read_bytes() == (ROOT / "cases" / path.name).read_bytes(), (
            f"run: toolbench generate ({path.name})"
        )


@both_languages
def test_another_seed_samples_other_cases_of_the_same_rules(lang: str) -> None:
    stored, other = generate(DELIVERY, lang), generate(DELIVERY, lang, seed=7)
    assert [case["id"] for case in stored] == [case["id"] for case in other]
    assert as_jsonl(stored) != as_jsonl(other)
    assert {case["origin"]["seed"] for case in other} == {7}


@both_languages
def test_delivery_has_its_base_cases(delivery: Suite, lang: str) -> None:
    cases = [case for case in delivery.cases if case.lang == lang]
    core = [case for case in cases if "core" in case.tags]
    base = [case for case in cases if "base" in case.tags]
    assert len(core) == 30
    assert {case.klass for case in base} == BASE_CLASSES
    assert len(base) == 9
    assert {case.id for case in base} <= {case.id for case in core}
    assert {case.klass for case in core} == {case.klass for case in cases}


@pytest.mark.parametrize(("name", "least"), SUITES.items())
@both_languages
def test_a_suite_has_the_promised_numbers(name: str, least: int, lang: str) -> None:
    cases = [case for case in find_suite(ROOT, name).cases if case.lang == lang]
    core = [case for case in cases if "core" in case.tags]
    assert len(cases) >= least
    assert 10 <= len(core) <= 30
    assert {case.id for case in cases if "base" in case.tags} <= {case.id for case in core}
    assert {case.klass for case in cases} > SECOND_TURN_CLASSES - (
        {"after_not_found"} if name == "course" else set()
    )
    assert sum(not case.expect.call_allowed for case in cases) * 3 >= len(cases)


@pytest.mark.parametrize("name", SUITES)
def test_a_case_is_the_same_scenario_in_both_languages(name: str) -> None:
    suite = find_suite(ROOT, name)
    russian = {case.id: case for case in suite.cases if case.lang == "ru"}
    english = {case.id: case for case in suite.cases if case.lang == "en"}
    assert russian.keys() == english.keys()
    for identifier, case in russian.items():
        other = english[identifier].expect
        assert [call.tool for call in case.expect.calls] == [call.tool for call in other.calls]
        assert case.expect.missing_fields == other.missing_fields


@pytest.mark.parametrize("name", SUITES)
@both_languages
def test_no_text_occurs_twice_in_a_class(name: str, lang: str) -> None:
    cases = [case for case in find_suite(ROOT, name).cases if case.lang == lang]
    texts = Counter((case.klass, case.user_texts[0]) for case in cases)
    assert [text for text, times in texts.items() if times > 1] == []


@pytest.mark.parametrize("name", ["delivery", "course"])
@both_languages
def test_two_requests_come_under_both_parallel_policies(name: str, lang: str) -> None:
    cases = [
        case for case in find_suite(ROOT, name).cases if case.lang == lang and case.klass == "two_requests"
    ]
    assert {case.expect.parallel for case in cases} >= {"required", "forbidden"}


@both_languages
def test_every_boundary_value_of_a_rule_is_used(delivery: Suite, lang: str) -> None:
    tags = {tag for case in delivery.cases if case.lang == lang for tag in case.tags}
    assert {
        "boundary value 1000 kg",
        "boundary value 0.1 kg",
        "boundary value 0 kg",
        "boundary value 1000.5 kg",
        "boundary value ORD-000000",
        "boundary value ORD-1234567",
    } <= tags


@pytest.mark.parametrize(
    ("identifier", "calls"),
    [
        ("direct_lookup", [("get_order", {"order_id": "ORD-123456"})]),
        (
            "quote_complete",
            [
                (
                    "quote_delivery",
                    {"origin": "Казань", "destination": "Самара", "weight_kg": 2.5, "service": "express"},
                )
            ],
        ),
        ("cancel_explicit", [("cancel_order", {"order_id": "ORD-123456", "reason": "changed_mind"})]),
    ],
)
def test_a_complete_request_expects_its_call(
    delivery: Suite, identifier: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    expect = delivery.case_by_key["ru", identifier].expect
    assert expect.kinds == ("tool_call",)
    assert [(call.tool, call.arguments) for call in expect.calls] == calls


@pytest.mark.parametrize(
    ("identifier", "missing"),
    [
        ("missing_id", ["order_id"]),
        ("invalid_id", ["order_id"]),
        ("quote_missing_service", ["service"]),
        ("quote_missing_service.several_missing-1", ["weight_kg", "service"]),
        ("quote_out_of_range.boundary-1", ["weight_kg"]),
        ("cancel_implicit", []),
        ("no_tool_needed", []),
    ],
)
def test_an_incomplete_or_absent_request_expects_no_call(
    delivery: Suite, identifier: str, missing: list[str]
) -> None:
    expect = delivery.case_by_key["ru", identifier].expect
    assert expect.must_not_call
    assert not expect.calls
    assert list(expect.missing_fields) == missing


def test_two_requests_declare_their_parallel_policy_and_both_questions(delivery: Suite) -> None:
    expect = delivery.case_by_key["en", "two_requests"].expect
    assert [call.tool for call in expect.calls] == ["get_order", "quote_delivery"]
    assert expect.parallel == "allowed"
    assert expect.final is not None
    assert len(expect.final.answers) == 2


def test_after_one_of_two_errors_the_other_request_may_still_be_called(delivery: Suite) -> None:
    recovery = delivery.case_by_key["en", "two_requests"].expect.recovery
    assert recovery is not None
    assert "tool_call" in recovery.kinds


def test_a_frozen_history_holds_no_result_text(delivery: Suite) -> None:
    case = delivery.case_by_key["ru", "after_not_found.wording-1"]
    assert case.starts_after_result
    assert case.messages[-1] == {"role": "tool", "tool_call_id": "call_1"}
    assert case.expect.final is not None


def test_a_reply_completes_the_request(delivery: Suite) -> None:
    case = delivery.case_by_key["ru", "missing_id.answered-1"]
    [turn] = case.turns
    assert turn.user == "Номер ORD-123456."
    assert [call.arguments for call in turn.expect.calls] == [{"order_id": "ORD-123456"}]


def test_dealing_uses_every_option_once_a_round_and_reshuffles() -> None:
    options = ["a", "b", "c", "d"]
    rounds = [[deal(options, "key", 4 * number + card) for card in range(4)] for number in range(6)]
    assert all(sorted(dealt) == options for dealt in rounds)
    assert len({tuple(dealt) for dealt in rounds}) > 1


def tiny_suite(folder: Path, **changes: Any) -> Path:
    """A suite with one tool and one class; ``changes`` replace keys of its only variant."""
    tool = {
        "name": "greet",
        "description": "Greets",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 2}},
            "required": ["name"],
            "additionalProperties": False,
        },
        "effect": "read",
    }
    variant = {
        "rule": "wording",
        "count": 2,
        "text": {"en": ["Greet {who}", "Say hello to {who.dear}"]},
        "fill": {"who": "person"},
        "calls": [{"tool": "greet", "arguments": {"name": "{who}"}}],
        **changes,
    }
    row = {"forms": {"en": {"dear": "dear Ann"}}}
    variants = {
        "version": "1",
        "seed": 1,
        "langs": ["en", "ru"],
        "slots": {
            "person": {"ann": {"value": "Ann", **row}, "bo": {"value": "Bo", **row}, "x": {"value": "X"}}
        },
        "outcomes": {"greet": {"ok": {"facts": []}}},
        "classes": [{"class": "greeting", "kind": "tool_call", "variants": [variant]}],
    }
    variants["slots"]["person"]["x"]["special"] = True  # type: ignore[index]
    executor = {"version": "1", "rules": [{"tool": "greet", "results": [{"ok": {"said": True}}]}]}
    files = {"tools": {"version": "1", "tools": [tool]}, "executor": executor, "variants": variants}
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_forms_go_into_texts_and_values_into_arguments(tmp_path: Path) -> None:
    first, second = generate(tiny_suite(tmp_path), "en")
    assert second["user"] == "Say hello to dear Ann"
    assert first["expect"]["calls"][0]["arguments"]["name"] in ("Ann", "Bo")
    assert first["origin"] == {"rule": "wording", "seed": 1, "dataset": "1"}


def test_literals_and_slots_inside_context_are_filled(tmp_path: Path) -> None:
    context = {"user": {"name": "{who}", "age": 7}, "note": "about {who}"}
    [case] = generate(tiny_suite(tmp_path, count=1, context=context, rows={"who": ["bo"]}), "en")
    assert case["context"] == {"user": {"name": "Bo", "age": 7}, "note": "about Bo"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"text": {"en": ["Greet {whom}"]}}, "unknown slot 'whom'", id="unknown_slot"),
        pytest.param({"text": {"en": ["Greet {who.rude}"]}}, "has no form 'rude'", id="unknown_form"),
        pytest.param({"fill": {"who": "animal"}}, "no table or row 'animal'", id="unknown_table"),
        pytest.param({"rows": {"who": ["cy"]}}, "no table or row 'cy'", id="unknown_row"),
        pytest.param({"text": {"ru": ["Привет"]}}, "no text in 'en'", id="language_without_text"),
        pytest.param({"count": 9}, "different texts can be made, 9 are wanted", id="exhausted"),
        pytest.param({"contains_any": "hello"}, "unknown wording 'hello'", id="unknown_wording"),
        pytest.param(
            {"rows": {"who": ["x"]}, "text": {"en": ["Greet {who}"]}, "count": 1},
            "a call is declared, but name is to be asked for",
            id="invalid_value_in_a_positive_class",
        ),
        pytest.param(
            {"kind": "clarification"},
            "no call is declared, but every argument",
            id="complete_request_in_a_negative_class",
        ),
        pytest.param({"calls": [{"tool": "fly", "arguments": {}}]}, "unknown tool 'fly'", id="unknown_tool"),
    ],
)
def test_a_rule_that_cannot_be_carried_out_is_named(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SuiteError, match=reason) as caught:
        generate(tiny_suite(tmp_path, **changes), "en")
    assert "class greeting, rule wording" in str(caught.value)


@pytest.mark.parametrize(
    ("confirmation", "policy"),
    [
        pytest.param(True, {}, id="to_be_confirmed"),
        pytest.param(False, {"done": [{"tool": "greet", "arguments": {"name": "{who}"}}]}, id="already_done"),
    ],
)
def test_a_complete_request_may_have_to_wait(
    tmp_path: Path, confirmation: bool, policy: dict[str, Any]
) -> None:
    folder = tiny_suite(tmp_path, kind="clarification", policy=policy)
    tools = json.loads((folder / "tools.json").read_text("utf-8"))
    tools["tools"][0]["confirmation"] = confirmation
    (folder / "tools.json").write_text(json.dumps(tools), encoding="utf-8")
    for case in generate(folder, "en"):
        assert case["expect"] == {"kind": "clarification", "must_not_call": True}


def test_an_answer_may_be_expected_to_a_reply(tmp_path: Path) -> None:
    reply = {"kind": "text", "text": {"en": "Again, {who}?"}, "calls": []}
    [case] = generate(tiny_suite(tmp_path, count=1, reply=reply), "en")
    [turn] = case["turns"]
    assert turn["user"].startswith("Again, ")
    assert turn["expect"] == {"kind": "text", "must_not_call": True}


def test_facts_are_values_of_the_result(tmp_path: Path) -> None:
    folder = tiny_suite(tmp_path, count=1)
    for name, old, new in (
        (
            "variants",
            '{"facts": []}',
            '{"facts": [{"path": "sum", "as": "number"}, {"path": "who", "as": "text"}]}',
        ),
        ("executor", '{"said": true}', '{"sum": 1500, "who": "$name"}'),
    ):
        path = folder / f"{name}.json"
        path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")
    [case] = generate(folder, "en")
    number, who = case["expect"]["final"]["facts"]
    assert number == ["1500"]
    assert who == [case["expect"]["calls"][0]["arguments"]["name"]]


def test_a_fact_of_no_result_is_named(tmp_path: Path) -> None:
    folder = tiny_suite(tmp_path)
    path = folder / "variants.json"
    fact = '{"facts": [{"path": "sum", "as": "number"}]}'
    path.write_text(path.read_text("utf-8").replace('{"facts": []}', fact), encoding="utf-8")
    with pytest.raises(SuiteError, match="the result of greet has no 'sum' to be stated"):
        generate(folder, "en")


def test_an_outcome_nobody_described_is_named(tmp_path: Path) -> None:
    folder = tiny_suite(tmp_path)
    path = folder / "variants.json"
    path.write_text(path.read_text("utf-8").replace('"ok"', '"GONE"'), encoding="utf-8")
    with pytest.raises(SuiteError, match=r"outcomes\.greet\.ok is missing"):
        generate(folder, "en")


def test_an_undeclared_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no language 'de'"):
        generate(tiny_suite(tmp_path), "de")


def test_what_a_case_may_bring_and_expect_can_be_made_by_rule(tmp_path: Path) -> None:
    folder = tmp_path / "contracts/delivery"
    copytree(DELIVERY, folder)
    data = json.loads((folder / "variants.json").read_text("utf-8"))
    order = {"order_id": "ORD-123456"}
    data["classes"] = [
        {
            "class": "free_way",
            "kind": "tool_call",
            "base": {"text": {"ru": "Где мой заказ ORD-123456?", "en": "Where is my order ORD-123456?"}},
            "system": {"ru": "Отвечайте коротко.", "en": "Be brief."},
            "on_ask": {"order_id": {"ru": "номер ORD-123456", "en": "it is ORD-123456"}},
            "calls": [
                {
                    "tool": "get_order",
                    "arguments": order,
                    "compare": {"order_id": {"regex": "^ORD-"}},
                    "or": [{"tool": "get_order", "arguments": {"order_id": "ORD-654321"}}],
                    "at_most": 2,
                }
            ],
            "forbidden_calls": [{"tool": "cancel_order", "arguments": order}],
            "end_state": {"written": []},
        }
    ]
    (folder / "variants.json").write_text(json.dumps(data), encoding="utf-8")
    (made,) = generate(folder, "en")
    validate(made, "case", "made")
    assert (made["system"], made["on_ask"]) == ("Be brief.", {"order_id": "It is ORD-123456"})
    assert made["end_state"] == {"written": []}
    (call,) = made["expect"]["calls"]
    assert call["or"] == [{"tool": "get_order", "arguments": {"order_id": "ORD-654321"}}]
    assert call["at_most"] == 2
    assert made["expect"]["forbidden_calls"] == [{"tool": "cancel_order", "arguments": order}]
