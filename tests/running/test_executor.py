"""The executor: validation, scripted results, retries on a virtual clock, writes that take effect once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ROOT
from toolbench.domain.contract import Contract
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import CallRecord
from toolbench.domain.suite import find_suite
from toolbench.domain.tool_script import ToolScript
from toolbench.domain.validation import CODE_OF_KEYWORD
from toolbench.running import executor as executor_module
from toolbench.running.executor import TEMPORARY_STATUSES, Executor

CONTRACT = Contract.from_json(
    {
        "version": "1",
        "tools": [
            {
                "name": name,
                "description": name,
                "parameters": {
                    "type": "object",
                    "properties": {"key": {"type": "string"}, "amount": {"type": "number"}},
                    "required": ["key"],
                    "additionalProperties": False,
                },
                "effect": effect,
            }
            for name, effect in (("look", "read"), ("pay", "write"))
        ],
    },
    "test",
)
OK: dict[str, Any] = {"ok": {"done": True}}


def error(status: int, *, permanent: bool = False, effect: bool = False, **more: Any) -> dict[str, Any]:
    """Return a scripted error; its code is made of the status."""
    return {
        "error": {
            "code": f"E{status}",
            "permanent": permanent,
            "status": status,
            "message": {"ru": "Не вышло.", "en": "It failed."},
            "hint": {"ru": "Попробуй позже.", "en": "Try later."},
            **more,
        },
        **({"effect": True} if effect else {}),
    }


def executor(
    *results: Mapping[str, Any],
    tool: str = "look",
    lang: str = "en",
    hints: bool = True,
    every: float | None = None,
    **script: Any,
) -> Executor:
    rule = {"tool": tool, "results": list(results), **({"every_seconds": every} if every else {})}
    retry = {"tries": 3, "base_seconds": 1, "cap_seconds": 20, "timeout_seconds": 10}
    return Executor(
        CONTRACT,
        ToolScript.from_json({"version": "1", "retry": retry, "rules": [rule], **script}),
        lang,
        hints,
    )


def run(made: Executor, tool: str = "look", **arguments: Any) -> CallRecord:
    arguments = {"key": "a", **arguments}
    return made.run(ToolCall("c1", tool, json.dumps(arguments), arguments), 0, made.tool_names)


def journal(record: CallRecord) -> list[tuple[Any, Any]]:
    """Return ``(virtual time, status)`` of every try."""
    assert record.result is not None
    return [(one["at"], one["status"]) for one in record.result.tries]


def text(record: CallRecord) -> str:
    assert record.result is not None
    return record.result.content


@pytest.mark.parametrize(
    ("results", "tries", "state"),
    [
        pytest.param([OK], [(0, 200)], "executed", id="no_fault"),
        pytest.param(
            [error(500), error(500), OK], [(0, 500), (1, 500), (3, 200)], "executed", id="500_500_200"
        ),
        pytest.param([error(500)], [(0, 500), (1, 500), (3, 500)], "failed", id="down_for_good"),
        pytest.param([error(401), OK], [(0, 401)], "failed", id="401_is_not_retried"),
        pytest.param([error(403), OK], [(0, 403)], "failed", id="403_is_not_retried"),
        pytest.param([error(404, permanent=True), OK], [(0, 404)], "failed", id="not_found"),
        pytest.param([error(500, permanent=True), OK], [(0, 500)], "failed", id="permanent_500"),
        pytest.param([error(429), OK], [(0, 429), (1, 200)], "executed", id="429"),
        pytest.param([error(429, permanent=True), OK], [(0, 429)], "failed", id="quota_spent"),
        pytest.param([error(429, retry_after=7), OK], [(0, 429), (7, 200)], "executed", id="asked_to_wait"),
        pytest.param(
            [error(429, retry_after=0.2), OK], [(0, 429), (1, 200)], "executed", id="asked_for_less"
        ),
        pytest.param(
            [error(429, retry_after=21), OK], [(0, 429)], "failed", id="asked_for_more_than_the_cap"
        ),
        pytest.param([error(0), OK], [(0, 0), (11, 200)], "executed", id="a_timeout_takes_its_time"),
        pytest.param([{"malformed": "<html>"}, OK], [(0, 502), (1, 200)], "executed", id="malformed_once"),
    ],
)
def test_temporary_faults_are_retried_by_code(
    results: Sequence[Mapping[str, Any]], tries: list[tuple[float, int]], state: str
) -> None:
    record = run(executor(*results))
    assert journal(record) == tries
    assert record.states[-1] == state


def test_without_a_policy_there_is_one_try() -> None:
    assert journal(run(executor(error(500), OK, retry={}))) == [(0, 500)]


@given(st.lists(st.sampled_from([200, 401, 404, *sorted(TEMPORARY_STATUSES)]), min_size=1, max_size=8))
def test_tries_end_at_the_first_result_that_a_retry_cannot_change(statuses: list[int]) -> None:
    record = run(executor(*(OK if status == 200 else error(status) for status in statuses)))
    made = [status for _, status in journal(record)]
    assert 1 <= len(made) <= 3
    assert all(status in TEMPORARY_STATUSES for status in made[:-1])
    assert made[-1] not in TEMPORARY_STATUSES or len(made) == 3
    times = [at for at, _ in journal(record)]
    assert times == sorted(times)


def test_a_sequence_goes_on_from_call_to_call_and_its_last_result_repeats() -> None:
    made = executor({"ok": 1}, {"ok": 2})
    assert [run(made).result.value for _ in range(3)] == [1, 2, 2]  # type: ignore[union-attr]


def test_polling_is_kept_apart_on_the_virtual_clock() -> None:
    made = executor({"ok": "pending"}, {"ok": "done"}, every=10)
    assert [journal(run(made))[0][0] for _ in range(3)] == [0, 10, 20]


@pytest.mark.parametrize(
    ("lang", "hints", "told"),
    [
        ("en", True, "E404: It failed. Try later."),
        ("en", False, "E404: It failed."),
        ("ru", True, "E404: Не вышло. Попробуй позже."),
        ("ru", False, "E404: Не вышло."),
        ("de", False, "E404: Не вышло."),
    ],
)
def test_an_error_is_told_with_and_without_a_hint(lang: str, hints: bool, told: str) -> None:
    record = run(executor(error(404, permanent=True), lang=lang, hints=hints))
    assert text(record) == told
    assert record.result is not None
    assert (record.result.code, record.result.permanent, record.result.is_error) == ("E404", True, True)


def test_a_malformed_answer_is_an_error_without_the_garbage() -> None:
    record = run(executor({"malformed": "<html>secret</html>"}))
    assert record.result is not None
    assert record.result.code == "MALFORMED_RESPONSE"
    assert "secret" not in text(record)


def test_a_result_holds_the_arguments_and_is_capped() -> None:
    made = executor({"ok": {"key": "$key", "list": ["$amount"]}}, max_result_chars=100)
    record = run(made, amount=2)
    assert record.result is not None
    assert record.result.value == {"key": "a", "list": [2]}
    long = run(made, key="x" * 200)
    assert long.result is not None
    assert text(long).endswith(" [cut]")
    assert long.result.cut_from == len(json.dumps(long.result.value))


@pytest.mark.parametrize(
    ("name", "arguments", "rejection"),
    [
        ("fly", {"key": "a"}, "UNKNOWN_TOOL"),
        ("look", {}, "INVALID_ARGUMENTS"),
        ("look", None, "INVALID_ARGUMENTS"),
    ],
)
def test_what_is_not_valid_is_never_executed(name: str, arguments: Any, rejection: str) -> None:
    made = executor(OK)
    record = made.run(ToolCall("c", name, "{}", arguments), 0, made.tool_names)
    assert record.states == ("proposed", "rejected")
    assert record.rejection == rejection
    assert record.result is not None
    assert record.result.tries == ()


def test_a_tool_that_is_not_offered_is_unknown() -> None:
    call = ToolCall("c", "look", '{"key": "a"}', {"key": "a"})
    assert executor(OK).run(call, 0, ("pay",)).rejection == "UNKNOWN_TOOL"


def test_a_call_that_no_rule_answers_says_so() -> None:
    record = run(executor(OK, tool="pay"))
    assert record.result is not None
    assert record.result.code == "NOT_SCRIPTED"


@pytest.mark.parametrize(
    ("when", "arguments", "answered"),
    [
        ({"amount": 2}, {"amount": 2.0}, True),
        ({"amount": 2.5}, {"amount": 2.5}, True),
        ({"amount": 2}, {}, False),
        ({"key": {"pattern": "^a"}}, {}, True),
        ({"key": {"pattern": "^b"}}, {}, False),
        ({"key": "b"}, {}, False),
    ],
)
def test_rules_match_by_value_or_pattern(
    when: dict[str, Any], arguments: dict[str, Any], answered: bool
) -> None:
    script = {"version": "1", "rules": [{"tool": "look", "when": when, "results": [OK]}]}
    record = run(Executor(CONTRACT, ToolScript.from_json(script), "en"), **arguments)
    assert (record.states[-1] == "executed") is answered


# Writes


def test_the_same_write_takes_effect_once() -> None:
    made = executor(OK, {"ok": "again"}, tool="pay")
    first, second = run(made, "pay", amount=2), run(made, "pay", amount=2.0)
    assert first.idempotency_key == second.idempotency_key is not None
    assert (first.replayed, second.replayed) == (False, True)
    assert second.result is not None
    assert second.result.value == {"done": True}
    assert second.result.tries == ()
    assert made.written == (first.idempotency_key,)


def test_another_write_is_another_operation() -> None:
    made = executor(OK, tool="pay")
    keys = {run(made, "pay", amount=amount).idempotency_key for amount in (1, 2)}
    assert set(made.written) == keys
    assert len(keys) == 2


def test_a_read_has_no_key_and_is_never_replayed() -> None:
    made = executor({"ok": 1}, {"ok": 2})
    records = [run(made), run(made)]
    assert [(record.idempotency_key, record.replayed) for record in records] == [(None, False)] * 2


def test_a_write_that_timed_out_although_done_is_found_done_by_the_retry() -> None:
    made = executor(error(0, effect=True), OK, tool="pay")
    record = run(made, "pay")
    assert record.result is not None
    assert record.states[-1] == "executed"
    assert [one["effect"] for one in record.result.tries] == [True, True]
    assert len(made.written) == 1


def test_a_write_that_stays_unknown_is_not_carried_out_by_the_models_own_try() -> None:
    """All tries time out; the model is told so and tries again: nothing is done twice."""
    made = executor(*[error(0, effect=True)] * 3, OK, tool="pay")
    first = run(made, "pay")
    assert first.states[-1] == "failed"
    assert made.written == (first.idempotency_key,)
    second = run(made, "pay")
    assert (second.states[-1], second.replayed) == ("executed", True)
    third = run(made, "pay")
    assert (third.states[-1], third.replayed, journal(third)) == ("executed", True, [])
    assert made.written == (first.idempotency_key,)


def test_a_write_that_failed_without_effect_may_be_tried_again() -> None:
    made = executor(error(409, permanent=True), OK, tool="pay")
    first, second = run(made, "pay"), run(made, "pay")
    assert (first.states[-1], second.states[-1], second.replayed) == ("failed", "executed", False)
    assert made.written == (second.idempotency_key,)


def test_an_unreadable_answer_to_a_write_may_hide_its_effect() -> None:
    made = executor({"malformed": "?", "effect": True}, tool="pay")
    assert run(made, "pay").states[-1] == "failed"
    assert len(made.written) == 1


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2)), max_size=12), st.data())
def test_no_key_takes_effect_twice(calls: list[tuple[str, int]], data: st.DataObject) -> None:
    """Whatever the script and the order of calls: executions that were not replays are one a key at most."""
    results = [
        OK,
        error(500),
        error(0, effect=True),
        error(409, permanent=True),
        {"malformed": "?", "effect": True},
    ]
    script = data.draw(st.lists(st.sampled_from(results), min_size=1, max_size=6))
    made = executor(*script, tool="pay")
    records = [run(made, "pay", key=key, amount=amount) for key, amount in calls]
    executed = [r.idempotency_key for r in records if r.succeeded and not r.replayed]
    assert len(executed) == len(set(executed))
    assert len(made.written) == len(set(made.written))


# Real tools


def real(name: str, *before: Mapping[str, Any], **script: Any) -> Executor:
    parameter = {"calculate": "expression", "get_time": "timezone"}[name]
    contract = Contract.from_json(
        {
            "version": "1",
            "tools": [
                {
                    "name": "tool",
                    "description": "Any name",
                    "effect": "read",
                    "parameters": {
                        "type": "object",
                        "properties": {parameter: {"type": "string"}},
                        "required": [parameter],
                    },
                }
            ],
        },
        "test",
    )
    rule = {"tool": "tool", "results": [*before, {"implementation": name}]}
    whole = {"version": "1", "retry": {"tries": 3}, "rules": [rule], **script}
    return Executor(contract, ToolScript.from_json(whole), "ru")


def test_a_real_tool_answers_after_the_faults_before_it() -> None:
    result, _ = real("calculate", error(500), error(500)).answer("tool", {"expression": "2+2*2"})
    assert result.value == {"expression": "2+2*2", "result": 6}
    assert [one["status"] for one in result.tries] == [500, 500, 200]


def test_a_real_tool_stands_at_the_scripts_moment() -> None:
    made = real("get_time", now="2026-11-30T06:30:00+00:00")
    result, _ = made.answer("tool", {"timezone": "Asia/Tokyo"})
    assert result.value == {
        "timezone": "Asia/Tokyo",
        "iso": "2026-11-30T15:30:00+09:00",
        "weekday": "Monday",
    }


def test_a_real_tools_refusal_is_a_permanent_error_with_an_example() -> None:
    result, _ = real("get_time").answer("tool", {"timezone": "Tokyo"})
    assert (result.is_error, result.code, result.permanent) == (True, "UNKNOWN_TIMEZONE", True)
    assert "Asia/Tokyo" in result.content
    assert "часового пояса" in result.content


def test_a_dollar_sign_in_a_real_result_is_left_alone() -> None:
    result, _ = real("calculate").answer("tool", {"expression": "1+1"})
    assert result.value == {"expression": "1+1", "result": 2}


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("fly", {}, "UNKNOWN_TOOL: функции с именем 'fly' нет"),
        ("get_order", {}, "INVALID_ARGUMENTS: $.order_id: нет обязательного аргумента; нужно: указать его"),
        (
            "get_order",
            {"order_id": "1"},
            "INVALID_ARGUMENTS: $.order_id: значение не подходит под шаблон; нужно: шаблон ^ORD-[0-9]{6}$",
        ),
        (
            "get_order",
            {"order_id": ""},
            "INVALID_ARGUMENTS: $.order_id: пустое значение; нужно: непустое значение",
        ),
    ],
    ids=["tool", "missing", "pattern", "empty"],
)
def test_rejected_call_is_answered_in_the_language_of_the_case(
    name: str, arguments: dict[str, Any], told: str
) -> None:
    suite = find_suite(ROOT, "delivery")
    made = Executor(suite.contract, suite.executor, "ru")
    record = made.run(ToolCall("c", name, "{}", arguments), 0, made.tool_names)
    assert record.result is not None
    assert record.result.content == told


def test_every_rejection_has_its_russian_words() -> None:
    words = json.loads((Path(executor_module.__file__).parent / "rejections.json").read_text("utf-8"))
    codes = {*CODE_OF_KEYWORD.values(), "null_value", "empty_value", "schema_mismatch"}
    assert set(words["ru"]["codes"]) == codes
    assert set(CODE_OF_KEYWORD) - set(words["ru"]["words"]) <= {
        "required", "dependentRequired", "additionalProperties", "unevaluatedProperties", "propertyNames",
    }  # fmt: skip
    assert set(words["en"]) == set(words["ru"])
