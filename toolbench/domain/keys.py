"""What tells one player and one attempt from all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from toolbench.domain.canonical import one_line

BASELINE = "baseline"
"""The provider's name of the players that are no models; no model of a configuration may take it."""


class PlayerKey(NamedTuple):
    """A model behind one wire protocol, by the names it has in the log."""

    provider: str
    model: str
    protocol: str

    def __str__(self) -> str:
        return one_line("/".join(self))

    @property
    def is_baseline(self) -> bool:
        """Whether this is one of the baselines and no model."""
        return self.provider == BASELINE

    @classmethod
    def of(cls, names: Mapping[str, Any]) -> PlayerKey:
        """Return the key of anything that has its three names: a player of a header, a log line, a row."""
        return cls(*(str(names[name]) for name in cls._fields))


class AttemptKey(NamedTuple):
    """One attempt inside a run, made or still to be made."""

    provider: str
    model: str
    protocol: str
    suite: str
    lang: str
    condition: str
    case_id: str
    repetition: int

    def __str__(self) -> str:
        return one_line("/".join(self.texts))

    @property
    def player(self) -> PlayerKey:
        """Who makes the attempt."""
        return PlayerKey(*self[:3])

    @property
    def texts(self) -> tuple[str, ...]:
        """All parts as texts."""
        return tuple(str(part) for part in self)

    @classmethod
    def of(cls, names: Mapping[str, Any]) -> AttemptKey:
        """Return the key of a log line or of a row of any frame."""
        texts: dict[str, Any] = {name: str(names[name]) for name in cls._fields}
        return cls(**{**texts, "repetition": int(names["repetition"])})
