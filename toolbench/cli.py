"""The command line: arguments in, one call, an exit code out.

Exit codes: 0 done; 1 done, with a negative answer (a gate failed, a check found a fault, a report or run is
incomplete); 2 the input is wrong or something needed is missing; 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click

from toolbench.errors import InputError, ToolbenchError


class _SomePath(click.Path):
    """A path that is not empty: an empty one would silently be the current folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


EXISTING = _SomePath(path_type=Path)
PORT = click.IntRange(0, 65535)
PRIVATE = ("aiohttp", "httpx", "httpcore", "yarl")
"""Modules whose errors may quote an address with a key in it: only their type is told."""


def say(text: object, err: bool = False) -> None:
    """Print text with nothing in it that a terminal would obey."""
    from toolbench.showing.html import visible

    click.echo(visible(text), err=err)


def item(text: object, err: bool = False) -> None:
    """Print one line, whatever is in it."""
    say(str(text).replace("\n", "\\n"), err=err)


def _unexpected(fault: Exception) -> str:
    kind = type(fault)
    told = "" if kind.__module__.startswith(PRIVATE) else f": {fault}"[:202]
    return f"toolbench: unexpected {kind.__name__}{told}"


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn every error into one line on stderr and exit code 2; ``TOOLBENCH_DEBUG`` adds the traceback."""

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except ToolbenchError as fault:
            item(f"toolbench: {fault}", err=True)
            sys.exit(2)
        except BrokenPipeError:
            sys.exit(0)
        except KeyboardInterrupt:
            say("toolbench: interrupted; what was finished is kept, --resume continues a run", err=True)
            sys.exit(130)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as fault:
            if os.environ.get("TOOLBENCH_DEBUG"):
                say(traceback.format_exc(), err=True)
            item(_unexpected(fault), err=True)
            sys.exit(2)

    return guarded


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="toolcall-workbench", prog_name="toolbench")
def main() -> None:
    """Compare how language models call tools.

    \b
    Examples:
      toolbench run --config config.json --output runs/first
      toolbench report runs/first
      toolbench score runs/first --json
    """


@main.command()
@click.option("--config", type=EXISTING, required=True, help="Models, conditions, suites and limits.")
@click.option(
    "--cases", type=EXISTING, multiple=True, help="Case file(s) to use instead of the configuration's suites."
)
@click.option("--tools", type=EXISTING, help="Contract (tools.json) that belongs to --cases.")
@click.option("--output", type=EXISTING, help="The run's folder  [default: runs/<time>].")
@click.option(
    "--conditions", multiple=True, help="Keep only these conditions (repeat, or separate by commas)."
)
@click.option("--repetitions", type=click.IntRange(1, 1000), help="Repetitions of every case.")
@click.option("--parallelism", type=click.IntRange(1, 256), help="Attempts in flight at once.")
@click.option("--live-rates", is_flag=True, help="Course suite: ask the public exchange-rate service.")
@click.option("--resume", is_flag=True, help="Continue the run that is in --output.")
@click.option(
    "--retry-errors", is_flag=True, help="With --resume: repeat attempts that ended in transport errors."
)
@plain_errors
def run(
    config: Path,
    cases: tuple[Path, ...],
    tools: Path | None,
    output: Path | None,
    conditions: tuple[str, ...],
    repetitions: int | None,
    parallelism: int | None,
    live_rates: bool,
    resume: bool,
    retry_errors: bool,
) -> None:
    """Run the matrix models × conditions × cases × repetitions and log every attempt.

    \b
    Examples:
      toolbench run --config config.json
      toolbench run --config config.json --output runs/a --resume --retry-errors
      toolbench run --config config.json --tools contracts/delivery/tools.json \\
                    --cases cases/delivery.ru.jsonl --conditions auto,reversed --repetitions 3
    """
    from toolbench.running.prepare import prepare
    from toolbench.running.runner import run_matrix_sync
    from toolbench.showing.progress import TerminalProgress

    names = [name for entry in conditions for name in entry.split(",") if name]
    if conditions and not names:
        raise InputError("--conditions: no condition is named")
    loaded, suites = prepare(
        config,
        tools=tools,
        cases=cases,
        conditions=names,
        repetitions=repetitions,
        parallelism=parallelism,
        live_rates=live_rates,
    )
    folder = output or Path("runs") / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    with TerminalProgress() as progress:
        summary = run_matrix_sync(
            loaded, suites, folder, resume=resume, retry_errors=retry_errors, on_attempt=progress
        )
    if summary.set_aside:
        item(f"toolbench: {summary.set_aside}", err=True)
    say(
        f"{folder}: {summary.made} attempts made, {summary.skipped} were there, {summary.total} planned, "
        f"{summary.transport_errors} transport errors"
    )
    for name, reason in summary.abandoned.items():
        item(f"toolbench: {name}: given up after repeated failure: {reason}", err=True)
    if summary.stopped:
        item(f"toolbench: stopped early: {summary.stopped}", err=True)
    if not summary.complete:
        say(f"toolbench: incomplete; continue with --output {folder} --resume --retry-errors", err=True)
    sys.exit(2 if summary.abandoned else 0 if summary.complete else 1)


@main.command()
@click.argument("run", type=EXISTING)
@click.option("--json", "as_json", is_flag=True, help="Print report.json's content.")
@click.option("--reparse", is_flag=True, help="Read the raw responses again and list what differs (exit 1).")
@plain_errors
def score(run: Path, as_json: bool, reparse: bool) -> None:
    """Judge a run again from its JSONL alone and print the figures.

    \b
    Examples:
      toolbench score runs/demo
      toolbench score runs/demo --json > figures.json
      toolbench score runs/demo --reparse
    """
    if reparse:
        _reparse(run)
        return
    from toolbench.numbers.frames import load_run
    from toolbench.numbers.outputs import report_text

    scored = load_run(run)
    for problem in scored.problems:
        item(f"toolbench: {problem}", err=True)
    if as_json:
        say(report_text(scored).removesuffix("\n"))
        return
    from toolbench.showing.terminal import score_table

    say(score_table(run))


def _reparse(run: Path) -> None:
    from toolbench.domain.log import RunLog
    from toolbench.running.reparse import reparse

    number = 0
    for number, difference in enumerate(reparse(RunLog.open(run)), 1):  # noqa: B007 - counted
        item(difference)
    say(f"{number} differences between recorded and reparsed decisions")
    sys.exit(1 if number else 0)


@main.command()
@click.argument("run", type=EXISTING)
@plain_errors
def report(run: Path) -> None:
    """Render a run: report.ipynb, report.html, report.json and errors.csv in its folder.

    \b
    Example:
      toolbench report runs/demo
    """
    from toolbench.showing.report import write_report

    written = write_report(run)
    say(f"{written.html} ({written.html.stat().st_size // 1024} KB)")
    if written.problem:
        item(f"toolbench: {written.problem}", err=True)
        sys.exit(1)


def _pairs(values: tuple[str, ...]) -> dict[str, str]:
    """Read ``column=value`` options."""
    from toolbench.numbers.rows import GROUP

    for value in values:
        column, equals, _ = value.partition("=")
        if not equals:
            raise InputError(f"{value!r}: write column=value, for example condition=auto")
        if column not in GROUP:
            raise InputError(f"compare: {column!r} is not one of {', '.join(GROUP)}")
    return dict(value.split("=", 1) for value in values)


@main.command()
@click.argument("left", type=EXISTING)
@click.argument("right", type=EXISTING, required=False)
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Part of both sides.")
@click.option("--left", "left_where", multiple=True, metavar="COLUMN=VALUE", help="Part of the left side.")
@click.option("--right", "right_where", multiple=True, metavar="COLUMN=VALUE", help="Part of the right side.")
@click.option("--factor", multiple=True, help="What may differ: model, condition, prompt, descriptions …")
@plain_errors
def compare(
    left: Path,
    right: Path | None,
    where: tuple[str, ...],
    left_where: tuple[str, ...],
    right_where: tuple[str, ...],
    factor: tuple[str, ...],
) -> None:
    """Compare two runs, or two parts of one run, case by case.

    Refused, with the list of differences, when the two differ in more than the compared factor.

    \b
    Examples:
      toolbench compare runs/old runs/new
      toolbench compare runs/demo --left condition=auto --right condition=reversed
      toolbench compare runs/demo --where condition=auto --left model=a --right model=b
    """
    from toolbench.numbers.compare import compare as paired
    from toolbench.numbers.compare_text import render
    from toolbench.numbers.frames import load_run
    from toolbench.numbers.sides import select

    runs = [load_run(left)]
    runs.append(load_run(right) if right else runs[0])
    chosen = [{**_pairs(where), **_pairs(own)} for own in (left_where, right_where)]
    sides = [select(scored, None, **own) for scored, own in zip(runs, chosen, strict=True)]
    # What was chosen differently is what is compared, unless said otherwise.
    apart = [name for name in chosen[0] if chosen[0][name] != chosen[1].get(name)]
    factors = factor or tuple("model" if name == "provider" else name for name in apart)
    say(render(paired(sides[0], sides[1], factors=factors)))


@main.command()
@click.argument("run", type=EXISTING)
@click.option("--gates", type=EXISTING, help="Gates to use instead of those fixed before the run.")
@click.option("--default", "use_default", is_flag=True, help="Use the gates that ship with toolbench.")
@plain_errors
def gate(run: Path, gates: Path | None, use_default: bool) -> None:
    """Decide the gates of a run. Exit codes: 0 pass, 1 fail, 3 not enough data, 2 no gates or no run.

    \b
    Examples:
      toolbench gate runs/nightly
      toolbench gate runs/demo --default
    """
    from toolbench.numbers.frames import load_run
    from toolbench.numbers.gates import default_gates, evaluate, load_gates

    chosen = load_gates(gates) if gates else default_gates() if use_default else None
    result = evaluate(load_run(run), chosen)
    say(result)
    sys.exit(result.exit_code)


@main.command()
@click.argument("run", type=EXISTING)
@click.option("--failed", is_flag=True, required=True, help="Promote the cases that a model failed.")
@click.option("--suite", required=True)
@click.option("--lang", required=True)
@click.option("--code", multiple=True, help="Only failures with this finding.")
@click.option("--output", type=EXISTING, required=True, help="Case file to add to (made when not there).")
@plain_errors
def promote(run: Path, failed: bool, suite: str, lang: str, code: tuple[str, ...], output: Path) -> None:
    """Turn failed attempts into cases of a permanent regression suite, with their origin.

    \b
    Example:
      toolbench promote runs/demo --failed --suite delivery --lang en \\
                --output cases/delivery_regression.en.jsonl
    """
    from toolbench.domain.files import append_text, read_jsonl
    from toolbench.numbers.frames import load_run
    from toolbench.numbers.promote import promote as promoted

    there = [case for _, case in read_jsonl(output, "case")] if output.exists() else []
    froms = [case.get("origin") or {} for case in there if case["lang"] == lang]
    lines = promoted(
        load_run(run),
        suite,
        lang,
        codes=code,
        taken=[case["id"] for case in there],
        origins=[(origin.get("run_id", ""), origin.get("case_id", "")) for origin in froms],
    )
    append_text(output, lines)
    say(f"{output}: {lines.count(chr(10))} cases added")


@main.command()
@click.option("--config", type=EXISTING, required=True)
@plain_errors
def models(config: Path) -> None:
    """List the configured models and check key and address of each with one cheap request.

    \b
    Example:
      toolbench models --config config.json
    """
    import asyncio

    from toolbench.running.probe import probe

    found = asyncio.run(probe(config))
    for entry in found:
        mark = "ok  " if entry.usable else "FAIL"
        gates = f"  [{entry.gates}]" if entry.gates else ""
        name = f"{entry.provider}/{entry.model} ({entry.protocol}, {entry.address})"
        item(f"{mark} {name}: {entry.state}{gates}")
    sys.exit(0 if all(entry.usable for entry in found) else 2)


@main.command()
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


@main.command()
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
    say(f"{len(problems)} problems", err=True)
    sys.exit(2 if problems else 0)


@main.command()
@click.option(
    "--root", type=EXISTING, default=Path(), help="Folder with contracts/ and cases/  [default: here]."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--every-case", is_flag=True, help="Break every case, not a sample of each class (minutes).")
@plain_errors
def selfcheck(root: Path, as_json: bool, every_case: bool) -> None:
    """Prove without a network that adapters and judge do what they claim; exit code 1 when they do not.

    \b
    Examples:
      toolbench selfcheck
      toolbench selfcheck --json
    """
    from toolbench.selfcheck.sections import selfcheck as check

    result = check(root, every_case=every_case)
    if as_json:
        say(json.dumps(result.to_json(), indent=2, sort_keys=True))
    else:
        say(result.text())
    sys.exit(0 if result.ok else 1)


@main.group()
def serve() -> None:
    """Start a local model or the provider simulator."""


@serve.command("local")
@click.argument("model")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=8080, show_default=True, help="0 takes a free port.")
@click.option(
    "--context", type=click.IntRange(min=256), default=4096, show_default=True, help="Tokens of one request."
)
@click.option(
    "--slots", type=click.IntRange(1, 64), default=1, show_default=True, help="Requests answered at once."
)
@plain_errors
def serve_local(model: str, host: str, port: int, context: int, slots: int) -> None:
    """Serve MODEL (a known name or a path to a .gguf file) over HTTP until Ctrl-C.

    \b
    Examples:
      toolbench serve local qwen2.5-coder-0.5b-instruct
      toolbench serve local ~/models/my-model.gguf --port 9000
    """
    from toolbench.local.server import serve_forever

    serve_forever(model, host=host, port=port, n_ctx=context, n_parallel=slots)


@serve.command("simulator")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=8081, show_default=True, help="0 takes a free port.")
@click.option("--script", type=EXISTING, help="What the simulated models do (JSON); see the README.")
@plain_errors
def serve_simulator(host: str, port: int, script: Path | None) -> None:
    """Serve a strict imitation of five providers' wire formats until Ctrl-C.

    \b
    Example:
      toolbench serve simulator --port 8081
    """
    from toolbench.simulator import serve_forever

    serve_forever(host, port, script)


if __name__ == "__main__":
    main()
