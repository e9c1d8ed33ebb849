"""The client's side of a run on a cluster: it says which worker plays what, and hands every result on.

An attempt is given to one worker at a time, by name. When a worker is lost, its attempts are given to others;
whatever it had sent by then is recorded once or not at all.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from secrets import token_hex
from types import TracebackType
from typing import Any, Self

from distributed import Client, Future

from toolbench.cluster.connection import HERE, connected, gone
from toolbench.domain.config import Config, ModelConfig, public_url
from toolbench.domain.keys import AttemptKey
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.errors import ClusterError, ConfigError
from toolbench.running.batch_stand import Batching
from toolbench.running.budget import Budget
from toolbench.running.crew import CrewOf, Record, Todo
from toolbench.running.redaction import Redactor
from toolbench.running.scaled.turns import Turns
from toolbench.running.scaled.worker import Report, dismiss, enlist, lacks, play_there
from toolbench.running.stand import Matrix, Played
from toolbench.running.transport import RETRIES

LOOK = 1.0
"""Seconds between two looks at which workers there are."""
A_TASK = 0.5
"""Seconds that the attempts of one task take together, about: a task by itself costs some milliseconds."""
MOST = 64
"""Attempts in one task at most."""
ENDING = 10.0
"""Seconds that workers have to end what they play."""
LOSSES = 5
"""Times that an attempt may be lost with its worker: after that it is thought to be what ends them."""


@asynccontextmanager
async def cluster(address: str, config: Config, suites: Sequence[Suite]) -> AsyncIterator[CrewOf]:
    """Yield what makes the crew of a run, once it is known that every worker can play it.

    Raises
    ------
    ConfigError
        When the configuration holds a secret, or a suite has live tools.
    ClusterError
        When the scheduler or a worker cannot be used: it lacks a key, say.
    """
    refuse_written_secrets(config)
    refuse_live_tools(suites)
    async with connected(address) as client:
        _all_can(await client.run(lacks, config, on_error="return"))

        def crew_of(
            matrix: Matrix,
            redactor: Redactor,
            budget: Budget,
            tell: Callable[[str], None],
            batching: Batching,
        ) -> ClusterCrew:
            return ClusterCrew(client, address, matrix, budget, tell)

        yield crew_of


def _all_can(answers: Mapping[str, Any]) -> None:
    """Refuse the first worker that has given a reason why it cannot play."""
    for worker, reason in answers.items():
        if reason is not None:
            raise ClusterError(f"worker {worker}: {reason}; {HERE}")


class ClusterCrew:
    """Plays on workers: on each as many attempts at once as are configured for one process."""

    def __init__(
        self, client: Client, address: str, matrix: Matrix, budget: Budget, tell: Callable[[str], None]
    ) -> None:
        self._client, self.address, self._matrix = client, address, matrix
        self._budget, self.tell = budget, tell
        self._run = f"toolbench-{token_hex(6)}"
        self.limited = bool(budget.limits)
        """Whether the run has to stop at a number: then no attempt more than needed is on its way."""
        self._retries = {**RETRIES, **matrix.config.retries}
        self.patience = self._retries["patience"]
        """Seconds to wait for a worker when there is none."""

    async def __aenter__(self) -> Self:
        """Put the limiter of the endpoints into the scheduler."""
        turns = Turns(self._run, self._client.id, self.patience, self._retries["max_wait"])
        await self._client.register_plugin(turns, name=self._run)
        self._client.subscribe_topic(self._run, lambda event: self.tell(event[1]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what the workers have open; the limiter ends with this client."""
        with suppress(Exception):
            async with asyncio.timeout(ENDING):
                await self._client.run(dismiss, self._run, on_error="ignore")

    async def play(self, player: ModelConfig, todo: Todo, record: Record) -> None:
        """Play attempts of one player."""
        places = player.parallelism or self._matrix.config.parallelism
        await _Dispatch(self, player, places, todo, record).run()
        await self._client.run(dismiss, self._run, on_error="ignore")

    async def workers(self) -> set[str]:
        """Return the workers that are there.

        Raises
        ------
        ClusterError
            When the scheduler is away.
        """
        try:
            return set(await self._client.nthreads())
        except Exception:
            raise gone(self.address) from None

    async def ready(self, workers: set[str], player: ModelConfig) -> dict[str, str]:
        """Get workers ready for a player; return why those that are not cannot be."""
        args = self._run, self._matrix.config, self._matrix.header, player
        answers = await self._client.run(enlist, *args, workers=list(workers), on_error="return")
        return {name: str(answer) for name, answer in answers.items() if answer is not None}

    def submit(self, worker: str, planned: list[AttemptKey]) -> Future[Report]:
        """Send attempts to a worker."""
        if self._client.status != "running":
            raise gone(self.address)
        return self._client.submit(
            play_there, self._run, planned, workers=[worker], pure=False, key=f"{self._run}-{token_hex(8)}"
        )

    def played(self, report: Report) -> list[Played]:
        """Count what a worker has spent, and return its attempts."""
        for name, value in report.spent.items():
            self._budget.spent[name] += value
        return [
            Played(Attempt.from_json(json.loads(line)), gone=reason, line=line)
            for line, reason in report.played
        ]


class _Dispatch:
    """One player's attempts on their way to workers and back."""

    def __init__(
        self, crew: ClusterCrew, player: ModelConfig, places: int, todo: Todo, record: Record
    ) -> None:
        self._crew, self._player, self._todo, self._record = crew, player, todo, record
        self._places = places
        self._lost: dict[str, asyncio.Event] = {}
        """Worker that is ready → set once it is lost, and then it is here no more."""
        self._refused: dict[str, str] = {}
        self._free: asyncio.Queue[str] = asyncio.Queue()
        """Workers with a place, once for each place."""
        self._flying = 0
        self._losses: Counter[AttemptKey] = Counter()
        self._seconds = 1.0
        """What an attempt takes, about."""

    async def run(self) -> None:
        found = await self._crew.workers()
        await self._greet(found)
        _all_can(self._refused)
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self._watch())
            await self._send_all(group)
            watch.cancel()

    async def _send_all(self, group: asyncio.TaskGroup) -> None:
        idle: list[str] = []
        while True:
            worker = await self._free.get()
            planned, lost = self._some(), self._lost.get(worker)
            if planned and lost is None:
                self._todo.put_back(planned)
            elif planned and lost is not None:
                self._flying += 1
                group.create_task(self._one(worker, lost, planned))
            elif self._flying:
                idle.append(worker)
            else:
                return
            while idle and len(self._todo):
                # Attempts have come back: there is work again.
                self._free.put_nowait(idle.pop())

    def _some(self) -> list[AttemptKey]:
        """Return the attempts of the next task: one, or as many quick ones as leave work for all places."""
        share = len(self._todo) // max(1, 2 * self._places * len(self._lost))
        number = 1 if self._crew.limited else min(MOST, share, int(A_TASK / self._seconds))
        taken = (self._todo.take() for _ in range(max(1, number)))
        return [planned for planned in taken if planned is not None]

    async def _one(self, worker: str, lost: asyncio.Event, planned: list[AttemptKey]) -> None:
        """See a task through: its attempts are recorded, or go back to be played by another worker."""
        future = self._crew.submit(worker, planned)
        report = await _outcome(future, lost)
        if report is None:
            self._put_back(planned)
        else:
            for played in self._crew.played(report):
                self._seconds = 0.9 * self._seconds + 0.1 * max(0.001, played.attempt.seconds)
                await self._record(played)
        self._flying -= 1
        self._free.put_nowait(worker)

    def _put_back(self, planned: list[AttemptKey]) -> None:
        for key in planned:
            self._losses[key] += 1
            if self._losses[key] > LOSSES:
                raise ClusterError(
                    f"{key}: was being played each time when {LOSSES + 1} workers were lost; what was "
                    "finished is kept: look into the workers' logs, then --resume"
                )
        self._todo.put_back(planned)

    async def _watch(self) -> None:
        """Look after the workers: greet new ones, and say who is lost."""
        alone_since: float | None = None
        while True:
            await asyncio.sleep(LOOK)
            there = await self._crew.workers()
            for worker in [name for name in self._lost if name not in there]:
                self._crew.tell(f"worker {worker} is lost; its attempts are played by others")
                self._lost.pop(worker).set()
            await self._greet(there - set(self._lost) - set(self._refused))
            alone_since = None if self._lost else alone_since or time.monotonic()
            if alone_since is not None and time.monotonic() - alone_since > self._crew.patience:
                raise ClusterError(
                    f"{self._crew.address}: no worker for {self._crew.patience:g} s; what was finished is "
                    "kept: start workers and --resume, or go on without --scheduler"
                )

    async def _greet(self, workers: set[str]) -> None:
        if not workers:
            return
        self._refused |= await self._crew.ready(workers, self._player)
        for worker in workers:
            if worker in self._refused:
                self._crew.tell(f"worker {worker}: {self._refused[worker]}; it gets no attempts")
                continue
            self._lost[worker] = asyncio.Event()
            for _ in range(self._places):
                self._free.put_nowait(worker)


async def _outcome(future: Future[Report], lost: asyncio.Event) -> Report | None:
    """Return what a worker has reported, or ``None`` when it was lost before that."""
    result, loss = asyncio.ensure_future(_result(future)), asyncio.ensure_future(lost.wait())
    try:
        await asyncio.wait({result, loss}, return_when=asyncio.FIRST_COMPLETED)
        if lost.is_set():
            return None
        try:
            return await result
        except (CancelledError, OSError):
            # The scheduler has forgotten it: with its worker, or with everything.
            return None
    finally:
        result.cancel()
        loss.cancel()
        future.release()


async def _result(future: Future[Report]) -> Report:
    report: Report = await future
    return report


def refuse_live_tools(suites: Sequence[Suite]) -> None:
    """Refuse tools that are really called: an attempt may be played twice, in part.

    Raises
    ------
    ConfigError
        Naming the suite.
    """
    for suite in suites:
        if suite.executor.remote:
            raise ConfigError(
                f"suite {suite.name}: live tools are not played on a cluster: an attempt of a lost worker is "
                "played again, and what it wrote would be written twice; leave --scheduler out"
            )


def refuse_written_secrets(config: Config) -> None:
    """Refuse a configuration that holds secrets itself: it goes to the workers through the scheduler.

    Raises
    ------
    ConfigError
        Naming the entry; what it holds is not shown.
    """
    remedy = "holds a secret, which would go through the scheduler: write env:NAME, and set it for workers"
    for model in config.runs:
        written: dict[str, Any] = {
            name: value
            for name, value in model.headers.items()
            if value and not value.startswith("env:") and name not in model.public_headers
        }
        for name in written:
            raise ConfigError(f"runs: {model.provider}/{model.model}: headers.{name} {remedy}")
        if public_url(model.base_url) != model.base_url.partition("#")[0]:
            raise ConfigError(
                f"runs: {model.provider}/{model.model}: base_url holds a login or a key, which would go "
                "through the scheduler: use api_key_env or a header env:NAME"
            )
