"""Running the simulator: in a thread of its own for tests and notebooks, or in the foreground for the CLI."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from toolbench.errors import ServingError
from toolbench.simulator.journal import Journal
from toolbench.simulator.script import load_script
from toolbench.simulator.service import Service, Settings
from toolbench.simulator.wires import WIRES

HOST = "127.0.0.1"
JOURNAL_ENTRIES = 500
START_LIMIT_S = 10.0
STOP_LIMIT_S = 5.0

ScriptSource = Path | str | Mapping[str, Any] | None


class Simulator:
    """The simulator in a thread of its own, as a context manager.

    Parameters
    ----------
    script
        A script file, a script, or None for the built-in models alone.
    port
        0 for a free one.
    latency
        Seconds before the first byte, or the two ends of a range; short for ``settings.latency_s``.
    settings
        How it answers. May be replaced while it runs, between two requests; the two ``max_`` limits on
        connections and bodies hold from the start.

    Raises
    ------
    InputError
        When the script is wrong.
    ServingError
        When the port cannot be had.

    Examples
    --------
    >>> with Simulator() as sim:
    ...     sim.base_url("messages").rsplit(":", 1)[0]
    'http://127.0.0.1'
    """

    def __init__(
        self,
        script: ScriptSource = None,
        port: int = 0,
        latency: float | tuple[float, float] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._script = load_script(script)
        self._settings = settings or Settings()
        if latency is not None:
            self._settings = replace(self._settings, latency_s=latency)
        self._wanted_port = port
        self._journal = Journal(JOURNAL_ENTRIES)
        self._ready = threading.Event()
        self._error: OSError | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._service: Service | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self._ready.clear()
        self._error = None
        self._thread = threading.Thread(target=self._run, name="toolbench-simulator", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_LIMIT_S):
            raise ServingError(f"the simulator did not start within {START_LIMIT_S:g} s")
        if self._error is not None:
            self._thread.join(STOP_LIMIT_S)
            raise _no_port(HOST, self._wanted_port, self._error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._service is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._service.stopping.set)
            self._thread.join(STOP_LIMIT_S)

    @property
    def url(self) -> str:
        """Address without a path, as the Anthropic, Ollama and Google clients want it."""
        return f"http://{HOST}:{self.port}"

    def base_url(self, protocol: str) -> str:
        """Return a protocol's base URL, up to and including its version."""
        return self.url + WIRES[protocol].base

    @property
    def settings(self) -> Settings:
        """How it answers."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._settings = settings
        if self._service is not None:
            self._service.settings = settings

    @property
    def journal(self) -> list[dict[str, Any]]:
        """The last requests, oldest first; see `toolbench.simulator.journal.Entry`."""
        return self._journal.rows()

    def clear_journal(self) -> None:
        """Forget the requests so far."""
        self._journal.clear()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._service = Service(self._script, self._settings, self._journal)

        def ready(port: int) -> None:
            self.port = port
            self._ready.set()

        try:
            await _serve_until_stopped(self._service, HOST, self._wanted_port, ready)
        except OSError as error:
            self._error = error
            self._ready.set()


def serve_forever(host: str = HOST, port: int = 0, script: ScriptSource = None) -> None:
    """Serve in the foreground until Ctrl-C or SIGTERM, and print one line with the addresses.

    Raises
    ------
    InputError
        When the script is wrong.
    ServingError
        When the port cannot be had.
    """
    loaded = load_script(script)

    async def serve() -> None:
        service = Service(loaded, Settings(), Journal(JOURNAL_ENTRIES))
        loop = asyncio.get_running_loop()
        for stop in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(stop, service.stopping.set)

        def announce(bound: int) -> None:
            bases = dict.fromkeys(wire.base for wire in WIRES.values())
            addresses = " ".join(f"http://{host}:{bound}{base}" for base in bases)
            print(f"simulator: {addresses} (journal: http://{host}:{bound}/_simulator/journal)", flush=True)

        await _serve_until_stopped(service, host, port, announce)

    try:
        asyncio.run(serve())
    except OSError as error:
        raise _no_port(host, port, error) from None


async def _serve_until_stopped(service: Service, host: str, port: int, ready: Callable[[int], None]) -> None:
    # A client that leaves takes its request with it: nothing hangs for nobody.
    runner = web.AppRunner(
        service.application(), access_log=None, shutdown_timeout=1.0, handler_cancellation=True
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=1024).start()
        ready(runner.addresses[0][1])
        await service.stopping.wait()
    finally:
        await runner.cleanup()


def _no_port(host: str, port: int, error: OSError) -> ServingError:
    return ServingError(f"the simulator cannot listen on {host}:{port}: {error.strerror or error}")
