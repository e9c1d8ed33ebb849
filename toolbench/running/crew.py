"""Who plays the attempts of a run: this process, or the workers of a cluster."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Protocol, Self

from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.keys import AttemptKey
from toolbench.running.batch_stand import MOST_WAITING, Batching, batch_stand_for
from toolbench.running.budget import Budget
from toolbench.running.redaction import Redactor, keys_there
from toolbench.running.stand import Matrix, Played, Stand, stand_for
from toolbench.running.transport import Transport

Record = Callable[[Played], Awaitable[None]]


class Todo:
    """The attempts of one player that are still to be made, given out for as long as ``wanted`` says so."""

    def __init__(self, planned: Iterable[AttemptKey], wanted: Callable[[], bool] = lambda: True) -> None:
        self._planned, self._wanted = deque(planned), wanted

    def __len__(self) -> int:
        return len(self._planned) if self._wanted() else 0

    def take(self) -> AttemptKey | None:
        """Return the next one, ``None`` when there is none or no more are wanted."""
        return self._planned.popleft() if len(self) else None

    def put_back(self, planned: Iterable[AttemptKey]) -> None:
        """Take back attempts that were not made: they are the next ones."""
        self._planned.extendleft(planned)


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

    async def play(self, player: ModelConfig, todo: Todo, record: Record) -> None:
        """Play attempts of one player until ``todo`` has no more, and wait for ``record`` after each.

        Only what can be played now is taken: no more may be wanted at any time.
        """
        ...


CrewOf = Callable[[Matrix, Redactor, Budget, Callable[[str], None], Batching], Crew]
"""Makes the crew of a run of what is played, what hides keys, what counts, who is told, and what is out."""


@asynccontextmanager
async def this_process(config: Config) -> AsyncIterator[CrewOf]:
    """Yield what makes the crew of a run, once it is known that this process can play it.

    Raises
    ------
    ConfigError
        When a key is not in the environment.
    """
    keys_there(config)
    yield LocalCrew


class LocalCrew:
    """Plays in this process: one event loop, one transport, as many attempts at once as is configured."""

    def __init__(
        self,
        matrix: Matrix,
        redactor: Redactor,
        budget: Budget,
        tell: Callable[[str], None],
        batching: Batching,
    ) -> None:
        self._matrix, self._budget, self._tell, self._batching = matrix, budget, tell, batching
        self._transport = Transport(redactor, matrix.config.timeouts, matrix.config.retries, on_wait=tell)

    async def __aenter__(self) -> Self:
        """Open the transport."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the transport."""
        await self._transport.__aexit__(kind, value, trace)

    async def play(self, player: ModelConfig, todo: Todo, record: Record) -> None:
        """Play attempts of one player."""
        rules = player, self._matrix, self._transport, self._budget, self._tell
        seats = player.parallelism or self._matrix.config.parallelism
        stand = stand_for(*rules)
        if player.batch is not None:
            seats, stand = MOST_WAITING, batch_stand_for(*rules, self._batching)
        async with stand as ready, asyncio.TaskGroup() as group:
            for _ in range(seats):
                group.create_task(_seat(ready, todo, record))


async def _seat(stand: Stand, todo: Todo, record: Record) -> None:
    try:
        while stand.open and (planned := todo.take()) is not None:
            await record(await stand.play(planned))
    finally:
        stand.leave()
