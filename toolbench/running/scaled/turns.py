"""One limiter of an endpoint for a whole cluster: it is in the scheduler, and workers ask it for turns.

A worker keeps one question open an endpoint, for all of its requests that wait, and sends what became of the
others in one message when it can. Turns of a worker that is lost come back by themselves.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict, astuple, dataclass
from typing import Any, Literal, Protocol

from distributed import Scheduler, SchedulerPlugin

from toolbench.adapters.allowances import Allowance
from toolbench.errors import TransportError
from toolbench.running.patience import GIVEN_UP, Endpoint

MOST_TURNS = 64
"""Turns that are handed out in one answer at most."""


@dataclass(frozen=True)
class Address:
    """An endpoint: requests to one address with one key share their limits. ``key`` is a variable's name."""

    name: str
    url: str
    key: str | None
    per_minute: float | None


@dataclass(frozen=True)
class Outcome:
    """What became of a request that had a turn."""

    kind: Literal["answered", "failed", "dropped"]
    sent_at: float = 0.0
    allowed: tuple[int, float] | None = None
    error: dict[str, Any] | None = None


class Ask(Protocol):
    """Puts a question to the scheduler's half."""

    def __call__(self, what: str, **message: Any) -> Awaitable[Any]:
        """Return its answer."""
        ...


class Turns(SchedulerPlugin):  # type: ignore[misc]
    """The scheduler's half: the endpoints of one run.

    Parameters
    ----------
    run
        Names the run among those that the cluster plays at the same time.
    client
        The run's own: when it has gone, the run is over.
    """

    def __init__(self, run: str, client: str, patience: float, max_wait: float) -> None:
        self.name, self._client = run, client
        self._patience, self._max_wait = patience, max_wait
        self._endpoints: dict[Address, Endpoint] = {}
        self._held: Counter[tuple[str, Address]] = Counter()

    async def start(self, scheduler: Scheduler) -> None:
        """Listen to the workers."""
        self._scheduler = scheduler
        scheduler.handlers[self.name] = self.answer

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Stop listening when the run's own client has gone: its workers then end by themselves."""
        if client == self._client:
            self.stop()

    def stop(self) -> None:
        """Listen no more."""
        self._scheduler.handlers.pop(self.name, None)
        self._scheduler.plugins.pop(self.name, None)

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Take back the turns of a lost worker."""
        for holder, address in list(self._held):
            if holder == worker:
                for _turn in range(self._held.pop((holder, address))):
                    self._endpoints[address].dropped()

    async def answer(self, what: str, worker: str = "", address: Any = (), **message: Any) -> Any:
        """Answer a worker: messages are plain values, which need no unpickling here."""
        if what == "alive":
            return True
        work: Any = self._turns if what == "turns" else self._outcomes
        return await work(worker, Address(*address), **message)

    async def _turns(self, worker: str, address: Address, number: int) -> list[float] | str:
        """Return the moments at which turns were given, at least one, or why there are none any more."""
        endpoint = self._endpoint(address)
        try:
            given = [await endpoint.enter()]
        except TransportError as fault:
            return fault.message
        while len(given) < min(number, MOST_TURNS) and endpoint.free:
            given.append(await endpoint.enter())
        if worker not in self._scheduler.workers:
            for _turn in given:
                endpoint.dropped()
            return []
        self._held[worker, address] += len(given)
        return given

    async def _outcomes(self, worker: str, address: Address, outcomes: list[Any]) -> str | None:
        """Take what became of requests; return why the endpoint is closed, once it is."""
        endpoint = self._endpoint(address)
        for outcome in (Outcome(*told) for told in outcomes):
            if not self._held[worker, address]:
                # It was thought lost, and its turns were taken back.
                continue
            self._held[worker, address] -= 1
            if outcome.kind == "answered":
                endpoint.answered(Allowance(*outcome.allowed) if outcome.allowed else None)
            elif outcome.kind == "failed" and outcome.error is not None:
                endpoint.failed(TransportError(**outcome.error), outcome.sent_at)
            else:
                endpoint.dropped()
        return endpoint.closed

    def _endpoint(self, address: Address) -> Endpoint:
        if address not in self._endpoints:
            self._endpoints[address] = Endpoint(
                address.name, self._patience, self._max_wait, address.per_minute, self._tell
            )
        return self._endpoints[address]

    def _tell(self, line: str) -> None:
        self._scheduler.log_event(self.name, line)


class SharedEndpoint:
    """A worker's half: as an :class:`~toolbench.running.patience.Endpoint`, which it asks for every turn."""

    def __init__(self, address: Address, worker: str, patience: float, ask: Ask) -> None:
        self._address, self._worker, self._patience, self._ask = address, worker, patience, ask
        self._waiting: deque[asyncio.Future[float]] = deque()
        self._outcomes: list[Outcome] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.closed: str | None = None

    @property
    def patient(self) -> bool:
        """Whether failures of the endpoint are waited out, however many there are."""
        return self.closed is None and self._patience > 0

    async def enter(self) -> float:
        """Wait for a turn to send; return the moment it came."""
        if self.closed is not None:
            raise TransportError(GIVEN_UP, self.closed)
        waiter: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._run("turns", self._take_turns)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.dropped()
            raise

    def answered(self, allowed: Allowance | None = None) -> None:
        """A good reply has come; it may say how many requests are left."""
        self._tell(Outcome("answered", allowed=None if allowed is None else astuple(allowed)))

    def failed(self, error: TransportError, sent_at: float) -> None:
        """A request that was sent at that moment has failed, the endpoint being at fault or not."""
        self._tell(Outcome("failed", sent_at, error={**asdict(error), "retries": []}))

    def dropped(self) -> None:
        """A request is over, and says nothing about the endpoint."""
        self._tell(Outcome("dropped"))

    async def settle(self) -> None:
        """Wait until everything has been told."""
        if "outcomes" in self._tasks:
            await self._tasks["outcomes"]

    def _tell(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        self._run("outcomes", self._send_outcomes)

    def _run(self, name: str, work: Callable[[], Any]) -> None:
        """Start one of the two conversations with the scheduler, unless it is going on."""
        if name not in self._tasks or self._tasks[name].done():
            self._tasks[name] = asyncio.create_task(work())

    async def _take_turns(self) -> None:
        while self._waiting:
            try:
                given = await self._ask(
                    "turns",
                    worker=self._worker,
                    address=astuple(self._address),
                    number=len(self._waiting),
                )
            except Exception:
                given = None
            if not isinstance(given, list | tuple):
                # A scheduler that knows of no such run answers nothing.
                self._close(given or "the scheduler gives no turns any more")
                return
            for sent_at in given:
                self._hand_over(sent_at)

    def _hand_over(self, sent_at: float) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(sent_at)
                return
        # Who waited for it has gone.
        self.dropped()

    async def _send_outcomes(self) -> None:
        while self._outcomes:
            told, self._outcomes = self._outcomes, []
            try:
                closed = await self._ask(
                    "outcomes",
                    worker=self._worker,
                    address=astuple(self._address),
                    outcomes=[astuple(outcome) for outcome in told],
                )
            except Exception:
                # The scheduler is away, and the next turn will say so.
                return
            if closed is not None:
                self._close(closed)

    def _close(self, why: str) -> None:
        self.closed = why
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(TransportError(GIVEN_UP, why))
