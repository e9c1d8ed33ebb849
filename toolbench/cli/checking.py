"""Proof of the bench itself: ``selfcheck``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from toolbench.cli.plain import EXISTING, plain_errors, say


@click.command()
@click.option(
    "--root", type=EXISTING, help="Folder with contracts/ and cases/  [default: here, or what is shipped]."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--every-case", is_flag=True, help="Break every case, not a sample of each class (minutes).")
@plain_errors
def selfcheck(root: Path | None, as_json: bool, every_case: bool) -> None:
    """Prove without a network that adapters and judge do what they claim; exit code 1 when they do not.

    \b
    Examples:
      toolbench selfcheck
      toolbench selfcheck --json
    """
    from toolbench.domain.shipped import shipped
    from toolbench.selfcheck.contents import selfcheck as check

    here = Path() if Path("contracts").is_dir() else shipped()
    result = check(root or here, every_case=every_case)
    if as_json:
        say(json.dumps(result.to_json(), indent=2, sort_keys=True))
    else:
        say(result.text())
    sys.exit(0 if result.ok else 1)
