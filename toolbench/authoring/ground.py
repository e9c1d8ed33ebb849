"""What a case is checked against, and what a model has been shown at each point of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolbench.authoring.grounding import Sources
from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case, Expectation
from toolbench.domain.contract import Contract
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import ToolResult
from toolbench.domain.rules import Rules
from toolbench.domain.tool_script import ToolScript
from toolbench.judging.order import is_empty
from toolbench.running.executor import Executor

NOTHING_FOUND = "not found"
"""What an empty result says without a word."""

Call = tuple[str, Mapping[str, JSON]]
"""Tool and arguments."""


@dataclass(frozen=True)
class Ground:
    """A suite without its cases."""

    contract: Contract
    executor: ToolScript
    rules: Rules

    def results(self, call: Call, lang: str) -> list[ToolResult] | None:
        """Return everything a call may be answered with; ``None`` for a tool that is not scripted."""
        tool, arguments = call
        rules = self.executor.of(tool)
        if not rules:
            return None
        executor = Executor(self.contract, self.executor, lang)
        made = ToolCall("lint", tool, json.dumps(dict(arguments)), dict(arguments))
        records = [executor.run(made, 0, (tool,)) for rule in rules for _ in rule.results]
        return [record.result for record in records if record.result is not None]

    def sources(self, case: Case, texts: Sequence[str], calls: Sequence[Call]) -> Sources:
        """Return what the model has read after these texts and calls."""
        results = [
            f"{result.content} {NOTHING_FOUND if not result.is_error and is_empty(result.value) else ''}"
            for call in calls
            for result in self.results(call, case.lang) or ()
        ]
        context = [json.dumps(dict(case.context), ensure_ascii=False)] if case.context else []
        return Sources((*texts, *context, *results))


@dataclass(frozen=True)
class Moment:
    """One expectation of a case, and what has been said and called before it.

    ``at`` is where it stands in the case, ``expect`` or ``turns[0].expect``; ``turn`` counts the later
    messages; ``texts`` holds what the user may answer as well.
    """

    at: str
    turn: int
    expect: Expectation
    texts: Sequence[str]
    made: Sequence[Call]

    @property
    def calls(self) -> list[Call]:
        """The expected calls."""
        return [(call.tool, call.arguments) for call in self.expect.calls]


def moments(case: Case) -> Iterator[Moment]:
    """Yield the expectation of the first answer and of the answer to every later user message."""
    texts = [str(message["content"]) for message in case.messages if message.get("content")]
    texts += [reply.text for reply in case.on_ask.values()]
    made = [(call["name"], call["arguments"]) for m in case.messages for call in m.get("tool_calls", ())]
    stage = Moment("expect", 0, case.expect, tuple(texts), tuple(made))
    yield stage
    for index, turn in enumerate(case.turns):
        texts += [turn.user, *(reply.text for reply in turn.on_ask.values())]
        made += stage.calls
        stage = Moment(f"turns[{index}].expect", index + 1, turn.expect, tuple(texts), tuple(made))
        yield stage
