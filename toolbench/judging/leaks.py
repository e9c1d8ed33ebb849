"""Calls that were written instead of made."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from toolbench.domain.decision import ModelDecision
from toolbench.judging.reading.markup import CALL, markup
from toolbench.judging.reading.prepare import LIMIT, prepared

KEPT = 1024
"""Texts kept in memory: the checks of one attempt ask several times."""


def leaked(decision: ModelDecision, tools: Collection[str]) -> bool:
    """Whether a decision's text holds a call: by the adapter's account, or by its shape.

    Parameters
    ----------
    decision
        What the model decided.
    tools
        Names on offer; one of them in front of a bracket is a call.
    """
    if "leaked_tool_call" in decision.warnings:
        return True
    if decision.kind != "text" and not decision.text:
        return False
    return _holds_call(decision.text[: 4 * LIMIT], tuple(tools))


@lru_cache(maxsize=KEPT)
def _holds_call(text: str, tools: tuple[str, ...]) -> bool:
    return any(kind == CALL for kind, _, _ in markup(prepared(text)[0], tools))
