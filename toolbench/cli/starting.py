"""The first step: ``init``."""

from __future__ import annotations

from pathlib import Path

import click

from toolbench.cli.plain import EXISTING, item, plain_errors


@click.command()
@click.argument("folder", type=EXISTING, metavar="DIR")
@plain_errors
def init(folder: Path) -> None:
    """Make a workspace in DIR: suites, notebooks and a configuration that runs at once.

    Nothing that is there is ever overwritten.

    \b
    Example:
      toolbench init tools-bench
    """
    from toolbench.authoring.workspace import make_workspace

    written = make_workspace(folder)
    item(f"{folder}: {len(written)} files written; the next steps are in {folder / 'README.md'}")
