"""The figures of rehearsed attempts, computed where the figures of a run are computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from toolbench.domain.condition import Condition
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.judging.score import Verdict
from toolbench.numbers.definitions import RATES, TOTALS
from toolbench.numbers.metrics import metrics
from toolbench.numbers.rows import ATTEMPT
from toolbench.numbers.scorer import Scorer, Table

Played = tuple[Suite, Condition, Attempt]


def judged(played: Iterable[Played]) -> tuple[pd.DataFrame, list[Verdict | None]]:
    """Return one row per attempt, with the columns of :func:`toolbench.load`, and the verdicts."""
    table, verdicts = Table(ATTEMPT), list[Verdict | None]()
    for suite, condition, attempt in played:
        row, verdict = Scorer({suite.name: suite}, {condition.name: condition}, {}).judged(attempt)
        table.add(row)
        verdicts.append(verdict)
    return table.frame(), verdicts


def imperfect(frame: pd.DataFrame) -> Iterator[str]:
    """Yield every figure that is not perfect: a rate that is neither 1 nor, where less is better, 0; a total
    that is not 0. A rate without a denominator says nothing and is passed over.
    """
    figures = metrics(frame)
    best = {rate.name: 1.0 if rate.good == "high" else 0.0 for rate in RATES}
    best |= {total.name: 0.0 for total in TOTALS}
    known = figures[figures["metric"].isin(best) & figures["value"].notna()]
    for row in known.to_dict("records"):
        if row["value"] != best[row["metric"]]:
            arm = f"{row['suite']}/{row['lang']}/{row['condition']}"
            counts = f"{row['numerator']:g} of {row['denominator']:g}"
            yield f"{arm}: {row['metric']} is {row['value']:g} ({counts})"
