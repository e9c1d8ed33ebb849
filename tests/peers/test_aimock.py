"""aimock, a server written by strangers that answers by what it made of our request: fixtures are matched
with one form of it for all protocols.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.support import STOP, failed, offer, ok
from tests.peers.support import SAYS, WEATHER, Talk, assert_all_pass, child, gist, retried, run_all
from toolbench.domain.decision import ModelDecision
from toolbench.local.weights import cache_dir

PACKAGE = "@copilotkit/aimock"
VERSION = "1.43.0"
INTEGRITY = "sha512-V8D8cjSMtAR4rHaD2ulp3DR/ZguXQjDNOqwKDNvjb/OJL/KR1I0SDf5xpRCd+TYKjhmf9fM8Xpg3QBKPmV9Kmw=="
KEY = "peer-key-0123456789"

BASES = {
    "chat_completions": "/v1",
    "responses": "/v1",
    "messages": "/v1",
    "generate_content": "/v1beta",
    "ollama_chat": "/api",
}
SERVE = """
import { LLMock } from %s;
const mock = new LLMock({
  host: "127.0.0.1", port: 0, logLevel: "silent", auth: { apiKeys: [process.env.PEER_KEY] },
});
mock.loadFixtureFile(process.argv[1]);
process.stdin.on("end", () => process.exit(0)).resume();
console.log(await mock.start());
"""
WHAT = offer(WEATHER, STOP)
EVERYONE = pytest.mark.parametrize("protocol", BASES)
STREAMED = pytest.mark.parametrize(
    "stream", [pytest.param(False, id="whole"), pytest.param(True, id="streamed")]
)
STATUSES = {
    400: "request_refused",
    401: "unauthorized",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    413: "request_too_large",
    422: "request_refused",
}


def when(user: str, response: Any, more: dict[str, Any] | None = None, **match: Any) -> dict[str, Any]:
    """Return a fixture for requests with this last user text, our system prompt and our tools."""
    context = {"systemMessage": "Be brief.", "toolName": "look"}
    reply = {"content": response} if isinstance(response, str) else response
    return {"match": {"userMessage": user, **context, **match}, "response": reply, **(more or {})}


def calls(*arguments: Any, **more: Any) -> dict[str, Any]:
    ids = ("call_one", "call_two")
    made = [{"id": id_, "name": "look", "arguments": a} for id_, a in zip(ids, arguments, strict=False)]
    return {"toolCalls": made, **more}


def fails(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"message": f"told to answer {status}", "type": "test"}, "status": status, **more}


def orders(*numbers: str) -> dict[str, Any]:
    return {"toolCalls": [{"name": "get_order", "arguments": {"order_id": number}} for number in numbers]}


NUMBERS = " ".join(map(str, range(40)))
FIXTURES = [
    when("Hi there", "Hello, мир!"),
    when("Oslo?", calls({"city": "Oslo", "days": 3}), hasToolResult=False),
    # The id only counts on wires that carry one; the text of the last result counts everywhere.
    when("Oslo?", "By id: rain.", toolCallId="call_one", toolResultContains="rain"),
    when("Oslo?", "By text: rain.", toolResultContains="rain"),
    when("Both", calls({"city": "Oslo"}, {"city": "Rīga"}, content="Looking."), hasToolResult=False),
    when("Both", "By id: snow.", toolCallId="call_two", toolResultContains="snow"),
    when("Both", "By text: snow.", toolResultContains="snow"),
    when("failed call", calls({"city": "Atlantis"}), hasToolResult=False),
    when("failed call", "It failed.", toolResultContains="no such city"),
    when("thinking", {"content": "Answer.", "reasoning": "Hidden."}),
    when("cut text", {"content": "A very long", "finishReason": "length"}),
    when("cut call", calls({"city": "Oslo"}, finishReason="length")),
    when("broken call", calls('{"city": "Os', {"city": "Rīga"})),
    when("heals", fails(429, retryAfter=0.05), sequenceIndex=0),
    when("heals", fails(500), sequenceIndex=1),
    when("heals", fails(503), sequenceIndex=2),
    when("heals", fails(529), sequenceIndex=3),
    when("heals", "fine", sequenceIndex=4),
    when("too busy", fails(429, retryAfter=900)),
    *(when(f"refuse {status}", fails(status)) for status in STATUSES),
    when("breaks off", NUMBERS, {"truncateAfterChunks": 1, "chunkSize": 8}, sequenceIndex=0),
    when("breaks off", NUMBERS, {"truncateAfterChunks": 5, "chunkSize": 8}, sequenceIndex=1),
    when("breaks off", NUMBERS, {"disconnectAfterMs": 60, "latency": 30, "chunkSize": 8}, sequenceIndex=2),
    when("breaks off", NUMBERS, {"latency": 2000, "chunkSize": 8}, sequenceIndex=3),
    when("breaks off", NUMBERS, {"latency": 5, "chunkSize": 8}, sequenceIndex=4),
    {"match": {"userMessage": "Hello!", "sequenceIndex": 0}, "response": fails(429, retryAfter=0.1)},
    {"match": {"userMessage": "Hello!", "sequenceIndex": 1}, "response": fails(500)},
    {"match": {"userMessage": "Hello!"}, "response": {"content": SAYS["hello"]}},
    *(
        {"match": {"userMessage": user, "hasToolResult": after}, "response": response}
        for user, case, numbers in (
            ("Where is ORD-123456?", "lookup", ["ORD-123456"]),
            ("Look up ORD-123456 and ORD-204518.", "both", ["ORD-123456", "ORD-204518"]),
        )
        for after, response in ((False, orders(*numbers)), (True, {"content": SAYS[case]}))
    ),
]


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the package, installed once per user, outside the repository, and known by its hash."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20).stdout
    if tuple(int(part) for part in version.strip().lstrip("v").split(".")[:2]) < (20, 15):
        pytest.skip(f"{PACKAGE} needs node 20.15, not {version.strip()}")
    home = cache_dir() / "test-peers" / f"aimock-{VERSION}"
    if not home.exists():
        try:
            home.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=home.parent) as folder:
                _install(npm, Path(folder))
                # A parallel test run may have been faster.
                if not home.exists():
                    (Path(folder) / "node_modules").rename(home)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"{PACKAGE}@{VERSION} cannot be had: npm install: {type(error).__name__}")
    lock = json.loads((home / ".package-lock.json").read_text("utf-8"))
    assert list(lock["packages"]) == [f"node_modules/{PACKAGE}"]
    assert lock["packages"][f"node_modules/{PACKAGE}"]["integrity"] == INTEGRITY
    return home / PACKAGE


def _install(npm: str, folder: Path) -> None:
    options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"]
    subprocess.run(
        [npm, "install", *options, "--prefix", str(folder), f"{PACKAGE}@{VERSION}"],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def url(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("aimock")
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}), "utf-8")
    module = json.dumps((package / "dist" / "index.js").as_uri())
    command = ["node", "--input-type=module", "--eval", SERVE % module, str(fixtures)]
    with child(command, folder / "server.log", {**os.environ, "PEER_KEY": KEY}) as address:
        yield address


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEER_KEY", KEY)
    monkeypatch.setenv("OTHER_KEY", "other-key-0123456789")


@pytest.fixture
def talk(url: str, request: pytest.FixtureRequest) -> Any:
    """A function that begins a conversation; the server counts the requests of each test by itself."""

    def begin(protocol: str, headers: dict[str, str] | None = None, **options: Any) -> Talk:
        mine = {"X-Test-Id": request.node.name, **(headers or {})}
        return Talk(url + BASES[protocol], protocol, **{"api_key_env": "PEER_KEY", **options}, headers=mine)

    return begin


@EVERYONE
async def test_a_conversation_is_the_same_whole_and_streamed(talk: Any, protocol: str) -> None:
    how = "text" if protocol == "ollama_chat" else "id"
    gists = []
    for stream in (False, True):
        chat = talk(protocol, stream=stream)
        hello = await chat.say("Hi there", WHAT)
        one = await chat.say("Oslo?", WHAT)
        told = await chat.answer(one, [ok("rain")], WHAT)
        both = await chat.say("Both", WHAT)
        end = await chat.answer(both, [failed("no such city"), ok("snow")], WHAT)
        assert [hello.text, told.text, end.text] == ["Hello, мир!", f"By {how}: rain.", f"By {how}: snow."]
        assert [call.arguments for call in one.calls] == [{"city": "Oslo", "days": 3}]
        assert [call.arguments for call in both.calls] == [{"city": "Oslo"}, {"city": "Rīga"}]
        assert both.text == "Looking."
        ids = [call.id for call in both.calls]
        # The peer says call_one twice, which the Messages and Responses wires do not allow.
        first = "call_1" if protocol in ("messages", "responses") else "call_one"
        assert ids == [first, "call_two"] or (how == "text" and len(set(ids)) == 2)
        assert chat.reply.request_id
        gists.append([gist(decision) for decision in (hello, one, told, both, end)])
    assert gists[0] == gists[1]


@EVERYONE
@STREAMED
async def test_a_failed_result_reaches_it(talk: Any, protocol: str, stream: bool) -> None:
    chat = talk(protocol, stream=stream)
    asked = await chat.say("failed call", WHAT)
    assert (await chat.answer(asked, [failed("no such city")], WHAT)).text == "It failed."


@EVERYONE
@STREAMED
async def test_replies_that_are_not_plain(talk: Any, protocol: str, stream: bool) -> None:
    async def decided(text: str) -> ModelDecision:
        return await talk(protocol, name="gpt-5", stream=stream).say(text, WHAT)

    thought = await decided("thinking")
    assert (thought.kind, thought.text) == ("text", "Answer.")
    broken = await decided("broken call")
    assert broken.calls[1].arguments == {"city": "Rīga"}
    if protocol in ("chat_completions", "responses"):
        assert (broken.kind, broken.reason, broken.calls[0].error) == (
            "invalid",
            "bad_arguments",
            "invalid_json",
        )
    else:
        # Arguments are an object here, and the server has put an empty one in place of half a text.
        assert (broken.kind, broken.calls[0].arguments) == ("tool_call", {})
    cut, text = await decided("cut call"), await decided("cut text")
    if protocol == "ollama_chat":
        # Its Ollama ends with "stop" whatever the fixture says.
        assert (cut.kind, text.kind, text.finish_reason) == ("tool_call", "text", "stop")
    else:
        assert (cut.kind, cut.reason) == ("invalid", "truncated")
        assert (text.kind, list(text.warnings)) == ("text", ["truncated_text"])


@EVERYONE
@STREAMED
async def test_what_can_heal_is_tried_again(talk: Any, protocol: str, stream: bool) -> None:
    chat = talk(protocol, tries=5, max_wait=0.05, stream=stream)
    assert (await chat.say("heals", WHAT)).text == "fine"
    assert chat.retried == ["rate_limited", "server_error", "unavailable", "overloaded"]
    assert [retry["retry_after"] for retry in chat.reply.retries] == [0.05, None, None, None]


@EVERYONE
async def test_what_cannot_heal_is_not(talk: Any, protocol: str) -> None:
    for status, code in STATUSES.items():
        error = await talk(protocol, tries=3).failure(f"refuse {status}", WHAT)
        assert (error.code, error.status, len(error.retries)) == (code, status, 1)
        assert f"told to answer {status}" in error.message
    error = await talk(protocol, tries=3).failure("too busy", WHAT)
    assert (error.code, error.retry_after, len(error.retries)) == ("rate_limited", 900, 1)


@EVERYONE
async def test_the_key_travels_where_it_is_looked_for(talk: Any, protocol: str) -> None:
    for options in ({"api_key_env": "OTHER_KEY"}, {"api_key_env": None}):
        error = await talk(protocol, tries=3, **options).failure("Hi there", WHAT)
        assert (error.code, error.status, len(error.retries)) == ("unauthorized", 401, 1)


@EVERYONE
@STREAMED
@pytest.mark.parametrize(
    ("chaos", "code", "tries"),
    [
        ("drop", "server_error", 2),
        ("malformed", "not_json", 2),
        ("disconnect", "connection_lost", 2),
        ("ratelimit", "rate_limited", 1),
        ("latency", "timeout", 1),
    ],
)
async def test_chaos(talk: Any, protocol: str, stream: bool, chaos: str, code: str, tries: int) -> None:
    headers = {f"X-AIMock-Chaos-{chaos}": "1500" if chaos == "latency" else "1"}
    slow = chaos == "latency"
    timeouts = {"first_byte": 0.2} if slow else {}
    chat = talk(protocol, headers, tries=2 - slow, max_wait=0.05, timeouts=timeouts, stream=stream)
    error = await chat.failure("Hi there", WHAT)
    assert [retry["code"] for retry in error.retries] == [code] * tries
    assert error.code == code


@EVERYONE
async def test_no_broken_stream_is_taken_for_an_answer(talk: Any, protocol: str) -> None:
    chat = talk(protocol, tries=5, max_wait=0.05, timeouts={"first_byte": 0.4}, stream=True)
    assert (await chat.say("breaks off", WHAT)).text == NUMBERS
    assert chat.retried == ["connection_lost"] * 3 + ["timeout"]
    assert chat.reply.first_token_ms < chat.reply.latency_ms


def test_a_whole_run(url: str, tmp_path: Path) -> None:
    runs = []
    for protocol, base in BASES.items():
        for name, stream in ((f"{protocol}-whole", False), (f"{protocol}-streamed", True)):
            entry = {"provider": "aimock", "model": name, "protocol": protocol, "base_url": url + base}
            more = {"api_key_env": "PEER_KEY", "headers": {"X-Test-Id": f"run-{name}"}}
            runs.append({**entry, **more, "settings": {"stream": stream}})
    summary, attempts = run_all(runs, tmp_path / "r", parallelism=3)
    assert summary.complete
    assert len(attempts) == len(runs) * 3
    assert_all_pass(attempts)
    for attempt in attempts:
        expected = ["rate_limited", "server_error"] if attempt.case_id == "hello" else []
        assert retried(attempt) == expected, (attempt.model, attempt.case_id)
    log = (tmp_path / "r" / "attempts.jsonl").read_text("utf-8")
    assert KEY not in log
