"""Where attempts of one model are played whose requests go through a batch endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from toolbench.adapters import Request, adapter_for, batches_of
from toolbench.domain.canonical import sha256
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.keys import AttemptKey
from toolbench.running.batch import BatchDesk
from toolbench.running.budget import Budget
from toolbench.running.engine import Line, line_to
from toolbench.running.ledger import Ledger
from toolbench.running.play import Send
from toolbench.running.stand import Matrix, Stand
from toolbench.running.transport import RETRIES, Response, Transport

MOST_WAITING = 10_000
"""Conversations of one model that wait for batches at once; others begin as these end."""


@dataclass(frozen=True)
class Batching:
    """What batches need beside all else: where they are written down, and whether a stop cancels them."""

    ledger: Ledger
    cancelling: bool
    redact: Callable[[str], str]


class BatchStand(Stand):
    """Plays attempts of one model through its batch endpoint."""

    def __init__(
        self,
        matrix: Matrix,
        line: Line,
        transport: Transport,
        budget: Budget,
        tell: Callable[[str], None],
        desk: BatchDesk,
    ) -> None:
        super().__init__(matrix, line, transport, budget, tell)
        self._desk = desk
        self._slots = asyncio.Semaphore(line.model.parallelism or matrix.config.parallelism)

    @property
    def gone(self) -> str | None:
        """Why nothing more can be sent, online or in batches."""
        return super().gone or self._desk.closed

    @property
    def open(self) -> bool:
        """Whether the budget has room, with all that the batches which are out may come to."""
        return self._budget.reached() is None

    def leave(self) -> None:
        """Give up a seat at the desk: what the others have asked need not wait for it."""
        self._desk.leave()

    def way(self, planned: AttemptKey) -> Send:
        """Return the way through the batch endpoint, for the first request or for every one."""
        model, online, made = self._line.model, super().way(planned), 0
        run = self._matrix.header.seal or self._matrix.header.run_id

        async def send(request: Request) -> Response:
            nonlocal made
            made += 1
            if made > 1 and model.batch == "first":
                async with self._slots:
                    return replace(await online(request), via="online")
            name = sha256([run, list(planned.texts), made, request.path, request.body])[:40]
            with self._budget.expected(model, request):
                return await self._desk.send(name, request)

        return send


@asynccontextmanager
async def batch_stand_for(
    player: ModelConfig,
    matrix: Matrix,
    transport: Transport,
    budget: Budget,
    tell: Callable[[str], None],
    batching: Batching,
) -> AsyncIterator[Stand]:
    """Yield the stand of a player, with seats for :data:`MOST_WAITING` attempts; each has to be left."""
    adapter = adapter_for(player.protocol)
    async with line_to(player, matrix.config.root, tell) as line:
        desk = BatchDesk(
            line.model,
            adapter,
            batches_of(line.model),
            partial(transport.call, line.model, adapter),
            batching.ledger,
            tries=tries_of(matrix.config),
            tell=tell,
            redact=batching.redact,
        )
        async with desk.open(MOST_WAITING, batching.cancelling):
            yield BatchStand(matrix, line, transport, budget, tell, desk)


def tries_of(config: Config) -> int:
    """Return how often one request is made that fails for itself."""
    return int({**RETRIES, **config.retries}["tries"])
