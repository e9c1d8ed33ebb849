"""Spending limits of a run and of one attempt."""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from toolbench.adapters import Request, dialect_of
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.decision import Usage
from toolbench.domain.log import RunLog
from toolbench.domain.price import Tariff
from toolbench.errors import ConfigError


class Budget:
    """Counts what a run spends: requests, tokens, money (where a price is known) and seconds."""

    def __init__(self, limits: Mapping[str, float]) -> None:
        self.limits = limits
        self.spent: dict[str, float] = {"requests": 0, "tokens": 0, "money": 0.0}
        self._started = time.monotonic()

    @classmethod
    def of(cls, config: Config) -> Budget:
        """Return the budget of a run.

        Raises
        ------
        ConfigError
            When its money would be a sum over several currencies.
        """
        units = {unit for model in config.runs if (unit := _unit(model)) is not None}
        if "money" in config.budgets and len(units) > 1:
            raise ConfigError(
                f"budgets.money: the models are priced in {', '.join(sorted(units))}, which cannot be "
                "summed; give all prices in one currency or run them apart"
            )
        return cls(config.budgets)

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
                    self.usage(model, turn.decision.usage, turn.in_batch)
        self._started -= sum(
            (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
            for begin, end in zip(begins, ends, strict=True)
        )

    def request(self) -> None:
        """Count a request about to be sent."""
        self.spent["requests"] += 1

    def usage(self, model: ModelConfig, usage: Usage, batch: bool = False) -> None:
        """Count the tokens of a reply and, with a known price, their cost."""
        self.spent["tokens"] += (usage.input or 0) + (usage.output or 0)
        self.spent["money"] += self._cost(model, usage, batch)

    @contextmanager
    def expected(self, model: ModelConfig, request: Request) -> Iterator[None]:
        """Count what a request of a batch may come to, as long as nobody knows what it does.

        The estimate is a token every three bytes of the request, and all the output that it allows.
        """
        most = Usage(
            input=len(json.dumps(request.body, ensure_ascii=False).encode()) // 3,
            output=model.settings.max_output_tokens,
        )
        tokens, money = (most.input or 0) + (most.output or 0), self._cost(model, most, batch=True)
        self.spent["tokens"] += tokens
        self.spent["money"] += money
        try:
            yield
        finally:
            self.spent["tokens"] -= tokens
            self.spent["money"] -= money

    def _cost(self, model: ModelConfig, usage: Usage, batch: bool) -> float:
        return Tariff(model.price).cost(usage, batch) or 0.0 if _unit(model) else 0.0

    def reached(self) -> str | None:
        """Return which limit of the run is reached, as one phrase, or ``None``."""
        spent = {**self.spent, "seconds": time.monotonic() - self._started}
        for name, value in spent.items():
            if name in self.limits and value >= self.limits[name]:
                return f"budgets.{name} of {self.limits[name]:g} is spent"
        return None


def _unit(model: ModelConfig) -> str | None:
    """Return the currency in which the spend on a model is known."""
    if model.price is not None:
        return str(model.price["currency"])
    return dialect_of(model).cost_currency if model.kind == "http" else None


def _later(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
