"""Sample replies of every protocol with the decision each has to become, shipped as data.

They prove at any time, without a network, that the adapters still read what they were made to read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from toolbench.adapters import adapter_for
from toolbench.adapters.wire import Offer, Request
from toolbench.domain.canonical import JSON, loads_strict
from toolbench.domain.config import ModelConfig, Settings
from toolbench.domain.contract import Contract

_LIMIT = 64


@dataclass(frozen=True)
class Sample:
    """One reply; ``expect`` holds the fields of the decision that matter."""

    protocol: str
    name: str
    body: Mapping[str, Any]
    expect: Mapping[str, JSON]


@cache
def samples(protocol: str) -> tuple[Sample, ...]:
    """Return the samples of a protocol."""
    entries = _read(f"{protocol}.json")["fixtures"]
    return tuple(Sample(protocol, entry["name"], entry["body"], entry["expect"]) for entry in entries)


def sample_offer() -> Offer:
    """Return the tools behind the samples."""
    contract = Contract.from_json(_read("tools.json"), "toolbench.adapters/fixtures/tools.json")
    return Offer(contract.tools, "en", {tool.name: tool.name for tool in contract.tools})


def sample_request(protocol: str) -> Request:
    """Return the request that the samples of a protocol answer."""
    model = ModelConfig(
        "fixture", "fixture-model", protocol, "http://localhost", settings=Settings(max_output_tokens=_LIMIT)
    )
    adapter = adapter_for(protocol)
    offer = sample_offer()
    history = adapter.start("You work in a library.", [{"role": "user", "content": "Hello"}], offer)
    return adapter.build_request(model, history, offer)


def mismatches(sample: Sample) -> list[str]:
    """Return one line for everything in which the decision is not the expected one."""
    request = sample_request(sample.protocol)
    decision = adapter_for(sample.protocol).parse_decision(sample.body, request, sample_offer())
    return list(_differences(sample.expect, decision.to_json(), "decision"))


def _differences(expected: JSON, actual: JSON, path: str) -> list[str]:
    """Compare what is expected: objects by the expected keys, lists item by item, all else by equality."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping) and not path.endswith(".arguments"):
        return [
            line for key in expected for line in _differences(expected[key], actual.get(key), f"{path}.{key}")
        ]
    if isinstance(expected, list) and isinstance(actual, Sequence) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [line for index, (a, b) in pairs for line in _differences(a, b, f"{path}[{index}]")]
    return [] if expected == actual else [f"{path}: expected {expected!r}, found {actual!r}"]


def _read(name: str) -> Any:
    text = resources.files("toolbench.adapters").joinpath(f"fixtures/{name}").read_text("utf-8")
    return loads_strict(text)
