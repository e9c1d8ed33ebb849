"""Does a player do the same again? Repetitions of equal cases under one condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.config import Config, Settings
from toolbench.domain.plurals import plural
from toolbench.domain.suite import Suite
from toolbench.experiments import charts
from toolbench.experiments.answering import answer
from toolbench.experiments.run_source import Refusal, Setup, subjects
from toolbench.numbers.repeats import by_case, curves
from toolbench.showing import html, plots
from toolbench.showing.format import each, percent
from toolbench.showing.html import Page
from toolbench.showing.sections import figures as known_figures
from toolbench.showing.sections import is_control
from toolbench.showing.view import Arm, RunView

FIGURES = ("consistency", "distinct_decisions", "pass^k", "pass@k")


def plan(temperature: float = -1.0) -> Setup:
    """Return the plan to repeat every case under automatic choice.

    Parameters
    ----------
    temperature
        Of every model, in place of the configured one where it is not negative. A fixed seed would make
        repetitions copies of each other, so that seeds are left to the provider.
    """

    def sampled(settings: Settings) -> Settings:
        kept = settings.temperature if temperature < 0 else temperature
        return replace(settings, seed=None, temperature=kept)

    def made(config: Config, suites: Sequence[Suite]) -> tuple[Config, list[Suite]]:
        runs = tuple(replace(run, settings=sampled(run.settings)) for run in config.runs)
        repetitions = max(config.repetitions, 2)
        usual = (BUILT_IN_CONDITIONS["auto"],)
        return replace(config, runs=runs, conditions=usual, repetitions=repetitions), list(suites)

    return made


def arms(view: RunView) -> list[Arm]:
    """Return the arms in which cases were repeated; controls have nothing to decide.

    Raises
    ------
    Refusal
        When the run repeated nothing.
    """
    found = []
    for arm in view.arms:
        frame = view.at(view.attempts, arm)
        if not is_control(view, arm) and frame["repetition"].nunique() > 1:
            found.append(arm)
    if not found:
        raise Refusal(
            f"run {view.header.run_id} has one repetition a case, so consistency cannot be said. "
            "Leave run empty to play several"
        )
    return found


def agreement_page(view: RunView) -> Page:
    """Modal share, distinct decisions, ``pass^k`` and ``pass@k`` of every arm, with intervals."""
    rows = []
    for arm in arms(view):
        table, cases = view.at(view.metrics, arm), by_case(view.at(view.attempts, arm))
        for player in view.players:
            mine = known_figures(table, player)
            if not mine:
                continue
            cells = {name: _cell(name, mine[name]) for name in FIGURES}
            steady = cases[cases["player"] == player]["distinct"]
            always = f"{int((steady == 1).sum())}/{len(steady)}" if len(steady) else "–"
            rows.append({"player": player, "arm": str(arm), **cells, "cases always alike": always})
    frame = pd.DataFrame(rows).rename(columns={"consistency": "modal share"})
    caption = "Agreement of repetitions: figure and 95 % interval"
    note = "k is the smallest number of scored repetitions of any case."
    return html.table(frame, caption, numbers=list(frame.columns[2:])) + html.paragraph(note, "note")


def _cell(name: str, row: Mapping[str, Any]) -> str:
    if pd.isna(row["value"]):
        return "–"
    counted = name == "distinct_decisions"
    value = f"{row['value']:.2f}" if counted else percent(row["value"])
    if pd.isna(row["ci_low"]):
        return value
    ends = (f"{end:.2f}" if counted else f"{100 * end:.0f}" for end in (row["ci_low"], row["ci_high"]))
    return f"{value} [{'–'.join(ends)}]"


def grid_page(view: RunView) -> Page:
    """Case × repetition for every player: equal letters are equal behaviour."""
    pages = []
    for arm in arms(view):
        frame = view.at(view.attempts, arm)
        cases = by_case(view.at(view.attempts, arm))
        for player in subjects(view):
            if frame[frame["player"] == player].empty:
                continue
            mine = cases[cases["player"] == player].sort_values("distinct", ascending=False, kind="stable")
            words = ", ".join(f"{row.case_id} {row.distinct}" for row in each(mine.head(8)))
            title = f"{arm}, {player}: equal letters are equal behaviour, in brackets: did not pass"
            alt = f"{title}. Distinct decisions of the least steady cases: {words or 'none repeated'}"
            pages.append(html.figure(plots.consistency_grid(frame, player), alt, title))
    return html.join(pages)


def curves_page(view: RunView) -> Page:
    """``pass@k`` and ``pass^k`` over k: how much trying again helps, and how long luck holds."""
    pages = []
    for arm in arms(view):
        table = curves(view.at(view.attempts, arm), subjects(view))
        if table.empty:
            continue
        last = table.groupby("player", sort=False).last()
        words = "; ".join(
            f"{player}, k {int(row['k'])}: one passes {percent(row['pass@k'])}, all {percent(row['pass^k'])}"
            for player, row in last.iterrows()
        )
        title = f"{arm}: chance that one of k tries passes, and that all do"
        pages.append(html.figure(charts.curves(table), f"{title}. {words}", title))
    return html.join(pages)


def answer_page(view: RunView) -> Page:
    """Does it do the same again? Cases that were always alike, and what luck decides."""
    lines = ["Does a model do the same again?"]
    for arm in arms(view):
        table, cases = view.at(view.metrics, arm), by_case(view.at(view.attempts, arm))
        for player in subjects(view):
            mine, steady = known_figures(table, player), cases[cases["player"] == player]["distinct"]
            if not mine or not len(steady):
                continue
            alike = f"{int((steady == 1).sum())} of {plural(len(steady), 'case')}"
            one, every = mine["pass@k"]["value"], mine["pass^k"]["value"]
            luck = "the distance is luck" if one > every else "luck decides nothing"
            lines.append(
                f"{player} ({arm}): always alike in {alike}; one of the tries passes in {percent(one)} of "
                f"them, all do in {percent(every)}: {luck}."
            )
    return answer(lines if len(lines) > 1 else [*lines, "Nothing was scored, so this run cannot say."])
