"""The usual plots of what :func:`toolbench.load` and :func:`toolbench.compare` return, each one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.errors import InputError
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.frames import require
from toolbench.numbers.rows import ATTEMPT
from toolbench.numbers.tables import groups
from toolbench.showing import plots
from toolbench.showing.format import NAMES
from toolbench.showing.view import player_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACE = ["suite", "lang", "condition"]


def heatmap(frame: pd.DataFrame) -> Figure:
    """Case × player: passed attempts of all scored ones.

    Raises
    ------
    InputError
        When the frame lacks columns or holds several suites, languages, conditions or runs.
    """
    require(frame, ATTEMPT, "plot.heatmap")
    for column in [*PLACE, *(["run_id"] if "run_id" in frame else [])]:
        values = list(dict.fromkeys(frame[column]))
        if len(values) != 1:
            raise InputError(f"plot.heatmap: choose one {column} of {', '.join(values) or 'none'}")
    keys = [PlayerKey(*map(str, key)) for key, _ in groups(frame, list(PlayerKey._fields))]
    names = player_names(keys)
    players = frame[list(PlayerKey._fields)].itertuples(index=False, name=None)
    return plots.heatmap(
        frame.assign(player=[names[PlayerKey(*key)] for key in players]), list(names.values())
    )


def forest(comparison: Comparison, metric: str | None = None) -> Figure:
    """One line a pair of sides: the difference and its 95 % interval; a cross where nothing can be told."""
    return plots.forest(_labelled(comparison, metric), _title(comparison, metric))


def slopes(comparison: Comparison, metric: str | None = None) -> Figure:
    """One line a pair of sides between the figure on the left and the one on the right."""
    named = _labelled(comparison, metric).rename(columns={"label": "player"})
    return plots.dumbbell(named, "left", "right", _title(comparison, metric))


def _title(comparison: Comparison, metric: str | None) -> str:
    name = metric or comparison.primary
    return NAMES.get(name, name)


def _labelled(comparison: Comparison, metric: str | None) -> pd.DataFrame:
    """Return the rows of a metric (of the deciding one by default) with a label of what tells them apart."""
    name = metric or comparison.primary
    rows = comparison.table[comparison.table["metric"] == name]
    if rows.empty:
        known = ", ".join(dict.fromkeys(comparison.table["metric"]))
        raise InputError(f"plot: {name!r} was not compared; there are: {known}")
    columns = [*comparison.shared, "before", "after"]
    apart = [column for column in columns if rows[column].nunique() > 1] or ["before", "after"]
    return rows.assign(label=[" · ".join(map(str, row)) for row in rows[apart].itertuples(index=False)])
