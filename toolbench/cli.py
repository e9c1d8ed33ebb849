"""The command line: arguments in, one call, an exit code out.

Exit codes: 0 done; 1 done, with a negative answer (a gate failed, a check found a fault, a report or run is
incomplete); 2 the input is wrong or something needed is missing; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click

from toolbench.errors import ToolbenchError

EXISTING = click.Path(path_type=Path)


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn every error a user can act on into one line on stderr and exit code 2."""

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except ToolbenchError as fault:
            click.echo(f"toolbench: {fault}", err=True)
            sys.exit(2)
        except BrokenPipeError:
            sys.exit(0)
        except KeyboardInterrupt:
            click.echo(
                "toolbench: interrupted; what was finished is kept, --resume continues a run", err=True
            )
            sys.exit(130)

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
    loaded, suites = prepare(
        config, tools=tools, cases=cases, conditions=names, repetitions=repetitions, parallelism=parallelism
    )
    folder = output or Path("runs") / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    with TerminalProgress() as progress:
        summary = run_matrix_sync(
            loaded, suites, folder, resume=resume, retry_errors=retry_errors, on_attempt=progress
        )
    if summary.set_aside:
        click.echo(f"toolbench: {summary.set_aside}", err=True)
    click.echo(
        f"{folder}: {summary.made} attempts made, {summary.skipped} were there, {summary.total} planned, "
        f"{summary.transport_errors} transport errors"
    )
    for name, reason in summary.abandoned.items():
        click.echo(f"toolbench: {name}: given up after repeated failure: {reason}", err=True)
    if summary.stopped:
        click.echo(f"toolbench: stopped early: {summary.stopped}", err=True)
    if not summary.complete:
        click.echo(
            f"toolbench: incomplete; continue with --output {folder} --resume --retry-errors", err=True
        )
    sys.exit(2 if summary.abandoned else 0 if summary.complete else 1)


@main.command()
@click.argument("run", type=EXISTING)
@click.option("--json", "as_json", is_flag=True, help="Print report.json's content.")
@plain_errors
def score(run: Path, as_json: bool) -> None:
    """Judge a run again from its JSONL alone and print the figures.

    \b
    Examples:
      toolbench score runs/demo
      toolbench score runs/demo --json > figures.json
    """
    from toolbench.numbers.frames import load_run
    from toolbench.numbers.outputs import report_text

    scored = load_run(run)
    for problem in scored.problems:
        click.echo(f"toolbench: {problem}", err=True)
    if as_json:
        click.echo(report_text(scored), nl=False)
        return
    from toolbench.showing.terminal import score_table

    click.echo(score_table(run))


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
    click.echo(f"{written.html} ({written.html.stat().st_size // 1024} KB)")
    if written.problem:
        click.echo(f"toolbench: {written.problem}", err=True)
        sys.exit(1)


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
    from toolbench.proving.lint import lint as check

    problems = list(check(paths))
    for problem in problems:
        click.echo(str(problem))
    click.echo(f"{len(problems)} problems", err=True)
    sys.exit(2 if problems else 0)


@main.group()
def serve() -> None:
    """Start a local model or the provider simulator."""


@serve.command("local")
@click.argument("model")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8080, show_default=True, help="0 takes a free port.")
@click.option("--context", default=4096, show_default=True, help="Tokens of one request.")
@click.option("--slots", default=1, show_default=True, help="Requests answered at once.")
@plain_errors
def serve_local(model: str, host: str, port: int, context: int, slots: int) -> None:
    """Serve MODEL (a known name or a path to a .gguf file) over HTTP until Ctrl-C.

    \b
    Examples:
      toolbench serve local qwen2.5-coder-0.5b-instruct
      toolbench serve local ~/models/my-model.gguf --port 9000
    """
    from toolbench.serving.local import serve_forever

    serve_forever(model, host=host, port=port, n_ctx=context, n_parallel=slots)


@serve.command("simulator")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8081, show_default=True, help="0 takes a free port.")
@click.option("--script", type=EXISTING, help="What the simulated models do (JSON); see the README.")
@plain_errors
def serve_simulator(host: str, port: int, script: Path | None) -> None:
    """Serve a strict imitation of five providers' wire formats until Ctrl-C.

    \b
    Example:
      toolbench serve simulator --port 8081
    """
    from toolbench.serving.simulator import serve_forever

    serve_forever(host, port, script)


if __name__ == "__main__":
    main()
