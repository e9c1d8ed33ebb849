"""Paired effects of one or several changes on the models of a run, and the figure that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolbench.experiments import charts
from toolbench.experiments.run_source import politely, subjects
from toolbench.numbers.compare import compare_all
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.sides import Side, of_players, select
from toolbench.showing import comparison, html
from toolbench.showing.format import NAMES, each, percent, points
from toolbench.showing.html import Page
from toolbench.showing.view import RunView


def effects(
    view: RunView, sides: Iterable[tuple[Side, Side]], factor: str, metrics: Sequence[str]
) -> Comparison:
    """Compare every pair of sides case by case; all rows of the table are corrected together.

    Baselines are left out where a model was run: they would only make the correction stricter.

    Raises
    ------
    Refusal
        When two sides cannot be compared.
    """
    players = {key for key, name in view.names.items() if name in subjects(view)}
    with politely():
        pairs = [(of_players(left, players), of_players(right, players)) for left, right in sides]
        return comparison.with_players(view, compare_all(pairs, (factor,), metrics))


def condition_effects(
    view: RunView, before: str, after: Sequence[str], metrics: Sequence[str], factor: str = "condition"
) -> Comparison:
    """Compare one condition with each of several others."""
    with politely():
        left = select(view.scored, before, condition=before)
        sides = [(left, select(view.scored, name, condition=name)) for name in after]
    return effects(view, sides, factor, metrics)


def effect_table(found: Comparison, caption: str) -> Page:
    """The table of a comparison, and what limits it."""
    return comparison.effect_table(found, caption) + comparison.notes(found)


def slope_pages(found: Comparison, metric: str, left: str, right: str) -> Page:
    """One figure a suite and language: both shares of each player, and the paired difference."""
    pages = []
    table = found.table[found.table["metric"] == metric]
    for (suite, lang), rows in table.groupby(["suite", "lang"], sort=False):
        title = f"{suite} · {lang}: {NAMES.get(metric, metric)}, {left} and {right}"
        words = "; ".join(
            f"{row.player} {percent(row.left)} and {percent(row.right)}, "
            f"difference {points(row.delta, row.ci_low, row.ci_high)}"
            for row in each(rows)
        )
        pages.append(html.figure(charts.slopes(rows, left, right), f"{title}. {words}", title))
    return html.join(pages)
