"""What came of a run: ``score``, ``report``, ``compare``, ``gate``, ``promote``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolbench.cli.plain import EXISTING, item, plain_errors, say
from toolbench.domain.plurals import plural
from toolbench.errors import InputError

if TYPE_CHECKING:
    from toolbench.domain.suite import Suite
    from toolbench.numbers.frames import ScoredRun

SCHEDULER = click.option(
    "--scheduler", metavar="ADDRESS", help="Let the workers of this dask scheduler judge."
)
NAMED = 10
"""Attempts without a verdict that are named one by one."""


@click.command()
@click.argument("run", type=EXISTING)
@click.option("--json", "as_json", is_flag=True, help="Print report.json's content.")
@click.option("--reparse", is_flag=True, help="Read the raw responses again and list what differs (exit 1).")
@click.option("--labels", is_flag=True, help="Put what people have said in place of what the judge found.")
@SCHEDULER
@plain_errors
def score(run: Path, as_json: bool, reparse: bool, labels: bool, scheduler: str | None) -> None:
    """Judge a run again from its JSONL alone and print the figures.

    \b
    Examples:
      toolbench score runs/demo
      toolbench score runs/demo --json > figures.json
      toolbench score runs/demo --reparse
      toolbench score runs/demo --labels
    """
    if reparse:
        _reparse(run)
        return
    from toolbench.numbers.frames import load_run
    from toolbench.numbers.outputs import report_text

    scored = load_run(run, labels=labels, scheduler=scheduler)
    for told in (*scored.notes, *scored.problems, *scored.people.problems):
        item(f"toolbench: {told}", err=True)
    unjudged = _name_judge_errors(scored)
    if as_json:
        say(report_text(scored).removesuffix("\n"))
    else:
        from toolbench.showing.terminal import score_table

        say(score_table(run, scored))
    sys.exit(1 if unjudged else 0)


@click.command()
@click.argument("run", type=EXISTING)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@plain_errors
def agreement(run: Path, as_json: bool) -> None:
    """Hold the judge against the labels people gave (labels.jsonl beside the log).

    False alarms are right attempts that it fails, misses wrong ones that it passes, each with Wilson's 95 %
    interval, by language and finding. Exit code 1 when a label cannot be used.

    \b
    Examples:
      toolbench agreement runs/demo
      toolbench agreement runs/demo --json
    """
    from toolbench.numbers.agreement import agreement as held

    found = held(run)
    say(json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False) if as_json else found)
    for problem in found.problems:
        item(f"toolbench: {problem}", err=True)
    sys.exit(1 if found.problems else 0)


def _name_judge_errors(*runs: ScoredRun) -> int:
    """Name the attempts that toolbench could not judge, the first with their reasons; return their number."""
    lines = list(dict.fromkeys(line for scored in runs for line in scored.judge_errors))
    for line in lines[:NAMED]:
        item(f"toolbench: {line}", err=True)
    if lines:
        say(f"toolbench: {plural(len(lines), 'attempt')} could not be judged: in no figure", err=True)
    return len(lines)


def _reparse(run: Path) -> None:
    from toolbench.domain.log import RunLog
    from toolbench.running.reparse import reparse

    number = 0
    for number, difference in enumerate(reparse(RunLog.open(run)), 1):  # noqa: B007 - counted
        item(difference)
    say(f"{plural(number, 'difference')} between recorded and reparsed decisions")
    sys.exit(1 if number else 0)


@click.command()
@click.argument("run", type=EXISTING)
@click.option("--lang", type=click.Choice(["en", "ru"]), default="en", show_default=True, help="Of the page.")
@click.option(
    "--bom", is_flag=True, help="Begin errors.csv with a byte order mark, as some spreadsheets want."
)
@SCHEDULER
@plain_errors
def report(run: Path, lang: str, bom: bool, scheduler: str | None) -> None:
    """Render a run: report.ipynb, report.html, report.json and errors.csv in its folder.

    \b
    Examples:
      toolbench report runs/demo
      toolbench report runs/demo --lang ru
    """
    from toolbench.showing.progress import ReportProgress
    from toolbench.showing.report import write_report

    with ReportProgress() as watch:
        written = write_report(run, lang=lang, watch=watch, bom=bom, scheduler=scheduler)
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


@click.command()
@click.argument("left", type=EXISTING)
@click.argument("right", type=EXISTING, required=False)
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Part of both sides.")
@click.option("--left", "left_where", multiple=True, metavar="COLUMN=VALUE", help="Part of the left side.")
@click.option("--right", "right_where", multiple=True, metavar="COLUMN=VALUE", help="Part of the right side.")
@click.option("--factor", multiple=True, help="What may differ: model, condition, prompt, descriptions …")
@click.option(
    "--metric", multiple=True, help="Compare these metrics; the first decides unless pass_rate is one."
)
@click.option("--json", "as_json", is_flag=True, help="Print sides, table and cases as JSON.")
@click.option(
    "--fail-on-regression", is_flag=True, help="Exit 1 when the right side is worse (Holm's p < 0.05)."
)
@plain_errors
def compare(
    left: Path,
    right: Path | None,
    where: tuple[str, ...],
    left_where: tuple[str, ...],
    right_where: tuple[str, ...],
    factor: tuple[str, ...],
    metric: tuple[str, ...],
    as_json: bool,
    fail_on_regression: bool,
) -> None:
    """Compare two runs, or two parts of one run, case by case.

    Refused, with the list of differences, when the two differ in more than the compared factor. Exit codes:
    0, 1 for a regression (if asked for) or attempts that could not be judged, 2 when refused.

    \b
    Examples:
      toolbench compare runs/old runs/new
      toolbench compare runs/demo --left condition=auto --right condition=reversed
      toolbench compare runs/demo --where condition=auto --left model=a --right model=b
      toolbench compare runs/main runs/branch --metric pass_rate --fail-on-regression
    """
    from toolbench.numbers.compare import SHOWN, factors_of
    from toolbench.numbers.compare import compare as paired
    from toolbench.numbers.frames import load_run
    from toolbench.numbers.sides import select
    from toolbench.showing.comparison import text

    runs = [load_run(left)]
    runs.append(load_run(right) if right else runs[0])
    chosen = [{**_pairs(where), **_pairs(own)} for own in (left_where, right_where)]
    sides = [select(scored, None, **own) for scored, own in zip(runs, chosen, strict=True)]
    # What was chosen differently is what is compared, unless said otherwise.
    factors = factor or factors_of(*chosen)
    found = paired(sides[0], sides[1], factors=factors, metrics=metric or SHOWN)
    say(json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False) if as_json else text(found))
    unjudged = _name_judge_errors(*runs)
    worse = found.regressions
    if fail_on_regression and len(worse):
        item(f"toolbench: {plural(len(worse), 'regression')} in {found.primary}", err=True)
    sys.exit(1 if unjudged or (fail_on_regression and len(worse)) else 0)


@click.command()
@click.argument("folder", type=EXISTING)
@click.option("--metric", multiple=True, default=("pass_rate",), show_default=True)
@plain_errors
def trends(folder: Path, metric: tuple[str, ...]) -> None:
    """Show how figures went from run to run: one line per run, model and condition, oldest first.

    \b
    Example:
      toolbench trends runs --metric pass_rate --metric unsafe_call_rate
    """
    from toolbench.numbers.trends import trends as over_time

    table = over_time(folder, metric)
    say(table.round(4).to_string(index=False))


@click.command()
@click.argument("run", type=EXISTING)
@click.option("--gates", type=EXISTING, help="Gates to use instead of those fixed before the run.")
@click.option("--default", "use_default", is_flag=True, help="Use the gates that ship with toolbench.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--junit", type=EXISTING, help="Write the report as JUnit XML to this file as well.")
@click.option("--labels", is_flag=True, help="Put what people have said in place of what the judge found.")
@plain_errors
def gate(
    run: Path, gates: Path | None, use_default: bool, as_json: bool, junit: Path | None, labels: bool
) -> None:
    """Decide the gates of a run. Exit codes: 0 pass, 1 fail, 3 not enough data, 2 no gates or no run.

    \b
    Examples:
      toolbench gate runs/nightly
      toolbench gate runs/demo --default
      toolbench gate runs/nightly --gates gates.json --json --junit gates.xml
    """
    from toolbench.domain.files import write_text_atomic
    from toolbench.numbers.frames import load_run
    from toolbench.numbers.gates import EXIT_CODES, default_gates, evaluate, load_gates

    chosen = load_gates(gates) if gates else default_gates() if use_default else None
    scored = load_run(run, labels=labels)
    for problem in scored.people.problems:
        item(f"toolbench: {problem}", err=True)
    result = evaluate(scored, chosen)
    if junit:
        write_text_atomic(junit, result.to_junit() + "\n", InputError)
    say(json.dumps(result.to_json(), ensure_ascii=False, allow_nan=False) if as_json else result)
    # Gates may not pass on figures from which attempts are missing through a fault of toolbench.
    sys.exit(result.exit_code or (EXIT_CODES["not enough data"] if _name_judge_errors(scored) else 0))


@click.command()
@click.argument("run", type=EXISTING)
@click.option("--failed", is_flag=True, required=True, help="Promote the cases that a model failed.")
@click.option("--suite", required=True)
@click.option("--lang", required=True)
@click.option("--code", multiple=True, help="Only failures with this finding.")
@click.option("--output", type=EXISTING, required=True, help="Case file to add to (made when not there).")
@plain_errors
def promote(run: Path, failed: bool, suite: str, lang: str, code: tuple[str, ...], output: Path) -> None:
    """Turn failed attempts into cases of a permanent regression suite, with their origin.

    A file cases/NAME.LANG.jsonl whose contracts/NAME is not there gets it from the run, so that the new suite
    is run and linted by its name.

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
    scored = load_run(run)
    lines = promoted(
        scored,
        suite,
        lang,
        codes=code,
        taken=[case["id"] for case in there],
        origins=[str(origin["case_hash"]) for origin in froms if "case_hash" in origin],
    )
    append_text(output, lines)
    say(f"{output}: {lines.count(chr(10))} cases added")
    if output.absolute().parent.name == "cases":
        _complete(scored.suites[suite], output.absolute())


def _complete(suite: Suite, cases: Path) -> None:
    """Put the contract beside a case file where suites are looked for, and say how to go on."""
    from toolbench.authoring import write_folder

    name, contracts = cases.name.split(".")[0], cases.parent.parent / "contracts"
    if write_folder(suite, contracts / name):
        say(f"{contracts / name}: the contract they were played with")
    say(f"next: toolbench lint {contracts} {cases.parent}")
    say(f"      toolbench run --config config.json --suites {name} --output runs/{name}")
