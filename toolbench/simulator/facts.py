"""Single rules of providers that were looked up one by one, each with its source and date (`facts.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from toolbench.simulator.failures import HERE, Failure


@dataclass(frozen=True)
class Fact:
    """One rule.

    Attributes
    ----------
    says
        The rule in one sentence.
    message, code, type
        How the provider refuses what breaks it; empty for a rule that only allows something.
    values
        The words of the protocol that the rule is about.
    source, date
        Where it was read, and the day of the newest of those places (ISO 8601).
    """

    says: str
    source: str
    date: str
    message: str = ""
    code: str | None = None
    type: str | None = None
    values: tuple[str, ...] = ()


@cache
def facts() -> Mapping[str, Fact]:
    """Return every rule by name."""
    table = json.loads((HERE / "facts.json").read_text("utf-8"))
    return {
        name: Fact(**{**entry, "values": tuple(entry.get("values", ()))}) for name, entry in table.items()
    }


def refusal(rule: str, param: str | None = None, /, **places: object) -> Failure:
    """Return the refusal of what breaks a rule; ``places`` fill its words."""
    fact = facts()[rule]
    return Failure(400, fact.message.format(**places), fact.type, fact.code, param)
