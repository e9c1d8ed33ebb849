"""The command line: arguments in, one call, an exit code out.

Exit codes: 0 done; 1 done, with a negative answer (a gate failed, a check found a fault, a report or run is
incomplete); 2 the input is wrong or something needed is missing; 130 interrupted.

One module a group of commands. A command imports what it needs when it runs, so that ``--help`` stays quick.
"""

from __future__ import annotations

import click

from toolbench.cli.authoring import generate, lint
from toolbench.cli.checking import label, selfcheck
from toolbench.cli.confirming import confirm
from toolbench.cli.describing import describe
from toolbench.cli.experimenting import experiment
from toolbench.cli.importing import import_, new
from toolbench.cli.judging import agreement, compare, gate, promote, report, score, trends
from toolbench.cli.playing import models, run
from toolbench.cli.replaying import replay
from toolbench.cli.serving import serve
from toolbench.cli.starting import init

__all__ = ["main"]


PLAY = (init, run, models, serve)
JUDGE = (score, agreement, report, compare, trends, replay, experiment, gate, promote)
MAKE = (new, confirm, describe, import_, lint, generate, selfcheck, label)
"""Commands by what one does: play a matrix, look at what came of it, make suites."""


@click.group(
    commands=[*PLAY, *JUDGE, *MAKE],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="toolcall-workbench", prog_name="toolbench")
def main() -> None:
    """Compare how language models call tools.

    \b
    Examples:
      toolbench init bench && cd bench
      toolbench run --config config.json --output runs/first
      toolbench report runs/first
      toolbench score runs/first --json
    """
