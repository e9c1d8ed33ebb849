"""Scripts: what they may say, and what models decide by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolbench.errors import InputError
from toolbench.simulator import load_script
from toolbench.simulator.answering import decide
from toolbench.simulator.exchange import Choice, Conversation, Reply, Result, Tool
from toolbench.simulator.failures import HERE
from toolbench.simulator.script import FAULTS, SCHEMA

WEATHER = Tool(
    "get_weather",
    "Current weather of a city",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CANCEL = Tool("cancel_order", "Отменить заказ", {"type": "object", "properties": {}})


def talk(user: str = "hi", **changes: Any) -> Conversation:
    defaults: dict[str, Any] = {
        "tools": (CANCEL, WEATHER),
        "choice": Choice(),
        "parallel": True,
        "turn": 1,
        "step": 1,
        "results": (),
        "thinking": False,
    }
    return Conversation(user=user, **(defaults | changes))


def say(rules: list[dict[str, Any]], conversation: Conversation) -> Reply:
    script = load_script({"models": {"m": {"rules": rules}}})
    return decide(script.models["m"], conversation)[0]


def test_schema_and_data_files_are_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for path in (HERE / "schemas").glob("*.json"):
        Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))
    Draft202012Validator(SCHEMA).validate(json.loads((HERE / "models.json").read_text("utf-8")))
    assert {fault["kind"] for fault in FAULTS.values()} >= {"none", "status", "hang", "slow_drip"}


WRONG: dict[str, tuple[Any, str]] = {
    "no models": ({}, "'models' is a required property"),
    "unknown key": ({"models": {}, "more": 1}, "more"),
    "rule without then": ({"models": {"m": {"rules": [{}]}}}, "'then' is a required property"),
    "empty decision": ({"models": {"m": {"rules": [{"then": {}}]}}}, "m.rules[0]"),
    "call with both kinds of arguments": (
        {
            "models": {},
            "rules": [{"then": {"calls": [{"name": "a", "arguments": {}, "raw_arguments": "{}"}]}}],
        },
        "rules[0]",
    ),
    "leak without calls": ({"models": {}, "rules": [{"then": {"leak": "bare"}}]}, "rules[0]"),
    "unknown dialect": ({"models": {"m": {"dialect": "x"}}}, "dialect"),
    "unknown protocol": ({"models": {"m": {"protocols": ["x"]}}}, "protocols"),
    "like nobody": ({"models": {"m": {"like": "x"}}}, "'m' is like 'x'"),
    "like itself": ({"models": {"m": {"like": "m"}}}, "leads nowhere"),
    "model id with a plus sign": ({"models": {"m+500": {}}}, "m+500"),
    "group that nothing captures": (
        {"models": {}, "rules": [{"then": {"text": "$city"}}]},
        "no group ['city'] in user_matches",
    ),
    "group in arguments that nothing captures": (
        {
            "models": {
                "m": {"rules": [{"then": {"calls": [{"name": "a", "arguments": {"n": {"$group": "n"}}}]}}]}
            }
        },
        "no group ['n']",
    ),
    "group of an unknown type": (
        {
            "models": {},
            "rules": [
                {"then": {"calls": [{"name": "a", "arguments": {"n": {"$group": "user", "as": "x"}}}]}}
            ],
        },
        "as is one of string",
    ),
    "broken pattern": (
        {"models": {}, "rules": [{"when": {"user_matches": "("}, "then": {"text": "x"}}]},
        "regex",
    ),
    "unknown fault of a rule": (
        {"models": {}, "rules": [{"then": {"text": "x", "fault": "y"}}]},
        "fault 'y'",
    ),
    "unknown fault of a model": ({"models": {"m": {"fault": [500, 418]}}}, "unknown fault '418'"),
}


@pytest.mark.parametrize(("script", "text"), WRONG.values(), ids=WRONG)
def test_a_wrong_script_is_refused(script: Any, text: str) -> None:
    with pytest.raises(InputError) as caught:
        load_script(script)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["{", "[]", '{"models": {}, "models": {}}'])
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"script\.json"):
        load_script(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_script(tmp_path / "none.json")


def test_models_of_a_script_lie_over_the_built_in_ones(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"models": {"gpt": {"like": "sim-openai-reasoning", "thinking": "always"}}}')
    models = load_script(path).models
    assert models["gpt"].refuses == models["sim-openai-reasoning"].refuses
    assert models["gpt"].thinking == "always"
    assert models["sim-claude"].protocols == ("messages",)


def test_the_first_rule_that_applies_decides() -> None:
    rules = [
        {"when": {"after_tool_result": "get_weather"}, "then": {"text": "weather: $result"}},
        {"when": {"after_tool_result": True}, "then": {"text": "other: $result"}},
        {"when": {"turn": 3}, "then": {"text": "third"}},
        {"when": {"tool_offered": "get_time"}, "then": {"text": "time"}},
        {"when": {"user_contains": "ЗАКАЗ", "after_tool_result": False}, "then": {"text": "order"}},
    ]
    assert say(rules, talk(results=(Result("get_weather", "3"),))).text == "weather: 3"
    assert say(rules, talk(results=(Result("x", "3"),))).text == "other: 3"
    assert say(rules, talk(turn=3)).text == "third"
    assert say(rules, talk(tools=(Tool("get_time", "", {}),))).text == "time"
    assert say(rules, talk("мой заказ")).text == "order"
    assert say(rules, talk()) == Reply()


def test_decisions_are_walked_one_a_step_and_the_last_repeats() -> None:
    rules = [{"then": [{"calls": [{"name": "get_weather", "raw_arguments": "{"}]}, {"text": "done"}]}]
    assert [say(rules, talk(step=step)).text for step in (1, 2, 3)] == ["", "done", "done"]


def test_arguments_are_copied_from_the_user_text() -> None:
    pattern = r"(?P<count>\d+) (?P<what>\w+)(?P<gift> gift)?"
    arguments = {
        "what": "one $what for $$5",
        "count": {"$group": "count", "as": "integer"},
        "price": {"$group": "count", "as": "number"},
        "word": {"$group": "what", "as": "integer"},
        "items": [{"name": "$what"}],
        "left": "$gift",
    }
    call = {"name": "buy", "arguments": arguments}
    raw = {"name": "buy", "raw_arguments": '{"n": $count'}
    rules = [{"when": {"user_matches": pattern}, "then": {"calls": [call, raw]}}]
    reply = say(rules, talk("send 12 яблок"))
    assert json.loads(reply.calls[0].arguments) == {
        "what": "one яблок for $5",
        "count": 12,
        "price": 12.0,
        "word": "яблок",
        "items": [{"name": "яблок"}],
        "left": "",
    }
    assert reply.calls[1].arguments == '{"n": 12'


@pytest.mark.parametrize("leak", ["hermes", "fenced", "bare", "harmony", "xml"])
def test_a_leaked_call_is_text(leak: str) -> None:
    call = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    reply = say([{"then": {"text": "Sure.", "calls": [call], "leak": leak}}], talk())
    assert reply.calls == ()
    assert reply.text.startswith("Sure.\n")
    assert "get_weather" in reply.text
    assert '{"city": "Oslo"}' in reply.text


def test_a_truncated_reply_is_cut() -> None:
    call = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    cut = say([{"then": {"calls": [call, call], "truncated": True}}], talk())
    assert [call.arguments for call in cut.calls] == ['{"city": "Oslo"}', '{"city":']
    assert cut.truncated
    assert say([{"then": {"text": "abcdef", "truncated": True}}], talk()).text == "abc"


@pytest.mark.parametrize(
    ("choice", "parallel", "names"),
    [
        (Choice("auto"), True, ["get_weather", "cancel_order"]),
        (Choice("auto"), False, ["get_weather"]),
        (Choice("none"), True, []),
        (Choice("required"), True, ["get_weather", "cancel_order"]),
        (Choice("required", ("cancel_order",), named=True), True, ["cancel_order"]),
    ],
    ids=["auto", "one at a time", "none", "required", "named"],
)
def test_a_reply_obeys_the_request(choice: Choice, parallel: bool, names: list[str]) -> None:
    calls = [{"name": name, "arguments": {}} for name in ("get_weather", "cancel_order")]
    conversation = talk(choice=choice, parallel=parallel)
    assert [call.name for call in say([{"then": {"calls": calls}}], conversation).calls] == names
    stubborn = say([{"then": {"calls": calls, "disobeys": True}}], conversation)
    assert [call.name for call in stubborn.calls] == ["get_weather", "cancel_order"]


def test_a_required_call_is_made_up_when_the_rule_has_none() -> None:
    reply = say([{"then": {"text": "no"}}], talk("weather?", choice=Choice("required")))
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [
        ("get_weather", {"city": "weather?"})
    ]
    named = Choice("required", ("cancel_order",), named=True)
    assert say([{"then": {"text": "no"}}], talk("weather?", choice=named)).calls[0].name == "cancel_order"


def test_a_model_that_thinks_always_tells_some_reasoning() -> None:
    rules = [{"when": {"turn": 1}, "then": {"text": "x", "reasoning": ""}}, {"then": {"text": "y"}}]
    assert say(rules, talk(thinking=True)).reasoning == ""
    assert say(rules, talk(thinking=True, turn=2)).reasoning
    assert say(rules, talk()).reasoning is None


@pytest.mark.parametrize(
    ("model", "user", "results", "expected"),
    [
        ("sim-echo", "Привет", (), ("Привет", [])),
        ("sim-echo", "x", (Result("a", "42"),), ("42", [])),
        ("sim-silent", "x", (), ("", [])),
        ("sim-always-first", "what weather", (), ("", ["cancel_order"])),
        ("sim-router", "what weather", (), ("", ["get_weather"])),
        ("sim-router", "можно отменить?", (), ("", ["cancel_order"])),
        ("sim-router", "x", (), ("I have no tool for that.", [])),
        ("sim-router", "x", (Result("a", "42"),), ("The tool answered: 42", [])),
    ],
)
def test_built_in_models(
    model: str, user: str, results: tuple[Result, ...], expected: tuple[str, list[str]]
) -> None:
    reply, fault = decide(load_script().models[model], talk(user, results=results))
    assert (reply.text, [call.name for call in reply.calls]) == expected
    assert fault is None


def test_made_up_arguments_fit_the_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "fixed": {"const": 7},
            "count": {"type": "integer", "minimum": 3},
            "rate": {"type": "number"},
            "sure": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "place": {"$ref": "#/$defs/place"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "unit": {"type": ["string", "null"]},
            "extra": {"type": "string"},
        },
        "required": ["kind", "fixed", "count", "rate", "sure", "tags", "place", "either", "unit"],
        "$defs": {"place": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    }
    conversation = talk("go", tools=(Tool("t", "", schema),))
    reply, _ = decide(load_script().models["sim-always-first"], conversation)
    made_up = json.loads(reply.calls[0].arguments)
    Draft202012Validator(schema).validate(made_up)
    assert "extra" not in made_up
