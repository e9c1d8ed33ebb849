"""Marking Python functions that a live suite may call: nothing else of a module can be reached by a suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
MARK = "__toolbench_live_tool__"


def live_tool(function: F) -> F:
    """Register a function for suites whose ``executor.json`` is of the kind ``python``.

    Its arguments are given by name and its result has to be JSON. An exception becomes the tool's error.
    """
    setattr(function, MARK, True)
    return function
