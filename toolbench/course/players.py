"""Who plays: the simulator, the embedded model, or whatever the lesson's config cell names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from toolbench.course.words import data
from toolbench.domain.config import EMBEDDED, Config, ModelConfig, Settings
from toolbench.errors import ServingError
from toolbench.local import LocalServer, ensure
from toolbench.simulator import Simulator

SIMULATED = "simulator:"
SIMULATOR_KEY = "TOOLBENCH_SIMULATOR_KEY"
"""Environment variable with the simulator's key. It is no secret: any text will do, but one must be there."""
EMBEDDED_MODEL = "qwen2.5-coder-0.5b-instruct"
FREE = {"currency": "USD", "date": "2026-11-30", "input": 0, "output": 0}
"""What tokens of a model on this machine cost."""
RETRIES = {"tries": 2, "max_wait": 5, "patience": 0}
"""A student waits for a cell: an address that does not answer is given up soon."""
SIMULATED_PROVIDER = "simulator"


class Players:
    """The servers of one lesson, started when they are needed and stopped with it."""

    def __init__(self) -> None:
        os.environ.setdefault(SIMULATOR_KEY, "any-text-will-do")
        self._stack = ExitStack()
        self._embedded: ModelConfig | None = None
        self.simulator = self._stack.enter_context(Simulator(data("simulated")))

    def close(self) -> None:
        """Stop every server."""
        self._stack.close()

    def read(self, config: Mapping[str, Any]) -> ModelConfig:
        """Return what the config cell names, with an address that can be called.

        Raises
        ------
        ConfigError
            For an unknown field, a placeholder, or a key written into the cell.
        ServingError
            When the embedded model cannot be had.
        """
        entry = dict(config)
        if entry.get("base_url") == SIMULATED:
            protocol = str(entry.get("protocol"))
            known = {**entry, "base_url": "http://127.0.0.1/"}
            model = Config.from_json({"runs": [known]}, "config").runs[0]
            address = self.simulator.base_url(protocol)
            return replace(model, base_url=address, api_key_env=SIMULATOR_KEY)
        model = Config.from_json({"runs": [entry]}, "config").runs[0]
        return self._started(model) if model.kind == "embedded" else model

    def simulated(self, model: str, protocol: str, **changes: Any) -> ModelConfig:
        """Return a model of the simulator; its temperature is its own."""
        settings = Settings(temperature=None)
        address = self.simulator.base_url(protocol)
        return ModelConfig(
            SIMULATED_PROVIDER,
            model,
            protocol,
            address,
            api_key_env=SIMULATOR_KEY,
            settings=settings,
            **changes,
        )

    def embedded(self) -> ModelConfig:
        """Return the embedded model, served from the first time it is asked for; it may not ramble.

        Raises
        ------
        ServingError
            When it cannot be had.
        """
        if self._embedded is None:
            settings = Settings(max_output_tokens=120)
            model = ModelConfig("embedded", EMBEDDED_MODEL, "chat_completions", EMBEDDED, settings=settings)
            self._embedded = self._started(model)
        return self._embedded

    def _started(self, model: ModelConfig) -> ModelConfig:
        server = self._stack.enter_context(LocalServer(model.weights))
        profile = model.profile or "llama_cpp"
        return replace(
            model, base_url=server.base_url, model=server.model, profile=profile, price=model.price or FREE
        )


def embedded_here() -> bool:
    """Whether the embedded model can play without anything being fetched."""
    if find_spec("xllamacpp") is None:
        return False
    try:
        ensure(EMBEDDED_MODEL, progress=False, offline=True)
    except ServingError:
        return False
    return True


def is_scripted(provider: str) -> bool:
    """Whether a player's lines are written in advance."""
    return provider == SIMULATED_PROVIDER
