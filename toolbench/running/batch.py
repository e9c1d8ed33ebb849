"""The way to a model through its batch endpoint: one more ``send`` for the conversations that are played.

Every conversation asks as it always does and waits. Once none of them can do anything but wait, what they
have asked goes out together, as one batch or as many as the provider's limits make of it. Answers are matched
by ids alone, and what was not answered is asked again in a further batch.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any

from toolbench.adapters import (
    Answer,
    BatchState,
    BatchWire,
    Call,
    ProviderAdapter,
    Refused,
    Request,
    Talk,
    classify,
    lots,
    refusal_of,
)
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.errors import TransportError
from toolbench.running.ledger import Ledger, Lot
from toolbench.running.patience import GIVEN_UP
from toolbench.running.transport import Response, Retries, is_not_done

FIRST_LOOK, SLOWER, LONGEST = 0.5, 1.5, 60.0
"""Seconds until the first look at a batch, how much longer each further wait is, and the longest one."""

GONE = "batch_gone"
MISSING = "batch_result_missing"

Speak = Callable[[Call, Mapping[str, str]], Awaitable[str]]
"""Makes one exchange with the endpoint, with the headers that the requests carry as well."""


@dataclass
class Parcel:
    """One request on its way, and who waits for its answer; ``id`` changes with every time it is asked."""

    name: str
    request: Request
    answer: asyncio.Future[Response]
    lot: Lot | None = None
    id: str = ""
    earlier: bool = False
    under_way: bool = False
    retries: Retries = field(default_factory=list)
    tries: int = 0


class BatchDesk:
    """Collects the requests of one player and hands them in together.

    Parameters
    ----------
    tries
        Times that one request is asked, if its failure can heal.
    tell
        Told one line when a batch is handed in or has ended, and of everything odd in its results.
    redact
        Takes secrets out of a text that is kept.
    """

    def __init__(
        self,
        player: ModelConfig,
        adapter: ProviderAdapter,
        wire: BatchWire,
        speak: Speak,
        ledger: Ledger,
        *,
        tries: int = 4,
        tell: Callable[[str], None] = lambda line: None,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._name, self._adapter, self._wire = str(player.key), adapter, wire
        self._speak, self._ledger = speak, ledger
        self._tries, self._tell, self._redact = tries, tell, redact
        self.closed: str | None = None
        """Why nothing more can be asked, once that is so."""
        self._headers: Mapping[str, str] = {}
        self._seats = self._under_way = 0
        self._waiting: list[Parcel] = []
        self._deliveries: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self, seats: int, cancelling: bool = False) -> AsyncIterator[None]:
        """Open the desk to so many who ask: nothing goes out before all of them wait, or have left.

        ``cancelling``: batches that are out when it is closed are cancelled.
        """
        self._seats = seats
        try:
            yield
        finally:
            for delivery in self._deliveries:
                delivery.cancel()
            await asyncio.gather(*self._deliveries, return_exceptions=True)
            if cancelling:
                await self._cancel()

    def leave(self) -> None:
        """Say that one of those who ask will not ask any more."""
        self._seats -= 1
        self._go()

    async def send(self, name: str, request: Request) -> Response:
        """Return the answer to a request, hours later or, if an earlier session has asked it, sooner.

        Parameters
        ----------
        name
            What tells this request from all others of the run, in every session.

        Raises
        ------
        TransportError
            When there is no usable answer.
        """
        if self.closed is not None:
            raise TransportError(GIVEN_UP, self.closed)
        self._headers = request.headers
        parcel = Parcel(name, request, asyncio.get_running_loop().create_future())
        known = self._ledger.lot_of(name)
        if known is not None and known[0].over != "refused":
            parcel.lot, parcel.id = known
            parcel.earlier = True
        self._waiting.append(parcel)
        self._go()
        return await parcel.answer

    # What goes out, and when.

    def _go(self) -> None:
        """Hand in what waits, once nobody is left who could add to it."""
        if not self._waiting or len(self._waiting) + self._under_way < self._seats:
            return
        parcels = [parcel for parcel in self._waiting if not parcel.answer.done()]
        self._waiting = []
        known: dict[str, list[Parcel]] = {}
        for parcel in parcels:
            known.setdefault(parcel.lot.tag if parcel.lot else "", []).append(parcel)
        fresh = known.pop("", [])
        for tag, mine in known.items():
            self._start(self._collect(self._ledger.lots[tag], mine), mine)
        if fresh:
            self._hand_in_all(fresh)

    def _hand_in_all(self, parcels: list[Parcel]) -> None:
        for parcel in parcels:
            parcel.id, parcel.earlier = self._ledger.next_id(parcel.name), False
        by_path: dict[str, list[Parcel]] = {}
        for parcel in parcels:
            by_path.setdefault(parcel.request.path, []).append(parcel)
        for mine in by_path.values():
            lines = [self._wire.line(parcel.id, parcel.request) for parcel in mine]
            for places in lots(lines, self._wire.most_requests, self._wire.most_bytes):
                part = [mine[place] for place in places]
                self._start(self._deliver(part, [lines[place] for place in places]), part)

    def _start(self, delivery: Coroutine[Any, Any, None], parcels: Sequence[Parcel]) -> None:
        """Begin a delivery; whatever ends it ends the waiting of everybody in it."""
        self._under_way += len(parcels)
        for parcel in parcels:
            parcel.under_way = True

        async def delivered() -> None:
            try:
                await delivery
            except TransportError as error:
                self.closed = f"its batch endpoint: {error.message}"
                for parcel in parcels:
                    self._fail(parcel, TransportError(GIVEN_UP, self.closed, error.status))
            except Exception as error:
                for parcel in parcels:
                    self._over(parcel)
                    if not parcel.answer.done():
                        parcel.answer.set_exception(error)
            self._go()

        task = asyncio.create_task(delivered())
        self._deliveries.add(task)
        task.add_done_callback(self._deliveries.discard)

    def _over(self, parcel: Parcel) -> None:
        """A parcel is not under way any more."""
        self._under_way -= parcel.under_way
        parcel.under_way = False

    # One batch.

    async def _deliver(self, parcels: Sequence[Parcel], lines: Sequence[bytes]) -> None:
        """Hand in one batch and bring its answers."""
        path, ids = parcels[0].request.path, [parcel.id for parcel in parcels]
        lot = self._ledger.hand_in(token_hex(8), self._name, ids)
        lot = await self._handed_in(lot, path, lines)
        state = await self._ended(lot)
        if len(parcels) > 1 and any(refused.code in self._wire.too_many for refused in state.refused):
            self._ledger.close(lot, "refused")
            self._tell(f"{self._name}: {state.refused[0].message}; handed in again in two halves")
            half = len(parcels) // 2
            for part in (slice(0, half), slice(half, None)):
                for parcel in parcels[part]:
                    parcel.id = self._ledger.next_id(parcel.name)
                again = [self._wire.line(parcel.id, parcel.request) for parcel in parcels[part]]
                # One after the other: the second half has room once the first is done.
                await self._deliver(parcels[part], again)
            return
        await self._settle(lot, state, parcels)

    async def _handed_in(self, lot: Lot, path: str, lines: Sequence[bytes]) -> Lot:
        """Submit a lot, once: after a connection that broke it is looked whether the provider has it."""
        for last in (False, True):
            try:
                lot = self._ledger.told(lot, await self._talk(self._wire.submit(path, lines, lot.tag)))
                self._tell(f"{self._name}: batch {lot.batch} with {len(lines)} requests is handed in")
                return lot
            except TransportError as error:
                if error.code == GIVEN_UP or is_not_done(error) or not error.retryable:
                    self._ledger.close(lot, "refused")
                    raise
                found = await self._find(lot)
                if found is not None:
                    return found
                if last:
                    self._ledger.close(lot, "refused")
                    raise
        raise AssertionError("either handed in or raised")

    async def _find(self, lot: Lot) -> Lot | None:
        """Return a lot whose id was never told with its id, if the provider has it."""
        known = {other.batch for other in self._ledger.lots.values() if other.batch}
        batch = await self._talk(self._wire.find(lot.asked, known))
        return None if batch is None else self._ledger.told(lot, batch)

    async def _collect(self, lot: Lot, parcels: Sequence[Parcel]) -> None:
        """Bring answers to what an earlier session has asked."""
        if lot.batch is None:
            found = await self._find(lot)
            if found is None:
                self._ledger.close(lot, "refused")
                for parcel in parcels:
                    self._again(parcel)
                return
            lot = found
        await self._settle(lot, await self._ended(lot), parcels)

    async def _ended(self, lot: Lot) -> BatchState:
        """Look at a batch, more and more seldom, until it has ended."""
        assert lot.batch is not None, "handed in"
        wait = FIRST_LOOK
        while True:
            try:
                state = self._wire.state(lot.batch, await self._asked(self._wire.look(lot.batch)))
            except TransportError as error:
                if error.status != 404:
                    raise
                return BatchState(True, "unknown", refused=(Refused(None, GONE, error.message),))
            if state.ended:
                return state
            await asyncio.sleep(wait)
            wait = min(LONGEST, wait * SLOWER)

    async def _settle(self, lot: Lot, state: BatchState, parcels: Sequence[Parcel]) -> None:
        """Give everybody in a batch that has ended what it holds for them."""
        answers: dict[str, Answer] = {}
        for path in state.results:
            text = await self._speak(Call("GET", path), self._headers)
            self._read(lot, text, answers)
        if not lot.over:
            self._ledger.close(lot, "ended")
            self._tell(
                f"{self._name}: batch {lot.batch} is {state.status}: {len(answers)} of {len(lot.ids)} "
                "requests have an answer"
            )
        named = {lot.ids[one.line - 1]: one for one in state.refused if one.line and one.line <= len(lot.ids)}
        for parcel in parcels:
            if parcel.id in answers:
                self._open(parcel, lot, answers[parcel.id])
            elif parcel.earlier:
                # How an earlier session fared says nothing about this one.
                self._again(parcel)
            elif parcel.id in named:
                self._fail(parcel, refusal_of(named[parcel.id]))
            elif named:
                # The refusal was about other lines: without them this one is taken.
                self._again(parcel)
            elif state.refused and state.refused[0].code != GONE:
                self._fail(parcel, refusal_of(state.refused[0]))
            else:
                code = GONE if state.refused else MISSING
                told = f"batch {lot.batch} " + (
                    "is not known any more" if state.refused else "has no result for this request"
                )
                self._fail_or_again(parcel, TransportError(code, told, retryable=True))

    def _read(self, lot: Lot, text: str, answers: dict[str, Answer]) -> None:
        """Take the lines of one result file in; what is odd is told once a kind."""
        mine = set(lot.ids)
        odd: dict[str, list[str]] = {
            "are no JSON": [],
            "have an id that is none of ours": [],
            "come twice": [],
        }
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                data = json.loads(line)
                answer = self._wire.answer(data if isinstance(data, dict) else {})
            except (ValueError, RecursionError):
                odd["are no JSON"].append(f"line {number}")
                continue
            if answer.id not in mine:
                odd["have an id that is none of ours"].append(f"line {number}, {answer.id[:64]!r}")
            elif answer.id in answers:
                odd["come twice"].append(f"line {number}, {answer.id}")
            else:
                answers[answer.id] = answer
        for what, where in odd.items():
            if where:
                self._tell(
                    f"{self._name}: batch {lot.batch}: {len(where)} results {what} and are left out "
                    f"({self._redact(where[0])})"
                )

    # One request.

    def _open(self, parcel: Parcel, lot: Lot, answer: Answer) -> None:
        """Hand an answer over, as the online way would have done."""
        try:
            response = self._response(parcel, lot, answer)
        except TransportError as error:
            if lot.over == "cancelled" and error.code == "batch_cancelled":
                # By ourselves, when an earlier session was stopped.
                self._again(parcel)
            else:
                self._fail_or_again(parcel, error)
            return
        self._over(parcel)
        if not parcel.answer.done():
            parcel.answer.set_result(response)

    def _response(self, parcel: Parcel, lot: Lot, answer: Answer) -> Response:
        if answer.fault is not None:
            raise answer.fault
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body, ensure_ascii=False)
        good = 200 <= answer.status < 300
        fault = self._adapter.fault(answer.body) if good else classify(answer.status, {}, text)
        if fault is not None and not fault.decides:
            raise fault
        body: Any = answer.body if isinstance(answer.body, dict) else {"error": answer.body}
        return Response(
            status=answer.status,
            headers={"batch": str(lot.batch), "custom-id": parcel.id},
            text=self._redact(text),
            body=body,
            latency_ms=None,
            request_id=answer.request_id,
            retries=parcel.retries,
            via="batch",
        )

    def _fail_or_again(self, parcel: Parcel, error: TransportError) -> None:
        """Ask again what can heal, and what an earlier session has failed with."""
        if parcel.earlier:
            self._again(parcel)
            return
        parcel.tries += 1
        parcel.retries.append(_noted(error))
        if error.retryable and parcel.tries < self._tries:
            self._again(parcel)
        else:
            self._fail(parcel, error)

    def _again(self, parcel: Parcel) -> None:
        self._over(parcel)
        parcel.lot, parcel.earlier = None, False
        self._waiting.append(parcel)

    def _fail(self, parcel: Parcel, error: TransportError) -> None:
        self._over(parcel)
        if not parcel.answer.done():
            message = self._redact(error.message)
            parcel.answer.set_exception(
                replace(error, message=message, retries=parcel.retries or [_noted(error)])
            )

    # Speaking.

    async def _talk(self, talk: Talk) -> Any:
        body: Any = None
        while True:
            try:
                call = talk.send(body)
            except StopIteration as end:
                return end.value
            body = await self._asked(call)

    async def _asked(self, call: Call) -> Mapping[str, Any]:
        text = await self._speak(call, self._headers)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            shown = self._redact(" ".join(text[:120].split()))
            raise TransportError("not_json", f"the batch endpoint answered {shown!r}", 200, retryable=True)
        return body

    async def _cancel(self) -> None:
        """Cancel what is out, as far as the provider lets us."""
        for lot in self._ledger.out:
            if lot.player == self._name and lot.batch is not None:
                try:
                    await self._speak(self._wire.cancel(lot.batch), self._headers)
                except TransportError as error:
                    self._tell(f"{self._name}: batch {lot.batch} could not be cancelled: {error.message}")
                else:
                    self._ledger.close(lot, "cancelled")
                    self._tell(f"{self._name}: batch {lot.batch} is cancelled")


def _noted(error: TransportError) -> dict[str, JSON]:
    """Return a failed try as the record keeps it; how long it took depends on the batch."""
    return {
        "code": error.code,
        "status": error.status,
        "message": error.message,
        "retry_after": None,
        "at_ms": None,
    }
