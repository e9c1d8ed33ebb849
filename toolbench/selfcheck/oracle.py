"""The perfect player: it knows the gold and plays it, honestly. A test instrument, not a baseline.

What it calls are the expected calls. What it says after them is composed, in the case's language, from the
results that the executor really gives and from the wordings that the case accepts. A finding about it is a
fault of the case or of the judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import loads_strict
from toolbench.domain.case import Case, Expectation
from toolbench.domain.condition import Condition
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import CallRecord
from toolbench.domain.suite import Suite
from toolbench.judging.text import contains, normalize
from toolbench.running.conversation import ready_history
from toolbench.running.executor import Executor
from toolbench.selfcheck.rehearse import AUTO, Move, Proposal

Turns = tuple[tuple[Proposal, ...], ...]
"""Calls, turn by turn."""


@dataclass(frozen=True)
class Piece:
    """One sentence of an answer and why it is said.

    ``kind`` is a key of ``oracle.json``; ``options`` are all wordings that would have done.
    """

    kind: str
    text: str
    options: Sequence[str] = ()


@dataclass(frozen=True)
class Scene:
    """All that the player does in answer to one user message.

    Attributes
    ----------
    results
        What the answer rests on: every result so far, frozen history and earlier scenes included.
    own
        Those among them that came after this scene's user message.
    """

    index: int
    expect: Expectation
    turns: Turns
    answer: tuple[Piece, ...]
    results: tuple[CallRecord, ...]
    own: tuple[CallRecord, ...]

    @property
    def calls(self) -> tuple[Proposal, ...]:
        """All calls of the scene, in order."""
        return tuple(call for turn in self.turns for call in turn)

    @property
    def moves(self) -> tuple[Move, ...]:
        """The scene as a script."""
        text = " ".join(piece.text for piece in self.answer)
        refusal = text if any(piece.kind == "refusal" for piece in self.answer) else None
        last = Move(refusal=refusal) if refusal else Move(text=text)
        return (*(Move(calls=calls) for calls in self.turns), last)


@dataclass(frozen=True)
class Performance:
    """A case played perfectly."""

    suite: Suite
    case: Case
    scenes: tuple[Scene, ...]
    frozen: tuple[CallRecord, ...] = ()

    @property
    def script(self) -> tuple[Move, ...]:
        """All moves."""
        return tuple(move for scene in self.scenes for move in scene.moves)

    @property
    def calls(self) -> tuple[Proposal, ...]:
        """All calls."""
        return tuple(call for scene in self.scenes for call in scene.calls)

    def with_scene(self, scene: Scene) -> Performance:
        """Return the performance with one scene changed."""
        scenes = tuple(scene if old.index == scene.index else old for old in self.scenes)
        return replace(self, scenes=scenes)

    def script_with(self, index: int, moves: Sequence[Move]) -> tuple[Move, ...]:
        """Return the script with other moves in one scene."""
        return tuple(
            move for scene in self.scenes for move in (moves if scene.index == index else scene.moves)
        )


def perform(suite: Suite, case: Case, condition: Condition = AUTO) -> Performance:
    """Return the perfect performance of a case under a condition it is admitted to."""
    suite = suite.of(case)
    executor = Executor(suite.contract, suite.executor, case.lang, condition.error_hints)
    _, frozen = ready_history(case, executor)
    calls_possible = condition.tools == "on" and condition.tool_choice != "none"
    results: list[CallRecord] = list(frozen)
    scenes = []
    for index, expect in enumerate((case.expect, *(turn.expect for turn in case.turns))):
        offered = case.offered(suite.contract.by_name, index)
        turns = _turns(suite, case, expect) if calls_possible and expect.call_allowed else ()
        made = [
            executor.run(ToolCall(f"call_{number}", call.tool, call.text, call.arguments), number, offered)
            for number, turn in enumerate(turns)
            for call in turn
        ]
        results += made
        own = [*frozen, *made] if index == 0 else made
        speaker = _Speaker(suite, case, index, expect, tuple(results), tuple(own))
        answer = tuple(speaker.pieces(bool(turns))) if calls_possible else (speaker.piece("text"),)
        scenes.append(Scene(index, expect, turns, answer, tuple(results), tuple(own)))
    return Performance(suite, case, tuple(scenes), tuple(frozen))


def _turns(suite: Suite, case: Case, expect: Expectation) -> Turns:
    """Return the expected calls: one a turn where they follow from each other or policy says so.

    A case that says only what must be written in the end is played by writing it.
    """
    calls = tuple(
        Proposal(call.tool, dict(call.arguments)) for call in expect.calls for _ in range(call.at_least)
    ) or tuple(_written(suite, case))
    policy = expect.parallel or suite.rules.parallel
    dependent = any({other.tool for other in calls} & set(suite.rules.needed(call.tool)) for call in calls)
    if expect.order == "strict" or policy == "forbidden" or dependent:
        return tuple((call,) for call in calls)
    return (calls,) if calls else ()


def _written(suite: Suite, case: Case) -> Iterator[Proposal]:
    """Yield the calls that leave what a case wants to be written."""
    for expected in case.end_state.written if case.end_state else ():
        for tool in suite.contract.tools:
            fields = {name: value for name, value in expected.fields.items() if name in tool.properties}
            if tool.leaves == expected.object and not tool.issues(fields):
                yield Proposal(tool.name, fields)
                break


@dataclass(frozen=True)
class _Speaker:
    """Says what is to be said in one scene."""

    suite: Suite
    case: Case
    index: int
    expect: Expectation
    results: tuple[CallRecord, ...]
    own: tuple[CallRecord, ...]

    def piece(self, kind: str, options: Sequence[str] = ()) -> Piece:
        """Return a sentence with the wording among the options that the results use, else the first."""
        frame = frames(self.case.lang)[kind]
        return Piece(kind, frame.replace("{}", self._choice(options)) if options else frame, options)

    def pieces(self, called: bool) -> Iterator[Piece]:
        """Yield the sentences of the scene's answer."""
        expect = self.expect
        if expect.kinds == ("refusal",):
            yield self.piece("refusal")
            return
        said = list(self._after_results())
        if not called:
            said += self._decision(bool(said))
        yield from said or [self.piece("text")]

    def _after_results(self) -> Iterator[Piece]:
        final = self.expect.final
        if not self.results:
            return
        for fact in final.facts if final else ():
            yield self.piece("fact", fact)
        for answer in final.answers if final else ():
            yield self.piece("answer", answer)
        healed = {record.tool for record in self.own if record.succeeded}
        failed = [record for record in self.own if not record.succeeded and record.tool not in healed]
        if failed:
            yield self.piece("failure")
        recovery = self.expect.recovery
        if recovery and any(not record.succeeded for record in self.own):
            asks = recovery.kinds == ("clarification",)
            if recovery.contains_any:
                yield self.piece("recovery_question" if asks else "recovery", recovery.contains_any)
            elif asks:
                yield self.piece("question")

    def _decision(self, something_said: bool) -> Iterator[Piece]:
        """Yield what a scene without calls has to ask or to contain."""
        expect = self.expect
        for name in expect.missing_fields:
            yield self.piece("field", ask_words(self.suite, self.case, name))
        if expect.contains_any:
            yield self.piece("wording", expect.contains_any)
        if expect.kinds == ("clarification",) and not expect.missing_fields and not something_said:
            yield self.piece("question")

    def _choice(self, options: Sequence[str]) -> str:
        """Return a wording the model has read; numbers and dates are told as the tool told them."""
        read = normalize("\n".join(record.result.content for record in self.results if record.result))
        heard = (option for option in options if any(map(str.isdigit, option)) and contains(read, option))
        return next(heard, options[0])


def ask_words(suite: Suite, case: Case, name: str) -> Sequence[str]:
    """Return the declared ways to ask for an argument, the longest (the least like a stem) first."""
    words = [
        word
        for tool in suite.contract.offered(case.offered(suite.contract.by_name))
        for word in tool.ask_words.get(name, {}).get(case.lang, ())
    ]
    return sorted(dict.fromkeys(words), key=len, reverse=True) or [name]


@cache
def frames(lang: str) -> Mapping[str, str]:
    """Return the sentence frames of a language; languages without any use English."""
    data: Any = loads_strict(
        resources.files("toolbench.selfcheck").joinpath("oracle.json").read_text(encoding="utf-8")
    )
    found: Mapping[str, str] = data.get(lang, data["en"])
    return found
