"""What an attempt cost, from the tokens its replies report and the dated price of its model.

One formula serves the budget of a running run and every later figure: :func:`toolbench.domain.price.cost`.
Where no price is configured, what a router says it has charged is the cost.
Cached tokens are part of the input and reasoning tokens part of the output, so both are counted once.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from toolbench.domain.price import Tariff
from toolbench.domain.record import Attempt

SILENT_FAULTS = frozenset({"timeout", "connection_lost", "not_json"})
"""Transport codes after which the provider may have billed a reply that reported no usage."""


def attempt_cost(attempt: Attempt, tariff: Tariff) -> float | None:
    """Return the spend of one attempt in the tariff's currency.

    Every reply counts: tool iterations, repairs, clarifications, and the replies before a failure.

    Returns
    -------
    float or None
        ``None`` when the price, or the token count of one reply, is unknown; 0 only for a priced model
        that never replied.
    """
    price = tariff.price
    if not attempt.turns if price is None else "input" not in price or "output" not in price:
        return None
    spent = [tariff.cost(turn.decision.usage, turn.in_batch) for turn in attempt.turns]
    return None if any(value is None for value in spent) else float(sum(value or 0.0 for value in spent))


def failed_tries(attempt: Attempt) -> tuple[int, int]:
    """Return how many requests failed, and how many of these may have been billed without our knowing."""
    tries = [*attempt.retries, *(entry for turn in attempt.turns for entry in turn.retries)]
    return len(tries), sum(entry.get("code") in SILENT_FAULTS for entry in tries)


def way_of(attempts: Sequence[Attempt]) -> str | None:
    """Return ``batch`` or ``batch+online`` where replies came through a batch endpoint, else ``None``."""
    ways = {turn.in_batch for attempt in attempts for turn in attempt.turns}
    return {1: "batch", 2: "batch+online"}[len(ways)] if True in ways else None


def priced_by(table: str | None, via: str | None) -> str | None:
    """Return the name of a price table as it was charged: a batch has the same prices and pays a share."""
    return table if via is None or table is None else f"{table} via {via}"


def unlike_ways(left: pd.DataFrame, right: pd.DataFrame) -> str | None:
    """Return one line where two frames of attempts were asked in different ways, ``None`` where not.

    What a model answers is the same either way; how long it took and what it cost are not.
    """
    sides = [sorted(frame["via"].fillna("online").unique()) for frame in (left, right)]
    if sides[0] == sides[1]:
        return None
    ours, theirs = (" and ".join(side) for side in sides)
    return f"via: {ours} against {theirs}: a batch tells no latency, and costs a share of the price"


def unlike_money(left: pd.DataFrame, right: pd.DataFrame, same_player: bool) -> str | None:
    """Return why the costs of two frames of attempts cannot be compared, ``None`` when they can.

    Costs are in one currency, and those of one player at one price table: with another, a difference would
    be the price's and not the player's.
    """
    for column in ("currency", *(["price_table"] if same_player else [])):
        sides = [sorted(frame[column].dropna().unique()) for frame in (left, right)]
        if all(sides) and (sides[0] != sides[1] or len(sides[0]) > 1):
            ours, theirs = (", ".join(side) for side in sides)
            return f"{column.replace('_', ' ')}: {ours} against {theirs}"
    return None
