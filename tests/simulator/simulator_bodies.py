"""Request bodies that every protocol accepts, and the script that the SDK tests decide by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

Body = dict[str, Any]
Post = Callable[..., httpx.Response]

SCRIPT: Body = {
    "models": {"sim-compatible": {"protocols": ["chat_completions"], "dialect": "compatible"}},
    "rules": [
        {"when": {"after_tool_result": True}, "then": {"text": "It is $result."}},
        {
            "when": {"user_contains": "both"},
            "then": {
                "calls": [
                    {"name": "get_weather", "arguments": {"city": "Oslo"}},
                    {"name": "get_weather", "arguments": {"city": "Bergen"}},
                ]
            },
        },
        {
            "when": {"user_matches": r"weather in (?P<city>\w+)"},
            "then": {"calls": [{"name": "get_weather", "arguments": {"city": "$city"}}]},
        },
        {"when": {"user_contains": "refuse"}, "then": {"refusal": "I will not do that."}},
        {"when": {"user_contains": "long"}, "then": {"text": "A very long story.", "truncated": True}},
        {"when": {"user_contains": "nothing"}, "then": {"empty": True}},
        {"then": {"text": "Hello, мир!"}},
    ],
}

PARAMETERS: Body = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
GEMINI_PARAMETERS = {key: value for key, value in PARAMETERS.items() if key != "additionalProperties"}

CHAT_TOOL: Body = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Current weather", "parameters": PARAMETERS},
}
RESPONSES_TOOL: Body = {
    "type": "function",
    "name": "get_weather",
    "description": "Current weather",
    "parameters": PARAMETERS,
    "strict": True,
}
MESSAGES_TOOL: Body = {"name": "get_weather", "description": "Current weather", "input_schema": PARAMETERS}
GEMINI_TOOL: Body = {
    "name": "get_weather",
    "description": "Current weather",
    "parametersJsonSchema": PARAMETERS,
}

URLS = {
    "chat_completions": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "ollama_chat": "/api/chat",
    "generate_content": "/v1beta/models/{model}:generateContent",
}

MODELS = {
    "chat_completions": "sim-openai",
    "responses": "sim-openai",
    "messages": "sim-claude",
    "ollama_chat": "sim-ollama",
    "generate_content": "sim-gemini",
}
"""Protocol -> a model that speaks it."""

HEADERS = {
    "authorization": "Bearer test-key",
    "x-goog-api-key": "test-key",
    "anthropic-version": "2026-10-21",
}


def first_turn(protocol: str, text: str = "weather in Oslo", model: str | None = None, **more: Any) -> Body:
    """Return a first request with one tool on offer."""
    name = {"model": model or MODELS[protocol]}
    said = [{"role": "user", "content": text}]
    bodies: dict[str, Body] = {
        "chat_completions": {**name, "messages": said, "tools": [CHAT_TOOL]},
        "responses": {**name, "input": said, "tools": [RESPONSES_TOOL], "store": False},
        "messages": {**name, "max_tokens": 400, "messages": said, "tools": [MESSAGES_TOOL]},
        "ollama_chat": {**name, "messages": said, "tools": [CHAT_TOOL], "stream": False},
        "generate_content": {
            "contents": [{"role": "user", "parts": [{"text": text}]}],
            "tools": [{"functionDeclarations": [GEMINI_TOOL]}],
        },
    }
    return bodies[protocol] | more


def second_turn(protocol: str, request: Body, reply: Body, result: str = "3 degrees") -> Body:
    """Return the request that answers every call of a reply, as each provider documents it."""
    return request | SECOND[protocol](request, reply, result)


def _chat(request: Body, reply: Body, result: str) -> Body:
    message = reply["choices"][0]["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": result} for call in message["tool_calls"]
    ]
    return {"messages": [*request["messages"], message, *results]}


def _responses(request: Body, reply: Body, result: str) -> Body:
    results = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": result}
        for item in reply["output"]
        if item["type"] == "function_call"
    ]
    return {"input": [*request["input"], *reply["output"], *results]}


def _messages(request: Body, reply: Body, result: str) -> Body:
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": result}
        for block in reply["content"]
        if block["type"] == "tool_use"
    ]
    assistant = {"role": "assistant", "content": reply["content"]}
    return {"messages": [*request["messages"], assistant, {"role": "user", "content": results}]}


def _ollama(request: Body, reply: Body, result: str) -> Body:
    message = reply["message"]
    results = [
        {
            "role": "tool",
            "tool_name": call["function"]["name"],
            "tool_call_id": call["id"],
            "content": result,
        }
        for call in message["tool_calls"]
    ]
    return {"messages": [*request["messages"], message, *results]}


def _gemini(request: Body, reply: Body, result: str) -> Body:
    content = reply["candidates"][0]["content"]
    parts = [
        {
            "functionResponse": {
                "id": part["functionCall"]["id"],
                "name": part["functionCall"]["name"],
                "response": {"output": result},
            }
        }
        for part in content["parts"]
        if "functionCall" in part
    ]
    return {"contents": [*request["contents"], content, {"role": "user", "parts": parts}]}


SECOND = {
    "chat_completions": _chat,
    "responses": _responses,
    "messages": _messages,
    "ollama_chat": _ollama,
    "generate_content": _gemini,
}

ERROR_TEXT = {
    "chat_completions": lambda body: body["error"]["message"],
    "responses": lambda body: body["error"]["message"],
    "messages": lambda body: body["error"]["message"],
    "ollama_chat": lambda body: body["error"],
    "generate_content": lambda body: body["error"]["message"],
}
"""Protocol -> reader of the text in its error body (OpenAI's shape on chat_completions)."""
