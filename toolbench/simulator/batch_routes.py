"""The HTTP side of batches: uploads, lists, states and results, with each provider's keys and errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import BodyPartReader, web

from toolbench.domain.canonical import loads_strict
from toolbench.simulator import delivery, incoming
from toolbench.simulator.answering import decide
from toolbench.simulator.batches import (
    FILE_BYTES,
    MESSAGE_BYTES,
    Body,
    FileDesk,
    MessageDesk,
    Outcome,
    parsed_body,
)
from toolbench.simulator.exchange import Request
from toolbench.simulator.failures import Failure, body_of, families
from toolbench.simulator.journal import KEPT_BYTES, without_keys
from toolbench.simulator.messages import check_version
from toolbench.simulator.mishaps import failure_of
from toolbench.simulator.streaming import dumps
from toolbench.simulator.wires import WIRES

if TYPE_CHECKING:
    from toolbench.simulator.service import Arrival, Service

Handler = Callable[[web.Request, "Arrival"], Awaitable[Body | bytes]]
IN_REPLY = frozenset({"none", "batch_slow", "batch_foreign", "batch_twice", "batch_malformed", "keep_alive"})
"""Kinds of fault under which a request of a batch is answered all the same."""


class BatchRoutes:
    """The routes of both kinds of batches."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._files = FileDesk()
        self._messages = MessageDesk()

    def add_to(self, app: web.Application) -> None:
        """Add every route; before those of the messages themselves."""
        for method, path, protocol, handler in (
            ("POST", "/v1/files", "chat_completions", self._upload),
            ("GET", "/v1/files/{id}", "chat_completions", self._file),
            ("GET", "/v1/files/{id}/content", "chat_completions", self._content),
            ("POST", "/v1/batches", "chat_completions", self._create),
            ("GET", "/v1/batches", "chat_completions", self._list),
            ("GET", "/v1/batches/{id}", "chat_completions", self._look),
            ("POST", "/v1/batches/{id}/cancel", "chat_completions", self._cancel),
            ("POST", "/v1/messages/batches", "messages", self._create_messages),
            ("GET", "/v1/messages/batches", "messages", self._list),
            ("GET", "/v1/messages/batches/{id}", "messages", self._look),
            ("GET", "/v1/messages/batches/{id}/results", "messages", self._results),
            ("POST", "/v1/messages/batches/{id}/cancel", "messages", self._cancel),
        ):
            app.router.add_route(method, path, partial(self._serve, protocol, handler))

    async def _serve(self, protocol: str, handler: Handler, http: web.Request) -> web.StreamResponse:
        service = self._service
        arrival = service.arrive(protocol, http)
        try:
            incoming.check_keys(http, arrival.family)
            if protocol == "messages":
                check_version(http.headers.get("anthropic-version"))
            faults = incoming.asked_faults(http) if http.method == "POST" else None
            arrival.fault = service.walk.next(faults, http.path)
            arrival.entry.fault = arrival.fault.name
            failure = failure_of(arrival.fault, arrival.family)
            if failure is not None and arrival.fault.status >= 400:
                raise failure
            told = await handler(http, arrival)
        except Failure as error:
            return service.refuse(arrival, error)
        if arrival.fault.kind == "disconnect":
            # It has been done, and nobody is told.
            return delivery.torn(http)
        arrival.entry.status = 200
        if isinstance(told, bytes):
            return web.Response(body=told, headers=arrival.headers(), content_type="application/x-jsonl")
        return delivery.json_response(told, 200, arrival.headers())

    def _answer(self, headers: dict[str, str], protocol: str, body: Body) -> Outcome:
        """Answer one request of a batch as it would be answered alone."""
        service, wire = self._service, WIRES[protocol]
        family, name = families()[wire.family], str(body.get("model"))
        try:
            found = service.script.find(name)
            if found is None or protocol not in found[0].protocols:
                raise Failure(404)
            if body.get("stream"):
                raise Failure(400, "stream: requests of a batch cannot be streamed", param="stream")
            model, faults = found
            request = Request(
                model, name, wire.normalised(body), headers, False, service.settings.seed, wire.paths[0]
            )
            family = wire.family_of(request)
            fault = service.walk.next(faults, request.digest)
            conversation = wire.read(request)
            reply, scripted = decide(model, conversation)
            if fault.kind == "none":
                fault = service.walk.next(scripted, request.digest)
            failure = failure_of(fault, family)
            if failure is None and fault.kind not in IN_REPLY and not fault.kind.startswith("batch_"):
                failure = Failure(500)
            if failure is not None:
                raise failure
            if fault.kind == "batch_expired":
                return Outcome(fault=fault.kind)
            answer = loads_strict(dumps(wire.body(request, conversation, reply)).decode())
            return Outcome(200, answer, fault.kind, fault.seconds)
        except Failure as failure:
            return Outcome(failure.status, body_of(failure, family, name, "sim"))

    # OpenAI.

    async def _upload(self, http: web.Request, _: Arrival) -> Body:
        if not http.content_type.startswith("multipart/"):
            raise Failure(400, "Expected a multipart form.")
        fields: dict[str, tuple[str, bytes]] = {}
        async for part in await http.multipart():
            if isinstance(part, BodyPartReader):
                content = bytearray()
                while chunk := await part.read_chunk():
                    content += chunk
                    if len(content) > FILE_BYTES:
                        raise Failure(413)
                fields[str(part.name)] = (part.filename or "", bytes(content))
        return self._files.upload(fields)

    async def _file(self, http: web.Request, _: Arrival) -> Body:
        return self._files.file(http.match_info["id"])[0]

    async def _content(self, http: web.Request, _: Arrival) -> bytes:
        return self._files.file(http.match_info["id"])[1]

    async def _create(self, http: web.Request, arrival: Arrival) -> Body:
        body = await self._body(http, arrival)
        settings = self._service.settings
        return self._files.create(body, partial(self._answer, {}), settings.batch_s, settings.batch_requests)

    # Anthropic.

    async def _create_messages(self, http: web.Request, arrival: Arrival) -> Body:
        body = await self._body(http, arrival)
        headers = {"anthropic-version": http.headers["anthropic-version"]}
        where = f"{http.url.origin()}{http.path}"
        answer = partial(self._answer, headers)
        return self._messages.create(body, answer, self._service.settings.batch_s, where)

    async def _results(self, http: web.Request, _: Arrival) -> bytes:
        return self._messages.results(http.match_info["id"])

    # Both.

    def _desk(self, http: web.Request) -> FileDesk | MessageDesk:
        return self._messages if http.path.startswith("/v1/messages") else self._files

    async def _list(self, http: web.Request, _: Arrival) -> Body:
        return self._desk(http).page(http.query)

    async def _look(self, http: web.Request, _: Arrival) -> Body:
        return self._desk(http).shown(http.match_info["id"])

    async def _cancel(self, http: web.Request, _: Arrival) -> Body:
        return self._desk(http).cancel(http.match_info["id"])

    async def _body(self, http: web.Request, arrival: Arrival) -> dict[str, Any]:
        """Return a body that may be far larger than that of one request."""
        content = bytearray()
        async for chunk in http.content.iter_any():
            content += chunk
            if len(content) > MESSAGE_BYTES:
                raise Failure(413)
        body = parsed_body(bytes(content))
        if len(content) <= KEPT_BYTES:
            arrival.entry.body = loads_strict(without_keys(content.decode(), incoming.keys_of(http)))
        return body
