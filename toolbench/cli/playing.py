"""Playing models: ``run``, ``models``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from toolbench.cli.plain import EXISTING, item, plain_errors, say
from toolbench.domain.plurals import plural

if TYPE_CHECKING:
    from toolbench.domain.config import Config
    from toolbench.domain.suite import Suite
    from toolbench.running.summary import RunSummary


def _names(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> list[str]:
    """Read an option that is repeated, holds names separated by commas, or both."""
    names = [name for entry in given for name in entry.split(",") if name]
    if given and not names:
        raise click.BadParameter("no name is given", context, option)
    return names


def _some(name: str, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return an option that keeps some of what a configuration has."""
    told = f"Only these {what} (repeat, or separate by commas)."
    return click.option(name, multiple=True, callback=_names, help=told)


@click.command()
@click.option(
    "--config",
    type=EXISTING,
    default=Path("config.json"),
    show_default=True,
    help="Models, conditions, suites and limits.",
)
@_some("--models", "models or baselines, as MODEL or PROVIDER/MODEL")
@_some("--suites", "suites, also others than the configuration's")
@_some("--langs", "languages")
@_some("--cases", "cases by id; with --tools: case files to use instead of the configuration's suites")
@_some("--tags", "tags of cases")
@_some("--conditions", "conditions")
@click.option("--tools", type=EXISTING, help="Contract (tools.json) of the case files in --cases.")
@click.option(
    "--output",
    type=EXISTING,
    help="The run's folder, s3://… as well  [default: runs/<time>]; an ending .jsonl is left off.",
)
@click.option("--repetitions", type=click.IntRange(1, 1000), help="Repetitions of every case.")
@click.option(
    "--now",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Of all that is planned, make only these attempts now (repeat to narrow); --resume makes the rest.",
)
@click.option(
    "--parallelism",
    type=click.IntRange(1, 256),
    help="Attempts in flight at once; with --scheduler: on each worker.",
)
@click.option("--live-rates", is_flag=True, help="Course suite: ask the public exchange-rate service.")
@click.option(
    "--allow-writes",
    is_flag=True,
    help="Live tools may write; needs allow_writes in the configuration as well.",
)
@click.option("--record", type=EXISTING, help="Folder for executor scripts of what live tools answered.")
@click.option("--replay", type=EXISTING, help="Folder with such scripts, in place of live tools.")
@click.option(
    "--batch",
    type=click.Choice(["first", "every"]),
    is_flag=False,
    flag_value="every",
    help="Ask through the providers' batch endpoints, at half the price and within a day a turn: every "
    "request, or only the first of an attempt.",
)
@click.option(
    "--cancel-batches", is_flag=True, help="With --batch: a run that is stopped cancels its batches."
)
@click.option("--resume", is_flag=True, help="Continue the run that is in --output.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Let the workers of this dask scheduler play; keys are in their environment.",
)
@click.option(
    "--retry-errors", is_flag=True, help="With --resume: repeat attempts that ended in transport errors."
)
@click.option(
    "--until",
    nargs=2,
    metavar="LEFT RIGHT",
    help="Play round by round until these two sides (column=value each) differ, at most --repetitions.",
)
@click.option("--width", type=click.FloatRange(0, 2), default=0.0, help="With --until: narrow enough to end.")
@plain_errors
def run(
    config: Path,
    models: Sequence[str],
    suites: Sequence[str],
    langs: Sequence[str],
    cases: Sequence[str],
    tags: Sequence[str],
    conditions: Sequence[str],
    tools: Path | None,
    output: Path | None,
    repetitions: int | None,
    now: tuple[str, ...],
    parallelism: int | None,
    live_rates: bool,
    allow_writes: bool,
    record: Path | None,
    replay: Path | None,
    batch: Literal["first", "every"] | None,
    cancel_batches: bool,
    resume: bool,
    scheduler: str | None,
    retry_errors: bool,
    until: tuple[str, str] | None,
    width: float,
) -> None:
    """Run the matrix models × conditions × cases × repetitions and log every attempt.

    What --models, --suites, --langs, --cases, --tags and --conditions name is kept; * fits anything.

    \b
    Examples:
      toolbench run --config config.json
      toolbench run --models 'qwen*' --suites delivery,tickets --langs ru --cases 'after_*'
      toolbench run --config config.json --output runs/a --now lang=en --now condition=auto
      toolbench run --config config.json --output runs/a --resume --retry-errors
      toolbench run --config config.json --tools contracts/delivery/tools.json \\
                    --cases cases/delivery.ru.jsonl --conditions auto,reversed --repetitions 3
      toolbench run --config config.json --repetitions 30 --until model=a model=b --width 0.1
      toolbench run --config config.json --suites mine --record recorded/
      toolbench run --config config.json --suites mine --replay recorded/
      toolbench run --config config.json --models openai/gpt-6-luna --batch
      toolbench run --config config.json --output runs/big --scheduler tcp://10.0.0.5:8786
    """
    from toolbench.domain.storage import url_of
    from toolbench.running.asked import Part, prepare, sitting
    from toolbench.running.runner import run_matrix_sync
    from toolbench.showing.progress import TerminalProgress

    loaded, played = prepare(
        config,
        tools=tools,
        cases=cases if tools else (),
        conditions=conditions,
        part=Part(models, suites, langs, () if tools else cases, tags),
        repetitions=repetitions,
        parallelism=parallelism,
        live_rates=live_rates,
        allow_writes=allow_writes,
        replay=replay,
        batch=batch,
    )
    if until and any(run.batch for run in loaded.runs):
        raise click.UsageError(
            "--until plays round by round, and a round in batches takes a day: leave one out"
        )
    folder = output or Path("runs") / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    # Other benches name the log itself; here the log is in the run's folder.
    folder = folder.with_suffix("") if folder.suffix == ".jsonl" and not folder.exists() else folder
    among = sitting(now, loaded, played)
    if until:
        sys.exit(_until(loaded, played, folder, until, width, resume, scheduler))
    with TerminalProgress() as progress:
        summary = run_matrix_sync(
            loaded,
            played,
            folder,
            resume=resume,
            retry_errors=retry_errors,
            among=among,
            cancel_batches=cancel_batches,
            scheduler=scheduler,
            on_attempt=progress,
            on_wait=progress.wait,
        )
    _tell(summary, url_of(folder) or str(folder))
    if record is not None:
        _record(played, folder, record)
    done = summary.done and not summary.nothing_supported
    sys.exit(2 if summary.abandoned else 0 if done else 1)


def _until(
    loaded: Config,
    played: Sequence[Suite],
    folder: Path,
    sides: tuple[str, str],
    width: float,
    resume: bool,
    scheduler: str | None,
) -> int:
    """Play two sides round by round; return 0 when the rule ended it and 1 when something else did."""
    from toolbench.cli.sequential import run_until
    from toolbench.numbers.sequence import Rule
    from toolbench.showing.progress import TerminalProgress

    rule = Rule(*sides, budget=loaded.repetitions, width=width)
    with TerminalProgress() as progress:
        summary, path, why = run_until(
            loaded,
            played,
            folder,
            rule,
            resume=resume,
            scheduler=scheduler,
            on_attempt=progress,
            on_wait=progress.wait,
        )
    low, high = path[-1] if path else (-1.0, 1.0)
    say(
        f"{folder}: after {len(path)} of {rule.budget} rounds: {why or summary.stopped or 'given up'}; "
        f"difference between {100 * low:+.0f} and {100 * high:+.0f} points"
    )
    return 0 if why else 1


def _record(played: Sequence[Suite], folder: Path, into: Path) -> None:
    """Write an executor script of what live tools answered in a run, by suite."""
    import json

    from toolbench.domain.files import create_all
    from toolbench.domain.log import RunLog
    from toolbench.running.asked import recording_of
    from toolbench.running.live import recorded_script

    attempts = RunLog.open(folder).attempts
    for suite in (suite for suite in played if suite.executor.remote):
        mine = (attempt for attempt in attempts if attempt.suite == suite.name)
        script, differing = recorded_script(suite.executor, mine)
        path = recording_of(into, suite.name)
        create_all({path: json.dumps(script, ensure_ascii=False, indent=1) + "\n"})
        other = (
            f"; {differing} were answered otherwise later, the first answers are kept" if differing else ""
        )
        item(f"{path}: {plural(len(script['rules']), 'call')} recorded{other}")


def _tell(summary: RunSummary, folder: str) -> None:
    """Print what a run came to and what to do next."""
    if summary.set_aside:
        item(f"toolbench: {summary.set_aside}", err=True)
    say(
        f"{folder}: {plural(summary.made, 'attempt')} made, {summary.skipped} there before, "
        f"{summary.total} planned, {plural(summary.transport_errors, 'transport error')}, "
        f"{summary.unsupported.total()} unsupported"
    )
    for line in summary.refusals:
        item(f"toolbench: {line}", err=True)
    if summary.nothing_supported:
        say("toolbench: nothing was played: every attempt of a model is unsupported", err=True)
    if summary.judge_errors:
        failed = plural(summary.judge_errors, "attempt")
        say(f"toolbench: toolbench itself failed on {failed} (judge_error)", err=True)
    for name, reason in summary.abandoned.items():
        item(f"toolbench: {name}: given up after repeated failure: {reason}", err=True)
    if summary.stopped:
        item(f"toolbench: stopped early: {summary.stopped}", err=True)
    if not summary.done:
        say(f"toolbench: incomplete; continue with --output {folder} --resume --retry-errors", err=True)
    elif not summary.complete:
        say(f"{plural(summary.total - summary.made - summary.skipped, 'planned attempt')} left for --resume")
    if summary.made + summary.skipped:
        item(f"next: toolbench report {folder}")


@click.command()
@click.option("--config", type=EXISTING, required=True)
@click.option(
    "--against",
    metavar="LABEL",
    help="Play one fixed exchange with the entry of this provider label and through every other entry with "
    "the same model and protocol, and list what the others drop or change (a few hundred tokens each).",
)
@plain_errors
def models(config: Path, against: str | None) -> None:
    """List the configured models and check key and address of each with one cheap request.

    Exit code 1 when a gateway differs from the provider, 2 when a model cannot be called.

    \b
    Examples:
      toolbench models --config config.json
      toolbench models --config config.json --against openai
    """
    import asyncio

    if against is not None:
        _gateways(config, against)
        return
    from toolbench.running.probe import probe

    found = asyncio.run(probe(config))
    for entry in found:
        mark = "ok  " if entry.usable else "FAIL"
        capabilities = f"  [{entry.capabilities}]" if entry.capabilities else ""
        name = f"{entry.provider}/{entry.model} ({entry.protocol}, {entry.address})"
        item(f"{mark} {name}: {entry.state}{capabilities}")
    sys.exit(0 if all(entry.usable for entry in found) else 2)


def _gateways(config: Path, label: str) -> None:
    import asyncio

    from toolbench.running.gateway import compare_gateways

    found = asyncio.run(compare_gateways(config, label))
    for pair in found:
        number = plural(len(pair.differences), "difference")
        item(f"{pair.direct.key} directly and as {pair.gateway.key}: {number}")
        for difference in pair.differences:
            item(f"  {difference}")
    sys.exit(1 if any(pair.differences for pair in found) else 0)
