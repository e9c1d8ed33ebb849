"""Judging strangers' replies: whatever one of them holds, it costs its own verdict and no other."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from toolbench.domain.condition import Condition
from toolbench.domain.decision import MOST_CALLS
from toolbench.domain.record import Attempt, Status
from toolbench.domain.suite import Suite
from toolbench.errors import ExtensionError
from toolbench.judging.overruling import Said
from toolbench.judging.score import Verdict, score

LONGEST_TEXT = 200_000
"""Characters of one answer or one argument text; the largest output limits of today give half of that."""
Fate = Status | Literal["cached"]
"""What became of an attempt; ``cached``: its replies were another attempt's, so that it is no sample."""
SECONDS = 10.0
"""Processor time one verdict may take, where it usually takes two milliseconds."""


@dataclass(frozen=True)
class Judged:
    """What became of an attempt: its verdict, or why there is none.

    ``status`` is the attempt's own, or ``judge_error`` with a one-line ``problem`` where toolbench and not
    the model is at fault.
    """

    status: Fate
    verdict: Verdict | None = None
    problem: str | None = None


class _OutOfTime(BaseException):
    """Not an ``Exception``: no check may take it for a fault of its own."""


def judge(
    attempt: Attempt,
    suite: Suite,
    condition: Condition,
    seconds: float = SECONDS,
    said: Said = MappingProxyType({}),
) -> Judged:
    """Judge one attempt and come back in any case.

    The time is bounded in the main thread of POSIX systems; everywhere the amount of work is.
    """
    large = _too_large(attempt)
    if large is not None:
        return Judged("judge_error", None, large)
    try:
        with _processor_time(seconds):
            return Judged(attempt.status, score(attempt, suite, condition, said))
    except _OutOfTime:
        return Judged("judge_error", None, f"no verdict after {seconds:g} s of processor time")
    except ExtensionError:
        raise
    except Exception as fault:
        told = " ".join(f"{type(fault).__name__}: {fault}".split())
        return Judged("judge_error", None, told[:300])


def _too_large(attempt: Attempt) -> str | None:
    for turn in attempt.turns:
        if len(turn.decision.calls) > MOST_CALLS:
            return f"{len(turn.decision.calls)} calls in one reply; {MOST_CALLS} are judged"
        texts = (turn.decision.text, *(call.raw_arguments for call in turn.decision.calls))
        longest = max(map(len, texts))
        if longest > LONGEST_TEXT:
            return f"a text of {longest} characters; {LONGEST_TEXT} are judged"
    return None


@contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    """Interrupt the block after this much processor time, which a busy machine does not use up."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
