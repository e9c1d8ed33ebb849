"""Who plays the attempts of a run: this process, or the workers of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Protocol, Self

from toolbench.domain.config import ModelConfig
from toolbench.domain.keys import AttemptKey
from toolbench.running.batch_stand import MOST_WAITING, Batching, batch_stand_for
from toolbench.running.budget import Budget
from toolbench.running.stand import Matrix, Played, Stand, stand_for
from toolbench.running.transport import Transport

Record = Callable[[Played], Awaitable[None]]


class Crew(Protocol):
    """Plays attempts, any number at once. An async context manager."""

    async def __aenter__(self) -> Self:
        """Get ready for all players."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything that was started."""
        ...

    async def play(self, player: ModelConfig, todo: Iterator[AttemptKey], record: Record) -> None:
        """Play attempts of one player until ``todo`` has no more, and wait for ``record`` after each.

        Only what can be played now is taken out of ``todo``: it may end early.
        """
        ...


class LocalCrew:
    """Plays in this process: one event loop, one transport, as many attempts at once as is configured."""

    def __init__(
        self,
        matrix: Matrix,
        transport: Transport,
        budget: Budget,
        tell: Callable[[str], None],
        batching: Batching | None = None,
    ) -> None:
        self._matrix, self._transport, self._budget, self._tell = matrix, transport, budget, tell
        self._batching = batching

    async def __aenter__(self) -> Self:
        """Open the transport."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the transport."""
        await self._transport.__aexit__(kind, value, trace)

    async def play(self, player: ModelConfig, todo: Iterator[AttemptKey], record: Record) -> None:
        """Play attempts of one player."""
        rules = player, self._matrix, self._transport, self._budget, self._tell
        seats = player.parallelism or self._matrix.config.parallelism
        stand = stand_for(*rules)
        if player.batch is not None and self._batching is not None:
            seats, stand = MOST_WAITING, batch_stand_for(*rules, self._batching)
        async with stand as ready, asyncio.TaskGroup() as group:
            for _ in range(seats):
                group.create_task(_seat(ready, todo, record))


async def _seat(stand: Stand, todo: Iterator[AttemptKey], record: Record) -> None:
    try:
        while stand.open and (planned := next(todo, None)) is not None:
            await record(await stand.play(planned))
    finally:
        stand.leave()
