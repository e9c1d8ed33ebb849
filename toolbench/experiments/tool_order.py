"""Does the order in which tools are listed matter? Rotations and the reversal of the canonical order.

A player that reads the tools decides alike whatever their order; one that prefers the first tool of the list
is found by *first-position preference*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from toolbench.domain.config import BUILT_IN_CONDITIONS, Condition, Config
from toolbench.domain.suite import Suite
from toolbench.experiments import charts
from toolbench.experiments.effects import condition_effects, effect_table
from toolbench.experiments.run_source import Refusal, Setup, families, places, subjects
from toolbench.numbers.compare import Comparison
from toolbench.numbers.flips import changed_cases, changes, decided, modes
from toolbench.showing import html
from toolbench.showing.comparison import FLIP_CELLS, LONGEST, flip_cells
from toolbench.showing.format import each, fraction
from toolbench.showing.html import Page
from toolbench.showing.view import Arm, RunView

CANONICAL = "canonical"
ALL = "mean of all"


def conditions(tools: int) -> tuple[Condition, ...]:
    """Return the canonical order, every rotation of so many tools, and the reversal, each order once."""
    usual = BUILT_IN_CONDITIONS["auto"]
    rotations = [replace(usual, name=f"rotate_{k}", tool_order=f"rotate:{k}") for k in range(1, tools)]
    # Two tools turned by one are two tools reversed.
    reversal = [BUILT_IN_CONDITIONS["reversed"]] if tools != 2 else []
    return (usual, *rotations, *(reversal if tools > 1 else []))


def plan() -> Setup:
    """Return the plan to play every order of as many tools as the largest contract has."""

    def made(config: Config, suites: Sequence[Suite]) -> tuple[Config, list[Suite]]:
        most = max(len(suite.contract.tools) for suite in suites)
        return replace(config, conditions=conditions(most)), list(suites)

    return made


def orders(view: RunView) -> dict[str, str]:
    """Return tool order → condition of a run, the canonical order first.

    Raises
    ------
    Refusal
        When the run has fewer than two orders, or not the canonical one.
    """
    widest = max(families(view, "tool_order"), key=len)
    found = {str(order): name for order, name in widest.items()}
    if CANONICAL not in found or len(found) < 2:
        raise Refusal(
            f"run {view.header.run_id} has no two tool orders under otherwise equal conditions; it has "
            f"{', '.join(view.header.load_conditions())}. Leave run empty to play every rotation"
        )
    return {CANONICAL: found.pop(CANONICAL), **found}


def accuracy(view: RunView) -> pd.DataFrame:
    """Return ``player, suite, lang, order, passed, scored, share, text`` on cases scored under every order.

    ``text`` is ``–`` where an order was not played on any common case and ``err`` where the provider failed.
    """
    found = orders(view)
    rows = []
    for suite, lang in places(view, list(found.values())):
        for player in view.players:
            arms = _arms(view, found, suite, lang, player)
            scored = {order: frame[frame["scored"].astype(bool)] for order, frame in arms.items()}
            common = set.intersection(*(set(frame["case_id"]) for frame in scored.values()))
            for order, frame in scored.items():
                kept = frame[frame["case_id"].isin(common)]
                share = float(kept["passed"].mean()) if len(kept) else np.nan
                text = "err" if len(arms[order]) and frame.empty else "–"
                rows.append(
                    {
                        "player": player,
                        "suite": suite,
                        "lang": lang,
                        "order": order,
                        "passed": int(kept["passed"].sum()),
                        "scored": len(kept),
                        "share": share,
                        "text": text,
                    }
                )
    return pd.DataFrame(rows)


def _arms(
    view: RunView, found: dict[str, str], suite: str, lang: str, player: str
) -> dict[str, pd.DataFrame]:
    mine = view.attempts[view.attempts["player"] == player]
    return {order: view.at(mine, Arm(suite, lang, name)) for order, name in found.items()}


def flips(view: RunView) -> pd.DataFrame:
    """Return ``player, suite, lang, order`` and the columns of :func:`~.decisions.changes`.

    One row for each order against the canonical one, and one (``mean of all``) for all of them together.
    """
    found = orders(view)
    rows: list[dict[str, Any]] = []
    for suite, lang in places(view, list(found.values())):
        for player in view.players:
            arms = {o: decided(f) for o, f in _arms(view, found, suite, lang, player).items()}
            where = {"player": player, "suite": suite, "lang": lang}
            canonical = arms.pop(CANONICAL)
            rows += [{**where, "order": order, **changes(canonical, arm)} for order, arm in arms.items()]
            rows.append({**where, "order": ALL, **changes(canonical, *arms.values())})
    return pd.DataFrame(rows)


def paired(view: RunView) -> Comparison:
    """Compare the canonical order with every other one, case by case."""
    names = list(orders(view).values())
    return condition_effects(view, names[0], names[1:], ["pass_rate"])


def accuracy_page(view: RunView) -> Page:
    """One dumbbell figure a suite and language, and the figures behind it."""
    table = accuracy(view)
    pages = []
    for (suite, lang), rows in table.groupby(["suite", "lang"], sort=False):
        cells = rows.assign(cell=[fraction(r.passed, r.scored) for r in each(rows)])
        shown = cells.pivot(index="player", columns="order", values="cell")
        shown = shown.reindex(index=rows["player"].unique(), columns=rows["order"].unique()).reset_index()
        title = f"{suite} · {lang}: attempts passed under every order of the tools"
        words = "; ".join(f"{row.player} {row.order} {row.cell}" for row in each(cells))
        pages.append(html.figure(charts.order_ticks(rows, CANONICAL), f"{title}. {words}", title))
        pages.append(html.table(shown, title, numbers=list(shown.columns[1:])))
    return html.join(pages)


def flips_page(view: RunView) -> Page:
    """How often two attempts decide differently: under two orders, and under one."""
    rows = [
        {
            "player": row.player,
            "suite · language": f"{row.suite} · {row.lang}",
            "order": row.order,
            **flip_cells(row),
        }
        for row in each(flips(view))
    ]
    caption = "Two attempts at a case that decide differently: under two orders, and under one"
    return html.table(pd.DataFrame(rows), caption, numbers=list(FLIP_CELLS))


def cases_page(view: RunView) -> Page:
    """The cases whose decision changes: what was decided under each order, and how often it passed."""
    found = orders(view)
    rows = []
    for suite, lang in places(view, list(found.values())):
        for player in subjects(view):
            arms = {o: decided(f) for o, f in _arms(view, found, suite, lang, player).items()}
            kinds = {order: modes(arm) for order, arm in arms.items()}
            for case in sorted(changed_cases(*arms.values())):
                cells = {order: _cell(arms[order], kinds[order], case) for order in arms}
                rows.append({"player": player, "language": lang, "case": case, **cells})
    if not rows:
        return html.paragraph("No decision changes with the order of the tools.", "note")
    rest = f", the first {LONGEST} of {len(rows)}" if len(rows) > LONGEST else ""
    return html.table(pd.DataFrame(rows[:LONGEST]), f"Cases whose decision changes{rest}")


def _cell(arm: pd.DataFrame, kinds: pd.Series[str], case: str) -> str:
    mine = arm[arm["case_id"] == case]
    return f"{kinds[case]} ({int(mine['passed'].sum())}/{len(mine)})" if len(mine) else "–"


def paired_page(view: RunView) -> Page:
    """The paired test of every order against the canonical one."""
    return effect_table(
        paired(view), "all checks passed, canonical order → every other one, on the same cases"
    )
