"""An attempt laid out for checking, and the finding a check returns.

A trace has one segment per user message. What counts as a call: every proposed call of a turn that is not a
refusal, whether or not it could be executed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.case import Case, Expectation
from toolbench.domain.codes import CODES
from toolbench.domain.condition import Condition
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ModelDecision, ToolCall
from toolbench.domain.record import Attempt, CallRecord, TurnRecord
from toolbench.domain.suite import Suite
from toolbench.judging.normalizers import plain


@dataclass(frozen=True)
class Finding:
    """One violated condition.

    Attributes
    ----------
    code
        One of :data:`toolbench.domain.codes.CODES`.
    path
        Where: ``turns[0]``, ``calls[1].arguments.weight_kg``, ``final`` …
    expected, actual
        Short texts.
    reason
        One line that an engineer can verify by hand.
    layer
        The family of checks, where it is another than the code's own.
    """

    code: str
    _: KW_ONLY
    path: str
    expected: str
    actual: str
    reason: str
    layer: str = ""

    def __post_init__(self) -> None:
        if not self.layer:
            object.__setattr__(self, "layer", CODES[self.code].layer)


@dataclass(frozen=True)
class MadeCall:
    """A proposed call with its record.

    ``index`` counts the attempt's calls, frozen history excluded. ``repeat`` marks a call that was made
    before with the same arguments, more often than the case expects it: only the order check speaks about it,
    the others judged it the first time.
    """

    index: int
    segment: int
    call: ToolCall
    record: CallRecord
    tool: ToolSpec | None
    repeat: bool = False

    @property
    def path(self) -> str:
        """Where findings about this call point."""
        return f"calls[{self.index}]"

    @property
    def turn(self) -> int:
        """Index of the model turn that proposed it."""
        return self.record.turn

    @property
    def writes(self) -> bool:
        """Whether it would change something."""
        return self.tool is not None and self.tool.effect == "write"

    @property
    def key(self) -> tuple[str, str, bool]:
        """What is equal for equal calls."""
        call = self.call
        arguments = call.raw_arguments if call.arguments is None else call.arguments
        return call_key(call.name, arguments, self.tool is not None)


@dataclass(frozen=True)
class Segment:
    """Everything from one user message to the model's answer to it.

    ``free`` says that no call is due, or only the end state counts: which are made is the model's own affair.
    """

    index: int
    expect: Expectation
    turns: Sequence[TurnRecord]
    calls: Sequence[MadeCall]
    free: bool = False

    @property
    def first(self) -> ModelDecision | None:
        """The decision right after the user's message (or after the frozen tool results)."""
        return self.turns[0].decision if self.turns else None

    @property
    def answer(self) -> str | None:
        """The final text, when the segment ended with one."""
        last = self.turns[-1].decision if self.turns else None
        return last.text if last is not None and last.kind == "text" else None

    def has(self, path: str) -> bool:
        """Whether a finding's path names one of its calls or turns."""
        head = path.split(".")[0]
        return any(head == call.path for call in self.calls) or any(
            head == f"turns[{turn.index}]" for turn in self.turns
        )

    def owns(self, record: CallRecord) -> bool:
        """Whether a result came after the segment's user message (the frozen ones belong to the first)."""
        return record.turn >= self.turns[0].index or (self.index == 0 and record.turn < 0)


@dataclass(frozen=True)
class Trace:
    """One attempt with the case, the suite as the case sees it, and the condition it was played under."""

    attempt: Attempt
    suite: Suite
    case: Case
    condition: Condition

    @property
    def lang(self) -> str:
        """Language of the case."""
        return self.case.lang

    @property
    def control(self) -> bool:
        """Whether calls were impossible by design: no tools, or a forbidden choice."""
        return self.condition.control

    @cached_property
    def offered(self) -> dict[str, ToolSpec]:
        """The case's own tools on offer by canonical name, those that appear later included."""
        if self.condition.tools == "off":
            return {}
        contract = self.suite.contract
        return {tool.name: tool for tool in contract.offered(self.case.offered(contract.by_name))}

    def on_offer(self, name: str, user_turn: int) -> ToolSpec | None:
        """Return a tool by name, if it was on offer after that user message."""
        there = self.condition.shown(self.suite.contract, self.case, user_turn)
        return next((tool for tool in there if tool.name == name), None)

    def heard(self, turn: int) -> list[str]:
        """Return everything the user had said before a model turn was asked for."""
        first = [str(message["content"]) for message in self.case.messages if message["role"] == "user"]
        return first + self.heard_later(turn)

    def heard_later(self, turn: int) -> list[str]:
        """Return what of it came after the case's own messages."""
        said: list[str] = []
        opened = 0
        for record in self.attempt.turns:
            if record.index > turn:
                break
            if record.said is not None:
                said.append(record.said)
            elif record.user_turn > opened:
                said.append(self.case.turns[record.user_turn - 1].user)
            opened = record.user_turn
        return said

    @cached_property
    def shown(self) -> dict[str, ToolSpec]:
        """All tools that the model saw, those of other suites among them, by canonical name."""
        return {tool.name: tool for tool in self.condition.shown(self.suite.contract, self.case)}

    @cached_property
    def frozen(self) -> tuple[CallRecord, ...]:
        """Calls of the case's frozen history, with the executor's results."""
        return tuple(record for record in self.attempt.calls if record.turn < 0)

    @cached_property
    def calls(self) -> tuple[MadeCall, ...]:
        """All calls the model proposed, in order."""
        return tuple(self._calls())

    def _calls(self) -> Iterator[MadeCall]:
        index = 0
        made: Counter[tuple[str, str, bool]] = Counter()
        for turn in self.attempt.turns:
            if turn.decision.kind == "refusal":
                continue
            records = [record for record in self.attempt.calls if record.turn == turn.index]
            for call, record in zip(turn.decision.calls, records, strict=True):
                tool = self.on_offer(call.name, turn.user_turn)
                arguments = call.raw_arguments if call.arguments is None else call.arguments
                key = call_key(call.name, arguments, tool is not None)
                repeat = made[key] >= max(self.due[key], 1)
                made[key] += 1
                yield MadeCall(index, turn.user_turn, call, record, tool, repeat)
                index += 1

    @cached_property
    def due(self) -> Counter[tuple[str, str, bool]]:
        """How often the case expects each call."""
        expectations = (self.case.expect, *(turn.expect for turn in self.case.turns))
        due: Counter[tuple[str, str, bool]] = Counter()
        for call in (one for expect in expectations for one in expect.calls):
            for choice in call.alternatives:
                due[call_key(choice.tool, choice.arguments)] += call.at_least
        return due

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The parts of the conversation that were reached, one per user message.

        A question that the user answered (``on_ask``) is no decision of its own: it may be asked.
        """
        expectations = (self.case.expect, *(turn.expect for turn in self.case.turns))
        segments = []
        for index, expect in enumerate(expectations):
            stretch = [turn for turn in self.attempt.turns if turn.user_turn == index]
            turns = [turn for turn in stretch if turn.decision.kind != "text" or turn is stretch[-1]]
            if turns:
                calls = [call for call in self.calls if call.segment == index]
                free = not expect.calls and (self.case.end_state is not None or not expect.call_required)
                segments.append(Segment(index, expect, turns, calls, free and expect.call_allowed))
        return tuple(segments)

    def segment_at(self, path: str) -> Segment | None:
        """Return the part a finding belongs to: the last one, where its path names no call and no turn."""
        last = self.segments[-1] if self.segments else None
        return next((segment for segment in self.segments if segment.has(path)), last)

    def results_before(self, turn: int) -> list[CallRecord]:
        """Return the frozen and made calls that had a result before a turn was asked for."""
        return [record for record in self.attempt.calls if record.turn < turn and record.result is not None]


def call_key(tool: str, arguments: Mapping[str, JSON] | str, there: bool = True) -> tuple[str, str, bool]:
    """Return what is equal for equal calls; a tool that is not ``there`` yet is another one than later."""
    spelled = arguments if isinstance(arguments, str) else canonical_json(plain(dict(arguments)))
    return tool, spelled, there


def results_of(trace: Trace, segment: Segment) -> list[CallRecord]:
    """Return the calls whose results the answer of a segment rests on (earlier segments included)."""
    if not segment.turns:
        return []
    return results_at(trace, segment.turns[-1])


def results_at(trace: Trace, turn: TurnRecord) -> list[CallRecord]:
    """Return the calls whose results were there when a turn was asked for."""
    return [record for record in trace.results_before(turn.index) if record.rejection is None]


def short(value: JSON, limit: int = 100) -> str:
    """Return a value as one short line."""
    text = " ".join(value.split()) if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
