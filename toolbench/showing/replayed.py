"""What composite policies would have done with a run's attempts, as a page and as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from toolbench.errors import InputError
from toolbench.numbers.policies import Policy, examples
from toolbench.numbers.replay import replay_table
from toolbench.numbers.tables import groups
from toolbench.showing import html
from toolbench.showing.format import NAMES, NOTHING, each, p_text, percent, points
from toolbench.showing.html import Page
from toolbench.showing.view import Arm, RunView

SHARES = {name: NAMES[name] for name in ("pass_rate", "completion_rate", "unsafe_call_rate")}
MEANS = {
    "mean_latency_ms": "ms an attempt",
    "mean_cost": "cost an attempt",
    "players": "players asked",
    "asked": "questions",
    "handed_over": "handed over",
}
NOTE = (
    "Simulated over attempts that were made, nothing was asked anew. All policies are compared with the "
    "first one, case by case; p is Holm's over everything shown."
)


def chosen(view: RunView) -> tuple[Policy, ...]:
    """Return the policies worth looking at first: the model that passes most, and the cheapest of the others.

    Raises
    ------
    InputError
        When the run has no two models.
    """
    models = {str(key): name for key, name in view.names.items() if name in view.models}
    if len(models) < 2:
        raise InputError(f"run {view.header.run_id} has no two models that a policy could choose between")
    means = view.attempts.groupby("player")[["passed", "cost"]].mean()
    strong = max(models, key=lambda key: float(means["passed"].get(models[key], 0)))
    others = [key for key in models if key != strong]
    costs = means["cost"].fillna(float("inf"))
    return examples(min(others, key=lambda key: float(costs.get(models[key], float("inf")))), strong)


def tables(
    view: RunView, policies: Sequence[Policy], arms: Sequence[Arm] = ()
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield ``(suite · language · condition, table)`` with a row a policy and a column a figure, as texts.

    ``arms`` are those to look at, all of them by default.
    """
    frame = view.scored.attempts
    kept = [view.at(frame, arm) for arm in arms] or [frame]
    scored = replace(view.scored, attempts=pd.concat(kept))
    for arm, rows in groups(replay_table(scored, policies), ["suite", "lang", "condition"]):
        found = {(row.policy, row.metric): row for row in each(rows)}
        table = pd.DataFrame(
            {
                "policy": policy.name,
                **{title: _share(found.get((policy.name, name))) for name, title in SHARES.items()},
                **{title: _mean(found.get((policy.name, name))) for name, title in MEANS.items()},
            }
            for policy in policies
        )
        yield " · ".join(arm), table


def _share(row: Any | None) -> str:
    if row is None:
        return NOTHING
    value = percent(row.value)
    delta = points(row.delta, row.delta_low, row.delta_high)
    return value if delta == NOTHING else f"{value}, {delta}, p {p_text(row.p)}"


def _mean(row: Any | None) -> str:
    if row is None or pd.isna(row.value):
        return NOTHING
    return f"{row.value:.0f}" if row.value >= 100 else f"{row.value:.3g}"


def replay_page(view: RunView, policies: Sequence[Policy] = ()) -> Page:
    """Return one table a suite, language and condition; without policies those of :func:`chosen`."""
    try:
        made = list(tables(view, policies or chosen(view)))
    except InputError as fault:
        return html.paragraph(str(fault), "note")
    pages = [html.table(rows, f"{place}: policies", numbers=list(rows.columns[1:])) for place, rows in made]
    return html.join([*pages, html.paragraph(NOTE, "note")])


def replay_text(view: RunView, policies: Sequence[Policy] = ()) -> str:
    """Return the same tables as plain text for a terminal."""
    blocks = [
        f"{place}\n{table.map(html.visible).to_string(index=False)}"
        for place, table in tables(view, policies or chosen(view))
    ]
    return "\n\n".join([*blocks, NOTE])
