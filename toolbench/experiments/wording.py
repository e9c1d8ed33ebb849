"""Do other words change what a player does? Two wordings of the tools, or of the system prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import pandas as pd

from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition
from toolbench.domain.suite import Suite
from toolbench.experiments.answering import effect_answer
from toolbench.experiments.effects import condition_effects, effect_table, slope_pages
from toolbench.experiments.run_source import Refusal, Setup, pair, places, under
from toolbench.numbers.comparison import Comparison
from toolbench.showing import html
from toolbench.showing.comparison import case_table
from toolbench.showing.html import Page
from toolbench.showing.view import RunView

Field = Literal["descriptions", "prompt"]
METRICS = (
    "pass_rate",
    "decision_accuracy",
    "tool_selection_accuracy",
    "exact_argument_accuracy",
    "unsafe_call_rate",
    "clarification_rate",
)


def plan(field: Field = "descriptions", left: str = "", right: str = "bad") -> Setup:
    """Return the plan to play two variants.

    Parameters
    ----------
    field
        ``descriptions`` (``descriptions.<variant>.json``) or ``prompt`` (``prompt.<lang>.<variant>.md``).
    left, right
        Names of variants; an empty name is the suite's own wording.
    """
    return under(_condition(_checked(field), left), _condition(field, right))


def _checked(field: str) -> Field:
    if field == "descriptions":
        return "descriptions"
    if field == "prompt":
        return "prompt"
    raise Refusal(f"{field!r} has no variants; choose descriptions or prompt")


def _condition(field: Field, variant: str) -> Condition:
    usual = BUILT_IN_CONDITIONS["auto"]
    if not variant:
        return usual
    name = f"{field}_{variant}"
    if field == "prompt":
        return replace(usual, name=name, prompt=variant)
    return replace(usual, name=name, descriptions=variant)


def paired(view: RunView, field: Field, left: str, right: str) -> Comparison:
    """Compare the two variants case by case.

    Raises
    ------
    Refusal
        When the run does not have both.
    """
    names = pair(view, _checked(field), left or None, right or None)
    return condition_effects(view, names[0], [names[1]], METRICS, field)


def texts_page(view: RunView, field: Field, left: str, right: str) -> Page:
    """What differs between the two wordings, as the player was given it."""
    names = pair(view, _checked(field), left or None, right or None)
    pages = []
    for suite_name, lang in places(view, names):
        suite = view.suites[suite_name]
        if field == "prompt":
            texts = [suite.prompt(lang, variant or None) for variant in (left, right)]
            shown = html.difference(*texts)
        else:
            shown = html.table(_worded(suite, lang, left, right))
        pages.append(html.folded(f"{suite_name} · {lang}: what was changed", shown))
    return html.join(pages)


def _worded(suite: Suite, lang: str, left: str, right: str) -> pd.DataFrame:
    """Return one row for each part of a tool that the two variants word differently."""
    before, after = (dict(_tools(suite, lang, variant or None)) for variant in (left, right))
    rows = [
        {"part": part, named(left): text, named(right): after[part]}
        for part, text in before.items()
        if text != after[part]
    ]
    return pd.DataFrame(rows, columns=["part", named(left), named(right)])


def _tools(suite: Suite, lang: str, variant: str | None) -> Iterator[tuple[str, str]]:
    overlay = suite.overlay(variant)
    for tool in suite.contract.tools:
        worded = overlay.apply(tool) if overlay else tool
        yield f"{tool.name}: name", worded.name
        yield f"{tool.name}: description", worded.described(lang)
        for name, schema in worded.properties.items():
            if isinstance(schema, dict):
                yield f"{tool.name}: {name}", str(schema.get("description", "–"))


def effect_page(found: Comparison, left: str, right: str) -> Page:
    """Slopes with the paired difference, and the table of all figures."""
    caption = f"{named(left)} → {named(right)}, on the same cases"
    return slope_pages(found, "pass_rate", named(left), named(right)) + effect_table(found, caption)


def named(variant: str) -> str:
    """Return how a variant is called on a page."""
    return variant or "own wording"


def changed_page(found: Comparison) -> Page:
    """Cases that fail only with the right wording, then those that pass only with it."""
    failing = case_table(found.newly_failing, "Newly failing")
    return failing + case_table(found.newly_passing, "Newly passing")


def classes(found: Comparison) -> pd.DataFrame:
    """Return ``player, suite, lang, case_class, cases, newly_failing, newly_passing``."""
    keys = ["player", "suite", "lang", "case_class"]
    marked = found.cases.assign(
        newly_failing=found.cases["outcome"] == "only left",
        newly_passing=found.cases["outcome"] == "only right",
    )
    return (
        marked.groupby(keys, sort=False)
        .agg(
            cases=("case_id", "size"),
            newly_failing=("newly_failing", "sum"),
            newly_passing=("newly_passing", "sum"),
        )
        .reset_index()
    )


def classes_page(found: Comparison) -> Page:
    """Classes of cases in which anything changed."""
    table = classes(found)
    moved = table[(table["newly_failing"] > 0) | (table["newly_passing"] > 0)]
    if moved.empty:
        return html.paragraph("No case changed its outcome.", "note")
    shown = moved.rename(
        columns={"case_class": "class", "newly_failing": "newly failing", "newly_passing": "newly passing"}
    )
    return html.table(shown, "Changes by class of cases", numbers=["cases", "newly failing", "newly passing"])


def answer_page(found: Comparison, left: str, right: str) -> Page:
    """Does the other wording change what passes?"""
    return effect_answer(found, f"Does {named(right)} in place of {named(left)} change what passes?")
