"""Read the raw responses of a log again with today's adapters and list what is decided differently."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from toolbench.adapters import Request, adapter_for, assemble
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import ModelDecision
from toolbench.domain.keys import AttemptKey
from toolbench.domain.log import RunLog
from toolbench.domain.record import Attempt, TurnRecord
from toolbench.errors import TransportError
from toolbench.running.conversation import Stage


@dataclass(frozen=True)
class Difference:
    """One field of one decision that would be read differently now."""

    attempt: AttemptKey
    turn: int
    field: str
    recorded: JSON
    now: JSON

    def __str__(self) -> str:
        before, after = (canonical_json(value)[:120] for value in (self.recorded, self.now))
        return f"{self.attempt}: turn {self.turn}: {self.field}: recorded {before}, now {after}"


def reparse(log: RunLog) -> Iterator[Difference]:
    """Yield every difference between the recorded decisions and those read from the raw responses now.

    One record is in memory at a time; nothing is written. A response that can no longer be read at all is a
    difference in ``kind``.
    """
    suites, conditions = log.header.load_suites(), log.header.load_conditions()
    for attempt in log.attempts:
        suite = suites[attempt.suite]
        case = suite.case_by_key[attempt.lang, attempt.case_id]
        model = ModelConfig(attempt.provider, attempt.model, attempt.protocol, "")
        stage = Stage(
            suite.of(case),
            case,
            conditions[attempt.condition],
            model,
            adapter_for(attempt.protocol),
        )
        for turn in attempt.turns:
            yield from _compare(attempt, turn, _read(stage, turn))


def _read(stage: Stage, turn: TurnRecord) -> ModelDecision | TransportError:
    stored = turn.request
    request = Request(
        path=str(stored["path"]),
        body=dict(stored["body"]),
        tool_names=turn.tool_names,
        stream=turn.first_token_ms is not None,
    )
    try:
        body = _body(stage, str(turn.response["text"]))
        return stage.adapter.parse_decision(body, request, stage.offer(turn.index == 0, turn.user_turn))
    except TransportError as fault:
        return fault


def _body(stage: Stage, text: str) -> dict[str, Any]:
    """Return the body behind a kept text: one JSON document, or the lines of a stream."""
    try:
        body: dict[str, Any] = json.loads(text)
        return body
    except (ValueError, RecursionError):
        return assemble(stage.adapter.stream_assembler(), text)


def _compare(
    attempt: Attempt, turn: TurnRecord, decision: ModelDecision | TransportError
) -> Iterator[Difference]:
    if isinstance(decision, TransportError):
        yield Difference(attempt.key, turn.index, "kind", turn.decision.kind, str(decision))
        return
    before, after = turn.decision.to_json(), decision.to_json()
    for field in fields(ModelDecision):
        old, new = before[field.name], after[field.name]
        if canonical_json(old) != canonical_json(new):
            yield Difference(attempt.key, turn.index, field.name, old, new)
