"""What people say about findings: ``<run>/labels.jsonl``, beside the log and never in it.

A label is about one finding of one attempt, as one version of the judge saw it. The file only grows: a second
thought is another line, and the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from toolbench.domain.canonical import JSON, StrictJSONError, canonical_json, loads_strict, sha256
from toolbench.domain.environment import now
from toolbench.domain.files import append_text, describe, read_text, schema_validator
from toolbench.domain.keys import AttemptKey
from toolbench.domain.record import Attempt
from toolbench.errors import LogError

LABELS_NAME = "labels.jsonl"
Said = Literal["pass", "fail", "unclear"]
SAID: tuple[Said, ...] = get_args(Said)
Subject = tuple[AttemptKey, str | None]
"""What a label is about: an attempt, and a finding's code or ``None`` for all of it."""


@dataclass(frozen=True)
class Label:
    """One judgement by a person.

    Attributes
    ----------
    attempt, digest
        Which attempt, and the hash of its line: one that is made again is another attempt.
    judge
        Version of the judge whose finding was looked at.
    code
        The finding, or ``None`` for the attempt as a whole.
    verdict
        Whether the attempt should count as passed, as failed, or still cannot be told.
    who, when
        Who said so, and when (ISO 8601, UTC).
    """

    attempt: AttemptKey
    digest: str
    judge: str
    code: str | None
    verdict: Said
    note: str
    who: str
    when: str

    @property
    def subject(self) -> Subject:
        """What the label is about."""
        return self.attempt, self.code

    def to_json(self) -> dict[str, JSON]:
        """Return one line as a plain object."""
        return {**asdict(self), "attempt": self.attempt._asdict()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Label:
        """Rebuild from a line that fits the schema."""
        return cls(**{**data, "attempt": AttemptKey(**data["attempt"])})


@dataclass(frozen=True)
class Labels:
    """The labels of a run that can be used, the last one on a subject, and a line on each that cannot."""

    found: Mapping[Subject, Label]
    problems: tuple[str, ...]


def digest(attempt: Attempt) -> str:
    """Return what tells an attempt from a later one in its place."""
    return sha256(attempt.to_json())


def label(
    attempt: Attempt, judge: str, code: str | None, verdict: Said, *, who: str, note: str = ""
) -> Label:
    """Return a label given now."""
    return Label(attempt.key, digest(attempt), judge, code, verdict, note.strip(), who.strip(), now())


def append(run: Path, said: Label) -> None:
    """Add a label to a run's file; the log is not opened.

    Raises
    ------
    LogError
        When the label does not fit the schema, or the file cannot be written.
    """
    fault = next(schema_validator("label").iter_errors(said.to_json()), None)
    if fault is not None:
        raise LogError(f"this label cannot be kept: {describe(fault)}")
    path = run / LABELS_NAME
    # A line that a crash has left unfinished is closed first, or it would take this one with it.
    torn = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
    append_text(path, ("\n" if torn else "") + canonical_json(said.to_json()) + "\n", LogError)


def read(run: Path, attempts: Mapping[AttemptKey, str], judge: str) -> Labels:
    """Read the labels of a run.

    Parameters
    ----------
    attempts
        Key → digest of every attempt that a label may be about.
    judge
        Version of the judge whose findings are shown.

    Returns
    -------
    Labels
        A label of another attempt or of another version of the judge is a problem and is not used.
    """
    path, found, problems = run / LABELS_NAME, {}, []
    for number, line in enumerate(read_text(path, LogError).split("\n") if path.exists() else (), 1):
        if not line.strip():
            continue
        said = _parsed(line)
        why = said if isinstance(said, str) else next(_unusable(said, attempts, judge), None)
        if isinstance(said, str) or why:
            problems.append(f"{path}:{number}: {why}")
        else:
            found[said.subject] = said
    return Labels(found, tuple(problems))


def _parsed(line: str) -> Label | str:
    """Return the label of a line, or why there is none."""
    try:
        value: Any = loads_strict(line)
    except StrictJSONError as fault:
        return f"not valid JSON: {fault}"
    wrong = next(schema_validator("label").iter_errors(value), None)
    return describe(wrong) if wrong else Label.from_json(value)


def _unusable(said: Label, attempts: Mapping[AttemptKey, str], judge: str) -> Iterator[str]:
    known = attempts.get(said.attempt)
    if known is None:
        yield f"is about {said.attempt}, which this run does not have"
    elif known != said.digest:
        yield f"is about another attempt: {said.attempt} was made again since"
    # What is said of the whole attempt does not depend on what a judge had found in it.
    if said.code is not None and said.judge != judge:
        yield f"is about what judge {said.judge} found, this is judge {judge}"
