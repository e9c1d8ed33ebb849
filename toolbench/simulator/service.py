"""One request after the other: read, checked, decided, answered - or refused, or spoilt on purpose."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex

from aiohttp import web

from toolbench.domain.canonical import JSON, loads_strict
from toolbench.errors import InputError
from toolbench.simulator import delivery, incoming
from toolbench.simulator.answering import decide
from toolbench.simulator.batch_routes import BatchRoutes
from toolbench.simulator.exchange import Conversation, Reply, Request
from toolbench.simulator.failures import Failure, Family, body_of, families
from toolbench.simulator.journal import KEPT_BYTES, Entry, Journal, without_keys
from toolbench.simulator.listing import LISTINGS
from toolbench.simulator.mishaps import Fault, FaultWalk, Transmission, failure_of, stream_plan, whole_plan
from toolbench.simulator.script import Script
from toolbench.simulator.streaming import dumps, splitter
from toolbench.simulator.wires import WIRES, Wire

EXPECTED = (Failure, InputError)
"""What is answered with an error body; an InputError is the test's own mistake in naming a fault."""


@dataclass(frozen=True)
class Settings:
    """How the simulator answers.

    Attributes
    ----------
    latency_s
        Seconds before the first byte: one number, or the two ends of a range to draw from.
    piece_chars
        Characters of text or arguments in one event of a stream.
    random_pieces
        Draw every piece's size from 1 to ``piece_chars``.
    wire_bytes
        Bytes of a stream in one write, however that cuts its events; None for an event a write.
    seed
        Varies ids, latencies and pieces; the same request gets the same ones under one seed.
    max_hang_s
        The longest that a fault may hold a connection.
    max_active
        Requests in service at once; more are answered with 503.
    max_body_bytes
        A larger request is answered with 413.
    batch_s
        Seconds that a batch takes at least.
    batch_requests
        Requests that one OpenAI batch may have before the account's limit refuses it.
    """

    latency_s: float | tuple[float, float] = 0.0
    piece_chars: int = 8
    random_pieces: bool = False
    wire_bytes: int | None = None
    seed: int = 0
    max_hang_s: float = 60.0
    max_active: int = 1024
    max_body_bytes: int = 8 << 20
    batch_s: float = 0.0
    batch_requests: int | None = None


@dataclass
class Arrival:
    """A request on its way through the service."""

    wire: Wire
    http: web.Request
    entry: Entry
    family: Family
    fault: Fault = field(default_factory=Fault)

    @property
    def number(self) -> str:
        """The request's number as its id shows it."""
        return f"sim{self.entry.number:09d}"

    def error_body(self, failure: Failure) -> JSON:
        """Return a failure's body in the shape of the model's provider."""
        return body_of(failure, self.family, self.entry.model, self.number)

    def headers(self) -> dict[str, str]:
        """Return the headers that the provider sends with everything."""
        return {name: value.format(n=self.number) for name, value in self.family.headers.items()}


class Service:
    """The HTTP side: routes, limits, faults and the journal."""

    def __init__(self, script: Script, settings: Settings, journal: Journal) -> None:
        self.script = script
        self.settings = settings
        self.journal = journal
        self.stopping = asyncio.Event()
        self.walk = FaultWalk()
        self._active = 0
        # Two servers number from 1 both: a reply's id must be its own all the same.
        self._life = token_hex(8)

    def application(self) -> web.Application:
        """Return the application with every route."""
        app = web.Application(client_max_size=self.settings.max_body_bytes)
        BatchRoutes(self).add_to(app)
        for name, wire in WIRES.items():
            for path in (*wire.paths, *wire.counts):
                app.router.add_post(path, partial(self._post, name))
        for base in ("/v1", "", "/beta"):
            app.router.add_get(f"{base}/models", partial(self._models, None))
            app.router.add_get(f"{base}/models/{{id:.+}}", partial(self._models, None))
        app.router.add_get("/api/tags", partial(self._models, "ollama_chat"))
        app.router.add_post("/api/show", partial(self._models, "ollama_chat"))
        app.router.add_get("/v1beta/models", partial(self._models, "generate_content"))
        app.router.add_get("/v1beta/models/{id:.+}", partial(self._models, "generate_content"))
        app.router.add_get("/_simulator/journal", self._read_journal)
        app.router.add_delete("/_simulator/journal", self._clear_journal)
        return app

    async def _post(self, protocol: str, http: web.Request) -> web.StreamResponse:
        arrival = self.arrive(protocol, http)
        self._active += 1
        try:
            if self._active > self.settings.max_active:
                raise Failure(503)
            return await self._serve(arrival)
        except EXPECTED as error:
            return self.refuse(arrival, error)
        finally:
            self._active -= 1

    async def _serve(self, arrival: Arrival) -> web.StreamResponse:
        request = await self._read(arrival)
        if spoilt := await self._spoilt(arrival):
            return spoilt
        incoming.check_keys(arrival.http, arrival.family)
        conversation = arrival.wire.read(request)
        if request.counting and arrival.wire.count is not None:
            return self._answer(arrival, 200, arrival.wire.count(request))
        reply, faults = decide(request.model, conversation)
        if arrival.fault.kind == "none":
            arrival.fault = self.walk.next(faults, request.digest)
            if spoilt := await self._spoilt(arrival):
                return spoilt
        plan = self._plan(arrival, request, conversation, reply)
        await self._pause(self._latency(request))
        arrival.entry.status = None if plan.aborts else 200
        return await delivery.send(arrival.http, plan, arrival.headers(), self._pause)

    def arrive(self, protocol: str, http: web.Request) -> Arrival:
        """Note a request in the journal."""
        wire = WIRES[protocol]
        headers = {name.lower(): value for name, value in http.headers.items()}
        path = without_keys(http.path, incoming.keys_of(http))
        return Arrival(wire, http, self.journal.open(protocol, path, headers), families()[wire.family])

    async def _read(self, arrival: Arrival) -> Request:
        """Return the request, with its model known and the fault chosen that client or model ask for."""
        http, wire, entry = arrival.http, arrival.wire, arrival.entry
        text = await incoming.text_of(http)
        body = incoming.parsed(text)
        if len(text) <= KEPT_BYTES:
            entry.body = loads_strict(without_keys(text, incoming.keys_of(http)))
        wanted = incoming.target(http, body, wire)
        entry.model, entry.stream = wanted.model, wanted.stream
        found = self.script.find(entry.model)
        model, faults = found or (None, None)
        faults = incoming.asked_faults(http) or faults
        if model is None or entry.protocol not in model.protocols:
            arrival.fault = self.walk.next(faults, text)
            self._raise_status(arrival)
            raise Failure(404)
        headers = {name.lower(): value for name, value in http.headers.items()}
        spelled = wire.normalised(body)
        request = Request(
            model,
            wanted.model,
            spelled,
            headers,
            wanted.stream,
            self.settings.seed,
            http.path,
            wanted.counting,
            f"{self._life} {entry.number}",
        )
        arrival.family = wire.family_of(request)
        arrival.fault = self.walk.next(faults, request.digest)
        return request

    def _raise_status(self, arrival: Arrival) -> None:
        arrival.entry.fault = arrival.fault.name
        failure = failure_of(arrival.fault, arrival.family)
        if failure is not None and arrival.fault.status >= 400:
            raise failure

    async def _spoilt(self, arrival: Arrival) -> web.StreamResponse | None:
        """Return the answer of a fault that needs no reply to spoil, or None when there is to be one.

        Raises
        ------
        Failure
            For a fault that is a status.
        """
        self._raise_status(arrival)
        fault = arrival.fault
        under_200 = fault.kind == "status" or (fault.kind == "mid_stream_error" and not arrival.entry.stream)
        if under_200:
            # A failure after generation began: without a stream it can only stand in place of the reply.
            return self._answer(arrival, 200, arrival.error_body(Failure(500)))
        if fault.kind == "html":
            arrival.entry.status = fault.status
            return delivery.page(fault.status)
        if fault.kind == "hang":
            await self._pause(min(fault.seconds, self.settings.max_hang_s))
        if fault.kind in ("hang", "disconnect"):
            return delivery.torn(arrival.http)
        return None

    def _plan(
        self, arrival: Arrival, request: Request, conversation: Conversation, reply: Reply
    ) -> Transmission:
        wire, fault, settings = arrival.wire, arrival.fault, self.settings
        if not request.stream:
            return whole_plan(dumps(wire.body(request, conversation, reply)), fault)
        split = splitter(settings.piece_chars, request.random("pieces") if settings.random_pieces else None)
        stream = wire.frames(request, conversation, reply, split)
        return stream_plan(stream, fault, arrival.error_body(Failure(500)), settings.wire_bytes)

    def _latency(self, request: Request) -> float:
        latency = self.settings.latency_s
        return request.random("latency").uniform(*latency) if isinstance(latency, tuple) else latency

    async def _pause(self, seconds: float) -> None:
        """Sleep, but no longer than the server lives."""
        if seconds > 0:
            try:
                await asyncio.wait_for(self.stopping.wait(), min(seconds, self.settings.max_hang_s))
            except TimeoutError:
                return

    def refuse(self, arrival: Arrival, error: Exception) -> web.StreamResponse:
        """Answer with an error body."""
        failure = error if isinstance(error, Failure) else Failure(400, str(error))
        arrival.entry.refusal = failure.message or str(failure.status)
        return self._answer(arrival, failure.status, arrival.error_body(failure), failure.headers)

    def _answer(
        self, arrival: Arrival, status: int, body: JSON, headers: dict[str, str] | None = None
    ) -> web.Response:
        arrival.entry.status = status
        return delivery.json_response(body, status, arrival.headers() | (headers or {}))

    async def _models(self, protocol: str | None, http: web.Request) -> web.StreamResponse:
        """Answer with the list of models, or with one of them."""
        protocol = protocol or incoming.owner(http)
        arrival = self.arrive(protocol, http)
        try:
            arrival.fault = self.walk.next(incoming.asked_faults(http), http.path)
            if spoilt := await self._spoilt(arrival):
                return spoilt
            models = incoming.visible_models(http, protocol, self.script.models.values(), arrival.family)
            listing = LISTINGS[protocol]
            arrival.entry.model = await incoming.asked_model(http)
            if not arrival.entry.model:
                return self._answer(arrival, 200, listing.page(models, http.query))
            for model in models:
                if model.id == arrival.entry.model:
                    return self._answer(arrival, 200, listing.one(model))
            raise Failure(404)
        except EXPECTED as error:
            return self.refuse(arrival, error)

    async def _read_journal(self, _: web.Request) -> web.Response:
        return delivery.json_response({"requests": self.journal.rows()})

    async def _clear_journal(self, _: web.Request) -> web.Response:
        self.journal.clear()
        return delivery.json_response({"requests": []})
