"""Lists of tools as they are sent to models: Chat Completions, Responses, Anthropic, Gemini, Ollama, MCP.

Each entry shows by its keys which shape it has; a whole request body with ``tools`` in it will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolbench.authoring.importing.effects import guess_effect
from toolbench.authoring.importing.entries import FoundTool, entries
from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.reading import read_values
from toolbench.domain.canonical import JSON
from toolbench.errors import SuiteError

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
"""Where the shapes keep a tool's JSON Schema."""

OUTPUT_KEYS = ("outputSchema", "output_schema", "response", "responseJsonSchema", "response_json_schema")
DECLARATIONS = ("functionDeclarations", "function_declarations")
OF_A_FUNCTION = (None, "function", "custom", "object")
"""Values of ``type`` that stand for a function of the user's own; others are run by the provider."""

CARRIED = frozenset(
    {"name", "type", "description", "effect", "confirmation", "annotations", *SCHEMA_KEYS, *OUTPUT_KEYS}
)
HINTS = ("readOnlyHint", "destructiveHint")
"""Annotations of MCP that say something of an effect."""


def import_tool_list(source: str) -> Material:
    """Read a file of tools.

    Raises
    ------
    SuiteError
        When the file holds no tool.
    """
    path = Path(source)
    values, remarks = read_values(path)
    made = from_values(values, str(path))
    return replace(made, origin=f"tools of {path.name}", remarks=(*remarks, *made.remarks))


def from_values(values: list[JSON], where: str) -> Material:
    """Return the tools of parsed JSON: a list, an object with ``tools``, one tool, or several of these."""
    found: list[FoundTool] = []
    remarks: list[str] = []
    for entry in _entries(values):
        if isinstance(entry, dict):
            _sort(entry, found, remarks)
        else:
            remarks.append(f"{str(entry)[:40]!r}: left out: not an object")
    made = entries(found)
    told = (*remarks, *made.remarks)
    if not made.tools:
        why = "; ".join(told[:3])
        raise SuiteError(f"{where}: no tool in it that could be used{': ' if why else ''}{why}")
    return Material(where, made.tools, (), told, made.outputs, made.names)


def _entries(values: list[JSON]) -> Iterator[JSON]:
    for value in values:
        if isinstance(value, list):
            yield from _entries(value)
        elif isinstance(value, dict) and isinstance(value.get("tools"), list):
            yield from _entries(value["tools"])
        elif isinstance(value, dict) and isinstance(value.get("result"), dict):
            yield from _entries([value["result"]])
        else:
            yield value


def _sort(entry: Mapping[str, Any], found: list[FoundTool], remarks: list[str]) -> None:
    """Put what an entry declares where it belongs."""
    declared = next((entry[key] for key in DECLARATIONS if isinstance(entry.get(key), list)), None)
    if declared is not None:
        for one in declared:
            if isinstance(one, dict):
                found.append(found_tool(one))
        remarks += [f"{key}: left out, the provider runs it" for key in entry if key not in DECLARATIONS]
        return
    kind = entry.get("type")
    # Ollama's type of a tool may be missing; "custom" with a grammar is text, not arguments.
    if kind not in OF_A_FUNCTION or (kind == "custom" and not any(key in entry for key in SCHEMA_KEYS)):
        remarks.append(f"{entry.get('name') or kind}: left out: a tool of type {str(kind)[:40]!r}")
    elif isinstance(entry.get("function"), dict):
        found.append(found_tool(entry["function"]))
    elif "name" in entry:
        found.append(found_tool(entry))
    else:
        keys = ", ".join(map(str, list(entry)[:6])) or "nothing"
        remarks.append(f"an object with {keys[:80]}: left out: no shape of a tool that is known here")


def found_tool(entry: Mapping[str, Any]) -> FoundTool:
    """Return a tool from the object that holds its name."""
    hints = entry["annotations"] if isinstance(entry.get("annotations"), dict) else {}
    effect, reason, destructive = _hinted(hints, str(entry.get("name")))
    if entry.get("effect") in ("read", "write"):
        effect, reason = entry["effect"], ""
    return FoundTool(
        name=entry.get("name"),
        description=entry.get("description"),
        parameters=next((entry[key] for key in SCHEMA_KEYS if entry.get(key) is not None), None),
        effect=effect,
        reason=reason,
        confirmation=destructive or entry.get("confirmation") is True,
        output=next((entry[key] for key in OUTPUT_KEYS if isinstance(entry.get(key), dict)), None),
        beside=[
            *(str(key) for key, value in entry.items() if key not in CARRIED and value is not None),
            *(f"annotations.{key}" for key in hints if key not in HINTS),
        ],
    )


def _hinted(hints: Mapping[str, Any], name: str) -> tuple[Any, str, bool]:
    """Return effect, reason and need of confirmation by MCP's annotations: hints, so still guesses."""
    if hints.get("readOnlyHint") is True:
        return "read", "its annotations say readOnlyHint", False
    if hints.get("destructiveHint") is True:
        return "write", "its annotations say destructiveHint", True
    if hints.get("readOnlyHint") is False:
        return "write", "its annotations say it is not read-only", False
    return *guess_effect(name), False
