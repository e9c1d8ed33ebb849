"""The process that runs a suite's Python tools: one JSON line in, one out, until the input ends.

What a tool prints goes to the error stream, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from toolbench.domain.live_tool import MARK


def main() -> None:
    """Answer every line of the input."""
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        wire.write(json.dumps(answer(**json.loads(line)), ensure_ascii=False) + "\n")
        wire.flush()


def answer(target: str, arguments: dict[str, Any] | None) -> dict[str, Any]:
    """Return ``ok``, ``error`` (the tool's own) or ``refused``; without arguments nothing is called."""
    try:
        function = _registered(target)
    except Exception as fault:
        return {"refused": f"{target}: {_told(fault)}"}
    if arguments is None:
        return {"ok": None}
    try:
        value = function(**arguments)
        value = asyncio.run(value) if inspect.iscoroutine(value) else value
        return {"ok": json.loads(json.dumps(value, allow_nan=False))}
    except Exception as fault:
        return {"error": _told(fault)}


def _registered(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    function = getattr(found, name, None)
    if function is None or not getattr(function, MARK, False):
        raise LookupError("no such function with @toolbench.live_tool above it")
    called: Callable[..., Any] = function
    return called


def _told(fault: Exception) -> str:
    return f"{type(fault).__name__}: {' '.join(str(fault).split())[:300]}"


if __name__ == "__main__":
    main()
