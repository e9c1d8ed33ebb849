"""The append-only log of a run: ``<run>/attempts.jsonl``, a header line and one attempt a line.

Each line goes out in one write and is flushed before the next attempt starts, so a killed process loses at
most the attempts in flight. A torn last line is moved to ``attempts.jsonl.bad`` before anything is appended.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson
from filelock import FileLock, Timeout

from toolbench.domain.canonical import JSON
from toolbench.domain.config import Condition
from toolbench.domain.files import describe, no_link, schema_validator
from toolbench.domain.keys import AttemptKey, PlayerKey
from toolbench.domain.record import FORMAT, Attempt, RunHeader
from toolbench.domain.suite import Suite
from toolbench.errors import LogError, SuiteError

LOG_NAME = "attempts.jsonl"
_LONG_NUMBER = re.compile(rb"[:,\[ ]-?[0-9]{19}")


@dataclass(frozen=True)
class BadLine:
    """A line that could not be used, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass
class RunLog:
    """A run read from disk.

    ``attempts`` can be iterated any number of times; each pass reads the file again, one line in memory.
    Where the same attempt occurs more than once (a transport error tried again), the last one counts.
    """

    path: Path
    header: RunHeader
    problems: list[BadLine] = field(default_factory=list)
    _last: dict[AttemptKey, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def open(cls, run: Path) -> RunLog:
        """Read a run's folder (or its ``attempts.jsonl``).

        Broken lines never raise: they are collected in ``problems`` and what is readable is used.

        Raises
        ------
        LogError
            When there is no log, or its header is missing or of another format.
        """
        path = run / LOG_NAME if run.is_dir() else run
        problems: list[BadLine] = []
        values = _read(path, problems)
        first = next(values, None)
        if first is None or first[2].get("type") != "run":
            raise LogError(f"{path}:1: the run header is missing; this is not a usable log")
        data = first[2]
        if data.get("format") != FORMAT:
            raise LogError(f"{path}:1: log format {data.get('format')!r}, this version reads {FORMAT}")
        fault = next(iter(schema_validator("record").iter_errors(data)), None)
        if fault is not None:
            raise LogError(f"{path}:1: {describe(fault)}")
        log = cls(path, RunHeader.from_json(data), problems)
        try:
            suites = log.header.load_suites()
            conditions = log.header.load_conditions()
            any(log.header.plan(suites))
        except (SuiteError, KeyError, TypeError, ValueError, AttributeError) as fault:
            raise LogError(f"{path}:1: the run header cannot be used: {fault}") from None
        for line, position, value in values:
            if value.get("type") != "attempt":
                problems.append(BadLine(str(path), line, "a second run header; ignored"))
                continue
            reason = _unusable(value, log.header, suites, conditions)
            if reason:
                problems.append(BadLine(str(path), line, reason))
                continue
            log._last[AttemptKey.of(value)] = (line, position)
        return log

    def __len__(self) -> int:
        return len(self._last)

    @property
    def keys(self) -> set[AttemptKey]:
        """Identities of the attempts that are there."""
        return set(self._last)

    @property
    def attempts(self) -> Iterator[Attempt]:
        """Every attempt, in the order of its last line."""
        wanted = set(self._last.values())
        for line, position, value in _read(self.path, [], validate=False):
            if (line, position) in wanted:
                yield Attempt.from_json(value)


class LogWriter:
    """Appends attempts to one run; a second writer is refused. Use as a context manager."""

    def __init__(self, run: Path, redact: Callable[[str], str]) -> None:
        self.path = run / LOG_NAME
        self._redact = redact
        self._lock = FileLock(run / ".lock")
        self._descriptor = -1

    def __enter__(self) -> LogWriter:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise LogError(f"{self.path.parent}: another process is writing this run") from None
        except OSError as fault:
            raise LogError(f"{self.path.parent}: cannot be written ({fault.strerror})") from None
        try:
            self._descriptor = no_link(str(self.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as fault:
            self._lock.release()
            raise LogError(f"{self.path}: cannot be written ({fault.strerror})") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        self._lock.release()

    def append(self, record: RunHeader | Attempt) -> None:
        """Write one line and force it to disk.

        Raises
        ------
        LogError
            When the disk refuses; what was written before stays whole.
        """
        # The transport has redacted what it received; this is the second lock on the same door.
        text = self._redact(json.dumps(record.to_json(), ensure_ascii=True, allow_nan=False))
        line = text.encode() + b"\n"
        try:
            if os.write(self._descriptor, line) != len(line):
                raise LogError(f"{self.path}: the disk is full; resume the run when there is room")
            os.fsync(self._descriptor)
        except OSError as fault:
            raise LogError(
                f"{self.path}: cannot be written ({fault.strerror}); resume the run later"
            ) from None

    def set_torn_tail_aside(self) -> BadLine | None:
        """Move an unfinished last line to ``attempts.jsonl.bad`` and say so."""
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

    def _cut_tail(self) -> tuple[int, bytes] | None:
        end = lines = size = 0
        with open(self.path, "rb") as stream:
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
        os.truncate(self.path, end)
        return lines, tail


def _unusable(
    value: Mapping[str, Any],
    header: RunHeader,
    suites: Mapping[str, Suite],
    conditions: Mapping[str, Condition],
) -> str | None:
    """Return why an attempt cannot be used as one of this run, or ``None``."""
    if value["run_id"] != header.run_id:
        return f"belongs to run {value['run_id']!r}, not {header.run_id!r}"
    suite = suites.get(value["suite"])
    if suite is None or (value["lang"], value["case_id"]) not in suite.case_by_key:
        return "names a case that the run does not have"
    if value["condition"] not in conditions:
        return "names a condition that the run does not have"
    players = {PlayerKey.of(player) for player in header.players}
    if PlayerKey.of(value) not in players:
        return "names a model that the run does not have"
    return _without_record(value)


def _without_record(value: Mapping[str, Any]) -> str | None:
    """Return which proposed calls and which records of an attempt do not belong together, or ``None``."""
    for turn in value["turns"]:
        proposed = [str(call["name"]) for call in turn["decision"]["calls"]]
        recorded = [str(record["tool"]) for record in value["calls"] if record["turn"] == turn["index"]]
        if proposed != recorded:
            calls, records = (", ".join(names) or "none" for names in (proposed, recorded))
            return (
                f"turns[{turn['index']}]: the proposed calls ({calls}) have not one record each ({records})"
            )
    return None


def _read(
    path: Path, problems: list[BadLine], validate: bool = True
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield ``(line, position in line, value)`` of every valid record; two glued records count as two."""
    validator = schema_validator("record")
    try:
        stream = open(path, "rb")  # noqa: SIM115 - closed below; the error needs its own line
    except FileNotFoundError:
        raise LogError(f"{path}: no such run") from None
    except OSError as fault:
        raise LogError(f"{path}: cannot be read ({fault.strerror})") from None
    with stream:
        for number, raw in enumerate(stream, 1):
            if not raw.strip():
                continue
            try:
                values = _values(raw)
            except (ValueError, RecursionError) as fault:
                torn = "" if raw.endswith(b"\n") else "unfinished line: "
                problems.append(BadLine(str(path), number, f"{torn}not valid JSON: {fault}"))
                continue
            for position, value in enumerate(values):
                error = next(iter(validator.iter_errors(value)), None) if validate else None
                if error is None:
                    yield number, position, value
                else:
                    problems.append(BadLine(str(path), number, describe(error)))


def _values(raw: bytes) -> list[JSON]:
    try:
        # orjson would silently turn integers beyond 64 bits into floats.
        return [orjson.loads(raw) if not _LONG_NUMBER.search(raw) else json.loads(raw)]
    except ValueError:
        # orjson refuses what Python reads (lone surrogates), and both refuse two values on one line.
        text = raw.decode("utf-8").strip().lstrip("\ufeff")
        decoder, values, position = json.JSONDecoder(), [], 0
        while position < len(text):
            value, end = decoder.raw_decode(text, position)
            values.append(value)
            position = end + len(text[end:]) - len(text[end:].lstrip())
        return values
