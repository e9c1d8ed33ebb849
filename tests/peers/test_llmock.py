"""llmock, a server written by strangers that injects faults and judges how its client took them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.adapters.support import STOP, failed, offer, ok
from tests.peers.support import SAYS, WEATHER, Talk, assert_all_pass, child, gist, retried, run_all

BASES = {
    "chat_completions": "/v1",
    "responses": "/v1",
    "messages": "/anthropic/v1",
    "generate_content": "/gemini/v1beta",
}
SERVE = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
import uvicorn
from llmock.main import create_app
from llmock.ratelimit import LimitSettings
uvicorn.run(create_app(limits=LimitSettings(rpm=600_000)), host="127.0.0.1", port=0, access_log=False)
"""
WHAT = offer(WEATHER, STOP)
EVERYONE = pytest.mark.parametrize("protocol", BASES)
STREAMED = pytest.mark.parametrize(
    "stream", [pytest.param(False, id="whole"), pytest.param(True, id="streamed")]
)


class Peer:
    """The running server and its control interface."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._control = httpx.Client(base_url=f"{url}/_llmock", timeout=10)

    def base(self, protocol: str) -> str:
        return self.url + BASES[protocol]

    def plan(self, *behaviours: dict[str, Any]) -> None:
        """Queue behaviours; each request takes the first that fits, one of each type."""
        self._control.post("/scenario", json={"behaviors": behaviours}).raise_for_status()

    def reset(self) -> None:
        self._control.post("/reset").raise_for_status()

    def verdict(self) -> dict[str, Any]:
        verdict: dict[str, Any] = self._control.get("/verdict").raise_for_status().json()
        return verdict

    def assert_content(self, calls: int, attempts: int) -> None:
        """Check that the server saw this many requests and has nothing against how they were made."""
        verdict = self.verdict()
        assert verdict["findings"] == []
        assert (verdict["passed"], verdict["calls"], verdict["attempts"]) == (True, calls, attempts)

    def close(self) -> None:
        self._control.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    if find_spec("llmock") is None:
        pytest.skip("llmock is not installed: pip install -e .[oracles]")
    log = tmp_path_factory.mktemp("llmock") / "server.log"
    with child([sys.executable, "-c", SERVE], log) as url:
        peer = Peer(url)
        try:
            yield peer
        finally:
            peer.close()


@pytest.fixture
def peer(running: Peer) -> Peer:
    running.reset()
    return running


def says(text: str, times: int | None = 1, **more: Any) -> dict[str, Any]:
    return {"type": "reply", "text": text, "times": times, **more}


def calls(*arguments: dict[str, Any], name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "reply", "tool_calls": [{"name": name, "arguments": a} for a in arguments], **more}


def fails(status: int, retry_after: float | None = 0.05, **more: Any) -> dict[str, Any]:
    return {"type": "fail", "status": status, "retry_after": retry_after, **more}


def breaks(kind: str, after_chunks: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": "stream_fault", "kind": kind, "after_chunks": after_chunks, **more}


@EVERYONE
async def test_a_conversation_is_the_same_whole_and_streamed(peer: Peer, protocol: str) -> None:
    gists = []
    for stream in (False, True):
        peer.reset()
        peer.plan(
            says("Hello, мир!"),
            calls({"city": "Oslo", "days": 3}),
            says("Rain in Oslo."),
            calls({"city": "Oslo"}, {"city": "Rīga"}, text="Looking. "),
            says("Rain twice."),
        )
        talk = Talk(peer.base(protocol), protocol, stream=stream)
        hello = await talk.say("Hi", WHAT)
        one = await talk.say("And Oslo?", WHAT)
        told = await talk.answer(one, [ok("rain")], WHAT)
        both = await talk.say("Both?", WHAT)
        end = await talk.answer(both, [failed("no such city"), ok("rain")], WHAT)
        assert [hello.text, told.text, end.text] == ["Hello, мир!", "Rain in Oslo.", "Rain twice."]
        assert [call.arguments for call in one.calls] == [{"city": "Oslo", "days": 3}]
        assert [call.arguments for call in both.calls] == [{"city": "Oslo"}, {"city": "Rīga"}]
        assert both.text.strip() == "Looking."
        assert len({call.id for call in [*one.calls, *both.calls]}) == 3
        assert hello.usage.input
        assert hello.usage.output
        assert talk.reply is not None
        assert any("ratelimit" in name for name in talk.reply.headers)
        gists.append([gist(decision) for decision in (hello, one, told, both, end)])
        peer.assert_content(calls=5, attempts=5)
    assert gists[0] == gists[1]


@EVERYONE
@STREAMED
async def test_a_stranger_reads_our_tools_choices_and_results(
    peer: Peer, protocol: str, stream: bool
) -> None:
    """Left to itself, the server picks a tool by our words and makes up arguments by our schema."""
    auto = Talk(peer.base(protocol), protocol, stream=stream)
    asked = await auto.say("What is the weather?", WHAT)
    assert [(call.name, call.arguments) for call in asked.calls] == [
        ("look", {"city": "mock-city", "days": 2, "unit": "C"})
    ]
    assert (await auto.answer(asked, [ok("rain")], WHAT)).kind == "text"
    for choice, names in {"none": [], "required": ["look"], "named:stop": ["stop"]}.items():
        talk = Talk(peer.base(protocol), protocol, stream=stream)
        decision = await talk.say("The weather", offer(WEATHER, STOP, choice=choice))
        assert [call.name for call in decision.calls] == names, choice
    peer.assert_content(calls=5, attempts=5)


@EVERYONE
@STREAMED
async def test_a_rate_limit_is_waited_out(peer: Peer, protocol: str, stream: bool) -> None:
    peer.plan(fails(429, 0.15, times=2), says("fine"))
    talk = Talk(peer.base(protocol), protocol, tries=3, max_wait=1.0, stream=stream)
    started = time.monotonic()
    assert (await talk.say("Hi", WHAT)).text == "fine"
    assert time.monotonic() - started >= 0.3
    assert talk.retried == ["rate_limited"] * 2
    assert talk.reply is not None
    assert [(r["status"], r["retry_after"]) for r in talk.reply.retries] == [(429, 0.15)] * 2
    peer.assert_content(calls=1, attempts=3)


@EVERYONE
async def test_what_can_heal_is_tried_again(peer: Peer, protocol: str) -> None:
    codes = {
        500: "server_error",
        502: "server_error",
        503: "unavailable",
        529: "overloaded",
        408: "timeout",
        409: "conflict",
    }
    peer.plan(*(fails(status, 0.02) for status in codes), says("fine"))
    talk = Talk(peer.base(protocol), protocol, tries=7)
    assert (await talk.say("Hi", WHAT)).text == "fine"
    assert talk.retried == list(codes.values())
    peer.assert_content(calls=1, attempts=7)


@EVERYONE
async def test_what_cannot_heal_is_not(peer: Peer, protocol: str) -> None:
    codes = {
        400: "request_refused",
        401: "unauthorized",
        402: "payment_required",
        403: "forbidden",
        404: "not_found",
        413: "request_too_large",
        422: "request_refused",
        501: "not_implemented",
    }
    for status, code in codes.items():
        peer.plan(fails(status, None))
        error = await Talk(peer.base(protocol), protocol, tries=3).failure(f"No {status}", WHAT)
        assert (error.code, error.status, len(error.retries)) == (code, status, 1)
    long = "This model's maximum context length was exceeded."
    peer.plan(fails(400, None, message=long, code="context_length_exceeded"))
    error = await Talk(peer.base(protocol), protocol, tries=3).failure("A long text", WHAT)
    assert (error.code, len(error.retries)) == ("context_overflow", 1)
    peer.assert_content(calls=len(codes) + 1, attempts=len(codes) + 1)


@EVERYONE
async def test_where_retrying_ends(peer: Peer, protocol: str) -> None:
    peer.plan(fails(429, 0.05, times=3))
    error = await Talk(peer.base(protocol), protocol, tries=3).failure("Hi", WHAT)
    assert (error.code, [r["code"] for r in error.retries]) == ("rate_limited", ["rate_limited"] * 3)
    peer.assert_content(calls=1, attempts=3)
    peer.plan(fails(429, 900))
    error = await Talk(peer.base(protocol), protocol, tries=3).failure("Not in 15 minutes", WHAT)
    assert (error.code, error.retry_after, len(error.retries)) == ("rate_limited", 900, 1)
    # The one thing it holds against us is on purpose: such a wait is over the cap, a shorter one is useless.
    assert [finding["code"] for finding in peer.verdict()["findings"]] == ["gave_up"]
    assert peer.verdict()["passed"]


@EVERYONE
async def test_a_silent_server_is_timed_out(peer: Peer, protocol: str) -> None:
    peer.plan({"type": "delay", "seconds": 0.8}, says("fine", None))
    talk = Talk(peer.base(protocol), protocol, tries=2, max_wait=0.05, timeouts={"first_byte": 0.4})
    assert (await talk.say("Hi", WHAT)).text == "fine"
    assert talk.retried == ["timeout"]
    peer.plan({"type": "slow_first_token", "seconds": 0.8})
    talk = Talk(peer.base(protocol), protocol, tries=2, max_wait=0.05, timeouts={"total": 0.4}, stream=True)
    assert (await talk.say("Hi again", WHAT)).text == "fine"
    assert talk.retried == ["timeout"]
    assert peer.verdict()["findings"] == []


@EVERYONE
async def test_no_broken_stream_is_taken_for_an_answer(peer: Peer, protocol: str) -> None:
    """Each try breaks in another way; what is left over of one must not get into the next."""
    peer.plan(
        calls({"city": "Oslo"}, text="one two three four five", times=None),
        breaks("disconnect", 0),
        breaks("disconnect", 3),
        breaks("truncate", 0),
        breaks("truncate", 3),
        breaks("stall", 3, stall_seconds=4.0),
    )
    talk = Talk(
        peer.base(protocol), protocol, tries=6, max_wait=0.2, timeouts={"first_byte": 0.4}, stream=True
    )
    decision = await talk.say("Hi", WHAT)
    assert talk.retried == ["connection_lost"] * 2 + ["incomplete_stream"] * 2 + ["timeout"]
    assert decision.text == "one two three four five"
    assert [call.arguments for call in decision.calls] == [{"city": "Oslo"}]
    peer.assert_content(calls=1, attempts=6)


@EVERYONE
async def test_a_chunk_that_is_no_json_is_not_skipped(peer: Peer, protocol: str) -> None:
    peer.plan(says("one two three four five", None), breaks("malformed", 2))
    talk = Talk(peer.base(protocol), protocol, tries=2, stream=True)
    assert (await talk.say("Hi", WHAT)).text == "one two three four five"
    assert talk.retried == ["bad_stream"]
    verdict = peer.verdict()
    # If it has sent everything before we hang up, it takes the broken reply for accepted, and warns.
    assert {finding["code"] for finding in verdict["findings"]} <= {"malformed_chunk_ignored"}
    assert (verdict["passed"], verdict["attempts"]) == (True, 2)


@EVERYONE
@STREAMED
async def test_broken_calls(peer: Peer, protocol: str, stream: bool) -> None:
    peer.plan(
        calls({"city": "Oslo"}, {"city": "Rīga"}), {"type": "tool_fault", "kind": "malformed_arguments"}
    )
    broken = await Talk(peer.base(protocol), protocol, stream=stream).say("Hi", WHAT)
    if protocol == "generate_content" or (protocol == "messages" and not stream):
        # Arguments are an object here, and the server has put an empty one in place of half a text.
        assert (broken.kind, broken.calls[0].arguments) == ("tool_call", {})
    else:
        assert (broken.kind, broken.reason) == ("invalid", "bad_arguments")
        assert (broken.calls[0].error, broken.calls[0].arguments) == ("invalid_json", None)
    assert broken.calls[1].arguments == {"city": "Rīga"}
    peer.plan(calls({"city": "Oslo"}), {"type": "tool_fault", "kind": "unknown_tool"})
    unknown = await Talk(peer.base(protocol), protocol, stream=stream).say("Hello", WHAT)
    assert (unknown.kind, unknown.calls[0].name) == ("tool_call", "llmock_unknown_tool")


@EVERYONE
@STREAMED
async def test_replies_that_ended_early(peer: Peer, protocol: str, stream: bool) -> None:
    peer.plan(
        calls({"city": "Oslo"}, finish_reason="length"),
        says("A very long", finish_reason="length"),
        says("I will", finish_reason="content_filter"),
    )
    cut = await Talk(peer.base(protocol), protocol, stream=stream).say("one", WHAT)
    assert (cut.kind, cut.reason) == ("invalid", "truncated")
    text = await Talk(peer.base(protocol), protocol, stream=stream).say("two", WHAT)
    assert (text.kind, list(text.warnings)) == ("text", ["truncated_text"])
    filtered = await Talk(peer.base(protocol), protocol, stream=stream).say("three", WHAT)
    # The server's Responses API has no word for it.
    assert filtered.kind == ("text" if protocol == "responses" else "refusal")


async def test_the_verdict_does_find_fault(peer: Peer) -> None:
    """A client that does everything wrong is told so: a verdict without findings means something."""
    peer.plan(fails(429, 5.0), fails(401, None), says("one two three", None), breaks("truncate"))
    async with httpx.AsyncClient(base_url=peer.base("chat_completions")) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        for _ in range(3):
            await client.post("/chat/completions", json=body)
        await client.post("/chat/completions", json={**body, "stream": True})
    verdict = peer.verdict()
    assert not verdict["passed"]
    assert {finding["code"] for finding in verdict["findings"]} == {
        "retry_after_ignored",
        "retried_non_retryable",
        "truncated_stream_accepted",
    }


def test_a_whole_run(peer: Peer, tmp_path: Path) -> None:
    runs = []
    for protocol in BASES:
        for name, stream in ((f"{protocol}-whole", False), (f"{protocol}-streamed", True)):
            entry = {"provider": "llmock", "model": name, "protocol": protocol}
            runs.append({**entry, "base_url": peer.base(protocol), "settings": {"stream": stream}})
            match = {"model": name}
            first, second = {"order_id": "ORD-123456"}, {"order_id": "ORD-204518"}
            peer.plan(
                says(SAYS["hello"], match=match),
                calls(first, name="get_order", match=match),
                says(SAYS["lookup"], match=match),
                calls(first, second, name="get_order", match=match),
                says(SAYS["both"], match=match),
                fails(429, 0.1, match=match),
                fails(503, 0.05, match=match),
            )
    summary, attempts = run_all(runs, tmp_path / "r")
    assert summary.complete
    assert len(attempts) == len(runs) * 3
    assert_all_pass(attempts)
    first_cases = [attempt for attempt in attempts if attempt.case_id == "hello"]
    assert [retried(attempt) for attempt in first_cases] == [["rate_limited", "unavailable"]] * len(runs)
    assert sum(len(retried(attempt)) for attempt in attempts) == 2 * len(runs)
    requests = len(runs) * 5
    peer.assert_content(calls=requests, attempts=requests + 2 * len(runs))
