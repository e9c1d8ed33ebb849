"""A module of this package as a program of its own, beside the process that starts it."""

from __future__ import annotations

import os
import sys


def program(module: str) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment that run a module as this process has it.

    A program and not a fork: a notebook's threads are not copied, and nobody's main module is run again.
    """
    # The same modules, wherever this process has found them, and none of the current folder.
    return [sys.executable, "-P", "-m", module], {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
