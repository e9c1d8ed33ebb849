"""Traps of the providers, each stepped into on purpose: the request, the refusal, and the right request.

The right request is what the adapter makes; the wrong one is that request with one thing spoilt. Both are
sent to the lesson's own model when it is a real one of the provider in question, and otherwise to a simulated
provider that checks requests as the real one is documented to. `silent_traps` has those that nobody refuses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from toolbench.adapters import Request, adapter_for, dialects, error_text
from toolbench.course import layout
from toolbench.course.dialogue import Asked, dialogue, wire
from toolbench.course.players import Players, is_scripted
from toolbench.course.words import Words
from toolbench.domain.canonical import JSON
from toolbench.domain.condition import Condition
from toolbench.domain.config import Config, ModelConfig, Settings
from toolbench.domain.suite import Suite
from toolbench.errors import InputError
from toolbench.running import redactor_for
from toolbench.showing import html
from toolbench.showing.html import Page

Body = dict[str, Any]
OWN_TEMPERATURE = Settings(temperature=None)


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
    condition, extra_body, settings
        What the right request needs.
    base
        Path under the provider's root that the right request goes to, where it is another one.
    """

    model: str
    protocol: str
    profile: str
    spoil: Callable[[Body], None]
    keys: tuple[str, ...]
    second_turn: bool = False
    condition: Condition = field(default_factory=lambda: Condition("auto"))
    extra_body: Mapping[str, JSON] = field(default_factory=dict)
    settings: Settings = OWN_TEMPERATURE
    base: str = ""

    def fits(self, model: ModelConfig) -> bool:
        """Whether a model is a real one of the provider that this trap is about."""
        profile = model.profile or dialects(model.protocol)[0]
        return not is_scripted(model.provider) and (model.protocol, profile) == (self.protocol, self.profile)


@dataclass(frozen=True)
class Sprung:
    """What happened: who was asked, both requests, and the provider's answers to them."""

    model: ModelConfig
    addresses: tuple[str, str]
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


def _swap_results(body: Body) -> None:
    """Put the results under each other's ids."""
    first, second = (message for message in body["messages"] if message["role"] == "tool")
    first["tool_call_id"], second["tool_call_id"] = second["tool_call_id"], first["tool_call_id"]


def _nothing(body: Body) -> None:
    """Leave the body as it is: the address is wrong."""


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
    "swapped_results": Trap("sim-openai", "chat_completions", "openai", _swap_results, ("messages",), True),
    "strict_off_beta": Trap(
        "sim-deepseek",
        "chat_completions",
        "deepseek",
        _nothing,
        ("tools",),
        settings=Settings(temperature=None, strict=True),
        base="/beta",
    ),
    "temperature": Trap(
        "sim-claude", "messages", "anthropic", _set_temperature, ("max_tokens", "temperature")
    ),
    "thought_signature": Trap(
        "sim-gemini", "generate_content", "gemini", _drop_signatures, ("contents",), True
    ),
}
"""Name → trap, in the order of the lesson."""


async def spring(
    name: str, suite: Suite, words: Words, players: Players, own: ModelConfig | None = None
) -> Sprung:
    """Step into a trap and out again, with ``own`` if it is a model of that provider and makes the calls.

    Raises
    ------
    InputError
        For a name that is no trap.
    """
    if name not in TRAPS:
        raise InputError(f"no trap {name!r}; there are: {', '.join(TRAPS)}")
    trap = TRAPS[name]
    simulated = players.simulated(trap.model, trap.protocol, profile=trap.profile, extra_body=trap.extra_body)
    candidates = [simulated]
    if own is not None and trap.fits(own):
        candidates.insert(0, replace(own, extra_body={**own.extra_body, **trap.extra_body}))
    for model in candidates:
        right = replace(model, settings=trap.settings, base_url=_under(model.base_url, trap.base))
        talk = dialogue(suite, words, right, "two_cities", condition=trap.condition)
        moves = [await talk.move() for _ in range(3 if trap.second_turn else 1)]
        if isinstance(asked := moves[-1], Asked):
            return _both(trap, model, right, asked.request)
    raise AssertionError(f"the simulated provider of trap {name} did not answer")


def _both(trap: Trap, model: ModelConfig, right: ModelConfig, request: Request) -> Sprung:
    wrong = deepcopy(request.body)
    trap.spoil(wrong)
    status, message = post(model, request, wrong)
    right_status, _ = post(right, request, request.body)
    addresses = (model.base_url + request.path, right.base_url + request.path)
    return Sprung(model, addresses, wrong, request.body, status, message, right_status)


def _under(url: str, base: str) -> str:
    """Return an address under another path of the same server."""
    return url.removesuffix("/v1") + base if base else url


def post(model: ModelConfig, request: Request, body: Body) -> tuple[int, str]:
    """Send a body as it is and return status and error text, without the key in it."""
    key = os.environ.get(model.api_key_env or "", "")
    headers = {**request.headers, **(adapter_for(model.protocol).auth_headers(key) if key else {})}
    response = httpx.post(model.base_url + request.path, json=body, headers=headers, timeout=60)
    said = "" if response.is_success else error_text(response.text)
    return response.status_code, redactor_for(Config(runs=(model,)))(said)


def trap_page(name: str, sprung: Sprung, words: Words) -> Page:
    """Wrong request and answer on the left, right request on the right, with the difference marked."""
    trap = TRAPS[name]
    wrong, right = (
        layout.pretty(_head(sprung, index, bool(trap.base)) | _shown(trap, body))
        for index, body in enumerate((sprung.wrong, sprung.right))
    )
    refused = layout.box(
        "bad", f"HTTP {sprung.status}", html.paragraph(sprung.message or words("trap_taken"))
    )
    accepted = layout.box("good", f"HTTP {sprung.right_status}")
    who = words("scripted" if is_scripted(sprung.model.provider) else "real")
    return layout.columns(
        [
            (words("trap_wrong", model=f"{sprung.model.model} ({who})"), layout.code(wrong) + refused),
            (words("trap_right"), layout.changed(wrong, right) + accepted),
        ],
        30,
    )


def _head(sprung: Sprung, index: int, address: bool) -> Body:
    body = (sprung.wrong, sprung.right)[index]
    named = {"model": body["model"]} if "model" in body else {}
    return {"POST": httpx.URL(sprung.addresses[index]).path, **named} if address else named


def _shown(trap: Trap, body: Body) -> Body:
    """Return what is worth seeing of a request: the history after the question, and one of the tools."""
    history = wire(trap.protocol)["history"]
    parts: dict[str, Callable[[Any], JSON]] = {history: _tail, "tools": lambda tools: tools[:1]}
    return {key: parts.get(key, lambda value: value)(body[key]) for key in trap.keys if key in body}


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
