"""Saved conversations as a run to judge: ``import traces``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from toolbench.cli.plain import EXISTING, item, listed, plain_errors, say
from toolbench.errors import SuiteError


@click.command()
@click.argument("files", type=EXISTING, nargs=-1, required=True, metavar="FILE…")
@click.option("--output", type=EXISTING, help="Folder of the run  [default: runs/ and the file's name].")
@click.option("--suite", help="Suite whose tools, rules and cases judge, instead of the tools in the files.")
@click.option("--tools", type=EXISTING, help="List of tools for conversations that bring none.")
@click.option("--cases", type=EXISTING, help="Cases; the one whose id is a conversation's key judges it.")
@click.option(
    "--key", metavar="PATH", help="Where a conversation has its key: dotted, or a span's attribute."
)
@click.option("--effect", "effects", multiple=True, metavar="TOOL=read|write", help="Instead of a guess.")
@click.option("--lang", type=click.Choice(["en", "ru"]), help="Language  [default: by the letters].")
@click.option("--into", type=EXISTING, default=Path(), help="Workspace of --suite  [default: here].")
@plain_errors
def traces(files: tuple[Path, ...], output: Path | None, **options: Any) -> None:
    """Make a run of saved conversations, judged by rule like one that was played; nothing is run.

    Understood are logs of messages and requests with their responses (OpenAI Chat and Responses, Anthropic,
    Gemini, Ollama), OpenTelemetry spans of the GenAI conventions, and Inspect's JSON logs. Without an
    expectation a conversation is judged by its contract, order, provenance, policy and wording.

    \b
    Exit codes: 0 written; 2 nothing written.

    \b
    Examples:
      toolbench import traces conversations.jsonl
      toolbench import traces spans.json --tools tools.json --effect get_order=read
      toolbench import traces log.jsonl --suite shop --key metadata.case
    """
    from toolbench.authoring.importing import suite_name
    from toolbench.authoring.traces import import_traces

    folder = output or Path("runs") / suite_name(files[0].stem)
    made = import_traces(files, folder, _wishes(**options))
    listed("changed or left out", made.remarks)
    listed("guessed; --effect TOOL=read|write settles it", made.guesses)
    item(f"{made.folder}: written")
    say(
        f"{made.conversations} conversations, {made.joined} with a case; suites: {', '.join(made.suites)}; "
        f"next: toolbench score {made.folder}"
    )


def _wishes(
    suite: str | None,
    tools: Path | None,
    cases: Path | None,
    key: str | None,
    effects: tuple[str, ...],
    lang: str | None,
    into: Path,
) -> Any:
    from toolbench.authoring.importing import chosen, import_cases, read_source
    from toolbench.authoring.traces import Wishes
    from toolbench.domain.suite import find_suite

    if suite is not None and tools is not None:
        raise SuiteError("--suite brings its own tools; leave --tools out")
    offered = None if tools is None else chosen(read_source(f"openai-tools:{tools}"), (), effects).tools
    return Wishes(
        suite=find_suite(into, suite) if suite is not None else None,
        tools=offered,
        cases=None if cases is None else lambda names: import_cases(str(cases), names, lang).cases,
        key=key,
        lang=lang,
        effects=() if tools is not None else effects,
    )
