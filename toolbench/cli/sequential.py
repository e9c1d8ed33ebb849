"""Runs that end when enough is known: a round of repetitions, a look, and on or not.

It stands here because it plays and judges in turn: playing may not know the judge, and figures may not know
the network, so that only a room above both can drive them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from toolbench.domain.config import Config
from toolbench.domain.record import Progress
from toolbench.domain.suite import Suite
from toolbench.errors import InputError
from toolbench.numbers.frames import load_run
from toolbench.numbers.sequence import LABEL, Rule, Stop, path_of, stops
from toolbench.numbers.sides import part_of
from toolbench.running.asked import columns
from toolbench.running.runner import run_matrix_sync
from toolbench.running.summary import RunSummary

Looks = list[tuple[float, float]]


def run_until(
    config: Config,
    suites: Sequence[Suite],
    folder: Path,
    rule: Rule,
    *,
    resume: bool = False,
    scheduler: str | None = None,
    on_attempt: Callable[[Progress], None] | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> tuple[RunSummary, Looks, Stop | None]:
    """Play repetitions round by round, every player in each, until the rule ends the run.

    The rule is a label of the header, written before the first request.

    Returns
    -------
    tuple
        What the last round made, the interval after every round, and why the run ended (``None`` where a
        budget of requests or a model that was given up ended it first).

    Raises
    ------
    InputError
        When a side names what the run will not have, or is more than one player under one condition.
    """
    _refuse_unknown(config, suites, rule)
    ruled = replace(config, repetitions=rule.budget, labels={**config.labels, LABEL: str(rule)})
    path: Looks = []
    for number in range(rule.budget):
        summary = run_matrix_sync(
            ruled,
            suites,
            folder,
            resume=resume or number > 0,
            among=lambda key, number=number: key.repetition == number,  # type: ignore[misc]
            scheduler=scheduler,
            on_attempt=on_attempt,
            on_wait=on_wait,
        )
        path = path_of(load_run(folder), rule)
        why = stops(rule, path) if path else None
        if why or summary.stopped or summary.abandoned:
            return summary, path, why
    return summary, path, "budget"


def _refuse_unknown(config: Config, suites: Sequence[Suite], rule: Rule) -> None:
    there = columns(config, suites)
    for text in (rule.left, rule.right):
        chosen = part_of(text)
        if not chosen:
            raise InputError(f"until: {text!r}: write column=value, for example model=a")
        for column, value in chosen.items():
            if value not in there[column]:
                known = ", ".join(there[column])
                raise InputError(f"until: the run has no {column} {value!r}; there is {known}")
