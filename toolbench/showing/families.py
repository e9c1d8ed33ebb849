"""Families of findings: where in an attempt it went wrong, with one colour and one hatch for a whole page."""

from __future__ import annotations

from markupsafe import Markup

from toolbench.domain.codes import CODES
from toolbench.showing.html import visible
from toolbench.showing.words import Words

FAMILIES = ("decision", "selection", "arguments", "order", "policy", "answer", "review")
"""In the order in which an attempt goes through them; the style sheet has a colour and a hatch for each."""
LAYERS = {
    **dict.fromkeys(["syntax", "structure", "values", "provenance"], "arguments"),
    "budget": "answer",
}
"""Layer of a finding → its family, where that has another name."""
DANGEROUS = ("unsafe_call", "not_permitted", "foreign_object", "unconfirmed_write", "duplicate_operation")
"""Findings that can do harm, worst first: they are named before more frequent ones."""


def family(layer: str) -> str:
    """Return the family of a finding's layer."""
    return LAYERS.get(layer, layer if layer in FAMILIES else "answer")


def family_of(code: str) -> str:
    """Return the family of a code."""
    return family(CODES[code].layer) if code in CODES else "answer"


def chip(code: str, say: Words) -> Markup:
    """Return a small mark in the family's colour with its name."""
    kind = family_of(code)
    return Markup('<span class="chip f-{}">{}</span>').format(kind, say("family." + kind))


def bar(parts: dict[str, int], total: int, say: Words) -> Markup:
    """Return attempts by family as one bar, passed ones blank at its end; parts below 3 % carry no number."""
    if not total:
        return Markup("")
    made = Markup("").join(
        Markup('<i class="f-{}" style="width:{:.2f}%" title="{}"><b>{}</b></i>').format(
            kind,
            100 * parts[kind] / total,
            visible(f"{say('family.' + kind)}: {parts[kind]}/{total}"),
            parts[kind] if parts[kind] >= 0.03 * total else "",
        )
        for kind in FAMILIES
        if parts.get(kind)
    )
    told = ", ".join(f"{say('family.' + kind)} {parts[kind]}" for kind in FAMILIES if parts.get(kind))
    label = f"{told or say('nothing_failed')}; {say('of_attempts', number=total)}"
    return Markup('<span class="bar" role="img" aria-label="{}">{}</span>').format(visible(label), made)


def legend(say: Words) -> Markup:
    """Return every family's mark and name."""
    marks = Markup(" ").join(
        Markup('<span class="key"><i class="f-{}"></i>{}</span>').format(kind, say("family." + kind))
        for kind in FAMILIES
    )
    return Markup('<p class="legend">{} <span class="key"><i class="f-none"></i>{}</span></p>').format(
        marks, say("family.none")
    )
