"""Spending limits of a run and of one attempt."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from toolbench.domain.config import ModelConfig
from toolbench.domain.decision import Usage
from toolbench.domain.log import RunLog
from toolbench.domain.price import cost


class Budget:
    """Counts what a run spends: requests, tokens, money (where a price is known) and seconds."""

    def __init__(self, limits: Mapping[str, float]) -> None:
        self.limits = limits
        self.spent: dict[str, float] = {"requests": 0, "tokens": 0, "money": 0.0}
        self._started = time.monotonic()

    def carry_over(self, log: RunLog, players: Sequence[ModelConfig]) -> None:
        """Count what earlier sessions of the same run have spent, tries that were made again included."""
        models = {model.key: model for model in players}
        begins = [log.header.started_at, *(resumed.at for resumed in log.resumed)]
        ends = list(begins)
        for last in log.attempts:
            for attempt in (*last.earlier, last):
                session = max(0, bisect_right(begins, attempt.started_at) - 1)
                ends[session] = max(ends[session], _later(attempt.started_at, attempt.seconds))
                model = models.get(attempt.key.player)
                if model is None or model.kind == "baseline":
                    continue
                self.spent["requests"] += len(attempt.turns) + (attempt.status == "transport_error")
                for turn in attempt.turns:
                    self.usage(model, turn.decision.usage)
        self._started -= sum(
            (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
            for begin, end in zip(begins, ends, strict=True)
        )

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


def _later(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
