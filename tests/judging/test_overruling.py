"""What a person says takes the place of what was found, and of nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import attempt_of, called, delivery, make_case, said
from toolbench.domain import labels
from toolbench.domain.config import BUILT_IN_CONDITIONS
from toolbench.domain.labels import Said
from toolbench.judging.overruling import overrule
from toolbench.judging.score import score
from toolbench.judging.trace import Finding

GET = ("get_order", {"order_id": "ORD-123456"})
CASE = make_case(
    user="Where is order ORD-123456?",
    expect={
        "kind": "tool_call",
        "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}],
        "final": {"facts": [["samara"]]},
    },
)
SUITE = delivery().keep([CASE])
ATTEMPT = attempt_of(CASE, [called(GET), said("Your parcel is travelling.")], SUITE)
LABEL = labels.label(ATTEMPT, "0", None, "pass", who="Ada", note="why")
UNCLEAR = Finding("unclear", path="final", expected="a", actual="b", reason="c")
MISSING = Finding("missing_fact", path="final", expected="a", actual="b", reason="c")


def codes(findings: list[Finding], **verdicts: Said) -> list[str]:
    given = {
        None if code == "whole" else code: replace(LABEL, verdict=said) for code, said in verdicts.items()
    }
    return [finding.code for finding in overrule(findings, given)]


@pytest.mark.parametrize(
    ("findings", "verdicts", "left"),
    [
        pytest.param([MISSING], {}, ["missing_fact"], id="nothing said"),
        pytest.param([MISSING, UNCLEAR], {"whole": "pass"}, [], id="all of it is right"),
        pytest.param([MISSING, UNCLEAR], {"missing_fact": "pass"}, ["unclear"], id="a false alarm"),
        pytest.param([MISSING], {"missing_fact": "fail"}, ["missing_fact"], id="upheld"),
        pytest.param([UNCLEAR], {"unclear": "pass"}, [], id="unclear and right"),
        pytest.param([UNCLEAR], {"unclear": "fail"}, ["judged_by_person"], id="unclear and wrong"),
        pytest.param([UNCLEAR], {"unclear": "unclear"}, ["unclear"], id="still unclear"),
        pytest.param([], {"whole": "fail"}, ["judged_by_person"], id="a miss"),
        pytest.param([UNCLEAR], {"whole": "fail"}, ["judged_by_person"], id="unclear, and wrong as a whole"),
        pytest.param([MISSING], {"whole": "fail"}, ["missing_fact"], id="wrong, as was found"),
        pytest.param([MISSING], {"whole": "unclear"}, ["missing_fact"], id="nobody can tell"),
    ],
)
def test_labels_decide_what_findings_come_to(
    findings: list[Finding], verdicts: dict[str, Said], left: list[str]
) -> None:
    assert codes(findings, **verdicts) == left


def test_a_verdict_is_what_people_say_and_its_calls_stay_what_they_were() -> None:
    auto = BUILT_IN_CONDITIONS["auto"]
    plain = score(ATTEMPT, SUITE, auto)
    taken_back = score(ATTEMPT, SUITE, auto, {"missing_fact": LABEL})
    assert plain is not None
    assert taken_back is not None
    assert (plain.codes, taken_back.codes) == (("missing_fact",), ())
    assert (plain.counts.passed, taken_back.counts.passed) == (0, 1)
    assert (plain.counts.answers_supported, taken_back.counts.answers_supported) == (0, 1)
    assert plain.calls == taken_back.calls
    wrong = score(ATTEMPT, SUITE, auto, {None: replace(LABEL, verdict="fail"), "missing_fact": LABEL})
    assert wrong is not None
    assert wrong.codes == ("judged_by_person",)
    assert wrong.counts.answers_supported == 0
