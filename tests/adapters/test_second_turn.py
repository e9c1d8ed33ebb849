"""The second turn of every protocol: what was said goes back as it was, results go where they belong."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.adapters.support import PROTOCOLS, ask, failed, model, offer, ok, read, reply, tool, with_results
from toolbench.adapters import adapter_for
from toolbench.adapters.samples import sample_offer, samples

TWO = [("call_a", "look", {"city": "Oslo"}), ("call_b", "look", {"city": "Riga"})]


def history_of(protocol: str, body: dict[str, Any]) -> list[Any]:
    key = {"responses": "input", "generate_content": "contents"}.get(protocol, "messages")
    found: list[Any] = body[key]
    return found


def results_of(protocol: str, history: list[Any]) -> list[tuple[Any, str, bool]]:
    """Return (what it answers, text, failed) of every result in the last part of a history."""
    if protocol == "messages":
        blocks = [b for b in history[-1]["content"] if b["type"] == "tool_result"]
        return [(b["tool_use_id"], b["content"], b.get("is_error", False)) for b in blocks]
    if protocol == "generate_content":
        parts = [part["functionResponse"] for part in history[-1]["parts"]]
        pairs = [(part.get("id"), next(iter(part["response"].items()))) for part in parts]
        return [(id_, text, key == "error") for id_, (key, text) in pairs]
    keys = {"responses": ("call_id", "output")}.get(protocol, ("tool_call_id", "content"))
    items = [item for item in history if keys[0] in item and keys[1] in item]
    return [
        (item[keys[0]], item[keys[1]].removeprefix("ERROR: "), item[keys[1]].startswith("ERROR: "))
        for item in items
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_call_gets_its_result_in_call_order(protocol: str) -> None:
    request, calls = with_results(protocol, reply(protocol, "", TWO), [failed("boom"), ok("rain")])
    assert [call.id for call in calls] == ["call_a", "call_b"]
    history = history_of(protocol, request.body)
    assert results_of(protocol, history) == [("call_a", "boom", True), ("call_b", "rain", False)]


def test_messages_puts_all_results_into_one_user_message() -> None:
    request, _ = with_results("messages", reply("messages", "", TWO), [ok(), ok()])
    assert [message["role"] for message in request.body["messages"]] == ["user", "assistant", "user"]


def test_gemini_puts_all_results_into_one_user_content() -> None:
    request, _ = with_results("generate_content", reply("generate_content", "", TWO), [ok(), ok()])
    assert [content["role"] for content in request.body["contents"]] == ["user", "model", "user"]


def test_a_failure_is_flagged_only_where_there_is_a_flag() -> None:
    request, _ = with_results("messages", reply("messages", "", TWO[:1]), [failed("boom")])
    block = request.body["messages"][-1]["content"][0]
    assert (block["content"], block["is_error"]) == ("boom", True)
    request, _ = with_results(
        "messages", reply("messages", "", TWO[:1]), [failed("boom")], profile="llama_cpp"
    )
    assert request.body["messages"][-1]["content"][0]["content"] == "ERROR: boom"


def said_in(protocol: str, body: Mapping[str, Any]) -> list[Any]:
    """Return what a reply adds to the history, as the wire has it."""
    if protocol == "chat_completions":
        return [body["choices"][0]["message"]]
    if protocol == "responses":
        return list(body["output"])
    if protocol == "messages":
        return [{"role": "assistant", "content": body["content"]}]
    return [body["message"] if protocol == "ollama_chat" else body["candidates"][0]["content"]]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_reply_goes_back_verbatim(protocol: str) -> None:
    for sample in samples(protocol):
        if sample.expect["kind"] not in ("tool_call", "text"):
            continue
        adapter, what = adapter_for(protocol), sample_offer()
        before = copy.deepcopy(dict(sample.body))
        history = adapter.append_response(
            adapter.start("x", [{"role": "user", "content": "y"}], what), sample.body
        )
        said = said_in(protocol, sample.body)
        assert history[-len(said) :] == said
        assert sample.body == before


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arguments_go_back_as_text_or_object(protocol: str) -> None:
    request, _ = with_results(protocol, reply(protocol, "", TWO[:1]), [ok()])
    text = json.dumps(request.body)
    as_text = protocol in ("chat_completions", "responses")
    assert (json.dumps(json.dumps({"city": "Oslo"})) in text) is as_text
    assert ('{"city": "Oslo"}' in text) is not as_text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_history_only_grows(protocol: str) -> None:
    first = ask(protocol)
    second, _ = with_results(protocol, reply(protocol, "", TWO), [ok(), ok()])
    old, new = history_of(protocol, first.body), history_of(protocol, second.body)
    assert new[: len(old)] == old
    unchanged = {key: value for key, value in first.body.items() if value is not old}
    assert {key: second.body[key] for key in unchanged} == unchanged


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_user_message_after_the_answer(protocol: str) -> None:
    adapter, what = adapter_for(protocol), offer()
    history = adapter.start("x", [{"role": "user", "content": "Hi"}], what)
    history = adapter.append_user(adapter.append_response(history, reply(protocol, "Hello.")), "And now?")
    request = adapter.build_request(model(protocol), history, what)
    assert "And now?" in json.dumps(history_of(protocol, request.body)[-1])


FROZEN: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather in Oslo and Riga?"},
    {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [
            {"id": "one", "name": "weather.look", "arguments": {"city": "Oslo"}},
            {"id": "two", "name": "weather.look", "arguments": {"city": "Riga"}},
        ],
    },
    {"role": "tool", "tool_call_id": "two", "result": failed("no such city")},
    {"role": "tool", "tool_call_id": "one", "result": ok("rain")},
]
DOTTED = tool("weather.look")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_frozen_history_has_the_shape_of_a_played_one(protocol: str) -> None:
    what = offer(DOTTED)
    wire = "weather.look" if protocol == "generate_content" else "weather_look"
    frozen = ask(protocol, what, FROZEN)
    body = reply(protocol, "Looking.", [("one", wire, {"city": "Oslo"}), ("two", wire, {"city": "Riga"})])
    played, _ = with_results(protocol, body, [ok("rain"), failed("no such city")], what)
    expected = history_of(protocol, frozen.body)
    found = history_of(protocol, played.body)
    assert results_of(protocol, expected) == results_of(protocol, found)
    assert [item.get("role", item.get("type")) for item in expected][-3:] == [
        item.get("role", item.get("type")) for item in found
    ][-3:]
    assert wire in json.dumps(expected)


def test_a_user_text_behind_frozen_results_joins_their_message() -> None:
    messages = ask("messages", offer(DOTTED), [*FROZEN, {"role": "user", "content": "Well?"}]).body[
        "messages"
    ]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in messages[-1]["content"]] == ["tool_result", "tool_result", "text"]


@pytest.mark.parametrize("protocol", ["ollama_chat", "generate_content"])
def test_results_without_ids_are_told_apart_by_order(protocol: str) -> None:
    body = reply(protocol, "", [(None, "look", {"city": "Oslo"}), (None, "stop", {})])
    request, calls = with_results(protocol, body, [ok("rain"), ok("done")])
    assert [call.id_synthesized for call in calls] == [True, True]
    text = json.dumps(history_of(protocol, request.body)[-2:])
    assert "call_0" not in text
    assert text.index("rain") < text.index("done")
    assert all(f'"{name}"' in text for name in ("look", "stop"))


def test_chat_fills_in_a_missing_id_on_both_sides() -> None:
    body = reply("chat_completions", "", [(None, "stop", {})])
    request, _ = with_results("chat_completions", body, [ok()])
    asked, answered = request.body["messages"][-2:]
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"] == "call_0"


def test_chat_turns_a_legacy_function_call_into_one_that_can_be_answered() -> None:
    message = {"role": "assistant", "content": None, "function_call": {"name": "stop", "arguments": "{}"}}
    body = {"choices": [{"message": message, "finish_reason": "function_call"}]}
    assert read("chat_completions", body).kind == "tool_call"
    request, _ = with_results("chat_completions", body, [ok()])
    asked, answered = request.body["messages"][-2:]
    assert "function_call" not in asked
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]


def test_chat_never_replays_an_empty_list_of_calls() -> None:
    adapter = adapter_for("chat_completions")
    body = {"choices": [{"message": {"role": "assistant", "content": "Hi", "tool_calls": []}}]}
    assert adapter.append_response([], body) == [{"role": "assistant", "content": "Hi"}]
