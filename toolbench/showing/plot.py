"""The usual plots of what :func:`toolbench.load` and :func:`toolbench.compare` return, each one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.errors import InputError
from toolbench.numbers.compare import PRIMARY, compare
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.frames import IDENTITY, require
from toolbench.numbers.rows import ATTEMPT
from toolbench.numbers.tables import groups
from toolbench.showing import plots
from toolbench.showing.format import NAMES
from toolbench.showing.view import player_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["forest", "heatmap", "slopes"]
APART = ["run_id", "suite", "lang", "condition"]
"""What a column of a heatmap is named by beside its player, where there are several."""


def __dir__() -> list[str]:
    return __all__


def heatmap(frame: pd.DataFrame) -> Figure:
    """Case × player: passed attempts of all scored ones.

    Several runs, suites, languages and conditions are columns of their own, never added up.

    Raises
    ------
    InputError
        When the frame lacks columns or has no rows.
    """
    require(frame, ATTEMPT, "plot.heatmap")
    if frame.empty:
        raise InputError("plot.heatmap: the frame has no attempts")
    apart = [name for name in APART if name in frame and frame[name].nunique() > 1]
    keys = [PlayerKey(*map(str, key)) for key, _ in groups(frame, list(PlayerKey._fields))]
    names = player_names(keys)
    rows = frame[[*PlayerKey._fields, *apart]].itertuples(index=False, name=None)
    labels = [" · ".join([names[PlayerKey(*row[:3])], *row[3:]]) for row in rows]
    return plots.heatmap(frame.assign(player=labels), list(dict.fromkeys(labels)))


def forest(compared: Comparison | pd.DataFrame, metric: str | None = None) -> Figure:
    """One line a pair of sides: the difference and its 95 % interval; a cross where nothing can be told.

    Parameters
    ----------
    compared
        What :func:`toolbench.compare` returns, or a frame of two runs, the earlier one on the left.

    Raises
    ------
    InputError
        For a frame of one run or more than two, or a metric that was not compared.
    """
    comparison = _compared(compared, metric, "forest")
    return plots.forest(_labelled(comparison, metric), _title(comparison, metric))


def slopes(compared: Comparison | pd.DataFrame, metric: str | None = None) -> Figure:
    """One line a pair of sides between the figure on the left and the one on the right; as :func:`forest`."""
    comparison = _compared(compared, metric, "slopes")
    named = _labelled(comparison, metric).rename(columns={"label": "player"})
    return plots.dumbbell(named, "left", "right", _title(comparison, metric))


def _compared(given: Comparison | pd.DataFrame, metric: str | None, who: str) -> Comparison:
    if isinstance(given, Comparison):
        return given
    require(given, [*IDENTITY, *ATTEMPT], f"plot.{who}")
    runs = [rows for _, rows in groups(given.sort_values("started_at", kind="stable"), ["run_id"])]
    if len(runs) != 2:
        raise InputError(f"plot.{who}: the frame holds {len(runs)} runs; give two, or what compare returns")
    return compare(runs[0], runs[1], (), [metric or PRIMARY])


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
