"""Spending limits of a run and of one attempt."""

from __future__ import annotations

import time
from collections.abc import Mapping

from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import Usage
from toolbench.domain.price import cost


class Budget:
    """Counts what a run spends: requests, tokens, money (where a price is known) and seconds."""

    def __init__(self, limits: Mapping[str, float]) -> None:
        self.limits = limits
        self.spent: dict[str, float] = {"requests": 0, "tokens": 0, "money": 0.0}
        self._started = time.monotonic()

    def request(self) -> None:
        """Count a request about to be sent."""
        self.spent["requests"] += 1

    def usage(self, model: ModelConfig, usage: Usage) -> None:
        """Count the tokens of a reply and, with a known price, their cost."""
        self.spent["tokens"] += (usage.input or 0) + (usage.output or 0)
        self.spent["money"] += cost(model.price, usage) or 0.0

    def reached(self) -> str | None:
        """Return which limit of the run is reached, as one phrase, or ``None``."""
        spent = {**self.spent, "seconds": time.monotonic() - self._started}
        for name, value in spent.items():
            if name in self.limits and value >= self.limits[name]:
                return f"budgets.{name} of {self.limits[name]:g} is spent"
        return None
