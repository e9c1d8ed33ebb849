"""One reply may be anything; the other attempts of its run are judged all the same."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.running.test_log import new_log
from tests.support import attempt_of, called, delivery, make_case, said
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.log import LOG_NAME
from toolbench.judging import guard
from toolbench.judging.guard import Judged, judge
from toolbench.numbers.frames import load_run
from toolbench.numbers.outputs import report_json

LOOKUP = make_case(
    user="Where is ORD-123456?",
    expect={"kind": "tool_call", "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}]},
)
QUOTE = make_case(
    user="What is delivery of 2.5 kg to Rome?",
    expect={
        "kind": "tool_call",
        "calls": [{"tool": "quote_delivery", "arguments": {"destination_city": "Rome", "weight_kg": 2.5}}],
    },
)


def judged(case: Any, *replies: dict[str, Any]) -> Judged:
    suite = delivery().keep([case])
    return judge(attempt_of(case, replies, suite), suite, BUILT_IN_CONDITIONS["auto"])


def lookup(arguments: Any) -> dict[str, Any]:
    return called(("get_order", arguments))


@pytest.mark.parametrize(
    ("case", "reply", "code"),
    [
        pytest.param(
            QUOTE,
            called(("quote_delivery", {"destination_city": "Rome", "weight_kg": "9" * digits})),
            "wrong_type",
            id=f"{digits}-digits-as-text",
        )
        for digits in (308, 309, 4301, 100_000)
    ]
    + [
        pytest.param(
            LOOKUP, lookup('{"order_id": ' + "[" * depth + "]" * depth + "}"), code, id=f"{depth}-levels"
        )
        for depth, code in (
            (99, "wrong_type"),
            (101, "invalid_json"),
            (600, "invalid_json"),
            (990, "invalid_json"),
        )
    ],
)
def test_what_no_number_or_nesting_can_be_is_the_models_mistake(case: Any, reply: Any, code: str) -> None:
    attempt = attempt_of(case, [reply, said("Done.")], suite := delivery().keep([case]), unused_ok=True)
    outcome = judge(attempt, suite, BUILT_IN_CONDITIONS["auto"])
    assert outcome.status == "ok"
    assert outcome.verdict is not None
    assert code in outcome.verdict.codes


@pytest.mark.parametrize("digits", [4301, 50_000])
def test_an_answer_of_thousands_of_digits_is_an_invented_value(digits: int) -> None:
    outcome = judged(LOOKUP, lookup({"order_id": "ORD-123456"}), said("It costs " + "7" * digits))
    assert outcome.verdict is not None
    assert "invented_value" in outcome.verdict.codes


@pytest.mark.parametrize(
    "text",
    ["e" + "\u0301\u0316" * 90_000, "12:30 " * 30_000, "12.12.2024 " * 15_000, "<" * 190_000, "7 " * 90_000],
    ids=["stacked-accents", "times", "dates", "brackets", "numbers"],
)
def test_the_longest_answers_that_are_judged_take_seconds(text: str) -> None:
    started = time.process_time()
    outcome = judged(LOOKUP, lookup({"order_id": "ORD-123456"}), said(text))
    assert outcome.status == "ok"
    assert time.process_time() - started < 8


def test_a_longer_answer_is_not_judged_and_says_so() -> None:
    outcome = judged(LOOKUP, lookup({"order_id": "ORD-123456"}), said("a" * 200_001))
    assert (outcome.status, outcome.verdict) == ("judge_error", None)
    assert outcome.problem == "a text of 200001 characters; 200000 are judged"


def test_a_verdict_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def forever(*arguments: Any) -> None:
        while True:
            pass

    monkeypatch.setattr(guard, "score", forever)
    suite = delivery().keep([LOOKUP])
    attempt = attempt_of(LOOKUP, [said("Hello.")], suite)
    outcome = judge(attempt, suite, BUILT_IN_CONDITIONS["auto"], seconds=0.1)
    assert outcome.problem == "no verdict after 0.1 s of processor time"


def test_a_saved_run_is_scored_around_the_attempt_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_log(tmp_path / "r", 3)
    file = tmp_path / "r" / LOG_NAME
    lines = file.read_text().split("\n")
    broken = json.loads(lines[2])
    broken["turns"][0]["decision"]["text"] = "a" * 300_000
    file.write_text("\n".join([*lines[:2], json.dumps(broken), *lines[3:]]))
    scored = load_run(tmp_path / "r")
    assert list(scored.attempts["status"]) == ["ok", "judge_error", "ok"]
    assert list(scored.attempts["scored"]) == [True, False, True]
    (line,) = scored.judge_errors
    assert line.startswith("baseline/always_silent/")
    assert "300000 characters" in line
    result = next(r for r in report_json(scored)["results"] if r["attempted"])
    assert (result["scored"], result["judge_errors"], result["transport_errors"]) == (2, 1, 0)


def test_whatever_a_check_raises_is_the_attempts_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise KeyError("a fault\nof a check")

    monkeypatch.setattr(guard, "score", fail)
    suite = delivery().keep([LOOKUP])
    attempt = attempt_of(LOOKUP, [said("Hello.")], suite)
    outcome = judge(attempt, suite, BUILT_IN_CONDITIONS["auto"])
    assert outcome.status == "judge_error"
    assert outcome.problem == r"KeyError: 'a fault\nof a check'"
