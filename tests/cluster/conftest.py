"""A real cluster on this machine: a scheduler and workers, each a process of its own, ended with the test."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue

import pytest

from tests.support import ROOT

SCHEDULER = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
QUIET = {
    "DASK_DISTRIBUTED__DASHBOARD__LINK": "",
    "DASK_DISTRIBUTED__COMM__COMPRESSION": "False",
    "PYTHONPATH": str(ROOT),
}


class Process:
    """A program whose lines are read as they come."""

    def __init__(self, folder: Path, *arguments: str, env: Mapping[str, str | None] | None = None) -> None:
        kept = {**os.environ, **QUIET, **(env or {})}
        self.popen = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={name: value for name, value in kept.items() if value is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._new: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.lines.append(line)
            self._new.put(line)

    def wait_for(self, pattern: str, seconds: float = 60.0) -> str:
        """Return the first group of a pattern in what the program says from now on."""
        while True:
            try:
                line = self._new.get(timeout=seconds)
            except Empty:
                raise AssertionError("".join(self.lines)) from None
            found = re.search(pattern, line)
            if found:
                return found.group(1)

    def end(self) -> None:
        """Kill it."""
        if self.popen.stdout is None or self.popen.stdout.closed:
            return
        self.popen.kill()
        self.popen.wait()
        self._reader.join()
        self.popen.stdout.close()


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: Path, *program: str) -> None:
        self._folder = folder
        self.scheduler = Process(folder, *(program or SCHEDULER))
        self.address = self.scheduler.wait_for(r"Scheduler at:\s+(tcp://\S+)")
        self.workers: dict[str, Process] = {}

    def start_worker(self, **env: str | None) -> str:
        """Start a worker and return its address once it has been registered."""
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        worker = Process(self._folder, "-m", "distributed.cli.dask_worker", self.address, *options, env=env)
        address = worker.wait_for(r"Start worker at:\s+(tcp://\S+)")
        worker.wait_for(r"(Registered to)")
        self.workers[address] = worker
        return address

    @property
    def processes(self) -> list[Process]:
        """All that run."""
        return [self.scheduler, *self.workers.values()]

    def kill(self, address: str) -> None:
        """Kill a worker as a machine that loses its power does."""
        self.workers.pop(address).end()

    def end(self) -> None:
        """Kill everything."""
        for process in self.processes:
            process.end()


class Relay:
    """Passes on what is said to an address, both ways, and keeps it."""

    def __init__(self, address: str) -> None:
        host, port = address.removeprefix("tcp://").split(":")
        self._there = host, int(port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._server.getsockname()[1]}"
        self.seen = bytearray()
        self._sockets = [self._server]
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Relay:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(5)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(self._there)
                self._sockets += [near, far]
                self._start(self._pass, near, far)
                self._start(self._pass, far, near)

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(2**16):
                self.seen += data
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)


class Echo:
    """A provider that refuses every request and quotes the key in its refusal."""

    def __init__(self) -> None:
        heard = self.heard = set[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                heard.add(self.headers["authorization"])
                body = f"no such key: {self.headers['authorization']}".encode()
                self.send_response(500)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Echo:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(scope="module")
def start_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Cluster]]:
    """A function that starts a scheduler without workers."""
    started: list[Cluster] = []

    def start(*program: str) -> Cluster:
        started.append(Cluster(tmp_path_factory.mktemp("cluster"), *program))
        return started[-1]

    yield start
    for cluster in started:
        cluster.end()


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Cluster:
    """A scheduler with two workers."""
    cluster = start_cluster()
    for _ in range(2):
        cluster.start_worker(CLUSTER_KEY="canary-of-the-workers-4711")
    return cluster
