"""What a reader must know before trusting a table: too few cases or repetitions, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.domain.plurals import plural
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.rows import GROUP

FEW_REPETITIONS = 3
FEW_CASES = 20
INCOMPLETE_ABOVE = 0.05
"""Share of planned attempts without a score above which a model is marked incomplete."""


def cautions(scored: ScoredRun) -> list[str]:
    """Return one line per thing that limits what the figures of a run can say."""
    return [
        *small_sample(scored.attempts),
        *incomplete(scored.attempts, scored.planned),
        *scored.reused,
    ]


def small_sample(attempts: pd.DataFrame) -> list[str]:
    """Return a line for every suite, language and condition with under 20 cases or 3 repetitions."""
    lines = []
    for (suite, lang, condition), group in attempts.groupby(["suite", "lang", "condition"], sort=True):
        players = group.groupby(list(PlayerKey._fields))
        cases = int(players["case_id"].nunique().max())
        repetitions = int(group.groupby([*GROUP, "case_id"]).size().max())
        found = []
        if cases < FEW_CASES:
            found.append(f"only {plural(cases, 'case')} (below {FEW_CASES})")
        if repetitions < FEW_REPETITIONS:
            found.append(f"only {plural(repetitions, 'repetition')} (below {FEW_REPETITIONS})")
        if found:
            lines.append(f"small sample: {suite}/{lang}/{condition} has {' and '.join(found)}")
    return lines


def incomplete(attempts: pd.DataFrame, planned: pd.DataFrame) -> list[str]:
    """Return a line for every group with over 5 % of its planned attempts not scored."""
    return list(_incomplete(attempts, planned))


def _incomplete(attempts: pd.DataFrame, planned: pd.DataFrame) -> Iterator[str]:
    scored = attempts[attempts["scored"]].groupby(GROUP, sort=False).size()
    for key, size in planned.groupby(GROUP, sort=False).size().items():
        done = int(scored.get(key, 0))
        if size - done > INCOMPLETE_ABOVE * size:
            name = "/".join(key)  # type: ignore[arg-type]
            yield f"incomplete: {name} has {done} of {size} planned attempts scored"
