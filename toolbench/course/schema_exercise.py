"""Exercise: the schemas of the three tools, and what would have been generated from the functions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from toolbench.course import layout
from toolbench.course.problems import Problem, attempted, problem
from toolbench.course.words import Words
from toolbench.domain.contract import ToolSpec
from toolbench.domain.validation import build_validator
from toolbench.errors import SuiteError
from toolbench.showing import html
from toolbench.showing.html import Page

PARAMETERS = {
    "calculate": ("expression",),
    "get_exchange_rate": ("base", "quote"),
    "get_time": ("timezone",),
}
EXAMPLES = {
    "calculate": re.compile(r"\d ?[-+*/]"),
    "get_exchange_rate": re.compile(r"(?!ISO)\b[A-Z]{3}\b"),
    "get_time": re.compile(r"[A-Z][A-Za-z]+/[A-Z]"),
}
"""What an example of a value looks like in the description of a parameter."""
FEWEST_WORDS = 8
MOST_CHARACTERS = 700
SPELLINGS = ("parameters", "input_schema")
"""Chat Completions, Responses and Gemini call it the one, Claude the other."""


def read_schemas(answer: object) -> list[dict[str, Any]] | None:
    """Return name, description and parameters of every tool, however a provider wraps them; else ``None``."""
    if not isinstance(answer, Sequence) or isinstance(answer, str):
        return None
    read = []
    for entry in answer:
        inner = entry.get("function", entry) if isinstance(entry, Mapping) else None
        if not isinstance(inner, Mapping):
            return None
        schema = next((inner[key] for key in SPELLINGS if key in inner), None)
        read.append(
            {"name": inner.get("name"), "description": inner.get("description"), "parameters": schema}
        )
    return read


def as_tools(answer: object) -> tuple[ToolSpec, ...]:
    """Return schemas that have passed the check as tools to offer to a model."""
    return tuple(
        ToolSpec(tool["name"], {"": tool["description"]}, tool["parameters"])
        for tool in read_schemas(answer) or ()
    )


def check_schemas(answer: object) -> list[Problem]:
    """Return what is wrong with a student's schemas: first their shape, then all faults of their words."""
    tools = read_schemas(answer)
    if tools is None:
        return [problem("schemas.not_a_list", found=type(answer).__name__)]
    if not tools:
        return [problem("schemas.not_started")]
    names = [tool["name"] for tool in tools]
    if missing := [name for name in PARAMETERS if name not in names]:
        return [problem("schemas.missing", missing=", ".join(missing))]
    if extra := [str(name) for name in names if name not in PARAMETERS or names.count(name) > 1]:
        return [problem("schemas.extra", extra=", ".join(extra))]
    for tool in tools:
        if found := _schema(tool["name"], tool["parameters"]):
            return [found]
    return [found for tool in tools if (found := _words(tool))]


def _schema(name: str, schema: Any) -> Problem | None:
    if not isinstance(schema, dict):
        return problem("schemas.no_schema", tool=name)
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        return problem("schemas.not_an_object", tool=name)
    wanted = PARAMETERS[name]
    if sorted(schema["properties"]) != sorted(wanted):
        found, right = ", ".join(schema["properties"]), ", ".join(wanted)
        return problem("schemas.parameters", tool=name, found=found, wanted=right)
    if attempted(lambda: build_validator(schema, name))[1] is not None:
        return problem("schemas.invalid", tool=name)
    for parameter, entry in schema["properties"].items():
        if not isinstance(entry, dict) or entry.get("type") != "string":
            return problem("schemas.type", tool=name, parameter=parameter)
    if sorted(schema.get("required", ())) != sorted(wanted):
        return problem("schemas.required", tool=name, wanted=", ".join(wanted))
    if schema.get("additionalProperties") is not False:
        return problem("schemas.open", tool=name)
    return None


def _words(tool: Mapping[str, Any]) -> Problem | None:
    name, description = tool["name"], tool["description"]
    if not isinstance(description, str) or not description.strip():
        return problem("schemas.no_description", tool=name)
    if len(description.split()) < FEWEST_WORDS:
        return problem("schemas.short", tool=name, found=description, words=FEWEST_WORDS)
    if len(description) > MOST_CHARACTERS:
        return problem("schemas.long", tool=name, limit=MOST_CHARACTERS)
    texts = {
        key: str(entry.get("description", "")) for key, entry in tool["parameters"]["properties"].items()
    }
    for parameter, text in texts.items():
        if not text.strip():
            return problem("schemas.undescribed", tool=name, parameter=parameter)
        if not EXAMPLES[name].search(text + _fixed(tool, parameter)):
            return problem("schemas.no_example", tool=name, parameter=parameter, found=text)
    if name == "get_exchange_rate" and texts["base"].casefold() == texts["quote"].casefold():
        return problem("schemas.same")
    return None


def _fixed(tool: Mapping[str, Any], parameter: str) -> str:
    """Return the listed values of a parameter: an enum is an example too."""
    return " ".join(map(str, tool["parameters"]["properties"][parameter].get("enum", ())))


def compared_page(answer: object, functions: Sequence[Callable[..., Any]], words: Words) -> Page:
    """Each schema beside the one that annotations and docstring give, and where the two differ."""
    written = {tool["name"]: tool for tool in read_schemas(answer) or ()}
    panels, rows = [], []
    for fn in functions:
        name = getattr(fn, "__name__", "?")
        mine = written.get(name, {})
        try:
            spec = ToolSpec.from_function(fn)
        except SuiteError as fault:
            panels.append((name, layout.box("note", words("not_generated"), html.paragraph(str(fault)))))
            continue
        generated = {
            "name": spec.name,
            "description": spec.described(""),
            "parameters": dict(spec.parameters),
        }
        pair = (layout.pretty(mine, 400), layout.pretty(generated, 400))
        panels += [
            (words("written", name=name), layout.code(pair[0])),
            (words("generated"), layout.changed(*pair)),
        ]
        rows.append((name, _differences(mine, generated) or "—"))
    names = [words("column_tool"), words("column_differs")]
    return layout.table(pd.DataFrame(rows, columns=names)) + layout.columns(panels, 30)


def _differences(mine: Mapping[str, Any], generated: Mapping[str, Any]) -> str:
    ours, theirs = _leaves(mine), _leaves(generated)
    return ", ".join(key for key in dict.fromkeys([*ours, *theirs]) if ours.get(key) != theirs.get(key))


def _leaves(value: Any, path: str = "") -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {path: json.dumps(value, sort_keys=True)}
    found: dict[str, str] = {}
    for key, inner in value.items():
        found |= _leaves(inner, f"{path}.{key}" if path else str(key))
    return found
