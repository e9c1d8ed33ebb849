"""What a person has to look at: findings that are unclear to the judge itself, and calls to check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from toolbench.domain import labels
from toolbench.domain.keys import AttemptKey
from toolbench.domain.labels import Label, Labels, Said
from toolbench.numbers.signature import judge_version
from toolbench.numbers.tables import records
from toolbench.showing.view import RunView

FALSE_CALLS = (
    "unexpected_call",
    "extra_call",
    "wrong_tool",
    "forbidden_tool",
    "unknown_tool",
    "repeated_call",
)
QUEUES: Mapping[str, Callable[[pd.DataFrame], pd.Series[bool]]] = {
    "unclear": lambda findings: findings["layer"] == "review",
    "false calls": lambda findings: findings["code"].isin(FALSE_CALLS),
    "every finding": lambda findings: findings["code"].notna(),
}
"""What to go through → which findings of models that is."""


@dataclass(frozen=True)
class Item:
    """A finding to be looked at, and what has been said about it."""

    attempt: AttemptKey
    player: str
    code: str
    reason: str
    label: Label | None

    def __str__(self) -> str:
        said = f"{self.label.verdict} ({self.label.who})" if self.label else "not looked at"
        where = f"{self.attempt.case_id} · {self.player} · {self.attempt.condition}"
        return f"{where} · repetition {self.attempt.repetition + 1} · {self.code} · {said}"


@dataclass(frozen=True)
class Queue:
    """The items in the order of the run, those nobody has looked at first, and labels that cannot be used."""

    items: tuple[Item, ...]
    problems: tuple[str, ...]

    @property
    def done(self) -> int:
        """Items with a label."""
        return sum(item.label is not None for item in self.items)


def queue(view: RunView, name: str = "unclear") -> Queue:
    """Return what is to be looked at in a run."""
    found = view.findings[view.findings["player"].isin(view.models or view.players)]
    found = found[QUEUES[name](found)].drop_duplicates([*AttemptKey._fields, "code"])
    known = known_labels(view)
    items = [
        Item(
            attempt=AttemptKey.of(row),
            player=str(row["player"]),
            code=str(row["code"]),
            reason=str(row["reason"]),
            label=known.found.get((AttemptKey.of(row), str(row["code"]))),
        )
        for row in records(found)
    ]
    return Queue(tuple(sorted(items, key=lambda item: item.label is not None)), known.problems)


def known_labels(view: RunView) -> Labels:
    """Return the labels beside a run's log."""
    if not (Path(view.path) / labels.LABELS_NAME).exists():
        return Labels({}, ())
    digests = {attempt.key: labels.digest(attempt) for attempt in view.all_records()}
    return labels.read(Path(view.path), digests, judge_version())


def say(view: RunView, item: Item, verdict: Said, who: str, note: str = "") -> Label:
    """Write a label beside the run's log and return it.

    Raises
    ------
    LogError
        When nobody is named, or the file cannot be written.
    """
    attempt = view.records([item.attempt])[item.attempt]
    said = labels.label(attempt, judge_version(), item.code, verdict, who=who, note=note)
    labels.append(Path(view.path), said)
    return said
