"""One named test for every quirk Q1–Q42 of the wire fact sheet, and every variant worth its own name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.adapters.support import (
    OBJECT_WIRES,
    PROTOCOLS,
    ask,
    chat,
    chat_call,
    chat_calls,
    chunk,
    offer,
    ok,
    read,
    reply,
    sse,
    tool,
    with_results,
)
from toolbench.adapters import adapter_for
from toolbench.adapters.faults import classify
from toolbench.adapters.streams import assemble
from toolbench.adapters.wire import settled
from toolbench.errors import TransportError

CHECKS: dict[str, Callable[[], None]] = {}


def quirk(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def keep(check: Callable[[], None]) -> Callable[[], None]:
        assert name not in CHECKS
        CHECKS[name] = check
        return check

    return keep


def errors(*arguments: Any, name: str = "look", finish: str = "tool_calls", **top: Any) -> list[str | None]:
    """Return the error of every call with these argument texts."""
    calls = [chat_call(text, name, id=f"call_{n}") for n, text in enumerate(arguments)]
    return [call.error for call in read("chat_completions", chat_calls(*calls, finish=finish, **top)).calls]


def streamed(*events: Any, done: bool = True) -> dict[str, Any]:
    return assemble(adapter_for("chat_completions").stream_assembler(), sse(*events, done=done))


def fragments(*deltas: dict[str, Any], finish: str = "tool_calls") -> list[Any]:
    """Stream these fragments of calls and return the decision's calls."""
    body = streamed(*(chunk({"tool_calls": [delta]}) for delta in deltas), chunk({}, finish))
    return list(read("chat_completions", body).calls)


def piece(
    index: int | None, id_: str | None = None, name: str | None = None, arguments: str | None = ""
) -> Any:
    function = {**({"name": name} if name is not None else {}), "arguments": arguments}
    found: dict[str, Any] = {"function": function}
    if index is not None:
        found["index"] = index
    if id_ is not None:
        found["id"] = id_
    return found


@quirk("Q1-empty-arguments-of-a-tool-without-parameters")
def empty_arguments_of_a_tool_without_parameters() -> None:
    decision = read("chat_completions", chat_calls(chat_call("", "stop")))
    assert decision.kind == "tool_call"
    assert (decision.calls[0].arguments, decision.calls[0].raw_arguments) == ({}, "")


@quirk("Q1-empty-arguments-of-a-tool-that-needs-some")
def empty_arguments_of_a_tool_that_needs_some() -> None:
    assert errors("") == ["invalid_json"]


@quirk("Q2-arguments-encoded-twice")
def arguments_encoded_twice() -> None:
    assert errors(json.dumps('{"city": "Oslo"}')) == ["double_encoded"]


@quirk("Q2-object-wires-with-a-text-that-holds-the-object")
def object_wires_with_a_text_that_holds_the_object() -> None:
    for protocol in OBJECT_WIRES:
        decision = read(protocol, reply(protocol, calls=[("toolu_a", "look", '{"city": "Oslo"}')]))
        assert [call.error for call in decision.calls] == ["double_encoded"], protocol


@quirk("Q2-one-property-encoded-twice-stays-as-it-is")
def one_property_encoded_twice_stays_as_it_is() -> None:
    call = read("chat_completions", chat_calls(chat_call('{"city": "[1]"}'))).calls[0]
    assert call.arguments == {"city": "[1]"}


@quirk("Q3-two-objects-glued-together")
def two_objects_glued_together() -> None:
    assert errors('{"city":"a"}{"city":"b"}', '{"city":"a"} Done.') == ["trailing_text", "trailing_text"]


@quirk("Q4-nan-and-infinity")
def nan_and_infinity() -> None:
    texts = ['{"city": NaN}', '{"city": Infinity}', '{"city": 1e999}']
    assert errors(*texts) == ["non_finite_number"] * 3


@quirk("Q4-nan-on-an-object-wire")
def nan_on_an_object_wire() -> None:
    for protocol in OBJECT_WIRES:
        decision = read(protocol, reply(protocol, calls=[("a", "look", {"city": float("nan")})]))
        assert [call.error for call in decision.calls] == ["non_finite_number"], protocol


@quirk("Q5-duplicate-keys")
def duplicate_keys() -> None:
    assert errors('{"city": "a", "city": "b"}', '{"x": {"y": 1, "y": 1}}') == ["duplicate_key"] * 2


@quirk("Q6-cut-arguments-with-finish-length")
def cut_arguments_with_finish_length() -> None:
    decision = read("chat_completions", chat_calls(chat_call('{"city": "Os'), finish="length"))
    assert (decision.kind, decision.reason, decision.calls[0].error) == ("invalid", "truncated", "truncated")


@quirk("Q6-cut-arguments-with-a-finish-that-hides-it")
def cut_arguments_with_a_finish_that_hides_it() -> None:
    body = chat_calls(chat_call('{"city": "Os'), usage={"prompt_tokens": 9, "completion_tokens": 64})
    assert read("chat_completions", body, max_output_tokens=64).reason == "truncated"
    assert read("chat_completions", body, max_output_tokens=500).calls[0].error == "invalid_json"


@quirk("Q6-a-call-that-parses-is-not-executed-after-a-cut")
def a_call_that_parses_is_not_executed_after_a_cut() -> None:
    for protocol, key, value in (
        ("messages", "stop_reason", "max_tokens"),
        ("ollama_chat", "done_reason", "length"),
        ("responses", "status", "incomplete"),
    ):
        body = {**reply(protocol, calls=[("a", "stop", {})]), key: value}
        assert (read(protocol, body).kind, read(protocol, body).reason) == ("invalid", "truncated"), protocol


@quirk("Q6-a-call-item-that-says-it-is-incomplete")
def a_call_item_that_says_it_is_incomplete() -> None:
    body = reply("responses", calls=[("a", "stop", {})])
    body["output"][0]["status"] = "incomplete"
    assert read("responses", body).reason == "truncated"


@quirk("Q7-valid-json-that-is-no-object")
def valid_json_that_is_no_object() -> None:
    assert errors("[1]", '"text"', "3", "null", "true") == ["not_an_object"] * 5


@quirk("Q8-finish-stop-with-calls")
def finish_stop_with_calls() -> None:
    for protocol in PROTOCOLS:
        body = reply(protocol, calls=[("call_a", "look", {"city": "Oslo"})])
        assert read(protocol, body).kind == "tool_call", protocol


@quirk("Q9-finish-says-calls-but-there-are-none")
def finish_says_calls_but_there_are_none() -> None:
    body = chat({"content": "Let me look.", "tool_calls": []}, "tool_calls")
    assert read("chat_completions", body).reason == "finish_without_call"
    body = {**reply("messages", "Let me look."), "stop_reason": "tool_use"}
    assert read("messages", body).reason == "finish_without_call"


@quirk("Q10-id-missing-empty-null-or-repeated")
def id_missing_empty_null_or_repeated() -> None:
    given = [None, "", "null", "call_a", "call_a", 7]
    decision = read("chat_completions", chat_calls(*(chat_call("{}", "stop", id=id_) for id_ in given)))
    ids = [call.id for call in decision.calls]
    assert len(set(ids)) == len(ids)
    assert ids[3] == "call_a"
    assert [call.id_synthesized for call in decision.calls] == [True, True, True, False, True, True]
    assert "call_id_synthesized" in decision.warnings


@quirk("Q10-stand-in-ids-never-repeat-over-turns")
def stand_in_ids_never_repeat_over_turns() -> None:
    for protocol in ("chat_completions", "responses", "messages"):
        body = reply(protocol, calls=[("", "stop", {})])
        request, calls = with_results(protocol, body, [ok()])
        again = adapter_for(protocol).parse_decision(body, request, offer()).calls
        assert calls[0].id != again[0].id, protocol


@quirk("Q11-foreign-ids-are-spelled-as-mistral-wants-them")
def foreign_ids_are_spelled_as_mistral_wants_them() -> None:
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [{"id": "call_long_1", "name": "stop", "arguments": {}}]},
        {"role": "tool", "tool_call_id": "call_long_1", "result": ok()},
    ]
    first = ask("chat_completions", history=history, profile="mistral")
    _, _, asked, answered = first.body["messages"]
    id_ = asked["tool_calls"][0]["id"]
    assert len(id_) == 9
    assert id_.isalnum()
    assert answered["tool_call_id"] == id_
    assert first.body == ask("chat_completions", history=history, profile="mistral").body


@quirk("Q11-an-id-that-mistral-made-stays")
def an_id_that_mistral_made_stays() -> None:
    body = chat_calls(chat_call("{}", "stop", id="aB3dE6gH9"))
    request, _ = with_results("chat_completions", body, [ok()], profile="mistral")
    assert request.body["messages"][-1]["tool_call_id"] == "aB3dE6gH9"


@quirk("Q11-responses-answers-the-call-id-not-the-item-id")
def responses_answers_the_call_id_not_the_item_id() -> None:
    item = {"type": "function_call", "id": "fc_9", "call_id": "call_9", "name": "stop", "arguments": "{}"}
    request, _ = with_results("responses", {"status": "completed", "output": [item]}, [ok()])
    assert request.body["input"][-2] == item
    assert request.body["input"][-1]["call_id"] == "call_9"


@quirk("Q11-ids-that-the-messages-wire-refuses")
def ids_that_the_messages_wire_refuses() -> None:
    request, _ = with_results("messages", reply("messages", calls=[("a.b:c", "stop", {})]), [ok()])
    use, result = request.body["messages"][1]["content"][0], request.body["messages"][2]["content"][0]
    assert use["id"] == result["tool_use_id"]
    assert use["id"].isalnum()


@quirk("Q12-index-always-zero")
def index_always_zero() -> None:
    calls = fragments(piece(0, "a", "look", '{"city":1}'), piece(0, "b", "look", '{"city":2}'))
    assert [(call.id, call.arguments) for call in calls] == [("a", {"city": 1}), ("b", {"city": 2})]


@quirk("Q12-index-always-zero-in-fragments")
def index_always_zero_in_fragments() -> None:
    calls = fragments(
        piece(0, "a", "look", '{"ci'),
        piece(0, None, None, 'ty":1}'),
        piece(0, "b", "stop", "{"),
        piece(0, "", None, "}"),
    )
    assert [(call.name, call.raw_arguments) for call in calls] == [("look", '{"city":1}'), ("stop", "{}")]


@quirk("Q12-index-missing")
def index_missing() -> None:
    calls = fragments(
        piece(None, "a", "look", '{"ci'),
        piece(None, None, None, 'ty":1}'),
        piece(None, "b", "stop", "{}"),
    )
    assert [(call.id, call.raw_arguments) for call in calls] == [("a", '{"city":1}'), ("b", "{}")]


@quirk("Q12-index-and-id-missing")
def index_and_id_missing() -> None:
    calls = fragments(piece(None, None, "look", '{"city":1}'), piece(None, None, "stop", "{}"))
    assert [(call.id, call.name, call.id_synthesized) for call in calls] == [
        ("call_0", "look", True),
        ("call_1", "stop", True),
    ]


@quirk("Q12-index-not-starting-at-zero")
def index_not_starting_at_zero() -> None:
    calls = fragments(piece(3, "a", "stop", "{}"), piece(7, "b", "stop", "{}"))
    assert [call.id for call in calls] == ["a", "b"]


@quirk("Q12-fragments-interleave")
def fragments_interleave() -> None:
    calls = fragments(
        piece(0, "a", "look", '{"x":'),
        piece(1, "b", "stop", '{"y":'),
        piece(0, "null", None, "1}"),
        piece(1, "", None, "2}"),
    )
    assert [call.arguments for call in calls] == [{"x": 1}, {"y": 2}]


@quirk("Q13-name-repeated-in-every-chunk")
def name_repeated_in_every_chunk() -> None:
    calls = fragments(piece(0, "a", "look", '{"ci'), piece(0, "a", "look", 'ty":1}'))
    assert [(call.name, call.raw_arguments) for call in calls] == [("look", '{"city":1}')]


@quirk("Q13-name-in-pieces-and-null-arguments")
def name_in_pieces_and_null_arguments() -> None:
    calls = fragments(piece(0, "a", "lo", None), piece(0, None, "ok", ""), piece(0, None, None, '{"city":1}'))
    assert [(call.name, call.raw_arguments) for call in calls] == [("look", '{"city":1}')]


@quirk("Q13-another-name-once-arguments-have-begun")
def another_name_once_arguments_have_begun() -> None:
    calls = fragments(piece(0, None, "look", '{"city":1}'), piece(0, None, "stop", "{}"))
    assert [call.name for call in calls] == ["look", "stop"]


@quirk("Q14-names-with-prefix-or-suffix-stay-raw")
def names_with_prefix_or_suffix_stay_raw() -> None:
    names = ["functions.look", "look<|channel|>commentary", "look "]
    decision = read("chat_completions", chat_calls(*(chat_call('{"city":"a"}', n, id=n) for n in names)))
    assert [call.name for call in decision.calls] == names


@quirk("Q15-invented-names-stay")
def invented_names_stay() -> None:
    for protocol in PROTOCOLS:
        decision = read(protocol, reply(protocol, calls=[("a", "teleport", {})]))
        assert [call.name for call in decision.calls] == ["teleport"], protocol


@quirk("Q16-call-leaked-into-text")
def call_leaked_into_text() -> None:
    leaks = (
        '<tool_call>{"name": "look", "arguments": {"city": "Oslo"}}</tool_call>',
        '```json\n{"name": "look", "parameters": {"city": "Oslo"}}\n```',
        '{"tool": "look", "args": {"city": "Oslo"}}',
        "<function=look><parameter=city>Oslo</parameter></function>",
        "<|channel|>commentary to=functions.look",
        "<|tool_call>call:look{}",
    )
    for protocol in PROTOCOLS:
        for leak in leaks:
            decision = read(protocol, reply(protocol, leak))
            assert (decision.kind, "leaked_tool_call" in decision.warnings) == ("text", True), (
                protocol,
                leak,
            )
            assert not decision.calls


@quirk("Q16-ordinary-json-is-no-leak")
def ordinary_json_is_no_leak() -> None:
    decision = read(
        "chat_completions", chat({"content": 'The reply was {"name": "Oslo", "arguments": "none"}'})
    )
    assert decision.warnings == []


@quirk("Q17-text-and-calls-together")
def text_and_calls_together() -> None:
    for protocol in PROTOCOLS:
        decision = read(protocol, reply(protocol, "Looking.", [("a", "stop", {})]))
        assert (decision.kind, decision.text) == ("tool_call", "Looking."), protocol


@quirk("Q17-text-behind-the-call")
def text_behind_the_call() -> None:
    body = reply("responses", "Done so far.", [("a", "stop", {})])
    body["output"].reverse()
    assert (read("responses", body).kind, read("responses", body).text) == ("tool_call", "Done so far.")


@quirk("Q18-content-of-a-replayed-call-without-text")
def content_of_a_replayed_call_without_text() -> None:
    body = chat_calls(chat_call("{}", "stop"))
    for profile, expected in (("compatible", None), ("lm_studio", "")):
        request, _ = with_results("chat_completions", body, [ok()], profile=profile)
        assert request.body["messages"][2]["content"] == expected, profile


@quirk("Q19-content-as-a-list-of-parts")
def content_as_a_list_of_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hi"},
    ]
    assert read("chat_completions", chat({"content": parts})).text == "Hi"


@quirk("Q19-list-of-parts-in-a-stream")
def list_of_parts_in_a_stream() -> None:
    think = [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]
    more = [{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]
    body = streamed(
        chunk({"content": think}),
        chunk({"content": more}),
        chunk({"content": "H"}),
        chunk({"content": "i"}, "stop"),
    )
    assert body["choices"][0]["message"]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hi"},
    ]


@quirk("Q20-reasoning-goes-back-as-it-came")
def reasoning_goes_back_as_it_came() -> None:
    for key in ("reasoning_content", "reasoning", "thinking", "reasoning_details"):
        value: Any = [{"type": "reasoning.text", "text": "hm"}] if key.endswith("details") else "hm"
        body = chat({"tool_calls": [chat_call("{}", "stop")], key: value}, "tool_calls")
        request, _ = with_results("chat_completions", body, [ok()])
        assert request.body["messages"][2][key] == value


@quirk("Q20-deepseek-wants-reasoning-even-when-there-was-none")
def deepseek_wants_reasoning_even_when_there_was_none() -> None:
    body = chat_calls(chat_call("{}", "stop"))
    request, _ = with_results("chat_completions", body, [ok()], profile="deepseek")
    assert request.body["messages"][2]["reasoning_content"] == ""
    assert "reasoning_content" not in request.body["messages"][1]
    request, _ = with_results("chat_completions", body, [ok()])
    assert "reasoning_content" not in request.body["messages"][2]


@quirk("Q21-think-block-inside-the-text")
def think_block_inside_the_text() -> None:
    for protocol in PROTOCOLS:
        decision = read(protocol, reply(protocol, "<think>\nhm\n</think>\n\nHi"))
        assert (decision.text, "reasoning_in_content" in decision.warnings) == ("Hi", True), protocol


def anthropic_stream(*events: Any, stop: str | None = "tool_use") -> dict[str, Any]:
    start = {
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [],
        "usage": {"input_tokens": 3},
    }
    end = [{"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}]
    all_events = [{"type": "message_start", "message": start}, *events, *end, {"type": "message_stop"}]
    return assemble(adapter_for("messages").stream_assembler(), sse(*all_events, done=False))


def tool_use(*pieces: str, name: str = "stop") -> list[Any]:
    block = {"type": "tool_use", "id": "toolu_a", "name": name, "input": {}}
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": p}}
        for p in pieces
    ]
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *deltas,
        {"type": "content_block_stop", "index": 0},
    ]


@quirk("Q22-empty-partial-json-means-an-empty-object")
def empty_partial_json_means_an_empty_object() -> None:
    body = anthropic_stream({"type": "ping"}, *tool_use("", ""), {"type": "something_new", "index": "x"})
    assert body["content"][0]["input"] == {}
    assert body["usage"] == {"input_tokens": 3, "output_tokens": 5}
    assert read("messages", body).kind == "tool_call"


@quirk("Q22-broken-partial-json-is-not-made-into-an-object")
def broken_partial_json_is_not_made_into_an_object() -> None:
    decision = read("messages", anthropic_stream(*tool_use('{"a":', "1", name="look")))
    assert (decision.calls[0].error, decision.calls[0].raw_arguments) == ("invalid_json", '{"a":1')
    decision = read("messages", anthropic_stream(*tool_use('{"a":1,"a":2}')))
    assert decision.calls[0].error == "duplicate_key"
    decision = read("messages", anthropic_stream(*tool_use('{"a":'), stop="max_tokens"))
    assert (decision.reason, decision.calls[0].error) == ("truncated", "truncated")


@quirk("Q22-partial-json-that-is-no-object-stays-a-text")
def partial_json_that_is_no_object_stays_a_text() -> None:
    for text in ('"abc"', "[1]", "null"):
        call = read("messages", anthropic_stream(*tool_use(text))).calls[0]
        assert (call.error, call.raw_arguments) == ("not_an_object", text)


@quirk("Q23-an-error-that-another-try-cannot-heal")
def an_error_that_another_try_cannot_heal() -> None:
    for code, expected in (("insufficient_quota", "quota_exhausted"), ("invalid_api_key", "unauthorized")):
        fault = adapter_for("responses").fault(
            {"status": "failed", "error": {"code": code, "message": "no"}, "output": []}
        )
        assert fault is not None
        assert (fault.code, fault.retryable) == (expected, False)


@quirk("Q23-status-200-with-an-error")
def status_200_with_an_error() -> None:
    for protocol, body in (
        ("chat_completions", {"error": {"message": "no upstream", "code": 502}}),
        ("chat_completions", {"error": "boom"}),
        ("messages", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ("chat_completions", chat({"content": ""}, "error")),
        ("responses", {"object": "response", "status": "failed", "error": None, "output": []}),
        ("generate_content", {"candidates": [{"finishReason": "OTHER"}]}),
    ):
        fault = adapter_for(protocol).fault(body)
        assert fault is not None, body
        assert fault.retryable
    assert adapter_for("responses").fault(reply("responses", "Hi")) is None


@quirk("Q23-an-error-in-the-middle-of-a-stream")
def an_error_in_the_middle_of_a_stream() -> None:
    for protocol, text in (
        ("chat_completions", sse(chunk({"content": "H"}), {"error": {"message": "boom", "code": 500}})),
        ("responses", sse({"type": "error", "code": "server_error", "message": "boom"}, done=False)),
        ("messages", sse({"type": "error", "error": {"type": "api_error", "message": "boom"}}, done=False)),
        ("generate_content", sse({"error": {"code": 500, "message": "boom"}}, done=False)),
        ("ollama_chat", '{"message": {"content": "H"}, "done": false}\n{"error": "boom"}\n'),
    ):
        with pytest.raises(TransportError, match="boom") as caught:
            assemble(adapter_for(protocol).stream_assembler(), text)
        assert caught.value.code == "error_in_stream"
        assert caught.value.retryable, protocol


@quirk("Q23-a-stream-that-ends-without-its-mark")
def a_stream_that_ends_without_its_mark() -> None:
    for protocol, text in (
        ("chat_completions", sse(chunk({"content": "Half"}), done=False)),
        ("responses", sse({"type": "response.created", "response": {"status": "in_progress"}}, done=False)),
        ("messages", sse({"type": "message_start", "message": {"content": []}}, done=False)),
        ("generate_content", sse({"candidates": [{"content": {"parts": [{"text": "H"}]}}]}, done=False)),
        ("ollama_chat", '{"message": {"content": "H"}, "done": false}\n'),
        ("chat_completions", ""),
    ):
        with pytest.raises(TransportError) as caught:
            assemble(adapter_for(protocol).stream_assembler(), text)
        assert (caught.value.code, caught.value.retryable) == ("incomplete_stream", True)


@quirk("Q23-a-done-mark-is-no-end-where-the-protocol-has-none")
def a_done_mark_is_no_end_where_the_protocol_has_none() -> None:
    for protocol in ("responses", "messages", "generate_content"):
        with pytest.raises(TransportError, match="broke off"):
            assemble(adapter_for(protocol).stream_assembler(), sse({"type": "ping"}))


@quirk("Q23-a-cut-event-is-not-an-event")
def a_cut_event_is_not_an_event() -> None:
    text = sse(chunk({"content": "H"}), done=False) + 'data: {"choices": [{"del'
    with pytest.raises(TransportError) as caught:
        assemble(adapter_for("chat_completions").stream_assembler(), text)
    assert caught.value.code == "bad_stream"


@quirk("Q24-blanks-and-comments-between-events")
def blanks_and_comments_between_events() -> None:
    plain = sse(chunk({"content": "H"}), chunk({"content": "i"}, "stop"))
    noisy = ": keep-alive\n\n\n" + plain.replace("\n\n", "\r\n\r\n: OPENROUTER PROCESSING\r\n\r\n") + "\n\n"
    assembler = adapter_for("chat_completions").stream_assembler
    assert assemble(assembler(), noisy) == assemble(assembler(), plain)
    lines = '\n\n{"message": {"content": "H"}}\n\n{"message": {"content": "i"}, "done": true}\n\n'
    body = assemble(adapter_for("ollama_chat").stream_assembler(), lines)
    assert body["message"]["content"] == "Hi"


@quirk("Q25-a-500-about-what-the-model-wrote-is-the-models-turn")
def a_500_about_what_the_model_wrote_is_the_models_turn() -> None:
    fault = classify(
        500, {}, '{"error": {"code": 500, "message": "Failed to parse tool call arguments as JSON"}}'
    )
    assert (fault.code, fault.decides, fault.retryable) == ("malformed_call", "invalid", False)
    assert classify(500, {}, "oops").retryable


@quirk("Q26-a-forced-choice-that-a-server-ignores-is-not-played")
def a_forced_choice_that_a_server_ignores_is_not_played() -> None:
    for protocol, profile in (("chat_completions", "ollama_v1"), ("ollama_chat", None)):
        for choice in ("required", "named:look"):
            with pytest.raises(TransportError) as caught:
                ask(protocol, offer(choice=choice), profile=profile)
            assert (caught.value.code, caught.value.unsupported) == ("forced_choice_ignored", True)
    assert "tool_choice" not in ask("ollama_chat", offer()).body


@quirk("Q26-the-outcome-shows-whether-a-choice-took-effect")
def the_outcome_shows_whether_a_choice_took_effect() -> None:
    for choice, body, expected in (
        ("required", chat({"content": "Hi"}), False),
        ("required", chat_calls(chat_call("{}", "stop")), True),
        ("named:look", chat_calls(chat_call("{}", "stop")), False),
        ("named:look", chat_calls(chat_call('{"city":"a"}')), True),
        ("none", chat_calls(chat_call("{}", "stop")), False),
        ("auto", chat({"content": "Hi"}), None),
    ):
        what = offer(choice=choice)
        request = ask("chat_completions", what)
        decision = adapter_for("chat_completions").parse_decision(body, request, what)
        assert settled(request, decision)["tool_choice"]["honoured"] is expected, choice


@quirk("Q26-llama-cpp-is-forced-by-offering-one-tool")
def llama_cpp_is_forced_by_offering_one_tool() -> None:
    for protocol in ("chat_completions", "responses", "messages"):
        request = ask(protocol, offer(choice="named:stop"), profile="llama_cpp")
        assert len(request.body["tools"]) == 1
        assert request.body["tool_choice"] in ("required", {"type": "any"})


@quirk("Q26-none-without-a-field-for-it-offers-nothing")
def none_without_a_field_for_it_offers_nothing() -> None:
    for protocol, profile in (
        ("ollama_chat", None),
        ("chat_completions", "ollama_v1"),
        ("messages", "llama_cpp"),
    ):
        request = ask(protocol, offer(choice="none"), profile=profile)
        assert "tools" not in request.body
        assert "tool_choice" not in request.body
        assert request.settings["tool_choice"].sent == "no tools"


@quirk("Q27-a-forced-choice-that-a-model-refuses-is-unsupported")
def a_forced_choice_that_a_model_refuses_is_unsupported() -> None:
    for protocol, options in (
        ("messages", {"name": "claude-opus-5-5"}),
        ("messages", {"name": "claude-sonnet-5-5", "profile": "anthropic_2023"}),
        ("messages", {"name": "claude-haiku-4-5", "extra_body": {"thinking": {"type": "enabled"}}}),
        ("chat_completions", {"profile": "deepseek"}),
        ("chat_completions", {"capabilities": {"tool_choice": "unsupported"}}),
    ):
        with pytest.raises(TransportError) as caught:
            ask(protocol, offer(choice="required"), **options)
        assert (caught.value.code, caught.value.unsupported) == ("forced_choice_refused", True)
        assert ask(protocol, offer(choice="auto"), **options).body["tools"]


@quirk("Q27-models-that-take-a-forced-choice")
def models_that_take_a_forced_choice() -> None:
    for protocol, options in (
        ("messages", {"name": "claude-opus-5"}),
        ("messages", {"name": "claude-haiku-5-5"}),
        ("messages", {"name": "claude-opus-5-5", "capabilities": {"tool_choice": "supported"}}),
        ("chat_completions", {"profile": "deepseek", "extra_body": {"thinking": {"type": "disabled"}}}),
    ):
        assert ask(protocol, offer(choice="required"), **options).settings["tool_choice"].sent


@quirk("Q27-the-refusal-as-it-comes-from-the-server")
def the_refusal_as_it_comes_from_the_server() -> None:
    text = 'tool_choice: type "tool" and "any" are not supported for this model.'
    fault = classify(400, {}, json.dumps({"error": {"message": text}}))
    assert (fault.code, fault.unsupported) == ("forced_choice_refused", True)


@quirk("Q28-temperature-refused-or-ignored")
def temperature_refused_or_ignored() -> None:
    refused = {"asked": 0.0, "sent": None, "honoured": False}
    ignored = {"asked": 0.0, "sent": 0.0, "honoured": False}
    for protocol, options, expected in (
        ("messages", {"name": "claude-haiku-4-5"}, refused),
        ("messages", {"name": "claude-haiku-5-5", "profile": "anthropic_2023"}, refused),
        ("responses", {"name": "gpt-6-sol"}, refused),
        ("chat_completions", {"profile": "deepseek"}, ignored),
        ("generate_content", {"name": "gemini-3.5-pro"}, ignored),
        ("chat_completions", {"capabilities": {"temperature": "unsupported"}}, refused),
        ("chat_completions", {"capabilities": {"temperature": "ignored"}}, ignored),
        (
            "messages",
            {"name": "claude-haiku-4-5", "profile": "anthropic_2023"},
            {**ignored, "honoured": None},
        ),
        (
            "responses",
            {"name": "gpt-6-sol", "extra_body": {"reasoning": {"effort": "none"}}},
            {**ignored, "honoured": None},
        ),
    ):
        request = ask(protocol, **options)
        assert request.settings["temperature"].to_json() == expected, (protocol, options)
        assert ("temperature" in json.dumps(request.body)) == (expected["sent"] is not None)


@quirk("Q29-seed-absent-or-renamed")
def seed_absent_or_renamed() -> None:
    for protocol, profile, expected in (
        ("chat_completions", "openai", "seed"),
        ("chat_completions", "mistral", "random_seed"),
        ("chat_completions", "deepseek", None),
        ("responses", None, None),
        ("messages", None, None),
    ):
        request = ask(protocol, profile=profile, seed=7)
        assert request.settings["seed"].sent == (7 if expected else None), (protocol, profile)
        assert (request.body.get(expected) if expected else 7) == 7
        assert expected or "seed" not in json.dumps(request.body)


@quirk("Q30-the-token-limit-has-the-name-the-server-reads")
def the_token_limit_has_the_name_the_server_reads() -> None:
    for protocol, profile, path in (
        ("chat_completions", "openai", ["max_completion_tokens"]),
        ("chat_completions", "ollama_v1", ["max_tokens"]),
        ("responses", None, ["max_output_tokens"]),
        ("messages", None, ["max_tokens"]),
        ("ollama_chat", None, ["options", "num_predict"]),
        ("generate_content", None, ["generationConfig", "maxOutputTokens"]),
    ):
        value: Any = ask(protocol, profile=profile, max_output_tokens=33).body
        for key in path:
            value = value[key]
        assert value == 33


@quirk("Q30-a-limit-that-was-passed-is-seen-afterwards")
def a_limit_that_was_passed_is_seen_afterwards() -> None:
    request = ask("chat_completions", max_output_tokens=10)
    body = chat({"content": "long"}, usage={"completion_tokens": 99})
    decision = adapter_for("chat_completions").parse_decision(body, request, offer())
    assert settled(request, decision)["max_output_tokens"]["honoured"] is False


BOUNDED = tool(
    "count",
    {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
        "required": ["n"],
        "additionalProperties": False,
    },
)


@quirk("Q31-strict-subsets-differ")
def strict_subsets_differ() -> None:
    openai = ask("responses", offer(BOUNDED), strict=True)
    anthropic = ask("messages", offer(BOUNDED), strict=True)
    deepseek = ask("chat_completions", offer(BOUNDED), profile="deepseek", strict=True)
    assert openai.losses == ("count: $.properties.note became required and nullable in strict mode",)
    assert anthropic.losses == ("count: $.properties.n.minimum is not allowed in strict mode",)
    assert set(deepseek.losses) == {*openai.losses, *anthropic.losses}
    assert anthropic.body["tools"][0]["input_schema"]["properties"]["n"] == {"type": "integer"}


@quirk("Q31-strict-dropped-by-the-server")
def strict_dropped_by_the_server() -> None:
    for protocol, profile, sent in (
        ("chat_completions", "llama_cpp", True),
        ("chat_completions", "ollama_v1", True),
        ("ollama_chat", None, None),
        ("generate_content", None, None),
    ):
        note = ask(protocol, offer(BOUNDED), profile=profile, strict=True).settings["strict"]
        assert note.to_json() == {"asked": True, "sent": sent, "honoured": False}


@quirk("Q31-a-schema-that-the-server-refuses-is-no-failure-of-the-model")
def a_schema_that_the_server_refuses_is_no_failure_of_the_model() -> None:
    fault = classify(400, {}, '{"error": {"message": "failed to parse grammar"}}')
    assert (fault.code, fault.retryable) == ("schema_refused", False)


@quirk("Q32-strict-does-not-fix-letter-case")
def strict_does_not_fix_letter_case() -> None:
    # The value arrives as the model wrote it; whether the contract allows it is judged later.
    body = reply("messages", calls=[("toolu_a", "look", {"city": "OSLO"})])
    assert read("messages", body, strict=True).calls[0].arguments == {"city": "OSLO"}


@quirk("Q33-usage-in-one-form")
def usage_in_one_form() -> None:
    cases: dict[str, Any] = {
        "chat_completions": {
            "usage": {
                "prompt_tokens": 50,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 30},
                "completion_tokens_details": {"reasoning_tokens": 15},
            }
        },
        "responses": {
            "usage": {
                "input_tokens": 50,
                "output_tokens": 20,
                "input_tokens_details": {"cached_tokens": 30},
                "output_tokens_details": {"reasoning_tokens": 15},
            }
        },
        "messages": {
            "usage": {
                "input_tokens": 15,
                "cache_creation_input_tokens": 5,
                "cache_read_input_tokens": 30,
                "output_tokens": 20,
                "output_tokens_details": {"thinking_tokens": 15},
            }
        },
        "generate_content": {
            "usageMetadata": {
                "promptTokenCount": 50,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 15,
                "cachedContentTokenCount": 30,
            }
        },
    }
    for protocol, body in cases.items():
        usage = adapter_for(protocol).usage(body)
        assert (usage.input, usage.output, usage.cached_input, usage.reasoning) == (50, 20, 30, 15), protocol


@quirk("Q33-usage-missing-or-null")
def usage_missing_or_null() -> None:
    for protocol in PROTOCOLS:
        for body in ({}, {"usage": None}, {"usageMetadata": None}, {"usage": {"prompt_tokens": "many"}}):
            usage = adapter_for(protocol).usage(body)
            assert (usage.input, usage.output) == (None, None), protocol


@quirk("Q34-refusal-in-five-forms")
def refusal_in_five_forms() -> None:
    part = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    forms: list[tuple[str, dict[str, Any], str]] = [
        ("chat_completions", chat({"refusal": "No."}), "message.refusal"),
        ("chat_completions", chat({"content": ""}, "content_filter"), "content_filter"),
        ("responses", {"status": "completed", "output": [part]}, "refusal part"),
        (
            "responses",
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
            "incomplete: content_filter",
        ),
        ("messages", {"content": [], "stop_reason": "refusal"}, "stop_reason"),
        ("generate_content", {"promptFeedback": {"blockReason": "SAFETY"}}, "promptFeedback SAFETY"),
        ("generate_content", {"candidates": [{"finishReason": "SPII"}]}, "finishReason SPII"),
    ]
    for protocol, body, reason in forms:
        decision = read(protocol, body)
        assert (decision.kind, decision.reason) == ("refusal", reason), protocol


@quirk("Q34-calls-beside-a-refusal-are-kept-but-not-made")
def calls_beside_a_refusal_are_kept_but_not_made() -> None:
    body = {**reply("messages", calls=[("a", "stop", {})]), "stop_reason": "refusal"}
    decision = read("messages", body)
    assert (decision.kind, [call.name for call in decision.calls]) == ("refusal", ["stop"])


@quirk("Q34-a-refusal-in-plain-words-is-text")
def a_refusal_in_plain_words_is_text() -> None:
    assert read("chat_completions", chat({"content": "I can't help with that."})).kind == "text"


@quirk("Q35-no-choice-or-several")
def no_choice_or_several() -> None:
    for body in ({}, {"choices": []}, {"choices": None}, {"choices": [None]}, {"choices": [{}]}):
        assert read("chat_completions", body).reason == "no_choices"
    assert read("generate_content", {"candidates": []}).reason == "no_choices"
    body = chat({"content": "Hi"})
    body["choices"] *= 2
    assert read("chat_completions", body).warnings == ["several_choices"]


@quirk("Q36-error-pages-that-are-no-json")
def error_pages_that_are_no_json() -> None:
    fault = classify(502, {}, "<html><body><h1>Bad\n Gateway</h1>\ufffd</body></html>")
    assert (fault.code, fault.retryable) == ("server_error", True)
    assert "Bad Gateway" in fault.message
    assert "<" not in fault.message


@quirk("Q37-error-bodies-of-every-shape")
def error_bodies_of_every_shape() -> None:
    for body in (
        {"error": {"message": "too many", "code": 429}},
        [{"error": {"code": 429, "message": "too many", "status": "RESOURCE_EXHAUSTED"}}],
        {"object": "error", "message": "too many", "code": 429},
        {"error": {"message": "too many", "code": "429"}},
        {"error": "too many"},
        {"detail": "too many"},
        {"type": "error", "error": {"type": "rate_limit_error", "message": "too many"}},
    ):
        fault = classify(429, {}, json.dumps(body))
        assert (fault.code, fault.retryable) == ("rate_limited", True)
        assert fault.message == "HTTP 429: too many"


@quirk("Q38-opaque-signatures-stay-in-the-history")
def opaque_signatures_stay_in_the_history() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": "opaque"}
    redacted = {"type": "redacted_thinking", "data": "opaque"}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}
    bodies = {p: reply(p, calls=[("a", "stop", {})]) for p in ("messages", "responses", "generate_content")}
    bodies["messages"]["content"] = [thinking, redacted, *bodies["messages"]["content"]]
    bodies["responses"]["output"].insert(0, reasoning)
    bodies["generate_content"]["candidates"][0]["content"]["parts"][0]["thoughtSignature"] = "opaque"
    for protocol, count in (("messages", 2), ("responses", 1), ("generate_content", 1)):
        request, _ = with_results(protocol, bodies[protocol], [ok()])
        assert json.dumps(request.body).count("opaque") == count, protocol


@quirk("Q38-a-signed-part-is-never-joined-with-its-neighbour")
def a_signed_part_is_never_joined_with_its_neighbour() -> None:
    parts = [{"text": "Hi"}, {"text": " there"}, {"text": "", "thoughtSignature": "opaque"}, {"text": "!"}]
    events = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    events.append({"candidates": [{"finishReason": "STOP"}]})
    body = assemble(adapter_for("generate_content").stream_assembler(), sse(*events, done=False))
    assert body["candidates"][0]["content"]["parts"] == [{"text": "Hi there"}, *parts[2:]]


@quirk("Q39-raw-arguments-of-object-wires-are-flagged")
def raw_arguments_of_object_wires_are_flagged() -> None:
    for protocol in PROTOCOLS:
        call = read(protocol, reply(protocol, calls=[("a", "look", {"city": "Oslo"})])).calls[0]
        assert call.raw_is_reserialised is (protocol in OBJECT_WIRES)
        assert json.loads(call.raw_arguments) == {"city": "Oslo"}


@quirk("Q39-raw-arguments-are-kept-to-the-blank")
def raw_arguments_are_kept_to_the_blank() -> None:
    text = ' {"city" :\t"\\u041e"} '
    assert read("chat_completions", chat_calls(chat_call(text))).calls[0].raw_arguments == text


@quirk("Q40-the-model-that-answered")
def the_model_that_answered() -> None:
    body = {**chat({"content": "Hi"}), "model": "m-1-2026-11-01"}
    assert read("chat_completions", body).returned_model == "m-1-2026-11-01"
    body = {**reply("generate_content", "Hi"), "modelVersion": "g-1"}
    assert read("generate_content", body).returned_model == "g-1"


@quirk("Q41-parallel-calls-although-switched-off")
def parallel_calls_although_switched_off() -> None:
    for protocol in ("chat_completions", "responses", "messages"):
        request = ask(protocol, parallel_tool_calls=False)
        body = reply(protocol, calls=[("a", "stop", {}), ("b", "stop", {})])
        decision = adapter_for(protocol).parse_decision(body, request, offer())
        assert settled(request, decision)["parallel_tool_calls"]["honoured"] is False, protocol


@quirk("Q42-a-pause-is-neither-text-nor-call")
def a_pause_is_neither_text_nor_call() -> None:
    body = {**reply("messages", "Still working"), "stop_reason": "pause_turn"}
    assert (read("messages", body).kind, read("messages", body).reason) == ("invalid", "continuation")
    body = reply("generate_content", "Still working")
    body["candidates"][0]["finishReason"] = "CONTINUATION"
    assert read("generate_content", body).reason == "continuation"


@pytest.mark.parametrize("check", [pytest.param(check, id=name) for name, check in CHECKS.items()])
def test_quirk(check: Callable[[], None]) -> None:
    check()


def test_every_quirk_has_a_test() -> None:
    assert {int(name.partition("-")[0][1:]) for name in CHECKS} == set(range(1, 43))
