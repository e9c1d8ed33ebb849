"""Can the configured models be called? One cheap request each; nothing is generated, no key is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from toolbench.adapters import adapter_for
from toolbench.adapters.faults import classify
from toolbench.domain.canonical import StrictJSONError, loads_strict
from toolbench.domain.config import Config, ModelConfig, public_url
from toolbench.domain.files import read_json
from toolbench.errors import ConfigError, ServingError
from toolbench.running.redaction import credentials, extra_headers, key_of, redactor_for

LISTING: Mapping[str, str] = {"ollama_chat": "/tags"}
"""Path that lists models, by protocol; ``/models`` everywhere else."""

PATIENCE = 10.0
"""Seconds a server may take in all."""

LARGEST_LIST = 4_000_000
"""Bytes of a list of models that are read at most."""


@dataclass(frozen=True)
class Probe:
    """What is known about one entry of the configuration.

    ``usable`` is whether a run could start; ``state`` says in one line why or why not, ``gates`` lists
    declared capabilities.
    """

    provider: str
    model: str
    protocol: str
    address: str
    usable: bool
    state: str
    gates: str


async def probe(path: Path) -> list[Probe]:
    """Check every entry of a configuration by itself, so that one wrong entry does not hide the others.

    Raises
    ------
    ConfigError
        When the file as a whole cannot be used.
    """
    data = read_json(path, error=ConfigError)
    entries = data.get("runs") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigError(f"{path}: runs: a list of models is needed")
    rest = {key: value for key, value in data.items() if key != "runs"}
    async with httpx.AsyncClient(timeout=PATIENCE, follow_redirects=False) as client:
        checks = (_entry(client, entry, rest, str(path), index) for index, entry in enumerate(entries))
        return list(await asyncio.gather(*checks))


async def _entry(
    client: httpx.AsyncClient, entry: Mapping[str, Any], rest: Mapping[str, Any], where: str, index: int
) -> Probe:
    try:
        (model,) = Config.from_json({**rest, "runs": [entry], "baselines": []}, where).runs
        state = await _state(client, model)
    except (ConfigError, ServingError) as fault:
        names = {name: str(entry.get(name, "?")) for name in ("provider", "model", "protocol")}
        address = public_url(str(entry.get("base_url", "?")))
        # Checked alone, the entry was the first; the reader counts in the file.
        state = str(fault).replace("runs[0]", f"runs[{index}]")
        return Probe(**names, address=address, usable=False, state=state, gates="")
    gates = ", ".join(f"{name} {value}" for name, value in sorted(model.capabilities.items()))
    usable = state is None
    shown = state or "ready"
    return Probe(
        model.provider, model.model, model.protocol, public_url(model.base_url), usable, shown, gates
    )


async def _state(client: httpx.AsyncClient, model: ModelConfig) -> str | None:
    """Return what stands in the way, or ``None``."""
    adapter = adapter_for(model.protocol)
    if model.kind == "embedded":
        from toolbench.local.weights import resolve

        resolve(model.weights)
        return None
    key = key_of(model)
    headers = {**(adapter.auth_headers(key) if key else {}), **extra_headers(model)}
    redact = redactor_for(Config(runs=(model,)))
    url = httpx.URL(model.base_url).copy_with(userinfo=b"")
    url = url.copy_with(path=url.path.rstrip("/") + LISTING.get(model.protocol, "/models"))
    login = credentials(model.base_url)
    try:
        async with (
            asyncio.timeout(PATIENCE),
            client.stream("GET", url, headers=headers, auth=login) as response,
        ):
            text = redact(await _bounded(response))
    except (httpx.HTTPError, TimeoutError, OSError, ValueError, OverflowError, httpx.InvalidURL) as fault:
        reason = " ".join(str(fault).split()) or type(fault).__name__
        return f"no answer from {public_url(model.base_url)}: {redact(reason)}"
    if response.status_code in (404, 405, 501):
        return None  # The server is there and has no list of models; nothing more can be learnt cheaply.
    if not response.is_success:
        return classify(response.status_code, redact.headers(response.headers), text).message
    return _listed(text, model)


async def _bounded(response: httpx.Response) -> str:
    """Return a reply's text, as much of it as a list of models can need."""
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) > LARGEST_LIST:
            raise ValueError(f"the list of models is longer than {LARGEST_LIST} bytes")
    return read.decode("utf-8", "replace")


def _listed(text: str, model: ModelConfig) -> str | None:
    try:
        body = loads_strict(text)
    except StrictJSONError:
        return "the address answers, but not with JSON: is the API version missing in base_url?"
    names = _names(body)
    if names and not any(model.model == name or name.endswith(f"/{model.model}") for name in names):
        shown = ", ".join(name[:80] for name in names[:5]) + (" …" if len(names) > 5 else "")
        return f"the server does not list {model.model!r}; it has {shown}"
    return None


def _names(body: object) -> Sequence[str]:
    if not isinstance(body, dict):
        return []
    listed = body.get("data") or body.get("models") or []
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return [str(entry.get("id") or entry.get("name") or entry.get("model")) for entry in entries]
