"""Nothing is reported about right behaviour, however it is written and told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.judging.suites import SUITES, one_of_each
from toolbench.domain.suite import Suite
from toolbench.judging import facts, matching, normalizers, provenance
from toolbench.judging.reading import reader, russian_words
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


@pytest.fixture
def afresh() -> Iterator[None]:
    """Forget what was read, before and after: a blinded judge must read for itself and leave nothing."""
    memories = (reader._read, facts.wanted)
    for memory in memories:
        memory.cache_clear()
    yield
    for memory in memories:
        memory.cache_clear()


def alarming(*cases: str) -> set[str]:
    found = false_alarms([(DELIVERY, [DELIVERY.case_by_key["ru", name] for name in cases])])
    return {alarm.kind for alarm in found.alarms}


@pytest.mark.usefixtures("afresh")
def test_a_judge_that_knows_words_by_their_letters_raises_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = ("quote_complete", "direct_lookup", "cancel_explicit")
    assert alarming(*cases) == set()
    reader._read.cache_clear()
    facts.wanted.cache_clear()
    monkeypatch.setattr(russian_words.Token, "lemma", property(lambda token: token.text))
    assert "in_capitals" in alarming(*cases)


@pytest.mark.usefixtures("afresh")
def test_a_judge_that_takes_marks_for_words_raises_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "prepared", lambda text: (text, False))
    monkeypatch.setattr(reader, "prose", lambda text: text)
    found = false_alarms([(DELIVERY, one_of_each(DELIVERY))])
    assert "in_angle_quotes" in {alarm.kind for alarm in found.alarms}


def test_a_judge_without_normalisers_raises_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dict.fromkeys(normalizers.NORMALIZERS, normalizers.Meaning)
    monkeypatch.setattr(normalizers, "NORMALIZERS", bare)
    # What texts mean is kept; a blinded judge must not live on that, nor leave anything behind.
    kept = (normalizers._text_meant, normalizers._text_normalized, provenance._origin)
    for one in kept:
        one.cache_clear()
    try:
        assert only("city_with_g_dot").alarms
    finally:
        for one in kept:
            one.cache_clear()


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
