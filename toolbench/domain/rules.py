"""The rules of a suite (``rules.json``): which calls may follow which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from toolbench.domain.canonical import JSON
from toolbench.domain.contract import ToolSpec

Parallel = Literal["required", "allowed", "forbidden"]
Names = Mapping[str, Sequence[str]]


class ResultField(NamedTuple):
    """A place in a tool's result, written ``tool.path`` with ``[]`` for any list item."""

    tool: str
    path: str

    def __str__(self) -> str:
        return f"{self.tool}.{self.path}"

    @classmethod
    def parse(cls, text: str) -> ResultField:
        """Read ``tool.path``."""
        tool, _, path = text.partition(".")
        return cls(tool, path)


@dataclass(frozen=True)
class Branch:
    """What a field of an earlier result must hold before a tool may run."""

    tool: str
    path: str
    equals: JSON

    @property
    def source(self) -> ResultField:
        """The field."""
        return ResultField(self.tool, self.path)


@dataclass(frozen=True)
class Polling:
    """How often, and how many seconds apart, equal calls of a tool are allowed."""

    max: int = 1
    every_seconds: float = 0.0


ONCE = Polling()
RETIRED = "claims"
"""Patterns of claims, in runs of earlier versions: answers are read as statements since."""


@dataclass(frozen=True)
class Rules:
    """A suite's rules, all by tool unless said otherwise.

    Attributes
    ----------
    parallel
        Default policy for several calls in one turn.
    transitions
        Tool (or ``START``) → tools that may follow; a tool that is absent may be followed by any.
    requires
        Tools that must have succeeded before it.
    unless
        What earlier results must hold.
    repeats
        Allowed repetitions of equal calls, for tools that may be called more than once.
    depends_on_result
        Argument → where its value must come from.
    confirm
        Tools that run only after the user's confirmation.
    stop_after_error
        Error code → tools that must not be called after it.
    stop_after_empty
        Tool with an empty result → tools that must not be called after it.
    source
        The document as written; it decides the hash.
    """

    version: str
    note: str = ""
    parallel: Parallel = "allowed"
    transitions: Names = field(default_factory=dict)
    requires: Names = field(default_factory=dict)
    unless: Mapping[str, Sequence[Branch]] = field(default_factory=dict)
    repeats: Mapping[str, Polling] = field(default_factory=dict)
    depends_on_result: Mapping[str, Mapping[str, ResultField]] = field(default_factory=dict)
    confirm: Sequence[str] = ()
    stop_after_error: Names = field(default_factory=dict)
    stop_after_empty: Names = field(default_factory=dict)
    source: Mapping[str, JSON] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rules:
        """Build from ``rules.json`` (already valid against its schema)."""
        typed: dict[str, Any] = {
            "unless": {
                tool: [Branch(**one) for one in some] for tool, some in data.get("unless", {}).items()
            },
            "repeats": {tool: Polling(**limit) for tool, limit in data.get("repeats", {}).items()},
            "depends_on_result": {
                tool: {name: ResultField.parse(text) for name, text in sources.items()}
                for tool, sources in data.get("depends_on_result", {}).items()
            },
        }
        told = {name: value for name, value in data.items() if name != RETIRED}
        return cls(**{**told, **typed}, source=data)

    def needed(self, tool: str) -> Sequence[str]:
        """Return the tools that must have succeeded before a tool."""
        return self.requires.get(tool, ())

    def polling(self, tool: str) -> Polling:
        """Return how often equal calls of a tool are allowed."""
        return self.repeats.get(tool, ONCE)

    def confirms(self, tool: ToolSpec) -> bool:
        """Whether a tool runs only after the user's confirmation."""
        return tool.confirmation or tool.name in self.confirm


NO_RULES = Rules.from_json({"version": "none"})
