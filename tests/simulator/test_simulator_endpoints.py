"""Tokens counted without a reply, and models told one by one and in pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.simulator.simulator_bodies import Post, first_turn
from toolbench.simulator import Simulator
from toolbench.simulator.facts import facts

COUNT_URLS = {
    "messages": "/v1/messages/count_tokens",
    "responses": "/v1/responses/input_tokens",
    "generate_content": "/v1beta/models/sim-gemini:countTokens",
}
COUNTED = {
    "messages": lambda count, reply: (count["input_tokens"], reply["usage"]["input_tokens"]),
    "responses": lambda count, reply: (count["input_tokens"], reply["usage"]["input_tokens"]),
    "generate_content": lambda count, reply: (
        count["totalTokens"],
        reply["usageMetadata"]["promptTokenCount"],
    ),
}
NOT_COUNTED = {"messages": ("max_tokens",), "responses": ("store",), "generate_content": ("tools",)}
"""Protocol -> fields of the first turn that only a request for a reply may hold."""

MANY = {"models": {f"sim-many-{number:02}": {"like": "sim-echo"} for number in range(70)}}

ANTHROPIC = {"anthropic-version": "2026-10-21", "x-api-key": "k"}
GOOGLE = {"x-goog-api-key": "k"}
OPENAI = {"authorization": "Bearer k"}


@pytest.fixture(scope="module")
def many() -> Iterator[httpx.Client]:
    with Simulator(MANY) as sim, httpx.Client(base_url=sim.url, timeout=10, trust_env=False) as client:
        yield client


@pytest.mark.parametrize("protocol", COUNT_URLS)
def test_a_count_is_what_the_reply_would_tell(client: httpx.Client, post: Post, protocol: str) -> None:
    body = {key: value for key, value in first_turn(protocol).items() if key not in NOT_COUNTED[protocol]}
    counted = client.post(COUNT_URLS[protocol], json=body)
    assert counted.status_code == 200, counted.text
    found, told = COUNTED[protocol](counted.json(), post(protocol).json())
    assert found == told > 0


@pytest.mark.parametrize("protocol", COUNT_URLS)
def test_a_count_refuses_what_belongs_to_a_reply(client: httpx.Client, protocol: str) -> None:
    refused = client.post(COUNT_URLS[protocol], json=first_turn(protocol))
    assert refused.status_code == 400
    assert NOT_COUNTED[protocol][0] in refused.text


def test_a_count_refuses_what_a_reply_would_refuse(client: httpx.Client) -> None:
    body = {"model": "sim-claude-no-forced", "messages": [{"role": "user", "content": "hi"}]}
    tools = first_turn("messages")["tools"]
    forced = client.post(
        COUNT_URLS["messages"], json={**body, "tools": tools, "tool_choice": {"type": "any"}}
    )
    assert (forced.status_code, forced.json()["error"]["type"]) == (400, "invalid_request_error")


def test_gemini_counts_a_request_that_is_wrapped_whole(client: httpx.Client) -> None:
    inner = {"model": "models/sim-gemini", **first_turn("generate_content")}
    url = COUNT_URLS["generate_content"]
    bare = client.post(url, json={"contents": inner["contents"]}).json()
    assert client.post(url, json={"generateContentRequest": inner}).json() == bare


@pytest.mark.parametrize(
    ("method", "path", "headers", "key"),
    [
        ("GET", "/v1/models/sim-echo", OPENAI, "id"),
        ("GET", "/models/sim-deepseek", OPENAI, "id"),
        ("GET", "/v1/models/sim-echo", ANTHROPIC, "id"),
        ("GET", "/v1beta/models/sim-echo", GOOGLE, "name"),
        ("POST", "/api/show", {}, "capabilities"),
    ],
    ids=["openai", "deepseek at the root", "anthropic", "gemini", "ollama"],
)
def test_one_model(sim: Simulator, method: str, path: str, headers: dict[str, str], key: str) -> None:
    found = httpx.request(
        method, sim.url + path, headers=headers, json={"model": "sim-echo"}, trust_env=False
    )
    assert found.status_code == 200, found.text
    assert key in found.json()
    missing = httpx.request(
        method, sim.url + path.replace("sim-", "no-"), headers=headers, json={"model": "no"}, trust_env=False
    )
    assert (missing.status_code, "error" in missing.json()) == (404, True)


def test_a_model_that_another_provider_serves_is_not_found(client: httpx.Client) -> None:
    assert client.get("/v1/models/sim-openai", headers=ANTHROPIC).status_code == 404


def all_of(client: httpx.Client, path: str, headers: dict[str, str], **query: Any) -> list[list[str]]:
    """Follow Anthropic's cursors forwards and return the ids of each page."""
    pages = []
    while True:
        page = client.get(path, headers=headers, params=query).json()
        pages.append([model["id"] for model in page["data"]])
        if not page["has_more"]:
            return pages
        query["after_id"] = page["last_id"]


def test_anthropic_lists_twenty_models_a_page(many: httpx.Client) -> None:
    pages = all_of(many, "/v1/models", ANTHROPIC)
    ids = [name for page in pages for name in page]
    assert [len(page) for page in pages[:-1]] == [20] * (len(pages) - 1)
    assert len({*ids}) == len(ids) > 70
    assert all_of(many, "/v1/models", ANTHROPIC, limit=1000) == [ids]


def test_anthropic_lists_backwards(many: httpx.Client) -> None:
    (ids,) = all_of(many, "/v1/models", ANTHROPIC, limit=1000)
    page = many.get("/v1/models", headers=ANTHROPIC, params={"before_id": ids[30], "limit": 5}).json()
    assert ([model["id"] for model in page["data"]], page["has_more"]) == (ids[25:30], True)
    first = many.get("/v1/models", headers=ANTHROPIC, params={"before_id": ids[2]}).json()
    assert ([model["id"] for model in first["data"]], first["has_more"]) == (ids[:2], False)


def test_gemini_lists_fifty_models_a_page(many: httpx.Client) -> None:
    first = many.get("/v1beta/models", headers=GOOGLE).json()
    token = first["nextPageToken"]
    rest = many.get("/v1beta/models", headers=GOOGLE, params={"pageToken": token}).json()
    names = [model["name"] for model in first["models"] + rest["models"]]
    assert (len(first["models"]), "nextPageToken" in rest, len({*names}) == len(names)) == (50, False, True)


@pytest.mark.parametrize(
    ("path", "headers", "query"),
    [
        ("/v1/models", ANTHROPIC, {"limit": "0"}),
        ("/v1/models", ANTHROPIC, {"limit": "1001"}),
        ("/v1/models", ANTHROPIC, {"after_id": "nobody"}),
        ("/v1beta/models", GOOGLE, {"pageSize": "many"}),
        ("/v1beta/models", GOOGLE, {"pageToken": "page-9999"}),
        ("/v1beta/models", GOOGLE, {"pageToken": "else"}),
    ],
)
def test_a_page_that_is_none_is_refused(
    many: httpx.Client, path: str, headers: dict[str, str], query: dict[str, str]
) -> None:
    assert many.get(path, headers=headers, params=query).status_code == 400


def test_every_looked_up_rule_has_its_source_and_date() -> None:
    for name, fact in facts().items():
        assert len(fact.says) > 20, name
        assert len(fact.source) > 10, name
        assert fact.date.startswith("202"), name
        assert fact.message or fact.values, name
