"""Which records of a log count: the last of each attempt, and of attempts with the same replies the first.

Records are judged one by one, wherever they stand; only when all are together is this known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from toolbench.domain.keys import AttemptKey
from toolbench.domain.log import Place, RunLog
from toolbench.numbers.scorer import Scorer
from toolbench.numbers.shards import PLACE, Collected

KEY = list(AttemptKey._fields)


def places(attempts: pd.DataFrame) -> Iterator[tuple[AttemptKey, Place]]:
    """Yield attempt and place of every record."""
    rows = attempts[[*KEY, *PLACE]].itertuples(index=False, name=None)
    return ((AttemptKey(*row[:-2]), row[-2:]) for row in rows)


def samples(log: RunLog, scorer: Scorer, frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the frames of :data:`toolbench.numbers.shards.FRAMES`, one row an attempt and without places.

    An attempt made again has the verdict of its last record, and what the earlier ones cost. One whose
    replies were another's has none; ``scorer.replies`` then tells of it.
    """
    attempts, replies = frames["attempts"], frames["replies"]
    again = attempts[attempts.duplicated(KEY, keep=False)]
    met = attempts[_at(attempts).isin(_at(replies[replies.duplicated("reply", keep=False)]))]
    changed, last = dict(places(again)), dict(places(pd.concat([met, again])))
    rows = Collected(scorer)
    for attempt in log.chosen(last):
        first = scorer.replies.came_before(attempt)
        if first is not None or attempt.key in changed:
            changed[attempt.key] = last[attempt.key]
            rows.add(attempt, *last[attempt.key], first)
    if not changed:
        return {name: frame.drop(columns=PLACE) for name, frame in frames.items()}
    old = _at(pd.concat([again, pd.DataFrame(list(changed.values()), columns=PLACE)]))
    return {
        name: pd.concat([frame[~_at(frame).isin(old)], rows.frames()[name]])
        .sort_values(PLACE, kind="stable", ignore_index=True)
        .drop(columns=PLACE)
        for name, frame in frames.items()
    }


def _at(frame: pd.DataFrame) -> pd.Series[int]:
    """Return a number for each place; a line holds one record, or a few glued together."""
    return frame["line"] * 2**20 + frame["position"]
