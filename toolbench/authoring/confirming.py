"""Drafts that a person has looked at: their mark goes, and they are played and counted from then on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from toolbench.authoring.lint import Problem, lint
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.domain.files import read_jsonl, read_text, validate, write_text_atomic
from toolbench.errors import SuiteError


@dataclass(frozen=True)
class Drafted:
    """A draft: where it is, the case, and its line as written."""

    file: Path
    line: int
    case: JSON
    text: str

    def __str__(self) -> str:
        case = self.case
        said = case.get("user") or case["messages"][-1].get("content", "")
        kinds = case["expect"]["kind"]
        wanted = kinds if isinstance(kinds, str) else " or ".join(kinds)
        calls = ", ".join(
            f"{call['tool']}({json.dumps(call['arguments'], ensure_ascii=False)})"
            for call in case["expect"].get("calls", ())
        )
        return f"{self.file}:{self.line}: {case['id']}: {said!r} → {calls or wanted}"


def drafts(root: Path, suite: str) -> list[Drafted]:
    """Return the drafts of a suite's case files under ``root``.

    Raises
    ------
    SuiteError
        When the suite has no case file there, or one is broken.
    """
    found = []
    for path in _files(root, suite):
        lines = read_text(path).split("\n")
        found += [
            Drafted(path, number, case, lines[number - 1])
            for number, case in read_jsonl(path, "case")
            if case.get("draft")
        ]
    return found


def confirm(root: Path, suite: str, ids: Collection[str] | None) -> tuple[list[str], list[Problem]]:
    """Take the mark off drafts and return their ids, and what lint says about the files now.

    Lines of other cases stay as they are, to the letter.

    Parameters
    ----------
    ids
        Ids of the drafts; ``None`` confirms all.

    Raises
    ------
    SuiteError
        When an id is no draft's; nothing is changed then.
    """
    waiting = drafts(root, suite)
    known = {draft.case["id"] for draft in waiting}
    for name in ids or ():
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise SuiteError(f"{name[:80]!r}: no draft of {suite} has this id; there are: {there[:300]}")
    chosen = [draft for draft in waiting if ids is None or draft.case["id"] in ids]
    files = list(dict.fromkeys(draft.file for draft in chosen))
    for file in files:
        numbers = {draft.line for draft in chosen if draft.file == file}
        write_text_atomic(file, "\n".join(_lines(read_text(file), numbers)))
    return [draft.case["id"] for draft in chosen], list(lint(files)) if files else []


def rewrite(draft: Drafted, text: str) -> list[Problem]:
    """Write an edited draft in its place and return what lint says about its file.

    Raises
    ------
    SuiteError
        When the text is no case, or the draft is no longer where it was; nothing is changed then.
    """
    try:
        case = loads_strict(text)
    except StrictJSONError as fault:
        raise SuiteError(f"the draft is not valid JSON: {fault}") from None
    validate(case, "case", "the draft")
    lines = read_text(draft.file).split("\n")
    if draft.line > len(lines) or lines[draft.line - 1] != draft.text:
        raise SuiteError(f"{draft.file}:{draft.line}: the file has changed meanwhile; open it again")
    lines[draft.line - 1] = json.dumps(case, ensure_ascii=False)
    write_text_atomic(draft.file, "\n".join(lines))
    return list(lint([draft.file]))


def _lines(text: str, numbers: Collection[int]) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        if number not in numbers:
            yield line
            continue
        case = loads_strict(line)
        del case["draft"]
        yield json.dumps(case, ensure_ascii=False)


def _files(root: Path, suite: str) -> list[Path]:
    found = sorted((root / "cases").glob(f"{suite}.*.jsonl"))
    if not found:
        raise SuiteError(f"{root / 'cases'}: no case file named {suite[:80]}.<lang>.jsonl")
    return found
