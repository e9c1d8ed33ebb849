"""One part of a selfcheck and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from toolbench.domain.canonical import JSON

SHOWN = 10
"""Faults shown as text; JSON has them all."""


@dataclass(frozen=True)
class Section:
    """One part of a selfcheck.

    Attributes
    ----------
    name, title
        Stable word, and a few words for people.
    checked
        How much was examined; a check that examined nothing has failed.
    faults, notes
        One line each.
    figures
        Numbers and lists behind the notes.
    """

    name: str
    title: str
    checked: int
    faults: Sequence[str]
    notes: Sequence[str] = ()
    figures: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether something was examined and nothing was wrong."""
        return self.checked > 0 and not self.faults

    def to_json(self) -> dict[str, JSON]:
        """Return a plain JSON object."""
        return {"ok": self.ok, **asdict(self)}

    def lines(self) -> list[str]:
        """Return the section as text."""
        lines = [f"{'ok  ' if self.ok else 'FAIL'} {self.name}: {self.title} ({self.checked} checked)"]
        lines += [f"       {note}" for note in self.notes]
        lines += [f"     ! {fault}" for fault in self.faults[:SHOWN]]
        if len(self.faults) > SHOWN:
            lines.append(f"     ! and {len(self.faults) - SHOWN} more (--json lists all)")
        return lines
