"""Making suites: ``lint``, ``generate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from toolbench.cli.plain import EXISTING, item, plain_errors, say
from toolbench.domain.plurals import plural
from toolbench.errors import InputError


@click.command()
@click.argument("paths", type=EXISTING, nargs=-1, required=True)
@plain_errors
def lint(paths: tuple[Path, ...]) -> None:
    """Check cases, contracts, executor scripts and rules against each other.

    \b
    Examples:
      toolbench lint contracts cases
      toolbench lint cases/delivery.ru.jsonl
    """
    from toolbench.authoring.lint import lint as check

    problems = list(check(paths))
    for problem in problems:
        item(problem)
    say(plural(len(problems), "problem"), err=True)
    sys.exit(2 if problems else 0)


@click.command()
@click.argument("suite", type=EXISTING)
@click.option(
    "--cases", type=EXISTING, default=Path("cases"), show_default=True, help="Folder of case files."
)
@click.option("--seed", type=int, help="Instead of the seed in variants.json.")
@click.option(
    "--mutate", nargs=2, metavar="TOOL JSON", help="Print every faulty form of these arguments instead."
)
@plain_errors
def generate(suite: Path, cases: Path, seed: int | None, mutate: tuple[str, str] | None) -> None:
    """Make the case files of SUITE (a folder with variants.json) from its rules.

    \b
    Examples:
      toolbench generate contracts/delivery
      toolbench generate contracts/delivery --mutate get_order '{"order_id": "ORD-123456"}'
    """
    if mutate:
        _print_mutations(suite, *mutate)
        return
    from toolbench.authoring.generate import write

    for path in write(suite, cases, seed=seed):
        item(path)


def _print_mutations(suite: Path, tool: str, arguments: str) -> None:
    from toolbench.authoring.mutate import mutate_arguments
    from toolbench.domain.canonical import StrictJSONError, loads_strict
    from toolbench.domain.contract import Contract

    tools = Contract.load(suite / "tools.json").by_name
    if tool not in tools:
        raise InputError(f"{suite}: no tool {tool!r}; there are: {', '.join(tools)}")
    try:
        given = loads_strict(arguments)
    except StrictJSONError as fault:
        raise InputError(f"--mutate: the arguments are not JSON: {fault}") from None
    issues = tools[tool].issues(given)
    if issues:
        raise InputError(
            f"--mutate: valid arguments are needed to start from: {issues[0].path} {issues[0].code}"
        )
    for mutation in mutate_arguments(tools[tool], given):
        line = {"kind": mutation.kind, "path": mutation.path, "arguments": dict(mutation.arguments)}
        say(json.dumps({**line, "codes": sorted(mutation.expected_codes)}))
