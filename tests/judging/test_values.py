"""Values of arguments: what counts as the same, which call answers which, and where a value comes from."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support import attempt_of, called, judged, make_case, said
from toolbench.domain.contract import Contract
from toolbench.domain.rules import NO_RULES
from toolbench.domain.suite import Suite
from toolbench.domain.tool_script import ToolScript
from toolbench.judging.normalizers import Meaning, normalized
from toolbench.judging.score import Verdict, score
from toolbench.selfcheck.rehearse import AUTO

Properties = dict[str, Any]
DONE = said("That is done.")


def suite_of(properties: Properties, answer: dict[str, Any] | None = None, **tool: Any) -> Suite:
    """Return a suite with one tool ``send`` and a tool ``look`` that answers as told."""
    text = {"type": "object", "properties": {"id": {"type": "string"}}}
    tools = [
        {
            "name": "send",
            "description": "Sends it.",
            "effect": "read",
            "parameters": {"type": "object", "properties": properties},
            **tool,
        },
        {"name": "look", "description": "Looks it up.", "effect": "read", "parameters": text},
    ]
    rules = [{"tool": "send", "results": [{"ok": {}}]}, {"tool": "look", "results": [{"ok": answer or {}}]}]
    return Suite(
        name="values",
        contract=Contract.from_json({"version": "1", "tools": tools}, "test"),
        prompts={"en": "Do it.", "ru": "Сделай."},
        executor=ToolScript.from_json({"version": "1", "rules": rules}),
        rules=NO_RULES,
        overlays={},
        cases=(),
    )


def meaning(value: Any, normalizer: str, **tool: Any) -> Meaning:
    suite = suite_of({"x": {}}, normalizers={"x": normalizer}, **tool)
    return normalized(suite.contract.by_name["send"], "x", value)


def play(
    properties: Properties,
    expected: Sequence[dict[str, Any]],
    made: Sequence[dict[str, Any]],
    user: str = "Send it.",
    lang: str = "en",
    answer: dict[str, Any] | None = None,
    match: str = "exact",
    **tool: Any,
) -> Verdict:
    """Judge calls of ``send`` made at once; with an ``answer`` something was looked up before."""
    calls = [{"tool": "send", "arguments": arguments, "match": match} for arguments in expected]
    look = [{"tool": "look", "arguments": {}}] if answer is not None else []
    case = make_case(user=user, lang=lang, expect={"kind": "tool_call", "calls": [*look, *calls]})
    before = [called(("look", {}))] if answer is not None else []
    replies = [*before, called(*(("send", arguments) for arguments in made)), DONE]
    return judged(case, *replies, suite=suite_of(properties, answer, **tool))


def argument_codes(verdict: Verdict) -> list[str]:
    layers = ("syntax", "structure", "values", "provenance", "selection", "order")
    return sorted(finding.code for finding in verdict.findings if finding.layer in layers)


@pytest.mark.parametrize(
    ("normalizer", "expected", "actual", "same"),
    [
        pytest.param("date", "2026-12-05T10:00", "2026-12-05T22:00", False, id="another time"),
        pytest.param("date", "2026-12-05T10:00", "2026-12-05", False, id="time left out"),
        pytest.param("date", "2026-12-05", "2026-12-05T00:00:00", True, id="midnight added"),
        pytest.param("date", "2026-12-05T10:00", "5 December 2026 at 10:00 am", True, id="in words"),
        pytest.param("date", "2026-12-05T22:00", "05.12.2026 10 pm", True, id="half of the day"),
        pytest.param("date", "2026-12-05", "5 декабря 2026 года", True, id="in Russian"),
        pytest.param("date", "2026-12-05", "5-12-2026", True, id="dashes"),
        pytest.param("date", "2026-12-05", "2026/12/05", True, id="slashes"),
        pytest.param("date", "2026-12-05T10:00+03:00", "2026-12-05T07:00Z", True, id="zones"),
        pytest.param("date", "2026-12-05T10:00Z", "2026-12-05T10:00+03:00", False, id="other zone"),
        pytest.param("date", "10:00", "22:00", False, id="time of day alone"),
        pytest.param("number", 1234567890123456789, "1234567890123456788", False, id="19th digit"),
        pytest.param("number", 1234567890123456789, "1234567890123456789", True, id="19 digits"),
        pytest.param("number", "0." + "1" * 30, "0." + "1" * 29, False, id="30th decimal"),
        pytest.param("number", 2.5, "2,5", True, id="comma"),
        pytest.param("number", 1250, "1,250", True, id="thousands"),
        pytest.param("number", "2.5 kg", "2,5 кг", True, id="unit in two languages"),
        pytest.param("number", "2.5 kg", "2.5 lb", False, id="another unit"),
        pytest.param("number", "2.5 kg", 2.5, False, id="unit left out"),
        pytest.param("money", "100 USD", "$100", True, id="sign and code"),
        pytest.param("money", "100 USD", "100 EUR", False, id="another currency"),
        pytest.param("money", "100 USD", "100", False, id="currency left out"),
        pytest.param("money", 100, "100 EUR", True, id="currency unsaid"),
        pytest.param("city", "Paris, France", "Paris, Texas", False, id="another country"),
        pytest.param("city", "Paris, France", "Paris", False, id="country left out"),
        pytest.param("city", "Paris", "City of Paris, France", True, id="country added"),
    ],
)
def test_a_normaliser_takes_spellings_for_the_same_and_nothing_else(
    normalizer: str, expected: Any, actual: Any, same: bool
) -> None:
    assert meaning(actual, normalizer).meets(meaning(expected, normalizer)) is same


@pytest.mark.parametrize(("said_as", "same"), [("2.5 kg", True), ("2.5 lb", False), (2.5, True)])
def test_a_declared_unit_is_what_an_unsaid_one_is(said_as: Any, same: bool) -> None:
    declared = {"units": {"x": "kg"}}
    assert meaning(said_as, "number", **declared).meets(meaning(2.5, "number", **declared)) is same


def test_a_text_in_another_unicode_form_passes_and_is_marked_as_normalised() -> None:
    city = "Йошкар-Ола"
    decomposed = unicodedata.normalize("NFD", city)
    verdict = play({"to": {"type": "string"}}, [{"to": city}], [{"to": decomposed}], f"Send to {city}.")
    assert argument_codes(verdict) == []
    assert (verdict.calls[0].exact, verdict.calls[0].normalized) == (False, True)


NUMBERED: Properties = {"n": {"type": "integer"}}


def test_as_many_calls_as_can_be_are_matched() -> None:
    # A takes 1 or 2, B only 1: whoever gives 1 to A has nothing left for B.
    case = make_case(
        user="Send 1 and 2.",
        expect={
            "kind": "tool_call",
            "calls": [
                {"tool": "send", "arguments": {"n": 1}, "accept": {"n": [2]}},
                {"tool": "send", "arguments": {"n": 1}},
            ],
        },
    )
    verdict = judged(case, called(("send", {"n": 1}), ("send", {"n": 2})), DONE, suite=suite_of(NUMBERED))
    assert argument_codes(verdict) == []
    assert [call.exact for call in verdict.calls] == [True, True]


def test_wrong_calls_are_matched_in_order_and_with_the_fewest_faults() -> None:
    two: Properties = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    expected = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    verdict = play(two, expected, [{"a": 3, "b": 9}, {"a": 1, "b": 8}], "1 2 3 4 8 9")
    assert sorted(f.path for f in verdict.findings) == ["calls[0].arguments.b", "calls[1].arguments.b"]


@pytest.mark.parametrize(
    ("expected", "made"),
    [
        pytest.param({"n": 1, "fast": False}, {"n": 1}, id="gold names the default"),
        pytest.param({"n": 1}, {"n": 1, "fast": False}, id="the call names it"),
    ],
)
def test_an_argument_left_out_has_its_default(expected: dict[str, Any], made: dict[str, Any]) -> None:
    properties = {**NUMBERED, "fast": {"type": "boolean", "default": False}}
    verdict = play(properties, [expected], [made], "Send 1.")
    assert argument_codes(verdict) == []
    assert verdict.calls[0].exact is True


def test_another_value_than_the_default_must_be_said() -> None:
    properties = {**NUMBERED, "fast": {"type": "boolean", "default": False}}
    verdict = play(properties, [{"n": 1, "fast": True}], [{"n": 1}], "Send 1.")
    assert argument_codes(verdict) == ["argument_mismatch"]


@pytest.mark.parametrize(
    ("times", "codes"),
    [(1, ["missing_call"]), (2, []), (3, ["repeated_call"])],
    ids=["once", "twice", "three times"],
)
def test_equal_calls_that_are_expected_are_no_repetition(times: int, codes: list[str]) -> None:
    verdict = play(NUMBERED, [{"n": 1}, {"n": 1}], [{"n": 1}] * times, "Send 1 twice.")
    assert argument_codes(verdict) == codes


TEXT: Properties = {"x": {"type": "string"}}
ANY: Properties = {"x": {}}


@pytest.mark.parametrize(
    ("user", "lang", "value", "grounded"),
    [
        pytest.param("Number 1234567890123456789.", "en", 1234567890123456789, True, id="a big integer"),
        pytest.param("Number 1234567890123456789.", "en", 1234567890123456788, False, id="its last digit"),
        pytest.param("Pay 1,250 now.", "en", 1250, True, id="thousands"),
        pytest.param("Pay 1,250 now.", "en", "1250", True, id="thousands as a text"),
        pytest.param("Заплати 1 250,50 руб.", "ru", 1250.5, True, id="blanks and a comma"),
        pytest.param("Two parcels.", "en", 2, True, id="in words"),
        pytest.param("Две посылки.", "ru", 2, True, id="in Russian words"),
        pytest.param("On 5 December 2026.", "en", "2026-12-05", True, id="a date in words"),
        pytest.param("5 декабря.", "ru", "2026-12-05", True, id="a date in Russian"),
        pytest.param("On 5 December.", "en", "2026-12-06", False, id="another day"),
        pytest.param("On 5 December at 10:00.", "en", "2026-12-05T10:00", True, id="date and time"),
        pytest.param("On 5 December at 10:00.", "en", "2026-12-05T22:00", False, id="another time"),
        pytest.param("Half past three in the afternoon.", "en", "15:30", True, id="a time in words"),
        pytest.param("To Kazan.", "en", "Kazakh", False, id="half a name"),
        pytest.param("В Казань.", "ru", "Казах", False, id="half a Russian name"),
        pytest.param("Я в Казани.", "ru", "Казань", True, id="another case"),
        pytest.param("Из Ростова-на-Дону.", "ru", "Ростов-на-Дону", True, id="a name of three words"),
        pytest.param("В Нижнем Новгороде.", "ru", "Нижний Новгород", True, id="two inflected words"),
        pytest.param("From Samara.", "en", "Samarkand", False, id="a longer name"),
        pytest.param("Доставку задержали.", "ru", "задержка", True, id="a noun for its verb"),
        pytest.param("Call +7 999 123-45-67.", "en", "+79991234567", True, id="a telephone number"),
        pytest.param("Call +7 999 123-45-67.", "en", "+79991234568", False, id="another number"),
        pytest.param("A 15 % discount.", "en", 0.15, True, id="a percentage as a fraction"),
    ],
)
def test_a_value_is_grounded_in_any_spelling_and_nothing_else_is(
    user: str, lang: str, value: Any, grounded: bool
) -> None:
    verdict = play(ANY, [{"x": "gold"}], [{"x": value}], user, lang)
    assert ("ungrounded_argument" not in verdict.codes) is grounded


def test_a_quantity_may_be_given_in_another_unit() -> None:
    for value, codes in ((2.5, []), (25, ["ungrounded_argument"])):
        verdict = play(
            {"x": {"type": "number"}}, [{"x": value}][:0], [{"x": value}], "2500 g.", units={"x": "kg"}
        )
        assert [code for code in verdict.codes if code == "ungrounded_argument"] == codes


def test_tomorrow_is_reckoned_from_a_day_that_is_given() -> None:
    for day, grounded in (("2026-12-01", True), ("2026-12-02", False)):
        case = make_case(
            user="Tomorrow, please.",
            context={"today": "2026-11-30"},
            expect={"kind": "tool_call", "calls": [{"tool": "send", "arguments": {"x": "gold"}}]},
        )
        verdict = judged(case, called(("send", {"x": day})), DONE, suite=suite_of(TEXT))
        assert ("ungrounded_argument" not in verdict.codes) is grounded


def test_what_means_the_expected_value_is_grounded() -> None:
    declared = {"normalizers": {"x": "city"}}
    verdict = play(TEXT, [{"x": "Paris"}], [{"x": "City of Paris"}], "To the capital.", **declared)
    assert "ungrounded_argument" not in verdict.codes


def test_where_every_value_comes_from_is_kept() -> None:
    properties: Properties = {
        "who": {"type": "string"},
        "what": {"type": "string"},
        "kind": {"type": "string", "default": "usual"},
        "why": {"type": "string"},
        "parts": {"type": "array", "items": {"type": "object"}},
    }
    made = {"who": "Ann", "what": "P-77", "kind": "usual", "why": "whim", "parts": [{"n": 3}]}
    verdict = play(properties, [made | {"why": "sale"}], [made], "For Ann, 3 of it.", answer={"code": "P-77"})
    assert dict(verdict.calls[1].origins) == {
        ".who": "user",
        ".what": "look",
        ".kind": "schema",
        ".why": None,
        ".parts[0].n": "user",
    }


@pytest.mark.parametrize(
    ("properties", "gold", "made", "path"),
    [
        pytest.param({"n": {"type": "integer"}}, {"n": 1}, {"n": "1"}, ".n", id="flat"),
        pytest.param(
            {"to": {"type": "object", "properties": {"zip": {"type": "string"}}}},
            {"to": {"zip": "1"}},
            {"to": {"zip": 1}},
            ".to.zip",
            id="nested",
        ),
        pytest.param(
            {"ship-to": {"type": "integer"}}, {"ship-to": 1}, {"ship-to": "1"}, "['ship-to']", id="hyphen"
        ),
        pytest.param({"вес": {"type": "integer"}}, {"вес": 1}, {"вес": "1"}, ".вес", id="Cyrillic"),
        pytest.param(
            {"items": {"type": "array", "items": {"type": "integer"}}},
            {"items": [1]},
            {"items": ["1"]},
            ".items[0]",
            id="in a list",
        ),
    ],
)
def test_one_fault_has_one_finding_wherever_it_is(
    properties: Properties, gold: dict[str, Any], made: dict[str, Any], path: str
) -> None:
    verdict = play(properties, [gold], [made], "Send 1.")
    assert [
        (f.code, f.path)
        for f in verdict.findings
        if f.layer in ("syntax", "structure", "values", "provenance")
    ] == [("wrong_type", f"calls[0].arguments{path}")]


REFERRED: Properties = {"n": {"$ref": "#/$defs/count"}}


@pytest.mark.parametrize(
    ("properties", "raw", "tier"),
    [
        pytest.param({"n": {"type": "number"}}, '{"n": 1e400}', "invalid", id="no finite number"),
        pytest.param({"n": {"type": "number"}}, '{"n": 1, "n": 1e400}', "invalid", id="nor the second"),
        pytest.param({"n": {"type": "number"}}, '{"n": NaN}', "invalid", id="not a number"),
        pytest.param({"n": {"type": "number"}}, '{"n": 2, "n": 1}', "repairable", id="a key twice"),
        pytest.param(REFERRED, '{"n": "5"}', "repairable", id="behind a reference"),
        pytest.param(REFERRED, '{"n": "x"}', "invalid", id="no number behind a reference"),
        pytest.param(
            {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
            '{"n": "5"}',
            "repairable",
            id="or null",
        ),
        pytest.param(
            {"n": {"type": "object", "additionalProperties": {"type": "integer"}}},
            '{"n": {"a": "5"}}',
            "repairable",
            id="any name",
        ),
    ],
)
def test_a_repair_follows_the_schema_and_makes_no_number_up(
    properties: Properties, raw: str, tier: str
) -> None:
    parameters = {"type": "object", "properties": properties, "$defs": {"count": {"type": "integer"}}}
    case = make_case(
        user="Send 5, 1 or 2.",
        expect={"kind": "tool_call", "calls": [{"tool": "send", "arguments": {"n": 5}}]},
    )
    suite = suite_of(properties, parameters=parameters).keep([case])
    # A text that is no object ends the attempt; after one that is, the model answers.
    attempt = attempt_of(case, [called(("send", raw)), DONE], suite, unused_ok=True)
    verdict = score(attempt, suite, AUTO)
    assert verdict is not None
    assert verdict.calls[0].tier.tier == tier
    assert verdict.calls[0].state == "rejected"


@pytest.mark.parametrize(
    "text",
    [
        'send(x="A-1")',
        '[send(x="A-1")]',
        'I will do it: send(x="A-1")',
        "Action: send\nAction Input: A-1",
        '{"name": "send", "arguments": {"x": "A-1"',
        '<｜DSML｜invoke name="send"><｜DSML｜parameter name="x">A-1',
        '<invoke name="send"><parameter name="x">A-1</parameter></invoke>',
        '```tool_code\nsend(x="A-1")\n```',
        'tool_code\nprint(send(x="A-1"))',
    ],
)
def test_a_call_written_as_text_is_none(text: str) -> None:
    case = make_case(user="Send A-1.", expect={"kind": "text"})
    assert "leaked_tool_call" in judged(case, said(text), suite=suite_of(TEXT)).codes


def test_a_tool_that_is_named_in_a_sentence_is_no_call() -> None:
    case = make_case(user="Can you send it?", expect={"kind": "text"})
    assert "leaked_tool_call" not in judged(case, said("I can send it (once)."), suite=suite_of(TEXT)).codes
