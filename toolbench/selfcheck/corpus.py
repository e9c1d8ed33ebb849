"""Replies labelled by people, judged as if a perfect player had said them at the end.

A label says whether a careful person would call the reply right. What the judge says about it is its own
error rate: misses among wrong replies, false alarms among right ones, and replies it hands to a person.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from toolbench.domain.canonical import JSON
from toolbench.domain.files import append_text, read_jsonl
from toolbench.domain.shipped import shipped
from toolbench.domain.suite import find_suite
from toolbench.errors import InputError, SuiteError
from toolbench.judging.score import Verdict
from toolbench.judging.trace import Finding
from toolbench.numbers.intervals import wilson
from toolbench.selfcheck.oracle import Performance, perform
from toolbench.selfcheck.rehearse import Move, judge
from toolbench.selfcheck.section import Section

RIGHT, WRONG = "right", "wrong"
PLACES = ("labelled", "tests/judging/corpus")
"""Where a folder of suites keeps labelled replies: one's own, and those of toolbench itself."""


@dataclass(frozen=True)
class Reply:
    """One labelled reply: what is said to a case's first message, after all calls that are due."""

    id: str
    suite: str
    lang: str
    case_id: str
    text: str
    right: bool
    kind: str
    why: str

    def to_json(self) -> dict[str, JSON]:
        """Return a line of the corpus as a plain object."""
        named = {"suite": self.suite, "lang": self.lang, "case_id": self.case_id, "reply": self.text}
        verdict = RIGHT if self.right else WRONG
        return {"id": self.id, **named, "verdict": verdict, "kind": self.kind, "why": self.why}


@dataclass(frozen=True)
class Judged:
    """A reply and what the judge says about it: ``pass``, ``fail`` or ``review``."""

    reply: Reply
    outcome: str
    findings: tuple[Finding, ...]

    @property
    def missed(self) -> bool:
        """Whether a wrong reply passed."""
        return not self.reply.right and self.outcome == "pass"

    @property
    def alarm(self) -> bool:
        """Whether a right reply failed."""
        return self.reply.right and self.outcome == "fail"


def replies(path: Path) -> Iterator[Reply]:
    """Yield the replies of a folder's ``*.jsonl``, or of one file."""
    for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
        for _, row in read_jsonl(file):
            yield Reply(
                row["id"], row["suite"], row["lang"], row["case_id"], row["reply"],
                row["verdict"] == RIGHT, row["kind"], row.get("why", ""),
            )  # fmt: skip


def judged(root: Path, labelled: Iterable[Reply]) -> Iterator[Judged]:
    """Judge every reply with the suites of a folder; replies to suites and cases that are gone are passed
    over.
    """
    known = {path.parent.name for path in root.glob("contracts/*/tools.json")}
    suite_of = cache(lambda name: find_suite(root, name))
    played = cache(lambda name, lang, case: perform(suite_of(name), suite_of(name).case_by_key[lang, case]))
    for reply in labelled:
        if reply.suite in known and (reply.lang, reply.case_id) in suite_of(reply.suite).case_by_key:
            verdict = _verdict(played(reply.suite, reply.lang, reply.case_id), reply)
            yield Judged(reply, verdict.outcome, verdict.findings)


def _verdict(performance: Performance, reply: Reply) -> Verdict:
    scene = performance.scenes[0]
    script = performance.script_with(0, (*scene.moves[:-1], Move(text=reply.text)))
    return judge(performance.suite, performance.case, script)


@dataclass(frozen=True)
class Cell:
    """How often the judge errs on the replies of one language, label and kind.

    Attributes
    ----------
    errors
        Right replies that it fails (false alarms), or wrong ones that it passes (misses).
    review
        Replies that it leaves to a person.
    interval
        Wilson's 95 % interval of the share of errors.
    """

    lang: str
    label: str
    kind: str
    replies: int
    errors: int
    review: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share of errors."""
        return wilson(self.errors, self.replies) or (0.0, 1.0)

    def to_json(self) -> dict[str, JSON]:
        """Return a plain JSON object."""
        return {**asdict(self), "interval": list(self.interval)}

    def __str__(self) -> str:
        low, high = self.interval
        error = "false alarms" if self.label == RIGHT else "misses"
        share = f"{self.errors}/{self.replies} = {self.errors / self.replies:.1%} [{low:.1%}, {high:.1%}]"
        return f"{self.lang} {self.label} {self.kind}: {error} {share}, left to a person {self.review}"


ANY = "(all)"
"""In place of a kind: all of them."""


def cells(rows: Iterable[Judged]) -> list[Cell]:
    """Return a cell for every language and label, then one for each of its kinds."""
    groups: dict[tuple[str, str, str], list[Judged]] = {}
    for row in rows:
        label = RIGHT if row.reply.right else WRONG
        for kind in (ANY, row.reply.kind):
            groups.setdefault((row.reply.lang, label, kind), []).append(row)
    return [
        Cell(
            *key,
            replies=len(some),
            errors=sum(row.alarm or row.missed for row in some),
            review=sum(row.outcome == "review" for row in some),
        )
        for key, some in sorted(groups.items())
    ]


def corpus_folder(root: Path) -> Path:
    """Return where the labelled replies lie: in a folder of suites, or with what is shipped.

    Raises
    ------
    SuiteError
        When there are none.
    """
    places = [base / place for base in (root, shipped()) for place in PLACES]
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise SuiteError(f"{root}: no labelled replies in {' or '.join(PLACES)}")
    return found


def labelled_replies(root: Path) -> Section:
    """Judge what people wrote and labelled: the judge's own error, which no generated sentence shows."""
    labelled = list(replies(corpus_folder(root)))
    # A folder of one's own suites says nothing about the judge before somebody has labelled replies to them.
    rows = list(judged(root, labelled)) or list(judged(shipped(), labelled))
    found = cells(rows)
    notes = [
        "written and labelled by people who did not see the rules: how often the judge errs (Wilson, 95 %)",
        *map(str, found),
    ]
    figures: dict[str, JSON] = {"cells": [cell.to_json() for cell in found]}
    return Section("labelled_replies", "the judge's own error", len(rows), (), notes, figures)


def add(folder: Path, root: Path, reply: Reply) -> Judged:
    """Add a labelled reply to a corpus and return what the judge says about it today.

    Parameters
    ----------
    folder
        The corpus; the reply goes into its ``<lang>.jsonl``.
    root
        Folder with the suites.
    reply
        The reply; its ``id`` is given here.

    Raises
    ------
    SuiteError
        For a suite or case that is not there, or a case whose first message cannot be played.
    InputError
        For an empty reply, or one that the corpus has for that case already.
    """
    if not reply.text.strip():
        raise InputError("the reply is empty")
    suite = find_suite(root, reply.suite)
    if (reply.lang, reply.case_id) not in suite.case_by_key:
        raise SuiteError(f"suite {reply.suite} has no case {reply.case_id!r} in {reply.lang!r}")
    path = folder / f"{reply.lang}.jsonl"
    there = list(replies(path)) if path.exists() else []
    for other in there:
        if (other.suite, other.case_id, other.text) == (reply.suite, reply.case_id, reply.text):
            raise InputError(f"{path}: {other.id} is this reply to this case already")
    last = max((int(number) for one in there if (number := one.id.rpartition("-")[2]).isdigit()), default=0)
    named = replace(reply, id=f"{reply.lang}-{last + 1:04d}")
    (row,) = judged(root, [named])
    folder.mkdir(parents=True, exist_ok=True)
    append_text(path, json.dumps(named.to_json(), ensure_ascii=False) + "\n", InputError)
    return row
