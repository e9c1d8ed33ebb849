"""What the conditions change: the same cases under two of them, with the difference, its interval and p."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pandas as pd
from markupsafe import Markup

from toolbench.errors import InputError
from toolbench.numbers.compare import compare_all
from toolbench.numbers.flips import excess
from toolbench.numbers.sequence import LABEL, Rule, path_of, stops
from toolbench.numbers.sides import Side, of_players, select
from toolbench.numbers.tables import groups, records
from toolbench.showing import html
from toolbench.showing.comparison import cells, flip_cells, with_players
from toolbench.showing.dossier import Dossier
from toolbench.showing.format import percent, points
from toolbench.showing.html import Page, esc
from toolbench.showing.view import Arm

METRICS = ("pass_rate",)
FACTORS = ("condition", "repetitions")
"""Every case counts once, however often each condition plays it."""
PLAYERS = ("model", "protocol", "settings")
"""Models are compared as they were played, each with its own settings."""
SIDES = {"before": "first", "after": "second"}
"""What the columns of two models are called: neither was there before the other."""
MOST_PAIRS = 60
"""Pairs of models, suites and languages that a table holds at most."""


def effects(dossier: Dossier) -> Page:
    """Return the effect of every further condition on every model, and how a sequential run went."""
    return rounds(dossier) + conditions(dossier)


def conditions(dossier: Dossier) -> Page:
    """Return the effect of every further condition on every model, one family of corrected p-values."""
    say = dossier.say
    keys = [key for key, name in dossier.view.names.items() if name in dossier.subjects]
    pairs = []
    for first in dossier.main:
        for other in dossier.arms:
            if (other.suite, other.lang) == (first.suite, first.lang) and other != first:
                sides = _side(dossier, first), _side(dossier, other)
                if all(side is not None for side in sides):
                    pairs.append(tuple(of_players(side, keys) for side in sides if side is not None))
    if not pairs:
        return html.paragraph(say("effects.one"), "note")
    try:
        found = with_players(
            dossier.view,
            compare_all([(left, right) for left, right in pairs], FACTORS, METRICS),
        )
    except InputError as fault:
        return html.paragraph(say("effects.refused", why=fault), "note")
    table = found.table[found.table["cases"] > 0]
    if table.empty:
        return html.paragraph(say("effects.none"), "note")
    told, alike = table[table["differing"] > 0], table[table["differing"] == 0]
    pages = [_table(dossier, told, say("effects.caption"))] if len(told) else []
    if len(alike):
        title = say("effects.alike", number=len(alike), all=len(table))
        pages.append(html.block([html.paragraph(title)], "on-paper"))
        pages.append(html.folded(title, _table(dossier, alike, say("effects.caption"))))
    return html.join([*pages, behaviour(dossier, found.cases)])


def _table(dossier: Dossier, table: pd.DataFrame, caption: str) -> Page:
    frame = pd.DataFrame([_row(dossier, row) for row in records(table)])
    frame.columns = pd.Index([dossier.say.name("effect", str(name)) for name in frame.columns])
    return html.table(frame, caption, numbers=list(frame.columns[4:]), kind="effects", heads=1)


def behaviour(dossier: Dossier, cases: pd.DataFrame) -> Page:
    """Return what a share of passes does not show, folded: cases that go another way, and other behaviour."""
    say = dossier.say
    rows = []
    for (player, suite, lang, before, after), mine in groups(
        cases, ["player", "suite", "lang", "before", "after"]
    ):
        outcomes = mine["outcome"].value_counts()
        told = {name: _texts(dossier, text) for name, text in flip_cells(pd.Series(excess(mine))).items()}
        del told["usual changes"]
        rows.append(
            {
                "player": player,
                "suite_lang": f"{suite} · {lang}",
                "change": f"{before} → {after}",
                "better": outcomes.get("only right", 0),
                "worse": outcomes.get("only left", 0),
                **told,
            }
        )
    frame = pd.DataFrame(rows)
    frame.columns = pd.Index([say.name("effect", str(name)) for name in frame.columns])
    numbers = list(frame.columns[3:])
    table = html.table(frame, say("effects.behaviour"), numbers=numbers, kind="effects", heads=1)
    return html.folded(say("effects.fold"), table)


def _texts(dossier: Dossier, text: object) -> str:
    return dossier.say.units(dossier.say.decimal(str(text)))


def rounds(dossier: Dossier) -> Page:
    """Return the rule that a sequential run was to end by, the interval after each round, what was saved."""
    view, say = dossier.view, dossier.say
    if LABEL not in view.header.labels:
        return html.EMPTY
    rule = Rule.parse(view.header.labels[LABEL])
    path = path_of(view.scored, rule)
    why = stops(rule, path) if path else None
    told = say(
        "rounds.narrow" if rule.width else "rounds.rule",
        left=rule.left,
        right=rule.right,
        width=f"{100 * rule.width:.0f}",
        budget=rule.budget,
        played=len(path),
        why=say("rounds.narrow_enough" if why == "narrow" else f"rounds.{why}"),
        saved=rule.budget - len(path),
    )
    names = [say("rounds.round"), say("rounds.interval")]
    rows = [(number, f"{100 * low:+.0f} … {100 * high:+.0f}") for number, (low, high) in enumerate(path, 1)]
    return html.paragraph(told) + html.table(pd.DataFrame(rows, columns=names), numbers=names, kind="effects")


def between(dossier: Dossier) -> Page:
    """Return every two models against each other, paired by case; p is corrected over the whole table."""
    say, names = dossier.say, dossier.view.names
    keys = [key for key, name in names.items() if name in dossier.subjects]
    sides = [side for arm in dossier.main if (side := _side(dossier, arm)) is not None]
    pairs = [(side, *two) for side in sides for two in combinations(keys, 2)]
    if len(keys) < 2:
        return html.EMPTY
    if len(pairs) > MOST_PAIRS:
        return html.paragraph(say("between.many", number=len(pairs), most=MOST_PAIRS), "note")
    try:
        parts = [(of_players(side, [one]), of_players(side, [other])) for side, one, other in pairs]
        table = compare_all(parts, PLAYERS, METRICS).table
    except InputError as fault:
        return html.paragraph(say("effects.refused", why=fault), "note")
    rows = [
        {
            "suite_lang": f"{row['suite']} · {row['lang']}",
            "models": f"{names[one]} → {names[other]}",
            "drawn": _drawn(dossier, row),
            **{SIDES.get(name, name): _texts(dossier, value) for name, value in cells(row).items()},
        }
        for row, (_, one, other) in zip(records(table), pairs, strict=True)
    ]
    frame = pd.DataFrame(rows)
    frame.columns = pd.Index([say.name("effect", str(name)) for name in frame.columns])
    return html.table(frame, say("between.caption"), numbers=list(frame.columns[3:]), kind="effects", heads=1)


def _side(dossier: Dossier, arm: Arm) -> Side | None:
    """Return one arm of all players, ``None`` where nobody was asked."""
    frame = dossier.view.at(dossier.view.attempts, arm)
    if frame.empty:
        return None
    return select(dossier.view.scored, arm.condition, suite=arm.suite, lang=arm.lang, condition=arm.condition)


def _row(dossier: Dossier, row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {name: _texts(dossier, value) for name, value in cells(row).items()}
    return {
        "player": row["player"],
        "suite_lang": f"{row['suite']} · {row['lang']}",
        "change": f"{row['before']} → {row['after']}",
        "drawn": _drawn(dossier, row),
        **numbers,
    }


def _drawn(dossier: Dossier, row: Mapping[str, Any]) -> Page:
    """Return the difference and its interval on a line from -100 to +100 points, zero in the middle."""
    if pd.isna(row["delta"]):
        return Page(Markup(""), "")
    low, high = (row["delta"] if pd.isna(row[end]) else row[end] for end in ("ci_low", "ci_high"))
    left, width = 50 + 50 * low, max(0.5, 50 * (high - low))
    moved = points(row["delta"], row["ci_low"], row["ci_high"])
    told = _texts(dossier, f"{percent(row['left'])} → {percent(row['right'])}, {moved} points")
    drawn = Markup(
        '<span class="forest" role="img" aria-label="{}"><i style="left:{:.1f}%;width:{:.1f}%"></i>'
        '<b style="left:{:.1f}%"></b></span>'
    ).format(esc(told), left, width, 50 + 50 * row["delta"])
    return Page(drawn, told)
