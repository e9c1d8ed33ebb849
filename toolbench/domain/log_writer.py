"""Writing the log of a run: one writer, whole lines, each on disk before it counts as done.

A thread of its own writes: what has gathered while it waited for the disk goes out in one write and one
flush. A killed process loses at most the attempts whose lines were on their way, and a line that it left
unfinished is moved to ``attempts.jsonl.bad`` before anything is appended.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType

from filelock import FileLock, Timeout

from toolbench.domain.files import no_link
from toolbench.domain.log import LOG_NAME, BadLine
from toolbench.domain.record import Attempt, Resumed, RunHeader
from toolbench.errors import LogError

Record = RunHeader | Attempt | Resumed | bytes
"""What becomes a line; bytes are one already, without its end."""
_Job = tuple[Record, "Future[None]"]
BATCH = 256
"""Lines that are written together at most."""


class LogWriter:
    """Appends to one run; a second writer is refused. Use as a context manager.

    The log file itself is locked where the system can do that, so that no deleted lock file lets another
    process in.
    """

    def __init__(self, run: Path, redact: Callable[[str], str]) -> None:
        self.path = run / LOG_NAME
        self._redact = redact
        self._beside = FileLock(run / ".lock")
        self._descriptor = -1
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._failed: Exception | None = None

    def __enter__(self) -> LogWriter:
        try:
            self._descriptor = no_link(str(self.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as fault:
            raise LogError(f"{self.path}: cannot be written ({fault.strerror})") from None
        try:
            self._lock()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._thread = Thread(target=self._work, name="toolbench-log", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()
        os.close(self._descriptor)
        self._beside.release()

    @property
    def empty(self) -> bool:
        """Whether nothing has been written yet."""
        return os.fstat(self._descriptor).st_size == 0

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
        try:
            torn = self._cut_tail()
        except OSError as fault:
            reason = f"cannot be mended ({fault.strerror}); free some space first"
            raise LogError(f"{self.path}: {reason}") from None
        if torn is None:
            return None
        lines, tail = torn
        reason = f"unfinished line of {len(tail)} bytes set aside in {LOG_NAME}.bad"
        return BadLine(str(self.path), lines + 1, reason)

    def _lock(self) -> None:
        taken = f"{self.path.parent}: another process is writing this run"
        try:
            import fcntl
        except ImportError:
            try:
                self._beside.acquire(timeout=0)
            except Timeout:
                raise LogError(taken) from None
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LogError(taken) from None
        except OSError as fault:
            raise LogError(f"{self.path}: cannot be locked ({fault.strerror})") from None

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
                    self._write(b"".join(line for line, _ in lines))
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
        # The transport has redacted what it received; this is the second lock on the same door.
        if isinstance(record, bytes):
            return self._redact(record.decode()).encode() + b"\n"
        data = record.to_json()
        try:
            return self._redact(json.dumps(data, ensure_ascii=False, allow_nan=False)).encode() + b"\n"
        except UnicodeEncodeError:
            # Half a character, which no UTF-8 can hold: this line is written with escapes.
            return self._redact(json.dumps(data, allow_nan=False)).encode() + b"\n"

    def _write(self, text: bytes) -> None:
        try:
            self._still_there()
            whole = os.fstat(self._descriptor).st_size
            if os.write(self._descriptor, text) != len(text):
                # Half a batch may hold half a line: what is there stays whole lines.
                os.truncate(self._descriptor, whole)
                raise LogError(f"{self.path}: the disk is full; resume the run when there is room")
            os.fsync(self._descriptor)
        except OSError as fault:
            raise LogError(
                f"{self.path}: cannot be written ({fault.strerror}); resume the run later"
            ) from None

    def _still_there(self) -> None:
        """Refuse to write into a file that nobody will find again."""
        mine = os.fstat(self._descriptor)
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        if there is None or (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev):
            raise LogError(
                f"{self.path}: the log was deleted or replaced during the run; nothing is kept there"
            )

    def _cut_tail(self) -> tuple[int, bytes] | None:
        end = lines = size = 0
        with open(self.path, "rb") as stream:
            start = stream.read(len(HEADER_BEGINS))
            if not start or not (start.startswith(HEADER_BEGINS) or HEADER_BEGINS.startswith(start)):
                raise LogError(f"{self.path}: does not begin as a log of a run does; it is left as it is")
            stream.seek(0)
            for raw in stream:
                size += len(raw)
                if raw.endswith(b"\n"):
                    end, lines = size, lines + 1
            if end == size:
                return None
            stream.seek(end)
            tail = stream.read()
        with open(self.path.with_name(LOG_NAME + ".bad"), "ab", opener=no_link) as bad:
            bad.write(tail + b"\n")
            bad.flush()
            os.fsync(bad.fileno())
        os.truncate(self._descriptor, end)
        return lines, tail


HEADER_BEGINS = b'{"run_id": "'
"""How the first line of every log begins."""
