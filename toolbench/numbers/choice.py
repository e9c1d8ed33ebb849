"""What can be chosen, once the gates are passed: accuracy, risk and cost side by side. No winner is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.gates import evaluate
from toolbench.numbers.metrics import metrics
from toolbench.numbers.rows import GROUP
from toolbench.numbers.tables import Parts, records

OBJECTIVES: Mapping[str, int] = {"pass_rate": 1, "unsafe_call_rate": -1, "cost_per_completed": -1}
"""Metric → 1 where more is better, -1 where less is."""
RIVALS = ["suite", "lang", "condition", "currency"]
"""Rows that agree in these can be held against each other."""


def pareto(scored: ScoredRun, gates: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return one row per model, suite, language and condition.

    Parameters
    ----------
    gates
        Gates to apply instead of those of the run's header.

    Returns
    -------
    DataFrame
        The group columns, then ``gates`` (``pass``, ``fail``, ``not enough data``, ``none`` where no gate
        is for the row), ``pass_rate``, ``unsafe_call_rate``, ``cost_per_completed``, ``currency``,
        ``dominated_by`` (tuple of ``provider/model/protocol`` that are at least as good in all three
        figures and better in one, under the same suite, language and condition and with no failed gate)
        and ``efficient``: not dominated; missing for a failed gate, or where one of the figures is missing.
    """
    figures = metrics(scored.attempts, (), scored.planned, OBJECTIVES)
    table = figures[figures["metric"].isin(OBJECTIVES)].pivot(index=GROUP, columns="metric", values="value")
    order = list(dict.fromkeys(figures[GROUP].itertuples(index=False, name=None)))
    table = table.reindex(index=pd.MultiIndex.from_tuples(order, names=GROUP), columns=list(OBJECTIVES))
    outcomes = _outcomes(scored, gates)
    currencies = scored.attempts.groupby(GROUP, sort=False)["currency"].first()
    rows = table.reset_index()
    rows.insert(len(GROUP), "gates", [outcomes.get(key, "none") for key in order])
    rows["currency"] = [currencies.get(key) for key in order]
    known = (rows["gates"] != "fail") & rows[list(OBJECTIVES)].notna().all(axis=1)
    rivals = Parts(rows[known], RIVALS)
    rows["dominated_by"] = pd.Series(
        [
            _dominators(row, rivals.of(tuple(row[name] for name in RIVALS))) if ok else ()
            for row, ok in zip(records(rows), known, strict=True)
        ],
        dtype=object,
    )
    rows["efficient"] = pd.array(
        [not by if ok else None for by, ok in zip(rows["dominated_by"], known, strict=True)], dtype="boolean"
    )
    return rows


def _outcomes(scored: ScoredRun, gates: Mapping[str, Any] | None) -> dict[tuple[str, ...], str]:
    if gates is None and scored.log.header.gates is None:
        return {}
    found: dict[tuple[str, ...], str] = {}
    rank = ("pass", "not enough data", "fail")
    for result in evaluate(scored, gates).results:
        key = tuple(getattr(result, name) for name in GROUP)
        found[key] = max(found.get(key, "pass"), result.outcome, key=rank.index)
    return found


def _dominators(row: Mapping[str, Any], rivals: pd.DataFrame) -> tuple[str, ...]:
    """Return who of a row's rivals (itself among them) is ahead of it."""
    gain = rivals[list(OBJECTIVES)].to_numpy(dtype=float) - [row[name] for name in OBJECTIVES]
    gain *= np.array(list(OBJECTIVES.values()))
    better = (gain >= 0).all(axis=1) & (gain > 0).any(axis=1)
    names = rivals[list(PlayerKey._fields)].itertuples(index=False, name=None)
    return tuple("/".join(name) for name, ahead in zip(names, better, strict=True) if ahead)
