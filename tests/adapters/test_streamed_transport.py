"""Streams over a real connection: time to first content, the complete text, and every way to break off."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.support import ask, chunk, model, sse
from toolbench.adapters import adapter_for
from toolbench.adapters.wire import Request
from toolbench.domain.config import ModelConfig
from toolbench.errors import TransportError
from toolbench.running import transport as module
from toolbench.running.redaction import Redactor
from toolbench.running.transport import Response, Transport

Part = bytes | float
SSE = "text/event-stream"
TEXT = sse(
    chunk({"role": "assistant", "content": ""}), chunk({"content": "Hi \u2028 there"}), chunk({}, "stop")
)


def chunked(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@asynccontextmanager
async def serving(
    parts: Sequence[Part], kind: str = SSE, status: int = 200, end: bytes = b"0\r\n\r\n", hang_up: bool = True
) -> AsyncIterator[tuple[str, list[str]]]:
    """Serve this reply to every request: bytes are sent as chunks, numbers are pauses in seconds."""
    seen: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                seen.append(head.splitlines()[0])
                length = next(line for line in head.lower().splitlines() if line.startswith("content-length"))
                await reader.readexactly(int(length.split(":")[1]))
                writer.write(
                    f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nX-Request-Id: r1\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n".encode()
                )
                for part in parts:
                    if isinstance(part, float):
                        await asyncio.sleep(part)
                    else:
                        writer.write(chunked(part))
                        await writer.drain()
                writer.write(end)
                await writer.drain()
                if hang_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", seen


async def send(
    base_url: str, protocol: str = "chat_completions", key: str = "", stream: bool = True, **timeouts: float
) -> Response:
    request = ask(protocol, stream=stream)
    player = replace(model(protocol), base_url=base_url)
    async with Transport(Redactor([key]), timeouts, {"tries": 1}) as transport:
        return await transport.send(player, adapter_for(protocol), request)


async def failure(parts: Sequence[Part], end: bytes = b"0\r\n\r\n", **timeouts: float) -> TransportError:
    async with serving(parts, end=end) as (url, _):
        with pytest.raises(TransportError) as caught:
            await send(url, **timeouts)
    return caught.value


async def test_a_stream_becomes_one_reply() -> None:
    cut = TEXT.index("Hi ") + 1
    async with serving([TEXT[:cut].encode(), 0.2, TEXT[cut:].encode()]) as (url, _):
        reply = await send(url)
    assert reply.body["choices"][0]["message"]["content"] == "Hi \u2028 there"
    assert reply.text == TEXT
    assert (reply.request_id, reply.status) == ("r1", 200)
    assert reply.first_token_ms is not None
    assert 150 <= reply.first_token_ms <= reply.latency_ms


async def test_a_stream_without_content_has_no_first_token() -> None:
    async with serving([sse(chunk({}, "stop")).encode()]) as (url, _):
        assert (await send(url)).first_token_ms is None


async def test_an_unstreamed_reply_has_no_first_token() -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}
    async with serving([json.dumps(body).encode()], "application/json") as (url, _):
        reply = await send(url)
    assert (reply.body, reply.first_token_ms) == (body, None)


async def test_an_error_before_the_stream_is_plain_json() -> None:
    body = {"error": {"message": "no such model"}}
    async with serving([json.dumps(body).encode()], "application/json", status=404) as (url, _):
        with pytest.raises(TransportError, match="no such model") as caught:
            await send(url)
    assert caught.value.code == "not_found"
    async with serving([json.dumps(body).encode()], "application/json") as (url, _):
        with pytest.raises(TransportError, match="no such model"):
            await send(url)


async def test_json_lines() -> None:
    lines = [{"message": {"content": "H"}, "done": False}, {"message": {"content": "i"}, "done": True}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    async with serving([text.encode()], "application/x-ndjson") as (url, _):
        reply = await send(url, "ollama_chat")
    assert reply.body["message"]["content"] == "Hi"


async def test_the_query_of_a_streamed_path_reaches_the_server() -> None:
    event = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]
    }
    async with serving([sse(event, done=False).encode()]) as (url, seen):
        reply = await send(url, "generate_content")
    assert seen == ["POST /v1/models/m-1:streamGenerateContent?alt=sse HTTP/1.1"]
    assert reply.body["candidates"][0]["content"]["parts"] == [{"text": "Hi"}]


async def test_a_key_is_hidden_in_what_is_kept_and_never_before_it_is_read() -> None:
    key = "sk-TEST-0123456789abcdef"
    text = sse(chunk({"content": f"The key is {key}."}, "stop")).encode()
    async with serving([text[:60], text[60:90], text[90:]]) as (url, _):
        reply = await send(url, key=key)
    assert key not in reply.text
    assert "[redacted]" in reply.text
    assert reply.body["choices"][0]["message"]["content"] == f"The key is {key}."


async def test_an_error_in_the_middle() -> None:
    error = await failure(
        [sse(chunk({"content": "H"}), {"error": {"message": "overloaded"}}, done=False).encode()]
    )
    assert (error.code, error.retryable, error.message) == ("error_in_stream", True, "overloaded")
    assert error.retries[0]["code"] == "error_in_stream"


async def test_an_end_without_the_mark() -> None:
    error = await failure([sse(chunk({"content": "H"}), done=False).encode()])
    assert (error.code, error.retryable) == ("incomplete_stream", True)


async def test_a_connection_lost_half_way() -> None:
    error = await failure([sse(chunk({"content": "H"}), done=False).encode()], end=b"")
    assert (error.code, error.retryable) == ("connection_lost", True)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_that_hangs_up_without_a_word_was_reached(stream: bool) -> None:
    """It is no dead server: the request may have been served, and the next attempt may well succeed."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        with pytest.raises(TransportError) as caught:
            await send(url, stream=stream)
    assert (caught.value.code, caught.value.retryable) == ("connection_lost", True)
    with pytest.raises(TransportError) as caught:
        await send(url, stream=stream)
    assert (caught.value.code, caught.value.retryable) == ("connect", True)


async def test_silence_in_the_middle() -> None:
    error = await failure([sse(chunk({"content": "H"}), done=False).encode(), 3.0], first_byte=0.3)
    assert (error.code, error.retryable) == ("timeout", True)


async def test_a_stream_that_drips_for_ever() -> None:
    drip: list[Part] = [b": keep-alive\n\n", 0.05] * 60
    error = await failure(drip, total=0.4, first_byte=5.0)
    assert (error.code, error.message) == ("timeout", "no complete reply in 0.4 s")


async def test_a_stream_without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_STREAM", 1000)
    error = await failure([b": filler\n" * 200])
    assert (error.code, error.retryable) == ("too_large", False)


async def repeated(
    times: int, work: Callable[[Transport, ModelConfig, Request], Awaitable[Response]], url: str
) -> list[Response]:
    request, player = ask("chat_completions", stream=True), replace(model("chat_completions"), base_url=url)
    async with Transport(Redactor([]), {}, {"tries": 2, "max_wait": 1.0}) as transport:
        return [await work(transport, player, request) for _ in range(times)]


@pytest.mark.parametrize("hang_up", [True, False])
async def test_a_server_that_hangs_up_after_each_stream(hang_up: bool) -> None:
    """llama.cpp closes a kept-alive connection after a streamed reply; the next request must not notice."""

    async def once(transport: Transport, player: ModelConfig, request: Request) -> Response:
        return await transport.send(player, adapter_for("chat_completions"), request)

    async with serving([TEXT.encode()], hang_up=hang_up) as (url, seen):
        started = time.monotonic()
        replies = await repeated(5, once, url)
        assert time.monotonic() - started < 1.5
    assert len(seen) == 5
    contents: list[Any] = [reply.body["choices"][0]["message"]["content"] for reply in replies]
    assert contents == ["Hi \u2028 there"] * 5
