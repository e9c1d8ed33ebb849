"""What a reply costs."""

from __future__ import annotations

from collections.abc import Mapping

from toolbench.domain.decision import Usage


def cost(price: Mapping[str, object] | None, usage: Usage) -> float | None:
    """Return the cost of one reply in the price's currency; ``None`` when price or counts are unknown.

    Prices are per million tokens. Cached tokens are part of the input and cost ``cached_input`` where given;
    reasoning tokens are part of the output.
    """
    if price is None or usage.input is None or usage.output is None:
        return None
    into, out = price.get("input"), price.get("output")
    if not isinstance(into, int | float) or not isinstance(out, int | float):
        return None
    cached = usage.cached_input or 0
    cheap = price.get("cached_input", into)
    cheap = cheap if isinstance(cheap, int | float) else into
    return ((usage.input - cached) * into + cached * cheap + usage.output * out) / 1_000_000
