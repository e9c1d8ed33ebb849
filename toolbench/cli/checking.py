"""Proof of the bench itself: ``selfcheck``, and ``label``, which adds to what it is proved on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TextIO

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


@click.command()
@click.argument("reply", type=click.File("r", encoding="utf-8"), default="-")
@click.option("--suite", required=True)
@click.option("--lang", required=True)
@click.option("--case", "case_id", required=True, help="The case whose first message is answered.")
@click.option("--verdict", type=click.Choice(["right", "wrong"]), required=True, help="As a person sees it.")
@click.option("--kind", required=True, help="A word for what is right or wrong: result, false_success …")
@click.option("--why", default="", help="One line for who comes after.")
@click.option("--root", type=EXISTING, help="Folder with contracts/ and cases/  [default: here].")
@click.option("--to", type=EXISTING, help="The corpus  [default: tests/judging/corpus here, else labelled].")
@plain_errors
def label(
    reply: TextIO,
    suite: str,
    lang: str,
    case_id: str,
    verdict: str,
    kind: str,
    why: str,
    root: Path | None,
    to: Path | None,
) -> None:
    """Add a reply with a person's verdict to the corpus that the judge's own error is measured on.

    REPLY is a file, or - for standard input: what is said at the end of the case's first message, after all
    calls that are due. Prints what the judge says about it today.

    \b
    Example:
      echo "Done, it is cancelled." | toolbench label --suite delivery --lang en \\
            --case cancel_explicit --verdict wrong --kind false_success
    """
    from toolbench.selfcheck.corpus import PLACES, Reply, add

    base = root or Path()
    folder = to or next((base / place for place in PLACES[::-1] if (base / place).is_dir()), base / PLACES[0])
    text = reply.read().removesuffix("\n")
    said = Reply("", suite, lang, case_id, text, verdict == "right", kind, why)
    row = add(folder, base, said)
    codes = ", ".join(dict.fromkeys(finding.code for finding in row.findings)) or "nothing"
    say(f"{folder / lang}.jsonl: {row.reply.id} added; the judge says {row.outcome} ({codes})")
