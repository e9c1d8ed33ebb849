"""What a source brought, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from toolbench.domain.canonical import JSON


@dataclass(frozen=True)
class Material:
    """Tools and cases in the forms of a suite's files, and what did not fit into them.

    Attributes
    ----------
    origin
        Where it comes from, one line; it becomes the note of ``tools.json``.
    tools
        Entries of ``tools.json``.
    cases
        Lines of case files.
    remarks
        What could not be carried over or was carried over changed, one line each, by name.
    outputs
        JSON Schema of a tool's results, by tool, where the source has one.
    names
        What a tool is called here, by what the source calls it, where the source is a list of tools.
    """

    origin: str
    tools: Sequence[JSON] = ()
    cases: Sequence[JSON] = ()
    remarks: Sequence[str] = ()
    outputs: Mapping[str, JSON] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def guesses(self) -> list[str]:
        """What is in the suite without anyone having said so, one line each."""
        return [
            f"{tool['name']}: {name} {tool[name]!r} is a guess: {why}"
            for tool in self.tools
            for name, why in tool.get("guessed", {}).items()
        ]
