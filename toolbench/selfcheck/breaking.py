"""What all breakages share: the breakage itself, and the ways to change one thing in a performance.

A *breakage* is a correct performance with one mistake, and the codes that must be reported about it. The
codes follow from the mistake and the suite's data; the checks are not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from toolbench.domain.canonical import canonical_json
from toolbench.domain.case import ExpectedCall
from toolbench.domain.contract import ToolSpec
from toolbench.selfcheck.donors import Donors
from toolbench.selfcheck.oracle import Performance, Scene
from toolbench.selfcheck.rehearse import Move, Proposal

LOOP_LIMIT = 5
"""Tool iterations of one answer in a rehearsal (the default of a run)."""


@dataclass(frozen=True)
class Breakage:
    """One mistake: the script that makes it, and the codes it must be reported with (others may join)."""

    kind: str
    codes: frozenset[str]
    script: tuple[Move, ...]
    what: str


@dataclass(frozen=True)
class Site:
    """One expected call of a scene, and where in the performance it stands."""

    scene: Scene
    turn: int
    position: int
    call: Proposal
    expected: ExpectedCall
    tool: ToolSpec

    @property
    def accepted(self) -> dict[str, list[object]]:
        """Argument → every value that is right."""
        names = {*self.expected.arguments, *self.expected.accept}
        return {
            name: [
                *([self.expected.arguments[name]] if name in self.expected.arguments else []),
                *self.expected.accept.get(name, ()),
            ]
            for name in names
        }


@dataclass(frozen=True)
class Workpiece:
    """A performance to be broken, with everything breakers ask of it."""

    performance: Performance
    donors: Donors

    @property
    def lang(self) -> str:
        """Language of the case."""
        return self.performance.case.lang

    @cached_property
    def offered(self) -> tuple[ToolSpec, ...]:
        """Tools on offer."""
        contract = self.performance.suite.contract
        return contract.offered(self.performance.case.offered(contract.by_name))

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Every expected call."""
        return tuple(self._sites())

    def _sites(self) -> Iterator[Site]:
        by_name = self.performance.suite.contract.by_name
        for scene in self.performance.scenes:
            # Calls that follow from the end state alone are not expected as they are.
            waiting = (call for call in scene.expect.calls for _ in range(call.at_least))
            for turn, calls in enumerate(scene.turns if scene.expect.calls else ()):
                for position, call in enumerate(calls):
                    yield Site(scene, turn, position, call, next(waiting), by_name[call.tool])

    def donor(self, tool: ToolSpec) -> Proposal | None:
        """Return a valid call of a tool that the performance does not make."""
        return next(self.donors.calls(tool, self.performance), None)

    def with_call(self, site: Site, call: Proposal | None, finish: str | None = None) -> tuple[Move, ...]:
        """Return the script with another call (or none) in a call's place, and another finish reason."""
        moves = list(site.scene.moves)
        calls = list(moves[site.turn].calls)
        calls[site.position : site.position + 1] = [call] if call else []
        changed = replace(moves[site.turn], calls=tuple(calls), finish=finish)
        moves[site.turn : site.turn + 1] = [changed] if calls else []
        return self.performance.script_with(site.scene.index, moves)

    def with_turns(self, scene: Scene, turns: Sequence[Sequence[Proposal]]) -> tuple[Move, ...]:
        """Return the script with other call turns in a scene."""
        moves = (*(Move(calls=tuple(calls)) for calls in turns if calls), scene.moves[-1])
        return self.performance.script_with(scene.index, moves)

    def with_inserted(self, scene: Scene, call: Proposal, at: int | None = None) -> tuple[Move, ...]:
        """Return the script with one more call, in a turn of its own before the answer (or before ``at``)."""
        place = len(scene.turns) if at is None else at
        return self.with_turns(scene, (*scene.turns[:place], (call,), *scene.turns[place:]))

    def with_answer(self, scene: Scene, text: str, finish: str | None = None) -> tuple[Move, ...]:
        """Return the script with another final text in a scene, and another finish reason."""
        last = Move(text=text, finish=finish)
        return self.performance.script_with(scene.index, (*scene.moves[:-1], last))

    def with_first(self, scene: Scene, move: Move) -> tuple[Move, ...]:
        """Return the script in which a scene consists of one move."""
        return self.performance.script_with(scene.index, (move,))

    def fits(self, scene: Scene, more: int = 1) -> bool:
        """Whether a scene can take further tool iterations without running into the limit."""
        return len(scene.turns) + more <= LOOP_LIMIT

    def read_before(self, scene: Scene) -> str:
        """Everything the model had been shown up to a scene's answer, lower-cased, for a plain search."""
        case = self.performance.case
        shown = [canonical_json(dict(case.source)["messages"])] if "messages" in case.source else []
        shown += [*case.user_texts, canonical_json(dict(case.context))]
        shown += [record.result.content for record in scene.results if record.result]
        return "\n".join(shown).lower()


def named(*codes: str) -> frozenset[str]:
    """Return codes as a set."""
    return frozenset(codes)
