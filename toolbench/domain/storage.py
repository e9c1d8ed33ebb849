"""Runs in object storage: a folder such as ``s3://bucket/run``, read and written through fsspec.

Objects cannot be appended to, so a log is kept as parts, each a batch of whole lines written at once and
named by the byte at which it begins; put together in order they are ``attempts.jsonl``. A part is created
only where none of its name is there: of two writers one is refused, and neither changes the other's lines.

Everything that reads a run reads a copy in this user's cache folder, which fetches what is new. What is made
beside a log (a report, verdicts, labels) is put back by whoever made it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from typing import Any

from filelock import FileLock

from toolbench.errors import InputError, LogError

PARTS = "attempts.parts"
"""Folder of a log's parts."""
SEEN = ".fetched.json"
"""What a copy was made of: object → its size and mark."""
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):/{1,2}(?P<rest>.+)", re.DOTALL)


def url_of(run: Path) -> str | None:
    """Return the address that a path stands for; ``None`` for one of this machine's.

    ``Path("s3://bucket/run")`` is ``s3:/bucket/run``, and still says what it is.
    """
    found = _URL.fullmatch(run.as_posix())
    return f"{found['scheme']}://{found['rest']}" if found else None


def copy_of(run: Path) -> Path:
    """Return a folder of this machine that has what a run's folder has; it is the same one for local runs.

    Raises
    ------
    LogError
        When the storage cannot be read, or parts of the log are missing.
    """
    url = url_of(run)
    if url is None:
        return run
    folder = cache_folder() / "runs" / sha256(url.encode()).hexdigest()[:16] / run.name
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / ".lock"):
        _Copy(Storage(url), folder).renew()
    return folder


def put_back(folder: Path, run: Path) -> None:
    """Write what was made in the copy of a run to where the run is; a local run has it already.

    Raises
    ------
    LogError
        When it cannot be written there.
    """
    url = url_of(run)
    if url is not None:
        with FileLock(folder.parent / ".lock"):
            _Copy(Storage(url), folder).put_back()


def cache_folder() -> Path:
    """Return the folder for downloads, copies and server logs: ``TOOLBENCH_CACHE`` or the user's own."""
    chosen = os.environ.get("TOOLBENCH_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("toolbench")


class Storage:
    """The objects of one run, by names seen from its folder."""

    def __init__(self, url: str) -> None:
        if find_spec("fsspec") is None:
            raise InputError(
                f"{url}: object storage needs the extra: pip install 'toolcall-workbench[scale]'; "
                "a folder of this machine needs nothing"
            )
        import fsspec

        self.url = url.rstrip("/")
        with self._told("used"):
            self._fs, self._base = fsspec.core.url_to_fs(self.url, use_listings_cache=False)

    def objects(self) -> dict[str, dict[str, Any]]:
        """Return what is there: name → size and mark."""
        with self._told("read"):
            found = self._fs.find(self._base, detail=True, refresh=True)
            if not found and not self._fs.exists(self._base.partition("/")[0]):
                raise FileNotFoundError
        return {
            name.removeprefix(self._base).lstrip("/"): {
                "size": entry["size"],
                "mark": str(entry.get("ETag") or entry.get("mtime") or entry.get("created")),
            }
            for name, entry in found.items()
        }

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        with self._told("read"):
            content: bytes = self._fs.cat_file(f"{self._base}/{name}")
        return content

    def create(self, name: str, content: bytes) -> None:
        """Write an object that is not there yet.

        Raises
        ------
        LogError
            When somebody else has written it.
        """
        path = f"{self._base}/{name}"
        try:
            with self._told("written", but=FileExistsError):
                self._fs.pipe_file(path, content, mode="create")
        except FileExistsError:
            # A reply that was lost on the way makes a client write again what is there.
            if self.read(name) != content:
                raise LogError(f"{self.url}: another process is writing this run") from None

    def put(self, name: str, content: bytes) -> None:
        """Write an object, in place of what is there."""
        with self._told("written"):
            self._fs.pipe_file(f"{self._base}/{name}", content)

    @contextmanager
    def _told(self, what: str, but: type[Exception] = LogError) -> Iterator[None]:
        """Turn whatever a storage says no with into one line."""
        local = "a folder of this machine can be used instead"
        try:
            yield
        except (but, LogError):
            raise
        except FileNotFoundError:
            raise LogError(f"{self.url}: there is no such bucket; {local}") from None
        except PermissionError:
            raise LogError(f"{self.url}: cannot be {what}: no right to do so; {local}") from None
        except ImportError as fault:
            raise LogError(f"{self.url}: cannot be {what}: {fault}; {local}") from None
        except Exception as fault:
            told = " ".join(str(fault).split())[:200] or type(fault).__name__
            raise LogError(f"{self.url}: cannot be {what}: {told}; {local}") from None


class LogObjects:
    """A log as parts in object storage, opened for appending: the twin of ``LogFile``."""

    def __init__(self, run: str) -> None:
        self._storage = Storage(run)
        parts = _parts(self._storage.url, self._storage.objects())
        self._end = sum(size for _, size in parts)

    @property
    def empty(self) -> bool:
        """Whether nothing has been written yet."""
        return self._end == 0

    def write(self, lines: bytes) -> None:
        """Write whole lines; they are there for good when this returns.

        Raises
        ------
        LogError
            When they are not.
        """
        self._storage.create(f"{PARTS}/{_named(self._end)}", lines)
        self._end += len(lines)

    def cut_tail(self) -> None:
        """Do nothing: a part is there whole or not at all."""

    def close(self) -> None:
        """Do nothing: there is nothing open."""


def _named(start: int) -> str:
    return f"{start:015d}.jsonl"


def _parts(url: str, objects: dict[str, dict[str, Any]]) -> list[tuple[str, int]]:
    """Return the parts of a log in order with their sizes, and refuse a log with a gap."""
    names = sorted(name for name in objects if name.startswith(f"{PARTS}/"))
    end, parts = 0, list[tuple[str, int]]()
    for name in names:
        if name != f"{PARTS}/{_named(end)}":
            raise LogError(f"{url}: the part of the log that begins at byte {end} is missing or was changed")
        parts.append((name, objects[name]["size"]))
        end += objects[name]["size"]
    return parts


def _like(seen: dict[str, Any] | None, there: dict[str, Any]) -> bool:
    """Whether an object is the one that was seen."""
    return seen is not None and all(seen.get(name) == value for name, value in there.items())


class _Copy:
    """A run's folder in storage, and its copy on this machine."""

    def __init__(self, storage: Storage, folder: Path) -> None:
        self._storage, self._folder = storage, folder
        self._seen_file = folder.parent / SEEN
        self._seen: dict[str, Any] = (
            json.loads(self._seen_file.read_text("utf-8")) if self._seen_file.exists() else {}
        )

    def renew(self) -> None:
        """Fetch what is new; begin anew when what was there is not."""
        from toolbench.domain.log import LOG_NAME

        objects = self._storage.objects()
        parts = [name for name, _ in _parts(self._storage.url, objects)]
        log = self._folder / LOG_NAME
        known = [name for name in self._seen if name.startswith(f"{PARTS}/")]
        size = sum(self._seen[name]["size"] for name in known)
        same = known == parts[: len(known)] and all(_like(self._seen[name], objects[name]) for name in known)
        if not same or (log.stat().st_size if log.exists() else 0) != size:
            rmtree(self._folder)
            self._folder.mkdir()
            self._seen, known = {}, []
        for name in parts[len(known) :]:
            with open(log, "ab") as stream:
                stream.write(self._storage.read(name))
            self._note(name, objects[name])
        for name in sorted(objects.keys() - set(parts)):
            # An object may be called anything; a file is written below the folder and nowhere else.
            if not _like(self._seen.get(name), objects[name]) and ".." not in Path(name).parts:
                path = self._folder / name.lstrip("/")
                path.parent.mkdir(parents=True, exist_ok=True)
                content = self._storage.read(name)
                path.write_bytes(content)
                self._note(name, {**objects[name], "digest": sha256(content).hexdigest()})

    def put_back(self) -> None:
        """Write files that differ from what is in storage."""
        from toolbench.domain.log import LOG_NAME

        objects = self._storage.objects()
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder).as_posix()
            if path.is_dir() or name == LOG_NAME or path.name.startswith("."):
                continue
            content = path.read_bytes()
            digest = sha256(content).hexdigest()
            if self._seen.get(name, {}).get("digest") != digest or name not in objects:
                self._storage.put(name, content)
                self._seen[name] = {**self._storage.objects()[name], "digest": digest}
        self._write_seen()

    def _note(self, name: str, entry: dict[str, Any]) -> None:
        self._seen[name] = entry
        self._write_seen()

    def _write_seen(self) -> None:
        from toolbench.domain.files import write_text_atomic

        write_text_atomic(self._seen_file, json.dumps(self._seen), LogError)
