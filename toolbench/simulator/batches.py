"""Batches: requests handed in together, worked on for a while, and read back in an order of their own.

The work is done when a batch arrives and shown when its time is over. What a request meets is scripted as
outside: a fault of its model or rule, of which those that begin with ``batch_`` only exist here.
"""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.simulator.failures import Failure
from toolbench.simulator.streaming import dumps

Body = dict[str, Any]
DAY = 86_400
FILE_REQUESTS, FILE_BYTES = 50_000, 200_000_000
MESSAGE_REQUESTS, MESSAGE_BYTES = 100_000, 256_000_000
ENDPOINTS = {"/v1/chat/completions": "chat_completions", "/v1/responses": "responses"}
CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class Outcome:
    """What became of one request: a status and a body, or a fault that only batches have."""

    status: int = 0
    body: JSON = None
    fault: str = "none"
    seconds: float = 0.0


Answering = Callable[[str, Body], Outcome]
"""Answers the body of a request of a protocol as it would be answered alone."""


@dataclass
class Batch:
    """One batch of either provider.

    Attributes
    ----------
    about
        What its provider's object says beside state and counts.
    done
        Custom id and outcome of every request; empty where the input was refused.
    errors
        Why the input was refused.
    ready_at
        When the last request is done (``time.time()``).
    """

    id: str
    about: Body
    done: Sequence[tuple[str, Outcome]] = ()
    errors: Sequence[Body] = ()
    created: float = field(default_factory=time.time)
    ready_at: float = 0.0
    cancelled_at: float | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more will change."""
        return self.cancelled_at is not None or time.time() >= self.ready_at

    def results(self) -> list[tuple[str, Outcome]]:
        """Return what there is to read, last request first: nobody may rely on an order."""
        if self.cancelled_at is None or self.cancelled_at >= self.ready_at:
            return list(reversed(self.done))
        return [(id_, Outcome(fault="batch_canceled")) for id_, _ in reversed(self.done)]

    def cancel(self) -> None:
        """Stop it; what was done by then stays done."""
        if not self.over:
            self.cancelled_at = time.time()


class Desk(ABC):
    """What both kinds of batches have in common: they are begun, listed, looked at and stopped."""

    prefix: ClassVar[str]
    cursor: ClassVar[str]

    def __init__(self) -> None:
        self.batches: dict[str, Batch] = {}

    @abstractmethod
    def shown(self, id_: str) -> Body:
        """Return a batch as its provider shows it."""

    @abstractmethod
    def unknown(self, id_: str) -> Failure:
        """Return what the provider says of a batch that it does not have."""

    def cancel(self, id_: str) -> Body:
        """Stop a batch."""
        self.found(id_).cancel()
        return self.shown(id_)

    def page(self, query: Mapping[str, str]) -> Body:
        """List the batches, newest first."""
        data, more = _page(list(self.batches), query, self.cursor)
        shown = [self.shown(id_) for id_ in data]
        ends = {"first_id": data[0] if data else None, "last_id": data[-1] if data else None}
        return {"data": shown, **ends, "has_more": more}

    def found(self, id_: str) -> Batch:
        """Return a batch that there is."""
        if id_ not in self.batches:
            raise self.unknown(id_)
        return self.batches[id_]

    def _begun(
        self, about: Body, done: Sequence[tuple[str, Outcome]], seconds: float, errors: Sequence[Body] = ()
    ) -> Body:
        batch = Batch(f"{self.prefix}{len(self.batches) + 1:06d}", about, done, errors)
        batch.ready_at = batch.created + max([seconds, *(one.seconds for _, one in done)])
        self.batches[batch.id] = batch
        return self.shown(batch.id)


class FileDesk(Desk):
    """OpenAI's files and batches."""

    prefix = "batch_sim"
    cursor = "after"

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, tuple[Body, bytes]] = {}

    def upload(self, fields: Mapping[str, tuple[str, bytes]]) -> Body:
        """Keep a file; ``fields`` are those of the form, by name: file name and content."""
        if "purpose" not in fields:
            raise Failure(400, "Missing required parameter: 'purpose'.", param="purpose")
        if "file" not in fields:
            raise Failure(400, "Missing required parameter: 'file'.", param="file")
        purpose = fields["purpose"][1].decode("utf-8", "replace")
        name, content = fields["file"]
        if purpose != "batch":
            raise Failure(400, f"'{purpose}' is not one of ['batch'] - 'purpose'", param="purpose")
        if not name.endswith(".jsonl"):
            raise Failure(400, "Invalid file format for Batch API. Must be .jsonl", param="file")
        if len(content) > FILE_BYTES:
            raise Failure(400, "File is too large.", param="file")
        return self._file(name, content, purpose)

    def _file(self, name: str, content: bytes, purpose: str) -> Body:
        id_ = f"file-sim{len(self.files) + 1:08d}"
        file = {
            "id": id_,
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": name,
            "purpose": purpose,
            "status": "processed",
            "status_details": None,
        }
        self.files[id_] = (file, content)
        return file

    def file(self, id_: str) -> tuple[Body, bytes]:
        """Return a file and its content."""
        if id_ not in self.files:
            raise Failure(404, f"No such File object: {id_}", code="not_found", param="id")
        return self.files[id_]

    def create(self, body: Body, answer: Answering, seconds: float, most_requests: int | None) -> Body:
        """Begin a batch; what is wrong with the lines of its file is told by the batch.

        Parameters
        ----------
        seconds
            That it takes at least.
        most_requests
            Requests that may wait at once, as an account's limit of enqueued tokens has it.
        """
        for name in ("input_file_id", "endpoint", "completion_window"):
            if not isinstance(body.get(name), str):
                raise Failure(400, f"Missing required parameter: '{name}'.", param=name)
        if unknown := set(body) - {
            "input_file_id",
            "endpoint",
            "completion_window",
            "metadata",
            "output_expires_after",
        }:
            raise Failure(400, f"Unknown parameter: '{min(unknown)}'.", param=min(unknown))
        if body["endpoint"] not in ENDPOINTS:
            raise Failure(400, f"Invalid value: '{body['endpoint']}'.", param="endpoint")
        if body["completion_window"] != "24h":
            raise Failure(400, "Invalid value for 'completion_window'. Use '24h'.", param="completion_window")
        if body["input_file_id"] not in self.files:
            raise Failure(400, f"Invalid 'input_file_id': {body['input_file_id']}.", param="input_file_id")
        lines, errors = _lines(self.files[body["input_file_id"]][1], body["endpoint"])
        if not errors and most_requests is not None and len(lines) > most_requests:
            told = f"Enqueued token limit reached. Limit: {most_requests} requests in this simulator."
            errors = [_error("token_limit_exceeded", told)]
        protocol = ENDPOINTS[body["endpoint"]]
        done = [] if errors else [(id_, answer(protocol, request)) for id_, request in lines]
        return self._begun(dict(body), done, seconds, errors)

    def page(self, query: Mapping[str, str]) -> Body:
        """List the batches, newest first."""
        return {"object": "list", **super().page(query)}

    def shown(self, id_: str) -> Body:
        """Return a batch as its provider shows it."""
        batch = self.found(id_)
        status = "failed" if batch.errors else "in_progress"
        kinds = [outcome.fault for _, outcome in batch.done]
        if not batch.errors and batch.over:
            status = "cancelled" if batch.cancelled_at else "completed"
            status = "expired" if status == "completed" and "batch_expired" in kinds else status
        ended = status not in ("in_progress", "failed")
        files = self._results(batch) if ended else (None, None)
        good = sum(outcome.status == 200 for _, outcome in batch.done) if ended else 0
        created = int(batch.created)
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.about["endpoint"],
            "errors": {"object": "list", "data": list(batch.errors)} if batch.errors else None,
            "input_file_id": batch.about["input_file_id"],
            "completion_window": batch.about["completion_window"],
            "status": status,
            "output_file_id": files[0],
            "error_file_id": files[1],
            "created_at": created,
            "in_progress_at": None if batch.errors else created,
            "expires_at": created + DAY,
            "finalizing_at": None,
            "completed_at": int(batch.ready_at) if status == "completed" else None,
            "failed_at": created if batch.errors else None,
            "expired_at": int(batch.ready_at) if status == "expired" else None,
            "cancelling_at": None,
            "cancelled_at": int(batch.cancelled_at) if batch.cancelled_at else None,
            "request_counts": {
                "total": len(batch.done),
                "completed": good,
                "failed": len(batch.done) - good if ended else 0,
            },
            "metadata": batch.about.get("metadata"),
        }

    def unknown(self, id_: str) -> Failure:
        """Return what the provider says of a batch that it does not have."""
        return Failure(404, f"No batch found with id '{id_}'.", code="not_found", param="batch_id")

    def _results(self, batch: Batch) -> tuple[str | None, str | None]:
        """Return the ids of output and error file, which are written when first asked for."""
        if "files" not in batch.about:
            good, bad = list[bytes](), list[bytes]()
            for number, (id_, outcome) in enumerate(batch.results()):
                line: Body = {
                    "id": f"batch_req_{batch.id}_{number}",
                    "custom_id": id_,
                    "response": None,
                    "error": None,
                }
                if outcome.fault in UNMADE:
                    code, told = UNMADE[outcome.fault]
                    bad.append(dumps({**line, "error": {"code": code, "message": told}}))
                    continue
                line["response"] = {
                    "status_code": outcome.status,
                    "request_id": f"req_{batch.id}_{number}",
                    "body": outcome.body,
                }
                (good if outcome.status == 200 else bad).extend(_spoilt(line, outcome.fault))
            names = zip(("output", "error"), (good, bad), strict=True)
            batch.about["files"] = tuple(
                self._file(f"{batch.id}_{name}.jsonl", b"\n".join(lines) + b"\n", "batch_output")["id"]
                if lines
                else None
                for name, lines in names
            )
        first, second = batch.about["files"]
        return first, second


class MessageDesk(Desk):
    """Anthropic's message batches."""

    prefix = "msgbatch_sim"
    cursor = "after_id"

    def create(self, body: Body, answer: Answering, seconds: float, base: str) -> Body:
        """Begin a batch; ``base`` is where its results will be read."""
        requests = body.get("requests")
        if set(body) - {"requests"}:
            raise Failure(400, f"{min(set(body) - {'requests'})}: Extra inputs are not permitted")
        if not isinstance(requests, list) or not requests:
            raise Failure(400, "requests: Field required")
        if len(requests) > MESSAGE_REQUESTS:
            raise Failure(413)
        seen: set[str] = set()
        for place, request in enumerate(requests):
            where = f"requests.{place}"
            if not isinstance(request, dict) or set(request) != {"custom_id", "params"}:
                raise Failure(400, f"{where}: custom_id and params are required, and nothing else")
            if not isinstance(request["custom_id"], str) or not CUSTOM_ID.fullmatch(request["custom_id"]):
                raise Failure(
                    400, f"{where}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
                )
            if request["custom_id"] in seen:
                raise Failure(400, f"{where}.custom_id: Duplicate custom_id: {request['custom_id']}")
            if not isinstance(request["params"], dict):
                raise Failure(400, f"{where}.params: Input should be an object")
            seen.add(request["custom_id"])
        done = [(one["custom_id"], answer("messages", one["params"])) for one in requests]
        return self._begun({"base": base}, done, seconds)

    def shown(self, id_: str) -> Body:
        """Return a batch as its provider shows it."""
        batch = self.found(id_)
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        for _, outcome in batch.results():
            counts[_kind(outcome) if batch.over else "processing"] += 1
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if batch.over else "in_progress",
            "request_counts": counts,
            "ended_at": _moment(batch.cancelled_at or batch.ready_at) if batch.over else None,
            "created_at": _moment(batch.created),
            "expires_at": _moment(batch.created + DAY),
            "archived_at": None,
            "cancel_initiated_at": _moment(batch.cancelled_at) if batch.cancelled_at else None,
            "results_url": f"{batch.about['base']}/{batch.id}/results" if batch.over else None,
        }

    def results(self, id_: str) -> bytes:
        """Return the results as lines."""
        batch = self.found(id_)
        if not batch.over:
            raise Failure(404, f"{id_} has no available results yet")
        lines: list[bytes] = []
        for id_, outcome in batch.results():
            kind = _kind(outcome)
            result: Body = {"type": kind}
            if kind == "succeeded":
                result["message"] = outcome.body
            elif kind == "errored":
                result["error"] = outcome.body
            lines += _spoilt({"custom_id": id_, "result": result}, outcome.fault)
        return b"\n".join(lines) + b"\n"

    def unknown(self, id_: str) -> Failure:
        """Return what the provider says of a batch that it does not have."""
        return Failure(404, f"Message batch {id_} not found")


UNMADE = {
    "batch_expired": (
        "batch_expired",
        "This request could not be executed before the completion window expired.",
    ),
    "batch_canceled": ("batch_cancelled", "This request was cancelled with its batch."),
}
"""Fault → code and message of a request that OpenAI has not made."""


def _kind(outcome: Outcome) -> str:
    if outcome.fault in UNMADE:
        return outcome.fault.removeprefix("batch_")
    return "succeeded" if outcome.status == 200 else "errored"


def _spoilt(line: Body, fault: str) -> list[bytes]:
    """Return the lines that a result becomes under a fault."""
    text = dumps(line)
    if fault == "batch_missing":
        return []
    if fault == "batch_malformed":
        return [text[: len(text) // 2]]
    if fault == "batch_foreign":
        return [text, dumps({**line, "custom_id": "somebody-elses"})]
    return [text, text] if fault == "batch_twice" else [text]


def _lines(content: bytes, endpoint: str) -> tuple[list[tuple[str, Body]], list[Body]]:
    """Return custom id and body of every line of an input file, and what is wrong with the others."""
    requests: list[tuple[str, Body]] = []
    errors: list[Body] = []
    seen: set[str] = set()
    model: JSON = None
    raw = content.removesuffix(b"\n").split(b"\n") if content.strip() else []
    if not raw:
        errors.append(_error("empty_file", "The batch input file is empty."))
    if len(raw) > FILE_REQUESTS:
        errors.append(_error("too_many_tasks", f"The file has more than {FILE_REQUESTS} requests."))
    for number, text in enumerate(raw, 1):
        try:
            line = loads_strict(text.decode())
        except (StrictJSONError, UnicodeDecodeError):
            line = None
        if not isinstance(line, dict):
            errors.append(_error("invalid_json_line", "This line is not parseable as valid JSON.", number))
            continue
        id_, body = line.get("custom_id"), line.get("body")
        if not isinstance(id_, str) or not id_ or not isinstance(body, dict) or line.get("method") != "POST":
            told = "custom_id, method POST, url and body are required."
            errors.append(_error("missing_required_parameter", told, number))
            continue
        model = model or body.get("model")
        if line.get("url") != endpoint:
            errors.append(_error("url_mismatch", f"The url must be {endpoint}.", number, "url"))
        elif id_ in seen:
            errors.append(_error("duplicate_custom_id", f"The custom_id {id_} occurs twice.", number))
        elif body.get("model") != model:
            errors.append(_error("model_mismatch", "All requests must be for one model.", number, "model"))
        seen.add(id_)
        requests.append((id_, body))
    return requests, errors


def _error(code: str, message: str, line: int | None = None, param: str | None = None) -> Body:
    return {"code": code, "message": message, "line": line, "param": param}


def _page(ids: Sequence[str], query: Mapping[str, str], cursor: str) -> tuple[list[str], bool]:
    """Return a page of ids, newest first, and whether there are more."""
    newest = list(reversed(ids))
    start = newest.index(query[cursor]) + 1 if query.get(cursor) in newest else 0
    most = int(query["limit"]) if query.get("limit", "").isdigit() else 20
    return newest[start : start + most], start + most < len(newest)


def _moment(seconds: float) -> str:
    return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def parsed_body(content: bytes) -> Body:
    """Return the JSON object of a large body."""
    try:
        body = json.loads(content)
    except ValueError as error:
        raise Failure(400, f"The request body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise Failure(400, "The request body must be a JSON object.")
    return body
