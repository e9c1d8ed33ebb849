"""The other half of the proof: correct behaviour, told and written differently, must not be reported.

The *false-alarm rate* is the share of harmless variations about which anything is reported. A spelling that
only a declared normaliser takes for the same is judged twice: after normalisation nothing may be reported;
the strict figure reports ``argument_mismatch``, and nothing else, by design.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from toolbench.domain.case import Case
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.judging.score import Verdict, score
from toolbench.selfcheck import vary_answers, vary_calls, vary_values
from toolbench.selfcheck.breaking import Workpiece
from toolbench.selfcheck.donors import Donors
from toolbench.selfcheck.oracle import Performance, perform
from toolbench.selfcheck.rehearse import AUTO, rehearse
from toolbench.selfcheck.varying import Variation, Varier

VARIERS: Sequence[Varier] = (
    lambda work: iter([Variation("as_it_is", work.performance.script, "")]),
    vary_calls.spelled,
    vary_calls.accompanied,
    vary_calls.ordered,
    vary_calls.free_choices,
    vary_calls.asked_first,
    vary_calls.other_calls,
    vary_calls.lists_in_other_order,
    vary_values.normalised,
    vary_answers.laid_out,
    vary_answers.framed,
    vary_answers.worded,
)
BY_DESIGN = frozenset({"argument_mismatch"})
"""What the strict figure says about a spelling that only a normaliser takes for the same."""


@dataclass(frozen=True)
class Alarm:
    """Something that was reported about a harmless variation."""

    suite: str
    lang: str
    case: str
    kind: str
    what: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.suite}/{self.lang}/{self.case}: {self.kind} ({self.what}): {'; '.join(self.reasons)}"


@dataclass
class FalseAlarms:
    """How many variations there were, of which kinds, and what was reported.

    ``strict_by_design`` counts those that strict equality alone tells from the expected value.
    """

    made: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    strict_by_design: int = 0
    alarms: list[Alarm] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        """Share of variations with a false alarm; ``None`` without any variation."""
        return len(self.alarms) / self.made if self.made else None


def variations(suite: Suite, case: Case) -> Iterator[Variation]:
    """Yield every applicable harmless variation of a case, the unchanged performance first."""
    work = Workpiece(perform(suite, case), Donors(suite.keep([case]), case.lang))
    return chain.from_iterable(varier(work) for varier in VARIERS)


def false_alarms(suites: Iterable[tuple[Suite, Sequence[Case]]]) -> FalseAlarms:
    """Vary the given cases of each suite in every harmless way and see what is reported."""
    total = FalseAlarms()
    for suite, cases in suites:
        for case in cases:
            gold = perform(suite, case)
            for variation in variations(suite, case):
                _count(total, gold, variation)
    return total


def _count(total: FalseAlarms, gold: Performance, variation: Variation) -> None:
    suite, case = gold.suite, gold.case
    attempt = rehearse(suite, case, variation.script)
    if not _same_results(gold, attempt):
        return
    verdict = _verdict(suite, case, attempt)
    total.made += 1
    total.kinds[variation.kind] += 1
    reasons = [f"{finding.code}: {finding.reason}" for finding in verdict.findings]
    if variation.strict and variation.relaxed is not None:
        total.strict_by_design += set(verdict.codes) == BY_DESIGN
        unexpected = [f.reason for f in verdict.findings if f.code not in BY_DESIGN]
        moved = [call.tool for call in verdict.calls if call.normalized is False]
        relaxed = _verdict(suite, variation.relaxed, attempt)
        reasons = [*unexpected, *(f"normalised: {tool} differs" for tool in moved)]
        reasons += [f"normalised: {finding.code}: {finding.reason}" for finding in relaxed.findings]
    if reasons:
        total.alarms.append(
            Alarm(suite.name, case.lang, case.id, variation.kind, variation.what, tuple(reasons))
        )


def _same_results(gold: Performance, attempt: Attempt) -> bool:
    """Whether every call was answered as in the performance: else the answer is no longer right."""
    expected = Counter(record.result.content for record in gold.scenes[-1].results if record.result)
    made = Counter(record.result.content for record in attempt.calls if record.result)
    return expected == made


def _verdict(suite: Suite, case: Case, attempt: Attempt) -> Verdict:
    verdict = score(attempt, suite.keep([case]), AUTO)
    assert verdict is not None, "a rehearsal has no transport that could fail"
    return verdict
