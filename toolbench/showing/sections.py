"""The parts of a report, each a pure function from a :class:`RunView` to a :class:`Page`."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from toolbench.domain.codes import CODES
from toolbench.numbers.sequence import LABEL
from toolbench.showing import html, plots
from toolbench.showing.html import Page
from toolbench.showing.view import Arm, RunView


def summary(view: RunView) -> Page:
    """What was compared, on what and when; INCOMPLETE comes first when anything is missing."""
    header = view.header
    pages = [html.paragraph(view.incomplete, "warning")] if view.incomplete else []
    pages += [html.paragraph(str(problem), "note") for problem in view.scored.problems[:5]]
    pages.append(html.heading(f"Run {header.run_id}", 1))
    models = ", ".join(view.models) or "baselines only"
    cases = sum(len(suite["cases"]) for suite in header.suites)
    facts = {
        "models": models,
        "suites": ", ".join(f"{s['name']} ({s['contract']['version']})" for s in header.suites),
        "cases": f"{cases} in all languages",
        "conditions": ", ".join(condition["name"] for condition in header.conditions),
        "attempts": f"{len(view.attempts)} of {len(view.scored.planned)} planned",
        "started": header.started_at,
        "commit": header.git_commit or "unknown",
        "versions": ", ".join(f"{name} {version}" for name, version in header.versions.items()),
        **{name: label for name, label in header.labels.items() if name != LABEL},
    }
    pages.append(html.table(pd.DataFrame({"": list(facts), "value": [str(v) for v in facts.values()]})))
    reading = (
        "No single number ranks these models. Every verdict is a rule that names the violated condition; "
        "languages and conditions are never merged; provider errors are counted apart from the model's."
    )
    return html.join([*pages, html.paragraph(reading)])


def figures(table: pd.DataFrame, player: str) -> dict[str, dict[str, Any]]:
    """Return metric → its row for one player of one arm; empty when the player is not in it."""
    mine = table[table["player"] == player]
    rows: list[dict[str, Any]] = mine.to_dict("records")  # type: ignore[assignment]
    return {str(row["metric"]): row for row in rows}


def is_control(view: RunView, arm: Arm) -> bool:
    """Whether an arm is a control in which no call is possible."""
    return view.header.load_conditions()[arm.condition].control


def heatmap(view: RunView, arm: Arm) -> Page:
    """Case × player for one arm."""
    frame = view.at(view.attempts, arm)
    if frame.empty:
        return html.paragraph(f"{arm}: no attempt was made.", "note")
    fig = plots.heatmap(frame, view.players)
    passed = frame[frame["scored"].astype(bool)].groupby("player")["passed"].agg(["sum", "count"])
    alt = f"{arm}: passed attempts by case and player. " + "; ".join(
        f"{player}: {int(row['sum'])} of {int(row['count'])}" for player, row in passed.iterrows()
    )
    return html.figure(fig, alt, f"{arm}: attempts passed / scored by case, hardest at the bottom")


def pretty(text: str) -> str:
    """Return JSON indented where it is JSON, else the text."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def explained(code: str) -> str:
    """Return what a finding usually means and what to check next."""
    known = CODES[code]
    return f"{known.meaning['en']} {known.diagnosis['en']}"
