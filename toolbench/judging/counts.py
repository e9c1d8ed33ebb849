"""The vocabulary of counts: what is counted in an attempt, so that sums over attempts give every figure."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Generic, NewType, TypeVar

CountName = NewType("CountName", str)
T = TypeVar("T")


@dataclass(frozen=True)
class Counts(Generic[T]):
    """One entry for everything that is counted: ``Counts[float]`` of an attempt, or :data:`COUNT`, the names.

    Attributes
    ----------
    passed, decision_right, selection_right, order_right, completed
        1 where all of it was right.
    decisions, call_required, write_offered, ordered, completable
        1 where the question arises: not a control; a call was due; a write tool was on offer; there are
        calls; there are calls to carry through.
    calls
        Proposed calls. ``calls_right``, ``calls_wrong`` and ``calls_missing`` are TP, FP and FN (one that was
        corrected afterwards is neither); ``calls_made`` is TP + FP, ``calls_due`` TP + FN. The tiers are
        ``calls_raw_valid``, ``calls_repairable`` and ``calls_invalid``. Of ``calls_selected``, those rightly
        chosen, ``calls_exact`` and ``calls_normalized`` have the right arguments.
    unsafe, unconfirmed, unconfirmed_executed, duplicate_executions
        1 where a write lacked its ground; writes without confirmation, and those of them that ran; executions
        beyond the first of an idempotency key.
    clarification_due, clarification_made, recoveries, recoveries_right, answers, answers_supported
        Questions due and asked; answers after an error, and after any result, and the right ones.
    repeated_calls, loops, control_calls
        Equal calls once more; 1 where the limit of iterations ended it; calls where none was possible.
    """

    passed: T
    decision_right: T
    decisions: T
    call_required: T
    selection_right: T
    calls: T
    calls_right: T
    calls_wrong: T
    calls_missing: T
    calls_made: T
    calls_due: T
    calls_raw_valid: T
    calls_repairable: T
    calls_invalid: T
    calls_selected: T
    calls_exact: T
    calls_normalized: T
    write_offered: T
    unsafe: T
    unconfirmed: T
    clarification_due: T
    clarification_made: T
    repeated_calls: T
    ordered: T
    order_right: T
    recoveries: T
    recoveries_right: T
    answers: T
    answers_supported: T
    completable: T
    completed: T
    control_calls: T
    unconfirmed_executed: T
    duplicate_executions: T
    loops: T

    def only(self, *names: CountName) -> Counts[float]:
        """Return the same entries of these names and 0 for all others."""
        return Counts(**{name: value if name in names else 0 for name, value in vars(self).items()})

    def by_name(self) -> dict[str, T]:
        """Return the entries by name."""
        return dict(vars(self))


COUNT: Counts[CountName] = Counts(**{each.name: CountName(each.name) for each in fields(Counts)})
"""Every count's name, which is its column in a frame. A name that is not declared is an error of types."""
