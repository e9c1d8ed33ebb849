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

from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition
from toolbench.domain.config import Config
from toolbench.domain.plurals import plural
from toolbench.domain.suite import Suite
from toolbench.experiments import charts
from toolbench.experiments.answering import answer, effect_sentence
from toolbench.experiments.effects import effect_table, effects
from toolbench.experiments.run_source import Refusal, Setup, families, places, politely, subjects
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.flips import changed_cases, changes, decided, modes
from toolbench.numbers.sides import select
from toolbench.showing import html
from toolbench.showing.comparison import FLIP_CELLS, LONGEST, flip_cells
from toolbench.showing.format import each, fraction, percent
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


def orders_of(view: RunView, suite: str) -> dict[str, str]:
    """Return the orders of :func:`orders` that list a suite's tools in a way no earlier one does.

    Three tools turned by three are the contract again: no evidence of anything.
    """
    contract = view.suites[suite].contract
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for order, name in orders(view).items():
        listed = tuple(tool.name for tool in contract.offered(None, order))
        found.setdefault(listed, (order, name))
    return dict(found.values())


def accuracy(view: RunView) -> pd.DataFrame:
    """Return ``player, suite, lang, order, passed, scored, share, text`` on cases scored under every order.

    ``text`` is ``–`` where an order was not played on any common case and ``err`` where the provider failed.
    """
    rows = []
    for suite, lang in places(view, list(orders(view).values())):
        for player in view.players:
            arms = _arms(view, orders_of(view, suite), suite, lang, player)
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
    rows: list[dict[str, Any]] = []
    for suite, lang in places(view, list(orders(view).values())):
        for player in view.players:
            every = _arms(view, orders_of(view, suite), suite, lang, player)
            arms = {order: decided(frame) for order, frame in every.items()}
            where = {"player": player, "suite": suite, "lang": lang}
            canonical = arms.pop(CANONICAL)
            rows += [{**where, "order": order, **changes(canonical, arm)} for order, arm in arms.items()]
            rows.append({**where, "order": ALL, **changes(canonical, *arms.values())})
    return pd.DataFrame(rows)


def paired(view: RunView) -> Comparison:
    """Compare the canonical order with every other one of the same suite, case by case."""
    suites = dict.fromkeys(suite for suite, _ in places(view, list(orders(view).values())))
    with politely():
        sides = [
            (
                select(view.scored, first, condition=first, suite=suite),
                select(view.scored, other, condition=other, suite=suite),
            )
            for suite in suites
            for first, *others in [list(orders_of(view, suite).values())]
            for other in others
        ]
    return effects(view, sides, "condition", ["pass_rate"])


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
    """How often two attempts decide differently: under two orders, and under one.

    Shown are the rows that say something: every player over all orders, and each order that changes a case.
    """
    table = flips(view)
    told = table[(table["cases"] > 0) & ((table["order"] == ALL) | (table["changed"] > 0))]
    rows = [
        {
            "player": row.player,
            "suite · language": f"{row.suite} · {row.lang}",
            "order": row.order,
            **flip_cells(row),
        }
        for row in each(told)
    ]
    caption = "Two attempts at a case that decide differently: under two orders, and under one"
    return html.table(pd.DataFrame(rows), caption, numbers=list(FLIP_CELLS))


def cases_page(view: RunView) -> Page:
    """The cases whose decision changes: what was decided under each order, and how often it passed."""
    rows = []
    for suite, lang in places(view, list(orders(view).values())):
        for player in subjects(view):
            every = _arms(view, orders_of(view, suite), suite, lang, player)
            arms = {order: decided(frame) for order, frame in every.items()}
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


def answer_page(view: RunView) -> Page:
    """Does the order matter? How many decisions it changes, and whether passing changes beyond chance."""
    table = flips(view)
    mine = table[(table["order"] == ALL) & table["player"].isin(subjects(view)) & (table["cases"] > 0)]
    lines = ["Does the order of the tools matter?"]
    for row in each(mine):
        chance = (
            "" if pd.isna(row.chance) else f"; two attempts under one order differ in {percent(row.chance)}"
        )
        lines.append(
            f"{row.player}, {row.suite} {row.lang}: the usual decision is another one under some order in "
            f"{row.changed} of {plural(row.cases, 'case')}{chance}."
        )
    rows = paired(view).table
    tested = rows[(rows["cases"] > 0) & rows["delta"].notna()].sort_values("p_holm", kind="stable")
    if len(tested):
        lines.append(f"Clearest effect on passing: {effect_sentence(next(each(tested)))}")
    return answer(lines if len(mine) else [*lines, "Nothing was scored, so this run cannot say."])
