"""Playing a case from a list of replies: the real loop, adapter, executor and checks, and no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolbench.domain.case import Case
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition
from toolbench.domain.config import ModelConfig
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite, load_suite
from toolbench.judging.score import Verdict, score
from toolbench.selfcheck.rehearse import rehearse

ROOT = Path(__file__).parent.parent
MODEL = ModelConfig("test", "m-1", "chat_completions", "http://127.0.0.1:9/v1")


def delivery(lang: str = "en") -> Suite:
    """Return the shipped delivery suite in one language."""
    return load_suite(ROOT / "contracts/delivery/tools.json", [ROOT / f"cases/delivery.{lang}.jsonl"])


def make_case(**data: Any) -> Case:
    """Return a case; ``id``, ``class`` and ``lang`` have defaults."""
    return Case.from_json({"id": "c", "class": "test", "lang": "en", **data})


def said(text: str, **message: Any) -> dict[str, Any]:
    """Return a reply that is a text."""
    return {
        "model": "m-1-dated",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }


def called(*calls: tuple[str, Any], text: str | None = None, finish: str = "tool_calls") -> dict[str, Any]:
    """Return a reply with calls; arguments that are no text are written as JSON."""
    made = [
        {
            "id": f"id-{abs(hash((name, str(arguments)))) % 10**6}-{index}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments
                if isinstance(arguments, str)
                else json.dumps(arguments, ensure_ascii=False),
            },
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    body = said("", content=text, tool_calls=made)
    body["choices"][0]["finish_reason"] = finish
    return body


def attempt_of(
    case: Case,
    replies: Sequence[dict[str, Any]],
    suite: Suite | None = None,
    condition: Condition = BUILT_IN_CONDITIONS["auto"],
    unused_ok: bool = False,
) -> Attempt:
    """Play a case with these replies, in order; more requests than replies are an error of the test."""
    whole = (suite or delivery(case.lang)).keep([case])
    attempt = rehearse(whole, case, replies, condition, MODEL)
    left = len(replies) - len(attempt.turns)
    assert unused_ok or not left, f"{left} replies were never asked for"
    return attempt


def judged(
    case: Case,
    *replies: dict[str, Any],
    suite: Suite | None = None,
    condition: Condition = BUILT_IN_CONDITIONS["auto"],
) -> Verdict:
    """Play and judge a case."""
    whole = (suite or delivery(case.lang)).keep([case])
    verdict = score(attempt_of(case, replies, whole, condition), whole, condition)
    assert verdict is not None
    return verdict
