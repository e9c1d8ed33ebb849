"""Tools as any source describes them → entries of ``tools.json``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolbench.authoring.importing.effects import guess_effect
from toolbench.authoring.importing.schemas import EMPTY, usable_schema
from toolbench.domain.canonical import JSON
from toolbench.domain.contract import Effect
from toolbench.errors import SuiteError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Names that every provider takes."""


@dataclass(frozen=True)
class FoundTool:
    """A tool as a source describes it.

    Attributes
    ----------
    name, description, parameters
        As found; ``None`` where the source says nothing.
    effect, reason
        The effect if the source tells it, and how sure that is: an empty reason is no guess.
    confirmation
        Whether the user must agree first.
    output
        JSON Schema of its results.
    beside
        Names of further things the source says that a contract has no place for.
    """

    name: JSON
    description: JSON = None
    parameters: JSON = None
    effect: Effect | None = None
    reason: str = ""
    confirmation: bool = False
    output: Mapping[str, JSON] | None = None
    beside: Iterable[str] = field(default_factory=tuple)


class Entries(NamedTuple):
    """Entries of ``tools.json``; a remark for everything that changed or is missing; what goes beside.

    ``outputs`` holds result schemas by name, ``names`` the name here by the name as found.
    """

    tools: list[JSON]
    remarks: list[str]
    outputs: dict[str, JSON]
    names: dict[str, str]


def entries(found: Iterable[FoundTool]) -> Entries:
    """Return what a suite can say of tools.

    A tool that cannot be offered at all is left out with its reason; so is the second of two equal names.
    """
    found = list(found)
    made: dict[str, JSON] = {}
    # A name that can stay is never given to another tool.
    taken = {tool.name for tool in found if isinstance(tool.name, str) and NAME.fullmatch(tool.name)}
    remarks: list[str] = []
    seen: set[str] = set()
    outputs: dict[str, JSON] = {}
    names: dict[str, str] = {}
    for index, tool in enumerate(found):
        shown = _shown(tool.name) if isinstance(tool.name, str) and tool.name else f"tool {index + 1}"
        if shown in seen:
            remarks.append(f"{shown}: left out: a tool of this name came before")
            continue
        seen.add(shown)
        try:
            entry, told = _entry(tool, index, taken)
        except SuiteError as fault:
            remarks.append(f"{shown}: left out: {_line(str(fault))}")
            continue
        made[entry["name"]] = entry
        taken.add(entry["name"])
        names[str(tool.name)] = entry["name"]
        if tool.output is not None:
            outputs[entry["name"]] = tool.output
        remarks += [f"{shown}: {_line(text)}" for text in told]
    return Entries(list(made.values()), remarks, outputs, names)


def _entry(tool: FoundTool, index: int, taken: Container[str]) -> tuple[dict[str, JSON], list[str]]:
    if not isinstance(tool.name, str) or not tool.name.strip():
        raise SuiteError("it has no name")
    parameters: Any = EMPTY if tool.parameters in (None, {}) else tool.parameters
    if not isinstance(parameters, dict):
        raise SuiteError("its parameters are no JSON Schema object")
    schema, lost = usable_schema(parameters)
    told = [f"parameters: {text}" for text in lost]
    name = _name(tool.name, index, taken)
    if name != tool.name:
        told.append(f"renamed to {name}: not every provider takes the name")
    description = tool.description.strip() if isinstance(tool.description, str) else ""
    guessed: dict[str, str] = {}
    if not description:
        description = name.replace("_", " ").replace("-", " ").strip() or name
        guessed["description"] = "there was none, the name is all a model gets"
    effect, reason = (tool.effect, tool.reason) if tool.effect else guess_effect(name)
    if reason:
        guessed["effect"] = reason
    told += [f"{key}: left out, a contract has no place for it" for key in tool.beside]
    entry: dict[str, JSON] = {
        "name": name,
        "description": description,
        "parameters": schema,
        "effect": effect,
    }
    if tool.confirmation:
        entry["confirmation"] = True
        guessed["confirmation"] = reason
    if guessed:
        entry["guessed"] = guessed
    return entry, told


def _name(name: str, index: int, taken: Container[str]) -> str:
    """Return a name that every provider takes, the same one where it can be."""
    if NAME.fullmatch(name):
        return name
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_")[:60]
    if not plain or not re.search("[A-Za-z]", plain):
        plain = f"tool_{index + 1}"
    elif not NAME.fullmatch(plain):
        plain = f"_{plain}"
    number, free = 2, plain
    while free in taken:
        free, number = f"{plain[:58]}_{number}", number + 1
    return free


def _shown(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:77]}..."


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:197]}..."
