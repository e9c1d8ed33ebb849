"""A call and what it answered, as a player sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolbench.domain.record import ToolResult
from toolbench.judging.order import is_empty


@dataclass(frozen=True)
class Told:
    """A call and its result."""

    tool: str
    arguments: Mapping[str, Any]
    result: ToolResult

    @property
    def topic(self) -> str:
        """What there is to tell: the tool and its outcome."""
        outcome = self.result.code or ("empty" if is_empty(self.result.value) else "ok")
        return f"{self.tool}.{outcome}"
