import json
from typing import Any

import pytest

from tests.support import delivery
from toolbench.running.baselines import KeywordRouter, RandomTool, always_first_tool, always_silent

TOOLS = [
    {"type": "function", "function": {"name": tool.name, "parameters": dict(tool.parameters)}}
    for tool in delivery().contract.tools
]


def ask(
    text: str, lang: str = "en", tools: list[dict[str, Any]] = TOOLS
) -> tuple[str, list[tuple[str, Any]]]:
    body = KeywordRouter(delivery().contract, lang)(
        {"messages": [{"role": "user", "content": text}], "tools": tools}
    )
    message = body["choices"][0]["message"]
    calls = [
        (c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message.get("tool_calls", [])
    ]
    return message["content"], calls


def test_silence_is_silent_and_the_first_tool_is_the_first_on_offer() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "tools": TOOLS[::-1]}
    assert "tool_calls" not in always_silent(body)["choices"][0]["message"]
    call = always_first_tool(body)["choices"][0]["message"]["tool_calls"][0]
    assert call["function"]["name"] == "cancel_order"


def test_no_baseline_calls_what_is_not_offered() -> None:
    body = {"messages": [{"role": "user", "content": "cancel ORD-123456"}]}
    for player in (always_first_tool, RandomTool(1), KeywordRouter(delivery().contract, "en")):
        assert "tool_calls" not in player(body)["choices"][0]["message"]


def test_the_random_tool_depends_on_its_seed_only() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "tools": TOOLS}
    same = [RandomTool(5)(body) for _ in range(3)]
    assert same[0] == same[1] == same[2]
    chosen = {json.dumps(RandomTool(seed)(body)) for seed in range(40)}
    assert len(chosen) == len(TOOLS) + 1


@pytest.mark.parametrize(
    ("lang", "text", "call"),
    [
        ("en", "Where is order ORD-123456?", ("get_order", {"order_id": "ORD-123456"})),
        (
            "ru",
            "Сколько стоит доставка из Казани в Самару, 2,5 кг, экспресс?",
            (
                "quote_delivery",
                {"origin": "Казань", "destination": "Самара", "weight_kg": 2.5, "service": "express"},
            ),
        ),
    ],
)
def test_the_router_finds_arguments_in_the_text(lang: str, text: str, call: tuple[str, Any]) -> None:
    assert ask(text, lang)[1] == [call]


def test_the_router_asks_for_what_it_does_not_find() -> None:
    text, calls = ask("Where is my order?")
    assert calls == []
    assert "order number" in text
