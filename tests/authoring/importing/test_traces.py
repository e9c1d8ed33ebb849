"""Saved conversations of many shapes as a run to judge: nothing is played, nothing unknown is made up."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.authoring.importing.support import ORDER, files, import_, write
from tests.support import ROOT
from toolbench.cli import main
from toolbench.domain.log import RunLog
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.signature import signature
from toolbench.simulator import Simulator

GET: dict[str, Any] = {"name": "get_order", "description": "Get the state of an order.", "parameters": ORDER}
CANCEL = {"name": "cancel_order", "description": "Cancel an order for good.", "parameters": ORDER}
CHAT_TOOLS = [{"type": "function", "function": tool} for tool in (GET, CANCEL)]
CLAUDE_TOOLS = [
    {"name": tool["name"], "description": tool["description"], "input_schema": ORDER}
    for tool in (GET, CANCEL)
]
FOUND = '{"order_id": "ORD-123456", "status": "shipped"}'
QUESTION = "Where is order ORD-123456?"
ANSWER = "Order ORD-123456 has been shipped."


def chat_call(order: str = "ORD-123456", name: str = "get_order", id_: str = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps({"order_id": order})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id_, "type": "function", "function": function}],
    }


def user(text: str = QUESTION) -> dict[str, Any]:
    return {"role": "user", "content": text}


def told(text: str = ANSWER) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def returned(content: str = FOUND, id_: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def reply(message: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    return {
        "id": "r",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **more,
    }


CHAT_LOG = {"model": "m", "tools": CHAT_TOOLS, "messages": [user(), chat_call(), returned(), told()]}
CLAUDE_LOG = {
    "model": "m",
    "system": "You help with orders.",
    "tools": CLAUDE_TOOLS,
    "messages": [
        user(),
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "get_order", "input": {"order_id": "ORD-123456"}}
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": FOUND}]},
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ],
}
RESPONSES_LOG = {
    "model": "m",
    "instructions": "You help with orders.",
    "tools": [{"type": "function", **GET}, {"type": "function", **CANCEL}],
    "input": [
        user(),
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "get_order",
            "arguments": '{"order_id": "ORD-123456"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": FOUND},
        told(),
    ],
}
GEMINI_LOG = {
    "model": "m",
    "tools": [{"functionDeclarations": [GET, CANCEL]}],
    "contents": [
        {"role": "user", "parts": [{"text": QUESTION}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "get_order", "args": {"order_id": "ORD-123456"}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "get_order", "response": json.loads(FOUND)}}],
        },
        {"role": "model", "parts": [{"text": ANSWER}]},
    ],
}
INSPECT_LOG = {
    "version": 2,
    "eval": {"model": "openai/m", "task": "orders"},
    "samples": [
        {
            "id": 7,
            "epoch": 1,
            "messages": [
                {"role": "system", "content": "You help with orders."},
                user(),
                {
                    "role": "assistant",
                    "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": ""}],
                    "tool_calls": [
                        {"id": "c1", "function": "get_order", "arguments": {"order_id": "ORD-123456"}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "function": "get_order", "content": FOUND},
                told(),
            ],
            "events": [
                {
                    "event": "model",
                    "tools": [GET, CANCEL],
                    "output": {"time": 0.5, "usage": {"input_tokens": 9}},
                },
                {
                    "event": "model",
                    "tools": [GET, CANCEL],
                    "output": {"time": 0.25, "usage": {"input_tokens": 20}},
                },
            ],
        }
    ],
}
PAIRS = [
    {
        "request": {"model": "m", "tools": CHAT_TOOLS, "messages": [user()]},
        "response": reply(chat_call(), "tool_calls", usage={"prompt_tokens": 9, "completion_tokens": 4}),
        "latency_ms": 120,
    },
    {
        "request": {"model": "m", "tools": CHAT_TOOLS, "messages": [user(), chat_call(), returned()]},
        "response": reply(told(), usage={"prompt_tokens": 20, "completion_tokens": 6}),
        "latency_ms": 80,
    },
]
SHAPES: dict[str, Any] = {
    "chat": CHAT_LOG,
    "claude": CLAUDE_LOG,
    "responses": RESPONSES_LOG,
    "gemini": GEMINI_LOG,
    "inspect": INSPECT_LOG,
    "pairs": PAIRS,
    "pairs in bodies": [
        {
            "request": {"method": "POST", "body": json.dumps(pair["request"])},
            "response": {"status": 200, "body": pair["response"]},
        }
        for pair in PAIRS
    ],
}


def run_of(tmp_path: Path, value: Any, *options: str | Path) -> ScoredRun:
    """Import one file and judge what came of it."""
    file = write(tmp_path / "log.json", value)
    result = import_("traces", file, "--output", tmp_path / "run", *options)
    assert result.exit_code == 0, result.output
    run = load_run(tmp_path / "run")
    assert run.problems == []
    return run


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_conversation_in_every_shape_is_the_same_attempt(shape: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, SHAPES[shape])
    [row] = run.attempts.to_dict("records")
    assert (row["status"], row["stop"], row["answer"], row["codes"]) == ("ok", "answered", ANSWER, ())
    assert row["behaviour"] == '[["tool_call",[["get_order","{\\"order_id\\":\\"ORD-123456\\"}"]]]]'
    [call] = run.calls.to_dict("records")
    assert (call["state"], call["role"], call["effect"]) == ("executed", "free", "read")


def test_time_and_tokens_are_there_only_where_they_were_kept(tmp_path: Path) -> None:
    [kept] = run_of(tmp_path / "a", PAIRS).attempts.to_dict("records")
    assert (kept["latency_ms"], kept["input_tokens"], kept["output_tokens"]) == (200, 29, 10)
    [timed] = run_of(tmp_path / "b", INSPECT_LOG).attempts.to_dict("records")
    assert (timed["latency_ms"], timed["input_tokens"]) == (750, 29)
    [bare] = run_of(tmp_path / "c", CHAT_LOG).attempts.to_dict("records")
    assert [bare[name] != bare[name] for name in ("latency_ms", "input_tokens")] == [True, True]


def test_an_imported_run_says_so_and_is_like_no_run_that_was_played(tmp_path: Path) -> None:
    run = run_of(tmp_path, CHAT_LOG)
    header = run.log.header
    assert header.imported is not None
    assert [(one["file"], one["conversations"]) for one in header.imported["sources"]] == [("log.json", 1)]
    assert header.labels["imported"] == "1 of log.json"
    assert signature(header).values["settings"] == "imported"
    assert run.missing == 0
    result = CliRunner().invoke(main, ["score", "--reparse", str(tmp_path / "run")])
    assert (result.exit_code, result.output) == (0, "0 differences between recorded and reparsed decisions\n")


def test_conversations_without_an_expectation_are_judged_by_everything_that_needs_none(
    tmp_path: Path,
) -> None:
    talks = {
        "schema": [user(), chat_call("123456"), returned(), told()],
        "invented": [user("Where is my order?"), chat_call("ORD-777777"), returned(), told()],
        "unknown": [user(), chat_call(name="find_order"), returned(), told()],
        "twice": [user(), chat_call(), returned(), chat_call(id_="c2"), returned(id_="c2"), told()],
        "unsupported": [user(), chat_call(), returned('{"error": {"code": "TIMEOUT"}}'), told()],
        "fine": [user(), chat_call(), returned(), told()],
    }
    logs = [{**CHAT_LOG, "case_id": name, "messages": messages} for name, messages in talks.items()]
    run = run_of(tmp_path, logs)
    codes = {row["case_id"]: row["codes"] for row in run.attempts.to_dict("records")}
    assert codes["fine"] == ()
    assert "ungrounded_argument" in codes["invented"]
    assert codes["unknown"][0] == "unknown_tool"
    assert "repeated_call" in codes["twice"]
    assert codes["schema"] != ()
    assert codes["unsupported"] != ()
    states = {row["case_id"]: row["state"] for row in run.calls.to_dict("records")}
    # What was carried out although it should not have been is no rejected call.
    assert (states["schema"], states["unsupported"]) == ("executed", "failed")


def test_a_case_with_the_conversations_key_gives_the_full_judgement(tmp_path: Path) -> None:
    logs = [
        {**CHAT_LOG, "metadata": {"case": "right"}},
        {**CHAT_LOG, "metadata": {"case": "wrong"}, "messages": [user(), told("It is on its way.")]},
        {**CHAT_LOG, "metadata": {"case": "nobody's"}},
    ]
    expected = {"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}
    cases = write(
        tmp_path / "cases.json",
        [
            {"id": name, "user": QUESTION, "expect": {"kind": "tool_call", "calls": [expected]}}
            for name in ("right", "wrong")
        ],
    )
    run = run_of(tmp_path, logs, "--cases", cases, "--key", "metadata.case")
    rows = {row["case_id"]: row for row in run.attempts.to_dict("records")}
    assert (rows["right"]["passed"], rows["right"]["calls_exact"]) == (1, 1)
    assert rows["wrong"]["codes"][0] == "missed_call"
    assert (rows["nobody_s"]["call_due"], rows["right"]["call_due"]) == (False, True)


def test_a_suite_lends_its_tools_rules_and_cases(tmp_path: Path) -> None:
    log = {
        "case_id": "order_complete",
        "messages": [
            user("Покажи статус заказа ORD-123456."),
            chat_call(),
            returned(),
            told("Заказ ORD-123456 доставлен."),
        ],
    }
    run = run_of(tmp_path, log, "--suite", "delivery", "--into", ROOT, "--lang", "ru")
    [row] = run.attempts.to_dict("records")
    assert (row["suite"], row["lang"]) == ("delivery", "ru")


def test_turns_of_the_user_are_turns_of_the_case(tmp_path: Path) -> None:
    messages = [
        {"role": "assistant", "content": "How can I help?"},
        user("Hello,"), user("where is ORD-123456?"), chat_call(), returned(), told(),
        user("And ORD-654321?"), chat_call("ORD-654321", id_="c2"),
    ]  # fmt: skip
    run = run_of(tmp_path, {**CHAT_LOG, "messages": messages})
    [case] = run.suites["imported"].cases
    assert [message["role"] for message in case.messages] == ["assistant", "user"]
    assert case.messages[1]["content"] == "Hello,\nwhere is ORD-123456?"
    assert [turn.user for turn in case.turns] == ["And ORD-654321?"]
    [attempt] = run.log.attempts
    assert [(turn.user_turn, turn.decision.kind) for turn in attempt.turns] == [
        (0, "tool_call"), (0, "text"), (1, "tool_call"),
    ]  # fmt: skip
    assert (attempt.stop, attempt.calls[-1].states) == ("recording_ends", ["proposed", "validated"])


def test_tools_of_the_same_name_and_another_shape_are_another_suite(tmp_path: Path) -> None:
    other = [{"type": "function", "function": {**GET, "parameters": {"type": "object", "properties": {}}}}]
    run = run_of(tmp_path, [CHAT_LOG, {**CHAT_LOG, "tools": other}, CHAT_LOG])
    assert sorted(run.attempts["suite"]) == ["imported", "imported", "imported_2"]


def test_the_same_case_again_is_a_repetition_and_another_one_of_its_key_is_not(tmp_path: Path) -> None:
    logs = [{**CHAT_LOG, "case_id": "a"}] * 2 + [
        {**CHAT_LOG, "case_id": "a", "messages": [user("Hi!"), told("Hello!")]}
    ]
    run = run_of(tmp_path, logs)
    assert sorted(zip(run.attempts["case_id"], run.attempts["repetition"], strict=True)) == [
        ("a", 0), ("a", 1), ("a.2", 0),
    ]  # fmt: skip


def test_equal_questions_to_two_models_are_two_conversations(tmp_path: Path) -> None:
    both = [
        {**pair, "request": {**pair["request"], "model": model}}
        for pair in PAIRS
        for model in ("left", "right")
    ]
    run = run_of(tmp_path, both)
    assert dict(zip(run.attempts["model"], run.attempts["turns"], strict=True)) == {"left": 2, "right": 2}
    # One case, so that both can be compared on it.
    assert run.attempts["case_id"].nunique() == 1


def test_a_stream_that_was_kept_as_text_is_put_together(tmp_path: Path) -> None:
    events = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Order ORD-123456 has"}}]},
        {"choices": [{"index": 0, "delta": {"content": " been shipped."}, "finish_reason": "stop"}]},
    ]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    run = run_of(tmp_path, [PAIRS[0], {**PAIRS[1], "response": stream}])
    assert list(run.attempts["answer"]) == [ANSWER]


def test_a_reply_that_was_an_error_is_the_providers_and_not_the_models(tmp_path: Path) -> None:
    failed = {
        **PAIRS[0],
        "response": {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}},
    }
    [row] = run_of(tmp_path, [failed]).attempts.to_dict("records")
    assert (row["status"], row["scored"]) == ("transport_error", False)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "the file is empty"),
        ("{", "not valid JSON"),
        ({"hello": 1}, "left out: it is none of a log of messages"),
        ([CHAT_LOG["messages"][0]], "no reply of a model"),
        ({"messages": CHAT_LOG["messages"]}, "does not tell which tools were on offer"),
        ({"tools": CHAT_TOOLS, "messages": [told()]}, "no user's message with a reply"),
        ({"response": reply(told())}, "a response without its request"),
        ({"request": {"prompt": "?"}, "response": {"text": "!"}}, "no shape that is known here"),
        ({**CHAT_LOG, "tools": [{"name": 3}]}, "no tool in it that could be used"),
        ({"context": {}, "attributes": {"gen_ai.operation.name": "chat"}}, "hold no messages"),
        ({"eval": {}, "samples": [None, {"messages": "?"}]}, "no reply of a model"),
        ("[" * 5000, "nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_no_conversation_is_told_in_one_line_and_nothing_is_written(
    value: Any, said: str, tmp_path: Path
) -> None:
    file = write(tmp_path / "log.json", value)
    result = import_("traces", file, "--output", tmp_path / "run")
    assert (result.exit_code, said in result.output, result.output.count("\n")) == (2, True, 1), result.output
    assert files(tmp_path) == ["log.json"]


def test_a_run_that_is_there_is_never_written_to(tmp_path: Path) -> None:
    run_of(tmp_path, CHAT_LOG)
    before = (tmp_path / "run" / "attempts.jsonl").read_bytes()
    result = import_("traces", tmp_path / "log.json", "--output", tmp_path / "run")
    assert (result.exit_code, "is there already" in result.output) == (2, True)
    assert (tmp_path / "run" / "attempts.jsonl").read_bytes() == before


def test_what_is_left_out_is_named_and_the_rest_is_imported(tmp_path: Path) -> None:
    file = write(tmp_path / "log.json", [CHAT_LOG, {"hello": 1}, {**CHAT_LOG, "messages": [user()]}])
    result = import_("traces", file, "--output", tmp_path / "run", "--effect", "get_order=write")
    assert result.exit_code == 0
    assert "record 2: left out" in result.output
    assert "record 3: left out: no reply" in result.output
    assert "cancel_order: effect 'write' is a guess" in result.output
    assert "get_order: effect" not in result.output
    assert len(RunLog.open(tmp_path / "run")) == 1


@pytest.mark.parametrize(
    "part",
    [
        None,
        7,
        "text",
        [],
        {},
        [[]],
        {"role": None},
        {"role": "assistant", "tool_calls": [None, 1, {"function": 3}]},
    ],
    ids=repr,
)
@pytest.mark.parametrize("shape", ["chat", "claude", "responses", "gemini"])
def test_nothing_in_a_message_brings_an_import_down(shape: str, part: Any, tmp_path: Path) -> None:
    log = json.loads(json.dumps(SHAPES[shape]))
    history = next(log[key] for key in ("messages", "input", "contents") if key in log)
    history.insert(2, part)
    file = write(tmp_path / "log.json", log)
    result = import_("traces", file, "--output", tmp_path / "run")
    assert result.exit_code in (0, 2), result.output
    assert "unexpected" not in result.output
    if result.exit_code == 0:
        assert load_run(tmp_path / "run").judge_errors == []


def spans_of(content: str, tmp_path: Path) -> Path:
    """Let the public instrumentation trace a client of the simulator; ``content`` is where messages go."""
    file = tmp_path / "spans.json"
    settings = {
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": content,
    }
    client = Path(__file__).parent / "otel_client.py"
    with Simulator(ROOT / "simulator.example.json") as sim:
        command = [sys.executable, str(client), sim.base_url("chat_completions"), str(file)]
        subprocess.run(command, env={**os.environ, **settings}, check=True, capture_output=True, timeout=100)
    return file


def as_otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a collector's file exporter makes of the SDK's spans."""

    def value(one: Any) -> dict[str, Any]:
        if isinstance(one, list):
            return {"arrayValue": {"values": [value(each) for each in one]}}
        return {"intValue": str(one)} if isinstance(one, int) else {"stringValue": one}

    def nanoseconds(text: str) -> str:
        from datetime import datetime

        return str(round(datetime.fromisoformat(text).timestamp() * 1e9))

    listed = [
        {
            "traceId": span["context"]["trace_id"],
            "name": span["name"],
            "startTimeUnixNano": nanoseconds(span["start_time"]),
            "endTimeUnixNano": nanoseconds(span["end_time"]),
            "attributes": [{"key": key, "value": value(one)} for key, one in span["attributes"].items()],
            "status": {},
        }
        for span in spans
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": listed}]}]}


def test_an_export_of_the_public_instrumentation_is_judged(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.instrumentation.openai_v2", reason="a test-only oracle")
    file = spans_of("span_only", tmp_path)
    tools = write(tmp_path / "tools.json", CHAT_TOOLS)
    spans = json.loads("[" + file.read_text().replace("\n}\n{", "\n},\n{") + "]")
    otlp = write(tmp_path / "otlp.json", as_otlp(spans))
    for number, source in enumerate((file, otlp)):
        folder = tmp_path / f"run{number}"
        result = import_("traces", source, "--tools", tools, "--output", folder)
        assert result.exit_code == 0, result.output
        run = load_run(folder)
        assert [list(run.attempts[name]) for name in ("provider", "model", "turns", "status")] == [
            ["openai"] * 2, ["careful"] * 2, [2, 2], ["ok"] * 2,
        ]  # fmt: skip
        assert list(run.calls["raw_arguments"]) == [
            '{"order_id": "ORD-123456"}',
            '{"order_id": "ORD-654321"}',
        ]
        assert list(run.calls["state"]) == ["executed"] * 2
        assert (run.attempts["latency_ms"] > 0).all()
        assert (run.attempts["input_tokens"] > 0).all()
        # The script hands the tool's JSON on as its answer.
        assert list(run.attempts["codes"]) == [("markup_answer",)] * 2


def test_spans_without_their_messages_say_what_to_switch_on(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.instrumentation.openai_v2", reason="a test-only oracle")
    result = import_("traces", spans_of("no_content", tmp_path), "--output", tmp_path / "run")
    assert result.exit_code == 2
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in result.output
