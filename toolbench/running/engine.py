"""Reaching a model: as it is, or on a server of our own, which is watched and started again when it dies."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_urlsafe

from toolbench.domain.config import ModelConfig
from toolbench.errors import ServingError, TransportError
from toolbench.local import LocalServer
from toolbench.running.patience import GIVEN_UP
from toolbench.running.transport import Response

EMBEDDED_KEY = "TOOLBENCH_EMBEDDED_KEY"
"""Variable of this process that holds the key of the servers it starts for itself."""

RESTARTS = 5
"""Times a server is started again within one run: each death costs one attempt and seconds of loading."""

LOOK = 0.1
"""Seconds between two looks whether a server still lives."""

DYING = 2.0
"""Seconds that a process may take to end after it has broken off its connections."""

BROKEN_OFF = frozenset({"connect", "connection_lost", "bad_exchange"})
DIED = "engine_died"
"""Code of a request under which the server died."""

SendTo = Callable[[ModelConfig], Awaitable[Response]]


class Line:
    """The way to one model. ``closed`` says why nothing more can be sent, once that is so."""

    def __init__(self, model: ModelConfig) -> None:
        self.model = model
        self.closed: str | None = None

    async def send(self, to: SendTo) -> Response:
        """Send one request with ``to``, which is given the model with its address of the moment."""
        return await to(self.model)


class EngineLine(Line):
    """The way to a model on a server of our own, whose death costs what it was answering and no more."""

    def __init__(self, model: ModelConfig, tell: Callable[[str], None]) -> None:
        super().__init__(model)
        self._tell = tell
        key = os.environ[_our_key()]
        self._server = LocalServer(model.weights, n_parallel=model.parallelism or 1, api_key=key)
        self._asked_for = model
        self._restarts = 0
        self._reviving = asyncio.Lock()
        self._death: asyncio.Task[str] | None = None

    async def start(self) -> None:
        """Load the model, which takes seconds, and say so."""
        self._tell(f"loading {self._asked_for.model} …")
        began = time.monotonic()
        await asyncio.to_thread(self._server.start)
        self._tell(f"loaded {self._asked_for.model} in {time.monotonic() - began:.1f} s")
        self._death = asyncio.create_task(self._watch())
        self.model = replace(
            self._asked_for,
            base_url=self._server.base_url,
            model=self._server.model,
            profile=self._asked_for.profile or "llama_cpp",
            api_key_env=_our_key(),
            extra_body={**self._server.extra_body, **self._asked_for.extra_body},
        )

    async def stop(self) -> None:
        """End the server."""
        if self._death is not None:
            self._death.cancel()
        await asyncio.to_thread(self._server.stop)

    async def send(self, to: SendTo) -> Response:
        """Send one request, and give it up when the server dies.

        Raises
        ------
        TransportError
            ``engine_died`` with the server's last words, or ``given_up`` when it has died too often.
        """
        await self._revive()
        # The death of this server, not of one that is started meanwhile for another request.
        death = self._death
        assert death is not None, "started"
        asked = asyncio.ensure_future(to(self.model))
        try:
            await asyncio.wait({asked, death}, return_when=asyncio.FIRST_COMPLETED)
            if asked.done() and _broken_off(asked):
                # The connection breaks before the process has ended.
                await asyncio.wait({death}, timeout=DYING)
            if not death.done() or (asked.done() and not _broken_off(asked)):
                return asked.result()
        finally:
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
        raise TransportError(DIED, death.result())

    async def _watch(self) -> str:
        """Return the last words of the server once it has died."""
        while (words := self._server.ended()) is None:
            await asyncio.sleep(LOOK)
        return words

    async def _revive(self) -> None:
        """Start the server again if it has died, for the first request that finds it dead."""
        async with self._reviving:
            if self.closed is None and self._server.ended() is not None:
                assert self._death is not None, "started"
                words = await self._death
                if self._restarts >= RESTARTS:
                    self.closed = f"its server was started {RESTARTS + 1} times and died each time: {words}"
                else:
                    self._restarts += 1
                    await self._restart(words)
            if self.closed is not None:
                raise TransportError(GIVEN_UP, self.closed)

    async def _restart(self, words: str) -> None:
        self._tell(words)
        try:
            await self.stop()
            await self.start()
        except ServingError as fault:
            self.closed = str(fault)


def _broken_off(asked: asyncio.Future[Response]) -> bool:
    fault = asked.exception()
    return isinstance(fault, TransportError) and fault.code in BROKEN_OFF


@asynccontextmanager
async def line_to(
    model: ModelConfig, root: Path = Path(), tell: Callable[[str], None] | None = None
) -> AsyncIterator[Line]:
    """Yield the way to a model.

    Parameters
    ----------
    root
        Folder from which the script of a scripted model is looked up.
    tell
        Told one line when an embedded model is loaded or its server has died.
    """
    if model.kind == "embedded":
        line = EngineLine(model, tell or (lambda _: None))
        try:
            await line.start()
            yield line
        finally:
            await line.stop()
    elif model.kind == "scripted":
        from toolbench.simulator import Simulator

        with Simulator(model.script(root)) as simulator:
            yield Line(replace(model, base_url=simulator.base_url(model.protocol), api_key_env=_our_key()))
    else:
        yield Line(model)


def _our_key() -> str:
    """Return the variable that holds the key of our servers.

    A page in a browser on this machine can send requests to any port; without the key, in vain.
    """
    os.environ.setdefault(EMBEDDED_KEY, token_urlsafe(24))
    return EMBEDDED_KEY
