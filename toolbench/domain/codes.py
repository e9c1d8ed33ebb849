"""The registry of finding codes: what each means, what to check next, and which check raises it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources

from toolbench.domain.canonical import loads_strict

LANGS = ("ru", "en")


@dataclass(frozen=True)
class Code:
    """One kind of violated condition.

    Attributes
    ----------
    layer
        The family of checks it belongs to; flags and counts of an attempt are made of these.
    check
        ``module:function`` of the check that raises it.
    meaning, diagnosis
        By language: what happened, and what to look at next.
    also
        Other layers it is raised in → the check that does.
    """

    layer: str
    check: str
    meaning: Mapping[str, str]
    diagnosis: Mapping[str, str]
    also: Mapping[str, str] = field(default_factory=dict)

    @property
    def checks(self) -> Mapping[str, str]:
        """Every layer it is raised in → the check that does."""
        return {self.layer: self.check, **self.also}


def _read() -> dict[str, Code]:
    text = resources.files("toolbench.domain").joinpath("codes.json").read_text("utf-8")
    return {name: Code(**entry) for name, entry in loads_strict(text).items()}


CODES = _read()
"""Finding code → what is known of it, in the order of the checks; those of extensions come last."""
