"""First-position preference: is the tool that stands first in the list chosen because it stands first?"""

from __future__ import annotations

import pandas as pd

from toolbench.domain.suite import Suite
from toolbench.experiments.run_source import places
from toolbench.experiments.tool_order import orders, orders_of
from toolbench.numbers.flips import preference
from toolbench.numbers.rows import GROUP
from toolbench.showing import html, plots
from toolbench.showing.format import each, fraction, p_text, percent, points
from toolbench.showing.html import Page
from toolbench.showing.view import RunView


def first_position(view: RunView) -> pd.DataFrame:
    """How often is the first tool of the list the one that is called first?

    A choice that does not depend on the order picks the first tool as often as that tool is picked over all
    orders of the same case: this is ``expected``.

    Returns
    -------
    DataFrame
        ``player, suite, lang, calls`` (attempts with a call and at least two tools on offer), ``first``,
        ``expected``, ``cases``, ``clusters`` (scenarios), ``excess`` (share beyond the expected
        one, mean over cases), ``ci_low, ci_high``, ``p``.
    """
    calls = view.calls[view.calls["turn"] == 0].drop_duplicates([*GROUP, "case_id", "repetition"])
    rows = []
    for suite, lang in places(view, list(orders(view).values())):
        by_condition = {name: order for order, name in orders_of(view, suite).items()}
        mine = calls[(calls["suite"] == suite) & (calls["lang"] == lang)]
        mine = mine[mine["condition"].isin(by_condition)]
        listed = _first_tools(view.suites[suite], lang, by_condition)
        for player in view.players:
            chosen = mine[mine["player"] == player]
            first = [
                listed.get((str(case), str(condition)), "")
                for case, condition in zip(chosen["case_id"], chosen["condition"], strict=True)
            ]
            made = chosen.assign(first=first)
            made = made[made["first"] != ""]
            rows.append({"player": player, "suite": suite, "lang": lang, **preference(made)})
    return pd.DataFrame(rows)


def _first_tools(suite: Suite, lang: str, by_condition: dict[str, str]) -> dict[tuple[str, str], str]:
    """Return (case, condition) → the first tool on offer, for cases with a choice of tools."""
    offers = {
        (case.id, name): suite.contract.offered(case.tools, order)
        for case in suite.cases
        if case.lang == lang
        for name, order in by_condition.items()
    }
    return {key: tools[0].name for key, tools in offers.items() if len(tools) > 1}


def first_position_page(view: RunView) -> Page:
    """How often the first tool of the list was called, against how often it should have been."""
    table = first_position(view)
    rows = [
        {
            "player": row.player,
            "suite · language": f"{row.suite} · {row.lang}",
            "first tool called": fraction(row.first, row.calls),
            "expected": percent(row.expected / row.calls) if row.calls else "–",
            "excess [95 %]": points(row.excess, row.ci_low, row.ci_high),
            "p": p_text(row.p),
            "cases (scenarios)": f"{row.cases} ({row.clusters})",
        }
        for row in each(table)
    ]
    numbers = ["first tool called", "expected", "excess [95 %]", "p", "cases (scenarios)"]
    pages = [html.table(pd.DataFrame(rows), "First-position preference", numbers=numbers)]
    for (suite, lang), mine in table[table["calls"] > 0].groupby(["suite", "lang"], sort=False):
        title = f"{suite} · {lang}: calls that go to the first tool of the list"
        pair = mine.assign(left=mine["expected"] / mine["calls"], right=mine["first"] / mine["calls"])
        fig = plots.dumbbell(pair, "expected", "called", "share of attempts with a call")
        words = "; ".join(
            f"{r.player} expected {percent(r.left)}, called {percent(r.right)}" for r in each(pair)
        )
        pages.append(html.figure(fig, f"{title}. {words}", title))
    return html.join(pages)
