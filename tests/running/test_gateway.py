"""What a gateway makes of replies, seen through a small mangling proxy in front of the simulator."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from toolbench.errors import ConfigError
from toolbench.running.gateway import Comparison, compare_gateways
from toolbench.simulator import Simulator

Mangle = Callable[[Any], Any]

SCRIPT: dict[str, Any] = {
    "models": {"sim-reasoner": {"like": "sim-deepseek-thinking"}, "sim-mute": {"like": "sim-silent"}},
    "rules": [
        {"when": {"after_tool_result": True}, "then": {"text": "Rain, 3 degrees."}},
        {"then": {"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}},
    ],
}

ENTRIES: dict[str, dict[str, str]] = {
    "chat_completions": {"model": "sim-openai", "profile": "openai"},
    "responses": {"model": "sim-openai-responses-only"},
    "messages": {"model": "sim-claude-no-forced"},
    "ollama_chat": {"model": "sim-ollama-thinking"},
    "generate_content": {"model": "sim-gemini"},
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIM_KEY", "any-key-will-do")


@asynccontextmanager
async def proxy(target: str, mangle: Mangle, keeps: frozenset[str], streams: bool) -> AsyncIterator[str]:
    """Serve ``target`` with every JSON value of a reply mangled; of its headers only ``keeps`` go on."""

    async def handle(request: web.Request) -> web.Response:
        sent = await request.json()
        if not streams:
            sent = {key: value for key, value in sent.items() if key not in ("stream", "stream_options")}
        headers = {key: value for key, value in request.headers.items() if key.lower() != "host"}
        headers.pop("Content-Length", None)
        async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
            reply = await client.post(target + request.path_qs, json=sent, headers=headers)
        kind = reply.headers["content-type"]
        kept = {key: value for key, value in reply.headers.items() if key in keeps}
        if kind.startswith("application/json"):
            text = json.dumps(mangle(reply.json()))
        else:
            text = "".join(map(mangled, reply.text.splitlines(keepends=True)))
        return web.Response(text=text, status=reply.status_code, headers={**kept, "content-type": kind})

    def mangled(line: str) -> str:
        mark = "data: " if line.startswith("data: ") else ""
        body = line.removeprefix(mark)
        return f"{mark}{json.dumps(mangle(json.loads(body)))}\n" if body.startswith("{") else line

    app = web.Application()
    app.router.add_post("/{rest:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


EVERY_HEADER = frozenset({"x-request-id", "request-id", "x-ratelimit-limit-requests"}) | {
    f"anthropic-ratelimit-{what}-limit" for what in ("requests", "tokens")
}


def same(value: Any) -> Any:
    return value


def deep(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Mangle:
    """Return a mangler that changes every object of a reply, innermost first."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, dict):
            return change({key: walk(item) for key, item in value.items()})
        return value

    return walk


def without(*names: str) -> Mangle:
    return deep(lambda part: {key: item for key, item in part.items() if key not in names})


def setting(**values: Any) -> Mangle:
    """Return a mangler that replaces fields that are there and hold something."""
    return deep(lambda part: {key: values.get(key, item) if item else item for key, item in part.items()})


async def compared(
    tmp_path: Path,
    protocol: str,
    mangle: Mangle = same,
    keeps: frozenset[str] = EVERY_HEADER,
    streams: bool = True,
    **entry: Any,
) -> Comparison:
    def play(direct: str, through: str) -> Comparison:
        common = {"protocol": protocol, "api_key_env": "SIM_KEY", **ENTRIES[protocol], **entry}
        path = direct.removeprefix(sim.url)
        runs = [
            {**common, "provider": "direct", "base_url": direct},
            {**common, "provider": "gate", "base_url": through + path},
        ]
        file = tmp_path / "config.json"
        file.write_text(json.dumps({"runs": runs, "baselines": []}))
        (found,) = asyncio.run(compare_gateways(file, "direct"))
        return found

    with Simulator(SCRIPT) as sim:
        async with proxy(sim.url, mangle, keeps, streams) as through:
            return await asyncio.to_thread(play, sim.base_url(protocol), through)


def lines(found: Comparison) -> set[tuple[str, str, str]]:
    return {(one.how, one.where, one.what) for one in found.differences}


def everywhere(how: str, what: str) -> set[tuple[str, str, str]]:
    return {(how, f"{turn}, {mode}", what) for turn in ("call", "answer") for mode in ("whole", "streamed")}


@pytest.mark.parametrize("protocol", ENTRIES)
async def test_a_faithful_gateway_differs_in_nothing(tmp_path: Path, protocol: str) -> None:
    assert lines(await compared(tmp_path, protocol)) == set()


@pytest.mark.parametrize("protocol", ENTRIES)
async def test_a_renamed_model_is_told(tmp_path: Path, protocol: str) -> None:
    found = await compared(tmp_path, protocol, setting(model="other", modelVersion="other"))
    assert lines(found) == everywhere("changed", "model name")
    assert {one.gateway for one in found.differences} == {"other"}


USAGE = {
    "chat_completions": ("usage", {"input", "output", "cached_input", "reasoning"}),
    "responses": ("usage", {"input", "output", "cached_input", "reasoning"}),
    "messages": ("usage", {"input", "output", "cached_input", "reasoning"}),
    "ollama_chat": ("eval_count", {"output"}),
    "generate_content": ("usageMetadata", {"input", "output"}),
}


@pytest.mark.parametrize("protocol", USAGE)
async def test_dropped_usage_is_told(tmp_path: Path, protocol: str) -> None:
    field, expected = USAGE[protocol]
    found = lines(await compared(tmp_path, protocol, without(field)))
    assert {how for how, _, _ in found} == {"dropped"}
    for name in expected:
        assert everywhere("dropped", f"usage: {name}") <= found
    assert all(what.startswith("usage: ") for _, _, what in found)


CALL_IDS = {"chat_completions": "tool_calls", "generate_content": "functionCall"}


@pytest.mark.parametrize("protocol", CALL_IDS)
async def test_dropped_call_ids_are_told(tmp_path: Path, protocol: str) -> None:
    marks = ({"function"}, {"name", "args"})

    def drop(part: dict[str, Any]) -> dict[str, Any]:
        call = any(names <= {*part} for names in marks)
        return {key: item for key, item in part.items() if not (call and key == "id")}

    found = lines(
        await compared(
            tmp_path, protocol, deep(drop), model="sim-gemini" if "gen" in protocol else "sim-ollama-v1"
        )
    )
    assert ("dropped", "call, whole", "call id") in found
    assert ("dropped", "call, streamed", "call id") in found


async def test_renumbered_ids_are_told_by_their_form(tmp_path: Path) -> None:
    def renumber(part: dict[str, Any]) -> dict[str, Any]:
        return {
            key: item.replace("chatcmpl-", "gen-") if key == "id" and isinstance(item, str) else item
            for key, item in part.items()
        }

    found = await compared(tmp_path, "chat_completions", deep(renumber))
    assert lines(found) == everywhere("changed", "reply id")
    assert {(one.direct, one.gateway) for one in found.differences} == {("chatcmpl-…", "gen-…")}


async def test_a_finish_reason_that_is_flattened_is_told(tmp_path: Path) -> None:
    found = await compared(tmp_path, "chat_completions", setting(finish_reason="stop"))
    assert lines(found) == {("changed", f"call, {mode}", "finish reason") for mode in ("whole", "streamed")}


async def test_dropped_reasoning_is_told(tmp_path: Path) -> None:
    found = lines(await compared(tmp_path, "ollama_chat", without("thinking")))
    assert everywhere("dropped", "reasoning") == found


async def test_reasoning_that_must_come_back_is_told_as_a_failure(tmp_path: Path) -> None:
    entry = {"model": "sim-reasoner", "profile": "compatible"}
    found = await compared(tmp_path, "chat_completions", without("reasoning_content"), **entry)
    assert {("dropped", "call, whole", "reasoning"), ("failed", "answer, whole", "gateway")} <= lines(found)
    (failed,) = [one for one in found.differences if (one.how, one.where) == ("failed", "answer, whole")]
    assert "must be passed back" in failed.gateway


SIGNED = {"responses": "encrypted_content", "messages": "signature", "generate_content": "thoughtSignature"}


@pytest.mark.parametrize("protocol", SIGNED)
async def test_dropped_signatures_are_told(tmp_path: Path, protocol: str) -> None:
    found = lines(await compared(tmp_path, protocol, without(SIGNED[protocol])))
    assert ("dropped", "call, whole", "signatures") in found
    assert ("dropped", "call, streamed", "signatures") in found


async def test_dropped_headers_are_told(tmp_path: Path) -> None:
    found = lines(await compared(tmp_path, "chat_completions", keeps=frozenset()))
    assert found == everywhere("dropped", "request id") | everywhere("dropped", "rate limits")


async def test_a_gateway_that_does_not_stream_is_told(tmp_path: Path) -> None:
    found = lines(await compared(tmp_path, "chat_completions", streams=False))
    assert found == {("dropped", f"{turn}, streamed", "stream") for turn in ("call", "answer")}


async def test_a_model_that_never_calls_is_said_and_compared_no_further(tmp_path: Path) -> None:
    found = await compared(tmp_path, "chat_completions", setting(model="other"), model="sim-mute")
    assert [(one.how, one.what, one.direct) for one in found.differences] == [
        ("failed", "direct", "the model did not call the tool")
    ] * 2


async def test_a_label_without_a_twin_is_refused(tmp_path: Path) -> None:
    run = {"provider": "a", "model": "m", "protocol": "responses", "base_url": "http://127.0.0.1:9/v1"}
    other = {**run, "provider": "b", "model": "n"}
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"runs": [run, other], "baselines": []}))
    with pytest.raises(ConfigError, match="the labels are: a, b"):
        await compare_gateways(file, "a")
