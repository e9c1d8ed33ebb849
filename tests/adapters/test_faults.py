"""Errors as providers word them, in public documentation and trackers, and what each has to become.

``provider_errors.json`` names the source of every text; identifiers in them are replaced by ``x``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolbench.adapters.faults import ErrorReport, classify, in_reply, row_of, rows

ERRORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("provider_errors.json").read_text("utf-8"))


def text_of(error: dict[str, Any]) -> str:
    body = error["body"]
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize("error", [pytest.param(error, id=error["name"]) for error in ERRORS])
def test_an_error_is_what_the_provider_means(error: dict[str, Any]) -> None:
    body = error["body"]
    fault = in_reply(body) if error["status"] == 200 else classify(error["status"], {}, text_of(error))
    outcome = fault.decides or (
        "unsupported" if fault.unsupported else "retry" if fault.retryable else "final"
    )
    assert (fault.code, outcome) == (error["code"], error["outcome"])
    if "wait" in error:
        assert fault.retry_after == pytest.approx(error["wait"])


def test_every_row_is_dated_sourced_and_met_by_an_error() -> None:
    met = set()
    for error in ERRORS:
        report = ErrorReport(error["status"] if error["status"] != 200 else 0)
        report.add(error["body"])
        row = row_of(report)
        met.add(row.id if row else "")
    assert {row.id for row in rows()} - met == set()
    assert all(row.date >= "2026-01-01" and row.source for row in rows())
    assert all(error["source"] for error in ERRORS)


ECHO = {"model": "m", "temperature": 0.0, "tools": [{"name": "tool_choice is not supported"}], "top_k": 1}


@pytest.mark.parametrize("key", ["input", "request", "body", "ctx"])
def test_what_an_error_echoes_of_the_request_decides_nothing(key: str) -> None:
    error = {"error": {"message": "Bad request", key: ECHO}}
    assert classify(400, {}, json.dumps(error)).code == "request_refused"


def test_a_word_in_the_middle_of_a_sentence_decides_nothing() -> None:
    told = {
        "error": {"message": "The tool get_temperature has no description. Its author forgot the billing."}
    }
    assert classify(400, {}, json.dumps(told)).code == "request_refused"
    assert classify(429, {}, json.dumps(told)).code == "rate_limited"


def test_words_about_spending_give_way_to_a_server_that_says_when_to_come_back() -> None:
    body = json.dumps({"error": "you've reached your usage limit"})
    assert not classify(429, {}, body).retryable
    fault = classify(429, {"retry-after": "7"}, body)
    assert (fault.code, fault.retryable, fault.retry_after) == ("rate_limited", True, 7.0)
    spent = json.dumps({"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}})
    assert not classify(429, {"retry-after": "7"}, spent).retryable


def test_the_models_own_output_is_handed_on() -> None:
    text = '<function=look{"city": "Paris"}></function>'
    body = {
        "error": {
            "message": "Failed to call a function.",
            "code": "tool_use_failed",
            "failed_generation": text,
        }
    }
    assert classify(400, {}, json.dumps(body)).generated == text


def test_should_retry_moves_no_turn_of_the_model() -> None:
    body = json.dumps({"error": {"code": "tool_use_failed", "message": "x"}})
    assert not classify(400, {"x-should-retry": "true"}, body).retryable
    assert classify(400, {"x-should-retry": "true"}, '{"error": {"message": "x"}}').retryable
