"""Proxies and certificates of the environment, with a real proxy and a real TLS server on this machine."""

from __future__ import annotations

import asyncio
import json
import select
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.adapters.support import chat
from tests.support import delivery, make_case
from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.domain.record import Attempt
from toolbench.local.sources import HubSource, fetch
from toolbench.running.probe import Probe, probe
from toolbench.running.runner import run_matrix_sync

SUITE = delivery().keep([make_case(id="chat", user="Hello!", expect={"kind": "text"})])
FAR = "model.toolbench.test"
"""A name that only the proxy knows."""


class Model(BaseHTTPRequestHandler):
    """A model that says one thing, and a hub of one file."""

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.answer(json.dumps(chat({"content": "Hello."})).encode())

    def do_GET(self) -> None:
        listed = {"object": "list", "data": [{"id": "m", "object": "model"}]}
        self.answer(b"weights" if "resolve" in self.path else json.dumps(listed).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Proxy(Model):
    """Passes everything on to one origin, whatever name it was asked for, and writes the names down."""

    origin = 0
    asked: list[str]

    def passed_on(self) -> None:
        parts = urlsplit(self.path)
        self.asked.append(f"{self.command} {parts.hostname}")
        self.path = parts.path

    def do_POST(self) -> None:
        self.passed_on()
        super().do_POST()

    def do_GET(self) -> None:
        self.passed_on()
        super().do_GET()

    def do_CONNECT(self) -> None:
        self.asked.append(f"CONNECT {self.path.partition(':')[0]}")
        with socket.create_connection(("127.0.0.1", self.origin)) as origin:
            self.send_response(200)
            self.end_headers()
            ends = [self.connection, origin]
            while ready := select.select(ends, [], [], 5)[0]:
                for end in ready:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end is self.connection].sendall(data)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """Return the certificate of an authority of our own, and a server's context signed by it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificates")
    folder = tmp_path_factory.mktemp("tls")
    names = f"subjectAltName=DNS:{FAR},DNS:localhost,IP:127.0.0.1"
    (folder / "names").write_text(names)

    def run(*arguments: str) -> None:
        subprocess.run([openssl, *arguments], cwd=folder, check=True, capture_output=True)

    new = ["-newkey", "rsa:2048", "-nodes", "-days", "30"]
    run(*("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test authority"))
    run("req", *new[:3], "-keyout", "own.key", "-out", "own.csr", "-subj", f"/CN={FAR}")
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", "names"]
    run("x509", "-req", "-in", "own.csr", *signed, "-out", "own.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "own.pem", folder / "own.key")
    return folder / "ca.pem", context


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out what the environment of the tests says about networks."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Run a proxy that the environment names for everything; yield what it is asked for."""
    monkeypatch.setattr(Proxy, "asked", [], raising=False)
    with serving(Proxy) as port:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        yield Proxy.asked


def entry(address: str) -> dict[str, Any]:
    return {"provider": "p", "model": "m", "protocol": "chat_completions", "base_url": f"{address}/v1"}


def played(folder: Path, address: str) -> Attempt:
    retries = {"tries": 1, "patience": 0}
    config = {"runs": [entry(address)], "baselines": [], "repetitions": 1, "retries": retries}
    run_matrix_sync(Config.from_json(config, "inline"), [SUITE], folder)
    (attempt,) = RunLog.open(folder).attempts
    return attempt


def probed(folder: Path, address: str) -> Probe:
    path = folder / "config.json"
    path.write_text(json.dumps({"runs": [entry(address)]}))
    (found,) = asyncio.run(probe(path))
    return found


def fetched(folder: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> bytes:
    monkeypatch.setenv("HF_ENDPOINT", address)
    partial = folder / "weights.part"
    fetch(HubSource("owner/repo", "main", "file"), partial, len(b"weights"), lambda *_: None)
    return partial.read_bytes()


def test_a_proxy_of_the_environment_is_asked_by_run_models_and_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    address = f"http://{FAR}"
    assert played(tmp_path / "r", address).status == "ok"
    assert probed(tmp_path, address).usable
    assert fetched(tmp_path, monkeypatch, address) == b"weights"
    assert asked == [f"POST {FAR}", f"GET {FAR}", f"GET {FAR}"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_proxy_is_asked_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], host: str
) -> None:
    with serving(Model) as port:
        address = f"http://{host}:{port}"
        assert played(tmp_path / "r", address).status == "ok"
        assert probed(tmp_path, address).usable
        assert fetched(tmp_path, monkeypatch, address) == b"weights"
    assert asked == []


def test_no_proxy_is_asked_where_the_environment_excepts_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    monkeypatch.setenv("NO_PROXY", FAR)
    assert played(tmp_path / "r", f"http://{FAR}").stop == "connect"
    assert not probed(tmp_path, f"http://{FAR}").usable
    assert asked == []


def test_an_authority_of_ones_own_is_trusted_when_the_environment_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: tuple[Path, ssl.SSLContext]
) -> None:
    certificate, context = authority
    with serving(Model, context) as port:
        address = f"https://localhost:{port}"
        stranger = played(tmp_path / "stranger", address)
        assert stranger.status == "transport_error"
        assert "certificate" in str(stranger.error).lower()
        assert not probed(tmp_path, address).usable
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert played(tmp_path / "known", address).status == "ok"
        assert probed(tmp_path, address).usable
        assert fetched(tmp_path, monkeypatch, address) == b"weights"


def test_a_proxy_and_an_authority_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], authority: tuple[Path, ssl.SSLContext]
) -> None:
    certificate, context = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(Model, context) as port:
        monkeypatch.setattr(Proxy, "origin", port)
        address = f"https://{FAR}"
        assert played(tmp_path / "r", address).status == "ok"
        assert probed(tmp_path, address).usable
    assert asked == [f"CONNECT {FAR}"] * 2
