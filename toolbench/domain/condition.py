"""Experimental arms: how the tools are offered, in which words, and on which cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolbench.domain.case import Case
from toolbench.domain.contract import Contract, ToolSpec


@dataclass(frozen=True)
class Selection:
    """A choice of cases; an absent list chooses all."""

    tags: Sequence[str] | None = None
    classes: Sequence[str] | None = None
    langs: Sequence[str] | None = None
    ids: Sequence[str] | None = None

    def __call__(self, case: Case) -> bool:
        """Whether the case is chosen."""
        return (
            (self.tags is None or bool(case.tags & set(self.tags)))
            and (self.classes is None or case.klass in self.classes)
            and (self.langs is None or case.lang in self.langs)
            and (self.ids is None or case.id in self.ids)
        )


@dataclass(frozen=True)
class Condition:
    """One experimental arm. Attempts of different conditions never meet in one figure.

    Attributes
    ----------
    tool_choice
        ``required`` forces some call and ``named`` the first one that the case expects, both in the first
        turn only; ``allowed`` shows the whole contract and lets the case's own tools be called.
    tools_on_offer
        Number of tools that a model is shown: tools of other suites fill it up.
    parallel_tool_calls
        Whether several calls in one turn are allowed; ``None`` leaves that to the model's settings.
    """

    name: str
    tool_choice: Literal["auto", "required", "named", "allowed", "none"] = "auto"
    tool_order: str = "canonical"
    tools: Literal["on", "off"] = "on"
    tools_on_offer: int | None = None
    parallel_tool_calls: bool | None = None
    descriptions: str | None = None
    prompt: str | None = None
    error_hints: bool = True
    cases: Selection = field(default_factory=Selection)
    repetitions: int | None = None

    @property
    def control(self) -> bool:
        """Whether calls are impossible by design: no tools, or a forbidden choice."""
        return self.tools == "off" or self.tool_choice == "none"

    @property
    def forced(self) -> bool:
        """Whether a model has to call in its first turn."""
        return self.tools == "on" and self.tool_choice in ("required", "named")

    @property
    def arguments_only(self) -> bool:
        """Whether the decision and the tool are given, so that nothing but the arguments is the model's."""
        return self.tools == "on" and self.tool_choice == "named"

    def admits(self, case: Case) -> bool:
        """Whether a case makes sense under this condition.

        A draft makes none before it is confirmed. A forced call says something only about cases in which a
        call is right, a named one only where it is known which. A frozen history whose next step is an answer
        cannot be played without its tools or with a forced call, and calls that have to come at once not
        where one a turn is all there may be.
        """
        if case.draft or not self.cases(case):
            return False
        if self.forced and (not case.expect.call_required or case.starts_after_result):
            return False
        if self.arguments_only and not case.expect.calls:
            return False
        if self.parallel_tool_calls is False and case.expect.parallel == "required":
            return False
        return not (self.tools == "off" and any("tool_calls" in message for message in case.messages))

    def shown(self, contract: Contract, case: Case, turn: int | None = None) -> tuple[ToolSpec, ...]:
        """Return the tools that a model sees after a user message (``None``: the last), in their order."""
        if self.tools == "off":
            return ()
        own = contract.offered(
            None if self.tool_choice == "allowed" else case.offered(contract.by_name, turn)
        )
        return contract.arranged(own, self.tool_order, self.tools_on_offer, case.hash)

    def callable(self, contract: Contract, case: Case, turn: int | None = None) -> tuple[ToolSpec, ...]:
        """Return those of the tools shown that may be called."""
        if self.tool_choice == "allowed":
            return contract.offered(case.offered(contract.by_name, turn))
        return self.shown(contract, case, turn)

    def choice(self, contract: Contract, case: Case, first: bool, turn: int | None = None) -> str:
        """Return the tool choice of a turn as an offer spells it; only the ``first`` is forced."""
        if self.tool_choice == "allowed":
            return "allowed:" + ",".join(tool.name for tool in self.callable(contract, case, turn))
        if not self.forced:
            return self.tool_choice
        if not first:
            # With a call forced again no answer could follow.
            return "auto"
        return f"named:{case.expect.calls[0].tool}" if self.arguments_only else self.tool_choice


BUILT_IN_CONDITIONS: Mapping[str, Condition] = {
    condition.name: condition
    for condition in (
        Condition("auto"),
        Condition("reversed", tool_order="reversed"),
        Condition("forced", tool_choice="required"),
        Condition("named", tool_choice="named"),
        Condition("allowed", tool_choice="allowed", tools_on_offer=10),
        Condition("many_tools", tools_on_offer=10),
        Condition("one_at_a_time", parallel_tool_calls=False),
        Condition("no_tools", tools="off"),
        Condition("no_hints", error_hints=False),
    )
}
