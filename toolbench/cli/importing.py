"""Other people's tools and cases as suites: ``import``, ``new``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolbench.cli.plain import EXISTING, item, listed, plain_errors, say
from toolbench.cli.traces import traces
from toolbench.domain.plurals import plural

if TYPE_CHECKING:
    from toolbench.authoring.importing import Material, Written

IMPORTERS = "toolbench.importers"
"""Entry points of other packages that add importers."""


class _Imports(click.Group):
    """The importers, those of extensions by their names."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; of an extension, one that takes what every import of tools takes."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or not any(point.name == cmd_name for point in entry_points(group=IMPORTERS)):
            return own

        @click.command(name=cmd_name)
        @click.argument("source")
        @_tools_options
        @plain_errors
        def other(source: str, **options: Any) -> None:
            _import(cmd_name, source, Path(source).stem, **options)

        return other


@click.group(name="import", cls=_Imports)
def import_() -> None:
    """Make an ordinary suite of other people's tools or cases.

    Nothing that is there is overwritten. What a suite cannot say is listed by name, what had to be guessed
    is marked with `guessed` in tools.json. The new files are linted at once.

    \b
    Exit codes: 0 written and clean; 1 written, lint has something to say; 2 nothing written.

    \b
    Examples:
      toolbench import openai-tools tools.json --name shop
      toolbench import python my_tools:search,book
      toolbench import mcp 'python server.py'
      toolbench import openapi petstore.yaml --tag pets
    """


def _tools_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every import of tools understands."""
    for option in (
        click.option("--name", help="Name of the suite  [default: from the source]."),
        click.option("--into", type=EXISTING, default=Path(), help="Workspace  [default: here]."),
        click.option("--only", multiple=True, metavar="TOOL", help="Keep only these tools."),
        click.option(
            "--effect",
            "effects",
            multiple=True,
            metavar="TOOL=read|write",
            help="Say what a tool does, instead of a guess.",
        ),
    ):
        command = option(command)
    return command


@import_.command(name="openai-tools")
@click.argument("file", type=EXISTING)
@_tools_options
@plain_errors
def openai_tools(file: Path, **options: Any) -> None:
    """Tools in the shape of OpenAI Chat or Responses, Anthropic, Gemini, Ollama or MCP (detected).

    \b
    Example:
      toolbench import openai-tools request.json --name shop --effect get_order=read
    """
    _import("openai-tools", str(file), file.stem, **options)


@import_.command()
@click.argument("module", metavar="MODULE[:FUNC,…]")
@_tools_options
@plain_errors
def python(module: str, **options: Any) -> None:
    """Typed and documented Python functions. The module is imported; no function is called.

    \b
    Example:
      toolbench import python my_tools:search,book --name travel
    """
    _import("python", module, module.partition(":")[0].rpartition(".")[2], **options)


@import_.command()
@click.argument("server", metavar="'COMMAND …' | URL")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=30.0, show_default=True, help="Seconds."
)
@_tools_options
@plain_errors
def mcp(server: str, timeout: float, **options: Any) -> None:
    """Tools of a live MCP server, over stdio or streamable HTTP. Its list is asked for, no tool is called.

    \b
    Examples:
      toolbench import mcp 'npx -y @modelcontextprotocol/server-everything' --name everything
      toolbench import mcp http://127.0.0.1:8000/mcp --name mine
    """
    from toolbench.authoring.importing.mcp_server import import_mcp

    finish_import(import_mcp(server, timeout), "mcp", **options)


@import_.command()
@click.argument("file", type=EXISTING)
@click.option("--tag", "tags", multiple=True, help="Keep operations with one of these tags.")
@click.option("--operation", "operations", multiple=True, help="Keep operations with these ids.")
@_tools_options
@plain_errors
def openapi(file: Path, tags: tuple[str, ...], operations: tuple[str, ...], **options: Any) -> None:
    """Operations of an OpenAPI 3 document, JSON or YAML. References out of the document are never fetched.

    \b
    Example:
      toolbench import openapi petstore.yaml --tag pets
    """
    from toolbench.authoring.importing.openapi import import_openapi

    finish_import(import_openapi(str(file), tags, operations), file.stem, **options)


@import_.command()
@click.argument("folder", type=EXISTING)
@_tools_options
@plain_errors
def bfcl(folder: Path, **options: Any) -> None:
    """Single-turn cases of the Berkeley Function-Calling Leaderboard, from the data folder of its package.

    \b
    Example:
      pip download --no-deps bfcl-eval && unzip -d bfcl bfcl_eval-*.whl
      toolbench import bfcl bfcl/bfcl_eval/data --name bfcl
    """
    from toolbench.authoring.importing.bfcl import import_bfcl

    finish_import(import_bfcl(str(folder)), "bfcl", **options)


@import_.command()
@click.argument("file", type=EXISTING)
@_tools_options
@plain_errors
def promptfoo(file: Path, **options: Any) -> None:
    """Tests of promptfoo that name tools (tool-used, tool-sequence, tool-args-match, tool-call-f1).

    \b
    Example:
      toolbench import promptfoo promptfooconfig.yaml --name shop
    """
    from toolbench.authoring.importing.others import import_promptfoo

    finish_import(import_promptfoo(str(file)), file.stem, **options)


@import_.command()
@click.argument("file", type=EXISTING)
@_tools_options
@plain_errors
def inspect(file: Path, **options: Any) -> None:
    """Samples of an Inspect log whose metadata say which call is right, with the log's tools.

    \b
    Example:
      toolbench import inspect log.json --name shop
    """
    from toolbench.authoring.importing.others import import_inspect

    finish_import(import_inspect(str(file)), file.stem, **options)


@import_.command()
@click.argument("file", type=EXISTING)
@click.option("--suite", required=True, help="Suite the cases belong to.")
@click.option("--tools", type=EXISTING, help="List of tools to make the suite of, when it is not there yet.")
@click.option("--lang", type=click.Choice(["en", "ru"]), help="Language  [default: by the letters].")
@click.option("--into", type=EXISTING, default=Path(), help="Workspace  [default: here].")
@plain_errors
def cases(file: Path, suite: str, tools: Path | None, lang: str | None, into: Path) -> None:
    """Cases in JSON Lines, JSON or CSV: an input and the right call or kind of answer.

    \b
    Examples:
      toolbench import cases cases.jsonl --suite shop
      toolbench import cases cases.csv --suite shop --tools tools.json
    """
    from dataclasses import replace

    from toolbench.authoring.importing import import_cases, read_source, write_cases, write_suite
    from toolbench.domain.contract import Contract

    if tools is None:
        names = list(Contract.load(into / "contracts" / suite / "tools.json").by_name)
        material = import_cases(str(file), names, lang)
        tell(material, write_cases(into, suite, material))
        return
    offered = read_source(f"openai-tools:{tools}")
    found = import_cases(str(file), [tool["name"] for tool in offered.tools], lang)
    material = replace(offered, cases=found.cases, remarks=(*offered.remarks, *found.remarks))
    tell(material, write_suite(into, suite, material))


@import_.command()
@click.argument("file", type=EXISTING)
@click.option("--suite", "suites", multiple=True, required=True, help="Suite to run (repeat).")
@click.option("--to", type=EXISTING, default=Path("config.json"), show_default=True, help="File to write.")
@plain_errors
def config(file: Path, suites: tuple[str, ...], to: Path) -> None:
    """A configuration with settings at the top and entries without a protocol.

    \b
    Example:
      toolbench import config their.json --suite shop
    """
    from toolbench.authoring.importing import import_config

    listed("changed or left out", import_config(file, to, suites))
    item(f"{to}: written")


import_.add_command(traces)


def _import(kind: str, source: str, fallback: str, **options: Any) -> None:
    """Read a source of tools and write its suite."""
    from toolbench.authoring.importing import sources

    material = sources()[kind].read(source)
    finish_import(material, fallback, **options)


def finish_import(
    material: Material,
    fallback: str,
    name: str | None,
    into: Path,
    only: Sequence[str],
    effects: Sequence[str],
) -> None:
    """Write a suite of what was read and tell what came of it."""
    from toolbench.authoring.importing import chosen, suite_name, write_suite

    settled = chosen(material, only, effects)
    written = write_suite(into, name or suite_name(fallback), settled)
    tell(settled, written)


def tell(material: Material, written: Written) -> None:
    """Print what was left out, guessed, refused by lint, and written; exit by lint's word."""
    listed("changed or left out", material.remarks)
    listed("guessed; confirm in tools.json or with --effect", material.guesses)
    listed("lint", [str(problem) for problem in written.problems])
    item(f"{', '.join(str(path) for path in written.files)}: written")
    counts = f"{plural(len(material.tools), 'tool')}, {plural(len(material.cases), 'case')}"
    guesses = plural(len(material.guesses), "guess", "guesses")
    say(f"{counts}; {guesses}, {plural(len(written.problems), 'lint problem')}")
    sys.exit(1 if written.problems else 0)


@click.command()
@click.argument("name")
@click.option("--from", "source", required=True, help="KIND:SOURCE, as import names them.")
@click.option("--lang", type=click.Choice(["en", "ru"]), default="en", show_default=True)
@click.option("--into", type=EXISTING, default=Path(), help="Workspace  [default: here].")
@plain_errors
def new(name: str, source: str, lang: str, into: Path) -> None:
    """Start the suite NAME from tools of your own: import them and draft ten cases.

    Drafts are neither run nor counted. Correct them in the case file; deleting "draft" confirms one.

    \b
    Examples:
      toolbench new shop --from openai-tools:tools.json
      toolbench new travel --from python:my_tools
      toolbench new lamps --from 'mcp:python server.py'
    """
    from dataclasses import replace

    from toolbench.authoring.importing import draft_cases, ground_of, read_source, write_suite

    material = read_source(source)
    drafts, remarks = draft_cases(ground_of(material, f"suite {name}"), lang)
    material = replace(material, cases=drafts, remarks=(*material.remarks, *remarks))
    tell(material, write_suite(into, name, material))
