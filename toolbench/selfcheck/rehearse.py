"""Playing a case from a written script: the real loop, adapter, executor and checks, and no network.

A script is a list of moves, one a model turn. It is what a model would have sent, so whatever the checks say
about it they say about a model that behaves like that.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from toolbench.adapters import Request, adapter_for
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.case import Case
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition
from toolbench.domain.config import ModelConfig
from toolbench.domain.keys import AttemptKey
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.judging.normalizers import plain
from toolbench.judging.score import Verdict, score
from toolbench.running.conversation import Stage
from toolbench.running.play import play
from toolbench.running.transport import Response

PROTOCOL = "chat_completions"
AUTO = BUILT_IN_CONDITIONS["auto"]
REHEARSED = ModelConfig("rehearsal", "script", PROTOCOL, "http://127.0.0.1")
T = TypeVar("T")


@dataclass(frozen=True)
class Proposal:
    """A call as a player writes it: ``raw`` is the argument text where that is not plain JSON."""

    tool: str
    arguments: Mapping[str, JSON]
    raw: str | None = None

    @property
    def text(self) -> str:
        """The argument text on the wire."""
        return json.dumps(self.arguments, ensure_ascii=False) if self.raw is None else self.raw

    @property
    def key(self) -> str:
        """Equal for equal calls."""
        return canonical_json([self.tool, plain(dict(self.arguments))])


@dataclass(frozen=True)
class Move:
    """One turn of a player: calls, a text, both, or a refusal; ``finish`` overrides the finish reason.

    ``message`` are further fields of the wire message.
    """

    text: str = ""
    calls: tuple[Proposal, ...] = ()
    finish: str | None = None
    refusal: str | None = None
    message: Mapping[str, JSON] | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Move:
        """Build from ``{"text"?, "calls"?: [[tool, arguments]], ...}``; a text in their place stays one."""
        calls = (
            Proposal(tool, {}, arguments) if isinstance(arguments, str) else Proposal(tool, arguments)
            for tool, arguments in data.get("calls", ())
        )
        return cls(data.get("text", ""), tuple(calls), data.get("finish"), data.get("refusal"))

    def body(self, turn: int, to_wire: Mapping[str, str]) -> dict[str, Any]:
        """Return the reply; ``to_wire`` maps a tool's name to the one it is offered under."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text, **(self.message or {})}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{turn}_{index}",
                    "type": "function",
                    "function": {"name": to_wire.get(call.tool, call.tool), "arguments": call.text},
                }
                for index, call in enumerate(self.calls)
            ]
        if self.refusal is not None:
            message["refusal"] = self.refusal
        finish = self.finish or ("tool_calls" if self.calls else "stop")
        return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def rehearse(
    suite: Suite,
    case: Case,
    script: Sequence[Move | Mapping[str, Any]],
    condition: Condition = AUTO,
    model: ModelConfig = REHEARSED,
) -> Attempt:
    """Play a case by a script and return the record of the attempt; a mapping is a whole reply as it is.

    Moves that the conversation does not come to, because an earlier one ended it, are left over.

    Raises
    ------
    ValueError
        When the conversation goes on after the last move: the script is wrong.
    """
    moves = enumerate(script)

    async def send(request: Request) -> Response:
        turn, move = next(moves, (0, None))
        if move is None:
            raise ValueError(f"case {case.id}: the script ends after {len(script)} moves, the case does not")
        to_wire = {canonical: wire for wire, canonical in request.tool_names.items()}
        body = move.body(turn, to_wire) if isinstance(move, Move) else move
        return Response(200, {}, json.dumps(body, ensure_ascii=False), body, 0.0)

    stage = Stage(suite.of(case), case, condition, model, adapter_for(model.protocol))
    planned = AttemptKey(*model.key, suite.name, case.lang, condition.name, case.id, 0)
    return finished(
        play(stage, planned, "rehearsal", {"case": case.hash, "contract": suite.contract.hash}, send)
    )


def judge(suite: Suite, case: Case, script: Sequence[Move], condition: Condition = AUTO) -> Verdict:
    """Play a case by a script and judge it."""
    verdict = score(rehearse(suite, case, script, condition), suite.keep([case]), condition)
    assert verdict is not None, "a rehearsal has no transport that could fail"
    return verdict


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine that never waits returns; an event loop would cost more than the work."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("a rehearsal waits for nothing")
