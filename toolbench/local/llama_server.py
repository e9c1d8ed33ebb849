"""A local model behind llama.cpp's own HTTP server, run as a child process (`llama_child`).

llama.cpp stays out of this process: it holds the interpreter lock while it loads, logs to the terminal and
can abort, and a child can be stopped whatever state it is in.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from toolbench.domain.storage import cache_folder
from toolbench.errors import ServingError
from toolbench.local.llama_child import API_KEY_ENV
from toolbench.local.load_times import remember
from toolbench.local.weights import LocalModel, ensure, resolve

STOP_TIMEOUT_S = 5.0
LOGS_KEPT = 20
SPIN_BRIEFLY: dict[str, str] = {"GOMP_SPINCOUNT": "100"}
"""Threads meet at hundreds of barriers a token. Left to itself libgomp spins there for as long as another
program keeps one of them from its core, and generation nearly stops; so they soon sleep. Measured by
``tests/bench/local_threads.py``: at a load of nine on two cores SmolLM2-135M made 51 tokens a
second without spinning, 30 with this, 16 with 1,000 spins, 2 with libgomp's own, and 38 with one core left
free (2026-12-01). A variable that is set already is left alone."""


class LocalServer:
    """A running model: ``with LocalServer("smollm2-135m-instruct") as server: ...``.

    It speaks ``/v1/chat/completions``, ``/v1/responses`` and ``/v1/messages`` and ends with the block, with
    `stop`, or with this process, however that ends.

    Parameters
    ----------
    model
        A name or path as for `toolbench.local.weights.resolve`, or a `LocalModel`.
    host, port
        Where to listen; port 0 takes a free one.
    n_ctx
        Context of one request, in tokens.
    n_parallel
        Requests answered at once; memory for context grows with it.
    threads
        CPU threads; by default one a core.
    api_key
        Key that every request must then carry.
    start_timeout
        Seconds the server may take to load the model.
    """

    def __init__(
        self,
        model: str | LocalModel,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        n_ctx: int = 4096,
        n_parallel: int = 1,
        threads: int | None = None,
        api_key: str | None = None,
        start_timeout: float = 120.0,
    ) -> None:
        self._model = resolve(model) if isinstance(model, str) else model
        self._host, self._port = host, port
        self._n_ctx, self._n_parallel, self._threads = n_ctx, n_parallel, threads
        self._api_key, self._start_timeout = api_key, start_timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self.log_path: Path | None = None

    @property
    def model(self) -> str:
        """Alias to put into requests as ``model``."""
        return self._model.name

    @property
    def base_url(self) -> str:
        """Address for clients, such as ``http://127.0.0.1:8080/v1``."""
        return f"{self._address}/v1"

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._running().pid

    @property
    def extra_body(self) -> Mapping[str, Any]:
        """What every request has to carry beside what is asked, because of a fault of the engine."""
        return self._model.extra_body

    def ended(self) -> str | None:
        """Return how the server ended by itself, with its last words, or ``None`` while it runs."""
        code = self._running().poll()
        if code is None:
            return None
        return f"the server of {self.model} ended by itself ({_how(code)}): {self._last_words()}"

    def start(self) -> LocalServer:
        """Fetch the weights if need be, start the server and wait until it answers.

        Raises
        ------
        ServingError
            xllamacpp is missing, the weights cannot be had, the port is taken, or the server does not start.
        """
        if os.name != "posix":
            raise ServingError("local models run on Linux and macOS: on Windows use WSL, or another server")
        if find_spec("xllamacpp") is None:
            raise ServingError("local models need llama.cpp: pip install 'toolcall-workbench[local]'")
        weights = ensure(self._model)
        _require_free(self._host, self._port)
        self.log_path = _new_log(self.model)
        try:
            started = time.monotonic()
            self._spawn(weights, self.log_path)
            self._wait_until_ready(started + self._start_timeout)
            remember(self._model, time.monotonic() - started)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the server; does nothing when it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def wait(self) -> None:
        """Block while the server runs.

        Raises
        ------
        ServingError
            It ended without having been asked to.
        """
        self._running().wait()
        raise ServingError(self.ended())

    def __enter__(self) -> LocalServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ServingError(f"the server of {self.model} is not running: use it inside its with block")
        return self._process

    def _spawn(self, weights: Path, log_path: Path) -> None:
        command = [sys.executable, "-m", "toolbench.local.llama_child", str(weights)]
        command += ["--alias", self.model, "--host", self._host, "--port", str(self._port)]
        command += ["--n-ctx", str(self._n_ctx), "--n-parallel", str(self._n_parallel)]
        if self._threads is not None:
            command += ["--threads", str(self._threads)]
        if self._model.chat_template is not None:
            command += ["--chat-template", self._model.chat_template]
        # The key goes through the environment: a command line can be read by every user of the machine.
        environment = SPIN_BRIEFLY | os.environ | ({API_KEY_ENV: self._api_key} if self._api_key else {})
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                # Lets the child import this very package, wherever the parent found it.
                cwd=Path(__file__).parents[2],
                # Ctrl-C and a notebook's interrupt reach a whole process group: they are the parent's affair.
                start_new_session=True,
            )

    def _wait_until_ready(self, deadline: float) -> None:
        import httpx

        self._address = self._read_address(deadline)
        # trust_env: a proxy from the environment must not be asked for an address on this machine.
        with httpx.Client(trust_env=False, timeout=5.0) as client:
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx.TransportError):
                    if client.get(f"{self._address}/health").status_code == 200:
                        return
                if self._running().poll() is not None:
                    break
                time.sleep(0.1)
        raise self._start_error()

    def _read_address(self, deadline: float) -> str:
        """Return the address the child writes to its standard output once the model is loaded."""
        pipe = self._running().stdout
        assert pipe is not None
        readable, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        address = pipe.readline().decode().strip() if readable else ""
        if not address:
            raise self._start_error()
        return address.replace("//0.0.0.0:", "//127.0.0.1:")

    def _start_error(self) -> ServingError:
        try:
            # A process that has just closed its output may not have ended yet.
            why = f"it ended with code {self._running().wait(1.0)}"
        except subprocess.TimeoutExpired:
            why = f"it was not ready after {self._start_timeout:g} s"
        return ServingError(f"the server of {self.model} did not start: {why}: {self._last_words()}")

    def _last_words(self) -> str:
        if self.log_path is None or not self.log_path.exists():
            return "its log is gone"
        lines = [line.strip() for line in self.log_path.read_text("utf-8", "replace").splitlines()]
        return f"{' | '.join([line for line in lines if line][-4:])} (log: {self.log_path})"


def _how(code: int) -> str:
    """Return an exit code in words: a negative one is the signal that ended the process."""
    if code >= 0:
        return f"code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def serve_forever(
    model: str | LocalModel,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    n_ctx: int = 4096,
    n_parallel: int = 1,
    threads: int | None = None,
    api_key: str | None = None,
) -> None:
    """Serve a model until Ctrl-C or SIGTERM; print one line with the base URL when it is ready.

    Parameters are those of `LocalServer`. To be called from the main thread.

    Raises
    ------
    ServingError
        The server cannot be started, or ended by itself.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    server = LocalServer(
        model, host=host, port=port, n_ctx=n_ctx, n_parallel=n_parallel, threads=threads, api_key=api_key
    )
    try:
        with contextlib.suppress(KeyboardInterrupt), server:
            print(f"{server.model} is served at {server.base_url} (Ctrl-C stops it)", flush=True)
            server.wait()
    finally:
        signal.signal(signal.SIGTERM, before)


def _require_free(host: str, port: int) -> None:
    """Refuse a port in use.

    llama.cpp cannot be left to find out: it listens with SO_REUSEPORT, so two of its servers share a port in
    silence and each answers a part of the requests.
    """
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise ServingError(
            f"cannot listen on {host}:{port} ({error.strerror}): "
            "choose another port, or end the program that uses it"
        ) from error


def _new_log(name: str) -> Path:
    """Create a log file in the cache and remove the oldest ones beyond `LOGS_KEPT`."""
    folder = cache_folder() / "logs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".log", dir=folder)
    except OSError as error:
        raise ServingError(
            f"cannot write to {folder} ({error.strerror}): set TOOLBENCH_CACHE to another folder"
        ) from error
    os.close(descriptor)
    for old in sorted(folder.glob("*.log"), key=lambda log: log.stat().st_mtime)[:-LOGS_KEPT]:
        old.unlink(missing_ok=True)
    return Path(path)
