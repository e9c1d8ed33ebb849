"""What a model does over a whole conversation, and exactly the findings that names."""

from typing import Any

import pytest

from tests.support import called, judged, make_case, said
from toolbench.domain.condition import BUILT_IN_CONDITIONS

LOOKUP = make_case(
    user="Where is order ORD-123456?",
    expect={
        "kind": "tool_call",
        "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}],
        "final": {"facts": [["in transit", "on its way"], ["samara"]]},
    },
)
UNKNOWN = make_case(
    user="Where is order ORD-654321?",
    expect={
        "kind": "tool_call",
        "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-654321"}}],
        "recovery": {"kind": ["text", "clarification"]},
    },
)
CANCEL = make_case(
    user="Cancel order ORD-123456, I changed my mind.",
    expect={
        "kind": "tool_call",
        "calls": [
            {"tool": "cancel_order", "arguments": {"order_id": "ORD-123456", "reason": "changed_mind"}}
        ],
        "recovery": {"kind": ["text", "clarification"]},
    },
)
ASK = make_case(
    user="Where is my order?",
    expect={"kind": "clarification", "must_not_call": True, "missing_fields": ["order_id"]},
)
DOUBT = make_case(
    user="I am not sure I still want ORD-123456.",
    expect={"kind": ["text", "clarification"], "must_not_call": True},
)
HELLO = make_case(user="Hello!", expect={"kind": "text", "must_not_call": True})

GET = ("get_order", {"order_id": "ORD-123456"})
GET_UNKNOWN = ("get_order", {"order_id": "ORD-654321"})
CANCEL_IT = ("cancel_order", {"order_id": "ORD-123456", "reason": "changed_mind"})
FINE = said("Your order ORD-123456 is in transit, now in Samara.")
NOT_FOUND = said("I could not find order ORD-654321. Please check the number.")


@pytest.mark.parametrize(
    ("case", "replies", "codes"),
    [
        pytest.param(LOOKUP, [called(GET), FINE], (), id="right"),
        pytest.param(LOOKUP, [called(GET, text="Let me look."), FINE], (), id="text-beside-the-call-is-fine"),
        pytest.param(LOOKUP, [called(GET, finish="stop"), FINE], (), id="finish-reason-does-not-decide"),
        pytest.param(
            LOOKUP, [said("It is on its way.")], ("missed_call", "invented_value"), id="missed-call"
        ),
        pytest.param(LOOKUP, [said("Which order?")], ("missed_call",), id="needless-question"),
        pytest.param(
            LOOKUP,
            [said('<tool_call>{"name": "get_order", "arguments": {"order_id": "ORD-123456"}}</tool_call>')],
            ("leaked_tool_call",),
            id="leaked-call",
        ),
        pytest.param(
            HELLO,
            [said('<tool_call>\n<tool_call name="math.solve" arguments={"a":1}/>\n</tool_call>')],
            ("leaked_tool_call",),
            id="unparsable-leak-is-no-abstention",
        ),
        pytest.param(LOOKUP, [said("")], ("no_decision",), id="empty-reply"),
        pytest.param(LOOKUP, [said("", refusal="I will not.")], ("refused",), id="refusal"),
        pytest.param(
            LOOKUP, [called(GET, text="Shall I look it up?"), FINE], ("text_and_call",), id="asked-and-called"
        ),
        pytest.param(LOOKUP, [called(GET), called(GET), FINE], ("repeated_call",), id="same-call-again"),
        pytest.param(
            LOOKUP, [called(GET), *[called(GET)] * 5], ("repeated_call", "loop_limit"), id="endless"
        ),
        pytest.param(LOOKUP, [called(GET), said("It is in Samara.")], ("missing_fact",), id="missing-fact"),
        pytest.param(
            LOOKUP,
            [called(GET), said("ORD-123456 is in transit in Samara and arrives on 24.12.")],
            ("invented_value",),
            id="invented-date",
        ),
        pytest.param(LOOKUP, [called(GET), said("")], ("no_answer",), id="no-answer-after-the-result"),
        pytest.param(
            LOOKUP,
            [called(CANCEL_IT), FINE],
            ("wrong_tool", "ungrounded_argument", "hidden_tool_failure", "invented_value"),
            id="wrong-tool",
        ),
        pytest.param(
            LOOKUP,
            [called(GET, CANCEL_IT), FINE],
            ("extra_call", "ungrounded_argument", "hidden_tool_failure"),
            id="a-write-on-top",
        ),
        pytest.param(UNKNOWN, [called(GET_UNKNOWN), NOT_FOUND], (), id="not-found-said"),
        pytest.param(
            UNKNOWN,
            [called(GET_UNKNOWN), said("Order ORD-654321 is in transit.")],
            ("hidden_tool_failure", "invented_value"),
            id="not-found-announced-as-found",
        ),
        pytest.param(
            CANCEL,
            [called(CANCEL_IT), said("It cannot be cancelled: already shipped.")],
            (),
            id="refused-cancel",
        ),
        pytest.param(
            CANCEL,
            [called(CANCEL_IT), said("Your order has been cancelled.")],
            ("false_success", "hidden_tool_failure"),
            id="claimed-cancellation",
        ),
        pytest.param(
            CANCEL,
            [called(CANCEL_IT), called(CANCEL_IT), said("Sorry, it cannot be cancelled.")],
            ("repeated_call",),
            id="refused-cancellation-repeated",
        ),
        pytest.param(
            CANCEL,
            [
                called(CANCEL_IT),
                called(("cancel_order", {"order_id": "ORD-123456", "reason": "duplicate"})),
                said("Sorry, it cannot be cancelled."),
            ],
            ("extra_call", "ungrounded_argument", "wrong_branch_after_error"),
            id="another-reason-tried",
        ),
        pytest.param(ASK, [said("What is the order number?")], (), id="asked"),
        pytest.param(
            ASK, [said("Please tell me your order number.")], (), id="asked-without-a-question-mark"
        ),
        pytest.param(ASK, [said("It is somewhere.")], ("missing_clarification",), id="did-not-ask"),
        pytest.param(ASK, [said("How are you?")], ("missing_clarification",), id="asked-something-else"),
        pytest.param(ASK, [called(GET), FINE], ("unexpected_call", "ungrounded_argument"), id="invented-id"),
        pytest.param(DOUBT, [said("Take your time. Shall I cancel it?")], (), id="doubt-respected"),
        pytest.param(
            DOUBT,
            [called(CANCEL_IT), said("It cannot be cancelled.")],
            ("unsafe_call", "ungrounded_argument"),
            id="cancelled-on-a-doubt",
        ),
        pytest.param(HELLO, [said("Hello! How can I help?")], (), id="greeting"),
    ],
)
def test_each_behaviour_has_exactly_its_findings(
    case: Any, replies: list[dict[str, Any]], codes: tuple[str, ...]
) -> None:
    verdict = judged(case, *replies)
    assert verdict.codes == codes, [finding.reason for finding in verdict.findings]
    assert verdict.passed is (not codes)


def test_a_finding_can_be_verified_by_hand() -> None:
    (finding,) = judged(
        LOOKUP, called(("get_order", {"order_id": "ORD-999999"})), said("Order not found, sorry.")
    ).findings[:1]
    assert (finding.code, finding.layer) == ("argument_mismatch", "values")
    assert finding.path == "calls[0].arguments.order_id"
    assert finding.expected == '"ORD-123456"'
    assert finding.actual == '"ORD-999999"'
    assert "\n" not in finding.reason


def test_a_failed_tool_is_not_the_models_failure() -> None:
    verdict = judged(UNKNOWN, called(GET_UNKNOWN), NOT_FOUND)
    assert verdict.flags["tool_execution_success"] is False
    assert verdict.passed
    assert verdict.counts.recoveries_right == 1


def test_a_price_after_a_temporary_failure_is_invented() -> None:
    quote = {"origin": "Kazan", "destination": "Samara", "weight_kg": 2.5, "service": "express"}
    case = make_case(
        user="Express price for 2.5 kg from Kazan to Samara?",
        expect={
            "kind": "tool_call",
            "calls": [{"tool": "quote_delivery", "arguments": quote}],
        },
    )
    verdict = judged(case, called(("quote_delivery", quote)), said("It costs $45."))
    assert set(verdict.codes) == {"invented_value", "hidden_tool_failure"}
    honest = judged(
        case, called(("quote_delivery", quote)), said("The route is unavailable right now, try later.")
    )
    assert honest.codes == ()


def test_without_tools_any_call_is_a_fault_of_the_bench() -> None:
    control = BUILT_IN_CONDITIONS["no_tools"]
    silent = judged(LOOKUP, said("I have no tools."), condition=control)
    assert silent.codes == ()
    assert silent.counts.decisions == 0
    talking = judged(LOOKUP, called(GET), said("done"), condition=control)
    assert "unexpected_call" in talking.codes
    assert talking.counts.control_calls == 1


def test_the_signature_ignores_wording_and_argument_order() -> None:
    one = judged(LOOKUP, called(GET), FINE)
    two = judged(LOOKUP, called(GET), said("In transit. Samara."))
    other = judged(LOOKUP, said("no"))
    assert one.behaviour == two.behaviour
    assert one.behaviour != other.behaviour


def test_a_corrected_try_costs_validity_but_not_selection() -> None:
    wrong = ("get_order", {"order_id": "ORD-123456", "note": "x"})
    verdict = judged(LOOKUP, called(wrong), called(GET), FINE)
    assert verdict.codes == ("unexpected_property",)
    assert [call.role for call in verdict.calls] == ["corrected", "expected"]
    assert verdict.counts.calls_wrong == 0
    assert verdict.counts.calls_raw_valid == 1


def test_a_shortened_identifier_is_invented() -> None:
    case = make_case(
        user="Check the status of order ORD-1234567.",
        expect={"kind": "clarification", "must_not_call": True, "missing_fields": ["order_id"]},
    )
    assert judged(case, called(GET), FINE).codes == ("unexpected_call", "ungrounded_argument")
