"""Faults on purpose: which one a request meets, and what is sent in place of the reply (`faults.json`)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.simulator.failures import Failure, Family, rate_limited
from toolbench.simulator.script import FAULTS, fault_name
from toolbench.simulator.streaming import Frames

HTML_PAGE = (
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head>"
    "<body><center><h1>502 Bad Gateway</h1></center><hr><center>gateway</center></body></html>"
).encode("latin-1")

DRIPS = 20
"""Pieces of a dripping body."""


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes
    ----------
    retry_after, seconds
        Seconds the client is asked to wait; how long the server hangs or drips.
    """

    name: str = "ok"
    kind: str = "none"
    status: int = 200
    retry_after: float | None = None
    retry_form: str | None = None
    quota: bool = False
    seconds: float = 0.0


@dataclass(frozen=True)
class Transmission:
    """What goes over the wire, in order.

    Attributes
    ----------
    pause_s
        Between two chunks.
    length
        The announced length, None for a chunked body.
    aborts
        The connection is torn down after the last chunk.
    """

    chunks: tuple[bytes, ...]
    content_type: str
    pause_s: float = 0.0
    length: int | None = None
    aborts: bool = False


class FaultWalk:
    """Remembers how many tries of one request each list of faults has seen; forgets the oldest."""

    def __init__(self, limit: int = 4096) -> None:
        self._limit = limit
        self._tries: OrderedDict[tuple[str, str], int] = OrderedDict()

    def next(self, faults: JSON, digest: str) -> Fault:
        """Return the fault of this try."""
        if faults is None:
            return Fault()
        if not isinstance(faults, list):
            return _fault(faults)
        key = (repr(faults), digest)
        number = self._tries.pop(key, 0)
        self._tries[key] = number + 1
        if len(self._tries) > self._limit:
            self._tries.popitem(last=False)
        return _fault(faults[number % len(faults)])


def _fault(written: JSON) -> Fault:
    name = fault_name(written)
    fault = Fault(name=name, **FAULTS[name])
    if not isinstance(written, dict):
        return fault
    changes: dict[str, Any] = {key: written[key] for key in ("retry_after", "seconds") if key in written}
    if "retry_after" in changes and fault.retry_form is None:
        changes["retry_form"] = "seconds"
    return replace(fault, **changes)


def failure_of(fault: Fault, family: Family) -> Failure | None:
    """Return the refusal that a fault is, or None for a fault of another kind."""
    if fault.kind != "status":
        return None
    if fault.status == 429:
        return rate_limited(family, fault.retry_after, fault.retry_form, fault.quota)
    failure = Failure(fault.status if fault.status >= 400 else 500)
    if fault.retry_after is not None:
        failure.headers["retry-after"] = f"{fault.retry_after:g}"
    return failure


def whole_plan(body: bytes, fault: Fault) -> Transmission:
    """Return how a reply in one body is sent."""
    plan = Transmission((body,), "application/json", length=len(body))
    half = body[: len(body) // 2]
    if fault.kind == "truncated_body":
        return replace(plan, chunks=(half,), aborts=True)
    if fault.kind in ("malformed_json", "cut_stream"):
        return replace(plan, chunks=(half,), length=len(half))
    if fault.kind == "keep_alive":
        return replace(plan, chunks=(b"\n", b"\n", body), length=None)
    if fault.kind == "slow_drip":
        return replace(plan, chunks=_cut(body, -(-len(body) // DRIPS)), pause_s=fault.seconds / DRIPS)
    return plan


def stream_plan(stream: Frames, fault: Fault, failure: JSON, wire_bytes: int | None) -> Transmission:
    """Return how a streamed reply is sent.

    Parameters
    ----------
    failure
        The error body that a failure in the middle tells.
    wire_bytes
        Cut into writes of that many bytes, whatever the frames; None for one frame a write.
    """
    frames, middle = list(stream.frames), len(stream.frames) // 2
    aborts = fault.kind == "truncated_body"
    if fault.kind == "mid_stream_error":
        frames = frames[:middle] + stream.error(failure)
    elif fault.kind in ("truncated_body", "cut_stream"):
        frames = frames[:middle]
    elif fault.kind == "malformed_json":
        broken = frames[middle].rstrip()
        frames[middle] = broken[: -max(1, len(broken) // 4)] + b"\n\n"
    elif fault.kind == "keep_alive" and stream.comment is not None:
        frames = [part for frame in frames for part in (stream.comment, frame)]
    pause_s = fault.seconds / max(1, len(frames)) if fault.kind == "slow_drip" else 0.0
    chunks = tuple(frames) if wire_bytes is None else _cut(b"".join(frames), wire_bytes)
    return Transmission(chunks, stream.content_type, pause_s, None, aborts)


def _cut(data: bytes, size: int) -> tuple[bytes, ...]:
    return tuple(data[start : start + size] for start in range(0, len(data), size))
