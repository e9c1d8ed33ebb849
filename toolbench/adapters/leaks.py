"""Finding tool calls that a model wrote into its text instead of making them.

A leaked call never becomes a call: the decision stays text, with a warning and the find kept for analysis.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterator
from typing import Any

from toolbench.domain.canonical import too_deep

MARKUP = re.compile(
    r"</?tool_calls?\b|<function[=_ ]|\[TOOL_CALLS\]|<\|tool_call|<\|python_tag\|>|<\|channel\|>\s*commentary"
    r"|<[^<>\s]{0,20}[:|｜]?(?:invoke|tool_calls?|function_calls)\b[^<>]*>|<\|?tool_calls?_(?:section_)?begin\|?>"
    r"|<｜tool▁calls?▁begin｜>|<arg_key>|functools\["
)
_INVOKE = re.compile(
    r"<[^<>\s/]{0,20}?invoke name=\"([^\"]+)\"[^<>]*>(.*?)(?:</[^<>\s]{0,20}?invoke>|\Z)", re.DOTALL
)
_PARAMETER = re.compile(
    r"<[^<>\s/]{0,20}?parameter name=\"([^\"]+)\"[^<>]*>(.*?)</[^<>\s]{0,20}?parameter>", re.DOTALL
)
_LONGEST_SEARCHED = 20_000


def find_leaked_calls(text: str, tool_names: Collection[str]) -> tuple[list[dict[str, Any]], bool]:
    """Return ``(calls, marked)``: what in the text reads like calls, and whether call markup occurs.

    An object counts when it names a tool on offer (or is marked up as a call) and has arguments beside the
    name; so does an invocation in markup, or a list of Python calls that is the whole text. Unparsable markup
    gives ``([], True)``.
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
    if marked and not calls:
        calls = [
            {"name": name, "arguments": dict(_PARAMETER.findall(body))}
            for name, body in _INVOKE.findall(text)
        ]
    return calls or _python_calls(text, tool_names), marked


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


def _python_calls(text: str, tool_names: Collection[str]) -> list[dict[str, Any]]:
    """Return the calls of a text such as ``[look(city="Oslo")]`` that names only tools on offer."""
    source = re.sub(r"\A(<\|[a-z_]+\|>)+|(<\|[a-z_]+\|>)+\Z", "", text.strip()).strip("` \n")
    source = source.removeprefix("python\n").strip()
    if not re.match(r"\[?\s*[\w.]+\(", source):
        return []
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        return [_python_call(node, tool_names) for node in nodes]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _python_call(node: ast.expr, tool_names: Collection[str]) -> dict[str, Any]:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in tool_names):
        raise ValueError("no call of a tool")
    return {
        "name": node.func.id,
        "arguments": {word.arg or "": ast.literal_eval(word.value) for word in node.keywords},
    }
