"""Where the attempts of one model are played: its line, the run's rules, and what was spent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from toolbench.adapters import Request, adapter_for
from toolbench.domain.canonical import canonical_json, sha256
from toolbench.domain.condition import Condition
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.keys import AttemptKey
from toolbench.domain.record import Attempt, RunHeader
from toolbench.domain.suite import Suite
from toolbench.running.baselines import Player, baseline
from toolbench.running.budget import Budget
from toolbench.running.conversation import Stage
from toolbench.running.engine import Line, line_to
from toolbench.running.play import AttemptBudgetReached, Consent, Send, play
from toolbench.running.transport import Response, Transport

OWN_PARTS = ("contract", "executor", "rules", "distractors")
"""Parts of a suite whose hashes every attempt carries."""


@dataclass(frozen=True)
class Matrix:
    """What the attempts of a run share: its configuration and what its header fixes."""

    config: Config
    header: RunHeader
    suites: Mapping[str, Suite] = field(init=False)
    conditions: Mapping[str, Condition] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "suites", self.header.load_suites())
        object.__setattr__(self, "conditions", self.header.load_conditions())


@dataclass(frozen=True)
class Played:
    """An attempt that has ended.

    ``gone`` says why nothing more can be sent to its model, where that is so. ``line`` is the attempt as the
    log has it, where it was written down by another process, which alone knows what is to be hidden in it.
    """

    attempt: Attempt
    gone: str | None = None
    line: bytes | None = None


class Stand:
    """Plays attempts of one model, any number at once."""

    def __init__(
        self, matrix: Matrix, line: Line, transport: Transport, budget: Budget, tell: Callable[[str], None]
    ) -> None:
        self._matrix, self._line, self._transport, self._budget = matrix, line, transport, budget
        self._tell = tell
        self._told: set[str] = set()

    async def play(self, planned: AttemptKey) -> Played:
        """Play one attempt to its end."""
        attempt = await self._play(planned)
        return Played(attempt, self.gone)

    @property
    def gone(self) -> str | None:
        """Why nothing more can be sent to the model, once that is so."""
        line = self._line
        return line.closed or (
            None if line.model.kind == "baseline" else self._transport.given_up(line.model)
        )

    @property
    def open(self) -> bool:
        """Whether one more attempt may begin."""
        return True

    def leave(self) -> None:
        """Somebody who has played here will begin no more."""

    async def _play(self, planned: AttemptKey) -> Attempt:
        model, config, header = self._line.model, self._matrix.config, self._matrix.header
        suite = self._matrix.suites[planned.suite]
        case = suite.case_by_key[planned.lang, planned.case_id]
        condition = self._matrix.conditions[planned.condition]
        seen = suite.of(case)
        stage = Stage(seen, case, condition, model, adapter_for(model.protocol), config.loop_limit)
        send: Send
        if model.kind == "baseline":
            seed = int(sha256([config.seed, list(planned.texts)])[:8], 16)
            send = _in_process(baseline(model.model, seen.contract, case.lang, seed))
        else:
            send = self._limited(self.way(planned))
        hashes = {
            **{name: suite.hashes[name] for name in OWN_PARTS if name in suite.hashes},
            "prompt": sha256(suite.system(case, condition.prompt)),
            "case": case.hash,
            "config": str(header.hashes["config"]),
            **({"header": header.seal} if header.seal else {}),
        }
        if condition.descriptions:
            hashes["descriptions"] = suite.hashes[f"descriptions.{condition.descriptions}"]
        # A baseline calls whatever comes to hand: it never writes for real.
        may_write = config.may_write and model.kind != "baseline"
        return await play(stage, planned, header.run_id, hashes, send, Consent(may_write, self._told_once))

    def _told_once(self, line: str) -> None:
        if line not in self._told:
            self._tell(line)
        self._told.add(line)

    def way(self, planned: AttemptKey) -> Send:
        """Return how the requests of an attempt reach the model."""
        adapter = adapter_for(self._line.model.protocol)

        async def online(request: Request) -> Response:
            return await self._line.send(lambda there: self._transport.send(there, adapter, request))

        return online

    def _limited(self, send: Send) -> Send:
        """Return a ``send`` with the budgets of the run and of one attempt."""
        limits = self._matrix.config.budgets
        model = self._line.model
        adapter = adapter_for(model.protocol)
        loop = asyncio.get_running_loop()
        made, started = 0, loop.time()

        async def limited(request: Request) -> Response:
            nonlocal made
            if made >= limits.get("attempt_requests", float("inf")):
                raise AttemptBudgetReached(f"budgets.attempt_requests of {made} is spent")
            if loop.time() - started >= limits.get("attempt_seconds", float("inf")):
                raise AttemptBudgetReached(
                    f"budgets.attempt_seconds of {limits['attempt_seconds']:g} is spent"
                )
            made += 1
            self._budget.request()
            reply = await send(request)
            self._budget.usage(model, adapter.usage(reply.body), batch=reply.via == "batch")
            return reply

        return limited


@asynccontextmanager
async def stand_for(
    player: ModelConfig, matrix: Matrix, transport: Transport, budget: Budget, tell: Callable[[str], None]
) -> AsyncIterator[Stand]:
    """Yield the stand of a player; an embedded model is loaded before, and ended afterwards."""
    async with line_to(player, matrix.config.root, tell) as line:
        yield Stand(matrix, line, transport, budget, tell)


def _in_process(player: Player) -> Send:
    async def send(request: Request) -> Response:
        body = player(request.body)
        return Response(status=200, headers={}, text=canonical_json(body), body=body, latency_ms=0.0)

    return send
