"""First requests: tools, choices, switches and names, protocol by protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.support import LOOK, PROTOCOLS, STOP, ask, model, offer, read, reply, tool
from toolbench.adapters import adapter_for
from toolbench.adapters.base import ProviderAdapter
from toolbench.adapters.wire import Offer, wire_names
from toolbench.errors import ConfigError, SuiteError

CHOICES: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "auto": "auto",
        "none": "none",
        "required": "required",
        "named:stop": {"type": "function", "function": {"name": "stop"}},
    },
    "responses": {
        "auto": "auto",
        "none": "none",
        "required": "required",
        "named:stop": {"type": "function", "name": "stop"},
    },
    "messages": {
        "auto": {"type": "auto"},
        "none": {"type": "none"},
        "required": {"type": "any"},
        "named:stop": {"type": "tool", "name": "stop"},
    },
    "generate_content": {
        "auto": {"mode": "AUTO"},
        "none": {"mode": "NONE"},
        "required": {"mode": "ANY"},
        "named:stop": {"mode": "ANY", "allowedFunctionNames": ["stop"]},
    },
}


def tools_of(protocol: str, body: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Return (name, description, schema) of every tool in a request."""
    if "tools" not in body:
        return []
    entries = body["tools"]
    if protocol == "generate_content":
        entries = entries[0]["functionDeclarations"]
    functions = [entry.get("function", entry) for entry in entries]
    keys = ("parameters", "input_schema", "parametersJsonSchema")
    return [(f["name"], f["description"], next(f[key] for key in keys if key in f)) for f in functions]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tools_go_out_whole_and_in_the_order_given(protocol: str) -> None:
    for tools in ((LOOK, STOP), (STOP, LOOK)):
        sent = tools_of(protocol, ask(protocol, offer(*tools)).body)
        assert sent == [(t.name, "Does it.", t.parameters) for t in tools]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_policy_is_never_sent(protocol: str) -> None:
    secret = replace(
        LOOK, effect="write", confirmation=True, keywords={"en": ["sesame"]}, ownership=("sesame",)
    )
    text = json.dumps(ask(protocol, offer(secret)).body)
    assert not any(word in text for word in ("sesame", "confirmation", "effect"))


@pytest.mark.parametrize(
    ("protocol", "choice"), [(p, choice) for p, choices in CHOICES.items() for choice in choices]
)
def test_tool_choice(protocol: str, choice: str) -> None:
    request = ask(protocol, offer(choice=choice))
    where = request.body["toolConfig"]["functionCallingConfig"] if protocol == "generate_content" else None
    assert (where or request.body["tool_choice"]) == CHOICES[protocol][choice]
    note = request.settings["tool_choice"]
    assert (note.asked, note.sent, note.honoured) == (choice, CHOICES[protocol][choice], None)
    assert len(tools_of(protocol, request.body)) == 2


def test_a_named_choice_of_a_tool_that_is_not_on_offer() -> None:
    for protocol in PROTOCOLS:
        with pytest.raises(SuiteError, match="no such tool is on offer"):
            ask(protocol, offer(choice="named:teleport"))


def test_losses_of_a_server_that_ignores_strict_are_still_listed() -> None:
    request = ask("chat_completions", profile="ollama_v1", strict=True)
    assert "look: $.additionalProperties does not reach the model" in request.losses


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_tools_nothing_about_tools_is_sent(protocol: str) -> None:
    request = ask(protocol, Offer((), "en", {}), parallel_tool_calls=False, strict=True)
    assert not {"tools", "tool_choice", "toolConfig", "parallel_tool_calls"} & set(request.body)
    assert not {"tool_choice", "parallel_tool_calls", "strict"} & set(request.settings)


@pytest.mark.parametrize("switch", [True, False])
def test_parallel_switch(switch: bool) -> None:
    assert ask("chat_completions", parallel_tool_calls=switch).body["parallel_tool_calls"] is switch
    assert ask("responses", parallel_tool_calls=switch).body["parallel_tool_calls"] is switch
    choice = ask("messages", parallel_tool_calls=switch).body["tool_choice"]
    assert choice == {"type": "auto", "disable_parallel_tool_use": not switch}
    for protocol in ("ollama_chat", "generate_content"):
        note = ask(protocol, parallel_tool_calls=switch).settings["parallel_tool_calls"]
        assert note.to_json() == {"asked": switch, "sent": None, "honoured": False}


def test_the_messages_wire_has_no_parallel_switch_beside_none() -> None:
    request = ask("messages", offer(choice="none"), parallel_tool_calls=False)
    assert request.body["tool_choice"] == {"type": "none"}
    assert request.settings["parallel_tool_calls"].honoured is False


@pytest.mark.parametrize(
    ("protocol", "profile", "asked", "sent"),
    [
        ("chat_completions", None, None, None),
        ("chat_completions", "openai", None, False),
        ("chat_completions", None, True, True),
        ("responses", None, None, False),
        ("responses", None, True, True),
        ("messages", None, None, None),
        ("messages", None, True, True),
        ("messages", None, False, False),
    ],
)
def test_strict_flag(protocol: str, profile: str | None, asked: bool | None, sent: bool | None) -> None:
    request = ask(protocol, profile=profile, strict=asked)
    entry = request.body["tools"][0]
    assert entry.get("function", entry).get("strict") is sent
    if asked is not None:
        assert request.settings["strict"].to_json() == {"asked": asked, "sent": sent, "honoured": None}


def test_a_strict_schema_that_fits_has_no_losses() -> None:
    for protocol in ("responses", "messages"):
        assert ask(protocol, strict=True).losses == ()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_names_that_collide_are_told_apart_and_mapped_back(protocol: str) -> None:
    what = offer(tool("math.factorial"), tool("math_factorial"), tool("x" * 70))
    request = ask(protocol, what)
    wires = [name for name, _, _ in tools_of(protocol, request.body)]
    assert len(set(wires)) == 3
    limit = 128 if protocol == "generate_content" else 64
    assert all(len(name) <= limit for name in wires)
    body = reply(protocol, "", [(f"c{n}", name, {"city": "x"}) for n, name in enumerate(wires)])
    made = adapter_for(protocol).parse_decision(body, request, what).calls
    assert [call.name for call in made] == ["math.factorial", "math_factorial", "x" * 70]
    assert request.tool_names["math_factorial"] == "math_factorial"


def test_a_renamed_tool_comes_back_under_its_contract_name() -> None:
    what = Offer((tool("t2"),), "en", {"t2": "get_rate"})
    body = reply("chat_completions", "", [("a", "t2", {"city": "x"})])
    assert read("chat_completions", body, what).calls[0].name == "get_rate"


@given(st.lists(st.text("ab._- é", min_size=1, max_size=4), unique=True, min_size=1, max_size=6))
def test_wire_names_are_a_bijection(names: list[str]) -> None:
    mapped = wire_names(offer(*(tool(name) for name in names)), ProviderAdapter.legal_name)
    assert sorted(mapped.values()) == sorted(names)
    assert all(ProviderAdapter.legal_name.match(wire) for wire in mapped)


PATHS = {
    "chat_completions": "/chat/completions",
    "responses": "/responses",
    "messages": "/messages",
    "ollama_chat": "/chat",
    "generate_content": "/models/m-1:generateContent",
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_path_headers_and_key(protocol: str) -> None:
    request = ask(protocol)
    assert request.path == PATHS[protocol]
    assert (request.headers.get("anthropic-version") == "2026-10-21") is (protocol == "messages")
    header = {"messages": "x-api-key", "generate_content": "x-goog-api-key"}.get(protocol, "Authorization")
    assert list(adapter_for(protocol).auth_headers("k")) == [header]
    assert "Be brief." in json.dumps(request.body)


def test_gemini_models_outside_the_models_folder() -> None:
    assert ask("generate_content", name="tunedModels/t").path == "/tunedModels/t:generateContent"


def test_responses_is_stateless_and_asks_for_its_reasoning() -> None:
    body = ask("responses").body
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert "previous_response_id" not in body


def test_streams_of_chat_ask_for_usage_where_that_is_a_field() -> None:
    assert ask("chat_completions", stream=True).body["stream_options"] == {"include_usage": True}
    assert "stream_options" not in ask("chat_completions", stream=True, profile="mistral").body


def test_an_unknown_protocol() -> None:
    with pytest.raises(ConfigError, match="there are: chat_completions, responses, messages"):
        adapter_for("telepathy")
    assert model("messages").key == ("p", "m-1", "messages")
