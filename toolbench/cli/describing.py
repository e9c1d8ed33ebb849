"""What a model is told about tools: ``describe``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolbench.cli.plain import item, plain_errors, say
from toolbench.errors import SuiteError

if TYPE_CHECKING:
    from toolbench.domain.contract import Contract


@click.command()
@click.argument("tools", nargs=-1, metavar="[TOOL…]")
@click.option(
    "--from", "source", required=True, metavar="FOLDER|KIND:SOURCE", help="A suite's folder, or as for new."
)
@plain_errors
def describe(tools: tuple[str, ...], source: str) -> None:
    """Look for what makes models fail in the descriptions of tools: no verb, no word on when not to use it,
    a number without a unit, a text without its form, codes nobody explains, twins, texts too short or long.

    Every line names the public page that its rule is from. These are hints: compare both wordings.

    \b
    Exit codes: 0 nothing to say; 1 hints; 2 the source cannot be read.

    \b
    Examples:
      toolbench describe --from contracts/delivery
      toolbench describe get_order --from openai-tools:tools.json
      toolbench describe --from 'mcp:python server.py'
    """
    from toolbench.authoring.describing import describe as hints

    contract = _contract(source)
    for name in tools:
        if name not in contract.by_name:
            raise SuiteError(f"{name[:80]!r}: no such tool; there are: {', '.join(contract.by_name)[:200]}")
    found = hints(contract, tools)
    for hint in found:
        item(hint)
    say(f"{len(found)} hints on {len(tools) or len(contract.tools)} tools", err=True)
    sys.exit(1 if found else 0)


def _contract(source: str) -> Contract:
    from toolbench.authoring.importing import read_source
    from toolbench.domain.contract import Contract

    folder = Path(source)
    if folder.is_dir():
        return Contract.load(folder / "tools.json")
    tools = {"version": "1", "tools": list(read_source(source).tools)}
    return Contract.from_json(tools, source)
