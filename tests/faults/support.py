"""Runs against the simulator, with every failure it knows, and what became of each attempt."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from zlib import crc32

from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.numbers.definitions import UNSCORED
from toolbench.numbers.frames import load_run
from toolbench.numbers.metrics import metrics
from toolbench.running.runner import run_matrix_sync
from toolbench.simulator import Simulator

FAULTS: tuple[str, ...] = tuple(
    json.loads(resources.files("toolbench.simulator").joinpath("faults.json").read_text("utf-8"))
)
SLOW = ("hang", "slow_drip")
"""Faults that only a timeout ends."""

IN_BATCHES = tuple(fault for fault in FAULTS if fault.startswith("batch_"))
"""Faults that only a batch can have."""

HARMLESS = ("ok", "200", "keep_alive", *IN_BATCHES)
"""Faults after which there is a reply all the same."""

FAMILIES: Mapping[str, Mapping[str, str]] = {
    "chat_completions": {"model": "sim-openai", "profile": "openai"},
    "responses": {"model": "sim-openai"},
    "messages": {"model": "sim-claude"},
    "ollama_chat": {"model": "sim-ollama"},
    "generate_content": {"model": "sim-gemini"},
}
"""Protocol → a simulated model of its family and the profile it is spoken to with."""

SCRIPT: dict[str, Any] = {
    "models": {},
    "rules": [
        {"when": {"after_tool_result": True}, "then": {"text": "It says: $result"}},
        {
            "when": {"user_matches": r"(?P<order>ORD-\d{6})", "tool_offered": "get_order"},
            "then": {"calls": [{"name": "get_order", "arguments": {"order_id": "$order"}}]},
        },
        {"then": {"call_offered": "best_match", "text": "What exactly do you want to know?"}},
    ],
}
"""Calls whenever it can, so that every conversation has a second request."""


def entry(
    sim: Simulator, protocol: str, fault: str = "", stream: bool = False, **more: Any
) -> dict[str, Any]:
    """Return a configuration's entry for a family, with a fault in its model's name.

    Every fault has a key of its own: models of one address and key share their pauses, and one that is always
    busy would slow down the others.
    """
    family = FAMILIES[protocol]
    variable = f"SIM_KEY_{crc32(fault.encode())}"
    os.environ[variable] = "any-key-will-do"
    return {
        "provider": "p",
        "protocol": protocol,
        "base_url": sim.base_url(protocol),
        "api_key_env": variable,
        "settings": {"stream": stream},
        **family,
        **more,
        "model": more.get("model", family["model"]) + (f"+{fault}" if fault else ""),
    }


def play(
    folder: Path, suites: Sequence[Suite], entries: Iterable[Mapping[str, Any]], **more: Any
) -> list[Attempt]:
    """Run a matrix of these entries and return its attempts."""
    config = {"runs": list(entries), "baselines": [], "repetitions": 1, "retries": QUICK, **more}
    run_matrix_sync(Config.from_json(config, "inline"), suites, folder)
    return list(RunLog.open(folder).attempts)


QUICK: Mapping[str, float] = {"tries": 2, "max_wait": 0.05, "patience": 0}


def accounted(folder: Path) -> dict[str, int]:
    """Return how many attempts were planned, scored, and not scored for each reason, over the whole run."""
    run = load_run(folder)
    table = metrics(run.attempts, (), run.planned)
    sizes = ["planned", "scored", *UNSCORED]
    return {size: int(table.loc[table["metric"] == size, "value"].sum()) for size in sizes}
