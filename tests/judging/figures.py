"""How often the judge errs on the labelled replies, by file, label and kind; run as a module it writes them.

``python -m tests.judging.figures`` after a change that makes the judge better.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from toolbench.selfcheck.corpus import Judged, judged, replies

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
COMMITTED = CORPUS / "figures.json"
FILES = sorted(path.stem for path in CORPUS.glob("*.jsonl"))

Figures = Mapping[str, Mapping[str, int]]
"""``label kind`` → ``replies``, ``errors`` (false alarms or misses) and ``review``."""


@cache
def rows(file: str) -> tuple[Judged, ...]:
    """Return the replies of a file with what the judge says about them."""
    return tuple(judged(ROOT, replies(CORPUS / f"{file}.jsonl")))


def figures(file: str) -> Figures:
    """Return the figures of a file's cells."""
    found: dict[str, dict[str, int]] = {}
    for row in rows(file):
        label = "right" if row.reply.right else "wrong"
        cell = found.setdefault(f"{label} {row.reply.kind}", {"replies": 0, "errors": 0, "review": 0})
        cell["replies"] += 1
        cell["errors"] += row.alarm or row.missed
        cell["review"] += row.outcome == "review"
    return {name: found[name] for name in sorted(found)}


def committed() -> Mapping[str, Figures]:
    """Return the figures that a change is compared with."""
    found: Mapping[str, Figures] = json.loads(COMMITTED.read_text("utf-8"))
    return found


if __name__ == "__main__":
    written = json.dumps({file: figures(file) for file in FILES}, indent=1)
    COMMITTED.write_text(written + "\n", "utf-8")
