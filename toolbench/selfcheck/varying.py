"""What all harmless variations share: the variation itself, and the ways to change everything alike.

A *variation* is a correct performance told or written differently. Nothing may be reported about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolbench.domain.case import Case
from toolbench.selfcheck.breaking import Workpiece
from toolbench.selfcheck.rehearse import Move, Proposal


@dataclass(frozen=True)
class Variation:
    """One harmless change.

    ``strict`` says that the change is visible to strict equality and only to it: the normalised figure must
    not move, the strict one reports ``argument_mismatch`` by design. ``relaxed`` is then the same case with
    ``match: normalized`` on every expected call, and about that nothing at all may be reported.
    """

    kind: str
    script: tuple[Move, ...]
    what: str
    strict: bool = False
    relaxed: Case | None = None


Varier = Callable[[Workpiece], Iterator[Variation]]


def every_call(work: Workpiece, change: Callable[[Proposal], Proposal]) -> tuple[Move, ...]:
    """Return the script with a change made to all calls."""
    return tuple(
        replace(move, calls=tuple(change(call) for call in move.calls)) for move in work.performance.script
    )


def every_call_turn(work: Workpiece, change: Mapping[str, Any]) -> tuple[Move, ...]:
    """Return the script with fields changed in all turns that have calls."""
    return tuple(replace(move, **change) if move.calls else move for move in work.performance.script)


def every_answer(work: Workpiece, tell: Callable[[Sequence[str], int], str]) -> tuple[Move, ...]:
    """Return the script with every final text told differently, from its sentences and the scene's index."""
    moves: list[Move] = []
    for scene in work.performance.scenes:
        last = scene.moves[-1]
        moves += scene.moves[:-1]
        text = tell([piece.text for piece in scene.answer], scene.index)
        moves.append(last if last.refusal is not None else replace(last, text=text))
    return tuple(moves)
