"""Whole conversations with the strict simulator, which was written from the same facts and shares no code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.support import failed, model, offer, ok, tool
from toolbench.adapters import adapter_for
from toolbench.adapters.wire import Offer, Request
from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import ModelDecision
from toolbench.errors import TransportError
from toolbench.running.redaction import Redactor
from toolbench.running.transport import Transport
from toolbench.simulator import Simulator

SCRIPT: dict[str, Any] = {
    "models": {},
    "rules": [
        {"when": {"after_tool_result": True}, "then": {"text": "It says $result."}},
        {
            "when": {"user_contains": "both"},
            "then": {
                "calls": [{"name": "look", "arguments": {"city": city}} for city in ("Oslo", "Rīga")],
                "text": "Looking.",
            },
        },
        {
            "when": {"user_contains": "Oslo"},
            "then": {"calls": [{"name": "look", "arguments": {"city": "Oslo"}}]},
        },
        {"when": {"user_contains": "refuse"}, "then": {"refusal": "I will not."}},
        {"when": {"user_contains": "long"}, "then": {"text": "A very long story.", "truncated": True}},
        {"when": {"user_contains": "nothing"}, "then": {"empty": True}},
        {"then": {"text": "Hello, мир!"}},
    ],
}

PLAYERS: dict[str, dict[str, Any]] = {
    "chat_completions": {"name": "sim-openai", "profile": "openai"},
    "chat_completions-deepseek": {"name": "sim-deepseek", "profile": "deepseek"},
    "chat_completions-deepseek-thinking": {"name": "sim-deepseek-thinking", "profile": "deepseek"},
    "chat_completions-mistral": {"name": "sim-mistral", "profile": "mistral"},
    "chat_completions-ollama": {"name": "sim-ollama-v1", "profile": "ollama_v1"},
    "chat_completions-llama": {"name": "sim-llama-cpp", "profile": "llama_cpp"},
    "responses": {"name": "sim-openai"},
    "responses-reasoning": {
        "name": "sim-openai-responses-only",
        "capabilities": {"temperature": "unsupported"},
    },
    "messages": {"name": "sim-claude"},
    "messages-bound": {"name": "sim-claude-bound"},
    "messages-2023": {"name": "sim-claude-4-5", "profile": "anthropic_2023"},
    "ollama_chat": {"name": "sim-ollama"},
    "ollama_chat-thinking": {"name": "sim-ollama-thinking"},
    "generate_content": {"name": "sim-gemini"},
}
NO_REFUSAL = ("ollama_chat",)
IGNORE_FORCED = ("chat_completions-ollama", "ollama_chat", "ollama_chat-thinking")
REFUSE_FORCED = ("chat_completions-deepseek", "chat_completions-deepseek-thinking", "messages-bound")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIM_KEY", "test-key")


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with Simulator(SCRIPT) as running:
        yield running


class Talk:
    """One conversation with one player over the real transport."""

    def __init__(self, sim: Simulator, player: str, **settings: Any) -> None:
        protocol = player.partition("-")[0]
        self.adapter = adapter_for(protocol)
        self.model: ModelConfig = replace(
            model(protocol, **PLAYERS[player], **settings),
            # DeepSeek follows strict tools under this path only.
            base_url=f"{sim.url}/beta" if "deepseek" in player else sim.base_url(protocol),
            api_key_env="SIM_KEY",
        )
        self.history: list[dict[str, Any]] = []
        self.request: Request | None = None

    async def say(self, text: str, what: Offer) -> ModelDecision:
        frozen = [{"role": "user", "content": text}]
        self.history = (
            self.adapter.append_user(self.history, text)
            if self.history
            else self.adapter.start("Be brief.", frozen, what)
        )
        return await self.ask(what)

    async def ask(self, what: Offer) -> ModelDecision:
        self.request = self.adapter.build_request(self.model, self.history, what)
        async with Transport(Redactor([]), {}, {"tries": 1}) as transport:
            reply = await transport.send(self.model, self.adapter, self.request)
        decision = self.adapter.parse_decision(reply.body, self.request, what)
        if decision.kind in ("text", "tool_call"):
            self.history = self.adapter.append_response(self.history, reply.body)
        return decision

    async def answer(self, decision: ModelDecision, what: Offer) -> ModelDecision:
        results = [failed("no such city"), ok("rain")][: len(decision.calls)]
        pairs = list(zip(decision.calls, results, strict=True))
        self.history = self.adapter.append_tool_results(self.history, pairs)
        return await self.ask(what)


STREAMED = pytest.mark.parametrize(
    "stream", [pytest.param(False, id="whole"), pytest.param(True, id="streamed")]
)
EVERYONE = pytest.mark.parametrize("player", PLAYERS)


@EVERYONE
@STREAMED
async def test_a_conversation_of_several_turns(sim: Simulator, player: str, stream: bool) -> None:
    what = offer()
    talk = Talk(sim, player, stream=stream)
    assert (await talk.say("hello", what)).text == "Hello, мир!"
    asked = await talk.say("both, please", what)
    assert [call.arguments for call in asked.calls] == [{"city": "Oslo"}, {"city": "Rīga"}]
    answered = await talk.answer(asked, what)
    assert answered.kind == "text"
    assert "rain" in answered.text or "no such city" in answered.text
    asked = await talk.say("and Oslo once more", what)
    assert len(asked.calls) == 1
    assert (await talk.answer(asked, what)).kind == "text"
    assert (await talk.say("thanks", what)).text == "Hello, мир!"


@EVERYONE
@STREAMED
async def test_what_is_no_answer(sim: Simulator, player: str, stream: bool) -> None:
    what = offer()

    async def decided(text: str) -> ModelDecision:
        return await Talk(sim, player, stream=stream, max_output_tokens=200).say(text, what)

    if not player.startswith(NO_REFUSAL):
        assert (await decided("please refuse")).kind in ("refusal", "text")
    cut = await decided("a long one")
    assert (cut.kind, cut.warnings) == ("text", ["truncated_text"]) or cut.reason == "truncated"
    assert (await decided("nothing")).reason == "empty"


@EVERYONE
@pytest.mark.parametrize("strict", [None, True])
async def test_settings_that_are_sent_are_accepted(sim: Simulator, player: str, strict: bool | None) -> None:
    bounded = tool(
        "look",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "minLength": 1, "format": "hostname"},
                "days": {"type": "integer", "minimum": 1, "maximum": 5},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    )
    for choice in ("auto", "none", "required", "named:look"):
        what = offer(bounded, choice=choice)
        talk = Talk(sim, player, strict=strict, seed=7, parallel_tool_calls=False)
        if choice in ("required", "named:look") and player in (*REFUSE_FORCED, *IGNORE_FORCED):
            with pytest.raises(TransportError) as caught:
                await talk.say("weather in Oslo", what)
            code = "forced_choice_refused" if player in REFUSE_FORCED else "forced_choice_ignored"
            assert (caught.value.code, caught.value.unsupported) == (code, True)
            continue
        decision = await talk.say("weather in Oslo", what)
        assert talk.request is not None
        note = talk.request.settings["tool_choice"]
        if choice == "none":
            # A script may call what nobody offered; no request can prevent that.
            assert decision.kind == "text" or "tools" not in talk.request.body
        elif note.honoured is not False:
            assert decision.kind == "tool_call"


async def test_a_gate_that_only_the_server_knows(sim: Simulator) -> None:
    with pytest.raises(TransportError) as caught:
        await Talk(sim, "messages-bound").say("weather in Oslo", offer(choice="required"))
    assert (caught.value.code, caught.value.unsupported) == ("forced_choice_refused", True)
    assert len(caught.value.retries) == 1
