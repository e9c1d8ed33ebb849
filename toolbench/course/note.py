"""The student's note: Markdown with the drawn loop beside it, numbered, never written over an older one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from toolbench.course import quiz
from toolbench.course.drawing import loop_alt, loop_png
from toolbench.course.words import Words, data
from toolbench.domain.config import ModelConfig
from toolbench.errors import InputError
from toolbench.showing.html import visible

STEM = "tool_calling_note"
RULES = 5
FINDINGS = ("hints", "descriptions", "own_code")
"""What the student writes down: the steps on hints and on descriptions, and what it means for their code."""
DONE: Mapping[str, tuple[str, ...]] = {
    "tools": ("calculate", "rate", "time"),
    "schemas": ("schemas",),
    "loop": ("loop", "repair"),
}
"""Point of the definition of done → exercises that it takes."""


@dataclass(frozen=True)
class Work:
    """What a student has done so far.

    Attributes
    ----------
    exercises
        Exercise → done; what is missing was never checked.
    table, wordings, log
        The table of the run, its lines on descriptions, and the path of its log; ``None`` and empty without.
    real
        Whether a real model played in it.
    answers
        Letters of the self-test.
    rules, findings
        The student's own sentences; findings by :data:`FINDINGS`.
    """

    exercises: Mapping[str, bool] = field(default_factory=dict)
    table: pd.DataFrame | None = None
    wordings: Sequence[str] = ()
    log: str = ""
    real: bool = False
    answers: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[str] = ()
    findings: Mapping[str, str] = field(default_factory=dict)

    def done(self) -> dict[str, bool]:
        """Return the definition of done, point by point."""
        written = {name for name in FINDINGS if str(self.findings.get(name, "")).strip()}
        return {
            **{point: all(self.exercises.get(name) for name in names) for point, names in DONE.items()},
            "run": self.table is not None,
            "real": self.real,
            "hints": "hints" in written,
            "descriptions": "descriptions" in written,
            "rules": len(_filled(self.rules)) >= RULES,
            "quiz": quiz.right_answers(self.answers) == len(quiz.questions()),
        }


def free_path(folder: Path, stem: str, suffix: str = "") -> Path:
    """Return the first path ``stem-001``, ``stem-002`` … that nothing has yet."""
    number = 1
    while (folder / f"{stem}-{number:03d}{suffix}").exists():
        number += 1
    return folder / f"{stem}-{number:03d}{suffix}"


def note_text(words: Words, model: ModelConfig, work: Work, picture: str) -> str:
    """Return the note; ``picture`` is the file name of the drawing."""
    states = {True: "note_done", False: "note_open", None: "note_untried"}
    titles = data("exercises")["titles"]
    done = work.done()
    missing = [words(f"done_{point}") for point, met in done.items() if not met]
    lines = [f"# {words('note_title')}", ""]
    lines += [words("note_model", model=escaped(model.model), protocol=model.protocol), ""]
    lines += [f"## {words('note_scheme')}", "", f"![{escaped(loop_alt(words))}]({picture})", ""]
    lines += [f"## {words('note_rules')}", ""]
    rules = [f"{number}. {escaped(rule)}" for number, rule in enumerate(_filled(work.rules), 1)]
    lines += rules or [words("note_nothing")]
    lines += ["", f"## {words('note_findings')}", ""]
    for name in FINDINGS:
        said = str(work.findings.get(name, "")).strip()
        lines.append(f"- **{words(f'finding_{name}')}** {escaped(said) if said else words('note_nothing')}")
    lines += ["", f"## {words('note_results')}", ""]
    if work.table is None:
        lines.append(words("note_no_results"))
    else:
        lines += [*_table(work.table), "", *(f"- {escaped(line)}" for line in work.wordings), ""]
        lines.append(words("note_log", log=escaped(work.log)))
    lines += ["", f"## {words('note_exercises')}", ""]
    lines += [f"- {words.of(titles[name])}: {words(states[work.exercises.get(name)])}" for name in titles]
    score = words("quiz_score", right=quiz.right_answers(work.answers), total=len(quiz.questions()))
    lines += [f"- {words('note_quiz')}: {score}", "", f"## {words('note_definition')}", ""]
    lines += [f"- [{'x' if met else ' '}] {words(f'done_{point}')}" for point, met in done.items()]
    ending = words("note_missing", missing="; ".join(missing)) if missing else words("note_all_done")
    return "\n".join([*lines, "", ending, ""])


def write_note(folder: Path, words: Words, model: ModelConfig, work: Work) -> tuple[Path, str]:
    """Write a note and its drawing under the first free number; return the note's path and text.

    Raises
    ------
    InputError
        When the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            path = free_path(folder, STEM, ".md")
            text = note_text(words, model, work, f"{path.stem}.png")
            try:
                with path.open("x", encoding="utf-8", newline="\n") as stream:
                    stream.write(text)
            except FileExistsError:
                # Another notebook took the number in the meantime.
                continue
            path.with_suffix(".png").write_bytes(loop_png(words))
            return path, text
    except OSError as fault:
        raise InputError(words("note_refused", folder=folder, reason=fault.strerror)) from None


def escaped(text: str) -> str:
    """Return text on one line in which Markdown and HTML mean nothing."""
    line = " ".join(visible(text).split())
    return re.sub(r"([\\`*_\[\]<>#|&])", r"\\\1", line)


def _filled(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if str(text).strip()]


def _table(table: pd.DataFrame) -> list[str]:
    rows = [[escaped(str(value)) for value in row] for row in table.itertuples(index=False, name=None)]
    head = [escaped(str(name)) for name in table.columns]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
