"""One experiment's notebook from the command line: ``experiment``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from toolbench.cli.plain import EXISTING, item, plain_errors


def _parameters(context: click.Context, option: click.Parameter, given: Sequence[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; a value is JSON where it can be read as JSON, else text."""
    read: dict[str, Any] = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not (name.isidentifier() and equals):
            raise click.BadParameter(f"{entry!r} is not NAME=VALUE", context, option)
        try:
            read[name] = json.loads(value)
        except ValueError:
            read[name] = value
    return read


@click.command()
@click.argument("name", metavar="NOTEBOOK")
@click.option(
    "--output",
    type=EXISTING,
    default=Path("pages"),
    show_default=True,
    help="Folder of the pages.",
)
@click.option("--run", "saved", type=EXISTING, help="A saved run to look at instead of playing.")
@click.option(
    "-p",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_parameters,
    help="A parameter of the notebook, as JSON or plain text (repeat).",
)
@plain_errors
def experiment(name: str, output: Path, saved: Path | None, parameters: dict[str, Any]) -> None:
    """Execute an experiment's NOTEBOOK (03 to 09) and write its page; exit code 1 when it is incomplete.

    \b
    Examples:
      toolbench experiment 06_forced_choice --run runs/demo
      toolbench experiment 04_consistency -p config=config.json -p output=runs/consistency -p repetitions=3
    """
    from toolbench.experiments import write_experiment

    asked = parameters if saved is None else {**parameters, "run": str(saved)}
    made = write_experiment(name, output, asked)
    if made.problem is not None:
        item(f"toolbench: {made.problem}", err=True)
    item(str(made.html))
    sys.exit(1 if made.problem else 0)
