"""Nothing is reported about right behaviour, however it is written and told."""

from __future__ import annotations

import pytest

from tests.judging.suites import SUITES, one_of_each
from toolbench.domain.suite import Suite
from toolbench.judging import answers, decisions, matching, normalizers, provenance
from toolbench.selfcheck.harmless import FalseAlarms, false_alarms, variations
from toolbench.selfcheck.rehearse import judge

DELIVERY = SUITES["delivery"]
QUOTE = DELIVERY.case_by_key["ru", "quote_complete"]


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_no_harmless_variation_raises_an_alarm(suite: Suite) -> None:
    result = false_alarms([(suite, one_of_each(suite))])
    assert [str(alarm) for alarm in result.alarms] == []
    assert result.rate == 0
    assert result.made > 100


def test_there_are_a_hundred_variations_of_the_kinds_that_matter() -> None:
    kinds = {one.kind for case in DELIVERY.cases for one in variations(DELIVERY, case)}
    wanted = {
        "keys_reversed",
        "json_indented",
        "whole_numbers_as_4.0",
        "finish_stop",
        "announced",
        "decomposed",
        "without_yo",
        "in_bold",
        "thanks_before",
        "other_sentence_order",
        "fact_worded",
        "city_with_g_dot",
        "city_decomposed",
        "synonym",
        "accepted_value",
    }
    assert wanted <= kinds
    assert len(kinds) > 60


def only(kind: str) -> FalseAlarms:
    """Judge the variations of one kind of the quote."""
    result = false_alarms([(DELIVERY, [QUOTE])])
    result.alarms = [alarm for alarm in result.alarms if alarm.kind == kind]
    return result


def test_a_declared_normaliser_moves_the_strict_figure_only() -> None:
    spelled = [one for one in variations(DELIVERY, QUOTE) if one.kind == "city_with_g_dot"]
    assert len(spelled) == 2
    for variation in spelled:
        verdict = judge(DELIVERY, QUOTE, variation.script)
        assert verdict.codes == ("argument_mismatch",)
        assert (verdict.counts.calls_exact, verdict.counts.calls_normalized) == (0, 1)
        assert variation.relaxed is not None
        assert judge(DELIVERY, variation.relaxed, variation.script).codes == ()


def test_spellings_that_only_a_normaliser_knows_are_counted_apart() -> None:
    result = false_alarms([(DELIVERY, [QUOTE])])
    assert result.strict_by_design > 0
    assert result.alarms == []


@pytest.mark.xfail(reason="blinds a function the new judge no longer uses: to be rewritten", strict=False)
def test_a_judge_that_reads_text_byte_by_byte_raises_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    for home in (answers, decisions, provenance):
        monkeypatch.setattr(home, "normalize", lambda text: text)
    assert {"in_capitals", "in_bold"} & {alarm.kind for alarm in false_alarms([(DELIVERY, [QUOTE])]).alarms}


def test_a_judge_without_normalisers_raises_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalizers, "NORMALIZERS", {})
    assert only("city_with_g_dot").alarms


def test_a_judge_that_keeps_4_and_4_0_apart_raises_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(
        case
        for case in DELIVERY.cases
        if any(isinstance(call.arguments.get("weight_kg"), int) for call in case.expect.calls)
    )
    for name in ("equal", "identical"):
        monkeypatch.setattr(matching, name, lambda left, right: repr(left) == repr(right))
    alarms = false_alarms([(DELIVERY, [case])]).alarms
    assert "whole_numbers_as_4.0" in {alarm.kind for alarm in alarms}


def test_a_finish_reason_or_a_friendly_word_decides_nothing() -> None:
    kinds = {one.kind: one for one in variations(DELIVERY, QUOTE)}
    for kind in ("finish_stop", "announced", "thought_aloud", "content_null"):
        assert judge(DELIVERY, QUOTE, kinds[kind].script).passed
