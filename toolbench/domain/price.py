"""What a reply costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolbench.domain.canonical import sha256
from toolbench.domain.decision import Usage

CACHE_WRITE = 1.25
"""What a token written to a cache costs in input tokens, unless the price says otherwise; whose tariff that
is stands with the dialects, for others that bill writes it is an assumption."""

BATCH = 0.5
"""What a token costs through a batch endpoint, as a share of its price, unless the price says otherwise: the
published tariff of every provider whose batches are spoken, 2026-11-30; what expired or failed is free."""


def cost(price: Mapping[str, object] | None, usage: Usage, batch: bool = False) -> float | None:
    """Return the cost of one reply in the price's currency; ``None`` when price or counts are unknown.

    Prices are per million tokens. Tokens read from a cache and written to it are part of the input and cost
    ``cached_input`` and ``cache_write``; reasoning tokens are part of the output. Through a ``batch``
    endpoint all of this costs the share ``batch``.
    """
    if price is None or usage.input is None or usage.output is None:
        return None
    into, out = _amount(price, "input"), _amount(price, "output")
    if into is None or out is None:
        return None
    read, written = usage.cached_input or 0, usage.cache_write or 0
    cheap, dear = _amount(price, "cached_input"), _amount(price, "cache_write")
    share = _amount(price, "batch") if batch else 1.0
    whole = (
        (usage.input - read - written) * into
        + read * (into if cheap is None else cheap)
        + written * (into * CACHE_WRITE if dear is None else dear)
        + usage.output * out
    ) / 1_000_000
    return whole * (BATCH if share is None else share)


@dataclass(frozen=True)
class Tariff:
    """How a player's replies are paid for.

    Attributes
    ----------
    price
        The configured price table, which decides where there is one.
    charges
        The currency in which a router says what it has charged.
    """

    price: Mapping[str, Any] | None = None
    charges: str | None = None

    @classmethod
    def of(cls, player: Mapping[str, Any]) -> Tariff:
        """Return the tariff of an entry of a run header's players."""
        return cls(player.get("price"), player.get("charges"))

    def cost(self, usage: Usage, batch: bool = False) -> float | None:
        """Return the cost of one reply in :attr:`currency`, ``None`` where it is not known."""
        return usage.cost if self.price is None else cost(self.price, usage, batch)

    @property
    def currency(self) -> str | None:
        """The unit of every cost; what was charged and what a list says are never the same unit."""
        if self.price is not None:
            return str(self.price["currency"])
        return None if self.charges is None else f"{self.charges} (charged)"

    @property
    def table(self) -> str | None:
        """What tells this price table from all others."""
        if self.price is None:
            return self.currency
        return f"{self.currency} of {self.price['date']} ({sha256(dict(self.price))[:8]})"


def _amount(price: Mapping[str, object], name: str) -> float | None:
    value = price.get(name)
    return value if isinstance(value, int | float) else None
