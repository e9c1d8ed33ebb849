"""Traps of the providers, each stepped into on purpose: the request, the refusal, and the right request.

The right request is what the adapter makes; the wrong one is that request with one thing spoilt. Both are
sent to a simulated provider that checks requests as the real one is documented to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import httpx

from toolbench.adapters import adapter_for
from toolbench.adapters.base import Request
from toolbench.adapters.faults import error_text
from toolbench.course import layout
from toolbench.course.dialogue import Asked, dialogue, wire
from toolbench.course.players import Players
from toolbench.course.words import Words
from toolbench.domain.canonical import JSON
from toolbench.domain.config import Condition, ModelConfig
from toolbench.domain.suite import Suite
from toolbench.errors import InputError
from toolbench.showing import html
from toolbench.showing.html import Page

Body = dict[str, Any]


@dataclass(frozen=True)
class Trap:
    """One way to be refused.

    Attributes
    ----------
    model, protocol, profile
        The simulated provider.
    spoil
        Makes the wrong request of a copy of the right one.
    keys
        What of the request is shown; the history only from the first call on.
    second_turn
        Whether the trap is in the request that carries the results.
    condition, extra_body
        What the right request needs.
    """

    model: str
    protocol: str
    profile: str
    spoil: Callable[[Body], None]
    keys: tuple[str, ...]
    second_turn: bool = False
    condition: Condition = field(default_factory=lambda: Condition("auto"))
    extra_body: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True)
class Sprung:
    """What happened: both requests, and the provider's answers to them."""

    wrong: Body
    right: Body
    status: int
    message: str
    right_status: int


def _drop_reasoning(body: Body) -> None:
    for message in body["messages"]:
        message.pop("reasoning_content", None)


def _think(body: Body) -> None:
    del body["thinking"]


def _force(body: Body) -> None:
    body["tool_choice"] = {"type": "any"}


def _split(body: Body) -> None:
    """Give each result a turn of its own, as a program does that answers as soon as one tool is ready."""
    *before, results = body["messages"]
    first, second = results["content"]
    between = {"role": "assistant", "content": [{"type": "text", "text": "…"}]}
    body["messages"] = [
        *before,
        {"role": "user", "content": [first]},
        between,
        {"role": "user", "content": [second]},
    ]


def _forget_calls(body: Body) -> None:
    body["messages"] = [message for message in body["messages"] if message["role"] != "assistant"]


def _use_item_id(body: Body) -> None:
    """Answer with the item's id, which is not the id of the call."""
    ids = {item["call_id"]: item["id"] for item in body["input"] if item.get("type") == "function_call"}
    for item in body["input"]:
        if item.get("type") == "function_call_output":
            item["call_id"] = ids[item["call_id"]]


def _set_temperature(body: Body) -> None:
    body["temperature"] = 0


def _drop_signatures(body: Body) -> None:
    for content in body["contents"]:
        for part in content["parts"]:
            part.pop("thoughtSignature", None)


TRAPS: Mapping[str, Trap] = {
    "reasoning_content": Trap(
        "sim-deepseek-thinking", "chat_completions", "deepseek", _drop_reasoning, ("messages",), True
    ),
    "forced_while_thinking": Trap(
        "sim-deepseek-thinking",
        "chat_completions",
        "deepseek",
        _think,
        ("thinking", "tool_choice"),
        condition=Condition("forced", tool_choice="required"),
        extra_body={"thinking": {"type": "disabled"}},
    ),
    "forced_refused": Trap("sim-claude-no-forced", "messages", "anthropic", _force, ("tool_choice",)),
    "split_results": Trap("sim-claude", "messages", "anthropic", _split, ("messages",), True),
    "missing_call": Trap("sim-openai", "chat_completions", "openai", _forget_calls, ("messages",), True),
    "orphan_result": Trap("sim-openai", "responses", "openai", _use_item_id, ("input",), True),
    "temperature": Trap(
        "sim-claude", "messages", "anthropic", _set_temperature, ("max_tokens", "temperature")
    ),
    "thought_signature": Trap(
        "sim-gemini", "generate_content", "gemini", _drop_signatures, ("contents",), True
    ),
}
"""Name → trap, in the order of the lesson."""


async def spring(name: str, suite: Suite, words: Words, players: Players) -> Sprung:
    """Step into a trap and out again.

    Raises
    ------
    InputError
        For a name that is no trap.
    """
    if name not in TRAPS:
        raise InputError(f"no trap {name!r}; there are: {', '.join(TRAPS)}")
    trap = TRAPS[name]
    model = players.simulated(trap.model, trap.protocol, profile=trap.profile, extra_body=trap.extra_body)
    talk = dialogue(suite, words, model, "two_cities", condition=trap.condition)
    moves = [await talk.move() for _ in range(3 if trap.second_turn else 1)]
    asked = moves[-1]
    assert isinstance(asked, Asked), asked
    wrong = deepcopy(asked.request.body)
    trap.spoil(wrong)
    status, message = post(model, asked.request, wrong)
    right_status, _ = post(model, asked.request, asked.request.body)
    return Sprung(wrong, asked.request.body, status, message, right_status)


def post(model: ModelConfig, request: Request, body: Body) -> tuple[int, str]:
    """Send a body as it is to the simulator and return status and error text; any key will do there."""
    headers = {**request.headers, **adapter_for(model.protocol).auth_headers("course")}
    response = httpx.post(model.base_url + request.path, json=body, headers=headers, timeout=30)
    return response.status_code, "" if response.is_success else error_text(response.text)


def trap_page(name: str, sprung: Sprung, words: Words) -> Page:
    """Wrong request and refusal on the left, right request on the right, with the difference marked."""
    trap = TRAPS[name]
    wrong, right = (
        layout.pretty(
            {"model": body["model"], **_shown(trap, body)} if "model" in body else _shown(trap, body)
        )
        for body in (sprung.wrong, sprung.right)
    )
    refused = layout.box("bad", f"HTTP {sprung.status}", html.paragraph(sprung.message))
    accepted = layout.box("good", f"HTTP {sprung.right_status}")
    return layout.columns(
        [
            (words("trap_wrong", model=trap.model), layout.code(wrong) + refused),
            (words("trap_right"), layout.changed(wrong, right) + accepted),
        ],
        30,
    )


def _shown(trap: Trap, body: Body) -> Body:
    history = wire(trap.protocol)["history"]
    return {key: _tail(body[key]) if key == history else body[key] for key in trap.keys if key in body}


def _tail(history: list[JSON]) -> list[JSON]:
    """Return a history from behind the user's question on."""
    asked = [
        index
        for index, message in enumerate(history)
        if message.get("role") == "user"
        and "tool_result" not in str(message)
        and "functionResponse" not in str(message)
    ]
    return history[asked[0] + 1 :] if asked else history
