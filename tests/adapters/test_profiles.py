"""The dialect data and what a model's configuration makes of it."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.adapters.support import PROTOCOLS, ask, model, offer
from toolbench.adapters.profiles import dialect_of, dialects
from toolbench.adapters.schemas import rules_named
from toolbench.domain.config import ModelConfig
from toolbench.errors import ConfigError, TransportError

FOLDER = resources.files("toolbench.adapters")


def load(name: str) -> Any:
    return json.loads(FOLDER.joinpath(name).read_text("utf-8"))


def test_profiles_keep_to_their_schema() -> None:
    schema = load("profiles.schema.json")
    Draft202012Validator.check_schema(schema)
    checker = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert [error.message for error in checker.iter_errors(load("profiles.json"))] == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"date": "November"}, id="date"),
        pytest.param({"surprise": 1}, id="unknown-key"),
        pytest.param(
            {"capability_rules": [{"setting": "temperature", "state": "refused", "note": "x"}]},
            id="rule-state",
        ),
        pytest.param({"fields": {"top_k": "top_k"}}, id="unknown-setting"),
    ],
)
def test_the_schema_refuses_mistakes(change: dict[str, Any]) -> None:
    data = load("profiles.json")
    data["protocols"]["messages"]["dialects"]["anthropic"].update(change)
    assert not Draft202012Validator(load("profiles.schema.json")).is_valid(data)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_dialect_can_be_used(protocol: str) -> None:
    default, known = dialects(protocol)
    assert default in known
    for dialect in known.values():
        assert dialect.date >= "2026-01-01"
        assert rules_named(dialect.strict_rules)
        assert rules_named(dialect.schema_rules)
        for rule in dialect.capability_rules:
            re.compile(rule.models)
    assert set(load("profiles.json")["protocols"]) == set(PROTOCOLS)


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match=r"chat_completions has no profile 'nope'; there are: compatible, openai"
    ):
        dialect_of(model("chat_completions", profile="nope"))


def test_a_profile_of_another_protocol_is_unknown() -> None:
    with pytest.raises(ConfigError):
        dialect_of(model("responses", profile="mistral"))


def test_gates_match_whole_ids() -> None:
    dialect = dialect_of(model("messages"))

    def state(name: str) -> str:
        return dialect.state(model("messages", name), "tool_choice", "required")[0]

    assert [
        state(n)
        for n in ("claude-opus-5", "claude-opus-5-5-lite", "claude-opus-5-5", "claude-opus-5-5-20261101")
    ] == [
        "supported",
        "supported",
        "unsupported",
        "unsupported",
    ]


def test_the_configuration_has_the_last_word() -> None:
    assert ask("messages", capabilities={"temperature": "supported"}).body["temperature"] == 0.0


@pytest.mark.parametrize(
    ("name", "extra", "refused"),
    [
        ("gpt-6-sol", {}, True),
        ("gpt-6-sol", {"reasoning_effort": "none"}, False),
        ("gpt-5.4", {}, False),
        ("gpt-5.4", {"reasoning_effort": "low"}, True),
    ],
)
def test_reasoning_models_take_tools_on_chat_only_without_reasoning(
    name: str, extra: dict[str, Any], refused: bool
) -> None:
    def build() -> Any:
        return ask("chat_completions", name=name, profile="openai", extra_body=extra)

    if not refused:
        assert build().body["tools"]
        return
    with pytest.raises(TransportError, match="responses protocol") as caught:
        build()
    assert (caught.value.code, caught.value.unsupported) == ("tools_unsupported", True)


def test_extra_body_is_laid_over_the_request() -> None:
    request = ask(
        "ollama_chat", extra_body={"options": {"num_ctx": 4096, "temperature": 0.7}, "think": False}
    )
    assert request.body["options"] == {"num_ctx": 4096, "num_predict": 500, "temperature": 0.7}
    assert request.body["think"] is False
    assert request.settings["temperature"].to_json() == {"asked": 0.0, "sent": 0.7, "honoured": None}


def test_no_request_changes_the_dialect_data() -> None:
    first = ask("ollama_chat", extra_body={"options": {"num_ctx": 1}})
    assert first.body["options"]["num_ctx"] == 1
    assert ask("ollama_chat").body["options"]["num_ctx"] == 8192


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_without_a_profile_gets_the_default(protocol: str) -> None:
    plain = ModelConfig("p", "m", protocol, "http://x")
    assert dialect_of(plain) == dialects(protocol)[1][dialects(protocol)[0]]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_settings_that_were_not_asked_for_are_not_sent(protocol: str) -> None:
    request = ask(protocol, offer(), temperature=None)
    assert set(request.settings) <= {"max_output_tokens", "tool_choice"}
    assert "temperature" not in json.dumps(request.body)
