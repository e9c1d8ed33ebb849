"""Can the configured models be called? One cheap request each; nothing is generated, no key is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from toolbench.adapters import adapter_for, classify, laid_over
from toolbench.adapters.listing import LISTINGS
from toolbench.adapters.profiles import dialect_of
from toolbench.domain.canonical import StrictJSONError, loads_strict
from toolbench.domain.config import Config, ModelConfig, public_url
from toolbench.domain.environment import LOOPBACK
from toolbench.domain.extensions import wire_of
from toolbench.domain.files import read_json
from toolbench.errors import ConfigError, ServingError
from toolbench.running.redaction import Redactor, credentials, extra_headers, key_of, redactor_for

PATIENCE = 10.0
"""Seconds a server may take in all."""

LARGEST_LIST = 4_000_000
"""Bytes of one page of a list of models that are read at most."""

MOST_PAGES = 50

NO_LIST = (404, 405, 501)
"""What a server answers that is there and has no list of models."""

READY = "ready"


@dataclass(frozen=True)
class Probe:
    """What is known about one entry of the configuration.

    ``usable`` is whether a run could start; ``state`` says in one line why or why not, ``capabilities`` lists
    declared capabilities.
    """

    provider: str
    model: str
    protocol: str
    address: str
    usable: bool
    state: str
    capabilities: str


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
    direct = dict.fromkeys(LOOPBACK)
    async with httpx.AsyncClient(timeout=PATIENCE, follow_redirects=False, mounts=direct) as client:
        checks = (_entry(client, entry, rest, str(path), index) for index, entry in enumerate(entries))
        return list(await asyncio.gather(*checks))


async def _entry(
    client: httpx.AsyncClient, entry: Mapping[str, Any], rest: Mapping[str, Any], where: str, index: int
) -> Probe:
    try:
        (model,) = Config.from_json({**rest, "runs": [entry], "baselines": []}, where).runs
        usable, state = await _state(client, model)
    except (ConfigError, ServingError) as fault:
        names = {name: str(entry.get(name, "?")) for name in ("provider", "model", "protocol")}
        address = public_url(str(entry.get("base_url", "?")))
        # Checked alone, the entry was the first; the reader counts in the file.
        state = str(fault).replace("runs[0]", f"runs[{index}]")
        return Probe(**names, address=address, usable=False, state=state, capabilities="")
    capabilities = ", ".join(f"{name} {value}" for name, value in sorted(model.capabilities.items()))
    return Probe(
        model.provider, model.model, model.protocol, public_url(model.base_url), usable, state, capabilities
    )


async def _state(client: httpx.AsyncClient, model: ModelConfig) -> tuple[bool, str]:
    """Return whether a run could start, and why or why not."""
    adapter, dialect = adapter_for(model.protocol), dialect_of(model)
    if model.kind == "scripted":
        return True, READY
    if model.kind == "embedded":
        from toolbench.local.weights import resolve

        resolve(model.weights)
        return True, READY
    key = key_of(model)
    headers = laid_over(dialect.headers, adapter.auth_headers(key) if key else {})
    headers = laid_over(headers, extra_headers(model))
    redact = redactor_for(Config(runs=(model,)))
    try:
        async with asyncio.timeout(PATIENCE):
            return await _listed(client, model, headers, redact)
    except (httpx.HTTPError, TimeoutError, OSError, ValueError, OverflowError, httpx.InvalidURL) as fault:
        reason = " ".join(str(fault).split()) or type(fault).__name__
        return False, f"no answer from {public_url(model.base_url)}: {redact(reason)}"


async def _listed(
    client: httpx.AsyncClient, model: ModelConfig, headers: dict[str, str], redact: Redactor
) -> tuple[bool, str]:
    """Follow the list of models until the configured one is found."""
    listing = LISTINGS[wire_of(model.protocol)]
    url = httpx.URL(model.base_url).copy_with(userinfo=b"")
    url = url.copy_with(path=url.path.rstrip("/") + listing.path)
    names: list[str] = []
    query: dict[str, str] | None = dict(listing.query)
    asked: list[dict[str, str]] = []
    while query is not None and query not in asked and len(asked) < MOST_PAGES:
        asked.append(query)
        page = url.copy_merge_params(query) if query else url
        login = credentials(model.base_url)
        async with client.stream("GET", page, headers=headers, auth=login) as response:
            text = await _bounded(response)
        if response.status_code in NO_LIST:
            return True, "the server answers and has no list of models; whether it has this one is not known"
        if not response.is_success:
            refusal = classify(response.status_code, redact.headers(response.headers), text)
            return False, redact(refusal.message)
        try:
            body = loads_strict(text)
        except StrictJSONError:
            return False, "the address answers, but not with JSON: is the API version missing in base_url?"
        told = body if isinstance(body, dict) else {}
        names += listing.names(told)
        if any(listing.matches(name, model.model) for name in names):
            return True, READY
        query = listing.following(told)
    if not names:
        return True, "the server answers and lists no models; whether it has this one is not known"
    shown = ", ".join(name[:80] for name in names[:5]) + (" …" if len(names) > 5 else "")
    return False, f"the server does not list {model.model!r}; it has {shown}"


async def _bounded(response: httpx.Response) -> str:
    """Return a reply's text, as much of it as a list of models can need."""
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) > LARGEST_LIST:
            raise ValueError(f"the list of models is longer than {LARGEST_LIST} bytes")
    return read.decode("utf-8", "replace")
