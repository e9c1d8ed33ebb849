"""What a person settles about an import before it is written: which tools, which effects, which name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from toolbench.authoring.importing.material import Material
from toolbench.domain.canonical import JSON
from toolbench.errors import SuiteError


def chosen(material: Material, only: Sequence[str] = (), effects: Sequence[str] = ()) -> Material:
    """Return the material with some of its tools, and with effects that were told instead of guessed.

    Parameters
    ----------
    only
        Names of tools to keep; empty keeps all.
    effects
        ``TOOL=read`` or ``TOOL=write``.

    Raises
    ------
    SuiteError
        For a tool that is not there, or an effect that is none.
    """
    told: dict[str, str] = {}
    for text in effects:
        name, _, effect = text.partition("=")
        if effect not in ("read", "write"):
            raise SuiteError(f"--effect {text[:80]!r}: write TOOL=read or TOOL=write")
        told[name] = effect
    names = [tool["name"] for tool in material.tools]
    for name in (*only, *told):
        if name not in names:
            raise SuiteError(f"{name[:80]!r}: no such tool; there are: {', '.join(names)[:200]}")
    kept = [tool for tool in material.tools if not only or tool["name"] in only]
    return replace(material, tools=[_told(tool, told.get(tool["name"])) for tool in kept])


def _told(tool: JSON, effect: str | None) -> JSON:
    if effect is None:
        return tool
    guessed = {field: why for field, why in tool.get("guessed", {}).items() if field != "effect"}
    settled = {**tool, "effect": effect, "guessed": guessed}
    return settled if guessed else {key: value for key, value in settled.items() if key != "guessed"}


def suite_name(source: str) -> str:
    """Return a name of a suite from the name of a file or module."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", source).strip("_-")[:64] or "imported"
