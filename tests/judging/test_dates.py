"""Dates and times in an answer are single values: given as a whole, or invented."""

from __future__ import annotations

import pytest

from tests.support import called, judged, make_case, said
from toolbench.domain.contract import Contract
from toolbench.domain.rules import NO_RULES
from toolbench.domain.suite import Suite
from toolbench.domain.tool_script import ToolScript

LOOK = {
    "name": "look",
    "description": "Looks up the next appointment.",
    "effect": "read",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}


def suite_saying(**result: object) -> Suite:
    """Return a suite whose one tool answers with this."""
    contract = {"version": "1", "tools": [LOOK]}
    return Suite(
        name="looking",
        contract=Contract.from_json(contract, "test"),
        prompts={"en": "Look it up.", "ru": "Посмотри."},
        executor=ToolScript.from_json(
            {"version": "1", "rules": [{"tool": "look", "results": [{"ok": result}]}]}
        ),
        rules=NO_RULES,
        overlays={},
        cases=(),
    )


def codes(answer: str, lang: str = "en", user: str = "When is Ann due?", **result: object) -> tuple[str, ...]:
    """Return what is reported about an answer after a result."""
    case = make_case(
        lang=lang,
        user=user,
        expect={"kind": "tool_call", "calls": [{"tool": "look", "arguments": {"name": "Ann"}}]},
    )
    verdict = judged(case, called(("look", {"name": "Ann"})), said(answer), suite=suite_saying(**result))
    return verdict.codes


@pytest.mark.parametrize(
    "answer",
    [
        "On 2026-12-24.",
        "On 24.12.2026.",
        "On 24/12/2026.",
        "On 12/24/2026, that is.",
        "On 24.12.",
        "On 24 December.",
        "On December 24th, 2026.",
        "On the 24th of December.",
        "On Dec. 24.",
        "On **24 December 2026**, from 10:30.",
        "24 December at 10:30 am.",
        "At 10.30 on 24 December.",
    ],
)
def test_a_given_date_may_be_spelled_in_any_way(answer: str) -> None:
    assert codes(answer, day="2026-12-24", hour="10:30") == ()


@pytest.mark.parametrize("answer", ["24 декабря.", "24 декабря 2026 г.", "24.12.2026 в 10:30.", "Это 24.12."])
def test_a_given_date_may_be_spelled_in_any_way_in_russian(answer: str) -> None:
    assert codes(answer, "ru", day="2026-12-24", hour="10:30") == ()


@pytest.mark.parametrize(
    "answer",
    [
        "On 2026-12-25.",
        "On 25.12.2026.",
        "On 24.11.2026.",
        "On 24.12.2027.",
        "On 25 December.",
        "On December 3.",
        "On 2026-24-12.",
        "On 24.12.2026 at 11:30.",
        "On 24.12.2026 at 10:24.",
        "At 11 pm.",
    ],
)
def test_an_invented_date_or_time_is_invented_as_a_whole(answer: str) -> None:
    assert codes(answer, day="2026-12-24", hour="10:30") == ("invented_value",)


@pytest.mark.parametrize("answer", ["Через 2 дня, 3 декабря.", "Ждите 25.12.2026.", "Ждите к 21:47."])
def test_an_invented_date_is_invented_in_russian(answer: str) -> None:
    assert codes(answer, "ru", day="2026-12-24", hour="10:30") == ("invented_value",)


@pytest.mark.parametrize(
    ("answer", "given", "expected"),
    [
        pytest.param("It is -65.", {"value": -65}, (), id="minus"),
        pytest.param("It is -69.", {"value": -65}, ("invented_value",), id="another-negative-number"),
        pytest.param("It is 160,227.", {"value": 160227.3}, (), id="rounded-with-a-thousands-comma"),
        pytest.param("It is 12,500.", {"value": 12500}, (), id="thousands-comma"),
        pytest.param("It is 160,229.", {"value": 160227.3}, ("invented_value",), id="another-number"),
        pytest.param("It is 12. We are here 24/7.", {"value": 12}, (), id="figure-of-speech"),
        pytest.param("Between 10 and 12.", {"from": 10, "to": 12}, (), id="interval"),
        pytest.param("The 12 may be late.", {"line": 12}, (), id="may-is-a-verb"),
        pytest.param("2 December. 10 it is.", {"day": "2026-12-02", "hour": 10}, (), id="full-stop"),
    ],
)
def test_numbers_are_told_from_dates_and_signs_from_dashes(
    answer: str, given: dict[str, object], expected: tuple[str, ...]
) -> None:
    assert codes(answer, **given) == expected


def test_what_the_user_said_is_given() -> None:
    assert codes("Not on 24 December, it seems.", user="Is Ann due on 24.12. this year?", due=False) == ()
