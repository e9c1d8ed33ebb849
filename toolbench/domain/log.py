"""The append-only log of a run: ``<run>/attempts.jsonl``, a header line and one attempt a line.

What is wrong with one line costs that line and is named; what is wrong with the header is said as what it is.
The other half, which writes, is :mod:`toolbench.domain.log_writer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import orjson

from toolbench.domain.canonical import JSON, too_deep
from toolbench.domain.condition import Condition
from toolbench.domain.files import describe, quick_validator, schema_validator
from toolbench.domain.keys import AttemptKey, PlayerKey
from toolbench.domain.record import FORMAT, Attempt, Resumed, RunHeader
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
    Where the same attempt occurs more than once (a transport error tried again), the last one counts, and
    carries the others as ``earlier``: what they cost was spent. ``resumed`` says when and with what changes
    the run was continued.
    """

    path: Path
    header: RunHeader
    problems: list[BadLine] = field(default_factory=list)
    resumed: list[Resumed] = field(default_factory=list)
    _begun: bool = False
    _superseded: set[tuple[int, int]] = field(default_factory=set)
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
        header = _header(path)
        log = cls(path, header, problems)
        try:
            suites = header.load_suites()
            conditions = header.load_conditions()
            planned = set(header.plan(suites))
        except (SuiteError, KeyError, TypeError, ValueError, AttributeError) as fault:
            raise LogError(f"{path}:1: the run header cannot be used: {fault}") from None
        for line, position, value in _read(path, problems):
            if value["type"] == "resumed":
                log.resumed.append(Resumed.from_json(value))
            elif value["type"] == "run":
                if log._begun:
                    problems.append(BadLine(str(path), line, "a second run header; ignored"))
                log._begun = True
            elif reason := _unusable(value, header, suites, conditions, planned):
                problems.append(BadLine(str(path), line, reason))
            else:
                key = AttemptKey.of(value)
                if key in log._last:
                    log._superseded.add(log._last[key])
                log._last[key] = (line, position)
        return log

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
        wanted = set(self._last.values())
        earlier: dict[AttemptKey, list[Attempt]] = {}
        for line, position, value in _read(self.path, [], validate=False):
            if (line, position) in self._superseded:
                attempt = Attempt.from_json(value)
                earlier.setdefault(attempt.key, []).append(attempt)
            elif (line, position) in wanted:
                attempt = Attempt.from_json(value)
                before = earlier.pop(attempt.key, None) if earlier else None
                yield replace(attempt, earlier=tuple(before)) if before else attempt


def read_header(run: Path) -> RunHeader:
    """Read what a run was to be, and nothing of what came of it.

    Raises
    ------
    LogError
        When there is no log, or its header is missing or of another format.
    """
    return _header(run / LOG_NAME if run.is_dir() else run)


def _header(path: Path) -> RunHeader:
    """Return the header that a log begins with, and say of any other file what it is.

    Raises
    ------
    LogError
        When there is no log, or its header is missing, of another version, or not as it was written.
    """
    first = next(_lines(path, []), None)
    data = first[2] if first is not None else None
    if first is None or first[0] != 1 or not isinstance(data, dict) or data.get("type") != "run":
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
    fault = next(iter(schema_validator("record").iter_errors(data)), None)
    if fault is not None:
        raise LogError(f"{path}:1: {describe(fault)}")
    header = RunHeader.from_json(data)
    if header.seal is not None and header.seal != header.sealed().seal:
        raise LogError(f"{path}:1: the run header was changed after it was written; its seal does not fit")
    return header


def _unusable(
    value: Mapping[str, Any],
    header: RunHeader,
    suites: Mapping[str, Suite],
    conditions: Mapping[str, Condition],
    planned: set[AttemptKey],
) -> str | None:
    """Return why an attempt cannot be used as one of this run, or ``None``."""
    if value["run_id"] != header.run_id:
        return f"belongs to run {value['run_id']!r}, not {header.run_id!r}"
    if AttemptKey.of(value) not in planned:
        return _unplanned(value, header, suites, conditions)
    reason = _foreign(value["hashes"], header, suites[value["suite"]], value["lang"], value["case_id"])
    if reason is None:
        reason = _without_record(value)
    if reason is None:
        try:
            Attempt.from_json(value)
        except (TypeError, KeyError, ValueError, AttributeError) as fault:
            reason = f"cannot be read as an attempt: {' '.join(str(fault).split())[:120]}"
    return reason


def _unplanned(
    value: Mapping[str, Any],
    header: RunHeader,
    suites: Mapping[str, Suite],
    conditions: Mapping[str, Condition],
) -> str:
    suite = suites.get(value["suite"])
    if suite is None or (value["lang"], value["case_id"]) not in suite.case_by_key:
        return "names a case that the run does not have"
    if value["condition"] not in conditions:
        return "names a condition that the run does not have"
    if PlayerKey.of(value) not in {PlayerKey.of(player) for player in header.players}:
        return "names a model that the run does not have"
    return f"repetition {value['repetition']} of this case and condition was not planned"


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


def _read(
    path: Path, problems: list[BadLine], validate: bool = True
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield ``(line, position in line, value)`` of every valid record; two glued records count as two."""
    validator, fits = schema_validator("record"), quick_validator("record")
    for number, position, value in _lines(path, problems):
        known = not validate or fits(value)
        error = None if known else next(iter(validator.iter_errors(value)), None)
        if error is None:
            yield number, position, value
        else:
            problems.append(BadLine(str(path), number, describe(error)))


def _lines(path: Path, problems: list[BadLine]) -> Iterator[tuple[int, int, Any]]:
    """Yield ``(line, position in line, value)`` of everything that is JSON."""
    try:
        stream = open(path, "rb")  # noqa: SIM115 - closed below; the error needs its own line
    except FileNotFoundError:
        raise LogError(f"{path}: no such run{_others(path)}") from None
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
                if too_deep(value):
                    problems.append(BadLine(str(path), number, "nested too deeply"))
                else:
                    yield number, position, value


def _others(path: Path) -> str:
    """Return the runs that there are where one was looked for, as the end of a sentence."""
    near = path.parent if path.name != LOG_NAME else path.parent.parent
    logs = sorted({*near.glob(f"*/{LOG_NAME}"), *Path("runs").glob(f"*/{LOG_NAME}")})
    names = [str(log.parent) for log in logs[:20]]
    return f"; there are: {', '.join(names)}" if names else "; there is none here yet"


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
