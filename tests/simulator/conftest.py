"""A running simulator and a plain client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.simulator.simulator_bodies import HEADERS, SCRIPT, URLS, Post, first_turn
from toolbench.simulator import Simulator


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with Simulator(SCRIPT) as running:
        yield running


@pytest.fixture(scope="module")
def client(sim: Simulator) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=sim.url, headers=HEADERS, timeout=10, trust_env=False) as opened:
        yield opened


@pytest.fixture
def post(client: httpx.Client) -> Post:
    """A function that sends a body (or a first turn made from keywords) to a protocol."""

    def send(
        protocol: str,
        body: dict[str, Any] | None = None,
        model: str | None = None,
        headers: dict[str, str] | None = None,
        **changes: Any,
    ) -> httpx.Response:
        content = first_turn(protocol, model=model, **changes) if body is None else body | changes
        url = URLS[protocol].format(model=model or "sim-gemini")
        return client.post(url, json=content, headers=headers)

    return send
