"""A student's own loop, played against a model: who asked what, which tools ran, tokens, cost and time.

The loop is synchronous and lives in a thread; every request it makes travels over the workbench's own
transport. It speaks Chat Completions, whatever protocol the model has: on other wires the history is laid
out again from the replies that were received, so nothing that a provider wants back is lost.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from toolbench.adapters import Messages, Offer, adapter_for
from toolbench.course import layout
from toolbench.course.players import RETRIES
from toolbench.course.rates_service import RatesService, offline
from toolbench.course.words import Words
from toolbench.domain.canonical import JSON
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ModelDecision, ToolCall, Usage
from toolbench.domain.price import cost
from toolbench.domain.record import ToolResult
from toolbench.errors import ConfigError, TransportError
from toolbench.running import Transport, redactor_for
from toolbench.showing import html
from toolbench.showing.html import Page

PATIENCE = 12
"""Requests after which a loop that does not end is ended."""
FAILED = "ERROR"
"""How a failure starts in the text that a student's loop hands to the model."""

Message = dict[str, Any]
Loop = Callable[[Callable[[list[Message]], Message], Mapping[str, Callable[..., Any]], list[Message]], Any]


@dataclass(frozen=True)
class Ran:
    """One call that the loop had carried out."""

    tool: str
    arguments: Mapping[str, Any]
    result: str
    milliseconds: float


@dataclass
class Iteration:
    """One request and what the loop did with the reply."""

    decision: ModelDecision
    milliseconds: float
    cost: float | None
    ran: list[Ran] = field(default_factory=list)


class _Over(BaseException):
    """Ends a student's loop from inside; no ``except Exception`` of theirs can hold it."""


@dataclass
class OwnLoop:
    """One question played by a student's loop.

    Attributes
    ----------
    iterations
        Every request so far.
    answer
        What the loop returned.
    ended
        Key of the text that says how it ended, with ``detail``.
    """

    model: ModelConfig
    tools: Mapping[str, Callable[..., Any]]
    offered: Sequence[ToolSpec]
    system: str
    words: Words
    live: bool = False
    iterations: list[Iteration] = field(default_factory=list)
    answer: str = ""
    ended: str = "own_answered"
    detail: str = ""

    def __post_init__(self) -> None:
        names = {tool.name: tool.name for tool in self.offered}
        self._adapter = adapter_for(self.model.protocol)
        self._offer = Offer(tuple(self.offered), self.words.lang, names)
        self._received: list[tuple[Message, Mapping[str, Any], Sequence[ToolCall]]] = []

    async def play(self, loop: Loop, question: str) -> Page:
        """Let the loop answer a question and show what happened."""
        redactor = redactor_for(Config(runs=(self.model,)))
        async with Transport(redactor, retries=RETRIES) as transport:
            running = asyncio.get_running_loop()

            def ask(messages: list[Message]) -> Message:
                return asyncio.run_coroutine_threadsafe(self._ask(transport, messages), running).result()

            await asyncio.to_thread(self._run, loop, ask, question)
        return self.page(question)

    def _run(self, loop: Loop, ask: Callable[[list[Message]], Message], question: str) -> None:
        tools = {name: self._watched(name, fn) for name, fn in self.tools.items()}
        try:
            told = loop(ask, tools, [{"role": "user", "content": question}])
        except _Over:
            return
        except Exception as error:
            self.ended, self.detail = "own_raised", f"{type(error).__name__}: {error}"
            return
        self.answer = "" if told is None else str(told)
        if told is None:
            self.ended = "own_gave_up"

    async def _ask(self, transport: Transport, messages: list[Message]) -> Message:
        if len(self.iterations) >= PATIENCE:
            raise self._over("own_endless")
        request = self._adapter.build_request(self.model, self._history(messages), self._offer)
        started = time.perf_counter()
        try:
            reply = await transport.send(self.model, self._adapter, request)
        except (TransportError, ConfigError) as fault:
            raise self._over("own_no_reply", str(fault)) from None
        milliseconds = 1000 * (time.perf_counter() - started)
        decision = self._adapter.parse_decision(reply.body, request, self._offer)
        spent = cost(self.model.price, decision.usage)
        self.iterations.append(Iteration(decision, milliseconds, spent))
        if decision.kind in ("invalid", "refusal"):
            raise self._over("own_unusable", str(decision.reason or decision.kind))
        said = _as_chat(decision, reply.body, self.model.protocol)
        self._received.append((said, reply.body, decision.calls))
        return dict(said)

    def _over(self, ended: str, detail: str = "") -> _Over:
        self.ended, self.detail = ended, detail
        return _Over(ended)

    def _history(self, messages: Sequence[Message]) -> Messages:
        """Return the student's history on the wire of the model."""
        adapter = self._adapter
        history = adapter.start(self.system, [], self._offer)
        waiting: list[tuple[ToolCall, ToolResult]] = []
        for message in messages:
            if message["role"] == "tool":
                waiting.append((self._call(message), _result(message)))
                continue
            if waiting:
                history, waiting = adapter.append_tool_results(history, waiting), []
            if message["role"] == "user":
                history = adapter.append_user(history, str(message["content"]))
            else:
                history = adapter.append_response(history, self._body(message))
        return adapter.append_tool_results(history, waiting) if waiting else history

    def _call(self, message: Message) -> ToolCall:
        calls = [call for _, _, calls in self._received for call in calls]
        return next(call for call in reversed(calls) if call.id == message["tool_call_id"])

    def _body(self, message: Message) -> Mapping[str, Any]:
        return next(body for said, body, _ in reversed(self._received) if said == message)

    def _watched(self, name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
        def called(**arguments: Any) -> Any:
            started, result = time.perf_counter(), ""
            try:
                with nullcontext() if self.live else offline(RatesService()):
                    value = fn(**arguments)
                result = json.dumps(value, ensure_ascii=False, default=str)
                return value
            except Exception as error:
                result = f"{FAILED}: {error}"
                raise
            finally:
                spent = 1000 * (time.perf_counter() - started)
                self.iterations[-1].ran.append(Ran(name, arguments, result, spent))

        return called

    def page(self, question: str) -> Page:
        """The log of the loop: a row a call, tokens and cost of every request, and the sum."""
        words, rows = self.words, []
        for number, iteration in enumerate(self.iterations, 1):
            usage, spent = iteration.decision.usage, _money(iteration.cost)
            head = (str(number), _tokens(usage), spent, f"{iteration.milliseconds:.0f}")
            for ran in iteration.ran or (None,):
                shown = self._shown(iteration, ran)
                rows.append((head[0], *shown, *head[1:]))
                head = ("", "", "", "")
        rows.append(("Σ", "", "", words("own_requests", n=len(self.iterations)), *self._total()))
        names = ("iteration", "tool", "given", "result", "tokens", "cost", "milliseconds")
        frame = pd.DataFrame(rows, columns=[words(f"column_{name}") for name in names])
        caption = f"{question}  ·  {self.model.model}"
        kind = "good" if self.ended == "own_answered" else "bad"
        said = [html.paragraph(self.words.quoted(self.answer))] if self.answer else []
        ending = layout.box(kind, words(self.ended, detail=self.detail), *said)
        return layout.table(frame, caption, numbers=list(frame.columns[4:])) + ending

    def _shown(self, iteration: Iteration, ran: Ran | None) -> tuple[str, str, str]:
        if ran is not None:
            arguments = json.dumps(ran.arguments, ensure_ascii=False)
            return (
                ran.tool,
                arguments,
                f"{ran.result}  ({ran.milliseconds:.0f} {self.words('column_milliseconds')})",
            )
        calls = ", ".join(f"{call.name}({call.raw_arguments})" for call in iteration.decision.calls)
        said = iteration.decision.text
        return calls or "—", "", self.words.quoted(said) if said else ""

    def _total(self) -> tuple[str, str, str]:
        usages = [iteration.decision.usage for iteration in self.iterations]
        costs = [iteration.cost for iteration in self.iterations]
        total = Usage(sum(usage.input or 0 for usage in usages), sum(usage.output or 0 for usage in usages))
        spent = None if None in costs or not costs else sum(value or 0 for value in costs)
        return _tokens(total), _money(spent), f"{sum(one.milliseconds for one in self.iterations):.0f}"


def _as_chat(decision: ModelDecision, body: Mapping[str, Any], protocol: str) -> Message:
    """Return a reply as a message of Chat Completions; on that wire it is the message itself."""
    if protocol == "chat_completions":
        message: Message = body["choices"][0]["message"]
        if all(not call.id_synthesized for call in decision.calls):
            return message
    said: dict[str, JSON] = {"role": "assistant", "content": decision.text}
    if decision.calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.raw_arguments},
            }
            for call in decision.calls
        ]
    return said


def _result(message: Message) -> ToolResult:
    text = str(message["content"])
    failed = text.upper().startswith(FAILED)
    return ToolResult(text[len(FAILED) :].lstrip(": ") if failed else text, is_error=failed)


def _tokens(usage: Usage) -> str:
    shown = ("?" if count is None else str(count) for count in (usage.input, usage.output))
    return " → ".join(shown)


def _money(value: float | None) -> str:
    return "–" if value is None else f"{value:.6f}"
