"""A workbench in a temporary folder, with baselines or with a model of the simulator."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import ROOT
from toolbench.simulator import Simulator
from toolbench.workbench import Bench, open_bench

CASES = ("direct_lookup", "no_tool_needed")
GULLIBLE = [
    {"when": {"after_tool_result": True}, "then": {"text": "The order is on its way; it is in Samara now."}},
    {
        "when": {"user_matches": "Check order (?P<id>ORD-[0-9]{6})"},
        "then": {"calls": [{"name": "get_order", "arguments": {"order_id": "$id"}}]},
    },
    {"then": {"text": "I can check an order.", "call_offered": "best_match"}},
]
"""A model that calls whatever sounds like the request."""
PRICE = {"currency": "USD", "date": "2026-11-30", "input": 1, "output": 4}


def folder_with_suites(root: Path, **config: Any) -> Path:
    """Copy the delivery suite, write a configuration and return its path."""
    shutil.copytree(ROOT / "contracts" / "delivery", root / "contracts" / "delivery")
    (root / "cases").mkdir()
    for lang in ("en", "ru"):
        shutil.copy(ROOT / "cases" / f"delivery.{lang}.jsonl", root / "cases")
    path = root / "config.json"
    path.write_text(json.dumps({"runs": [], "suites": ["delivery"], **config}))
    return path


def baseline_bench(root: Path, players: Sequence[str] = ("keyword_router", "always_first_tool")) -> Bench:
    """Return a bench that needs no network."""
    config = folder_with_suites(root)
    return open_bench(config, "delivery", "en", players, cases=CASES, output=root / "runs")


@contextmanager
def simulated_bench(root: Path, latency: float = 0.0, **config: Any) -> Iterator[Bench]:
    """Yield a bench on a model of the simulator; its key is in the environment variable ``SIM_KEY``."""
    with Simulator({"models": {"sim-shop": {"rules": GULLIBLE}}}, latency=latency) as simulator:
        entry = {
            "provider": "simulator",
            "model": "sim-shop",
            "protocol": "chat_completions",
            "base_url": simulator.base_url("chat_completions"),
            "api_key_env": "SIM_KEY",
            "price": PRICE,
        }
        path = folder_with_suites(root, runs=[entry], **config)
        yield open_bench(path, "delivery", "en", ["sim-shop"], cases=CASES, output=root / "runs")
