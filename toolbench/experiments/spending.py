"""What an attempt costs in time and money, by player."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from toolbench.experiments import charts
from toolbench.experiments.run_source import subjects
from toolbench.showing import html
from toolbench.showing.format import each
from toolbench.showing.html import Page
from toolbench.showing.sections import figures as known_figures
from toolbench.showing.view import Arm, RunView

LATENCY = {"latency_p50": "median", "latency_p95": "95th percentile"}
COST = {"cost_per_completed": "cost of a completed attempt"}


def quantities(view: RunView, arm: Arm, series: Mapping[str, str], form: str) -> pd.DataFrame:
    """Return ``label, series, value, low, high, text`` of some metrics of one arm.

    ``text`` is the value put into ``form``, ``err`` where every attempt failed, ``–`` where nothing is known.
    """
    table = view.at(view.metrics, arm)
    rows = []
    for player in subjects(view):
        mine = known_figures(table, player)
        for metric, name in series.items() if mine else ():
            value = mine[metric]["value"]
            failed = mine["attempted"]["value"] > 0 and mine["scored"]["value"] == 0
            text = form.format(value) if not pd.isna(value) else "err" if failed else "–"
            ends = {"low": mine[metric]["ci_low"], "high": mine[metric]["ci_high"]}
            rows.append({"label": player, "series": name, "value": value, **ends, "text": text})
    return pd.DataFrame(rows, columns=["label", "series", "value", "low", "high", "text"])


def latency_page(view: RunView) -> Page:
    """Median and 95th percentile of an attempt's waiting time, with intervals."""
    return html.join(
        _figure(view, arm, LATENCY, "{:.0f} ms", "ms an attempt", "waiting time") for arm in view.arms
    )


def cost_page(view: RunView) -> Page:
    """Cost of a completed attempt, failures paid for; “–” where no price is configured."""
    units = view.metrics[view.metrics["metric"] == "cost_per_completed"]["unit"]
    unit = next((str(one) for one in units if not str(one).startswith("currency")), "no price is configured")
    return html.join(
        _figure(view, arm, COST, "{:.3g}", unit, "cost of a completed attempt") for arm in view.arms
    )


def _figure(view: RunView, arm: Arm, names: Mapping[str, str], text: str, unit: str, what: str) -> Page:
    table = quantities(view, arm, names, text)
    if table["value"].isna().all():
        return html.paragraph(
            f"{arm}: {what} is not known: no price, no usage report or nothing scored.", "note"
        )
    top = table[["value", "high"]].max().max()
    fig = charts.dots(table, list(names.values()), unit, (0, 1.08 * top if top > 0 else 1))
    words = "; ".join(f"{row.label} {row.series} {row.text}" for row in each(table))
    return html.figure(fig, f"{arm}: {what}. {words}", f"{arm}: {what}, 95 % interval")
