"""Drafts that somebody has looked at: ``confirm``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from toolbench.cli.plain import EXISTING, item, listed, plain_errors, say
from toolbench.domain.plurals import plural


@click.command()
@click.argument("suite")
@click.argument("cases", nargs=-1, metavar="[CASE…]")
@click.option("--all", "everything", is_flag=True, help="Confirm every draft.")
@click.option("--into", type=EXISTING, default=Path(), help="Workspace  [default: here].")
@plain_errors
def confirm(suite: str, cases: tuple[str, ...], everything: bool, into: Path) -> None:
    """List the drafts of SUITE, or confirm some: they are played and counted from then on.

    To change a draft first, edit its line in the case file.

    \b
    Exit codes: 0 done; 1 drafts are waiting, or lint has something to say; 2 no such suite or draft.

    \b
    Examples:
      toolbench confirm shop
      toolbench confirm shop get_order.complete get_order.boundary
      toolbench confirm shop --all
    """
    from toolbench.authoring import confirming

    if not cases and not everything:
        waiting = confirming.drafts(into, suite)
        for draft in waiting:
            item(draft)
        say(f"{plural(len(waiting), 'draft waits', 'drafts wait')} to be confirmed", err=True)
        sys.exit(1 if waiting else 0)
    confirmed, problems = confirming.confirm(into, suite, None if everything else cases)
    listed("lint", [str(problem) for problem in problems])
    say(f"{len(confirmed)} confirmed; {len(confirming.drafts(into, suite))} drafts left")
    sys.exit(1 if problems else 0)
