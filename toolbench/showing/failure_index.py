"""How attempts fail: families by model, every finding in plain words, and links to its conversations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import pandas as pd
from markupsafe import Markup

from toolbench.domain.codes import CODES
from toolbench.numbers.tables import groups
from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.families import FAMILIES, bar, chip, family, family_of, legend
from toolbench.showing.html import Page, esc
from toolbench.showing.talks import Subject
from toolbench.showing.view import Arm

LINKS = 60
"""Links to conversations under one finding; the table of cases has them all."""


def failures(dossier: Dossier) -> Page:
    """Return families by model and arm, then the findings."""
    return bars(dossier) + findings(dossier)


def bars(dossier: Dossier) -> Page:
    """Return one bar a model, suite and language: failed attempts by family of the first finding."""
    say, firsts = dossier.say, dossier.firsts
    parts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    keys = ["player", "suite", "lang", "condition", "layer"]
    for (*place, layer), found in groups(firsts[keys], keys):
        parts[tuple(place)][family(layer)] += len(found)
    rows = []
    for player in dossier.subjects:
        for arm, figures in dossier.places(player, dossier.main):
            mine = parts[player, arm.suite, arm.lang, arm.condition]
            total, failed = int(figures["scored"]["value"]), sum(mine.values())
            drawn = Page(bar(mine, total, say), _told(mine, dossier))
            rows.append([player, dossier.arm_name(arm, condition=False), drawn, f"{failed}/{total}"])
    names = [say("player"), say("suite_lang"), say("failed.by_family"), say("failed")]
    table = html.table(pd.DataFrame(rows, columns=names), "", numbers=names[-1:], kind="bars", heads=2)
    return Page(legend(say), "") + table


def _told(parts: Mapping[str, int], dossier: Dossier) -> str:
    return ", ".join(f"{dossier.say('family.' + kind)} {parts[kind]}" for kind in FAMILIES if parts.get(kind))


def findings(dossier: Dossier) -> Page:
    """Return every finding of the models: plain words, attempts by model, what to check, where to read."""
    say = dossier.say
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (player, _), codes in dossier.codes.items():
        if player in dossier.subjects:
            for code, number in codes.items():
                counts[code][player] += number
    ordered = sorted(counts, key=lambda code: (FAMILIES.index(family_of(code)), -sum(counts[code].values())))
    links = where(dossier)
    rows = [
        [
            _told_code(code, links.get(code, []), dossier),
            *(counts[code][player] or "" for player in dossier.subjects),
        ]
        for code in ordered
    ]
    names = [say("finding"), *dossier.subjects]
    frame = pd.DataFrame(rows, columns=names)
    return html.table(frame, say("findings.caption"), numbers=dossier.subjects, kind="codes")


def _told_code(code: str, links: Sequence[tuple[str, str]], dossier: Dossier) -> Page:
    """Return a finding in words with what to check and where it can be read."""
    say = dossier.say
    listed = Markup(", ").join(
        Markup('<a href="{}">{}</a>').format(esc(href), esc(text)) for text, href in links[:LINKS]
    )
    more = say("more", number=len(links) - LINKS) if len(links) > LINKS else ""
    folded = Markup("<details><summary>{}</summary><p>{} {}</p></details>").format(
        say("findings.where", number=len(links)), listed, more
    )
    inner = Markup('<span id="code-{}">{} <b>{}</b> <code>{}</code></span><br><small>{}</small>{}').format(
        esc(code), chip(code, say), esc(say.meaning(code)), esc(code), esc(say.diagnosis(code)), folded
    )
    return Page(inner, f"{say.meaning(code)} ({code})")


def where(dossier: Dossier) -> Mapping[str, list[tuple[str, str]]]:
    """Return code → text and link of every conversation that has it."""
    found: dict[str, dict[Subject, None]] = defaultdict(dict)
    rows = dossier.view.findings
    rows = rows[rows["player"].isin(dossier.subjects)]
    columns = ["code", "player", "suite", "lang", "condition", "case_id"]
    for code, player, suite, lang, condition, case in rows[columns].itertuples(index=False):
        found[code][Subject(player, Arm(suite, lang, condition), case)] = None
    several = len(dossier.subjects) > 1
    return {
        code: [
            (f"{s.case} ({s.player}, {s.arm.lang})" if several else f"{s.case} ({s.arm.lang})", link)
            for s in subjects
            if (link := dossier.talks.link(*s)) is not None
        ]
        for code, subjects in found.items()
    }


def glossary(dossier: Dossier, player: str) -> Page:
    """Return a player's findings in words, for a page beside the report."""
    say = dossier.say
    found = {code for (who, _), codes in dossier.codes.items() if who == player for code in codes}
    items = Markup("").join(
        Markup('<li id="code-{}">{} <b>{}</b> <code>{}</code> {}</li>').format(
            esc(code), chip(code, say), esc(say.meaning(code)), esc(code), esc(say.diagnosis(code))
        )
        for code in sorted(found, key=lambda code: list(CODES).index(code) if code in CODES else 99)
    )
    return html.heading(say("glossary"), 2) + Page(Markup('<ul class="glossary">{}</ul>').format(items), "")
