"""What a provider answers when it refuses: words, body, status and headers (`families.json`)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Body = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """How one family of providers words and shapes its errors.

    Attributes
    ----------
    shape
        The key of :data:`SHAPES`.
    path
        Spelling of a place in the request: ``brackets`` (``tools[0].name``) or ``dots`` (``tools.0.name``).
    keys
        ``required`` where a request without a key is refused, else ``none``.
    headers
        Sent with every reply; ``{n}`` stands for the request's number.
    structure
        Kind of misfit -> message and code.
    limits
        Refused feature -> message and code; ``other`` is for all that are not listed.
    statuses
        Status -> type, code, message.
    quota
        What differs in a 429 that waiting does not cure.
    structure_status
        The status of a request of the wrong structure.
    """

    name: str
    shape: str
    path: str
    keys: str
    headers: dict[str, str]
    structure: dict[str, list[str | None]]
    limits: dict[str, list[str | None]]
    statuses: dict[str, list[str | None]]
    quota: dict[str, Any] = field(default_factory=dict)
    structure_status: int = 400

    def status(self, status: int) -> tuple[str | None, str | None, str]:
        """Return type, code and message of a status; one that is not listed speaks like its class."""
        nearest = "500" if status >= 500 else "400"
        kind, code, message = self.statuses.get(str(status)) or self.statuses[nearest]
        return kind, code, message or ""

    def limit(self, feature: str) -> tuple[str, str | None]:
        """Return the template and code that refuse a feature."""
        message, code = self.limits.get(feature) or self.limits["other"]
        return message or "", code


@dataclass
class Failure(Exception):
    """The provider refuses a request.

    Attributes
    ----------
    message
        Empty for the family's usual words.
    type, code
        None for the family's usual ones of that status.
    details
        Machine-readable extras, placed where the family puts them.
    headers
        Sent besides the family's own.
    """

    status: int
    message: str = ""
    type: str | None = None
    code: str | None = None
    param: str | None = None
    details: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@cache
def families() -> Mapping[str, Family]:
    """Return every family by name."""
    table: dict[str, dict[str, Any]] = json.loads((HERE / "families.json").read_text("utf-8"))
    resolved = {}
    for name, entry in table.items():
        inherited = table.get(entry.get("like", ""), {})
        merged = {**inherited, **entry}
        merged.pop("like", None)
        merged["statuses"] = {**inherited.get("statuses", {}), **entry["statuses"]}
        merged["limits"] = {**inherited.get("limits", {}), **entry["limits"]}
        resolved[name] = Family(name=name, **merged)
    return resolved


def _openai(said: Failure, request: str) -> Body:
    return {"error": {"message": said.message, "type": said.type, "param": said.param, "code": said.code}}


def _mistral(said: Failure, request: str) -> Body:
    if said.details is not None:
        return {"detail": said.details}
    return {"object": "error", **_openai(said, request)["error"]}


def _llama_cpp(said: Failure, request: str) -> Body:
    return {"error": {"code": said.status, "message": said.message, "type": said.type}}


def _anthropic(said: Failure, request: str) -> Body:
    error = {"type": said.type, "message": said.message, **_details(said)}
    return {"type": "error", "error": error, "request_id": f"req_{request}"}


def _ollama(said: Failure, request: str) -> Body:
    return {"error": said.message}


def _gemini(said: Failure, request: str) -> Body:
    return {"error": {"code": said.status, "message": said.message, "status": said.type, **_details(said)}}


def _details(said: Failure) -> Body:
    return {} if said.details is None else {"details": said.details}


SHAPES: dict[str, Callable[[Failure, str], Body]] = {
    "openai": _openai,
    "mistral": _mistral,
    "llama_cpp": _llama_cpp,
    "anthropic": _anthropic,
    "ollama": _ollama,
    "gemini": _gemini,
}
"""Shape -> writer of a failure that has all its words, and the request's number."""


def body_of(failure: Failure, family: Family, model: str, request: str) -> Body:
    """Return the error body in the family's own shape."""
    kind, code, message = family.status(failure.status)
    said = replace(
        failure,
        type=failure.type or kind,
        code=failure.code or code,
        message=failure.message or message.format(model=model),
    )
    return SHAPES[family.shape](said, request)


def rate_limited(family: Family, wait_s: float | None, form: str | None, quota: bool) -> Failure:
    """Return a 429 as the family sends it: to wait for, or final.

    Parameters
    ----------
    wait_s
        Seconds to wait, None when the server does not say.
    form
        ``seconds``, ``date`` or ``ms``: how the header spells it.
    """
    if quota:
        return Failure(429, **family.quota)
    failure = Failure(429)
    if wait_s is None:
        return failure
    if family.shape == "gemini":
        # This family has no such header: the wait is in the body.
        failure.details = [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wait_s:g}s"},
        ]
        return failure
    if form == "ms":
        failure.headers["retry-after-ms"] = f"{wait_s * 1000:g}"
    elif form == "date":
        # A date has whole seconds only: rounded up, so that nobody comes too early.
        moment = math.ceil(datetime.now(UTC).timestamp() + wait_s)
        failure.headers["retry-after"] = format_datetime(datetime.fromtimestamp(moment, UTC), usegmt=True)
    else:
        failure.headers["retry-after"] = f"{wait_s:g}"
    return failure
