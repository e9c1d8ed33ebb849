"""The file of a log, opened for appending by one process.

The log file itself is locked where the system can do that, so that no deleted lock file lets another process
in.
"""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from toolbench.domain.files import no_link
from toolbench.domain.log import LOG_NAME, BadLine
from toolbench.errors import LogError

HEADER_BEGINS = b'{"run_id": "'
"""How the first line of every log begins."""


class LogFile:
    """``attempts.jsonl`` in a run's folder."""

    def __init__(self, run: Path) -> None:
        self.path = run / LOG_NAME
        self._beside = FileLock(run / ".lock")
        try:
            self._descriptor = no_link(str(self.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as fault:
            raise LogError(f"{self.path}: cannot be written ({fault.strerror})") from None
        try:
            self._lock()
        except BaseException:
            os.close(self._descriptor)
            raise

    @property
    def empty(self) -> bool:
        """Whether nothing has been written yet."""
        return os.fstat(self._descriptor).st_size == 0

    def close(self) -> None:
        """Let others write."""
        os.close(self._descriptor)
        self._beside.release()

    def cut_tail(self) -> BadLine | None:
        """Move an unfinished last line to ``attempts.jsonl.bad``.

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

    def write(self, lines: bytes) -> None:
        """Write whole lines and wait until they are on disk.

        Raises
        ------
        LogError
            When the disk refuses, or the log has been taken away; what was written before stays whole.
        """
        try:
            self._still_there()
            whole = os.fstat(self._descriptor).st_size
            if os.write(self._descriptor, lines) != len(lines):
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
