import base64
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support import MODEL, said
from toolbench.adapters import adapter_for
from toolbench.adapters.wire import Request
from toolbench.domain.config import Config, ModelConfig
from toolbench.errors import ConfigError, TransportError
from toolbench.running.redaction import REDACTED, Redactor, key_of, redactor_for
from toolbench.running.transport import Response, Transport

ADAPTER = adapter_for("chat_completions")
REQUEST = Request("/chat/completions", {"model": "m", "messages": []})
CANARY = "sk-TEST-0123456789abcdef"


async def send(
    handler: Any, model: ModelConfig = MODEL, redactor: Redactor | None = None, **options: Any
) -> Response:
    retries = {"tries": 3, "max_wait": 0.05, "patience": 0, **options}
    async with Transport(
        redactor or Redactor([]), retries=retries, transport=httpx.MockTransport(handler)
    ) as transport:
        return await transport.send(model, ADAPTER, REQUEST)


def failing(*replies: httpx.Response) -> tuple[Any, list[httpx.Request]]:
    waiting, seen = list(replies), []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return handler, seen


async def test_a_reply_is_kept_whole() -> None:
    handler, seen = failing(
        httpx.Response(200, json=said("hi"), headers={"x-request-id": "r1", "set-cookie": "c=1"})
    )
    reply = await send(handler)
    assert json.loads(reply.text) == reply.body == said("hi")
    assert reply.request_id == "r1"
    assert "set-cookie" not in reply.headers
    assert str(seen[0].url) == "http://127.0.0.1:9/v1/chat/completions"
    assert reply.retries == []


async def test_a_transient_error_is_tried_again_and_recorded() -> None:
    handler, seen = failing(
        httpx.Response(503, json={"error": {"message": "Loading model"}}),
        httpx.Response(200, json=said("hi")),
    )
    reply = await send(handler)
    assert len(seen) == 2
    assert [retry["code"] for retry in reply.retries] == ["unavailable"]
    assert reply.retries[0]["status"] == 503


@pytest.mark.parametrize(
    ("response", "code", "tries"),
    [
        pytest.param(
            httpx.Response(401, json={"error": {"message": "bad key"}}), "unauthorized", 1, id="401"
        ),
        pytest.param(httpx.Response(402, json={}), "payment_required", 1, id="402"),
        pytest.param(httpx.Response(404, text="nope"), "not_found", 1, id="404"),
        pytest.param(
            httpx.Response(429, json={"error": {"code": "insufficient_quota"}}),
            "quota_exhausted",
            1,
            id="429-quota",
        ),
        pytest.param(
            httpx.Response(429, json={"error": {"message": "slow down"}}), "rate_limited", 3, id="429"
        ),
        pytest.param(
            httpx.Response(429, headers={"retry-after": "999"}), "rate_limited", 1, id="429-asks-for-too-much"
        ),
        pytest.param(httpx.Response(500, text="oops"), "server_error", 3, id="500"),
        pytest.param(
            httpx.Response(502, text="<html><h1>Bad gateway</h1></html>"), "server_error", 3, id="html"
        ),
        pytest.param(
            httpx.Response(500, headers={"x-should-retry": "false"}),
            "server_error",
            1,
            id="told-not-to-retry",
        ),
        pytest.param(httpx.Response(200, text='{"id": "x", "cho'), "not_json", 3, id="cut-body"),
        pytest.param(
            httpx.Response(200, json={"error": {"message": "upstream"}}),
            "error_in_reply",
            3,
            id="error-under-200",
        ),
        pytest.param(httpx.Response(200, json=[1]), "not_an_object", 3, id="list-under-200"),
        pytest.param(
            httpx.Response(301, headers={"location": "http://elsewhere/"}), "redirected", 1, id="redirect"
        ),
    ],
)
async def test_each_failure_has_a_code_and_its_number_of_tries(
    response: httpx.Response, code: str, tries: int
) -> None:
    handler, seen = failing(response)
    with pytest.raises(TransportError) as error:
        await send(handler)
    assert error.value.code == code
    assert len(seen) == tries
    assert len(error.value.retries) == tries
    assert "<h1>" not in error.value.message


@pytest.mark.parametrize(
    "text",
    [
        'tool_choice: type "tool" and "any" are not supported for this model.',
        "Thinking mode does not support this tool_choice",
    ],
)
async def test_a_refused_setting_is_unsupported_not_a_failure_of_the_model(text: str) -> None:
    handler, _ = failing(httpx.Response(400, json={"error": {"message": text}}))
    with pytest.raises(TransportError) as error:
        await send(handler)
    assert error.value.unsupported
    assert error.value.code == "forced_choice_refused"


async def test_connection_errors_name_the_address_without_credentials() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"cannot reach {request.url}")

    model = ModelConfig("p", "m", "chat_completions", f"http://user:{CANARY}@127.0.0.1:9/v1?key={CANARY}")
    redactor = redactor_for(Config(runs=(model,)))
    with pytest.raises(TransportError) as error:
        await send(handler, model, redactor)
    assert error.value.code == "connect"
    assert "http://127.0.0.1:9" in str(error.value)
    assert CANARY not in str(error.value)


async def test_an_echoed_key_reaches_neither_record_nor_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", CANARY)
    model = ModelConfig("p", "m", "chat_completions", "http://127.0.0.1:9/v1", api_key_env="TEST_KEY")
    redactor = redactor_for(Config(runs=(model,)))
    handler, seen = failing(httpx.Response(200, json=said(f"Your key is {CANARY}")))
    reply = await send(handler, model, redactor)
    assert seen[0].headers["authorization"] == f"Bearer {CANARY}"
    assert CANARY not in reply.text
    assert CANARY in json.dumps(reply.body)
    handler, _ = failing(
        httpx.Response(401, json={"error": {"message": f"Incorrect API key provided: {CANARY}"}})
    )
    with pytest.raises(TransportError) as error:
        await send(handler, model, redactor)
    assert CANARY not in repr(error.value) + json.dumps(error.value.retries)
    assert REDACTED in error.value.message


@pytest.mark.parametrize(
    "form",
    [CANARY, quote(CANARY + "/+", safe=""), base64.b64encode((CANARY + "/+").encode()).decode()],
    ids=["plain", "quoted", "base64"],
)
def test_every_form_of_a_secret_is_found(form: str) -> None:
    assert "0123456789" not in Redactor([CANARY, CANARY + "/+"])(f"see {form} there")
    assert form not in Redactor([CANARY, CANARY + "/+"])(f"see {form} there")


def test_a_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(ConfigError, match="NOT_SET is not set"):
        key_of(ModelConfig("p", "m", "chat_completions", "http://x/v1", api_key_env="NOT_SET"))


async def test_retry_after_is_obeyed() -> None:
    handler, seen = failing(
        httpx.Response(429, headers={"retry-after-ms": "30"}), httpx.Response(200, json=said("hi"))
    )
    reply = await send(handler)
    assert len(seen) == 2
    assert reply.retries[0]["retry_after"] == pytest.approx(0.03)


def test_a_line_end_behind_a_key_does_not_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", CANARY + "\n")
    model = ModelConfig("p", "m", "chat_completions", "http://127.0.0.1:9/v1", api_key_env="TEST_KEY")
    assert key_of(model) == CANARY
    assert CANARY not in redactor_for(Config(runs=(model,)))(f"Incorrect API key: {CANARY}.")


@pytest.mark.parametrize("text", [r"AbC\/dEf+gH==secret99", "AbC/dEf+gH==secret99"], ids=["escaped", "plain"])
def test_a_key_escaped_by_json_is_found(text: str) -> None:
    assert "secret99" not in Redactor(["AbC/dEf+gH==secret99"])(text)


def test_the_part_behind_bearer_and_literal_header_values_are_secrets() -> None:
    model = ModelConfig(
        "p", "m", "chat_completions", "http://h/v1", headers={"X-Auth": "Bearer LITERAL-SECRET-1"}
    )
    assert "LITERAL" not in redactor_for(Config(runs=(model,)))("seen: LITERAL-SECRET-1")


async def test_ordinary_words_of_a_configuration_are_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "ollama")
    model = ModelConfig(
        "p",
        "m",
        "chat_completions",
        "http://h/v1?api-version=2026-01-01&user=choices",
        api_key_env="TEST_KEY",
        headers={"X-Title": "My choices bench", "User-Agent": "message"},
    )
    handler, seen = failing(httpx.Response(200, json=said("ollama chose a message")))
    reply = await send(handler, model, redactor_for(Config(runs=(model,))))
    assert json.loads(reply.text) == reply.body == said("ollama chose a message")
    assert seen[0].headers["x-title"] == "My choices bench"


async def test_configured_headers_override_whatever_their_case() -> None:
    model = ModelConfig(
        "p", "claude-x", "messages", "http://h/v1", headers={"Anthropic-Version": "2023-06-01", "X-A": None}
    )
    request = Request("/messages", {}, headers={"anthropic-version": "2026-10-21", "x-a": "1"})
    handler, seen = failing(httpx.Response(200, json={"content": [{"type": "text", "text": "hi"}]}))
    async with Transport(Redactor([]), transport=httpx.MockTransport(handler)) as transport:
        await transport.send(model, adapter_for("messages"), request)
    assert seen[0].headers.get_list("anthropic-version") == ["2023-06-01"]
    assert "x-a" not in seen[0].headers


def test_what_a_run_header_says_of_addresses_and_headers() -> None:
    model = ModelConfig(
        "p",
        "m",
        "chat_completions",
        "https://u:pw@h/v1?api-version=2026-01-01&api-key=abc123456",
        headers={"X-Title": "bench", "X-Api-Token": "literal-secret", "X-Env": "env:NAME", "Accept": None},
    )
    (run,) = Config(runs=(model,)).snapshot()["runs"]
    assert run["base_url"] == "https://h/v1?api-version=2026-01-01&api-key=[redacted]"
    assert run["headers"] == {
        "X-Title": "bench",
        "X-Api-Token": "[redacted]",
        "X-Env": "env:NAME",
        "Accept": None,
    }


async def test_a_turn_that_the_server_reports_as_an_error_is_a_reply() -> None:
    body = {"error": {"message": "Failed to parse tool call arguments as JSON"}}
    handler, seen = failing(httpx.Response(500, json=body))
    reply = await send(handler)
    assert (reply.status, reply.body, len(seen)) == (500, body, 1)


def test_a_dummy_key_that_everybody_can_read_spoils_no_record() -> None:
    assert Redactor(["ollama"], public='{"provider": "ollama"}')("ollama says hi") == "ollama says hi"


def test_a_key_that_no_header_can_carry_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "ключ-секретный")
    with pytest.raises(ConfigError, match="TEST_KEY holds characters") as error:
        key_of(ModelConfig("p", "m", "chat_completions", "http://x/v1", api_key_env="TEST_KEY"))
    assert "секрет" not in str(error.value)


async def test_credentials_in_an_address_become_a_header() -> None:
    handler, seen = failing(httpx.Response(200, json=said("hi")))
    await send(handler, ModelConfig("p", "m", "chat_completions", "http://user:pw123456@127.0.0.1:9/v1"))
    assert seen[0].headers["authorization"].startswith("Basic ")
    assert "pw123456" not in str(seen[0].url)


async def test_half_a_character_in_the_history_is_sent_escaped() -> None:
    handler, seen = failing(httpx.Response(200, json=said("hi")))
    async with Transport(Redactor([]), transport=httpx.MockTransport(handler)) as transport:
        await transport.send(MODEL, ADAPTER, Request("/chat/completions", {"messages": ["\ud800"]}))
    assert rb"\ud800" in seen[0].content


@pytest.mark.parametrize(
    "error", [ValueError, UnicodeError, OSError, RecursionError], ids=lambda e: e.__name__
)
async def test_whatever_breaks_while_sending_ends_one_attempt_only(error: type[Exception]) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise error(f"cannot read http://h/v1?key={CANARY}")

    with pytest.raises(TransportError) as raised:
        await send(handler)
    assert raised.value.code == "bad_exchange"
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms"])
async def test_a_wait_beyond_all_numbers_is_no_wait(header: str) -> None:
    handler, _ = failing(httpx.Response(429, headers={header: "9" * 400}))
    with pytest.raises(TransportError) as error:
        await send(handler)
    assert error.value.retry_after is None
    json.dumps(error.value.retries, allow_nan=False)


async def test_a_garbage_status_line_ends_one_attempt_only() -> None:
    import asyncio

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"garbage\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    model = ModelConfig("p", "m", "chat_completions", f"http://127.0.0.1:{port}/v1?k={CANARY}")
    async with server, Transport(redactor_for(Config(runs=(model,))), retries={"tries": 1}) as transport:
        with pytest.raises(TransportError) as error:
            await transport.send(model, ADAPTER, REQUEST)
    assert CANARY not in str(error.value) + repr(error.value.retries)
