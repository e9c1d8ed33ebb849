"""Life of the server, its journal, its limits, its streams' pieces and its command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolbench.simulator as package
from tests.simulator.simulator_bodies import (
    HEADERS,
    MODELS,
    SCRIPT,
    URLS,
    Post,
    first_turn,
    second_turn,
)
from toolbench.errors import ServingError
from toolbench.simulator import PROTOCOLS, Settings, Simulator, load_script
from toolbench.simulator.failures import HERE
from toolbench.simulator.mishaps import FaultWalk

SECRET = "sk-very-secret-0123456789"


def test_the_package_says_what_is_public() -> None:
    assert all(hasattr(package, name) for name in package.__all__)


def test_it_shares_no_code_with_the_adapters() -> None:
    for path in HERE.glob("*.py"):
        imported = re.findall(r"^(?:from|import) (toolbench\S*)", path.read_text("utf-8"), re.M)
        foreign = [name for name in imported if not name.startswith("toolbench.simulator")]
        assert set(foreign) <= {"toolbench.domain.canonical", "toolbench.errors"}, path.name


def test_every_protocol_has_a_base_url(sim: Simulator) -> None:
    bases = {protocol: sim.base_url(protocol).removeprefix(sim.url) for protocol in PROTOCOLS}
    assert bases == {
        "chat_completions": "/v1",
        "responses": "/v1",
        "messages": "/v1",
        "ollama_chat": "/api",
        "generate_content": "/v1beta",
    }
    assert sim.url.startswith("http://127.0.0.1:")


def test_it_starts_and_stops_quickly_and_more_than_once() -> None:
    started = time.monotonic()
    simulator = Simulator()
    ports = []
    for _ in range(3):
        with simulator as sim:
            ports.append(sim.port)
            assert httpx.get(sim.url + "/api/tags", trust_env=False).status_code == 200
        with pytest.raises(httpx.ConnectError):
            httpx.get(sim.url + "/api/tags", trust_env=False)
    assert all(ports)
    assert time.monotonic() - started < 20


def test_a_taken_port_is_one_clear_line(sim: Simulator) -> None:
    with (
        pytest.raises(ServingError, match=rf"cannot listen on 127\.0\.0\.1:{sim.port}"),
        Simulator(port=sim.port),
    ):
        pass


def test_the_journal_tells_what_was_asked(sim: Simulator, client: httpx.Client, post: Post) -> None:
    sim.clear_journal()
    post("chat_completions")
    post("messages", model="sim-claude-no-forced", tool_choice={"type": "any"})
    post("ollama_chat", headers={"x-simulator-fault": "503"})
    rows = client.get("/_simulator/journal").json()["requests"]
    assert rows == sim.journal
    told = [(row["protocol"], row["model"], row["status"], row["fault"]) for row in rows]
    assert told == [
        ("chat_completions", "sim-openai", 200, "ok"),
        ("messages", "sim-claude-no-forced", 400, "ok"),
        ("ollama_chat", "sim-ollama", 503, "503"),
    ]
    assert rows[0]["body"] == first_turn("chat_completions")
    assert "not supported for this model" in rows[1]["refusal"]
    assert client.delete("/_simulator/journal").json() == {"requests": []}
    assert sim.journal == []


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("authorization", f"Bearer {SECRET}"),
        ("x-api-key", SECRET),
        ("x-goog-api-key", SECRET),
        ("api-key", SECRET),
        ("cookie", SECRET),
        ("openai-organization", SECRET),
    ],
)
def test_the_journal_never_holds_a_key(sim: Simulator, header: str, value: str) -> None:
    sim.clear_journal()
    body = first_turn("generate_content", f"my key is {SECRET}" if "key" in header else "hi")
    with httpx.Client(base_url=sim.url, trust_env=False) as other:
        other.post(
            f"/v1beta/models/sim-gemini:generateContent?key={SECRET}", json=body, headers={header: value}
        )
        other.get("/v1beta/models", params={"key": SECRET}, headers={header: value})
    assert len(sim.journal) == 2
    assert SECRET not in json.dumps(sim.journal)


def test_the_journal_is_bounded() -> None:
    with Simulator() as sim, httpx.Client(base_url=sim.url, headers=HEADERS, trust_env=False) as client:
        for number in range(520):
            client.get("/api/tags", params={"n": number})
        assert [row["number"] for row in (sim.journal[0], sim.journal[-1])] == [21, 520]
        client.post(URLS["ollama_chat"], json=first_turn("ollama_chat", "x" * 70_000))
        assert (sim.journal[-1]["status"], sim.journal[-1]["body"]) == (200, None)


def test_no_two_replies_share_an_id_even_of_servers_that_follow_each_other() -> None:
    ids = []
    for _ in range(2):
        with Simulator() as sim, httpx.Client(base_url=sim.url, headers=HEADERS, trust_env=False) as client:
            body = first_turn("chat_completions", "hi")
            ids += [client.post(URLS["chat_completions"], json=body).json()["id"] for _ in range(2)]
    assert len(set(ids)) == 4


def test_the_memory_of_tries_is_bounded() -> None:
    walk = FaultWalk(limit=2)
    names = [walk.next([500, 200], digest).name for digest in ("a", "b", "c", "a", "c")]
    assert names == ["500", "500", "500", "500", "200"]


@pytest.mark.parametrize(
    ("protocol", "kind"), [("chat_completions", "invalid_request_error"), ("messages", "request_too_large")]
)
def test_a_large_request_is_refused_in_the_shape_of_the_provider(protocol: str, kind: str) -> None:
    with Simulator(settings=Settings(max_body_bytes=1000)) as sim:
        body = first_turn(protocol, "x" * 2000)
        reply = httpx.post(sim.url + URLS[protocol], json=body, headers=HEADERS, trust_env=False)
    assert (reply.status_code, reply.json()["error"]["type"]) == (413, kind)


def test_too_many_requests_at_once_are_turned_away() -> None:
    with Simulator(settings=Settings(max_active=2, latency_s=0.5)) as sim:

        def ask(number: int) -> int:
            body = first_turn("chat_completions", str(number))
            return httpx.post(
                sim.url + URLS["chat_completions"], json=body, headers=HEADERS, trust_env=False
            ).status_code

        with ThreadPoolExecutor(6) as pool:
            statuses = list(pool.map(ask, range(6)))
    assert sorted(statuses)[:2] == [200, 200]
    assert 503 in statuses


@pytest.mark.parametrize("latency", [0.1, (0.1, 0.12)], ids=["fixed", "drawn"])
def test_latency(latency: float | tuple[float, float]) -> None:
    with Simulator(SCRIPT, latency=latency) as sim:
        started = time.monotonic()
        httpx.post(
            sim.url + URLS["chat_completions"],
            json=first_turn("chat_completions"),
            headers=HEADERS,
            trust_env=False,
        )
        assert time.monotonic() - started >= 0.1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_request_gets_the_same_reply(post: Post, protocol: str) -> None:
    texts = [post(protocol, text=text).text for text in ("both", "both", "both?")]
    first, again, other = map(without_own_id, texts)
    assert first == again
    assert first != other
    # Only Ollama's replies have no id of their own.
    assert (texts[0] == texts[1]) == (protocol == "ollama_chat")


def without_own_id(text: str) -> str:
    """Return a reply without the id that tells it from all others."""
    return re.sub(r'"(id|responseId)": ?"(chatcmpl-|msg_|resp_|gen-)?[A-Za-z0-9]{24}"', "", text)


def test_another_seed_gives_other_ids_and_pieces() -> None:
    body = first_turn("chat_completions", "both", stream=True)
    texts = []
    settings = Settings(random_pieces=True, piece_chars=5)
    with Simulator(SCRIPT, settings=settings) as sim:
        for seed in (1, 2, 1):
            sim.settings = replace(settings, seed=seed)
            url = sim.url + URLS["chat_completions"]
            text = httpx.post(url, json=body, headers=HEADERS, trust_env=False).text
            texts.append(without_own_id(text))
    assert texts[0] == texts[2] != texts[1]


def arguments_of(text: str) -> list[str]:
    """Return the arguments of every call in a Chat Completions stream."""
    found: dict[int, str] = {}
    for line in text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line.removeprefix("data: "))["choices"]:
                for call in choice["delta"].get("tool_calls", ()):
                    found[call["index"]] = found.get(call["index"], "") + call["function"]["arguments"]
    return [found[index] for index in sorted(found)]


@pytest.mark.parametrize(
    "wire_bytes", [None, 1, 7], ids=["an event a write", "a byte a write", "seven bytes"]
)
@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_pieces_never_change_what_is_said(pieces: int, wire_bytes: int | None) -> None:
    settings = Settings(piece_chars=pieces, random_pieces=True, wire_bytes=wire_bytes)
    with Simulator(SCRIPT, settings=settings) as sim:
        body = first_turn("chat_completions", "both", stream=True)
        text = httpx.post(
            sim.url + URLS["chat_completions"], json=body, headers=HEADERS, trust_env=False
        ).text
    assert arguments_of(text) == ['{"city": "Oslo"}', '{"city": "Bergen"}']


BROKEN_CALL = [{"name": "get_weather", "raw_arguments": '{"city": '}]
INVENTED = [{"name": "get_moon", "arguments": {}}]
LOOP = [
    {"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]},
    {"calls": [{"name": "get_weather", "arguments": {"city": "Bergen"}}], "text": "One more."},
    {"text": "Both known."},
]
WILD = {
    "models": {},
    "rules": [
        {"when": {"user_contains": "broken"}, "then": {"calls": BROKEN_CALL}},
        {"when": {"user_contains": "cut"}, "then": {"calls": BROKEN_CALL, "truncated": True}},
        {"when": {"user_contains": "invented"}, "then": {"calls": INVENTED}},
        {"when": {"user_contains": "loop"}, "then": LOOP},
        {"then": {"text": "$user"}},
    ],
}


@pytest.fixture
def wild() -> Any:
    with Simulator(WILD) as sim, httpx.Client(base_url=sim.url, headers=HEADERS, trust_env=False) as client:

        def send(protocol: str, text: str = "", body: Any = None, model: str | None = None) -> httpx.Response:
            model = model or MODELS[protocol]
            url = URLS[protocol].format(model=model)
            content = json.dumps(body or first_turn(protocol, text, model))
            return client.post(url, content=content)

        yield send


LOOPS = [
    ("chat_completions", "sim-deepseek-thinking"),
    ("chat_completions", "sim-mistral"),
    ("responses", "sim-openai-responses-only"),
    ("messages", "sim-claude-bound"),
    ("ollama_chat", "sim-ollama-thinking"),
    ("generate_content", "sim-gemini"),
]


@pytest.mark.parametrize(("protocol", "model"), LOOPS)
def test_a_loop_of_two_calls_is_walked_to_its_end(wild: Any, protocol: str, model: str) -> None:
    body = first_turn(protocol, "loop", model)
    if isinstance(body.get("input"), str):
        body["input"] = [{"role": "user", "content": body["input"]}]
    for _ in range(2):
        reply = wild(protocol, body=body, model=model)
        body = second_turn(protocol, body, reply.json())
    last = wild(protocol, body=body, model=model)
    assert last.status_code == 200, last.text
    assert "Both known." in last.text


def test_arguments_that_are_no_json_in_every_wire(wild: Any) -> None:
    chat = wild("chat_completions", "broken").json()["choices"][0]
    assert chat["message"]["tool_calls"][0]["function"]["arguments"] == '{"city": '
    items = wild("responses", "broken").json()["output"]
    assert items[0]["arguments"] == '{"city": '
    assert wild("messages", "broken").json()["content"][0]["input"] == {}
    ollama = wild("ollama_chat", "broken")
    assert ollama.status_code == 500
    assert "error parsing tool call: raw='{\"city\": '" in ollama.json()["error"]
    gemini = wild("generate_content", "broken").json()["candidates"][0]
    assert gemini["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert "parts" not in gemini["content"]


def test_a_cut_call_in_every_wire(wild: Any) -> None:
    assert wild("chat_completions", "cut").json()["choices"][0]["finish_reason"] == "length"
    response = wild("responses", "cut").json()
    assert (response["status"], response["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )
    assert wild("messages", "cut").json()["stop_reason"] == "max_tokens"
    assert wild("generate_content", "cut").json()["candidates"][0]["finishReason"] == "MAX_TOKENS"


def test_an_invented_tool_is_hidden_by_ollama_only(wild: Any) -> None:
    assert "tool_calls" in wild("chat_completions", "invented").json()["choices"][0]["message"]
    message = wild("ollama_chat", "invented").json()["message"]
    assert "tool_calls" not in message
    assert "get_moon" in message["content"]


def test_text_that_utf8_cannot_hold_is_answered(wild: Any) -> None:
    reply = wild("chat_completions", "lone \ud800 surrogate")
    assert reply.json()["choices"][0]["message"]["content"] == "lone \ud800 surrogate"


@pytest.mark.parametrize(
    ("path", "headers", "status", "name"),
    [
        ("/v1/models", {"authorization": "Bearer x"}, 200, "sim-openai"),
        ("/v1/models", {}, 200, "sim-ollama-v1"),
        ("/v1/models", {"authorization": "Bearer sim-bad-key"}, 401, "Incorrect API key"),
        ("/v1/models", {"authorization": "Bearer x", "x-simulator-fault": "html"}, 502, "Bad Gateway"),
        ("/v1/models", {"anthropic-version": "2026-10-21", "x-api-key": "x"}, 200, "sim-claude"),
        ("/v1/models", {"anthropic-version": "2026-10-21"}, 401, "authentication_error"),
        ("/api/tags", {}, 200, "sim-ollama"),
        ("/v1beta/models", {"x-goog-api-key": "x"}, 200, "models/sim-gemini"),
        ("/v1beta/models", {}, 401, "UNAUTHENTICATED"),
    ],
)
def test_cheap_checks(sim: Simulator, path: str, headers: dict[str, str], status: int, name: str) -> None:
    reply = httpx.get(sim.url + path, headers=headers, trust_env=False)
    assert reply.status_code == status
    assert name in reply.text


@pytest.mark.parametrize(
    ("protocol", "model", "status"),
    [
        ("chat_completions", "sim-openai", 401),
        ("chat_completions", "sim-mistral", 401),
        ("chat_completions", "sim-ollama-v1", 200),
        ("chat_completions", "sim-llama-cpp", 200),
        ("messages", "sim-claude", 401),
        ("generate_content", "sim-gemini", 403),
        ("ollama_chat", "sim-ollama", 200),
    ],
)
def test_a_key_is_wanted_where_the_provider_wants_one(
    sim: Simulator, protocol: str, model: str, status: int
) -> None:
    url = sim.url + URLS[protocol].format(model=model)
    headers = {"anthropic-version": "2026-10-21"}
    bare = httpx.post(url, json=first_turn(protocol, "hi", model), headers=headers, trust_env=False)
    assert bare.status_code == status
    bad = httpx.post(
        url,
        json=first_turn(protocol, "hi", model),
        headers=headers | {"authorization": "Bearer sim-bad-key"},
        trust_env=False,
    )
    assert bad.status_code == 401


def test_gemini_streams_with_alt_sse_only(client: httpx.Client) -> None:
    url = "/v1beta/models/sim-gemini:streamGenerateContent"
    body = first_turn("generate_content")
    assert client.post(url, json=body).status_code == 400
    assert client.post(url, json=body, params={"alt": "sse"}).status_code == 200
    assert client.post("/v1beta/models/sim-gemini:embedContent", json=body).status_code == 404


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path, stop: signal.Signals) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"models": {"mine": {"like": "sim-ollama"}}}))
    load_script(script)
    code = "import sys; from toolbench.simulator import serve_forever; serve_forever(script=sys.argv[1])"
    root = str(HERE.parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", code, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+(?=/api)", line)
            assert address, line
            assert "mine" in httpx.get(f"{address[0]}/api/tags", trust_env=False).text
            process.send_signal(stop)
            assert process.wait(5) == 0
            assert process.stdout.read() + process.stderr.read() == ""
        finally:
            process.kill()
