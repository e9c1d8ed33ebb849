"""What the reason means that a server gives for the end of a reply (``finish.json``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import loads_strict

End = str
"""``done``, ``call``, ``cut``, ``refusal``, ``break``, ``unknown`` or ``invalid:<why>``."""


@cache
def _table() -> Mapping[str, Any]:
    text = resources.files("toolbench.adapters").joinpath("finish.json").read_text("utf-8")
    table: Mapping[str, Any] = loads_strict(text)
    return table


@cache
def _meanings(protocol: str) -> Mapping[str, End]:
    entries = _table()["protocols"][protocol]
    return {reason: end for end, reasons in entries.items() for reason in reasons}


def end_of(protocol: str, reason: str | None) -> End:
    """Return what a finish reason means; none at all is ``done``: many servers give no reason."""
    word = re.sub(r"[^a-z0-9]+", "_", (reason or "").lower()).strip("_")
    if not word:
        return "done"
    known = _meanings(protocol).get(word)
    if known is not None:
        return known
    return next((row["means"] for row in _table()["patterns"] if re.search(row["text"], word)), "unknown")
