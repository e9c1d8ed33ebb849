"""What every command needs: options that refuse, output without control characters, errors of one line."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from toolbench.errors import ToolbenchError


class _SomePath(click.Path):
    """A path that is not empty: an empty one would silently be the current folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


EXISTING = _SomePath(path_type=Path)
LISTED = 40
"""Lines of one kind that are printed; the rest is counted."""
PORT = click.IntRange(0, 65535)
PRIVATE = ("aiohttp", "httpx", "httpcore", "yarl")
"""Modules whose errors may quote an address with a key in it: only their type is told."""


def say(text: object, err: bool = False) -> None:
    """Print text with nothing in it that a terminal would obey."""
    from toolbench.showing.html import visible

    click.echo(visible(text), err=err)


def item(text: object, err: bool = False) -> None:
    """Print one line, whatever is in it."""
    say(str(text).replace("\n", "\\n"), err=err)


def listed(title: str, lines: Sequence[str]) -> None:
    """Print lines of one kind under a title, the first of them; the rest is counted."""
    if lines:
        say(f"{title}:", err=True)
    for line in lines[:LISTED]:
        item(f"  {line}", err=True)
    if len(lines) > LISTED:
        say(f"  … and {len(lines) - LISTED} more", err=True)


def _unexpected(fault: Exception) -> str:
    kind = type(fault)
    told = "" if kind.__module__.startswith(PRIVATE) else f": {fault}"[:202]
    return f"toolbench: unexpected {kind.__name__}{told}"


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn every error into one line on stderr and exit code 2; ``TOOLBENCH_DEBUG`` adds the traceback."""

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except ToolbenchError as fault:
            item(f"toolbench: {fault}", err=True)
            sys.exit(2)
        except BrokenPipeError:
            sys.exit(0)
        except KeyboardInterrupt:
            say("toolbench: interrupted; what was finished is kept, --resume continues a run", err=True)
            sys.exit(130)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as fault:
            if os.environ.get("TOOLBENCH_DEBUG"):
                say(traceback.format_exc(), err=True)
            item(_unexpected(fault), err=True)
            sys.exit(2)

    return guarded
