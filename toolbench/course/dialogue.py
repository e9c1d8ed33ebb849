"""A conversation that a lesson walks through move by move: the real loop, and every request on show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from toolbench.adapters import Request, adapter_for
from toolbench.course import layout
from toolbench.course.players import RETRIES
from toolbench.course.words import Words, data
from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.decision import ModelDecision
from toolbench.domain.record import CallRecord
from toolbench.domain.suite import Suite
from toolbench.errors import ConfigError, InputError, TransportError
from toolbench.running import Act, Ask, Executor, Stage, Step, Transport, converse, redactor_for
from toolbench.showing import html
from toolbench.showing.html import Page

LONG_CUT = 2000


@dataclass(frozen=True)
class Asked:
    """One request: what is new in it, and what came back."""

    request: Request
    news: list[dict[str, JSON]]
    body: Mapping[str, Any]
    decision: ModelDecision


@dataclass(frozen=True)
class Acted:
    """The calls of one reply, carried out by the program."""

    records: Sequence[CallRecord]


@dataclass(frozen=True)
class Ended:
    """The end: ``answered``, ``loop_limit``, ``invalid``, ``refused``, or the code of a provider's error."""

    stop: str
    message: str = ""


Move = Asked | Acted | Ended


@dataclass
class Dialogue:
    """One question, played with one model.

    Parameters
    ----------
    stage
        Suite, case, condition, model and adapter.
    words
        Texts of the language.
    hints
        Whether error texts say how to go on.
    allowed
        Tools that the program carries out; by default all that are on offer.
    """

    stage: Stage
    words: Words
    hints: bool = True
    allowed: tuple[str, ...] | None = None
    moves: list[Move] = field(default_factory=list)

    def __post_init__(self) -> None:
        suite = self.stage.suite
        self._executor = Executor(suite.contract, suite.executor, self.words.lang, self.hints)
        self._loop = converse(self.stage, list(self.stage.case.messages))
        self._next: Step | None = None
        self._shown = 0
        self._go_on(None)

    @property
    def stop(self) -> str | None:
        """How it ended, or ``None`` while it goes on."""
        last = self.moves[-1] if self.moves else None
        return last.stop if isinstance(last, Ended) else None

    @property
    def answer(self) -> str:
        """The last text of the model."""
        said = (move.decision.text for move in reversed(self.moves) if isinstance(move, Asked))
        return next(said, "")

    async def move(self) -> Move:
        """Make the next move and remember it; after the end, the end again."""
        step = self._next
        if isinstance(step, Act):
            offered = self.allowed or self.stage.callable(step.user_turn)
            records = [self._executor.run(call, step.turn, offered) for call in step.calls]
            self.moves.append(Acted(records))
            self._go_on(records)
            return Acted(records)
        if isinstance(step, Ask):
            try:
                asked = await self._ask(step)
            except TransportError as fault:
                self._end(fault.code, fault.message)
                return self.moves[-1]
            except ConfigError as fault:
                self._end("no_key", str(fault))
                return self.moves[-1]
            self.moves.append(asked)
            self._go_on((asked.body, asked.decision))
            return asked
        return self.moves[-1]

    def _go_on(self, reply: Any) -> None:
        """Let the loop say what is next."""
        try:
            self._next = self._loop.send(reply)
        except StopIteration as end:
            self._end(end.value.stop)
        except TransportError as fault:
            # A setting that the model is known to refuse: the adapter says so before anything is sent.
            self._end(fault.code, fault.message)

    def _end(self, stop: str, message: str = "") -> None:
        self._next = None
        self.moves.append(Ended(stop, message))

    async def _ask(self, step: Ask) -> Asked:
        stage = self.stage
        redactor = redactor_for(Config(runs=(stage.model,)))
        async with Transport(redactor, retries=RETRIES) as transport:
            reply = await transport.send(stage.model, stage.adapter, step.request)
        offer = stage.offer(step.index == 0, step.user_turn)
        decision = stage.adapter.parse_decision(reply.body, step.request, offer)
        history: list[dict[str, JSON]] = step.request.body[wire(stage.model.protocol)["history"]]
        news, self._shown = history[self._shown :], len(history)
        return Asked(step.request, news, reply.body, decision)

    async def step(self) -> Page:
        """Make the next move and show it, and the end with the last one."""
        before = len(self.moves)
        move = await self.move()
        page = self._page(move, before + 1)
        return page + self._page(self.moves[-1], 0) if self.moves[before + 1 :] else page

    async def play(self) -> Page:
        """Make all moves that are left and show the whole conversation as a table."""
        while self.stop is None:
            await self.move()
        return self.table()

    def table(self) -> Page:
        """The conversation so far: a row a move."""
        rows = [row for move in self.moves for row in self._rows(move)]
        frame = pd.DataFrame(rows, columns=[self.words(f"column_{name}") for name in ("who", "what")])
        question = str(self.stage.case.messages[-1].get("content", ""))
        page = layout.table(frame, f"{question}  ·  {self.stage.model.model}")
        ended = self.moves[-1] if self.moves else None
        return page + self._ending(ended) if isinstance(ended, Ended) else page

    def _rows(self, move: Move) -> list[tuple[str, str]]:
        words = self.words
        if isinstance(move, Acted):
            return [(words("program"), _result(record)) for record in move.records]
        if isinstance(move, Asked):
            calls = [(words("model"), f"{call.name}({call.raw_arguments})") for call in move.decision.calls]
            text = [(words("model"), words.quoted(move.decision.text))] if move.decision.text else []
            return calls + text
        return []

    def _page(self, move: Move, number: int) -> Page:
        words = self.words
        if isinstance(move, Ended):
            return self._ending(move)
        if isinstance(move, Acted):
            done = [
                (record.tool, layout.code(f"{' → '.join(record.states)}\n{_result(record)}"))
                for record in move.records
            ]
            return html.heading(words("step_act", number=number), 4) + layout.columns(done)
        panels = [
            (words("sent_new"), layout.json_page(move.news)),
            (words("received"), layout.json_page(said(self.stage.model.protocol, move.body))),
        ]
        whole = html.folded(words("whole_request"), layout.json_page(move.request.body, LONG_CUT))
        kind = "step_call" if move.decision.calls else "step_text"
        return html.heading(words(kind, number=number), 4) + layout.columns(panels) + whole

    def _ending(self, end: Ended) -> Page:
        if end.stop == "answered":
            return layout.box("good", self.words("end_answered"))
        key = f"end_{end.stop}" if f"end_{end.stop}" in data("texts") else "end_error"
        detail = [html.paragraph(end.message)] if end.message else []
        return layout.box("bad", self.words(key, code=end.stop), *detail)


def dialogue(
    suite: Suite,
    words: Words,
    model: ModelConfig,
    scene: str,
    *,
    condition: Condition = BUILT_IN_CONDITIONS["auto"],
    hints: bool = True,
    tools: Sequence[str] | None = None,
    allowed: tuple[str, ...] | None = None,
) -> Dialogue:
    """Return a conversation about one of the lesson's questions, before its first move.

    ``tools`` are on offer, by default all; ``allowed`` are carried out, by default all on offer.
    """
    case = scene_case(scene, question_of(scene, words), words.lang, tools)
    return Dialogue(Stage(suite, case, condition, model, adapter_for(model.protocol)), words, hints, allowed)


def question_of(scene: str, words: Words) -> str:
    """Return one of the lesson's questions.

    Raises
    ------
    InputError
        For a name that is none.
    """
    scenes = data("scenes")
    if scene not in scenes:
        raise InputError(words("no_scene", scene=scene, known=", ".join(scenes)))
    return words.of(scenes[scene])


def scene_case(scene: str, question: str, lang: str, tools: Sequence[str] | None = None) -> Case:
    """Return a question of the lesson as a case; nothing is judged in it."""
    expect = {"kind": ["tool_call", "text", "clarification"]}
    offered = {} if tools is None else {"tools": list(tools)}
    return Case.from_json(
        {"id": scene, "class": "lesson", "lang": lang, "user": question, "expect": expect, **offered}
    )


def wire(protocol: str) -> dict[str, Any]:
    """Return how the lesson shows a protocol: its history's key, and the keys of a reply that matter."""
    shown: dict[str, Any] = data("wires")[protocol]
    return shown


def said(protocol: str, body: Mapping[str, Any]) -> JSON:
    """Return the part of a reply that holds what the model said."""
    return {key: body[key] for key in wire(protocol)["reply"] if key in body}


def _result(record: CallRecord) -> str:
    arguments = json.dumps(record.arguments, ensure_ascii=False)
    answer = record.result.content if record.result else str(record.rejection)
    return f"{record.tool}({arguments})\n→ {answer}"
