"""The append-only log of a run: ``<run>/attempts.jsonl``, a header line and one attempt a line.

What is wrong with one line costs that line and is named; what is wrong with the header is said as what it is.
The other half, which writes, is :mod:`toolbench.domain.log_writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from toolbench.domain.canonical import JSON, loads_strict_each, one_line, too_deep
from toolbench.domain.files import describe, quick_validator, schema_validator
from toolbench.domain.keys import AttemptKey, PlayerKey
from toolbench.domain.record import FORMAT, Attempt, Resumed, RunHeader
from toolbench.domain.storage import copy_of
from toolbench.domain.suite import Suite
from toolbench.errors import LogError, SuiteError

LOG_NAME = "attempts.jsonl"
Place = tuple[int, int]
"""Line of the file, and position among the records of that line."""
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19


@dataclass(frozen=True)
class BadLine:
    """A line that could not be used, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class Part:
    """A stretch of a log that begins and ends between lines, read once, line by line.

    ``problems``, ``resumed`` and ``lines`` are filled while :meth:`attempts` is iterated; lines are counted
    from where the part begins.

    Raises
    ------
    LogError
        When the header cannot be used.
    """

    def __init__(self, path: Path, header: RunHeader, start: int = 0, stop: int | None = None) -> None:
        self.problems: list[BadLine] = []
        self.resumed: list[Resumed] = []
        self.lines = 0
        self._path, self._header, self._start, self._stop = path, header, start, stop
        try:
            self._suites = header.load_suites()
            self._conditions = header.load_conditions()
            self._repetitions = dict(header.repetitions(self._suites))
        except (SuiteError, KeyError, TypeError, ValueError, AttributeError) as fault:
            raise LogError(f"{path}:1: the run header cannot be used: {one_line(str(fault))}") from None

    def attempts(self) -> Iterator[tuple[int, int, Attempt]]:
        """Yield ``(line, position in line, attempt)`` of every attempt that can be used."""
        begun = self._start > 0
        for line, position, value in self._values():
            if value["type"] == "resumed":
                self.resumed.append(Resumed.from_json(value))
            elif value["type"] == "run":
                if begun:
                    self._refuse(line, "a second run header; ignored")
                begun = True
            elif reason := self._unusable(value):
                self._refuse(line, reason)
            else:
                try:
                    attempt = Attempt.from_json(value)
                except (TypeError, KeyError, ValueError, AttributeError) as fault:
                    told = " ".join(str(fault).split())[:120]
                    self._refuse(line, f"cannot be read as an attempt: {told}")
                else:
                    yield line, position, attempt

    def _values(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield every value of a line that fits the schema; two glued records count as two."""
        fits = quick_validator("record")
        for number, raw in _lines(self._path, self._start, self._stop):
            self.lines = number
            if not raw.strip():
                continue
            try:
                values = _decoded(raw)
            except (ValueError, RecursionError) as fault:
                torn = "" if raw.endswith(b"\n") else "unfinished line: "
                self._refuse(number, f"{torn}not valid JSON: {fault}")
                continue
            for position, value in enumerate(values):
                if too_deep(value):
                    self._refuse(number, "nested too deeply")
                elif fits(value) or not (faults := list(schema_validator("record").iter_errors(value))):
                    yield number, position, value
                else:
                    self._refuse(number, describe(faults[0]))

    def _refuse(self, line: int, reason: str) -> None:
        self.problems.append(BadLine(str(self._path), line, reason))

    def _unusable(self, value: Mapping[str, Any]) -> str | None:
        """Return why an attempt cannot be used as one of this run, or ``None``."""
        if value["run_id"] != self._header.run_id:
            return f"belongs to run {value['run_id']!r}, not {self._header.run_id!r}"
        key = AttemptKey.of(value)
        if key.repetition >= self._repetitions.get(key[:-1], 0):
            return self._unplanned(value)
        suite = self._suites[value["suite"]]
        reason = _foreign(value["hashes"], self._header, suite, value["lang"], value["case_id"])
        return reason or _without_record(value)

    def _unplanned(self, value: Mapping[str, Any]) -> str:
        suite = self._suites.get(value["suite"])
        if suite is None or (value["lang"], value["case_id"]) not in suite.case_by_key:
            return "names a case that the run does not have"
        if value["condition"] not in self._conditions:
            return "names a condition that the run does not have"
        if PlayerKey.of(value) not in {PlayerKey.of(player) for player in self._header.players}:
            return "names a model that the run does not have"
        return f"repetition {value['repetition']} of this case and condition was not planned"


@dataclass
class RunLog:
    """A run read from disk.

    ``attempts`` can be iterated any number of times; each pass reads the file again, one line in memory.
    Where the same attempt occurs more than once (a transport error tried again), the last one counts, and
    carries the others as ``earlier``: what they cost was spent. ``resumed`` says when and with what changes
    the run was continued, ``found`` where each attempt stands.
    """

    path: Path
    header: RunHeader
    problems: list[BadLine] = field(default_factory=list)
    resumed: list[Resumed] = field(default_factory=list)
    found: Callable[[], Iterable[tuple[AttemptKey, Place]]] = tuple

    @classmethod
    def open(cls, run: Path) -> RunLog:
        """Read a run's folder (or its ``attempts.jsonl``).

        Broken lines never raise: they are collected in ``problems`` and what is readable is used.

        Raises
        ------
        LogError
            When there is no log, or its header is missing or of another format.
        """
        path = log_of(run)
        header = read_header(path)
        part = Part(path, header)
        found = [(attempt.key, (line, position)) for line, position, attempt in part.attempts()]
        return cls(path, header, part.problems, part.resumed, lambda: found)

    @cached_property
    def _last(self) -> dict[AttemptKey, Place]:
        return dict(self.found())

    def __len__(self) -> int:
        return len(self._last)

    @property
    def keys(self) -> set[AttemptKey]:
        """Identities of the attempts that are there."""
        return set(self._last)

    def line(self, key: AttemptKey) -> int | None:
        """Return the line of the file that an attempt is on, from 1; ``None`` where it is not there."""
        return self._last[key][0] if key in self._last else None

    @property
    def attempts(self) -> Iterator[Attempt]:
        """Every attempt, in the order of its last line."""
        return self.chosen(self._last)

    def chosen(self, keys: Collection[AttemptKey]) -> Iterator[Attempt]:
        """Yield some of the attempts; the lines of the others are passed over unread."""
        wanted: dict[int, dict[int, AttemptKey]] = {}
        for key, (line, position) in self.found():
            if key in keys:
                wanted.setdefault(line, {})[position] = key
        earlier: dict[AttemptKey, list[Attempt]] = {}
        end = max(wanted, default=0)
        for line, raw in islice(_lines(self.path), end):
            for position, key in wanted.get(line, {}).items():
                attempt = Attempt.from_json(_decoded(raw)[position])
                if self._last[key] != (line, position):
                    earlier.setdefault(key, []).append(attempt)
                else:
                    before = earlier.pop(key, None)
                    yield replace(attempt, earlier=tuple(before)) if before else attempt


def log_of(run: Path) -> Path:
    """Return the log in a run's folder; a path that is no folder is the log itself.

    Of a run in object storage it is the log in a copy, fetched as far as it is not there.
    """
    run = copy_of(run)
    return run / LOG_NAME if run.is_dir() else run


def read_header(run: Path) -> RunHeader:
    """Read what a run was to be, and nothing of what came of it.

    Raises
    ------
    LogError
        When there is no log, or its header is missing, of another version, or not as it was written.
    """
    path = log_of(run)
    data = _first_value(path)
    if not isinstance(data, dict) or data.get("type") != "run":
        raise LogError(f"{path}:1: the run header is missing; this is not a usable log")
    version = data.get("format")
    if version != FORMAT:
        newer = isinstance(version, int) and version > FORMAT
        why = "it was written by a newer toolbench" if newer else f"this version reads {FORMAT}"
        raise LogError(f"{path}:1: log format {version!r}: {why}")
    unknown = sorted(set(data) - {entry.name for entry in fields(RunHeader)})
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise LogError(f"{path}:1: the header has {names}: it was written by another version of toolbench")
    if not quick_validator("record")(data):
        for fault in schema_validator("record").iter_errors(data):
            raise LogError(f"{path}:1: {one_line(describe(fault))}")
    header = RunHeader.from_json(data)
    if header.seal is not None and header.seal != header.sealed().seal:
        raise LogError(f"{path}:1: the run header was changed after it was written; its seal does not fit")
    return header


def _foreign(
    hashes: Mapping[str, str], header: RunHeader, suite: Suite, lang: str, case_id: str
) -> str | None:
    """Return which part of the run an attempt was made with another version of, or ``None``."""
    own = {name: suite.hashes.get(name) for name in ("contract", "executor", "rules", "distractors")}
    own["case"] = suite.case_by_key[lang, case_id].hash
    if header.seal is not None:
        own["header"] = header.seal
    for name, expected in own.items():
        if name in hashes and hashes[name] != expected:
            return f"was made with another {name} than this run's"
    return None


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


def _lines(path: Path, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield ``(line, bytes)`` of every line, lines counted from ``start`` (a byte)."""
    try:
        stream = open(path, "rb")  # noqa: SIM115 - closed below; the error needs its own line
    except FileNotFoundError:
        raise LogError(f"{path}: no such run{_others(path)}") from None
    except OSError as fault:
        raise LogError(f"{path}: cannot be read ({fault.strerror})") from None
    with stream:
        stream.seek(start)
        at = start
        for number, raw in enumerate(stream, 1):
            at += len(raw)
            if stop is not None and at > stop:
                return
            yield number, raw


def _first_value(path: Path) -> JSON:
    """Return what the first line holds, ``None`` where that is no JSON."""
    number, raw = next(_lines(path), (0, b""))
    try:
        value = next(iter(_decoded(raw)), None) if number == 1 else None
    except (ValueError, RecursionError):
        return None
    return None if too_deep(value) else value


def _others(path: Path) -> str:
    """Return the runs that there are where one was looked for, as the end of a sentence."""
    near = path.parent if path.name != LOG_NAME else path.parent.parent
    places = near, Path("runs"), Path()
    logs = sorted({log for place in places for log in place.glob(f"*/{LOG_NAME}")})
    names = [str(log.parent) for log in logs[:20]]
    return f"; there are: {', '.join(names)}" if names else "; there is none here yet"


def _decoded(raw: bytes) -> list[JSON]:
    # orjson is quick, and would silently turn integers beyond 64 bits into floats.
    if _LONG_NUMBER not in raw.translate(_ZEROS):
        try:
            return [orjson.loads(raw)]
        except ValueError:
            pass
    # It also refuses what can be read (lone surrogates, two values on one line).
    return loads_strict_each(raw.decode("utf-8").strip().lstrip("\ufeff"), last_wins=True)
