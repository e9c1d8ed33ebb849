"""Trivial players that put a floor under every figure.

A baseline answers Chat Completions requests from inside the process, so it passes through the same adapter,
loop, log and checks as a model. It sees only what a model sees — except the keyword router, which is also
given the contract's word lists.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from toolbench.domain.canonical import JSON, sha256
from toolbench.domain.contract import Contract, ToolSpec

Body = Mapping[str, Any]


class Player(Protocol):
    """Anything that answers a Chat Completions request body with a response body."""

    def __call__(self, body: Body) -> dict[str, Any]:
        """Return the response body."""
        ...


def baseline(name: str, contract: Contract, lang: str, seed: int) -> Player:
    """Return a baseline by name; ``seed`` matters to ``random_tool`` only."""
    players: dict[str, Player] = {
        "always_silent": always_silent,
        "always_first_tool": always_first_tool,
        "random_tool": RandomTool(seed),
        "keyword_router": KeywordRouter(contract, lang),
    }
    return players[name]


def always_silent(body: Body) -> dict[str, Any]:
    """Never call anything; answer with a dot."""
    return reply(text=".")


def always_first_tool(body: Body) -> dict[str, Any]:
    """Call the first tool on offer with placeholder arguments, once; then fall silent."""
    tools = body.get("tools", [])
    if not tools or _answered(body):
        return reply(text=".")
    return reply(calls=[_placeholder_call(tools[0]["function"])])


class RandomTool:
    """Choose uniformly between staying silent and each tool on offer, seeded by seed and request."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, body: Body) -> dict[str, Any]:
        """Return a random placeholder call, or silence."""
        tools = body.get("tools", [])
        draw = random.Random(f"{self._seed}:{sha256(list(body['messages']))}")
        chosen = draw.randrange(len(tools) + 1)
        if _answered(body) or chosen == len(tools):
            return reply(text=".")
        return reply(calls=[_placeholder_call(tools[chosen]["function"])])


class KeywordRouter:
    """Choose the tool whose keywords occur most and fill arguments by pattern; ask when one is missing.

    Arguments come from the schema alone: a pattern or number found in the text, an enum value or declared
    synonym that occurs in it. What cannot be found this way is asked for.
    """

    def __init__(self, contract: Contract, lang: str) -> None:
        self._contract = contract
        self._lang = lang

    def __call__(self, body: Body) -> dict[str, Any]:
        """Return a call, a question, or the tool's answer read back."""
        last = body["messages"][-1]
        if last["role"] == "tool":
            return reply(text=str(last["content"]))
        text = str(last["content"])
        offered = {tool["function"]["name"] for tool in body.get("tools", [])}
        scores = {
            tool.name: sum(word in text.lower() for word in tool.keywords.get(self._lang, ()))
            for tool in self._contract.by_name.values()
            if tool.name in offered
        }
        best = max(scores, key=lambda name: scores[name], default=None)
        if best is None or scores[best] == 0:
            return reply(text=".")
        tool = self._contract.by_name[best]
        arguments: dict[str, JSON] = {}
        used: set[int] = set()
        for name, schema in tool.properties.items():
            arguments[name] = self._find(tool, name, schema, text, used)
        missing = [name for name in tool.required if arguments[name] is None]
        if missing:
            words = [
                next(iter(tool.ask_words.get(name, {}).get(self._lang, [name])), name) for name in missing
            ]
            return reply(text=f"{', '.join(words)}?")
        return reply(calls=[(best, {name: value for name, value in arguments.items() if value is not None})])

    def _find(self, tool: ToolSpec, name: str, schema: Mapping[str, Any], text: str, used: set[int]) -> JSON:
        """Return the first value found in the text that no earlier argument has taken, or ``None``."""
        known = {str(value): () for value in schema.get("enum", ())} | dict(tool.synonyms.get(name, {}))
        found = [
            (match.start(), word, value)
            for value, wordings in known.items()
            for word in (value, *wordings)
            for match in re.finditer(rf"\b{re.escape(word.lower())}\b", text.lower())
            if match.start() not in used
        ]
        if found:
            position, word, value = min(found)
            used.add(position)
            # A canonical name in another alphabet is not how this user says it.
            return value if "enum" in schema or value.isascii() == word.isascii() else word
        if "pattern" in schema:
            match = re.search(str(schema["pattern"]).strip("^$"), text)
            return match.group(0) if match else None
        if schema.get("type") in ("number", "integer"):
            match = re.search(r"(?<![\w-])\d+(?:[.,]\d+)?", text)
            return float(match.group(0).replace(",", ".")) if match else None
        return None


def reply(text: str = "", calls: Sequence[tuple[str, Mapping[str, JSON]]] = ()) -> dict[str, Any]:
    """Return a Chat Completions response body with a text or with calls."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{index}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
            }
            for index, (name, arguments) in enumerate(calls)
        ]
    finish = "tool_calls" if calls else "stop"
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


def _answered(body: Body) -> bool:
    return bool(body["messages"][-1]["role"] == "tool")


def _placeholder_call(function: Mapping[str, Any]) -> tuple[str, dict[str, JSON]]:
    schema = function["parameters"]
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    return function["name"], {name: _placeholder(properties.get(name, {})) for name in required}


def _placeholder(schema: Mapping[str, Any]) -> JSON:
    if schema.get("enum"):
        return schema["enum"][0]
    kinds = schema.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    values: dict[str, JSON] = {"number": 1.0, "integer": 1, "boolean": False, "array": [], "object": {}}
    return values.get(kind, "x")
