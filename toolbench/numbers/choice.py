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

OBJECTIVES: Mapping[str, int] = {"pass_rate": 1, "unsafe_call_rate": -1, "cost_per_completed": -1}
"""Metric → 1 where more is better, -1 where less is."""


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
    rows["dominated_by"] = [_dominators(rows, index) for index in range(len(rows))]
    known = _candidates(rows)
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


def _candidates(rows: pd.DataFrame) -> pd.Series[bool]:
    return (rows["gates"] != "fail") & rows[list(OBJECTIVES)].notna().all(axis=1)


def _dominators(rows: pd.DataFrame, index: int) -> tuple[str, ...]:
    row = rows.iloc[index]
    arm = ["suite", "lang", "condition", "currency"]
    rivals = rows[_candidates(rows) & (rows[arm] == row[arm]).all(axis=1) & (rows.index != index)]
    objectives = list(OBJECTIVES)
    gain = rivals[objectives].to_numpy(dtype=float) - row[objectives].to_numpy(dtype=float)
    gain *= np.array(list(OBJECTIVES.values()))
    better = (gain >= 0).all(axis=1) & (gain > 0).any(axis=1)
    names = rivals[list(PlayerKey._fields)].itertuples(index=False, name=None)
    found = tuple("/".join(name) for name, ahead in zip(names, better, strict=True) if ahead)
    return found if bool(_candidates(rows).iloc[index]) else ()
