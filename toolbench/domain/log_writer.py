"""Writing the log of a run: one writer, whole lines, each on disk before it counts as done.

A thread of its own writes: what has gathered while it waited for the disk goes out in one write and one
flush. A killed process loses at most the attempts whose lines were on their way, and a line that it left
unfinished is moved to ``attempts.jsonl.bad`` before anything is appended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Protocol

from toolbench.domain.log import BadLine
from toolbench.domain.log_file import LogFile
from toolbench.domain.record import Attempt, Resumed, RunHeader
from toolbench.domain.storage import LogObjects, url_of

Record = RunHeader | Attempt | Resumed | bytes
"""What becomes a line; bytes are one already, without its end."""
_Job = tuple[Record, "Future[None]"]
BATCH = 256
"""Lines that are written together at most."""


class Target(Protocol):
    """Where whole lines are appended: a file of this machine, or parts in object storage."""

    @property
    def empty(self) -> bool:
        """Whether nothing has been written yet."""
        ...

    def write(self, lines: bytes) -> None:
        """Write whole lines; they are there for good when this returns."""
        ...

    def cut_tail(self) -> BadLine | None:
        """Set an unfinished last line aside."""
        ...

    def close(self) -> None:
        """Let others write."""
        ...


class LogWriter:
    """Appends to one run; a second writer is refused. Use as a context manager."""

    def __init__(self, run: Path, redact: Callable[[str], str]) -> None:
        self._run, self._redact = run, redact
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._failed: Exception | None = None
        self._log: Target

    def __enter__(self) -> LogWriter:
        url = url_of(self._run)
        self._log = LogFile(self._run) if url is None else LogObjects(url)
        self._thread = Thread(target=self._work, name="toolbench-log", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()
        self._log.close()

    @property
    def empty(self) -> bool:
        """Whether nothing has been written yet."""
        return self._log.empty

    def submit(self, record: Record) -> Future[None]:
        """Hand over one line; the future is done when it is on disk.

        Its error is a :class:`LogError` when the disk refuses or the log has been taken away; what was
        written before stays whole.
        """
        done: Future[None] = Future()
        self._jobs.put((record, done))
        return done

    def append(self, record: Record) -> None:
        """Write one line and wait until it is on disk.

        Raises
        ------
        LogError
            As `submit` says.
        """
        self.submit(record).result()

    def set_torn_tail_aside(self) -> BadLine | None:
        """Move an unfinished last line to ``attempts.jsonl.bad`` and say so.

        Raises
        ------
        LogError
            When that cannot be done, or the file does not begin as a log does: then it is left as it is.
        """
        return self._log.cut_tail()

    def _work(self) -> None:
        """Write what has gathered, again and again; the thread's whole life."""
        while True:
            jobs = self._next_jobs()
            if not jobs:
                return
            lines: list[tuple[bytes, Future[None]]] = []
            for record, done in jobs:
                try:
                    lines.append((self._line(record), done))
                except Exception as fault:
                    done.set_exception(fault)
            if self._failed is None:
                try:
                    self._log.write(b"".join(line for line, _ in lines))
                except Exception as fault:
                    # Nothing may follow what could not be written: a later line would hide the gap.
                    self._failed = fault
            for _, done in lines:
                if self._failed is None:
                    done.set_result(None)
                else:
                    done.set_exception(self._failed)

    def _next_jobs(self) -> list[_Job]:
        jobs: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            jobs.append(job)
            try:
                job = self._jobs.get_nowait() if len(jobs) < BATCH else None
            except Empty:
                return jobs
            if job is None and len(jobs) < BATCH:
                # The end was asked for: once these are written.
                self._jobs.put(None)
        return jobs

    def _line(self, record: Record) -> bytes:
        return written(record, self._redact) + b"\n"


def written(record: Record, redact: Callable[[str], str]) -> bytes:
    """Return a record as the log has it, without the end of the line."""
    # The transport has redacted what it received; this is the second lock on the same door.
    if isinstance(record, bytes):
        return redact(record.decode()).encode()
    data = record.to_json()
    try:
        return redact(json.dumps(data, ensure_ascii=False, allow_nan=False)).encode()
    except UnicodeEncodeError:
        # Half a character, which no UTF-8 can hold: this line is written with escapes.
        return redact(json.dumps(data, allow_nan=False)).encode()
