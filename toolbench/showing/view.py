"""A run as the report and the workbench look at it: frames with a readable player name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from toolbench.domain.keys import AttemptKey, PlayerKey
from toolbench.domain.plurals import plural
from toolbench.domain.record import Attempt
from toolbench.domain.rich import html_table
from toolbench.domain.suite import Suite
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.tables import records
from toolbench.showing.handing import taken_over


@dataclass(frozen=True)
class Arm:
    """One suite in one language under one condition: what a table or plot may show together."""

    suite: str
    lang: str
    condition: str

    def __str__(self) -> str:
        return f"{self.suite} · {self.lang} · {self.condition}"


class RunView:
    """A scored run prepared for showing.

    ``attempts``, ``calls`` and ``findings`` are the frames of :class:`ScoredRun` with a ``player`` column;
    models come before baselines in ``players``. ``watch`` is called with the attempts judged so far and all;
    ``scored`` is the run where it has been judged already.
    """

    def __init__(
        self,
        run: str | Path,
        watch: Callable[[int, int], None] | None = None,
        scored: ScoredRun | None = None,
        scheduler: str | None = None,
    ) -> None:
        self.path = Path(run)
        self.scored: ScoredRun = (
            scored or taken_over(self.path) or load_run(self.path, watch, scheduler=scheduler)
        )
        self.header = self.scored.log.header
        self.attempts = self.named(self.scored.attempts)
        self.calls = self.named(self.scored.calls)
        self.findings = self.named(self.scored.findings)

    @cached_property
    def names(self) -> Mapping[PlayerKey, str]:
        """Readable name of each player by provider, model and protocol."""
        return player_names([PlayerKey.of(player) for player in self.header.players])

    @property
    def suites(self) -> Mapping[str, Suite]:
        """The suites as they were when the run started."""
        return self.scored.suites

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame with the group columns and a ``player`` column."""
        keys = frame[list(PlayerKey._fields)].itertuples(index=False, name=None)
        return frame.assign(player=[self.names[PlayerKey(*key)] for key in keys])

    def _repr_html_(self) -> str:
        rate = self.metrics[self.metrics["metric"] == "pass_rate"]
        shown = ["player", "suite", "lang", "condition", "value", "ci_low", "ci_high", "cases", "clusters"]
        caption = f"run {self.header.run_id}, {self.header.started_at}: all checks passed"
        return html_table(caption, records(rate[shown]), [self.incomplete] if self.incomplete else [])

    @property
    def players(self) -> list[str]:
        """Player names, models first."""
        ordered = sorted(self.names.items(), key=lambda item: item[0].is_baseline)
        return [name for _, name in ordered]

    @property
    def models(self) -> list[str]:
        """Names of the players that are not baselines."""
        return [name for key, name in self.names.items() if not key.is_baseline]

    @property
    def arms(self) -> list[Arm]:
        """Every combination of suite, language and condition the run was to play, in running order."""
        unique = self.scored.planned[["suite", "lang", "condition"]].drop_duplicates()
        return [Arm(*(str(value) for value in row)) for row in unique.itertuples(index=False, name=None)]

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """All metrics, with a ``player`` column."""
        return self.named(self.scored.figures)

    def at(self, frame: pd.DataFrame, arm: Arm) -> pd.DataFrame:
        """Return the rows of one arm."""
        return frame[
            (frame["suite"] == arm.suite)
            & (frame["lang"] == arm.lang)
            & (frame["condition"] == arm.condition)
        ]

    def records(self, keys: Sequence[AttemptKey]) -> dict[AttemptKey, Attempt]:
        """Return complete records by attempt key, read in one pass over the log."""
        wanted = set(keys)
        return {attempt.key: attempt for attempt in self.scored.log.attempts if attempt.key in wanted}

    def all_records(self) -> Iterator[Attempt]:
        """Yield every complete record, one in memory at a time."""
        return self.scored.log.attempts

    @property
    def incomplete(self) -> str | None:
        """Return what is missing from the run as one line, or ``None``."""
        errors = int((self.attempts["status"] == "transport_error").sum())
        parts = []
        if self.scored.missing:
            parts.append(
                f"{self.scored.missing} of "
                f"{plural(len(self.scored.planned), 'planned attempt was', 'planned attempts were')} not made"
            )
        if errors:
            parts.append(f"{plural(errors, 'attempt')} ended in transport errors")
        if self.scored.judge_errors:
            parts.append(f"{plural(len(self.scored.judge_errors), 'attempt')} could not be judged")
        if self.scored.problems:
            parts.append(f"{plural(len(self.scored.problems), 'line')} of the log could not be used")
        return "INCOMPLETE: " + "; ".join(parts) if parts else None


def attempt_key(row: pd.Series[Any]) -> AttemptKey:
    """Return the key of the record behind a row of any frame."""
    return AttemptKey.of({name: row[name] for name in AttemptKey._fields})


def player_names(keys: Sequence[PlayerKey]) -> dict[PlayerKey, str]:
    """Return for each player the shortest name that tells it from the others."""
    names = {}
    for key in keys:
        name = key.model
        if sum(other.model == key.model for other in keys) > 1:
            name = f"{key.provider}/{key.model}"
        if sum(other[:2] == key[:2] for other in keys) > 1:
            name = f"{name} ({key.protocol})"
        names[key] = name
    return names
