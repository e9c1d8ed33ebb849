"""Consistency: every arm with at least two repetitions, and the cases a model does not decide alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.html import Page, esc
from toolbench.showing.model_blocks import rate
from toolbench.showing.view import Arm
from toolbench.showing.words import NOTHING

LINKS = 12


def consistency(dossier: Dossier) -> Page:
    """Return how often a model does the same again, an arm a row."""
    say = dossier.say
    rows = []
    for player in dossier.subjects:
        for arm, figures in dossier.places(player):
            if figures["consistency"]["denominator"]:
                rows.append(_row(dossier, player, arm, figures))
    if not rows:
        return html.paragraph(say("repeat.one"), "note")
    frame = pd.DataFrame(rows)
    frame.columns = pd.Index([say("repeat." + str(name)) for name in frame.columns])
    numbers = list(frame.columns[2:6])
    return html.table(frame, say("repeat.caption"), numbers=numbers, kind="repeats", heads=2)


def _row(dossier: Dossier, player: str, arm: Arm, figures: Mapping[str, Any]) -> dict[str, Any]:
    say = dossier.say
    mean = figures["distinct_decisions"]["value"]
    return {
        "player": player,
        "arm": dossier.arm_name(arm),
        "same": rate(dossier, figures["consistency"]),
        "distinct": NOTHING if pd.isna(mean) else say.decimal(f"{mean:.2f}"),
        "all": _estimate(dossier, figures["pass^k"]),
        "any": _estimate(dossier, figures["pass@k"]),
        "unstable": _unstable(dossier, player, arm),
    }


def _estimate(dossier: Dossier, row: Mapping[str, Any]) -> str:
    """Return an estimate for k tries with its k."""
    if pd.isna(row["value"]):
        return NOTHING
    k = str(row["unit"]).rpartition("k=")[2]
    return f"{dossier.say.share(row['value'], 1)} (k = {k})"


def _unstable(dossier: Dossier, player: str, arm: Arm) -> Page | str:
    """Return the cases that are decided in more than one way."""
    say = dossier.say
    frame = dossier.view.at(dossier.view.attempts, arm)
    mine = frame[(frame["player"] == player) & frame["scored"].astype(bool)]
    ways = mine.groupby("case_id")["behaviour"].nunique()
    names = [str(name) for name in ways[ways > 1].index]
    if not names:
        return say("repeat.none")
    links = [(name, dossier.talks.link(player, arm, name)) for name in names[:LINKS]]
    listed = Markup(", ").join(
        Markup('<a href="{}">{}</a>').format(esc(link), esc(name)) if link else esc(name)
        for name, link in links
    )
    more = f", {say('more', number=len(names) - LINKS)}" if len(names) > LINKS else ""
    return Page(
        Markup("{}: {}{}").format(len(names), listed, more), f"{len(names)}: {', '.join(names[:LINKS])}"
    )
