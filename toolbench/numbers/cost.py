"""What an attempt cost, from the tokens its replies report and the dated price of its model.

One formula serves the budget of a running run and every later figure: :func:`toolbench.domain.price.cost`.
Cached tokens are part of the input and reasoning tokens part of the output, so both are counted once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolbench.domain.price import cost
from toolbench.domain.record import Attempt

SILENT_FAULTS = frozenset({"timeout", "connection_lost", "not_json"})
"""Transport codes after which the provider may have billed a reply that reported no usage."""


def attempt_cost(attempt: Attempt, price: Mapping[str, Any] | None) -> float | None:
    """Return the spend of one attempt in the price's currency.

    Every reply counts: tool iterations, repairs, clarifications, and the replies before a failure.

    Returns
    -------
    float or None
        ``None`` when the price, or the token count of one reply, is unknown; 0 only for a priced model
        that never replied.
    """
    if price is None or "input" not in price or "output" not in price:
        return None
    spent = [cost(price, turn.decision.usage) for turn in attempt.turns]
    return None if any(value is None for value in spent) else float(sum(value or 0.0 for value in spent))


def failed_tries(attempt: Attempt) -> tuple[int, int]:
    """Return how many requests failed, and how many of these may have been billed without our knowing."""
    tries = [*attempt.retries, *(entry for turn in attempt.turns for entry in turn.retries)]
    return len(tries), sum(entry.get("code") in SILENT_FAULTS for entry in tries)
