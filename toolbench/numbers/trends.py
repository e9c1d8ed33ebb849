"""Figures over time: the runs of a folder, one line a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from toolbench.domain.log import LOG_NAME
from toolbench.errors import InputError
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.rows import GROUP
from toolbench.numbers.tables import groups

SHOWN = ("pass_rate",)
MONEY = ("cost", "cost_per_completed")
COLUMNS = ["value", "ci_low", "ci_high", "cases", "clusters"]


def trends(folder: str | Path, metric: str | Sequence[str] = SHOWN) -> pd.DataFrame:
    """Return how metrics went from run to run.

    Parameters
    ----------
    folder
        Holds the folders of the runs.

    Returns
    -------
    DataFrame
        One row per run, group and metric, oldest first: ``run_id``, ``started_at``, the group columns,
        ``metric``, ``value``, ``ci_low``, ``ci_high``, ``cases``, ``clusters``.

    Raises
    ------
    InputError
        When the folder holds no run, no run has such a metric, or costs are at different prices.
    """
    wanted = [metric] if isinstance(metric, str) else list(metric)
    paths = sorted(path.parent for path in Path(folder).glob(f"*/{LOG_NAME}"))
    if not paths:
        raise InputError(f"{folder}: no run here (a run is a folder with {LOG_NAME})")
    table = pd.concat([_figures(load_run(path)) for path in paths], ignore_index=True)
    for name in wanted:
        if name not in set(table["metric"]):
            known = ", ".join(dict.fromkeys(table["metric"]))
            raise InputError(f"trends: no metric {name!r}; there are: {known}")
    kept = table[table["metric"].isin(wanted)]
    for key, rows in groups(kept[kept["metric"].isin(MONEY)].dropna(subset=["value"]), [*GROUP]):
        if rows["price_table"].nunique() > 1:
            tables = ", ".join(dict.fromkeys(rows["price_table"]))
            raise InputError(f"trends: {'/'.join(key)}: costs at different prices are no trend: {tables}")
    columns = ["run_id", "started_at", *GROUP, "metric", *COLUMNS]
    return kept[columns].sort_values(["started_at", "run_id"], kind="stable", ignore_index=True)


def _figures(scored: ScoredRun) -> pd.DataFrame:
    header = scored.log.header
    tables = scored.attempts.groupby(GROUP, sort=False)["price_table"].first().rename("price_table")
    return scored.figures.join(tables, on=GROUP).assign(run_id=header.run_id, started_at=header.started_at)
