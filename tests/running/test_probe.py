import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from toolbench.adapters.listing import LISTINGS
from toolbench.errors import ConfigError
from toolbench.running.probe import Probe, probe
from toolbench.simulator import Simulator

RUN = {"provider": "p", "model": "sim-openai", "protocol": "chat_completions", "api_key_env": "SIM_KEY"}
CANARY = "sk-TEST-0123456789abcdef"


@pytest.fixture(autouse=True)
def any_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIM_KEY", "any-key-will-do")


@asynccontextmanager
async def served(answer: Callable[[web.Request], web.StreamResponse]) -> AsyncIterator[str]:
    """Serve one answer to everything and yield the address."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return answer(request)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def check(tmp_path: Path, *entries: dict[str, Any]) -> list[Probe]:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"runs": list(entries)}))
    return await probe(file)


@pytest.mark.parametrize(
    "protocol", ["chat_completions", "responses", "messages", "ollama_chat", "generate_content"]
)
async def test_every_protocol_is_checked_by_its_own_list(tmp_path: Path, protocol: str) -> None:
    with Simulator() as simulator:
        entry = {**RUN, "protocol": protocol, "base_url": simulator.base_url(protocol)}
        (found,) = await check(tmp_path, {**entry, "model": "no-such-model"})
    assert not found.usable
    assert "does not list 'no-such-model'; it has " in found.state
    assert "sim-" in found.state


async def test_one_wrong_entry_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with Simulator() as simulator:
        base = simulator.base_url("chat_completions")
        found = await check(
            tmp_path,
            {**RUN, "base_url": base},
            {**RUN, "model": "REPLACE_WITH_REAL_MODEL_ID", "base_url": base},
            {**RUN, "base_url": base, "api_key_env": "NO_SUCH_KEY"},
            {**RUN, "base_url": dead},
            {**RUN, "protocol": "telnet", "base_url": base},
            {**RUN, "model": "smollm2-135m-instruct", "base_url": "embedded:"},
            {**RUN, "model": "no-such-weights", "base_url": "embedded:"},
        )
    assert [entry.usable for entry in found] == [True, False, False, False, False, True, False]
    for entry, words in zip(
        found, ("ready", "placeholder", "NO_SUCH_KEY", "no answer", "protocol", "ready", "known"), strict=True
    ):
        assert words in entry.state
        assert "\n" not in entry.state


async def test_a_refused_key_is_said_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sim-bad-key")
    with Simulator() as simulator:
        entry = {**RUN, "base_url": simulator.base_url("chat_completions"), "api_key_env": "TEST_KEY"}
        (found,) = await check(tmp_path, entry)
    assert not found.usable
    assert "401" in found.state
    assert "sim-bad-key" not in found.state


async def test_credentials_in_an_address_are_not_shown(tmp_path: Path) -> None:
    (found,) = await check(tmp_path, {**RUN, "base_url": f"http://user:{CANARY}@127.0.0.1:9/v1?key={CANARY}"})
    assert CANARY not in repr(found)


async def test_a_web_page_is_no_api(tmp_path: Path) -> None:
    with Simulator() as simulator:
        (found,) = await check(tmp_path, {**RUN, "base_url": f"{simulator.url}/nothing-here"})
    assert found.usable or "JSON" in found.state or "404" in found.state


async def test_a_file_without_runs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(ConfigError, match="a list of models is needed"):
        await probe(tmp_path / "c.json")


PAGED = {"models": {f"sim-{number:02}": {"like": "sim-echo"} for number in range(70)}}


@pytest.mark.parametrize(
    ("protocol", "page"), [("messages", "/v1/models"), ("generate_content", "/v1beta/models")]
)
async def test_every_page_is_read(
    tmp_path: Path, protocol: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The largest page that a provider gives would hold them all: ask for small ones instead.
    small = {"messages": {"limit": "20"}, "generate_content": {"pageSize": "20"}}
    listing = replace(LISTINGS[protocol], query=small[protocol])
    monkeypatch.setattr("toolbench.running.probe.LISTINGS", {**LISTINGS, protocol: listing})
    with Simulator(PAGED) as simulator:
        entry = {**RUN, "protocol": protocol, "base_url": simulator.base_url(protocol)}
        last, missing = await check(tmp_path, {**entry, "model": "sim-69"}, {**entry, "model": "sim-70"})
        asked = [row["path"] for row in simulator.journal]
    assert (last.usable, last.state, missing.usable) == (True, "ready", False)
    assert asked == [page] * 8


async def test_messages_sends_the_version_of_its_dialect_and_lets_the_configuration_have_its_way(
    tmp_path: Path,
) -> None:
    with Simulator() as simulator:
        entry = {**RUN, "protocol": "messages", "base_url": simulator.base_url("messages")}
        entry |= {"model": "sim-claude"}
        own = {**entry, "headers": {"Anthropic-Version": "2023-06-01"}, "provider": "own"}
        found = await check(tmp_path, entry, own)
        sent = sorted(row["headers"]["anthropic-version"] for row in simulator.journal)
    assert [entry.state for entry in found] == ["ready", "ready"]
    assert sent == ["2023-06-01", "2026-10-21"]


async def test_a_model_of_ollama_may_leave_out_its_tag(tmp_path: Path) -> None:
    with Simulator({"models": {"small:latest": {"like": "sim-ollama"}}}) as simulator:
        entry = {**RUN, "protocol": "ollama_chat", "base_url": simulator.base_url("ollama_chat")}
        found = await check(tmp_path, {**entry, "model": "small"}, {**entry, "model": "small:1b"})
    assert [entry.usable for entry in found] == [True, False]


async def test_a_server_without_a_list_is_not_called_ready(tmp_path: Path) -> None:
    with Simulator() as simulator:
        (found,) = await check(tmp_path, {**RUN, "base_url": f"{simulator.url}/nothing-here"})
    assert found.usable
    assert "not known" in found.state


@pytest.mark.parametrize(
    "reply",
    [
        {"data": [{"id": "x"}], "has_more": True, "last_id": "x"},
        {"models": [{"name": "models/x"}], "nextPageToken": "again"},
    ],
    ids=["openai and anthropic", "gemini"],
)
async def test_a_list_that_never_ends_is_left(tmp_path: Path, reply: dict[str, Any]) -> None:
    protocol = "generate_content" if "models" in reply else "messages"
    async with served(lambda _: web.json_response(reply)) as base:
        (found,) = await check(tmp_path, {**RUN, "protocol": protocol, "base_url": f"{base}/v1"})
    assert not found.usable
    assert "does not list" in found.state
