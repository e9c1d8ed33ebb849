"""Wordings that have been tried: what was changed, what came of it, and the texts to go on from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from toolbench.domain.log import LOG_NAME, read_header
from toolbench.domain.plurals import plural
from toolbench.errors import InputError, ToolbenchError
from toolbench.numbers.flips import changes, decided
from toolbench.numbers.tables import records
from toolbench.showing import html
from toolbench.showing.comparison import cells
from toolbench.showing.html import Page
from toolbench.showing.view import RunView
from toolbench.workbench.choosing import worded_pairs
from toolbench.workbench.comparing import arms, of_contender, paired, previous_runs
from toolbench.workbench.edits import Place, played

COLUMNS = [
    "run",
    "suite",
    "wording",
    "what was changed",
    "player",
    "passed",
    "points [95 %]",
    "p",
    "decided otherwise",
]


@dataclass(frozen=True)
class Trial:
    """An edited wording that was played beside the one it was made from.

    ``texts`` are all the texts it gave a model, ``changed`` the places in which these are others.
    """

    run: Path
    suite: str
    lang: str
    before: str
    after: str
    texts: Mapping[Place, str]
    changed: tuple[Place, ...]

    def __str__(self) -> str:
        named = ", ".join(map(str, self.changed)) or "nothing"
        return f"{self.run.name} · {self.suite} {self.lang} · {self.after}: {named}"


def trials(runs: Path) -> list[Trial]:
    """Return every wording tried in a folder of runs, newest first; only headers are read."""
    return [trial for folder in previous_runs(runs) for trial in _of(folder)]


def _of(folder: Path) -> Iterator[Trial]:
    try:
        header = read_header(folder)
        suites, conditions = header.load_suites(), header.load_conditions()
        for before, after in worded_pairs(list(conditions.values())):
            for suite in suites.values():
                for lang in suite.langs:
                    old, new = (played(suite, lang, conditions[name]) for name in (before, after))
                    changed = tuple(place for place in new if new[place] != old[place])
                    yield Trial(folder, suite.name, lang, before, after, new, changed)
    except ToolbenchError:
        # A folder that holds something else has no wordings to tell of.
        return


class Effects:
    """What came of each trial; a run is judged once as long as its log does not grow."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, str, str, str, int], list[dict[str, object]]] = {}

    def of(self, trial: Trial) -> list[dict[str, object]]:
        """Return one row a player: ``player, passed, points, p, decided otherwise``."""
        key = trial.run, trial.suite, trial.lang, trial.after, (trial.run / LOG_NAME).stat().st_size
        if key not in self._known:
            self._known[key] = list(_effects(trial))
        return self._known[key]


def _effects(trial: Trial) -> Iterator[dict[str, object]]:
    view = RunView(trial.run)
    sides = {
        (arm.player, arm.condition): arm
        for arm in arms(view)
        if (arm.suite, arm.lang) == (trial.suite, trial.lang)
    }
    for player in view.players:
        ours, theirs = sides.get((player, trial.before)), sides.get((player, trial.after))
        if ours is None or theirs is None:
            continue
        try:
            table = paired((view, ours), (view, theirs)).table
        except InputError as fault:
            yield {"player": player, "passed": str(fault)}
            continue
        row = next(row for row in records(table) if row["metric"] == "pass_rate")
        shown = cells(row)
        moved = changes(*(decided(of_contender(view.attempts, arm)) for arm in (ours, theirs)))
        yield {
            "player": player,
            "passed": f"{shown['before']} → {shown['after']}",
            "points [95 %]": shown["difference [95 %]"],
            "p": shown["p"],
            "decided otherwise": f"{moved['changed']}/{moved['cases']}",
        }


def page(found: list[Trial], effects: Effects) -> Page:
    """Return the wordings tried and what came of each, newest first."""
    rows = [
        {
            "run": trial.run.name,
            "suite": f"{trial.suite} · {trial.lang}",
            "wording": trial.after,
            "what was changed": ", ".join(map(str, trial.changed)) or "nothing",
            **effect,
        }
        for trial in found
        for effect in effects.of(trial) or [{"player": "no attempt yet"}]
    ]
    if not rows:
        return html.paragraph("No edited wording has been run yet.", "note")
    shown = pd.DataFrame(rows).reindex(columns=COLUMNS).astype(object)
    note = (
        f"{plural(len(found), 'wording')} tried. The more are tried, the more often one looks better by "
        "chance: believe the best of them only after a run on cases that chose none of them."
    )
    return html.table(shown, "Wordings tried", numbers=COLUMNS[5:]) + html.paragraph(note, "note")
