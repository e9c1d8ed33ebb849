"""Choosing: gates, accuracy, risk and cost side by side, and who is beaten in all of them. No winner."""

from __future__ import annotations

from typing import Any

import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.errors import InputError
from toolbench.numbers.choice import pareto
from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.front import COLOURS, SIGNS, gate_table
from toolbench.showing.html import Cell, Page, esc
from toolbench.showing.paired_effects import between
from toolbench.showing.replayed import MEANS, SHARES, chosen, tables
from toolbench.showing.view import Arm
from toolbench.showing.words import NOTHING


def choosing(dossier: Dossier) -> Page:
    """Return the gates, then the table of what can be chosen; no row drops out for a missing figure."""
    say, view = dossier.say, dossier.view
    pages = [gate_table(dossier)] if view.models else []
    table = pareto(dossier.priced)
    rows = []
    for row in table.to_dict("records"):
        arm = Arm(row["suite"], row["lang"], row["condition"])
        player = view.names[PlayerKey.of({str(k): v for k, v in row.items()})]
        if arm in dossier.main and player in dossier.subjects:
            rows.append(_row(dossier, player, arm, {str(k): v for k, v in row.items()}))
    frame = pd.DataFrame(rows)
    if frame.empty:
        return html.join([*pages, html.paragraph(say("choosing.none"), "note")])
    frame.columns = pd.Index([say("choose." + str(name)) for name in frame.columns])
    numbers = list(frame.columns[3:7])
    pages.append(html.table(frame, say("choosing.caption"), numbers=numbers, kind="choose", heads=2))
    return html.join([*pages, between(dossier), policies(dossier)])


def policies(dossier: Dossier) -> Page:
    """Return what models put together would have come to, folded; nothing where there are not two."""
    say, view = dossier.say, dossier.view
    try:
        made = list(tables(view, chosen(view), dossier.main))
    except InputError:
        return html.EMPTY
    names = {str(key): name for key, name in view.names.items()}
    heads = {title: name for name, title in (*SHARES.items(), *MEANS.items())}
    shown = []
    for place, frame in made:
        told = frame.map(lambda text: say.units(say.decimal(str(text))))
        told = told.assign(policy=[_policy(str(name), names, dossier) for name in frame["policy"]])
        told.columns = pd.Index([say.name("policy", heads.get(name, str(name))) for name in told.columns])
        shown.append(html.table(told, place, numbers=list(told.columns[1:]), kind="block", heads=1))
    return html.folded(say("policies"), html.join([*shown, html.paragraph(say("policies.note"), "note")]))


def _policy(name: str, players: dict[str, str], dossier: Dossier) -> str:
    key = name.removeprefix("only ")
    if key in players:
        return dossier.say("policy.only", player=players[key])
    return dossier.say.name("policy", name)


def _row(dossier: Dossier, player: str, arm: Arm, row: dict[str, Any]) -> dict[str, Any]:
    say, figures = dossier.say, dossier.figures[player, arm]
    outcome = dossier.outcome(player, arm)
    shown = {}
    for name in ("pass_rate", "unsafe_call_rate"):
        found = figures[name]
        shown[name] = say.share(found["numerator"], found["denominator"])
    value: object = row["cost_per_completed"]
    free = player in dossier.free
    none = NOTHING if not figures["completion_rate"]["numerator"] else say("cost.zero")
    shown["cost"] = none if free else say.money(value, row["currency"])
    sign = f"{SIGNS[outcome]} {say.name('outcome', outcome)}".strip()
    return {
        "arm": dossier.arm_name(arm, condition=False),
        "player": player,
        "gates": Cell(esc(sign), sign, COLOURS[outcome]),
        "pass": shown["pass_rate"],
        "unsafe": shown["unsafe_call_rate"],
        "cost": shown["cost"],
        "p95": say.time(figures["latency_p95"]["value"]),
        "beaten": _beaten(dossier, row, free),
    }


def _beaten(dossier: Dossier, row: dict[str, Any], free: bool) -> str:
    """Return who is at least as good everywhere, or why that cannot be said."""
    say = dossier.say
    by: tuple[str, ...] = row["dominated_by"]
    if by:
        names = {str(key): name for key, name in dossier.view.names.items()}
        return say.listed(names[name] for name in by)
    if not pd.isna(row["efficient"]):
        return NOTHING
    if row["gates"] == "fail":
        return say("apart.gates")
    for name in ("pass_rate", "unsafe_call_rate", "cost_per_completed"):
        if pd.isna(row[name]):
            return say("apart.free_cost" if free and name == "cost_per_completed" else f"apart.{name}")
    return NOTHING
