"""Argument faults as a model makes them, from the wire to the finding."""

from typing import Any

import pytest

from tests.support import called, delivery, judged, make_case, said
from toolbench.judging.repairs import tier_of

QUOTE = {"origin": "Kazan", "destination": "Samara", "weight_kg": 2.5, "service": "express"}
CASE = make_case(
    user="What does express delivery of 2.5 kg from Kazan to Samara cost?",
    expect={"kind": "tool_call", "calls": [{"tool": "quote_delivery", "arguments": QUOTE}]},
)
SORRY = said("Sorry, quotes for this route are temporarily unavailable. Please try again later.")


def test_a_right_call_and_an_honest_answer_pass() -> None:
    verdict = judged(CASE, called(("quote_delivery", QUOTE)), SORRY)
    assert verdict.codes == ()
    assert verdict.calls[0].tier.tier == "raw_valid"
    assert verdict.calls[0].exact is True


@pytest.mark.parametrize(
    ("raw", "code", "tier", "repair"),
    [
        pytest.param('{"origin": "Kazan"', "invalid_json", "invalid", None, id="cut-off"),
        pytest.param('{"a": 1, "a": 2}', "duplicate_key", "invalid", None, id="repeated-key"),
        pytest.param('{"weight_kg": NaN}', "non_finite_number", "invalid", None, id="nan"),
        pytest.param("[1]", "not_an_object", "invalid", None, id="list"),
        pytest.param("null", "not_an_object", "invalid", None, id="null"),
        pytest.param("", "invalid_json", "invalid", None, id="empty-for-a-tool-with-required-arguments"),
        pytest.param(
            '{"origin":"Kazan","destination":"Samara","weight_kg":2.5,"service":"express"} ok',
            "trailing_text",
            "repairable",
            "first_object_only",
            id="text-after",
        ),
        pytest.param(
            '"{\\"origin\\":\\"Kazan\\",\\"destination\\":\\"Samara\\",\\"weight_kg\\":2.5,\\"service\\":\\"express\\"}"',
            "double_encoded",
            "repairable",
            "unwrap_double_encoding",
            id="encoded-twice",
        ),
        pytest.param(
            '```json\n{"origin":"Kazan","destination":"Samara","weight_kg":2.5,"service":"express"}\n```',
            "invalid_json",
            "repairable",
            "strip_code_fence",
            id="code-fence",
        ),
    ],
)
def test_unreadable_arguments_are_never_executed_and_never_repaired(
    raw: str, code: str, tier: str, repair: str | None
) -> None:
    verdict = judged(CASE, called(("quote_delivery", raw)))
    assert code in verdict.codes
    assert verdict.calls[0].state == "rejected"
    assert verdict.calls[0].raw_arguments == raw
    assert verdict.calls[0].tier.tier == tier
    assert (repair in verdict.calls[0].tier.repairs) is (repair is not None)
    assert verdict.counts.decision_right == 1


@pytest.mark.parametrize(
    ("change", "codes", "tier"),
    [
        pytest.param({"weight_kg": "2.5"}, {"wrong_type"}, "repairable", id="number-as-text"),
        pytest.param(
            {"weight_kg": 5000}, {"out_of_range", "ungrounded_argument"}, "invalid", id="out-of-range"
        ),
        pytest.param({"service": "EXPRESS"}, {"not_in_enum"}, "repairable", id="letter-case"),
        pytest.param(
            {"service": "drone"}, {"not_in_enum", "ungrounded_argument"}, "invalid", id="outside-enum"
        ),
        pytest.param({"origin": ""}, {"empty_value"}, "invalid", id="empty"),
        pytest.param({"origin": None}, {"null_value"}, "invalid", id="null"),
        pytest.param({"fragile": True}, {"unexpected_property"}, "invalid", id="extra-property"),
    ],
)
def test_schema_faults_have_one_code_each_and_a_tier(
    change: dict[str, Any], codes: set[str], tier: str
) -> None:
    verdict = judged(CASE, called(("quote_delivery", {**QUOTE, **change})), said("Which one do you mean?"))
    assert set(verdict.codes) - {"no_answer"} == codes
    assert verdict.calls[0].state == "rejected"
    assert verdict.calls[0].tier.tier == tier


def test_a_structure_written_as_text_is_repairable_and_other_texts_stay() -> None:
    from toolbench.domain.contract import ToolSpec

    tool = ToolSpec(
        "edit",
        {"": "d"},
        {
            "type": "object",
            "properties": {
                "edits": {"type": "array", "items": {"type": "object"}},
                "note": {"type": "string"},
            },
            "required": ["edits"],
        },
    )
    arguments = {"edits": '[{"old": "a"}]', "note": '{"keep": "me"}'}
    result = tier_of(tool, "", arguments)
    assert result.tier == "repairable"
    assert result.after == {"edits": [{"old": "a"}], "note": '{"keep": "me"}'}


def test_values_are_compared_strictly_and_normalised_side_by_side() -> None:
    verdict = judged(CASE, called(("quote_delivery", {**QUOTE, "origin": "Казань"})), SORRY)
    assert verdict.codes == ("argument_mismatch",)
    assert verdict.calls[0].exact is False
    assert verdict.calls[0].normalized is True


@pytest.mark.parametrize(
    ("value", "equal"),
    [pytest.param(2.5, True, id="same"), pytest.param(3, False, id="other")],
)
def test_a_wrong_value_is_a_mismatch(value: float, equal: bool) -> None:
    verdict = judged(CASE, called(("quote_delivery", {**QUOTE, "weight_kg": value})), SORRY)
    assert ("argument_mismatch" not in verdict.codes) is equal


def test_an_integer_written_as_4_0_equals_4() -> None:
    case = make_case(
        user="Express, 4 kg, Kazan to Samara: price?",
        expect={
            "kind": "tool_call",
            "calls": [{"tool": "quote_delivery", "arguments": {**QUOTE, "weight_kg": 4}}],
        },
    )
    raw = '{"service":"express","weight_kg":4.0,"destination":"Samara","origin":"Kazan"}'
    assert judged(case, called(("quote_delivery", raw)), SORRY).codes == ()


def test_an_unknown_tool_is_its_own_code() -> None:
    verdict = judged(
        CASE, called(("get_weather", {"city": "Kazan"})), said("I cannot help with that, sorry.")
    )
    assert "unknown_tool" in verdict.codes
    assert "wrong_tool" not in verdict.codes
    assert verdict.calls[0].tier.tier == "invalid"
    assert delivery().contract.by_name.get("get_weather") is None


def test_a_call_cut_by_the_token_limit_is_truncated_and_not_executed() -> None:
    verdict = judged(CASE, called(("quote_delivery", '{"origin": "Kaz'), finish="length"))
    assert verdict.codes == ("truncated",)
    assert verdict.calls[0].state == "rejected"
