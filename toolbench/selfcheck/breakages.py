"""The mutation engine of the judge: correct behaviour, broken in every applicable way, must be reported.

The *mutation score* is the share of breakages that the judge reports with all codes they must have. What it
misses are *survivors*: each names the case, the mistake and what was reported instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from toolbench.domain.case import Case
from toolbench.domain.suite import Suite
from toolbench.selfcheck import (
    break_answers,
    break_arguments,
    break_decisions,
    break_order,
    break_outcome,
    break_policy,
)
from toolbench.selfcheck.breaking import Breakage, Workpiece
from toolbench.selfcheck.donors import Donors
from toolbench.selfcheck.oracle import perform
from toolbench.selfcheck.rehearse import judge

BREAKERS: Sequence[Callable[[Workpiece], Iterator[Breakage]]] = (
    break_arguments.syntax,
    break_arguments.structure,
    break_arguments.values,
    break_decisions.instead_of_a_call,
    break_decisions.leaked,
    break_decisions.asked_and_called,
    break_decisions.instead_of_a_text,
    break_decisions.selection,
    break_decisions.parallel,
    break_order.exchanged_steps,
    break_order.needed_steps,
    break_order.transitions,
    break_order.repetitions,
    break_order.after_errors,
    break_order.after_results,
    break_order.wrong_sources,
    break_policy.unconfirmed,
    break_policy.not_permitted,
    break_policy.done_already,
    break_policy.foreign,
    break_policy.above_limits,
    break_outcome.forbidden_calls,
    break_outcome.end_state,
    break_outcome.other_fields,
    break_answers.missing_pieces,
    break_answers.changed_facts,
    break_answers.invented,
    break_answers.hidden_failures,
    break_answers.claims,
    break_answers.broken_off,
    break_answers.irrelevant,
)


@dataclass(frozen=True)
class Survivor:
    """A breakage that was not reported as it must be."""

    suite: str
    lang: str
    case: str
    kind: str
    what: str
    expected: tuple[str, ...]
    reported: tuple[str, ...]

    def __str__(self) -> str:
        expected, reported = ", ".join(self.expected), ", ".join(self.reported) or "nothing"
        return (
            f"{self.suite}/{self.lang}/{self.case}: {self.kind} ({self.what}): {expected} due, got {reported}"
        )


@dataclass
class MutationScore:
    """How many breakages there were, of which kinds, with which codes due, and which survived."""

    made: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    survivors: list[Survivor] = field(default_factory=list)

    @property
    def score(self) -> float | None:
        """Share of breakages reported with the right codes; ``None`` without any."""
        return 1 - len(self.survivors) / self.made if self.made else None


def breakages(suite: Suite, case: Case, donors: Donors | None = None) -> Iterator[Breakage]:
    """Yield every applicable breakage of a case."""
    work = Workpiece(perform(suite, case), donors or Donors(suite, case.lang))
    return chain.from_iterable(breaker(work) for breaker in BREAKERS)


def mutation_score(suites: Iterable[tuple[Suite, Sequence[Case]]]) -> MutationScore:
    """Break the given cases of each suite in every applicable way and see what is reported."""
    total = MutationScore()
    for suite, cases in suites:
        donors = {lang: Donors(suite, lang) for lang in suite.langs}
        for case in cases:
            for breakage in breakages(suite, case, donors[case.lang]):
                _count(total, suite, case, breakage)
    return total


def _count(total: MutationScore, suite: Suite, case: Case, breakage: Breakage) -> None:
    reported = judge(suite, case, breakage.script).codes
    total.made += 1
    total.kinds[breakage.kind] += 1
    total.codes.update(breakage.codes)
    if not breakage.codes <= set(reported):
        total.survivors.append(
            Survivor(
                suite.name,
                case.lang,
                case.id,
                breakage.kind,
                breakage.what,
                tuple(sorted(breakage.codes)),
                reported,
            )
        )
