"""What a verdict rests on: an attempt without everything that equal conversations differ in.

Who plays, when, how fast, on which wire and under which ids decides nothing. Judged without these, equal
conversations have one verdict by construction, and it is worked out once.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

import orjson

from toolbench.domain.decision import ModelDecision, ToolCall, Usage
from toolbench.domain.record import Attempt, CallRecord, TurnRecord


def essence(attempt: Attempt) -> Attempt:
    """Return what a verdict may depend on of an attempt; the rest is empty."""
    keys = dict[str | None, str | None]({None: None})
    for record in attempt.calls:
        keys.setdefault(record.idempotency_key, str(len(keys)))
    return Attempt(
        run_id="",
        provider="",
        model="",
        protocol="",
        suite=attempt.suite,
        lang=attempt.lang,
        condition=attempt.condition,
        case_id=attempt.case_id,
        repetition=0,
        hashes={},
        status=attempt.status,
        stop=attempt.stop,
        turns=tuple(map(_turn, attempt.turns)),
        calls=tuple(_record(record, keys[record.idempotency_key]) for record in attempt.calls),
        started_at="",
        seconds=0,
        error=attempt.error,
    )


def digest(plain: Attempt) -> bytes | None:
    """Return what is equal for equal essences; ``None`` where a text or number is beyond JSON."""
    try:
        return blake2b(orjson.dumps(plain), digest_size=16).digest()
    except TypeError:
        return None


def _turn(turn: TurnRecord) -> TurnRecord:
    return TurnRecord(
        index=turn.index,
        user_turn=turn.user_turn,
        request={},
        request_hash="",
        settings={},
        tool_names={},
        losses=(),
        response={},
        decision=_decision(turn.decision),
        started_at="",
        latency_ms=None,
        said=turn.said,
    )


def _decision(decision: ModelDecision) -> ModelDecision:
    calls = tuple(map(_call, decision.calls))
    return replace(decision, calls=calls, usage=_NO_USAGE, returned_model=None, response_id=None)


def _call(call: ToolCall) -> ToolCall:
    return replace(call, id="")


def _record(record: CallRecord, key: str | None) -> CallRecord:
    return replace(record, id="", idempotency_key=key, started_at=None, seconds=None)


_NO_USAGE = Usage()
