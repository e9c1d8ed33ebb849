"""What each provider refuses in a first request: one test a documented refusal."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.simulator.simulator_bodies import (
    CHAT_TOOL,
    ERROR_TEXT,
    GEMINI_PARAMETERS,
    MESSAGES_TOOL,
    RESPONSES_TOOL,
    URLS,
    Post,
    first_turn,
)

CHAT, RESPONSES, MESSAGES = "chat_completions", "responses", "messages"
OLLAMA, GEMINI = "ollama_chat", "generate_content"
OPENAI_THINKS, DEEPSEEK_THINKS = "sim-openai-reasoning", "sim-deepseek-thinking"
NAMED = {"type": "function", "function": {"name": "get_weather"}}
OLDER = {"anthropic-version": "2023-06-01"}
BAD_PARAMETERS = {"type": "object", "properties": {"city": {"type": "text"}}}


def function(**changes: Any) -> dict[str, Any]:
    return {**CHAT_TOOL, "function": {**CHAT_TOOL["function"], **changes}}


def declared(**changes: Any) -> list[dict[str, Any]]:
    return [{"functionDeclarations": [{"name": "get_weather", **changes}]}]


def rooted(**words: Any) -> dict[str, Any]:
    return {"tools": [{**MESSAGES_TOOL, "input_schema": {**MESSAGES_TOOL["input_schema"], **words}}]}


def listing(cities: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"cities": cities}}


def calling(**config: Any) -> dict[str, Any]:
    return {"functionCallingConfig": config}


REFUSED: dict[str, tuple[str, str | None, dict[str, Any], str]] = {
    # Structure
    "chat: unknown top-level field": (CHAT, None, {"thinking": {}}, "Unknown parameter: 'thinking'"),
    "chat: no messages": (CHAT, None, {"messages": []}, "Invalid value for 'messages'"),
    "chat: unknown role": (
        CHAT,
        None,
        {"messages": [{"role": "bot", "content": "x"}]},
        "Invalid value for 'messages[0].role'",
    ),
    "chat: flat tool": (
        CHAT,
        None,
        {"tools": [RESPONSES_TOOL]},
        "Missing required parameter: 'tools[0].func",
    ),
    "chat: bad tool name": (CHAT, None, {"tools": [function(name="a.b")]}, "'tools[0].function.name'"),
    "chat: tool_choice any is Mistral's": (CHAT, None, {"tool_choice": "any"}, "'tool_choice'"),
    "chat: tool_choice of Responses": (
        CHAT,
        None,
        {"tool_choice": {"type": "function", "name": "get_weather"}},
        "'tool_choice.function'",
    ),
    "chat: five stop sequences": (CHAT, None, {"stop": list("abcde")}, "'stop'"),
    "chat: tool_choice without tools": (
        CHAT,
        None,
        {"tools": [], "tool_choice": "auto"},
        "only allowed when",
    ),
    "chat: parallel switch without tools": (
        CHAT,
        None,
        {"tools": [], "parallel_tool_calls": True},
        "only allowed when",
    ),
    "chat: choice of an unknown tool": (
        CHAT,
        None,
        {"tool_choice": {"type": "function", "function": {"name": "other"}}},
        "'other' not found",
    ),
    "chat: two tools of one name": (CHAT, None, {"tools": [CHAT_TOOL, CHAT_TOOL]}, "must be unique"),
    "chat: parameters are no schema": (
        CHAT,
        None,
        {"tools": [function(parameters=BAD_PARAMETERS)]},
        "Invalid schema for function 'get_weather'",
    ),
    "chat: parameters are no object": (
        CHAT,
        None,
        {"tools": [function(parameters={"type": "string"})]},
        'must be of type "object"',
    ),
    "chat: strict without additionalProperties false": (
        CHAT,
        None,
        {"tools": [function(strict=True, parameters=BAD_PARAMETERS | {"properties": {}})]},
        "additionalProperties",
    ),
    "responses: nested tool": (RESPONSES, None, {"tools": [CHAT_TOOL]}, "'tools[0].name'"),
    "responses: seed": (RESPONSES, None, {"seed": 1}, "Unknown parameter: 'seed'"),
    "responses: stop": (RESPONSES, None, {"stop": ["x"]}, "Unknown parameter: 'stop'"),
    "responses: max_tokens": (RESPONSES, None, {"max_tokens": 9}, "Unknown parameter: 'max_tokens'"),
    "responses: messages": (RESPONSES, None, {"messages": []}, "Unknown parameter: 'messages'"),
    "responses: tool_choice of chat": (RESPONSES, None, {"tool_choice": NAMED}, "'tool_choice.name'"),
    "responses: choice of an unknown tool": (
        RESPONSES,
        None,
        {"tool_choice": {"type": "function", "name": "other"}},
        "not found in 'tools'",
    ),
    "responses: stored response is gone": (
        RESPONSES,
        None,
        {"previous_response_id": "resp_1"},
        "Previous response with id 'resp_1' not found",
    ),
    "messages: role tool": (
        MESSAGES,
        None,
        {"messages": [{"role": "tool", "content": "x"}]},
        "messages.0.role",
    ),
    "messages: chat tool": (MESSAGES, None, {"tools": [CHAT_TOOL]}, "tools.0.name: Field required"),
    "messages: tool_choice as a string": (
        MESSAGES,
        None,
        {"tool_choice": "auto"},
        "tool_choice: Input should",
    ),
    "messages: parallel switch on none": (
        MESSAGES,
        None,
        {"tool_choice": {"type": "none", "disable_parallel_tool_use": True}},
        "tool_choice.disable_parallel_tool_use: Extra inputs",
    ),
    "messages: tool_choice without tools": (
        MESSAGES,
        None,
        {"tools": [], "tool_choice": {"type": "auto"}},
        "while providing tools",
    ),
    "messages: choice of an unknown tool": (
        MESSAGES,
        None,
        {"tool_choice": {"type": "tool", "name": "other"}},
        "'other' not found",
    ),
    "messages: two tools of one name": (MESSAGES, None, {"tools": [MESSAGES_TOOL] * 2}, "must be unique"),
    "messages: schema without a type": (
        MESSAGES,
        None,
        {"tools": [{"name": "a", "input_schema": {}}]},
        "tools.0.input_schema.type: Field required",
    ),
    "messages: seed": (MESSAGES, None, {"seed": 1}, "seed: Extra inputs are not permitted"),
    "messages: empty text": (
        MESSAGES,
        None,
        {"messages": [{"role": "user", "content": " "}]},
        "non-whitespace text",
    ),
    "messages: empty content": (
        MESSAGES,
        None,
        {"messages": [{"role": "user", "content": []}]},
        "non-empty content",
    ),
    "messages: the assistant speaks first": (
        MESSAGES,
        "sim-claude-4-5",
        {"messages": [{"role": "assistant", "content": "x"}]},
        'must use the "user" role',
    ),
    "ollama: content as parts": (
        OLLAMA,
        None,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        "cannot unmarshal an array into Go struct field ChatRequest.messages.0.content",
    ),
    "gemini: unknown field": (GEMINI, None, {"messages": []}, 'Unknown name "messages"'),
    "gemini: chat tool": (GEMINI, None, {"tools": [CHAT_TOOL]}, "Unknown name"),
    "gemini: no contents": (GEMINI, None, {"contents": []}, "contents"),
    "gemini: const in parameters": (
        GEMINI,
        None,
        {"tools": declared(parameters=GEMINI_PARAMETERS | {"const": 1})},
        'Unknown name "const"',
    ),
    "gemini: union type in parameters": (
        GEMINI,
        None,
        {"tools": declared(parameters={"type": "object", "properties": {"a": {"type": ["string", "null"]}}})},
        "'tools[0].functionDeclarations[0].parameters.properties.a.type'",
    ),
    "gemini: two tools of one name": (
        GEMINI,
        None,
        {"tools": [{"functionDeclarations": [{"name": "a"}, {"name": "a"}]}]},
        "Duplicate function declaration",
    ),
    "gemini: config without tools": (
        GEMINI,
        None,
        {"tools": [], "toolConfig": calling(mode="ANY")},
        "without function_declarations",
    ),
    "gemini: allowed names without mode ANY": (
        GEMINI,
        None,
        {"toolConfig": calling(mode="AUTO", allowedFunctionNames=["get_weather"])},
        "only supported with mode ANY",
    ),
    "gemini: unknown allowed name": (
        GEMINI,
        None,
        {"toolConfig": calling(mode="ANY", allowedFunctionNames=["other"])},
        "contains other",
    ),
    "llama.cpp: unknown choice": (CHAT, "sim-llama-cpp", {"tool_choice": "any"}, "Invalid tool_choice"),
    # Gates of models
    "openai reasoning: temperature": (
        CHAT,
        OPENAI_THINKS,
        {"tools": [], "temperature": 0},
        "'temperature' does not support 0",
    ),
    "openai reasoning: top_p": (CHAT, OPENAI_THINKS, {"tools": [], "top_p": 0.5}, "'top_p'"),
    "openai reasoning: logprobs": (CHAT, OPENAI_THINKS, {"tools": [], "logprobs": True}, "'logprobs'"),
    "openai reasoning: max_tokens": (
        CHAT,
        OPENAI_THINKS,
        {"tools": [], "max_tokens": 9},
        "Use 'max_completion_tokens' instead",
    ),
    "openai reasoning: stop": (CHAT, OPENAI_THINKS, {"tools": [], "stop": "x"}, "'stop' is not supported"),
    "openai reasoning: tools on chat": (CHAT, OPENAI_THINKS, {}, "use /v1/responses"),
    "openai reasoning: tools on chat with an effort": (
        CHAT,
        OPENAI_THINKS,
        {"reasoning_effort": "low"},
        "set reasoning_effort to 'none'",
    ),
    "openai responses only: effort none": (
        CHAT,
        "sim-openai-responses-only",
        {"reasoning_effort": "none"},
        "does not support 'none'",
    ),
    "openai: effort for a model that does not think": (
        CHAT,
        None,
        {"reasoning_effort": "low"},
        "'reasoning_effort' is not supported",
    ),
    "openai reasoning on responses: temperature": (
        RESPONSES,
        OPENAI_THINKS,
        {"temperature": 0},
        "'temperature'",
    ),
    "deepseek thinking: required": (
        CHAT,
        DEEPSEEK_THINKS,
        {"tool_choice": "required"},
        "Thinking mode does not support this tool_choice",
    ),
    "deepseek thinking: named": (
        CHAT,
        DEEPSEEK_THINKS,
        {"tool_choice": NAMED},
        "Thinking mode does not support this tool_choice",
    ),
    "claude: temperature": (
        MESSAGES,
        None,
        {"temperature": 1},
        "temperature: Extra inputs are not permitted",
    ),
    "claude: top_p": (MESSAGES, None, {"top_p": 0.9}, "top_p: Extra inputs"),
    "claude: top_k": (MESSAGES, None, {"top_k": 5}, "top_k: Extra inputs"),
    "claude: prefill": (
        MESSAGES,
        None,
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]},
        "prefill",
    ),
    "claude: forced any": (
        MESSAGES,
        "sim-claude-no-forced",
        {"tool_choice": {"type": "any"}},
        'type "tool" and "any" are not supported for this model.',
    ),
    "claude: forced tool": (
        MESSAGES,
        "sim-claude-no-forced",
        {"tool_choice": {"type": "tool", "name": "get_weather"}},
        'type "tool" and "any" are not supported for this model.',
    ),
    "claude: thinking cannot be switched off": (
        MESSAGES,
        "sim-claude-no-forced",
        {"thinking": {"type": "disabled"}},
        '"disabled" is not supported',
    ),
    "claude: forced choice in manual thinking": (
        MESSAGES,
        None,
        {
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "max_tokens": 2000,
            "tool_choice": {"type": "any"},
        },
        "Thinking may not be enabled",
    ),
    "claude: small thinking budget": (
        MESSAGES,
        None,
        {"thinking": {"type": "enabled", "budget_tokens": 9}},
        "budget_tokens",
    ),
    "claude: thinking budget above max_tokens": (
        MESSAGES,
        None,
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        "must be greater than",
    ),
    "claude: anyOf at the root": (MESSAGES, None, rooted(anyOf=[{"required": ["city"]}]), "tools.0.custom"),
    "claude: oneOf at the root": (
        MESSAGES,
        None,
        rooted(oneOf=[{}]),
        "oneOf, allOf, or anyOf at the top level",
    ),
    "claude: allOf at the root": (
        MESSAGES,
        None,
        rooted(allOf=[{}]),
        "oneOf, allOf, or anyOf at the top level",
    ),
    "openai: both limits of tokens": (
        CHAT,
        None,
        {"max_tokens": 9, "max_completion_tokens": 9},
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time",
    ),
    "openai: array without items": (
        CHAT,
        None,
        {"tools": [function(parameters=listing({"type": "array"}))]},
        "In context=('properties', 'cities'), array schema missing items.",
    ),
    "openai: array without items in an array": (
        CHAT,
        None,
        {"tools": [function(parameters=listing({"type": "array", "items": {"type": "array"}}))]},
        "In context=('properties', 'cities', 'items')",
    ),
    "openai: array among types": (
        CHAT,
        None,
        {"tools": [function(parameters=listing({"type": ["string", "array"]}))]},
        "In context=('properties', 'cities', 'type', '1')",
    ),
    "responses: array without items": (
        RESPONSES,
        None,
        {"tools": [{**RESPONSES_TOOL, "strict": False, "parameters": listing({"type": "array"})}]},
        "array schema missing items",
    ),
    "responses: choice of a custom tool that is not there": (
        RESPONSES,
        None,
        {"tool_choice": {"type": "custom", "name": "other"}},
        "not found in 'tools'",
    ),
    "responses: custom tool with parameters": (
        RESPONSES,
        None,
        {"tools": [{"type": "custom", "name": "run", "parameters": {}}]},
        "Unknown parameter: 'tools[0].parameters'",
    ),
    "deepseek: strict off the beta path": (
        CHAT,
        "sim-deepseek",
        {"tools": [function(strict=True)]},
        "under /beta only",
    ),
    "gemini: both fields of parameters": (
        GEMINI,
        None,
        {"tools": declared(parameters={"type": "object"}, parametersJsonSchema={"type": "object"})},
        "mutually exclusive",
    ),
    "ollama: thinking of a model that does not": (OLLAMA, None, {"think": True}, "does not support thinking"),
    "ollama: tools of a model without": (OLLAMA, "sim-ollama-no-tools", {}, "does not support tools"),
}


@pytest.mark.parametrize(("protocol", "model", "changes", "text"), REFUSED.values(), ids=REFUSED)
def test_refused(post: Post, protocol: str, model: str | None, changes: dict[str, Any], text: str) -> None:
    reply = post(protocol, model=model, **changes)
    assert reply.status_code == 400, reply.text
    assert text in ERROR_TEXT[protocol](reply.json())


ACCEPTED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "openai reasoning: default temperature": (CHAT, OPENAI_THINKS, {"tools": [], "temperature": 1}),
    "openai reasoning: temperature and tools with effort none": (
        CHAT,
        OPENAI_THINKS,
        {"temperature": 0, "reasoning_effort": "none"},
    ),
    "openai reasoning: tools on responses": (RESPONSES, OPENAI_THINKS, {"tool_choice": "required"}),
    "deepseek thinking switched off: required": (
        CHAT,
        DEEPSEEK_THINKS,
        {"tool_choice": "required", "thinking": {"type": "disabled"}},
    ),
    "deepseek thinking: temperature is ignored": (CHAT, DEEPSEEK_THINKS, {"temperature": 0}),
    "mistral: any": (CHAT, "sim-mistral", {"tool_choice": "any", "random_seed": 1}),
    "ollama /v1: any choice is ignored": (CHAT, "sim-ollama-v1", {"tool_choice": "whatever"}),
    "llama.cpp: the object form is ignored": (CHAT, "sim-llama-cpp", {"tool_choice": NAMED}),
    "claude: forced any": (MESSAGES, "sim-claude", {"tool_choice": {"type": "any"}}),
    "claude: adaptive thinking and forced any": (
        MESSAGES,
        "sim-claude",
        {"thinking": {"type": "adaptive"}, "tool_choice": {"type": "any"}},
    ),
    "claude: anyOf below the root": (
        MESSAGES,
        "sim-claude",
        {
            "tools": [
                {**MESSAGES_TOOL, "input_schema": listing({"anyOf": [{"type": "string"}, {"type": "null"}]})}
            ]
        },
    ),
    "mistral: array without items": (
        CHAT,
        "sim-mistral",
        {"tools": [function(parameters=listing({"type": "array"}))]},
    ),
    "responses: custom tool beside a function": (
        RESPONSES,
        "sim-openai",
        {"tools": [RESPONSES_TOOL, {"type": "custom", "name": "run", "format": {"type": "text"}}]},
    ),
    "ollama: unknown fields are ignored": (OLLAMA, "sim-ollama", {"tool_choice": "required", "strict": True}),
    "gemini: capitals, snake_case": (
        GEMINI,
        "sim-gemini",
        {
            "tools": [{"function_declarations": [{"name": "get_weather", "parameters": {"type": "OBJECT"}}]}],
            "tool_config": {"function_calling_config": {"mode": "ANY"}},
        },
    ),
}


@pytest.mark.parametrize(("protocol", "model", "changes"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(post: Post, protocol: str, model: str, changes: dict[str, Any]) -> None:
    reply = post(protocol, model=model, **changes)
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize(
    ("model", "changes", "place", "kind"),
    [
        ("sim-mistral", {"seed": 1}, ["body", "seed"], "extra_forbidden"),
        ("sim-mistral", {"max_completion_tokens": 9}, ["body", "max_completion_tokens"], "extra_forbidden"),
        ("sim-mistral", {"messages": [{"role": "user"}]}, ["body", "messages", 0, "content"], "missing"),
    ],
    ids=["OpenAI's seed", "OpenAI's max_completion_tokens", "no content"],
)
def test_mistral_refuses_the_shape_with_422(
    post: Post, model: str, changes: dict[str, Any], place: list[Any], kind: str
) -> None:
    reply = post(CHAT, model=model, **changes)
    assert reply.status_code == 422
    assert [(fault["loc"], fault["type"]) for fault in reply.json()["detail"]] == [(place, kind)]


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"anthropic-version": ""}, "not a valid version"),
        ({"anthropic-version": "2020-01-01"}, "not a valid version"),
    ],
    ids=["empty", "unknown"],
)
def test_messages_wants_a_known_version(post: Post, headers: dict[str, str], text: str) -> None:
    assert text in post(MESSAGES, headers=headers).json()["error"]["message"]


def test_messages_wants_max_tokens(post: Post) -> None:
    body = first_turn(MESSAGES)
    del body["max_tokens"]
    assert post(MESSAGES, body).json()["error"]["message"] == "max_tokens: Field required"


def test_messages_wants_a_version_header(client: httpx.Client) -> None:
    bare = {"x-api-key": "test-key"}
    with httpx.Client(base_url=client.base_url, trust_env=False) as other:
        reply = other.post("/v1/messages", json={"model": "sim-claude"}, headers=bare)
    assert (reply.status_code, reply.json()["error"]["message"]) == (
        400,
        "anthropic-version: header is required",
    )


@pytest.mark.parametrize(
    ("model", "temperature", "status"),
    [
        ("sim-claude-4-5", 0.2, 200),
        ("sim-claude", 1, 200),
        ("sim-claude", 0.2, 400),
        ("sim-claude-no-forced", 0.2, 400),
    ],
    ids=["old model", "newer model, default", "newer model", "newest model"],
)
def test_the_older_version_leaves_temperature_to_the_model(
    post: Post, model: str, temperature: float, status: int
) -> None:
    assert post(MESSAGES, model=model, headers=OLDER, temperature=temperature).status_code == status


@pytest.mark.parametrize(
    ("protocol", "model", "status"),
    [
        (CHAT, "nobody", 404),
        (CHAT, "sim-claude", 404),
        (MESSAGES, "sim-openai", 404),
        (RESPONSES, "sim-deepseek", 404),
        (GEMINI, "sim-ollama", 404),
        (OLLAMA, "nobody", 404),
        (CHAT, "sim-openai+nonsense", 400),
    ],
)
def test_a_model_is_served_on_its_own_protocols_only(
    post: Post, protocol: str, model: str, status: int
) -> None:
    assert post(protocol, model=model).status_code == status


@pytest.mark.parametrize("protocol", [CHAT, RESPONSES, MESSAGES, OLLAMA])
@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"model": NaN}', b"\xff"], ids=["cut", "list", "NaN", "bytes"]
)
def test_a_body_that_is_no_json_object_is_refused(
    client: httpx.Client, protocol: str, content: bytes
) -> None:
    reply = client.post(URLS[protocol], content=content)
    assert reply.status_code == 400
    assert "error" in reply.json()
