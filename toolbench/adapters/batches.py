"""The batch endpoints of providers: how requests are handed in together, looked after and read back.

Half the price for up to a day of waiting. What is said to a provider is a generator like a conversation: it
yields exchanges and is sent their parsed bodies, so it needs no connection::

    made = wire.submit(requests, "5d1c")
    call = next(made)                # Call("POST", "/files", ...)
    call = made.send(body)           # StopIteration carries the batch's id

Sources: the batch guides and type definitions of both providers, 2026-11-30. Which servers have which kind
stands in ``profiles.json`` under ``batch``.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from toolbench.adapters.faults import classify
from toolbench.adapters.profiles import dialect_of, dialects
from toolbench.adapters.shapes import object_at, objects_of, text_of, word_of
from toolbench.adapters.wire import Request
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.extensions import wire_of
from toolbench.errors import ConfigError, TransportError

PAGES = 10
"""Pages of a hundred batches that are looked through for a lost one."""
CLOCKS = 300.0
"""Seconds that a provider's clock may differ from ours."""


@dataclass(frozen=True)
class Call:
    """One exchange with a batch endpoint; ``creates`` where doing it twice would be paid twice."""

    method: str
    path: str
    content: bytes = b""
    content_type: str = "application/json"
    creates: bool = False


@dataclass(frozen=True)
class Asked:
    """What is known of a batch that was handed in: a mark, when (RFC 3339) and how many requests."""

    tag: str
    at: str
    number: int


@dataclass(frozen=True)
class Refused:
    """Why a batch was not begun: of which line (from 1), ``None`` for all of it."""

    line: int | None
    code: str
    message: str


@dataclass(frozen=True)
class BatchState:
    """How far a batch is; ``results`` are the paths of what there is to read once it has ended."""

    ended: bool
    status: str
    results: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class Answer:
    """One line of results.

    ``status`` and ``body`` are what the request alone would have been answered with; ``fault`` says why there
    is nothing of the kind.
    """

    id: str
    status: int = 0
    body: Any = None
    request_id: str | None = None
    fault: TransportError | None = None


Talk = Generator[Call, Any, Any]
"""Yields exchanges, is sent parsed bodies, and returns what came of it."""


class BatchWire(ABC):
    """One kind of batch endpoint."""

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    too_many: ClassVar[frozenset[str]] = frozenset()
    """Codes of a batch that was too large for what the account may have waiting."""

    @abstractmethod
    def line(self, id_: str, request: Request) -> bytes:
        """Return a request as part of a batch, under an id of at most 64 letters, digits, ``-`` and ``_``."""

    @abstractmethod
    def submit(self, path: str, lines: Sequence[bytes], tag: str) -> Talk:
        """Hand in requests for one path; returns the batch's id."""

    @abstractmethod
    def find(self, asked: Asked, known: Collection[str]) -> Talk:
        """Look for a batch whose id was never told; returns it, or ``None``. ``known`` are others of ours."""

    @abstractmethod
    def look(self, batch: str) -> Call:
        """Return the exchange that tells how far a batch is."""

    @abstractmethod
    def state(self, batch: str, body: Mapping[str, Any]) -> BatchState:
        """Read the answer to :meth:`look`."""

    @abstractmethod
    def cancel(self, batch: str) -> Call:
        """Return the exchange that stops a batch; what is done by then is kept and paid."""

    @abstractmethod
    def answer(self, line: Mapping[str, Any]) -> Answer:
        """Read one line of results."""


class FileBatches(BatchWire):
    """OpenAI: a file of requests, and two files of results: answers, and errors."""

    most_requests = 50_000
    most_bytes = 200_000_000
    too_many = frozenset({"token_limit_exceeded"})

    def line(self, id_: str, request: Request) -> bytes:
        """Return a line of the file."""
        line = {"custom_id": id_, "method": "POST", "url": f"/v1{request.path}", "body": request.body}
        return json.dumps(line, allow_nan=False).encode()

    def submit(self, path: str, lines: Sequence[bytes], tag: str) -> Talk:
        """Upload the file, then begin a batch with it; the tag is among the batch's metadata."""
        file = yield _upload(f"{tag}.jsonl", b"\n".join(lines) + b"\n")
        body = {
            "input_file_id": _id(file),
            "endpoint": f"/v1{path}",
            "completion_window": "24h",
            "metadata": {"toolbench": tag},
        }
        return _id((yield Call("POST", "/batches", json.dumps(body).encode(), creates=True)))

    def find(self, asked: Asked, known: Collection[str]) -> Talk:
        """Look for the tag."""
        for batch in (yield from _listed("/batches", "after", "last_id")):
            if object_at(batch, "metadata").get("toolbench") == asked.tag:
                return _id(batch)
        return None

    def look(self, batch: str) -> Call:
        """Return ``GET /batches/{id}``."""
        return Call("GET", f"/batches/{batch}")

    def state(self, batch: str, body: Mapping[str, Any]) -> BatchState:
        """Read status, files and errors."""
        status = text_of(body.get("status"))
        ended = status in ("completed", "expired", "cancelled", "failed")
        files = [text_of(body.get(name)) for name in ("output_file_id", "error_file_id")]
        refused = tuple(
            Refused(
                error["line"] if isinstance(error.get("line"), int) else None,
                text_of(error.get("code")) or "batch_failed",
                text_of(error.get("message")) or "the provider does not say why",
            )
            for error in objects_of(object_at(body, "errors").get("data"))
        )
        if status == "failed" and not refused:
            refused = (Refused(None, "batch_failed", "the provider does not say why"),)
        paths = tuple(f"/files/{file}/content" for file in files if file) if ended else ()
        return BatchState(ended, status, paths, refused if status == "failed" else ())

    def cancel(self, batch: str) -> Call:
        """Return ``POST /batches/{id}/cancel``."""
        return Call("POST", f"/batches/{batch}/cancel")

    def answer(self, line: Mapping[str, Any]) -> Answer:
        """Read a line of either file: expired and cancelled requests have an error and no response."""
        id_, response, error = text_of(line.get("custom_id")), object_at(line, "response"), line.get("error")
        status = response.get("status_code")
        if isinstance(status, int):
            return Answer(id_, status, response.get("body"), word_of(response.get("request_id")))
        told = error if isinstance(error, dict) else {}
        code = text_of(told.get("code")) or "batch_error"
        return Answer(id_, fault=_not_made(code, text_of(told.get("message"))))


class MessageBatches(BatchWire):
    """Anthropic: all requests in one body, all results in one stream of lines."""

    most_requests = 100_000
    most_bytes = 256_000_000

    _STATUSES: ClassVar[Mapping[str, int]] = {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "conflict_error": 409,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    }
    """Type of an error → the status that it has outside a batch."""

    def line(self, id_: str, request: Request) -> bytes:
        """Return an entry of ``requests``."""
        return json.dumps({"custom_id": id_, "params": request.body}, allow_nan=False).encode()

    def submit(self, path: str, lines: Sequence[bytes], tag: str) -> Talk:
        """Post the requests; there is no place for the tag."""
        content = b'{"requests":[' + b",".join(lines) + b"]}"
        return _id((yield Call("POST", f"{path}/batches", content, creates=True)))

    def find(self, asked: Asked, known: Collection[str]) -> Talk:
        """Look for a batch of so many requests made about then; the ids of its results will show whose."""
        then = datetime.fromisoformat(asked.at).timestamp()
        found: list[tuple[float, str]] = []
        for batch in (yield from _listed("/messages/batches", "after_id", "last_id")):
            apart = abs(_moment(text_of(batch.get("created_at"))) - then)
            counts = [
                count for count in object_at(batch, "request_counts").values() if isinstance(count, int)
            ]
            if apart <= CLOCKS and sum(counts) == asked.number and _id(batch) not in known:
                found.append((apart, _id(batch)))
        return min(found)[1] if found else None

    def look(self, batch: str) -> Call:
        """Return ``GET /messages/batches/{id}``."""
        return Call("GET", f"/messages/batches/{batch}")

    def state(self, batch: str, body: Mapping[str, Any]) -> BatchState:
        """Read the status; the results have an address of their own, which is always the same."""
        status = text_of(body.get("processing_status"))
        ended = status == "ended"
        return BatchState(ended, status, (f"/messages/batches/{batch}/results",) if ended else ())

    def cancel(self, batch: str) -> Call:
        """Return ``POST /messages/batches/{id}/cancel``."""
        return Call("POST", f"/messages/batches/{batch}/cancel")

    def answer(self, line: Mapping[str, Any]) -> Answer:
        """Read a result: succeeded, errored, canceled or expired."""
        id_, result = text_of(line.get("custom_id")), object_at(line, "result")
        kind = text_of(result.get("type"))
        if kind == "succeeded":
            return Answer(id_, 200, result.get("message"))
        if kind == "errored":
            error = object_at(result, "error")
            code = text_of(object_at(error, "error").get("type"))
            return Answer(id_, self._STATUSES.get(code, 400), error, word_of(error.get("request_id")))
        return Answer(id_, fault=_not_made(f"batch_{kind}" if kind else "batch_error", ""))


BATCHES: Mapping[str, BatchWire] = {"files": FileBatches(), "messages": MessageBatches()}
"""Kind of batch endpoint, as ``profiles.json`` names it → how it is spoken."""


def batches_of(model: ModelConfig) -> BatchWire:
    """Return the batch endpoint of a model.

    Raises
    ------
    ConfigError
        When its server has none, or its settings ask for what no batch can do.
    """
    name = str(model.key)
    kind = dialect_of(model).batch if model.kind in ("http", "scripted") else None
    if kind is None:
        having = [name for name, dialect in dialects(wire_of(model.protocol))[1].items() if dialect.batch]
        remedy = (
            f"name the profile {' or '.join(having)} if it is that" if having else "its protocol has none"
        )
        raise ConfigError(f"batch: {name} has no batch endpoint ({remedy}); leave it out of --batch")
    if model.settings.stream:
        raise ConfigError(f'batch: {name} has "stream": true, which no batch can do; take it out')
    return BATCHES[kind]


def lots(lines: Sequence[bytes], most_requests: int, most_bytes: int) -> Iterator[range]:
    """Yield the places of lines that go into one batch, so that none is larger than its provider takes."""
    start = size = 0
    for place, line in enumerate(lines):
        # A line costs one byte more than it has, and what is around all of them a few more.
        if place > start and (place - start == most_requests or size + len(line) + 1 > most_bytes - 64):
            yield range(start, place)
            start, size = place, 0
        size += len(line) + 1
    if lines:
        yield range(start, len(lines))


def refusal_of(refused: Refused) -> TransportError:
    """Return what the refusal of a batch or of one line of it means for a request."""
    error = {"error": {"message": refused.message, "code": refused.code, "type": "invalid_request_error"}}
    fault = classify(400, {}, json.dumps(error))
    fault.message = f"batch refused ({refused.code}): {fault.message}"
    return fault


def _not_made(code: str, told: str) -> TransportError:
    """Return why a request of a batch was not made; one that was cancelled is not asked for again."""
    cancelled = code in ("batch_cancelled", "batch_canceled")
    why = "was cancelled" if cancelled else "expired before it was made" if "expired" in code else "failed"
    code = "batch_cancelled" if cancelled else code
    return TransportError(code, told or f"the request {why} with its batch", retryable=not cancelled)


def _upload(name: str, content: bytes) -> Call:
    """Return the upload of a file of requests: a form of two fields."""
    border = f"toolbench-{name.split('.')[0]}"
    head = (
        f'--{border}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{border}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
        "content-type: application/jsonl\r\n\r\n"
    )
    body = head.encode() + content + f"\r\n--{border}--\r\n".encode()
    return Call("POST", "/files", body, f"multipart/form-data; boundary={border}")


def _listed(path: str, cursor: str, last: str) -> Generator[Call, Any, list[dict[str, Any]]]:
    """List the newest batches, page by page."""
    found: list[dict[str, Any]] = []
    after = ""
    for _ in range(PAGES):
        page = yield Call("GET", f"{path}?limit=100{after}")
        page = page if isinstance(page, dict) else {}
        found += objects_of(page.get("data"))
        if not page.get("has_more") or not page.get(last):
            break
        after = f"&{cursor}={page[last]}"
    return found


def _id(body: JSON) -> str:
    id_ = body.get("id") if isinstance(body, Mapping) else None
    if not isinstance(id_, str) or not id_:
        raise TransportError("no_reply", "the batch endpoint answered without an id", 200)
    return id_


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
