"""What another use of the same models would have come to: ``replay``."""

from __future__ import annotations

from pathlib import Path

import click

from toolbench.cli.plain import EXISTING, plain_errors, say
from toolbench.errors import InputError


@click.command()
@click.argument("run", type=EXISTING)
@click.option("--policies", type=EXISTING, help="JSON file with a list named policies.")
@click.option("--cheap", metavar="PLAYER", help="provider/model for the policies that toolbench knows.")
@click.option("--strong", metavar="PLAYER", help="The model that they fall back on.")
@plain_errors
def replay(run: Path, policies: Path | None, cheap: str | None, strong: str | None) -> None:
    """Simulate policies (routing, takeover, confirmation) over the attempts of RUN; nothing is asked anew.

    Without options the model that passes most and the cheapest other one are put together.

    \b
    Examples:
      toolbench replay runs/demo
      toolbench replay runs/demo --cheap acme/small --strong acme/large
      toolbench replay runs/demo --policies policies.json
    """
    from toolbench.numbers.policies import examples, load_policies
    from toolbench.showing.replayed import replay_text
    from toolbench.showing.view import RunView

    if (cheap is None) != (strong is None) or (policies and cheap):
        raise InputError("replay: give --policies, or --cheap and --strong together")
    chosen = load_policies(policies) if policies else examples(cheap, strong) if cheap and strong else ()
    say(replay_text(RunView(run), chosen))
