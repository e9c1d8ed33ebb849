"""How the requests of many workers share one endpoint: when to send, how many at once, when to give up.

A server that is away or says "slow down" says it to everybody. All workers of an endpoint wait together, one
of them looks whether it is over, and then their number grows up to half of what was too much. How fast a rate
limit let requests through is remembered, and they are sent at that pace from then on.
Only what cannot heal ends this: a wait beyond all patience, or a server that stays away for as long.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Protocol

from toolbench.adapters.allowances import Allowance
from toolbench.errors import TransportError

GIVEN_UP = "given_up"
"""Code of a request that was not sent because the endpoint has been given up."""
AT_FIRST = 8.0
"""Requests in flight before anything is known of an endpoint."""
FIRST_WAIT = 0.5
"""Seconds of the first wait that the server did not name; each further one is twice as long."""
NEVER_ANSWERED = 60.0
"""Seconds of patience with an address that has not answered once: most often it is mistyped."""
MORE = 0.25
"""Requests more in flight for every good reply, before anything was too much."""
CLEAN, FASTER, SLOWER = 50, 1.05, 0.9
"""After so many replies without a refusal the learned rate is raised by so much, and lowered by a refusal."""
FEW = 5
"""Replies between two refusals below which they belong to one pause."""
MARGIN = 1.03
"""A known limit is kept with so much to spare: what is sent evenly does not arrive so."""
MINUTE = 60.0


def is_endpoints(error: TransportError) -> bool:
    """Whether a failure is the endpoint's and not this request's: it is away, or has too much to do."""
    refused = error.status in (429, 502, 503, 504, 529) or error.retry_after is not None
    return error.retryable and (error.code == "connect" or refused)


class Turnstile(Protocol):
    """What a request passes on its way out and back: :class:`Endpoint`, or the way to a shared one."""

    closed: str | None

    @property
    def patient(self) -> bool:
        """Whether failures of the endpoint are waited out, however many there are."""
        ...

    async def enter(self) -> float:
        """Wait for a turn to send; return the moment it came. One of the three below must follow."""
        ...

    def answered(self, allowed: Allowance | None = None) -> None:
        """A good reply has come; it may say how many requests are left."""
        ...

    def failed(self, error: TransportError, sent_at: float) -> None:
        """A request that was sent at that moment has failed, the endpoint being at fault or not."""
        ...

    def dropped(self) -> None:
        """A request is over, and says nothing about the endpoint."""
        ...


class Endpoint:
    """What all workers know of one endpoint.

    Parameters
    ----------
    name
        How waiting lines call it.
    patience
        Seconds that waiting may take, counted from the last good reply; a longer Retry-After is not waited
        for at all. 0 means that nothing is waited for beyond the tries of one request.
    max_wait
        Cap in seconds of a wait that the server did not name.
    per_minute
        Requests a minute that are known to be allowed.
    on_wait
        Told one line whenever a wait begins.
    """

    def __init__(
        self,
        name: str,
        patience: float,
        max_wait: float,
        per_minute: float | None = None,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self._name, self._patience, self._max_wait = name, patience, max_wait
        self._on_wait = on_wait
        self._changed = asyncio.Event()
        self._in_flight = 0
        self._limit, self._enough = AT_FIRST, float("inf")
        self._refusals = 0
        self._open_at = self._paused_at = 0.0
        self._bad_since: float | None = None
        self._answered = False
        self._left, self._left_until = float("inf"), 0.0
        self._pace = _Pace(None if per_minute is None else per_minute / MINUTE / MARGIN)
        self.closed: str | None = None
        """Why nothing more is sent, once that is so."""

    async def enter(self) -> float:
        """Wait for a turn to send; return the moment it came. One of the three below must follow.

        Raises
        ------
        TransportError
            ``given_up``, when nothing more is sent to this endpoint.
        """
        while True:
            if self.closed is not None:
                raise TransportError(GIVEN_UP, self.closed)
            wait = self._wait()
            if wait > 0:
                await asyncio.sleep(wait + random.uniform(0, 0.05 * min(wait, 1.0)))
            elif self._in_flight >= self._most():
                await self._changed.wait()
            else:
                break
        now = time.monotonic()
        self._in_flight += 1
        self._left -= 1
        self._pace.sent(now)
        return now

    def answered(self, allowed: Allowance | None = None) -> None:
        """A good reply has come; it may say how many requests are left."""
        if allowed is not None and allowed.seconds <= self._patience:
            self._told(allowed)
        self._answered, self._refusals, self._bad_since = True, 0, None
        self._pace.answered()
        if self._limit >= self._enough:
            self._limit += 1.0 / self._limit
        else:
            self._limit += MORE if self._enough == float("inf") else 1.0
        self.dropped()

    def failed(self, error: TransportError, sent_at: float) -> None:
        """A request that was sent at that moment has failed, the endpoint being at fault or not."""
        if is_endpoints(error):
            self._refused(error, sent_at)
        self.dropped()

    def dropped(self) -> None:
        """A request is over, and says nothing about the endpoint."""
        self._in_flight -= 1
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def free(self) -> bool:
        """Whether a request could be sent at once."""
        return self.closed is None and self._wait() <= 0 and self._in_flight < self._most()

    @property
    def patient(self) -> bool:
        """Whether failures of the endpoint are waited out, however many there are."""
        return self.closed is None and self._patience > 0

    def _wait(self) -> float:
        """Return the seconds until something may be sent."""
        now = time.monotonic()
        spent = self._left_until - now if self._left < 1 else 0.0
        return max(self._open_at - now, self._pace.wait(now), spent)

    def _most(self) -> int:
        """Return how many requests may be in flight; after a spent allowance one goes ahead and asks."""
        return 1 if self._left < 1 else max(1, int(self._limit))

    def _told(self, allowed: Allowance) -> None:
        """Keep to what the server says is left; it may not have counted what is still on its way."""
        now = time.monotonic()
        left = allowed.left - (self._in_flight - 1)
        self._left = min(self._left, left) if now < self._left_until else left
        self._left_until = now + allowed.seconds

    def _refused(self, error: TransportError, sent_at: float) -> None:
        now = time.monotonic()
        first = sent_at >= self._paused_at and now >= self._open_at
        if first:
            self._enough = max(1.0, self._limit / 2)
            self._limit = 1.0
            self._refusals += 1
            self._paused_at = now
        self._answered = self._answered or error.status is not None
        self._bad_since = self._bad_since or now
        own = min(self._max_wait, FIRST_WAIT * 2.0 ** (self._refusals - 1)) * random.uniform(0.75, 1.0)
        asked = error.retry_after
        if self._patience and asked is not None and asked > self._patience:
            self.closed = (
                f"asks to wait {asked:g} s, more than the patience of {self._patience:g} s: {error.message}"
            )
            return
        open_at = now + (own if asked is None else max(asked, 0.001))
        self._open_at = max(self._open_at, open_at)
        if error.status == 429:
            self._pace.refused(self._open_at, sent_at)
        patience = self._patience if self._answered else min(self._patience, NEVER_ANSWERED)
        away = now - self._bad_since
        if patience and away > patience:
            self.closed = f"no good reply for {away:.0f} s: {error.message}"
        elif first and self._on_wait is not None:
            self._on_wait(
                f"{self._name}: {error.message}; all requests wait {self._open_at - now:.1f} s "
                f"(patience ends in {max(0.0, patience - away):.0f} s)"
            )


class _Pace:
    """How fast a rate limit lets requests through: as is known, or learned from its refusals.

    Even spacing keeps to a limit however it counts: by fixed windows, sliding ones or a bucket.
    """

    def __init__(self, rate: float | None = None) -> None:
        self._rate = rate
        self._top = rate or float("inf")
        self._begin = self._paused_until = time.monotonic()
        self._good = self._fresh = 0
        self._next = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may go."""
        return 0.0 if self._rate is None else self._next - now

    def sent(self, now: float) -> None:
        """Count a request that goes now."""
        if self._rate is not None:
            self._next = max(self._next, now) + 1.0 / self._rate

    def answered(self) -> None:
        """Count a request that was let through; after enough of them a little more is tried."""
        self._good += 1
        self._fresh += 1
        if self._rate is not None and self._fresh % CLEAN == 0:
            self._rate = min(self._rate * FASTER, self._top)

    def refused(self, open_at: float, sent_at: float) -> None:
        """Learn from the first request that was one too many since the last pause."""
        if sent_at < self._paused_until:
            return
        if not self._good:
            # Spent before anything was sent from here: that says when to begin, not how fast.
            self._begin = self._paused_until = open_at
            return
        again = self._rate is not None and self._fresh >= FEW
        if again:
            # Otherwise the pause was too short, and the measurement goes on with it.
            self._begin, self._good = self._paused_until, self._fresh
        measured = max(self._good, 1) / max(open_at - self._begin, 0.001)
        self._rate = min(measured, self._rate or measured) * SLOWER if again else measured
        self._paused_until = self._next = open_at
        self._fresh = 0
