"""Stand-ins for the places weights come from, and the real server where its parts can be had."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from toolbench.local.llama_server import LocalServer


@dataclass
class Hub:
    """A model hub on this machine that misbehaves as told."""

    data: bytes
    url: str = ""
    status: int = 200
    cut_replies: int = 0
    """How many replies end half-way."""
    declare_length: bool = True
    ignore_range: bool = False
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    """Path and Range header of every request."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, payload: bytes) -> Iterator[Hub]:
    state = Hub(payload)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.requests.append((self.path, wanted))
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and not state.ignore_range else 0
            body = state.data[start:]
            self.send_response(206 if start and state.status == 200 else state.status)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(state.data) - 1}/{len(state.data)}")
            if state.declare_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if state.cut_replies:
                state.cut_replies -= 1
                body = body[: len(body) // 2]
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("HF_ENDPOINT", state.url)
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def payload() -> bytes:
    return bytes(range(256)) * 1200


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, set the way a user would."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TOOLBENCH_CACHE", str(folder))
    return folder


@dataclass(frozen=True)
class Wheelhouse:
    """A folder that is the only place pip looks in."""

    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / f"{name}-1.0-py3-none-any.whl"

    def add(self, name: str, members: dict[str, bytes]) -> None:
        """Write ``name`` 1.0 as a wheel holding ``members``."""
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(self.path(name), "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members.items():
                archive.writestr(member, data)
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            archive.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wheelhouse:
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return Wheelhouse(folder)


@pytest.fixture(scope="module")
def server(smollm2: str) -> Iterator[LocalServer]:
    with LocalServer(smollm2) as running:
        yield running
