"""What a reply costs."""

from __future__ import annotations

from collections.abc import Mapping

from toolbench.domain.decision import Usage

CACHE_WRITE = 1.25
"""What a token written to a cache costs in input tokens, unless the price says otherwise: Anthropic's
five-minute cache (platform.claude.com pricing, 2026-11-30); for others that bill writes, an assumption."""


def cost(price: Mapping[str, object] | None, usage: Usage) -> float | None:
    """Return the cost of one reply in the price's currency; ``None`` when price or counts are unknown.

    Prices are per million tokens. Tokens read from a cache and written to it are part of the input and cost
    ``cached_input`` and ``cache_write``; reasoning tokens are part of the output.
    """
    if price is None or usage.input is None or usage.output is None:
        return None
    into, out = _amount(price, "input"), _amount(price, "output")
    if into is None or out is None:
        return None
    read, written = usage.cached_input or 0, usage.cache_write or 0
    cheap, dear = _amount(price, "cached_input"), _amount(price, "cache_write")
    return (
        (usage.input - read - written) * into
        + read * (into if cheap is None else cheap)
        + written * (into * CACHE_WRITE if dear is None else dear)
        + usage.output * out
    ) / 1_000_000


def _amount(price: Mapping[str, object], name: str) -> float | None:
    value = price.get(name)
    return value if isinstance(value, int | float) else None
