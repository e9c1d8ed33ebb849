"""The last line of every experiment: its question answered in one sentence made of the numbers above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from toolbench.domain.plurals import plural
from toolbench.numbers.comparison import Comparison
from toolbench.showing import html
from toolbench.showing.format import each, percent, points
from toolbench.showing.html import Page

LEVEL = 0.05
"""Corrected p below which a difference is called one."""


def answer(sentences: Sequence[str]) -> Page:
    """Return the answer as a page: the question, or what is to be said of it, and what it is made of."""
    question, *told = sentences
    body = html.paragraph(question, "effect")
    return html.heading("Answer", 3) + (body + html.bullets(told) if told else body)


def effect_sentence(row: Any) -> str:
    """Return one paired difference in words, and whether it is more than chance gives."""
    if not row.cases or pd.isna(row.delta):
        return f"{row.player}: no case was scored on both sides, so nothing can be said."
    moved = points(row.delta, row.ci_low, row.ci_high)
    told = f"{row.player}: {percent(row.left)} → {percent(row.right)}, {moved} points"
    if pd.isna(row.p_holm):
        return f"{told}, not told from chance: too few scenarios differ ({plural(row.cases, 'case')})."
    if row.p_holm < LEVEL:
        return f"{told}, more than chance gives (corrected p {row.p_holm:.2g}, {plural(row.cases, 'case')})."
    if row.detectable < 1:
        unseen = f"; these {plural(row.cases, 'case')} would have shown {100 * row.detectable:.0f} points"
    else:
        unseen = f"; {plural(row.cases, 'case is', 'cases are')} too few to show any"
    return f"{told}, not told from chance (corrected p {row.p_holm:.2g}){unseen}."


def effect_answer(found: Comparison, question: str, metric: str = "pass_rate") -> Page:
    """Answer with the paired differences of one figure, the clearest first, one a player and place."""
    rows = found.table[found.table["metric"] == metric].sort_values("p_holm", kind="stable")
    scored = rows[(rows["cases"] > 0) & rows["delta"].notna()]
    clear = int((scored["p_holm"] < LEVEL).sum())
    if scored.empty:
        return answer([f"{question} Nothing was scored on both sides, so this run cannot say."])
    verdict = "Yes" if clear else "Not that these cases could show"
    count = f"more than chance gives in {clear} of {plural(len(scored), 'comparison')}."
    places = scored[["suite", "lang"]].drop_duplicates()
    named = scored
    if len(places) > 1:
        named = scored.assign(player=scored["player"] + " (" + scored["suite"] + " " + scored["lang"] + ")")
    return answer([f"{question} {verdict}: {count}", *(effect_sentence(row) for row in each(named.head(4)))])
