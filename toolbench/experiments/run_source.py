"""Getting the run that an experiment looks at: a saved one, or one that is played now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from toolbench.domain.condition import Condition, Selection
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME
from toolbench.domain.record import Progress
from toolbench.domain.suite import Suite
from toolbench.errors import InputError, ToolbenchError
from toolbench.numbers.signature import signature
from toolbench.running.asked import prepare
from toolbench.running.runner import run_matrix
from toolbench.showing import html, sections
from toolbench.showing.html import Page
from toolbench.showing.view import RunView

Setup = Callable[[Config, Sequence[Suite]], tuple[Config, list[Suite]]]
"""From what is configured to what an experiment plays."""


class Refusal(InputError):
    """An experiment cannot be made from what there is; a notebook shows the line without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"Not possible: {self}"]


@contextmanager
def politely() -> Iterator[None]:
    """Turn every error that a user can act on into a :class:`Refusal`."""
    try:
        yield
    except ToolbenchError as fault:
        raise Refusal(str(fault)) from None


async def open_run(
    plan: Setup,
    run: str = "",
    *,
    config: str = "",
    output: str = "",
    tags: Sequence[str] = (),
    langs: Sequence[str] = (),
    repetitions: int = 0,
    on_attempt: Callable[[Progress], None] | None = None,
) -> RunView:
    """Return a saved run, or play what the plan makes of a configuration and return that.

    Parameters
    ----------
    run
        Folder of a saved run; when given, nothing is played and the rest is not looked at.
    output
        Folder of the new run. A run that is there already is continued: finished attempts are not repeated.
    tags, langs
        Cases to keep; empty leaves the configuration's choice.
    repetitions
        0 takes the configuration's number.

    Raises
    ------
    Refusal
        For a configuration, suite or log that cannot be used.
    """
    with politely():
        if run:
            return RunView(run)
        loaded, suites = prepare(config, repetitions=repetitions or None)
        cases = replace(loaded.cases, **_given(tags=tags, langs=langs))
        planned, chosen = plan(replace(loaded, cases=cases), suites)
        folder = Path(output)
        resume = (folder / LOG_NAME).exists()
        await run_matrix(planned, chosen, folder, resume=resume, on_attempt=on_attempt)
        return RunView(folder)


def _given(**choices: Sequence[str]) -> dict[str, list[str]]:
    return {name: list(values) for name, values in choices.items() if values}


def under(*conditions: Condition) -> Setup:
    """Return the plan to play everything configured under these conditions."""

    def plan(config: Config, suites: Sequence[Suite]) -> tuple[Config, list[Suite]]:
        return replace(config, conditions=conditions), list(suites)

    return plan


USUAL: dict[str, str | bool | None] = {
    "tool_choice": "auto",
    "tool_order": "canonical",
    "descriptions": None,
    "prompt": None,
    "error_hints": True,
}
"""Field of a condition → the value that changes nothing."""


Arms = dict[str | bool | None, str]
"""Value of a field → name of the condition that has it."""


def families(view: RunView, field: str) -> list[Arms]:
    """Return every set of conditions that differ in one field alone, in running order.

    Which cases a condition chooses does not matter: only cases that all of them have are compared.
    """
    sets: dict[Condition, Arms] = {}
    for name, condition in view.header.load_conditions().items():
        changes = {"name": "", "cases": Selection(), field: USUAL[field]}
        rest = replace(condition, **changes)  # type: ignore[arg-type]
        sets.setdefault(rest, {}).setdefault(getattr(condition, field), name)
    return list(sets.values())


def pair(view: RunView, field: str, left: str | bool | None, right: str | bool | None) -> tuple[str, str]:
    """Return the names of two conditions that differ in one field alone.

    Raises
    ------
    Refusal
        When the run has no such two.
    """
    if left == right:
        raise Refusal(f"{field}: left and right are both {_said(left)}; choose two different ones")
    for found in families(view, field):
        if left in found and right in found:
            return found[left], found[right]
    raise Refusal(
        f"run {view.header.run_id} cannot answer this: no two conditions that differ only in {field} "
        f"({_said(left)} and {_said(right)}); it has {', '.join(view.header.load_conditions())}. "
        "Leave run empty to play what is needed"
    )


def _said(value: str | bool | None) -> str:
    words: dict[str | bool | None, str] = {None: "of the suite itself", True: "on", False: "off"}
    return words.get(value, repr(value))


def overview(view: RunView) -> Page:
    """What was played: the facts of the run, and the signature of every suite, language and condition."""
    lines = [
        str(signature(view.header, {"suite": a.suite, "lang": a.lang, "condition": a.condition}, view.suites))
        for a in view.arms
    ]
    return sections.summary(view) + html.folded("signatures of the figures", html.bullets(lines))


def subjects(view: RunView) -> list[str]:
    """Return the models, or the baselines where no model was run."""
    return view.models or view.players


def places(view: RunView, conditions: Sequence[str]) -> list[tuple[str, str]]:
    """Return every suite and language that was to be played under any of the conditions."""
    return list(dict.fromkeys((arm.suite, arm.lang) for arm in view.arms if arm.condition in conditions))
