"""Anthropic Messages: reading a request the way the provider does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.simulator import checks
from toolbench.simulator.exchange import Choice, Conversation, Request, Result, Tool, seal
from toolbench.simulator.facts import facts, refusal
from toolbench.simulator.failures import Failure, Family, families
from toolbench.simulator.strict_subset import strict_fault
from toolbench.simulator.structure import Shape, check_structure, load_schema

Block = dict[str, Any]
Message = dict[str, Any]

VERSIONS = {"2026-10-21": ("temperature", "top_p", "top_k"), "2023-06-01": ()}
"""API version -> the fields it no longer knows."""

WORDS = checks.Words(
    duplicate_tool="tools: Tool names must be unique.",
    bad_schema="tools.{name}.custom.input_schema: {why}",
    choice_without_tools="tool_choice may only be specified while providing tools",
    unknown_choice="Tool '{name}' not found in provided tools",
)

MODES = {"auto": "auto", "none": "none", "any": "required", "tool": "required"}
GATED = ("temperature", "top_p", "top_k")

UNANSWERED = (
    "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message."
)
UNCALLED = (
    "messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each "
    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
)
TEXT_FIRST = (
    "messages.{index}: `tool_result` blocks must come first in the content of the message that follows "
    "`tool_use`."
)
COUNTED = (
    "model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control",
    "workspace_id",
)  # fmt: skip
"""What a request to count tokens may hold."""


def read(request: Request) -> Conversation:
    """Check a request and return what a decision depends on.

    Raises
    ------
    Failure
        As the provider would refuse it.
    """
    body, family, model = request.body, families()["anthropic"], request.model
    check_structure(
        _shape(check_version(request.headers.get("anthropic-version")), request.counting), body, family
    )
    tools = [
        Tool(entry["name"], entry.get("description", ""), entry["input_schema"], bool(entry.get("strict")))
        for entry in body.get("tools", ())
    ]
    asked = body.get("tool_choice")
    choice = _choice(asked)
    checks.check_tools(tools, WORDS)
    _check_roots(tools)
    checks.check_choice(choice, tools, asked is not None, WORDS)
    if fault := strict_fault(tools, "anthropic"):
        raise checks.bad_schema(*fault, WORDS)
    messages: list[Message] = [{**message, "content": _blocks(message)} for message in body["messages"]]
    thinking = _thinking(request, choice, family)
    used = checks.settings_used(body, GATED)
    if choice.mode == "required":
        used.append(("forced_choice", "tool_choice", asked))
    if messages[-1]["role"] == "assistant":
        used.append(("prefill", "messages", True))
    checks.check_limits(model, thinking, used, family)
    _check_content(messages)
    _check_pairs(messages)
    _check_thinking(request, messages)
    return _conversation(
        messages, tools, choice, thinking, (asked or {}).get("disable_parallel_tool_use", False)
    )


def check_version(version: str | None) -> str:
    """Return the API version that a request names, which it has to."""
    if version is None:
        raise Failure(400, "anthropic-version: header is required")
    if version not in VERSIONS:
        raise Failure(400, f'anthropic-version: "{version}" is not a valid version')
    return version


@cache
def _shape(version: str, counting: bool) -> Shape:
    schema = load_schema("messages", COUNTED if counting else None)
    for gone in VERSIONS[version]:
        schema["properties"].pop(gone, None)
    return Shape(schema)


def _check_roots(tools: Sequence[Tool]) -> None:
    for index, tool in enumerate(tools):
        if any(word in tool.parameters for word in facts()["anthropic_root_combinators"].values):
            raise refusal("anthropic_root_combinators", index=index)


def _choice(asked: JSON) -> Choice:
    if asked is None:
        return Choice()
    named = asked["type"] == "tool"
    return Choice(MODES[asked["type"]], (asked["name"],) if named else (), named)


def _blocks(message: Message) -> list[Block]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _thinking(request: Request, choice: Choice, family: Family) -> bool:
    switch = request.body.get("thinking") or {}
    asked = None if not switch else switch["type"] != "disabled"
    if switch.get("type") == "enabled":
        if choice.mode == "required":
            raise Failure(400, "Thinking may not be enabled when tool_choice forces tool use.")
        if switch["budget_tokens"] >= request.body.get("max_tokens", math.inf):
            raise Failure(400, "`max_tokens` must be greater than `thinking.budget_tokens`.")
    return checks.thinks(request.model, asked, "thinking.type", family)


def _check_content(messages: Sequence[Message]) -> None:
    if messages[0]["role"] == "assistant":
        raise Failure(400, 'messages: first message must use the "user" role')
    for index, message in enumerate(messages):
        if not message["content"]:
            raise Failure(400, f"messages.{index}: all messages must have non-empty content")
        for place, block in enumerate(message["content"]):
            if block["type"] == "text" and not block["text"].strip():
                raise Failure(400, "messages: text content blocks must contain non-whitespace text")
            if _is(block, "tool_result") and block.get("is_error") and not _told(block.get("content")):
                raise refusal("anthropic_empty_error", index=index, place=place)


def _check_pairs(messages: Sequence[Message]) -> None:
    """Hold every call to its result in the very next message, and the other way round."""
    everything = [
        block["id"] for message in messages for block in message["content"] if _is(block, "tool_use")
    ]
    if len({*everything}) < len(everything):
        raise Failure(400, "messages: `tool_use` ids must be unique")
    waiting: list[str] = []
    for index, message in enumerate(messages):
        answered = [block["tool_use_id"] for block in message["content"] if _is(block, "tool_result")]
        for place, block in enumerate(message["content"]):
            if _is(block, "tool_result") and (
                message["role"] != "user" or block["tool_use_id"] not in waiting
            ):
                facts = {"index": index, "place": place, "id": block["tool_use_id"]}
                raise Failure(400, UNCALLED.format(**facts))
        if missing := [call for call in waiting if call not in answered]:
            raise Failure(400, UNANSWERED.format(index=index - 1, ids=", ".join(missing)))
        for call, count in Counter(answered).items():
            if count > 1:
                message_text = (
                    "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
                )
                raise Failure(400, f"messages.{index}: {message_text}: {call}")
        first = message["content"][: len(answered)]
        if not all(_is(block, "tool_result") for block in first):
            raise Failure(400, TEXT_FIRST.format(index=index))
        waiting = [block["id"] for block in message["content"] if _is(block, "tool_use")]
        if waiting and message["role"] != "assistant":
            raise Failure(400, f"messages.{index}: `tool_use` blocks can only be in `assistant` messages")
    if waiting:
        raise Failure(400, UNANSWERED.format(index=len(messages) - 1, ids=", ".join(waiting)))


def _check_thinking(request: Request, messages: Sequence[Message]) -> None:
    manual = (request.body.get("thinking") or {}).get("type") in facts()["anthropic_manual_thinking"].values
    loop = _last_user(messages)
    for index, message in enumerate(messages):
        for place, block in enumerate(message["content"]):
            if _is(block, "thinking") and block["signature"] != signature(request, index, block["thinking"]):
                reason = "Invalid `signature` in `thinking` block"
                raise Failure(400, f"messages.{index}.content.{place}: {reason}")
        calls = any(_is(block, "tool_use") for block in message["content"])
        first = message["content"][0]["type"]
        if manual and index > loop and calls and first not in ("thinking", "redacted_thinking"):
            raise refusal("anthropic_manual_thinking", index=index, found=first)


def signature(request: Request, index: int, thinking: str) -> str:
    """Return the signature of what the model thought before it wrote message number ``index``."""
    body = request.body
    prefix: JSON = None
    if request.model.binds_prefix:
        prefix = _uncached([body.get("system"), body.get("tools"), body["messages"][:index]])
    return seal(request.model, thinking, prefix)


def _uncached(value: JSON) -> JSON:
    """Leave out cache marks, which a client may move from turn to turn."""
    if isinstance(value, list):
        return [_uncached(item) for item in value]
    if isinstance(value, dict):
        return {key: _uncached(item) for key, item in value.items() if key != "cache_control"}
    return value


def _is(block: Block, kind: str) -> bool:
    return bool(block["type"] == kind)


def _last_user(messages: Sequence[Message]) -> int:
    """Return the index of the last message in which the user, not a tool, speaks; -1 without one."""
    spoken = [
        index
        for index, message in enumerate(messages)
        if message["role"] == "user" and not any(_is(block, "tool_result") for block in message["content"])
    ]
    return spoken[-1] if spoken else -1


def _conversation(
    messages: Sequence[Message], tools: Sequence[Tool], choice: Choice, thinking: bool, single: bool
) -> Conversation:
    blocks = [block for message in messages for block in message["content"]]
    names = {block["id"]: block["name"] for block in blocks if _is(block, "tool_use")}
    replies = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    spoken = _last_user(messages)
    return Conversation(
        tools=tuple(tools),
        choice=choice,
        parallel=not single,
        user=_text(messages[spoken]["content"]) if spoken >= 0 else "",
        turn=len(replies) + 1,
        step=sum(index > spoken for index in replies) + 1,
        results=tuple(
            Result(names[block["tool_use_id"]], _text(block.get("content", "")))
            for block in messages[-1]["content"]
            if _is(block, "tool_result")
        ),
        thinking=thinking,
    )


def _told(content: JSON) -> bool:
    """Return whether a result says or shows anything."""
    if isinstance(content, list):
        return any(not _is(part, "text") or part.get("text") for part in content)
    return bool(content)


def _text(content: JSON) -> str:
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content)
    return str(content)
