"""The conversation loop, free of input and output.

:func:`converse` is a generator: it yields what has to be done next and is sent the outcome. The async
runner, a replay from a log and a test with a list of responses all drive the same loop::

    loop = converse(...)
    step = next(loop)
    while True:
        outcome = reply_to(step)        # Ask -> response body, Act -> call records
        step = loop.send(outcome)       # StopIteration carries the Outcome
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.adapters import Messages, Offer, ProviderAdapter, Request
from toolbench.domain.asking import Answering
from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case
from toolbench.domain.condition import Condition
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import ModelDecision, ToolCall
from toolbench.domain.record import CallRecord
from toolbench.domain.suite import Suite
from toolbench.running.executor import Executor


@dataclass(frozen=True)
class Ask:
    """Send this request; the loop wants ``(response body, decision)`` back.

    The driver parses, because it also records; :func:`toolbench.running.runner` shows how. ``said`` is what
    the user has just said, where that depended on a question of the model.
    """

    request: Request
    user_turn: int
    index: int
    said: str | None = None


@dataclass(frozen=True)
class Act:
    """Execute these calls, in order; the loop wants their :class:`CallRecord` list back."""

    calls: Sequence[ToolCall]
    turn: int
    user_turn: int


@dataclass(frozen=True)
class Outcome:
    """How a conversation ended.

    ``stop`` is ``answered``, ``invalid``, ``refused``, ``loop_limit``, or ``called`` where a named call was
    all that was asked for.
    """

    stop: str


@dataclass(frozen=True)
class Stage:
    """All that is fixed for one attempt before the first request; ``suite`` is as the case sees it."""

    suite: Suite
    case: Case
    condition: Condition
    model: ModelConfig
    adapter: ProviderAdapter
    loop_limit: int = 5

    def offer(self, first: bool, user_turn: int = 0) -> Offer:
        """Return the tools on offer after a user message, as worded, and how the model may choose."""
        condition, case, contract = self.condition, self.case, self.suite.contract
        overlay = self.suite.overlay(condition.descriptions)
        tools = condition.shown(contract, case, user_turn)
        worded = tuple(overlay.apply(tool) if overlay else tool for tool in tools)
        names = {new.name: old.name for new, old in zip(worded, tools, strict=True)}
        choice = condition.choice(contract, case, first, user_turn)
        return Offer(worded, case.lang, names, choice, condition.parallel_tool_calls)

    def callable(self, user_turn: int = 0) -> tuple[str, ...]:
        """Return the names of the tools that the executor answers for after a user message."""
        there = self.condition.callable(self.suite.contract, self.case, user_turn)
        return tuple(tool.name for tool in there)

    def user(self, user_turn: int) -> Answering:
        """Return who answers the model's questions after a user message."""
        return Answering(self.case.replies(user_turn), self.suite.contract.tools, self.case.lang)

    @property
    def system(self) -> str:
        """The system prompt with the case's context, if it has one."""
        prompt = self.suite.system(self.case, self.condition.prompt)
        if not self.case.context:
            return prompt
        return f"{prompt}\n\n<context>{json.dumps(dict(self.case.context), ensure_ascii=False)}</context>"


Step = Ask | Act
Response = tuple[Mapping[str, Any], ModelDecision] | list[CallRecord]


def converse(stage: Stage, history: Sequence[Mapping[str, JSON]]) -> Generator[Step, Any, Outcome]:
    """Play one case.

    Parameters
    ----------
    history
        The case's messages, with a ``result`` on every tool message (see :func:`ready_history`).

    Yields
    ------
    Ask or Act
        What to do next; send the reply back in.

    Returns
    -------
    Outcome
        When the model has answered every user message, or cannot go on: an invalid or refused turn is
        never replayed to the provider, and ``loop_limit`` bounds the tool iterations of one answer. A user
        message that only answers questions (``on_ask``) ends the conversation where nothing was asked.
    """
    adapter = stage.adapter
    messages = adapter.start(stage.system, history, stage.offer(first=True))
    index, text = 0, ""
    for user_turn in range(len(stage.case.turns) + 1):
        user = stage.user(user_turn)
        said: str | None = None
        if user_turn:
            message = stage.case.turns[user_turn - 1].user
            said = None if message else user.answer(text)
            if not message and said is None:
                # Nothing has been asked that this message would answer.
                break
            messages = adapter.append_user(messages, said or message)
        acted = 0
        while True:
            request = adapter.build_request(stage.model, messages, stage.offer(index == 0, user_turn))
            body, decision = yield Ask(request, user_turn, index, said)
            said = None
            if decision.kind in ("invalid", "refusal"):
                return Outcome("invalid" if decision.kind == "invalid" else "refused")
            messages = adapter.append_response(messages, body)
            index += 1
            if decision.kind == "text":
                text = decision.text
                said = user.answer(text)
                if said is None:
                    break
                messages = adapter.append_user(messages, said)
            elif acted == stage.loop_limit:
                return Outcome("loop_limit")
            else:
                acted += 1
                records: list[CallRecord] = yield Act(decision.calls, index - 1, user_turn)
                if stage.condition.arguments_only:
                    return Outcome("called")
                messages = _with_results(adapter, messages, decision.calls, records)
    return Outcome("answered")


def ready_history(case: Case, executor: Executor) -> tuple[list[dict[str, JSON]], list[CallRecord]]:
    """Return a case's messages with the executor's result on every tool message.

    Returns
    -------
    tuple
        The messages, and a record of every call of the frozen history (``turn`` is -1: no model made it).
    """
    offered = case.offered(executor.tool_names, 0)
    made: dict[str, CallRecord] = {}
    history: list[dict[str, JSON]] = []
    for message in case.messages:
        for call in message.get("tool_calls", ()):
            raw = json.dumps(call["arguments"], ensure_ascii=False)
            made[call["id"]] = executor.run(
                ToolCall(call["id"], call["name"], raw, call["arguments"]), -1, offered
            )
        ready = dict(message)
        if message["role"] == "tool":
            ready["result"] = made[message["tool_call_id"]].result
        history.append(ready)
    return history, list(made.values())


def _with_results(
    adapter: ProviderAdapter, messages: Messages, calls: Sequence[ToolCall], records: Sequence[CallRecord]
) -> Messages:
    pairs = [
        (call, record.result)
        for call, record in zip(calls, records, strict=True)
        if record.result is not None
    ]
    return adapter.append_tool_results(messages, pairs)
