"""Finding tool calls that a model wrote into its text instead of making them.

A leaked call never becomes a call: the decision stays text, with a warning and the find kept for analysis.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from toolbench.domain.canonical import too_deep

MARKUP = re.compile(
    r"</?tool_call\b|<function[=_ ]|\[TOOL_CALLS\]|<\|tool_call|<\|python_tag\|>|<\|channel\|>\s*commentary"
)
_LONGEST_SEARCHED = 20_000


def find_leaked_calls(text: str, tool_names: Collection[str]) -> tuple[list[dict[str, Any]], bool]:
    """Return ``(calls, marked)``: objects in the text that read like calls, and whether call markup occurs.

    An object counts when it names a tool on offer (or is marked up as a call) and has arguments beside the
    name. Unparsable markup gives ``([], True)``.
    """
    text = text[:_LONGEST_SEARCHED]
    marked = bool(MARKUP.search(text))
    calls = []
    for value in _objects(text):
        nested = value.get("function")
        body: dict[str, Any] = nested if isinstance(nested, dict) else value
        name = body.get("name") or body.get("tool") or body.get("function")
        arguments = body.get("arguments", body.get("parameters", body.get("args")))
        if isinstance(name, str) and arguments is not None and (marked or name in tool_names):
            calls.append({"name": name, "arguments": arguments})
    return calls, marked


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    position = text.find("{")
    while position != -1:
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            if isinstance(value, dict) and not too_deep(value):
                yield value
        position = text.find("{", end)
