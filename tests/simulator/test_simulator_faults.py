"""Faults on purpose, seen by a plain client."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest

from tests.simulator.simulator_bodies import HEADERS, SCRIPT, URLS, Post, first_turn
from toolbench.simulator import Settings, Simulator
from toolbench.simulator.script import FAULTS

PROTOCOLS = sorted(URLS)
STATUSES = sorted({fault["status"] for fault in FAULTS.values() if fault["kind"] == "status"} - {200})
ERROR_KEYS = {
    "chat_completions": {"message", "type", "param", "code"},
    "responses": {"message", "type", "param", "code"},
    "messages": {"type", "message"},
    "generate_content": {"code", "message", "status"},
}


def fault(name: Any) -> dict[str, str]:
    return {"x-simulator-fault": name if isinstance(name, str) else json.dumps(name)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("status", STATUSES)
def test_a_status_comes_in_the_shape_of_the_provider(post: Post, protocol: str, status: int) -> None:
    reply = post(protocol, headers=fault(str(status)))
    assert reply.status_code == status
    error = reply.json()["error"]
    if protocol == "ollama_chat":
        assert isinstance(error, str)
    else:
        assert ERROR_KEYS[protocol] <= set(error)
        assert isinstance(error["message"], str)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("sim-deepseek", {"error": {"message", "type", "param", "code"}}),
        ("sim-mistral", {"object", "message", "type", "param", "code"}),
        ("sim-ollama-v1", {"error": {"message", "type", "param", "code"}}),
        ("sim-llama-cpp", {"error": {"code", "message", "type"}}),
    ],
)
def test_dialects_have_error_shapes_of_their_own(post: Post, model: str, expected: Any) -> None:
    body = post("chat_completions", model=model, headers=fault("503")).json()
    if isinstance(expected, dict):
        body, expected = body["error"], expected["error"]
    assert set(body) == expected


@pytest.mark.parametrize(
    ("protocol", "header", "limit"),
    [
        ("chat_completions", "x-request-id", "x-ratelimit-reset-tokens"),
        ("messages", "request-id", "anthropic-ratelimit-requests-reset"),
    ],
)
@pytest.mark.parametrize("name", ["ok", "500"])
def test_replies_and_errors_carry_the_providers_headers(
    post: Post, protocol: str, header: str, limit: str, name: str
) -> None:
    first, second = (post(protocol, headers=fault(name)).headers for _ in range(2))
    assert first[header] != second[header]
    assert limit in first


@pytest.mark.parametrize("protocol", sorted({*PROTOCOLS} - {"generate_content"}))
def test_429_says_how_long_to_wait(post: Post, protocol: str) -> None:
    assert post(protocol, headers=fault("429")).headers["retry-after"] == "1"
    assert post(protocol, headers=fault("429_ms")).headers["retry-after-ms"] == "50"
    soon = parsedate_to_datetime(post(protocol, headers=fault("429_date")).headers["retry-after"])
    assert abs(soon - datetime.now(UTC)) <= timedelta(seconds=10)
    longer = post(protocol, headers=fault([{"fault": 429, "retry_after": 7.5}]))
    assert longer.headers["retry-after"] == "7.5"
    bare = post(protocol, headers=fault("429_bare")).headers
    assert not {"retry-after", "retry-after-ms"} & set(bare)


def test_429_of_gemini_tells_the_wait_in_its_body(post: Post) -> None:
    reply = post("generate_content", headers=fault({"fault": "429", "retry_after": 45.8379}))
    assert "retry-after" not in reply.headers
    assert reply.json()["error"]["details"][0]["retryDelay"] == "45.8379s"


@pytest.mark.parametrize(
    ("protocol", "sign"),
    [
        ("chat_completions", "insufficient_quota"),
        ("responses", "insufficient_quota"),
        ("messages", "enforced_spend_limit_reached"),
        ("generate_content", "PerDay"),
    ],
)
def test_429_for_a_spent_quota_is_final(post: Post, protocol: str, sign: str) -> None:
    reply = post(protocol, headers=fault("429_quota"))
    assert reply.status_code == 429
    assert "retry-after" not in reply.headers
    assert sign in reply.text


def test_503_can_say_how_long_to_wait(post: Post) -> None:
    reply = post("chat_completions", headers=fault({"fault": "503", "retry_after": 2}))
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "2")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_html_page_instead_of_json(post: Post, protocol: str) -> None:
    reply = post(protocol, headers=fault("html"))
    assert (reply.status_code, reply.headers["content-type"]) == (502, "text/html; charset=latin-1")
    assert reply.text.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["error_200", "mid_stream_error"])
def test_an_error_body_under_200(post: Post, protocol: str, name: str) -> None:
    reply = post(protocol, headers=fault(name))
    assert reply.status_code == 200
    assert "error" in reply.json()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_malformed_json(post: Post, protocol: str) -> None:
    reply = post(protocol, headers=fault("malformed_json"))
    assert reply.status_code == 200
    with pytest.raises(json.JSONDecodeError):
        reply.json()


@pytest.mark.parametrize("name", ["truncated_body", "disconnect", "hang"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_the_connection_breaks(post: Post, name: str, stream: bool) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        post("chat_completions", stream=stream, headers=fault({"fault": name, "seconds": 0.05}))


def streamed(client: httpx.Client, protocol: str, name: str, text: str = "weather in Oslo") -> str:
    url = URLS[protocol].format(model=f"sim-gemini+{name}")
    body = first_turn(protocol, text)
    if protocol == "generate_content":
        url = url.replace(":generateContent", ":streamGenerateContent?alt=sse")
    else:
        body |= {"model": f"{body['model']}+{name}", "stream": True}
    reply = client.post(url, json=body)
    assert reply.status_code == 200, reply.text
    return reply.text


ENDS = {
    "chat_completions": "data: [DONE]",
    "responses": '"type":"response.completed"',
    "messages": '"type":"message_stop"',
    "ollama_chat": '"done":true',
    "generate_content": '"finishReason"',
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_has_its_end(client: httpx.Client, protocol: str) -> None:
    assert ENDS[protocol] in streamed(client, protocol, "ok")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_error_in_the_middle_of_a_stream_is_its_last_event(client: httpx.Client, protocol: str) -> None:
    text = streamed(client, protocol, "mid_stream_error")
    assert ENDS[protocol] not in text
    assert "error" in text.strip().splitlines()[-1]


def test_ollama_v1_hides_an_error_in_the_middle(client: httpx.Client) -> None:
    body = first_turn("chat_completions", "hi", "sim-ollama-v1+mid_stream_error", stream=True)
    text = client.post(URLS["chat_completions"], json=body).text
    assert '"error"' not in text
    assert "[DONE]" not in text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_cut_stream_just_ends(client: httpx.Client, protocol: str) -> None:
    text = streamed(client, protocol, "cut_stream")
    assert text
    assert ENDS[protocol] not in text
    assert '"error":{' not in text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_broken_event_in_a_stream(client: httpx.Client, protocol: str) -> None:
    whole, broken = (streamed(client, protocol, name) for name in ("ok", "malformed_json"))
    assert len(broken) < len(whole)
    lines = [line.removeprefix("data: ") for line in broken.splitlines() if not line.startswith("event:")]
    with pytest.raises(json.JSONDecodeError):
        [json.loads(line) for line in lines if line not in ("", "[DONE]")]


@pytest.mark.parametrize("protocol", sorted({*PROTOCOLS} - {"ollama_chat"}))
def test_signs_of_life_between_events(client: httpx.Client, protocol: str) -> None:
    sign = 'data: {"type":"ping"}' if protocol == "messages" else ": keep-alive"
    text = streamed(client, protocol, "keep_alive", "hi")
    assert text.count(sign) * 2 >= text.count("\n\n")


def test_blank_lines_before_a_whole_reply(post: Post) -> None:
    reply = post("chat_completions", headers=fault("keep_alive"))
    assert reply.text.startswith("\n\n{")
    assert reply.json()["choices"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_slow_drip_takes_its_time_and_is_complete(post: Post, stream: bool) -> None:
    started = time.monotonic()
    reply = post("chat_completions", stream=stream, headers=fault({"fault": "slow_drip", "seconds": 0.2}))
    assert reply.text.endswith("[DONE]\n\n" if stream else "}")
    assert time.monotonic() - started > 0.1


def statuses(post: Post, count: int, **how: Any) -> list[int]:
    return [post("chat_completions", **how).status_code for _ in range(count)]


def test_a_list_is_walked_one_try_after_the_other_and_starts_again(post: Post) -> None:
    how = {"headers": fault("500, 429, ok"), "text": "a list"}
    assert statuses(post, 6, **how) == [500, 429, 200, 500, 429, 200]


def test_every_request_walks_the_list_for_itself(post: Post) -> None:
    first = {"headers": fault([500, 200]), "text": "first"}
    second = {"headers": fault([500, 200]), "text": "second"}
    got = [post("chat_completions", **how).status_code for how in (first, second, first, second)]
    assert got == [500, 500, 200, 200]


def test_faults_come_from_query_header_model_id_entry_and_rule() -> None:
    entry = {"like": "sim-openai", "fault": 503}
    rules = [
        {"when": {"user_contains": "bad"}, "then": {"text": "x", "fault": [502, "ok"]}},
        *SCRIPT["rules"],
    ]
    script = {"models": {"m-busy": entry, "m-rules": {"like": "sim-openai", "rules": rules}}}
    with (
        Simulator(script) as sim,
        httpx.Client(base_url=sim.url, headers=HEADERS, trust_env=False) as client,
    ):

        def status(model: str, text: str = "hi", query: str = "", **headers: str) -> int:
            body = first_turn("chat_completions", text, model)
            return client.post(URLS["chat_completions"] + query, json=body, headers=headers).status_code

        assert status("sim-openai") == 200
        assert status("sim-openai", query="?fault=529") == 529
        assert status("sim-openai+500") == 500
        assert status("m-busy") == 503
        assert status("m-busy", **fault("ok")) == 200
        assert [status("m-rules", "bad") for _ in range(3)] == [502, 200, 502]
        assert status("m-rules", "good") == 200
        assert [row["fault"] for row in sim.journal[-4:]] == ["502", "ok", "502", "ok"]


@pytest.mark.parametrize(
    "text", ["nonsense", "[]", "{", '{"fault": 500, "more": 1}', '{"fault": 418}', "500,,ok"]
)
def test_an_unknown_fault_is_a_bad_request(post: Post, text: str) -> None:
    reply = post("chat_completions", headers={"x-simulator-fault": text})
    assert reply.status_code == 400
    assert reply.json()["error"]["message"].startswith("simulator fault:")


def test_a_hang_is_bounded_and_ends_with_the_server() -> None:
    body = first_turn("chat_completions", "hi", "sim-openai+hang")
    with Simulator(settings=Settings(max_hang_s=0.05)) as sim, pytest.raises(httpx.RemoteProtocolError):
        httpx.post(sim.url + URLS["chat_completions"], json=body, headers=HEADERS, timeout=5)
    started = time.monotonic()
    with Simulator() as sim, pytest.raises(httpx.ReadTimeout):
        httpx.post(sim.url + URLS["chat_completions"], json=body, headers=HEADERS, timeout=0.1)
    assert time.monotonic() - started < 20
