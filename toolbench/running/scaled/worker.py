"""What a worker of a cluster does: it holds a stand for a run, on its own event loop, and plays there.

Keys come out of this process's environment, and so does what hides them: an attempt leaves it as a line of
the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any

from distributed import Worker, secede

from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.keys import AttemptKey
from toolbench.domain.log_writer import written
from toolbench.domain.record import RunHeader
from toolbench.errors import InputError, ServingError
from toolbench.running.budget import Budget
from toolbench.running.header import public_text
from toolbench.running.redaction import keys_there, redactor_for
from toolbench.running.scaled.turns import Address, SharedEndpoint
from toolbench.running.stand import Matrix, Stand, stand_for
from toolbench.running.transport import RETRIES, Transport

ALIVE = 5.0
"""Seconds between two looks whether the run is still wanted."""
_OPEN: dict[str, _Post] = {}


@dataclass(frozen=True)
class Report:
    """What has come of a few attempts: each as a line of the log, with why its model is gone, if it is.

    ``spent`` is what this worker has spent since its last report, by the names of a budget.
    """

    played: list[tuple[bytes, str | None]]
    spent: dict[str, float]


def lacks(config: Config) -> str | None:
    """Return what this process would need to play a configuration and does not have, if anything."""
    try:
        keys_there(config)
    except InputError as fault:
        return str(fault)
    return None


async def enlist(
    run: str, config: Config, header: RunHeader, player: ModelConfig, dask_worker: Worker
) -> str | None:
    """Get ready to play a player of a run; return why that cannot be done here, if it cannot."""
    await dismiss(run)
    post = _Post(run, config, header, dask_worker)
    try:
        await post.open(player)
    except (InputError, ServingError) as fault:
        await post.close()
        return str(fault)
    _OPEN[run] = post
    return None


async def dismiss(run: str) -> None:
    """End what was opened for a run, with everything that is on its way."""
    post = _OPEN.pop(run, None)
    if post is not None:
        await post.close()


def play_there(run: str, planned: Sequence[AttemptKey]) -> Report:
    """Play attempts one after another: a task of the cluster, which only waits and takes no thread."""
    post = _OPEN[run]
    report = asyncio.run_coroutine_threadsafe(post.play(planned), post.loop)
    secede()
    return report.result()


class _Post:
    """The stand of one player in this process."""

    def __init__(self, run: str, config: Config, header: RunHeader, worker: Worker) -> None:
        self.loop = asyncio.get_running_loop()
        self._run, self._config, self._header, self._worker = run, config, header, worker
        self._open = AsyncExitStack()
        self._budget = Budget({})
        self._playing: set[asyncio.Task[Any]] = set()
        self._shared: list[SharedEndpoint] = []
        self._stand: Stand

    async def open(self, player: ModelConfig) -> None:
        """Load an embedded model, look up keys."""
        keys_there(self._config)
        self._redact = redactor_for(self._config, public_text(self._header))
        transport = Transport(
            self._redact,
            self._config.timeouts,
            self._config.retries,
            on_wait=self._tell,
            # A server that this worker has started for itself is nobody else's.
            turnstile=self._endpoint if player.kind == "http" else None,
        )
        await self._open.enter_async_context(transport)
        matrix = Matrix(self._config, self._header)
        self._stand = await self._open.enter_async_context(
            stand_for(player, matrix, transport, self._budget, self._tell)
        )
        self._watch = asyncio.create_task(self._while_wanted())
        self._open.callback(self._watch.cancel)

    async def close(self) -> None:
        """Stop playing, say what is left to say, end the model."""
        for task in self._playing:
            task.cancel()
        await asyncio.gather(*self._playing, return_exceptions=True)
        for endpoint in self._shared:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(endpoint.settle(), ALIVE)
        await self._open.aclose()

    async def play(self, planned: Sequence[AttemptKey]) -> Report:
        """Play attempts one after another."""
        task = asyncio.current_task()
        assert task is not None, "in a task"
        self._playing.add(task)
        try:
            played = []
            for key in planned:
                one = await self._stand.play(key)
                played.append((written(one.attempt, self._redact), one.gone))
        finally:
            self._playing.discard(task)
        spent, self._budget.spent = self._budget.spent, dict.fromkeys(self._budget.spent, 0.0)
        return Report(played, spent)

    def _endpoint(self, model: ModelConfig) -> SharedEndpoint:
        name = f"{model.provider}/{model.model}"
        address = Address(name, model.base_url, model.api_key_env, model.requests_per_minute)
        patience = {**RETRIES, **self._config.retries}["patience"]
        self._shared.append(SharedEndpoint(address, self._worker.address, patience, self._ask))
        return self._shared[-1]

    async def _ask(self, what: str, **message: Any) -> Any:
        return await getattr(self._worker.scheduler, self._run)(what=what, **message)

    def _tell(self, line: str) -> None:
        self._worker.log_event(self._run, f"{self._worker.address}: {line}")

    async def _while_wanted(self) -> None:
        """End everything when the client has gone without a word: the scheduler then knows no such run."""
        while True:
            await asyncio.sleep(ALIVE)
            try:
                wanted = await self._ask("alive")
            except Exception:
                wanted = False
            if not wanted:
                # In a task of its own: this one is cancelled by what it starts.
                _ENDING.append(asyncio.create_task(dismiss(self._run)))
                return


_ENDING: list[asyncio.Task[None]] = []
