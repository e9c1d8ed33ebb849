"""Playing one attempt: drive the pure conversation with a real transport and write down everything."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from toolbench.adapters import Request, SettingNote, settled
from toolbench.domain.canonical import JSON, sha256
from toolbench.domain.decision import MOST_CALLS, ModelDecision, ToolCall
from toolbench.domain.environment import now
from toolbench.domain.keys import AttemptKey
from toolbench.domain.record import Attempt, CallRecord, Status, TurnRecord
from toolbench.errors import InputError, TransportError
from toolbench.running.conversation import Act, Ask, Stage, converse, ready_history
from toolbench.running.executor import Executor
from toolbench.running.transport import Response

Send = Callable[[Request], Awaitable[Response]]


class AttemptBudgetReached(Exception):
    """Raised by a ``send`` that is not allowed to spend more on this attempt."""


@dataclass(frozen=True)
class Consent:
    """What live tools may do: whether writes run, and who is told what was refused."""

    may_write: bool = False
    tell: Callable[[str], None] = lambda line: None


async def play(
    stage: Stage,
    planned: AttemptKey,
    run_id: str,
    hashes: Mapping[str, str],
    send: Send,
    consent: Consent | None = None,
) -> Attempt:
    """Play one attempt to its end and return its record.

    A provider's failure becomes the attempt's status, never an exception, and so does a fault of toolbench
    itself (``judge_error``): what was said before it is kept, and the other attempts go on. Cancellation and
    faults of the suite or the configuration, which every attempt would meet, pass through.
    """
    started_at, started = now(), time.monotonic()
    turns: list[TurnRecord] = []
    calls: list[CallRecord] = []
    status: Status = "ok"
    error: dict[str, JSON] | None = None
    retries: list[dict[str, JSON]] = []
    reply: Any = None
    try:
        async with _acting(stage, consent or Consent()) as (executor, act):
            history, frozen = ready_history(stage.case, executor)
            calls += frozen
            loop = converse(stage, history)
            while True:
                step = loop.send(reply)
                if isinstance(step, Act):
                    before = len(calls)
                    await _carry_out(step, act, stage.callable(step.user_turn), calls)
                    reply = calls[before:]
                else:
                    turn, body = await _ask(stage, step, send)
                    turns.append(turn)
                    calls += _unexecuted(turn.decision, step.index)
                    reply = (body, turn.decision)
    except StopIteration as end:
        stop = end.value.stop
        if stop == "loop_limit":
            calls += _refused(turns[-1].decision, turns[-1].index, "LOOP_LIMIT")
    except TransportError as fault:
        status = "unsupported" if fault.unsupported else "transport_error"
        stop, retries = fault.code, fault.retries
        error = {"code": fault.code, "message": fault.message, "status": fault.status}
    except AttemptBudgetReached as fault:
        status, stop = "budget", "budget"
        error = {"code": "budget", "message": str(fault), "status": None}
    except InputError:
        raise
    except Exception as fault:
        status, stop = "judge_error", "judge_error"
        message = " ".join(f"{type(fault).__name__}: {fault}".split())
        error = {"code": "judge_error", "message": message[:300], "status": None}
    return Attempt(
        run_id=run_id,
        **planned._asdict(),
        hashes=hashes,
        status=status,
        stop=stop,
        turns=turns,
        calls=calls,
        started_at=started_at,
        seconds=round(time.monotonic() - started, 3),
        error=error,
        retries=retries,
    )


async def _carry_out(step: Act, act: RunCall, offered: Sequence[str], records: list[CallRecord]) -> None:
    """Add a record of every call of a step, also of those that live tools are not there for any more."""
    for position, call in enumerate(step.calls):
        try:
            records.append(await act(call, step.turn, offered))
        except TransportError as fault:
            records += _rejected(step.calls[position:], step.turn, fault.code)
            raise


RunCall = Callable[[ToolCall, int, Sequence[str]], Awaitable[CallRecord]]


@asynccontextmanager
async def _acting(stage: Stage, consent: Consent) -> AsyncIterator[tuple[Executor, RunCall]]:
    """Yield the executor of one attempt, and what carries out a call: the script, or real tools."""
    contract, script = stage.suite.contract, stage.suite.executor
    executor = Executor(contract, script, stage.case.lang, stage.condition.error_hints)
    if not script.remote:

        async def scripted(call: ToolCall, turn: int, offered: Sequence[str]) -> CallRecord:
            return executor.run(call, turn, offered)

        yield executor, scripted
        return
    from toolbench.running.hosts import host_of
    from toolbench.running.live import LiveExecutor

    async with host_of(script) as host:
        live = LiveExecutor(executor, contract, host, consent.may_write, consent.tell)

        async def real(call: ToolCall, turn: int, offered: Sequence[str]) -> CallRecord:
            # Behind a tool of another suite there is nothing real here.
            if call.name not in executor.tool_names:
                return executor.run(call, turn, offered)
            return await live.run(call, turn, offered)

        yield executor, real


async def _ask(stage: Stage, step: Ask, send: Send) -> tuple[TurnRecord, Mapping[str, Any]]:
    started_at = now()
    reply = await send(step.request)
    offer = stage.offer(step.index == 0, step.user_turn)
    decision = stage.adapter.parse_decision(reply.body, step.request, offer)
    if len(decision.calls) > MOST_CALLS:
        told = f"the reply holds {len(decision.calls)} calls; no more than {MOST_CALLS} are read"
        raise TransportError("too_many_calls", told, reply.status)
    settings = settled(step.request, decision)
    if reply.via is not None:
        settings["via"] = SettingNote(stage.model.batch, reply.via, True).to_json()
    request = {"path": step.request.path, "body": step.request.body, "headers": dict(step.request.headers)}
    turn = TurnRecord(
        index=step.index,
        user_turn=step.user_turn,
        request=request,
        request_hash=sha256(request),
        settings=settings,
        tool_names=dict(step.request.tool_names),
        losses=tuple(step.request.losses),
        response={"status": reply.status, "headers": dict(reply.headers), "text": reply.text},
        decision=decision,
        started_at=started_at,
        latency_ms=reply.latency_ms,
        first_token_ms=reply.first_token_ms,
        request_id=reply.request_id,
        retries=reply.retries,
        said=step.said,
    )
    return turn, reply.body


def _unexecuted(decision: ModelDecision, turn: int) -> list[CallRecord]:
    """Record the calls of a turn that is not carried on: proposed, rejected, never executed."""
    if decision.kind not in ("invalid", "refusal"):
        return []
    reason = (decision.reason or decision.kind).upper()
    return _refused(decision, turn, reason)


def _refused(decision: ModelDecision, turn: int, why: str) -> list[CallRecord]:
    return _rejected(decision.calls, turn, why)


def _rejected(calls: Sequence[ToolCall], turn: int, why: str) -> list[CallRecord]:
    return [
        CallRecord(
            turn=turn,
            id=call.id,
            tool=call.name,
            arguments=call.arguments,
            raw_arguments=call.raw_arguments,
            states=("proposed", "rejected"),
            rejection=(call.error or why).upper(),
        )
        for call in calls
    ]
