"""A model in words: what it gets right, where it breaks first, what could do harm, what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from toolbench.judging.counts import COUNT
from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.families import DANGEROUS
from toolbench.showing.html import Page
from toolbench.showing.view import Arm

Share = tuple[float, Arm, Mapping[str, Any]]
"""A pass rate, where it was reached, and its row."""


def sentences(dossier: Dossier) -> Page:
    """Return one sentence a model: what it gets right, where it breaks first, what it costs."""
    items = [sentence(dossier, player) for player in dossier.view.models]
    body = Markup("").join(Markup("<li>{}</li>").format(item.html) for item in items)
    return Page(Markup('<ul class="models">{}</ul>').format(body), "\n".join(item.text for item in items))


def sentence(dossier: Dossier, player: str) -> Page:
    """Return a model in words."""
    say = dossier.say
    shares = [
        (row["value"], arm, row)
        for arm, rows in dossier.places(player, dossier.main)
        if pd.notna((row := rows["pass_rate"])["value"])
    ]
    if not shares:
        told = say("model.nothing")
    else:
        told = " ".join([*_passes(dossier, shares), *_strong(dossier, player), _breaks(dossier, player)])
    script = [html.inline(say("model.script"))] if player in dossier.scripted else []
    costs = [_costs(dossier, player)] if shares else []
    parts = [*script, html.inline(told), *_harm(dossier, player), *costs]
    name = html.inline(player, href=f"#m{dossier.view.players.index(player)}")
    inner = Markup(" ").join(part.html for part in parts)
    text = " ".join(part.text for part in parts)
    return Page(Markup("<strong>{}</strong>. {}").format(name.html, inner), f"{player}. {text}")


def _passes(dossier: Dossier, shares: Sequence[Share]) -> Iterator[str]:
    """Yield where a model passes most and least; where it is the same everywhere, that."""
    say = dossier.say
    best, worst = max(shares, key=lambda s: s[0]), min(shares, key=lambda s: s[0])
    if len(shares) == 1:
        yield say("model.only", **_where(dossier, best))
    elif len({(row["numerator"], row["denominator"]) for _, _, row in shares}) == 1:
        names = say.listed([dossier.arm_name(arm, condition=False) for _, arm, _ in shares])
        yield say("model.each", **{**_where(dossier, best), "where": names})
    else:
        yield say("model.best", **_where(dossier, best))
        if worst[0] < best[0]:
            yield say("model.worst", **_where(dossier, worst))


def _strong(dossier: Dossier, player: str) -> Iterator[str]:
    """Yield the classes of cases in which a model is always right, if there are some and not all are."""
    frame = dossier.view.attempts
    main = pd.MultiIndex.from_tuples([tuple(vars(arm).values()) for arm in dossier.main])
    here = pd.MultiIndex.from_frame(frame[["suite", "lang", "condition"]]).isin(main)
    judged = frame["scored"].astype(bool) & (frame[COUNT.review] == 0)
    worst = frame[here & judged & (frame["player"] == player)].groupby("case_class")["passed"].min()
    right = [str(name) for name in worst[worst == 1].index]
    if 0 < len(right) < len(worst):
        yield dossier.say("model.strong", classes=dossier.say.listed(right, 4))


def _where(dossier: Dossier, found: Share) -> dict[str, object]:
    _, arm, row = found
    return {
        "where": dossier.arm_name(arm, condition=False),
        "right": f"{row['numerator']:.0f}",
        "all": int(row["denominator"]),
        "share": dossier.say.share(row["numerator"], row["denominator"]),
    }


def _breaks(dossier: Dossier, player: str) -> str:
    """Return what goes wrong first in most failed attempts."""
    say = dossier.say
    firsts = dossier.firsts
    failed = (firsts["layer"] != "review") & ~firsts["condition"].isin(dossier.controls)
    mine = firsts[failed & (firsts["player"] == player)]["code"]
    if mine.empty:
        return say("model.never")
    code, number = str(mine.value_counts().index[0]), int(mine.value_counts().iloc[0])
    return say("model.breaks", what=_lower(say.meaning(code)), number=number)


def _harm(dossier: Dossier, player: str) -> Iterator[Page]:
    """Yield what could do harm, whatever its number, with a link to where it can be read."""
    places = list(dossier.places(player, dossier.main))
    rows = [figures["unsafe_call_rate"] for _, figures in places]
    number = sum(int(row["numerator"]) for row in rows if pd.notna(row["value"]))
    if number:
        found = {code for arm, _ in places for code in dossier.codes.get((player, arm), ())}
        codes = [f"#code-{code}" for code in DANGEROUS if code in found]
        place = f"#m{dossier.view.players.index(player)}"
        yield html.inline(dossier.say("model.harm", number=number), href=(*codes, place)[0])


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _costs(dossier: Dossier, player: str) -> Page:
    """Return cost and time."""
    say = dossier.say
    mine = dossier.spending[dossier.spending["player"] == player]
    middle, slow = mine["latency_ms"].quantile([0.5, 0.95])
    if player in dossier.free:
        cost = say("cost.free")
    elif mine["cost"].isna().any():
        cost = say("cost.unknown")
    else:
        done = mine["completed"].sum()
        total = mine["cost"].sum()
        currency = mine["currency"].dropna().iloc[0] if mine["currency"].notna().any() else ""
        cost = say("cost.known", each=say.money(total / done if done else float("nan"), currency))
    if mine["latency_ms"].isna().all():
        return html.inline(say("model.untimed", cost=cost))
    return html.inline(say("model.costs", cost=cost, middle=say.time(middle), slow=say.time(slow)))
