"""What a simulated model answers: the first rule that applies, bent by what the request asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from string import Template
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.simulator.exchange import Call, Conversation, Model, Reply, Tool
from toolbench.simulator.script import decisions

READERS: Mapping[str, Callable[[str], JSON]] = {
    "integer": int,
    "number": float,
    "boolean": lambda text: text.casefold() in ("true", "yes", "on", "1", "да"),
    "string": str,
}
"""Type of `script.GROUP_TYPES` -> what a copied group becomes."""

DEFAULT_REASONING = "Let me see what is asked here."

LEAKS = {
    "hermes": '<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>',
    "fenced": '```json\n{{"name": "{name}", "arguments": {arguments}}}\n```',
    "bare": '{{"name": "{name}", "arguments": {arguments}}}',
    "harmony": "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>",
    "xml": "<function={name}>{arguments}</function>",
}
"""How models write a call into their text when the server's parser misses it."""

SAMPLES: dict[str, JSON] = {"integer": 1, "number": 1.5, "boolean": True, "null": None}
WORD = re.compile(r"[^\W_]{3,}")


def decide(model: Model, conversation: Conversation) -> tuple[Reply, JSON]:
    """Return the model's reply and the fault that its rule asks for (None without one)."""
    for rule in model.rules:
        groups = _captures(rule.get("when", {}), conversation)
        if groups is not None:
            choices = decisions(rule)
            then = choices[min(conversation.step, len(choices)) - 1]
            return _reply(then, conversation, groups), then.get("fault")
    return _obey(_think(Reply(), conversation), conversation), None


def _captures(when: JSON, conversation: Conversation) -> dict[str, str] | None:
    """Return what a rule's condition captures, or None when the rule does not apply."""
    results = conversation.results
    groups = {"user": conversation.user, "result": results[-1].text if results else ""}
    expected = when.get("after_tool_result")
    if isinstance(expected, bool) and expected != bool(results):
        return None
    if isinstance(expected, str) and expected not in [result.name for result in results]:
        return None
    if when.get("turn", conversation.turn) != conversation.turn:
        return None
    if when.get("user_contains", "").casefold() not in conversation.user.casefold():
        return None
    if "tool_offered" in when and when["tool_offered"] not in [tool.name for tool in conversation.tools]:
        return None
    if "user_matches" in when:
        match = re.search(when["user_matches"], conversation.user)
        if match is None:
            return None
        groups |= {name: text or "" for name, text in match.groupdict().items()}
    return groups


def _reply(then: JSON, conversation: Conversation, groups: Mapping[str, str]) -> Reply:
    text = Template(then.get("text", "")).safe_substitute(groups)
    calls = tuple(_call(call, groups) for call in then.get("calls", ()))
    if how := then.get("call_offered"):
        tool = _pick(how, conversation)
        if tool is not None:
            text, calls = "", (_made_up(tool, conversation),)
    if leak := then.get("leak"):
        written = [LEAKS[leak].format(name=call.name, arguments=call.arguments) for call in calls]
        text, calls = "\n".join([*filter(None, [text]), *written]), ()
    reply = Reply(text, calls, then.get("refusal"), then.get("reasoning"))
    if not then.get("disobeys"):
        reply = _obey(reply, conversation)
    if then.get("truncated"):
        reply = _cut(reply)
    return _think(reply, conversation)


def _call(call: JSON, groups: Mapping[str, str]) -> Call:
    if "raw_arguments" in call:
        return Call(call["name"], Template(call["raw_arguments"]).safe_substitute(groups))
    return Call(call["name"], json.dumps(_filled(call["arguments"], groups), ensure_ascii=False))


def _filled(value: JSON, groups: Mapping[str, str]) -> JSON:
    if isinstance(value, str):
        return Template(value).safe_substitute(groups)
    if isinstance(value, list):
        return [_filled(item, groups) for item in value]
    if isinstance(value, dict):
        if "$group" in value:
            return _read_group(groups[value["$group"]], value.get("as", "string"))
        return {key: _filled(item, groups) for key, item in value.items()}
    return value


def _read_group(text: str, kind: str) -> JSON:
    try:
        return READERS[kind](text)
    except ValueError:
        # A model that reads no number says what it read.
        return text


def _obey(reply: Reply, conversation: Conversation) -> Reply:
    """Hold a reply to tool_choice and the parallel switch, as a server with constrained decoding does."""
    choice = conversation.choice
    if choice.mode == "none" and reply.calls:
        return replace(reply, calls=(), text=reply.text or "I may not call a tool here.")
    if choice.mode == "required" and reply.refusal is None:
        allowed = {*choice.names} if choice.names else {tool.name for tool in conversation.tools}
        calls = tuple(call for call in reply.calls if call.name in allowed)
        if not calls:
            best = _pick("best_match", conversation) or _pick("first", conversation)
            calls = (_made_up(best, conversation),) if best else ()
        reply = replace(reply, calls=calls)
    if not conversation.parallel:
        reply = replace(reply, calls=reply.calls[:1])
    return reply


def _cut(reply: Reply) -> Reply:
    if reply.calls:
        last = reply.calls[-1]
        half = replace(last, arguments=last.arguments[: len(last.arguments) // 2])
        return replace(reply, calls=(*reply.calls[:-1], half), truncated=True)
    return replace(reply, text=reply.text[: len(reply.text) // 2], truncated=True)


def _think(reply: Reply, conversation: Conversation) -> Reply:
    reasoning = reply.reasoning if reply.reasoning is not None else DEFAULT_REASONING
    return replace(reply, reasoning=reasoning if conversation.thinking else None)


def _pick(how: str, conversation: Conversation) -> Tool | None:
    """Return an offered tool: the first, or the one that shares most words with the last user message."""
    names = conversation.choice.names
    tools = [tool for tool in conversation.tools if not names or tool.name in names]
    if not tools or how == "first":
        return tools[0] if tools else None
    wanted = _words([conversation.user])

    def shared(tool: Tool) -> int:
        return 2 * len(wanted & _words([tool.name])) + len(wanted & _words([tool.description]))

    best = max(tools, key=shared)
    return best if shared(best) else None


def _words(texts: Iterable[str]) -> set[str]:
    return {word.casefold() for text in texts for word in WORD.findall(text)}


def _made_up(tool: Tool, conversation: Conversation) -> Call:
    if tool.custom:
        return Call(tool.name, conversation.user)
    parameters = tool.parameters if isinstance(tool.parameters, dict) else {}
    value = _sample({**parameters, "type": "object"}, parameters, conversation.user)
    return Call(tool.name, json.dumps(value, ensure_ascii=False))


def _sample(schema: JSON, root: JSON, text: str, depth: int = 0) -> JSON:
    """Return a value that fits a schema's types, enums and minimum; patterns and lengths are not read."""
    if not isinstance(schema, dict) or depth > 8:
        return None
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    if reference := schema.get("$ref"):
        return _sample(root.get("$defs", {}).get(reference.rsplit("/", 1)[-1]), root, text, depth + 1)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return _sample(branches[0], root, text, depth + 1)
    kinds = schema.get("type", "string")
    kind = str(kinds[0] if isinstance(kinds, list) else kinds).lower()
    if kind == "object":
        properties: dict[str, Any] = schema.get("properties", {})
        wanted = [name for name in properties if name in schema.get("required", ())]
        return {name: _sample(properties[name], root, text, depth + 1) for name in wanted}
    if kind == "array":
        count = max(1, schema.get("minItems", 1))
        return [_sample(schema.get("items", {}), root, text, depth + 1) for _ in range(count)]
    if kind in ("integer", "number") and "minimum" in schema:
        return schema["minimum"]
    return SAMPLES.get(kind, text)
