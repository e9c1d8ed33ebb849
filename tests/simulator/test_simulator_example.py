"""The script that the README shows does what its notes say, from the command line on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.simulator.simulator_bodies import HEADERS, first_turn, second_turn
from tests.support import ROOT
from toolbench.domain.shipped import shipped
from toolbench.simulator import PROTOCOLS

EXAMPLE = shipped() / "simulator.example.json"
GET_ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
CHAT = {"type": "function", "function": {"name": "get_order", "parameters": GET_ORDER}}
TOOLS: dict[str, list[dict[str, Any]]] = {
    "chat_completions": [CHAT],
    "responses": [{"type": "function", "name": "get_order", "parameters": GET_ORDER, "strict": False}],
    "messages": [{"name": "get_order", "input_schema": GET_ORDER}],
    "ollama_chat": [CHAT],
    "generate_content": [
        {"functionDeclarations": [{"name": "get_order", "parametersJsonSchema": GET_ORDER}]}
    ],
}
PATHS = {
    "chat_completions": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "ollama_chat": "/api/chat",
    "generate_content": "/v1beta/models/{model}:generateContent",
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of the command as the README gives it, on a free port."""
    command = [sys.executable, "-m", "toolbench", "serve", "simulator", "--script", str(EXAMPLE)]
    with subprocess.Popen(
        [*command, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            assert address
            with httpx.Client(base_url=address[0], headers=HEADERS, timeout=10, trust_env=False) as opened:
                yield opened
        finally:
            process.kill()


def ask(client: httpx.Client, protocol: str, model: str, text: str, **more: Any) -> httpx.Response:
    body = first_turn(protocol, text, model, tools=TOOLS[protocol], **more)
    return client.post(PATHS[protocol].format(model=model), json=body)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_careful_model_calls_and_repeats_the_result(client: httpx.Client, protocol: str) -> None:
    first = ask(client, protocol, "careful", "Where is ORD-123456?")
    assert first.status_code == 200, first.text
    assert "ORD-123456" in first.text
    asked = first_turn(protocol, "Where is ORD-123456?", "careful", tools=TOOLS[protocol])
    again = second_turn(protocol, asked, first.json(), "in transit")
    last = client.post(PATHS[protocol].format(model="careful"), json=again)
    assert "The order service says: in transit" in last.text


def test_the_hasty_model_sends_a_number(client: httpx.Client) -> None:
    reply = ask(client, "chat_completions", "hasty", "Where is ORD-123456?").json()
    (call,) = reply["choices"][0]["message"]["tool_calls"]
    assert call["function"]["arguments"] == '{"order_id": 123456}'


def test_the_thinker_thinks_and_refuses_a_forced_choice(client: httpx.Client) -> None:
    reply = ask(client, "messages", "thinker", "Get my order").json()
    assert [block["type"] for block in reply["content"]] == ["thinking", "tool_use"]
    forced = ask(client, "messages", "thinker", "Get my order", tool_choice={"type": "any"})
    assert forced.status_code == 400


def test_the_flaky_model_fails_twice_and_answers(client: httpx.Client) -> None:
    replies = [ask(client, "chat_completions", "flaky", "ORD-123456", stream=True) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [429, 200, 200]
    assert ["[DONE]" in reply.text for reply in replies] == [False, False, True]


def test_the_example_is_named_in_the_readme_and_comes_with_the_package() -> None:
    assert "simulator.example.json" in (ROOT / "README.md").read_text()
    assert '"simulator.example.json" = "toolbench/_shipped/' in (ROOT / "pyproject.toml").read_text()
    assert Path(EXAMPLE).is_file()
