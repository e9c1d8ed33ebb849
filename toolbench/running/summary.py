"""How a run went, and what to do about what did not go."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from toolbench.domain.log import BadLine
from toolbench.domain.plurals import plural
from toolbench.domain.record import Attempt
from toolbench.domain.rich import html_table

REMEDIES = {
    "forced_choice_refused": "leave forcing conditions out for this model, or switch its thinking off",
    "forced_choice_ignored": "leave forcing conditions out for this model: its server has no such field",
    "allowed_tools_unsupported": "leave this condition out for this model, or name a profile with a list",
    "parallel_switch_unsupported": "leave this condition out for this model: its server has no such switch",
    "tools_unsupported": "choose a model, a protocol or a server's start option that takes tools",
    "sampling_refused": 'set the refused setting to null under "settings" of the model',
    "parameter_refused": 'name the refused field under "omit" of the model, or choose its profile',
    "history_refused": 'choose the "profile" of the model that fits its server',
    "schema_inexpressible": "simplify the tool's schema, or leave this model out of the suite",
}
"""Code of an unsupported attempt → what a user can do."""


@dataclass
class RunSummary:
    """How a run went.

    ``abandoned`` maps ``provider/model/protocol`` to the reason its remaining attempts were not made;
    ``unsupported`` counts what was refused by player, condition and code, ``reasons`` has the first message
    of each, and ``supported`` counts the other attempts of models; ``stopped`` says why the
    whole run ended early. ``wanted`` of the ``total`` planned attempts were to be made in this sitting;
    ``batches_out`` are batches that a provider is still working on.
    """

    path: Path
    total: int = 0
    wanted: int = 0
    made: int = 0
    skipped: int = 0
    transport_errors: int = 0
    judge_errors: int = 0
    abandoned: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None
    set_aside: BadLine | None = None
    unsupported: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    reasons: dict[tuple[str, str, str], str] = field(default_factory=dict)
    supported: int = 0
    batches_out: list[str] = field(default_factory=list)

    def count(self, attempt: Attempt) -> None:
        """Take an attempt of a model into account, made now or before."""
        if attempt.key.player.is_baseline:
            return
        if attempt.status == "unsupported" and attempt.error:
            kind = str(attempt.key.player), attempt.condition, attempt.stop
            self.unsupported[kind] += 1
            self.reasons.setdefault(kind, str(attempt.error["message"]))
        else:
            self.supported += 1

    @property
    def done(self) -> bool:
        """Whether everything that was to be made in this sitting has a usable record."""
        return self.made == self.wanted and not self.transport_errors and not self.judge_errors

    @property
    def complete(self) -> bool:
        """Whether every planned attempt has a usable record."""
        return self.done and self.made + self.skipped == self.total

    @property
    def nothing_supported(self) -> bool:
        """Whether not one attempt of a model could be played as it was asked for."""
        return bool(self.unsupported) and not self.supported

    @property
    def refusals(self) -> list[str]:
        """One line per player, condition and reason that could not be played, with what to do."""
        return [
            f"{plural(number, 'attempt')} of {kind[0]} under {kind[1]} unsupported: {self.reasons[kind]}"
            + (f" — {REMEDIES[kind[2]]}" if kind[2] in REMEDIES else "")
            for kind, number in self.unsupported.items()
        ]

    def _repr_html_(self) -> str:
        names = ("total", "made", "skipped", "transport_errors", "judge_errors")
        notes = [*(f"{name}: given up: {why}" for name, why in self.abandoned.items()), self.stopped or ""]
        row = {**{name: getattr(self, name) for name in names}, "unsupported": self.unsupported.total()}
        return html_table(f"{self.path}", [row], [note for note in [*notes, *self.refusals] if note])
