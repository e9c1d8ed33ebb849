"""One refusal of :mod:`toolbench.authoring.lint`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolbench.authoring.positions import line_index, repeated_key_line
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.domain.files import describe, read_text, schema_validator
from toolbench.domain.json_schema import ValidationError, best_match
from toolbench.errors import SuiteError


@dataclass(frozen=True, order=True)
class Problem:
    """Something that must be changed, where, and why.

    Attributes
    ----------
    file, line
        Where; lines count from 1.
    reason
        One line: the offending field and what is wrong with it.
    """

    file: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class Document:
    """A JSON document that was read, with the line of each of its values."""

    file: Path
    value: JSON
    lines: Mapping[tuple[str | int, ...], int]

    def problem(self, path: tuple[str | int, ...], reason: str) -> Problem:
        """Return a problem of the value at ``path``; the reason is prefixed with the path."""
        known = path
        while known not in self.lines:
            known = known[:-1]
        return Problem(self.file, self.lines[known], f"{spelled(path)}: {reason}" if path else reason)


def spelled(path: tuple[str | int, ...]) -> str:
    """Return a JSON path as people write it: ``tools[0].name``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def read_document(file: Path, schema: str) -> tuple[Document | None, list[Problem]]:
    """Read a JSON document and check it against a shipped schema.

    Returns
    -------
    tuple
        The document, or ``None`` when it is unusable, and every problem found.
    """
    try:
        text = read_text(file)
    except SuiteError as fault:
        return None, [Problem(file, 1, str(fault).removeprefix(f"{file}: "))]
    try:
        value = loads_strict(text)
    except StrictJSONError as fault:
        line = repeated_key_line(text) if fault.code == "duplicate_key" else fault.line
        return None, [Problem(file, line, f"not valid JSON: {fault}")]
    document = Document(file, value, line_index(text))
    problems = [
        document.problem(tuple(fault.absolute_path), describe(fault).partition(": ")[2])
        for fault in _faults(value, schema)
    ]
    return (None if problems else document), problems


def _faults(value: JSON, schema: str) -> list[ValidationError]:
    """Return one fault for each wrong place, the most telling one where alternatives failed."""
    found = (best_match([fault]) for fault in schema_validator(schema).iter_errors(value))
    return sorted((fault for fault in found if fault), key=lambda fault: fault.json_path)
