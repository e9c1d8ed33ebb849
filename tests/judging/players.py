"""A faultless player for any suite: gold calls step by step, then a sentence about what they answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolbench.adapters.chat_completions import ChatCompletions
from toolbench.domain.case import Case, Expectation
from toolbench.domain.config import Condition, ModelConfig
from toolbench.domain.keys import AttemptKey
from toolbench.domain.record import ToolResult
from toolbench.domain.suite import Suite, find_suite
from toolbench.judging.order import is_empty
from toolbench.judging.score import Verdict, score
from toolbench.running.baselines import reply
from toolbench.running.conversation import Stage
from toolbench.running.executor import Executor
from toolbench.running.play import play
from toolbench.running.transport import Response

ROOT = Path(__file__).parents[2]
CONDITION = Condition(name="automatic")
MODEL = ModelConfig("none", "none", "chat_completions", "http://127.0.0.1")
LANGS = ("ru", "en")
WORDINGS = (0, 1, 2)

Wordings = Mapping[str, Mapping[str, Sequence[str]]]
"""language -> topic (``tool.outcome``, a class, or an argument to ask for) -> several ways to say it."""
Call = tuple[str, Mapping[str, Any]]


def suite_named(name: str) -> Suite:
    return find_suite(ROOT, name)


def judged(
    suite: Suite, case: Case, replies: Sequence[Mapping[str, Any]], condition: Condition = CONDITION
) -> Verdict:
    """Play a case with given response bodies and judge it; all of them must be asked for."""
    waiting = iter(replies)

    async def send(request: object) -> Response:
        body = next(waiting)
        return Response(200, {}, json.dumps(body, ensure_ascii=False), body, 1.0)

    stage = Stage(suite, case, condition, MODEL, ChatCompletions())
    planned = AttemptKey(
        "none", "none", "chat_completions", suite.name, case.lang, condition.name, case.id, 0
    )
    verdict = score(asyncio.run(play(stage, planned, "run", {}, send)), suite, condition)
    assert verdict is not None
    assert next(waiting, None) is None
    return verdict


def found(verdict: Verdict) -> list[tuple[str, str]]:
    """Return findings in a form that a failing test shows well."""
    return [(finding.code, finding.reason) for finding in verdict.findings]


@dataclass(frozen=True)
class Told:
    """A call and its result, as the player saw it."""

    tool: str
    arguments: Mapping[str, Any]
    result: ToolResult

    @property
    def topic(self) -> str:
        outcome = self.result.code or ("empty" if is_empty(self.result.value) else "ok")
        return f"{self.tool}.{outcome}"


@dataclass(frozen=True)
class Player:
    """Plays cases of one suite without a fault.

    ``special`` may name another topic than the outcome's own; ``details`` adds fields for the sentences
    (its second argument is ``None`` where nothing was called).
    """

    suite: Suite
    wordings: Wordings
    special: Callable[[Case, Told], str | None] = lambda case, told: None
    details: Callable[[Case, Told | None], Mapping[str, Any]] = lambda case, told: {}

    def replies(self, case: Case, wording: int) -> list[Mapping[str, Any]]:
        """Return the bodies of a faultless conversation, one per request."""
        return list(self._replies(case, wording))

    def _replies(self, case: Case, wording: int) -> Iterator[Mapping[str, Any]]:
        executor = Executor(self.suite.contract, self.suite.executor, case.lang)
        frozen = [
            (call["name"], call["arguments"]) for m in case.messages for call in m.get("tool_calls", ())
        ]
        told = [self._told(executor, call) for call in frozen]
        for index, expect in enumerate((case.expect, *(turn.expect for turn in case.turns))):
            calls = [(call.tool, call.arguments) for call in expect.calls]
            for together in steps(self.suite, expect, calls):
                yield reply(calls=together)
            told += [self._told(executor, call) for call in calls]
            yield reply(text=self._sentence(case, expect, told, index, wording))
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
