"""Does a player do the same again? Repetitions of equal cases under one condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from toolbench.domain.config import BUILT_IN_CONDITIONS, Config, Settings
from toolbench.domain.suite import Suite
from toolbench.experiments import figures
from toolbench.experiments.effects import each, percent
from toolbench.experiments.playing import Plan, Refusal, subjects
from toolbench.numbers.repeats import ESTIMATES
from toolbench.showing import html, plots
from toolbench.showing.html import Page
from toolbench.showing.sections import figures as known_figures
from toolbench.showing.sections import is_control
from toolbench.showing.view import Arm, RunView

FIGURES = ("consistency", "distinct_decisions", "pass^k", "pass@k")


def plan(temperature: float = -1.0) -> Plan:
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


def by_case(view: RunView, arm: Arm) -> pd.DataFrame:
    """Return ``player, case_id, repetitions, passed, distinct, modal_share`` for repeated cases of one arm.

    ``distinct`` counts different behaviour (decision and arguments); ``modal_share`` is the share of
    repetitions that behave in the most frequent way.
    """
    frame = view.at(view.attempts, arm)
    scored = frame[frame["scored"].astype(bool)]
    rows = []
    for (player, case), mine in scored.groupby(["player", "case_id"], sort=True):
        counts = mine["signature"].value_counts()
        if len(mine) > 1:
            rows.append(
                {
                    "player": player,
                    "case_id": case,
                    "repetitions": len(mine),
                    "passed": int(mine["passed"].sum()),
                    "distinct": len(counts),
                    "modal_share": float(counts.max() / len(mine)),
                }
            )
    columns = ["player", "case_id", "repetitions", "passed", "distinct", "modal_share"]
    return pd.DataFrame(rows, columns=columns)


def curves(view: RunView, arm: Arm) -> pd.DataFrame:
    """Return ``player, k, pass^k, pass@k``: means over cases, for k up to what every case of a player has.

    At the largest k these are the metrics ``pass^k`` and ``pass@k``.
    """
    cases = by_case(view, arm)
    rows = []
    for player in view.players:
        mine = cases[cases["player"] == player]
        counts = list(zip(mine["repetitions"], mine["passed"], strict=True))
        for k in range(1, int(mine["repetitions"].min()) + 1 if len(mine) else 1):
            means = {
                name: float(np.mean([estimate(n, c, k) for n, c in counts]))
                for name, estimate in ESTIMATES.items()
            }
            rows.append({"player": player, "k": k, **means})
    return pd.DataFrame(rows, columns=["player", "k", *ESTIMATES])


def agreement_page(view: RunView) -> Page:
    """Modal share, distinct decisions, ``pass^k`` and ``pass@k`` of every arm, with intervals."""
    rows = []
    for arm in arms(view):
        table, cases = view.at(view.metrics, arm), by_case(view, arm)
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
    if name == "distinct_decisions":
        return f"{row['value']:.2f} [{row['ci_low']:.2f}–{row['ci_high']:.2f}]"
    return f"{percent(row['value'])} [{100 * row['ci_low']:.0f}–{100 * row['ci_high']:.0f}]"


def grid_page(view: RunView) -> Page:
    """Case × repetition for every player: equal letters are equal behaviour."""
    pages = []
    for arm in arms(view):
        frame = view.at(view.attempts, arm)
        cases = by_case(view, arm)
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
        table = curves(view, arm)
        table = table[table["player"].isin(subjects(view))]
        if table.empty:
            continue
        last = table.groupby("player", sort=False).last()
        words = "; ".join(
            f"{player}, k {int(row['k'])}: one passes {percent(row['pass@k'])}, all {percent(row['pass^k'])}"
            for player, row in last.iterrows()
        )
        title = f"{arm}: chance that one of k tries passes, and that all do"
        pages.append(html.figure(figures.curves(table), f"{title}. {words}", title))
    return html.join(pages)
