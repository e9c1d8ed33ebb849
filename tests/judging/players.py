"""A faultless player for any suite: gold calls step by step, then a sentence about what they answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.judging.told import Told
from tests.judging.wordings import DETAILS, TOPICS
from toolbench.domain.case import Case, Expectation
from toolbench.domain.condition import Condition
from toolbench.domain.suite import Suite, find_suite
from toolbench.judging.score import Verdict, score
from toolbench.running.executor import Executor
from toolbench.selfcheck.rehearse import AUTO, Move, Proposal, rehearse

ROOT = Path(__file__).parents[2]
WORDINGS = (0, 1, 2)

Wordings = Mapping[str, Mapping[str, Sequence[str]]]
"""language -> topic (``tool.outcome``, a class, or an argument to ask for) -> several ways to say it."""
Call = tuple[str, Mapping[str, Any]]


def shipped(name: str) -> tuple[Player, Sequence[Mapping[str, Any]]]:
    """Return the player of a shipped suite, and the situations that its verdicts are asserted in."""
    data = json.loads((Path(__file__).parent / f"verdicts/{name}.json").read_text())
    topic, details = TOPICS.get(name, lambda case, told: None), DETAILS.get(name, lambda case, told: {})
    return Player(find_suite(ROOT, name), data["wordings"], topic, details), data["situations"]


def judged(suite: Suite, case: Case, script: Sequence[Move], condition: Condition = AUTO) -> Verdict:
    """Play a case by a script and judge it; the conversation must come to the end of the script."""
    attempt = rehearse(suite, case, script, condition)
    assert len(attempt.turns) == len(script), f"{len(attempt.turns)} of {len(script)} moves were asked for"
    verdict = score(attempt, suite, condition)
    assert verdict is not None
    return verdict


def found(verdict: Verdict) -> list[tuple[str, str]]:
    """Return findings in a form that a failing test shows well."""
    return [(finding.code, finding.reason) for finding in verdict.findings]


@dataclass(frozen=True)
class Player:
    """Plays cases of one suite without a fault.

    ``special`` may name another topic than the outcome's own; ``details`` adds fields for the sentences
    (its second argument is ``None`` where nothing was called).
    """

    suite: Suite
    wordings: Wordings
    special: Callable[[Case, Told], str | None]
    details: Callable[[Case, Told | None], Mapping[str, Any]]

    def script(self, case: Case, wording: int) -> list[Move]:
        """Return a faultless conversation."""
        return list(self._moves(case, wording))

    def _moves(self, case: Case, wording: int) -> Iterator[Move]:
        executor = Executor(self.suite.contract, self.suite.executor, case.lang)
        frozen = [
            (call["name"], call["arguments"]) for m in case.messages for call in m.get("tool_calls", ())
        ]
        told = [self._told(executor, call) for call in frozen]
        for index, expect in enumerate((case.expect, *(turn.expect for turn in case.turns))):
            calls = [(call.tool, call.arguments) for call in expect.calls]
            for together in steps(self.suite, expect, calls):
                yield Move(calls=tuple(Proposal(*call) for call in together))
            told += [self._told(executor, call) for call in calls]
            yield Move(self._sentence(case, expect, told, index, wording))
            told = []

    def _told(self, executor: Executor, call: Call) -> Told:
        return Told(*call, executor.answer(*call)[0])

    def _sentence(
        self, case: Case, expect: Expectation, told: Sequence[Told], index: int, wording: int
    ) -> str:
        spoken = self.wordings[case.lang]
        if not told:
            own = f"{case.klass}.{index}" if index else case.klass
            topics = [own] if own in spoken else expect.missing_fields
            return " ".join(spoken[topic][wording].format(**self.details(case, None)) for topic in topics)
        # The steps of a chain are means; only what it came to is told.
        chain = expect.order == "strict" or len(case.messages) > 3
        return " ".join(
            spoken[self.special(case, one) or one.topic][wording].format(
                **{**one.arguments, **(one.result.value or {}), **self.details(case, one)}
            )
            for one in (told[-1:] if chain else told)
        )


def steps(suite: Suite, expect: Expectation, calls: Sequence[Call]) -> list[list[Call]]:
    """Return calls as they are made: one a turn in a chain or where the policy says so, else all at once."""
    one_by_one = expect.order == "strict" or expect.parallel == "forbidden"
    if one_by_one or (expect.parallel is None and suite.rules.parallel == "forbidden"):
        return [[call] for call in calls]
    return [list(calls)] if calls else []


SHIPPED = {name: shipped(name) for name in ("course", "delivery", "refund", "reschedule", "tickets")}
