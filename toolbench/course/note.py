"""The student's note: Markdown, numbered, never written over an older one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from toolbench.course.quiz import questions, right_answers
from toolbench.course.words import Words, data
from toolbench.domain.config import ModelConfig
from toolbench.errors import InputError
from toolbench.showing.html import visible

STEM = "tool_calling_note"
EXERCISES = ("tool", "description", "loop")


def free_path(folder: Path, stem: str, suffix: str = "") -> Path:
    """Return the first path ``stem-001``, ``stem-002`` … that nothing has yet."""
    number = 1
    while (folder / f"{stem}-{number:03d}{suffix}").exists():
        number += 1
    return folder / f"{stem}-{number:03d}{suffix}"


def note_text(
    words: Words,
    model: ModelConfig,
    findings: Sequence[str],
    table: pd.DataFrame | None,
    log: str,
    exercises: Mapping[str, bool],
    answers: Mapping[str, str],
) -> str:
    """Return the note.

    Parameters
    ----------
    findings
        The student's own sentences.
    table
        The table of the run, or ``None`` without one.
    log
        Path of the run's log.
    exercises
        Exercise → done; what is missing was never checked.
    answers
        Letters of the self-test.
    """
    states = {True: "note_done", False: "note_open", None: "note_untried"}
    titles = data("exercises")["titles"]
    lines = [f"# {words('note_title')}", ""]
    lines += [words("note_model", model=escaped(model.model), protocol=model.protocol), ""]
    lines += [f"## {words('note_findings')}", ""]
    lines += [f"- {escaped(text)}" for text in findings if text.strip()] or [words("note_no_findings")]
    lines += ["", f"## {words('note_results')}", ""]
    if table is None:
        lines.append(words("note_no_results"))
    else:
        lines += [*_table(table), "", words("note_log", log=escaped(log))]
    lines += ["", f"## {words('note_exercises')}", ""]
    lines += [f"- {words.of(titles[name])}: {words(states[exercises.get(name)])}" for name in EXERCISES]
    score = words("quiz_score", right=right_answers(answers), total=len(questions()))
    lines += ["", f"## {words('note_quiz')}", "", score, ""]
    return "\n".join(lines)


def write_note(folder: Path, text: str) -> Path:
    """Write a note under the first free number and return its path.

    Raises
    ------
    InputError
        When the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            path = free_path(folder, STEM, ".md")
            try:
                with path.open("x", encoding="utf-8", newline="\n") as stream:
                    stream.write(text)
                return path
            except FileExistsError:
                # Another notebook took the number in the meantime.
                continue
    except OSError as fault:
        raise InputError(f"{folder}: the note cannot be written ({fault.strerror})") from None


def escaped(text: str) -> str:
    """Return text on one line in which Markdown and HTML mean nothing."""
    line = " ".join(visible(text).split())
    return re.sub(r"([\\`*_\[\]<>#|&])", r"\\\1", line)


def _table(table: pd.DataFrame) -> list[str]:
    rows = [[escaped(str(value)) for value in row] for row in table.itertuples(index=False, name=None)]
    head = [escaped(str(name)) for name in table.columns]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
