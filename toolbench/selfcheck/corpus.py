"""Replies labelled by people, judged as if a perfect player had said them at the end.

A label says whether a careful person would call the reply right. What the judge says about it is its own
error rate: misses among wrong replies, false alarms among right ones, and replies it hands to a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolbench.domain.files import read_jsonl
from toolbench.domain.suite import Suite, find_suite
from toolbench.judging.score import Verdict
from toolbench.judging.trace import Finding
from toolbench.selfcheck.oracle import perform
from toolbench.selfcheck.rehearse import Move, judge

RIGHT = "right"


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
    """Judge every reply with the suites of a folder; replies to cases that are gone are passed over."""
    suites: dict[str, Suite] = {}
    for reply in labelled:
        suite = suites.setdefault(reply.suite, find_suite(root, reply.suite))
        if (reply.lang, reply.case_id) in suite.case_by_key:
            verdict = _verdict(suite, reply)
            yield Judged(reply, verdict.outcome, verdict.findings)


def _verdict(suite: Suite, reply: Reply) -> Verdict:
    case = suite.case_by_key[reply.lang, reply.case_id]
    performance = perform(suite, case)
    scene = performance.scenes[0]
    script = performance.script_with(0, (*scene.moves[:-1], Move(text=reply.text)))
    return judge(suite, case, script)


Cells = Mapping[tuple[str, str, str], Sequence[Judged]]


def cells(rows: Iterable[Judged]) -> Cells:
    """Return the rows by language, label and kind."""
    found: dict[tuple[str, str, str], list[Judged]] = {}
    for row in rows:
        label = RIGHT if row.reply.right else "wrong"
        found.setdefault((row.reply.lang, label, row.reply.kind), []).append(row)
    return found
