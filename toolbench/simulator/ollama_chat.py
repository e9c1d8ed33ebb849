"""Ollama's native chat: reading a request the way the server does.

The real server ignores unknown fields and never looks whether calls and results belong together. The
simulator ignores unknown fields as well; it does hold calls and results together, as every other protocol
does, because a client that loses one would go unnoticed here. Those refusals begin with ``simulator:``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolbench.simulator import checks
from toolbench.simulator.exchange import Choice, Conversation, Request, Result, Tool
from toolbench.simulator.failures import Failure, families
from toolbench.simulator.structure import check_structure, shape

Message = dict[str, Any]
Waiting = list[tuple[str | None, str]]


def read(request: Request) -> Conversation:
    """Check a request and return what a decision depends on.

    Raises
    ------
    Failure
        As the server would refuse it.
    """
    body, family = request.body, families()["ollama"]
    check_structure(shape("ollama_chat"), body, family)
    tools = tuple(
        Tool(
            entry["function"]["name"],
            entry["function"].get("description", ""),
            entry["function"].get("parameters", {}),
        )
        for entry in body.get("tools") or ()
    )
    switch = body.get("think")
    thinking = checks.thinks(request.model, None if switch is None else switch is not False, "think", family)
    checks.check_limits(request.model, thinking, [("tools", "tools", True)] if tools else [], family)
    messages = body.get("messages") or []
    results = _results(messages)
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    replies = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    last_user = users[-1] if users else -1
    return Conversation(
        tools=tools,
        choice=Choice(),
        parallel=True,
        user=(messages[last_user].get("content") or "") if users else "",
        turn=len(replies) + 1,
        step=sum(index > last_user for index in replies) + 1,
        results=results,
        thinking=thinking,
    )


def _results(messages: Sequence[Message]) -> tuple[Result, ...]:
    """Return the results that the history ends with, each held to its call."""
    waiting: Waiting = []
    results: list[Result] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            name = _take(message, waiting, index)
            results.append(Result(name, message.get("content") or ""))
            continue
        if waiting:
            break
        results = []
        waiting = [(call.get("id"), call["function"]["name"]) for call in message.get("tool_calls") or ()]
        ids = [identity for identity, _ in waiting if identity]
        if len({*ids}) < len(ids):
            raise Failure(400, f"simulator: duplicate tool call id in message {index}")
    if waiting:
        raise Failure(400, f"simulator: no tool message answers the call of {waiting[0][1]}")
    return tuple(results)


def _take(message: Message, waiting: Waiting, index: int) -> str:
    """Remove the call that a result answers from ``waiting`` and return the tool's name."""
    identity, name = message.get("tool_call_id"), message.get("tool_name")
    for call in waiting:
        if (identity in (None, "", call[0])) and (name in (None, "", call[1])):
            waiting.remove(call)
            return call[1]
    raise Failure(400, f"simulator: tool message {index} ({name or identity}) answers no call")
