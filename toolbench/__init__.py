"""toolbench compares how language models call tools.

The names a notebook needs, loaded when they are first used::

    import toolbench
    frame = toolbench.load("runs/demo")      # one row an attempt
    toolbench.metrics(frame)                 # every figure, with its denominator and interval
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolbench.errors import ToolbenchError
    from toolbench.numbers.frames import load, load_run
    from toolbench.numbers.metrics import metrics
    from toolbench.running.prepare import prepare
    from toolbench.running.runner import run_matrix, run_matrix_sync

_HOMES = {
    "ToolbenchError": "toolbench.errors",
    "load": "toolbench.numbers.frames",
    "load_run": "toolbench.numbers.frames",
    "metrics": "toolbench.numbers.metrics",
    "prepare": "toolbench.running.prepare",
    "run_matrix": "toolbench.running.runner",
    "run_matrix_sync": "toolbench.running.runner",
}
__all__ = ["ToolbenchError", "load", "load_run", "metrics", "prepare", "run_matrix", "run_matrix_sync"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolbench' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
