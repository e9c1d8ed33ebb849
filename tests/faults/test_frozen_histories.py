"""Every case that starts in the middle of a conversation plays on every simulated family, whole and streamed.

Nothing here fails on purpose: what is refused is a history that an adapter laid out as the provider does not
take it. The requests of these runs are also held against the types of the official SDKs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.test_oracles import drained, request_types, sdk, spelled
from tests.faults.support import entry, play
from tests.support import ROOT
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite, find_suite
from toolbench.simulator import Simulator

SUITES = ("delivery", "course", "tickets", "reschedule", "refund")

PLAYERS: Mapping[str, Mapping[str, Any]] = {
    "openai": {"protocol": "chat_completions", "model": "sim-openai", "profile": "openai"},
    "deepseek": {"protocol": "chat_completions", "model": "sim-deepseek", "profile": "deepseek"},
    "deepseek thinking": {
        "protocol": "chat_completions",
        "model": "sim-deepseek-thinking",
        "profile": "deepseek",
    },
    "mistral": {"protocol": "chat_completions", "model": "sim-mistral", "profile": "mistral"},
    "ollama v1": {"protocol": "chat_completions", "model": "sim-ollama-v1", "profile": "ollama_v1"},
    "llama.cpp": {"protocol": "chat_completions", "model": "sim-llama-cpp", "profile": "llama_cpp"},
    "responses": {"protocol": "responses", "model": "sim-openai"},
    "responses reasoning": {
        "protocol": "responses",
        "model": "sim-openai-responses-only",
        "settings": {"temperature": None},
    },
    "claude": {"protocol": "messages", "model": "sim-claude"},
    "claude thinking": {"protocol": "messages", "model": "sim-claude-no-forced"},
    "claude bound": {"protocol": "messages", "model": "sim-claude-bound"},
    "ollama": {"protocol": "ollama_chat", "model": "sim-ollama"},
    "ollama thinking": {"protocol": "ollama_chat", "model": "sim-ollama-thinking"},
    "gemini": {"protocol": "generate_content", "model": "sim-gemini"},
}

STREAMED = ("openai", "deepseek thinking", "responses reasoning", "claude bound", "ollama thinking", "gemini")
"""Players that also stream; a stream says the same as the whole reply."""

CALLS_ON: dict[str, Any] = {
    "models": {},
    "rules": [
        {"when": {"after_tool_result": True, "turn": 2}, "then": {"call_offered": "first", "text": "Well."}},
        {"then": {"text": "That is what I found."}},
    ],
}
"""Makes one call after a frozen result, so that a second request follows with both kinds of history."""


def frozen(name: str) -> Suite:
    """Return a suite's cases whose history holds calls."""
    suite = find_suite(ROOT, name)
    return suite.keep(
        [case for case in suite.cases if any("tool_calls" in message for message in case.messages)]
    )


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with Simulator(CALLS_ON) as running:
        yield running


@pytest.fixture(scope="module")
def histories() -> Sequence[Suite]:
    suites = [frozen(name) for name in SUITES]
    assert sum(len(suite.cases) for suite in suites) == 124
    return suites


def played(
    folder: Path, sim: Simulator, histories: Sequence[Suite], player: str, stream: bool
) -> list[Attempt]:
    """Play every history and return the attempts, after checking that all went through."""
    settings = {**PLAYERS[player].get("settings", {}), "stream": stream}
    attempts = play(
        folder, histories, [entry(sim, **{**PLAYERS[player], "settings": settings})], parallelism=8
    )
    assert {attempt.case_id: attempt.error for attempt in attempts if attempt.error} == {}
    assert len(attempts) == 124
    assert sum(len(attempt.turns) > 1 for attempt in attempts) > 80
    check_requests(str(PLAYERS[player]["protocol"]), attempts)
    return attempts


@pytest.mark.parametrize("player", PLAYERS)
def test_every_frozen_case_plays_and_every_request_fits_the_sdk(
    tmp_path: Path, sim: Simulator, histories: Sequence[Suite], player: str
) -> None:
    whole = played(tmp_path / "whole", sim, histories, player, stream=False)
    if player in STREAMED:
        streamed = played(tmp_path / "stream", sim, histories, player, stream=True)
        assert {attempt.key: said(attempt) for attempt in whole} == {
            attempt.key: said(attempt) for attempt in streamed
        }


def said(attempt: Attempt) -> list[tuple[Any, ...]]:
    """Return what a model said in each turn, without what depends on the request: ids, prompt tokens."""
    return [
        (
            turn.decision.kind,
            turn.decision.text,
            [(call.name, call.raw_arguments, call.error) for call in turn.decision.calls],
            turn.decision.finish_reason,
            (turn.decision.usage.output, turn.decision.usage.reasoning),
            turn.decision.returned_model,
        )
        for turn in attempt.turns
    ]


EXTRAS = {"chat_completions": ("index", "reasoning", "reasoning_content", "thinking", "random_seed")}
"""Protocol → fields of some dialects that OpenAI's types do not know."""


def check_requests(protocol: str, attempts: Sequence[Attempt]) -> None:
    """Hold every request against the SDK's types; what they would drop must not be there."""
    for attempt in attempts:
        for turn in attempt.turns:
            body = turn.request["body"]
            CHECKS[protocol](json.loads(json.dumps(body)))


types_of = cache(request_types)
"""Building the types of a request takes longer than checking a hundred."""


def _typed(protocol: str) -> Any:
    def check(body: dict[str, Any]) -> None:
        body.pop("stream", None), body.pop("stream_options", None)
        plain = without(body, EXTRAS.get(protocol, ()))
        assert spelled(drained(types_of(protocol).validate_python(plain))) == spelled(plain)

    return check


def without(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [without(item, names) for item in value]
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return value


def _ollama(body: dict[str, Any]) -> None:
    ollama = sdk("ollama")
    for message in body["messages"]:
        kept = ollama.Message.model_validate(message).model_dump(exclude_none=True)
        assert {*message} - {*kept} <= {"tool_call_id"}


def _gemini(body: dict[str, Any]) -> None:
    types = sdk("google.genai.types")
    for content in body["contents"]:
        types.Content.model_validate(content)
    for tool in body.get("tools", ()):
        types.Tool.model_validate(tool)


CHECKS: dict[str, Any] = {
    "chat_completions": _typed("chat_completions"),
    "responses": _typed("responses"),
    "messages": _typed("messages"),
    "ollama_chat": _ollama,
    "generate_content": _gemini,
}
