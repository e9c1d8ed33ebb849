"""Scripts of real and awkward replies, played through the whole loop: whose fault each of them is.

In ``replies/`` the n-th entry of a file answers the n-th request: ``status``, ``headers`` and ``body``,
or the ``sse`` chunks or ``events`` of a stream. Behind the last entry the server says a plain text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.adapters.support import reply
from tests.support import make_case
from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.domain.record import Attempt
from toolbench.domain.suite import load_suite
from toolbench.running import crew
from toolbench.running.runner import run_matrix_sync
from toolbench.running.transport import Transport

FOLDER = Path(__file__).with_name("replies")
SUITE = load_suite(FOLDER.with_name("reply_suite") / "tools.json", []).keep(
    [
        make_case(
            id="weather",
            user="What is the weather in Paris?",
            expect={"kind": "tool_call", "calls": [{"tool": "get_weather", "arguments": {"city": "Paris"}}]},
        )
    ]
)


@dataclass(frozen=True)
class Fate:
    """What has to become of an attempt: its status and last word, its first turn's kind and cities."""

    status: str
    stop: str
    kind: str = ""
    cities: tuple[str, ...] = ()
    retried: tuple[str, ...] = ()
    protocol: str = "chat_completions"
    profile: str | None = None
    reason: str = ""


PARIS = ("Paris",)
BOTH = ("Paris", "Oslo")
GEMINI = "generate_content"

FATES: dict[str, Fate] = {
    # A server or gateway that gives no answer: never the model's.
    "code_msg": Fate("transport_error", "quota_exhausted", reason="the code of a spent balance"),
    "detail": Fate("ok", "answered", "tool_call", PARIS, ("no_reply",), reason="no answer in it: once more"),
    "empty_object": Fate("ok", "answered", "tool_call", PARIS, ("no_reply",), reason="no answer in it"),
    "object_error_200": Fate("transport_error", "not_found", reason="an error under 200, whole"),
    "stream_object_error": Fate("ok", "answered", "text", (), ("error_in_stream",), reason="and streamed"),
    "finish_network_error": Fate(
        "ok", "answered", "tool_call", PARIS, ("error_in_reply",), reason="it broke"
    ),
    # Limits.
    "gemini_429_per_minute": Fate(
        "ok", "answered", "tool_call", PARIS, ("rate_limited",), GEMINI, reason="it says when to come back"
    ),
    "gemini_429_per_day": Fate(
        "transport_error", "quota_exhausted", protocol=GEMINI, reason="gone for today"
    ),
    "openai_429_insufficient_quota": Fate("transport_error", "quota_exhausted", reason="no waiting helps"),
    # What the bench sends is refused: nothing about the model.
    "schema_tool_named_temperature": Fate("transport_error", "schema_refused", reason="the name is no field"),
    "echoed_body": Fate("transport_error", "schema_refused", reason="the shape, not what it echoes"),
    # The model's own turn, scored.
    "finish_sensitive": Fate("ok", "refused", "refusal", reason="a filter's word"),
    "groq_schema_mismatch": Fate("ok", "invalid", "invalid", reason="the server could not read its call"),
    "groq_tool_use_failed": Fate("ok", "invalid", "invalid", reason="the server could not read its call"),
    "ollama_500_parse": Fate("ok", "invalid", "invalid", protocol="ollama_chat", reason="the same under 500"),
    "close_tag_only": Fate("ok", "answered", "text", reason="what comes before a closing tag is reasoning"),
    "close_only_question": Fate(
        "ok", "answered", "text", reason="its question mark is no question to anybody"
    ),
    "pair": Fate("ok", "answered", "text", reason="a pair of tags as always"),
    "dsml": Fate("ok", "answered", "text", reason="a call in markup is no call"),
    "invoke": Fate("ok", "answered", "text", reason="a call in markup is no call"),
    "minimax": Fate("ok", "answered", "text", reason="a call in markup is no call"),
    "pythonic": Fate("ok", "answered", "text", reason="a call as code is no call"),
    "resume": Fate("ok", "answered", "text", reason="a plain answer"),
    # Streams that contradict themselves.
    "control_two_calls_index0": Fate("ok", "answered", "tool_call", BOTH, reason="names open calls"),
    "id_changes_name_null": Fate("ok", "answered", "tool_call", PARIS, reason="unfinished arguments go on"),
    "id_changes_per_fragment": Fate("ok", "answered", "tool_call", PARIS, reason="whatever the id"),
    "same_tool_index0_no_id": Fate("ok", "answered", "tool_call", BOTH, reason="a finished object is closed"),
    "same_tool_one_chunk": Fate("ok", "answered", "tool_call", BOTH, reason="also inside one chunk"),
    "completed_lists_text_only": Fate(
        "ok", "answered", "tool_call", PARIS, protocol="responses", reason="what was shown counts"
    ),
    "done_without_name": Fate(
        "ok", "answered", "tool_call", PARIS, protocol="responses", reason="the name came before"
    ),
    "no_item_done_empty_output": Fate(
        "ok", "answered", "tool_call", PARIS, protocol="responses", reason="what was shown counts"
    ),
    # The scripts refuse the second request whatever it holds; see below for what it must not hold.
    "reasoning_replayed": Fate(
        "unsupported", "history_refused", "tool_call", PARIS, profile="groq", reason="ours"
    ),
    "empty_text_block_before_call": Fate(
        "unsupported", "history_refused", "tool_call", PARIS, protocol="messages", reason="ours"
    ),
    "stream_empty_text_then_tool": Fate(
        "unsupported", "history_refused", "tool_call", PARIS, protocol="messages", reason="ours"
    ),
}
CONTRADICTED = {
    "id_changes_name_null": "call_id_changed_in_stream",
    "id_changes_per_fragment": "call_id_changed_in_stream",
    "completed_lists_text_only": "last_event_lists_less",
}
"""Streams that do not agree with themselves, and the warning that the record keeps of it."""

LEAKED = ("dsml", "invoke", "minimax", "pythonic")


Script = list[dict[str, Any]]


def script_of(name: str) -> Script:
    """Return the entries of a file."""
    entries: Script = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return entries


def served(protocol: str, script: Script, requests: Script) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(json.loads(request.content))
        number = len(requests) - 1
        entry = script[number] if number < len(script) else {"body": reply(protocol, "It is sunny.")}
        status, headers = entry.get("status", 200), entry.get("headers", {})
        events = entry.get("sse") or entry.get("events")
        if events is None:
            return httpx.Response(status, headers=headers, json=entry["body"])
        lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
        text = "".join(f"data: {line}\n\n" for line in lines)
        return httpx.Response(status, headers={"content-type": "text/event-stream", **headers}, text=text)

    return httpx.MockTransport(answer)


def played(
    script: Script, fate: Fate, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Attempt, Script]:
    """Play a script through the whole loop; return the attempt and the requests."""
    requests: Script = []
    inner = served(fate.protocol, script, requests)

    class Scripted(Transport):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "transport": inner})

    monkeypatch.setattr(crew, "Transport", Scripted)
    entry = {
        "provider": "p",
        "model": "m",
        "protocol": fate.protocol,
        "base_url": "http://127.0.0.1:9/v1",
        "settings": {"stream": any({"sse", "events"} & set(reply) for reply in script)},
        **({"profile": fate.profile} if fate.profile else {}),
    }
    retries = {"tries": 2, "max_wait": 0.02, "patience": 30}
    config = {"runs": [entry], "baselines": [], "repetitions": 1, "retries": retries}
    run_matrix_sync(Config.from_json(config, "inline"), [SUITE], folder)
    (attempt,) = RunLog.open(folder).attempts
    return attempt, requests


def test_every_script_has_a_fate() -> None:
    assert set(FATES) == {path.stem for path in FOLDER.glob("*.json")}


@pytest.mark.parametrize("name", FATES)
def test_an_attempt_ends_as_it_must(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fate = FATES[name]
    attempt, _ = played(script_of(name), fate, tmp_path / "r", monkeypatch)
    assert (attempt.status, attempt.stop) == (fate.status, fate.stop), fate.reason
    assert bool(attempt.turns) == bool(fate.kind)
    if fate.kind:
        first = attempt.turns[0]
        cities = tuple((call.arguments or {}).get("city") for call in first.decision.calls)
        assert (first.decision.kind, cities) == (fate.kind, fate.cities), fate.reason
        assert tuple(retry["code"] for retry in first.retries) == fate.retried
        assert ("leaked_tool_call" in first.decision.warnings) == (name in LEAKED)
        assert {CONTRADICTED.get(name, "")} - {""} <= set(first.decision.warnings)
        assert "think" not in first.decision.text


@pytest.mark.parametrize("name", ["reasoning_replayed", "empty_text_block_before_call"])
def test_the_second_request_leaves_out_what_its_server_refuses(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, requests = played(script_of(name), FATES[name], tmp_path / "r", monkeypatch)
    replayed = next(m for m in requests[1]["messages"] if m["role"] == "assistant")
    assert "reasoning" not in replayed
    content = replayed.get("content")
    assert (
        [block["type"] for block in content if isinstance(block, dict)] == ["tool_use"] if content else True
    )


def test_what_a_server_could_not_parse_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt, _ = played(script_of("ollama_500_parse"), FATES["ollama_500_parse"], tmp_path / "r", monkeypatch)
    assert '{"city":"Paris"}]' in attempt.turns[0].decision.text
