"""HTTP for all protocols: one pooled client, bounded time and retries, nothing secret in what is kept."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

import httpx
from aiohttp import ClientError, ClientSession, TCPConnector

from toolbench.adapters import (
    Call,
    EventAssembler,
    LineSplitter,
    ProviderAdapter,
    Request,
    assemble,
    classify,
    laid_over,
)
from toolbench.adapters.allowances import allowance
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.environment import LOOPBACK
from toolbench.errors import TransportError
from toolbench.running.decoding import ACCEPTED, Unpacker
from toolbench.running.patience import FIRST_WAIT, Endpoint, Turnstile, is_endpoints
from toolbench.running.redaction import Redactor, credentials, extra_headers, key_of

TIMEOUTS: Mapping[str, float] = {"connect": 10.0, "first_byte": 300.0, "total": 600.0}
RETRIES: Mapping[str, float] = {"tries": 4, "max_wait": 60.0, "patience": 600.0}
LARGEST_REPLY = 8 * 2**20
LARGEST_STREAM = 64 * 2**20
"""Bytes, unpacked; a stream wraps every word in hundreds of them. No model answers that much, and a server
that never stops must not fill the memory."""
LARGEST_RESULTS = 512 * 2**20
"""Bytes of the results of one batch; no provider takes more than half of that in requests."""

FILES = 64
"""Descriptors left to the log, the libraries and what else the process has open."""

REQUEST_IDS = ("x-request-id", "request-id", "mistral-correlation-id")

# Both write whole addresses, and with them keys in query strings, at INFO.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.ERROR)


@dataclass(frozen=True)
class Response:
    """A usable reply, as it will be recorded. ``body`` is the parsed text; times are in milliseconds.

    ``via`` says how it came, ``batch`` or ``online``, where there was a choice; out of a batch it has no
    latency.
    """

    status: int
    headers: Mapping[str, str]
    text: str
    body: Mapping[str, Any]
    latency_ms: float | None
    first_token_ms: float | None = None
    request_id: str | None = None
    retries: list[dict[str, JSON]] = field(default_factory=list)
    via: str | None = None


Sent = TypeVar("Sent")
Retries = list[dict[str, JSON]]


class Transport:
    """Sends requests for many attempts over one connection pool. Use as an async context manager.

    Parameters
    ----------
    timeouts
        Seconds: ``connect``, ``first_byte`` (silence between two reads) and ``total`` of one try.
    retries
        ``tries`` of one request that fails for itself, ``max_wait`` seconds at most between them, and
        ``patience`` seconds with an endpoint that is away or has too much to do; with one try or no patience
        nothing is waited for.
    on_wait
        Told one line whenever all requests to an endpoint wait.
    turnstile
        Gives the limiter of a model's endpoint, where that is not this transport's own.
    """

    def __init__(
        self,
        redactor: Redactor,
        timeouts: Mapping[str, float] | None = None,
        retries: Mapping[str, float] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        on_wait: Callable[[str], None] | None = None,
        turnstile: Callable[[ModelConfig], Turnstile] | None = None,
    ) -> None:
        self._turnstile = turnstile or self._own_endpoint
        self._redact = redactor
        self._timeouts = {**TIMEOUTS, **(timeouts or {})}
        self._retries = {**RETRIES, **(retries or {})}
        self._transport = transport
        self._on_wait = on_wait
        self._endpoints: dict[tuple[str, str | None], Turnstile] = {}
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Transport:
        from httpx_aiohttp import AiohttpTransport

        limits = httpx.Limits(max_connections=_most_connections(), max_keepalive_connections=128)
        timeout = httpx.Timeout(self._timeouts["first_byte"], connect=self._timeouts["connect"])
        # Plain httpx loses an order of magnitude at 64 connections; see tests/bench/transport.py.
        far, near = (
            self._transport or AiohttpTransport(limits=limits, client=partial(_session, limits, proxies))
            for proxies in (True, False)
        )
        self._client = httpx.AsyncClient(
            transport=far,
            mounts=dict.fromkeys(LOOPBACK, near),
            timeout=timeout,
            follow_redirects=False,
            headers={"accept-encoding": ACCEPTED},
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def send(self, model: ModelConfig, adapter: ProviderAdapter, request: Request) -> Response:
        """Send one request, trying again only what can heal.

        Raises
        ------
        TransportError
            When there is no usable reply. Its message is redacted; ``retries`` says what was tried.
        """
        return await self._patiently(model, lambda retries: self._exchange(model, adapter, request, retries))

    async def call(
        self, model: ModelConfig, adapter: ProviderAdapter, call: Call, headers: Mapping[str, str]
    ) -> str:
        """Make one exchange with a batch endpoint and return the text of the reply, as it came.

        Raises
        ------
        TransportError
            As :meth:`send`; at once where the exchange may have been made and must not be made twice.
        """

        async def once(retries: Retries) -> str:
            kind = {"content-type": call.content_type} if call.content else {}
            text, response, _ = await self._talk(model, adapter, call, {**kind, **headers}, None)
            if not response.is_success:
                raise classify(response.status_code, self._redact.headers(response.headers), text)
            return text

        return await self._patiently(model, once, twice=not call.creates)

    async def _patiently(
        self, model: ModelConfig, once: Callable[[Retries], Awaitable[Sent]], twice: bool = True
    ) -> Sent:
        """Do something with an endpoint, trying again only what can heal.

        Without ``twice`` only what has certainly not been done is tried again.
        """
        endpoint, started = self._endpoint(model), time.monotonic()
        tries, retries = int(self._retries["tries"]), Retries()
        own = 0
        while True:
            sent_at = await endpoint.enter()
            try:
                reply = await once(retries)
            except TransportError as error:
                error.message = self._redact(error.message)
                endpoint.failed(error, sent_at)
                retries.append(_noted(error, time.monotonic() - started))
                error.retries = retries
                waited_out = is_endpoints(error) and endpoint.patient and tries > 1
                own += not waited_out
                again = error.retryable and (twice or is_not_done(error))
                if not again or own >= tries or endpoint.closed is not None:
                    raise
                if not waited_out:
                    await asyncio.sleep(self._own_wait(error, len(retries)))
            except BaseException:
                endpoint.dropped()
                raise
            else:
                endpoint.answered(allowance(reply.headers) if isinstance(reply, Response) else None)
                return reply

    def given_up(self, model: ModelConfig) -> str | None:
        """Return why nothing more is sent to a model's endpoint, or ``None`` while something is."""
        return self._endpoint(model).closed

    def _endpoint(self, model: ModelConfig) -> Turnstile:
        """Return what is known of a model's endpoint: models of one address and key share their limits."""
        key = (model.base_url, model.api_key_env)
        if key not in self._endpoints:
            self._endpoints[key] = self._turnstile(model)
        return self._endpoints[key]

    def _own_endpoint(self, model: ModelConfig) -> Endpoint:
        return Endpoint(
            f"{model.provider}/{model.model}",
            self._retries["patience"],
            self._retries["max_wait"],
            model.requests_per_minute,
            self._on_wait,
        )

    def _own_wait(self, error: TransportError, number: int) -> float:
        """Return the seconds before a request is tried again for a failure of its own."""
        if error.retry_after is not None:
            if error.retry_after > self._retries["max_wait"]:
                # A server that asks for more than the cap would be asked too early: give up instead.
                raise error
            return max(error.retry_after, 0.001)
        if number == 1 and error.code in ("connect", "connection_lost"):
            # Most often a kept-alive connection that the server has closed: a fresh one needs no wait.
            return 0.001
        return min(self._retries["max_wait"], FIRST_WAIT * 2.0 ** (number - 1)) * random.uniform(0.5, 1.0)

    async def _exchange(
        self, model: ModelConfig, adapter: ProviderAdapter, request: Request, retries: Retries
    ) -> Response:
        """Send once and read the reply as it came; only what is kept of it is redacted."""
        started = time.monotonic()
        assembler = adapter.stream_assembler() if request.stream else None
        # Escaped, because what a model has said may hold half a character (a lone surrogate).
        call = Call("POST", request.path, json.dumps(request.body, allow_nan=False).encode())
        headers = laid_over({"content-type": call.content_type}, request.headers)
        text, response, first_content = await self._talk(model, adapter, call, headers, assembler)
        latency = (time.monotonic() - started) * 1000
        kept = self._redact.headers(response.headers)
        if response.is_success:
            body = _body(text, response, assembler)
            fault = adapter.fault(body)
        else:
            fault = classify(response.status_code, kept, text)
            body = _error_body(text) if fault.decides else {}
        if fault is not None and not fault.decides:
            raise fault
        return Response(
            status=response.status_code,
            headers=kept,
            text=self._kept(text, body, streamed=assembler is not None),
            body=body,
            latency_ms=round(latency, 1),
            first_token_ms=None if first_content is None else round((first_content - started) * 1000, 1),
            request_id=next((kept[name] for name in REQUEST_IDS if name in kept), None),
            retries=retries,
        )

    async def _talk(
        self,
        model: ModelConfig,
        adapter: ProviderAdapter,
        call: Call,
        own: Mapping[str, str],
        assembler: EventAssembler | None,
    ) -> tuple[str, httpx.Response, float | None]:
        """Make one exchange; return the text, the reply's head, and when a stream's first content came."""
        assert self._client is not None, "use the transport as a context manager"
        key = key_of(model)
        headers = laid_over(laid_over(own, adapter.auth_headers(key) if key else {}), extra_headers(model))
        path, _, query = call.path.partition("?")
        # aiohttp refuses an address that carries credentials beside a header that does.
        login = credentials(model.base_url)
        url = httpx.URL(model.base_url).copy_with(userinfo=b"")
        url = url.copy_with(path=url.path.rstrip("/") + path)
        url = url.copy_merge_params(httpx.QueryParams(query)) if query else url
        try:
            async with (
                asyncio.timeout(self._timeouts["total"]),
                self._client.stream(
                    call.method, url, content=call.content or None, headers=headers, auth=login
                ) as response,
            ):
                text, first_content = await self._read(response, assembler, results=call.method == "GET")
        except TimeoutError:
            raise TransportError(
                "timeout", f"no complete reply in {self._timeouts['total']:g} s", retryable=True
            ) from None
        except httpx.HTTPError as error:
            raise TransportError(_code_of(error), self._explain(error, model), retryable=True) from None
        except (ClientError, OSError, ValueError, RecursionError, httpx.InvalidURL) as error:
            # Whatever a server sends, one attempt fails and never the run.
            raise TransportError("bad_exchange", self._explain(error, model), retryable=True) from None
        return text, response, first_content

    def _kept(self, text: str, body: Mapping[str, Any], streamed: bool) -> str:
        """Return the text of a reply for the record."""
        whole = json.dumps(body) if streamed else ""
        # A secret cut in two by a stream is found only in what the stream becomes.
        return self._redact(text) if self._redact(whole) == whole else self._redact(whole)

    async def _read(
        self, response: httpx.Response, assembler: EventAssembler | None, results: bool = False
    ) -> tuple[str, float | None]:
        """Return the complete text, and when the first content arrived if it came as a stream."""
        splitter, lines = LineSplitter(), list[str]()
        first: float | None = None
        streamed = assembler is not None and response.is_success and _is_streamed(response)

        def take(new: list[str]) -> None:
            nonlocal first
            for line in new:
                lines.append(line)
                if streamed and assembler is not None:
                    assembler.feed(line)
                    if first is None and assembler.has_content:
                        first = time.monotonic()

        limit = LARGEST_STREAM if streamed else LARGEST_RESULTS if results else LARGEST_REPLY
        # A transport that hands over whole replies, as a test's does, has unpacked them as well.
        whole = response.is_stream_consumed
        unpacker = Unpacker("" if whole else response.headers.get("content-encoding", ""), limit)
        async for chunk in response.aiter_bytes() if whole else response.aiter_raw():
            for piece in unpacker.feed(chunk):
                take(splitter.feed(piece))
        take([splitter.rest()])
        return "\n".join(lines), first

    def _explain(self, error: Exception, model: ModelConfig) -> str:
        host = httpx.URL(model.base_url)
        where = f"{host.scheme}://{host.host}" + (f":{host.port}" if host.port else "")
        reason = re.sub(r"\w+://\S+", "…", self._redact(" ".join(str(error).split())))
        reason = reason or type(error).__name__
        return f"{where}: {reason}"[:300]


def is_not_done(error: TransportError) -> bool:
    """Whether what failed has certainly not been done: it never arrived, or was turned away."""
    return error.code == "connect" or error.status in (429, 503, 529)


def _most_connections() -> int:
    """Return how many connections the process may open and still have descriptors for its files."""
    try:
        import resource
    except ImportError:
        return 512
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 512 if allowed == resource.RLIM_INFINITY else max(4, min(512, allowed - FILES))


def _noted(error: TransportError, seconds: float) -> dict[str, JSON]:
    """Return a failed try as the record keeps it."""
    return {
        "code": error.code,
        "status": error.status,
        "message": error.message,
        "retry_after": error.retry_after,
        "at_ms": round(seconds * 1000, 1),
    }


def _session(limits: httpx.Limits, proxies: bool) -> ClientSession:
    """Return a session that obeys the environment: SSL_CERT_FILE and SSL_CERT_DIR, and where there may be
    ``proxies`` these and NO_PROXY.
    """
    connector = TCPConnector(
        limit=limits.max_connections or 0,
        keepalive_timeout=limits.keepalive_expiry,
        ssl=httpx.create_ssl_context(),
    )
    return ClientSession(connector=connector, trust_env=proxies)


def _code_of(error: httpx.HTTPError) -> str:
    """Return whether the server was never reached, went silent, or broke off."""
    from aiohttp import ClientConnectionError, ClientConnectorError, ServerTimeoutError

    cause = error.__cause__
    named_well = ClientConnectorError, ServerTimeoutError
    if isinstance(cause, ClientConnectionError) and not isinstance(cause, named_well):
        # httpx-aiohttp names this ConnectTimeout too, but the request was sent: it may have been served.
        return "connection_lost"
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        return "connect"
    return "timeout" if isinstance(error, httpx.TimeoutException) else "connection_lost"


def _is_streamed(response: httpx.Response) -> bool:
    """Whether a reply is the stream that was asked for; an error before it, say, is one JSON document."""
    kind = response.headers.get("content-type", "").strip().lower()
    return not kind.startswith("application/json")


def _body(text: str, response: httpx.Response, assembler: EventAssembler | None) -> Any:
    """Return the body of a reply: one JSON document or a stream, whatever its content type says."""
    if assembler is not None and assembler.begun:
        return assembler.finish()
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        pass
    if assembler is not None and (_is_stream(response) or re.search(r"^data:", text, re.MULTILINE)):
        return assemble(assembler, "" if _is_streamed(response) else text)
    message = f"the reply is not JSON: {' '.join(text[:120].split())!r}"
    raise TransportError("not_json", message, response.status_code, retryable=True)


def _is_stream(response: httpx.Response) -> bool:
    """Whether a reply calls itself a stream."""
    kind: str = response.headers.get("content-type", "")
    return kind.startswith(("text/event-stream", "application/x-ndjson"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _error_body(text: str) -> dict[str, Any]:
    """Return the body of an error that reports the model's own turn, as the adapters read it."""
    body = json.loads(text) if _is_json(text) else {"error": text}
    body = body[0] if isinstance(body, list) and body else body
    return body if isinstance(body, dict) else {"error": body}
