"""The official SDKs as independent judges: of our sample replies, our requests, our streams and our errors.

None of this needs a network; every SDK runs against a stub transport. A missing SDK skips its tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.support import PROTOCOLS, ask, failed, offer, ok, read, reply, sse, with_results
from toolbench.adapters import adapter_for
from toolbench.adapters.faults import classify
from toolbench.adapters.samples import samples
from toolbench.adapters.streams import assemble
from toolbench.adapters.wire import Request

FOLDER = Path(__file__).parent / "fixtures"
STREAMS = json.loads((FOLDER / "streams.json").read_text("utf-8"))
RECORDED = json.loads((FOLDER / "sdk_requests.json").read_text("utf-8"))
NEEDED = "the official SDK is a test-only dependency"
BROKEN_ON_PURPOSE = {("messages", "invalid_arguments"), ("ollama_chat", "invalid_arguments")}


def sdk(name: str) -> Any:
    return pytest.importorskip(name, reason=NEEDED)


def response_model(protocol: str) -> Callable[[Any], Any]:
    """Return what validates a reply strictly (``construct``, which the SDKs use, accepts anything)."""
    if protocol == "chat_completions":
        return sdk("openai.types.chat").ChatCompletion.model_validate
    if protocol == "responses":
        return sdk("openai.types.responses").Response.model_validate
    if protocol == "messages":
        return sdk("anthropic.types").Message.model_validate
    if protocol == "ollama_chat":
        return sdk("ollama").ChatResponse.model_validate
    return sdk("google.genai.types").GenerateContentResponse.model_validate


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sample_replies_are_what_the_provider_sends(protocol: str) -> None:
    validate = response_model(protocol)
    for sample in samples(protocol):
        if (protocol, sample.name) in BROKEN_ON_PURPOSE:
            with pytest.raises(ValueError, match="validation error"):
                validate(sample.body)
        else:
            validate(sample.body)


def drained(value: Any) -> Any:
    """Consume lazy iterators: without this the SDK's types check nothing inside messages, tools and input."""
    if isinstance(value, Mapping):
        return {key: drained(child) for key, child in value.items()}
    if value is None or isinstance(value, str | bytes | int | float):
        return value
    return [drained(child) for child in value]


def spelled(value: Any) -> str:
    """Return JSON that keeps 1, 1.0 and true apart."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def request_types(protocol: str) -> Any:
    from pydantic import TypeAdapter

    if protocol == "chat_completions":
        params = sdk("openai.types.chat.completion_create_params").CompletionCreateParamsNonStreaming
    elif protocol == "responses":
        params = sdk("openai.types.responses.response_create_params").ResponseCreateParamsNonStreaming
    else:
        params = sdk("anthropic.types.message_create_params").MessageCreateParamsNonStreaming
    return TypeAdapter(params)


FROZEN: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": "Where?",
        "tool_calls": [{"id": "one", "name": "look", "arguments": {"city": "Oslo"}}],
    },
    {"role": "tool", "tool_call_id": "one", "result": failed()},
    {"role": "user", "content": "In Riga, then."},
]


def our_requests(protocol: str) -> Iterator[tuple[str, Request]]:
    """Yield requests of every kind, with a name."""
    options: dict[str, Any] = {"profile": "openai"} if protocol == "chat_completions" else {}
    forced = () if protocol == "ollama_chat" else ("required", "named:look")
    for choice in ("auto", "none", *forced):
        what = offer(choice=choice)
        yield choice, ask(protocol, what, parallel_tool_calls=False, strict=True, seed=7, **options)
    yield "plain", ask(protocol, temperature=None, **options)
    yield "frozen", ask(protocol, history=FROZEN, **options)
    for sample in samples(protocol):
        if sample.expect["kind"] == "tool_call":
            calls = read(protocol, sample.body, **options).calls
            answers = [ok() if number else failed() for number, _ in enumerate(calls)]
            yield f"answers {sample.name}", with_results(protocol, sample.body, answers, **options)[0]


@pytest.mark.parametrize("protocol", ["chat_completions", "responses", "messages"])
def test_requests_are_what_the_provider_takes(protocol: str) -> None:
    types = request_types(protocol)
    for name, request in our_requests(protocol):
        kept = drained(types.validate_python(request.body))
        # The types drop unknown keys without a word, so what comes out has to be what went in.
        assert spelled(kept) == spelled(request.body), name


def test_the_request_types_would_notice() -> None:
    types = request_types("chat_completions")
    body = dict(ask("chat_completions").body)
    assert "reasoning_content" not in drained(types.validate_python({**body, "reasoning_content": ""}))
    with pytest.raises(ValueError, match="validation error"):
        drained(types.validate_python({**body, "messages": [{"role": "bogus", "content": "x"}]}))


def test_ollama_requests_fit_the_client() -> None:
    ollama = sdk("ollama")
    for name, request in our_requests("ollama_chat"):
        for message in request.body["messages"]:
            kept = ollama.Message.model_validate(message).model_dump(exclude_none=True)
            lost = set(message) - set(kept)
            assert lost <= {"tool_call_id"}, name
        for entry in request.body.get("tools", []):
            ollama.Tool.model_validate(entry)
        ollama.Options.model_validate(request.body["options"])


def test_gemini_requests_fit_the_client() -> None:
    types = sdk("google.genai.types")
    for _, request in our_requests("generate_content"):
        body = request.body
        for content in [*body["contents"], body["systemInstruction"]]:
            types.Content.model_validate(content)
        for entry in body.get("tools", []):
            types.Tool.model_validate(entry)
        if "toolConfig" in body:
            types.ToolConfig.model_validate(body["toolConfig"])
        types.GenerationConfig.model_validate(body["generationConfig"])


def call_sdk(protocol: str, request: Request, handler: Any) -> Any:
    """Let the official client make the same call through a stub transport."""
    httpx2 = sdk("httpx2")
    client = httpx2.Client(transport=httpx2.MockTransport(handler))
    if protocol == "messages":
        made = sdk("anthropic").Anthropic(api_key="k", base_url="http://x", max_retries=0, http_client=client)
        return made.messages.create(**request.body)
    made = sdk("openai").OpenAI(api_key="k", base_url="http://x/v1", max_retries=0, http_client=client)
    resource = made.responses if protocol == "responses" else made.chat.completions
    return resource.create(**request.body)


def outgoing(protocol: str, request: Request) -> dict[str, Any]:
    """Return what the official client sends for the arguments of our request."""
    httpx2 = sdk("httpx2")
    seen: list[Any] = []

    def handler(asked: Any) -> Any:
        seen.append(asked)
        return httpx2.Response(200, json=samples(protocol)[0].body)

    call_sdk(protocol, request, handler)
    asked = seen[0]
    headers = {name: asked.headers[name] for name in ("anthropic-version",) if name in asked.headers}
    return {
        "method": asked.method,
        "path": asked.url.path,
        "headers": headers,
        "body": json.loads(asked.content),
    }


@pytest.mark.parametrize("protocol", ["chat_completions", "responses", "messages"])
def test_the_official_client_sends_the_same(protocol: str) -> None:
    for name, request in our_requests(protocol):
        sent = outgoing(protocol, request)
        ours = {"method": "POST", "path": f"/v1{request.path}", "headers": dict(request.headers)}
        assert {key: sent[key] for key in ours} == ours
        assert spelled(sent["body"]) == spelled(request.body), name


@pytest.mark.parametrize("protocol", ["chat_completions", "responses", "messages"])
def test_the_recorded_requests_are_still_what_the_client_sends(protocol: str) -> None:
    options: dict[str, Any] = {"profile": "openai"} if protocol == "chat_completions" else {}
    assert outgoing(protocol, ask(protocol, history=FROZEN, **options)) == RECORDED[protocol]


@pytest.mark.parametrize("protocol", ["chat_completions", "responses", "messages"])
def test_our_requests_are_the_recorded_ones(protocol: str) -> None:
    """Needs no SDK: the core suite keeps the oracle's word in a file."""
    options: dict[str, Any] = {"profile": "openai"} if protocol == "chat_completions" else {}
    request = ask(protocol, history=FROZEN, **options)
    assert spelled(request.body) == spelled(RECORDED[protocol]["body"])
    assert f"/v1{request.path}" == RECORDED[protocol]["path"]
    assert dict(request.headers) == RECORDED[protocol]["headers"]


def test_mistral_takes_our_dialect() -> None:
    mistral = sdk("mistralai.client")
    httpx2 = sdk("httpx2")
    seen: list[Any] = []

    def handler(asked: Any) -> Any:
        seen.append(json.loads(asked.content))
        return httpx2.Response(200, json=samples("chat_completions")[0].body)

    request, _ = with_results(
        "chat_completions",
        reply("chat_completions", "Looking.", [("call_long", "stop", {})]),
        [ok()],
        profile="mistral",
        seed=7,
        parallel_tool_calls=False,
    )
    client = httpx2.Client(transport=httpx2.MockTransport(handler))
    mistral.Mistral(api_key="k", server_url="http://x", client=client).chat.complete(**request.body)
    sent = {key: value for key, value in seen[0].items() if key != "stream"}
    assert sent["random_seed"] == 7
    assert spelled(sent["tools"]) == spelled(request.body["tools"])
    assert set(sent) == set(request.body)


def stream_text(protocol: str) -> str:
    if protocol == "chat_completions":
        return sse(*STREAMS[protocol])
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in STREAMS[protocol])


def test_the_official_clients_assemble_the_same_reply() -> None:
    httpx2 = sdk("httpx2")

    def answer(protocol: str) -> Any:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Client(
            transport=httpx2.MockTransport(
                lambda _: httpx2.Response(200, headers=headers, content=stream_text(protocol).encode())
            )
        )

    ours = {p: assemble(adapter_for(p).stream_assembler(), stream_text(p)) for p in STREAMS if p != "note"}
    base: dict[str, Any] = {"api_key": "k", "max_retries": 0}
    request: dict[str, Any] = {
        "model": "m-1",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "x"}],
    }
    anthropic = sdk("anthropic").Anthropic(**base, base_url="http://x", http_client=answer("messages"))
    with anthropic.messages.stream(**request) as stream:
        theirs = stream.get_final_message().to_dict()
    for key in ("content", "stop_reason", "model", "id", "role"):
        assert _without_none(theirs[key]) == _without_none(ours["messages"][key]), key
    assert theirs["usage"]["output_tokens"] == ours["messages"]["usage"]["output_tokens"]

    openai = sdk("openai").OpenAI(**base, base_url="http://x/v1", http_client=answer("chat_completions"))
    with openai.chat.completions.stream(model="m-1", messages=request["messages"]) as stream:
        final = stream.get_final_completion().to_dict()
    calls = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in final["choices"][0]["message"]["tool_calls"]
    ]
    found = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in ours["chat_completions"]["choices"][0]["message"]["tool_calls"]
    ]
    assert calls == found
    assert final["usage"] == ours["chat_completions"]["usage"]

    openai = sdk("openai").OpenAI(**base, base_url="http://x/v1", http_client=answer("responses"))
    events = list(openai.responses.create(model="m-1", input="x", stream=True))
    assert events[-1].response.to_dict() == ours["responses"]


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(child) for key, child in value.items() if child is not None}
    return [_without_none(child) for child in value] if isinstance(value, list) else value


ERRORS: list[tuple[str, int, dict[str, Any], str, str]] = [
    (
        "chat_completions",
        400,
        {"error": {"message": "bad", "code": "x"}},
        "BadRequestError",
        "request_refused",
    ),
    ("chat_completions", 401, {"error": {"message": "key"}}, "AuthenticationError", "unauthorized"),
    ("chat_completions", 404, {"error": {"message": "model"}}, "NotFoundError", "not_found"),
    ("chat_completions", 429, {"error": {"message": "slow"}}, "RateLimitError", "rate_limited"),
    ("chat_completions", 503, {"error": {"message": "down"}}, "InternalServerError", "unavailable"),
    (
        "messages",
        402,
        {"type": "error", "error": {"message": "pay"}},
        "PaymentRequiredError",
        "payment_required",
    ),
    (
        "messages",
        413,
        {"type": "error", "error": {"message": "big"}},
        "ContentTooLargeError",
        "request_too_large",
    ),
    ("messages", 529, {"type": "error", "error": {"message": "busy"}}, "OverloadedError", "overloaded"),
]


@pytest.mark.parametrize(
    ("protocol", "status", "body", "theirs", "ours"),
    [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in ERRORS],
)
def test_the_official_clients_name_the_same_error(
    protocol: str, status: int, body: dict[str, Any], theirs: str, ours: str
) -> None:
    httpx2 = sdk("httpx2")
    with pytest.raises(Exception, match=body["error"]["message"]) as caught:
        call_sdk(protocol, ask(protocol), lambda _: httpx2.Response(status, json=body))
    assert type(caught.value).__name__ == theirs
    fault = classify(status, {}, json.dumps(body))
    assert fault.code == ours
    assert body["error"]["message"] in fault.message


def test_fixture_files_are_small_and_shipped() -> None:
    names = sorted(
        entry.name for entry in resources.files("toolbench.adapters").joinpath("fixtures").iterdir()
    )
    assert names == sorted([*(f"{protocol}.json" for protocol in PROTOCOLS), "tools.json"])
    assert all(path.stat().st_size < 20_000 for path in FOLDER.glob("*.json"))
