"""Case × player as a table one can search: every failed cell leads to its conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from toolbench.showing import html
from toolbench.showing.dossier import Dossier, Tally
from toolbench.showing.html import Page, esc
from toolbench.showing.model_blocks import step
from toolbench.showing.view import Arm

SHOW = ("all", "failing", "differing")
"""What the switch above a table shows; each needs one rule in the style sheet."""


def cases(dossier: Dossier) -> Iterator[Page]:
    """Yield a table for every suite and language, those of further conditions folded."""
    for arm in dossier.view.arms:
        control = arm.condition in dossier.controls
        players = [*dossier.subjects, *(dossier.floor if arm in dossier.main else [])]
        table = grid(dossier, arm, players)
        if not control and table.html:
            yield table if arm in dossier.main else html.folded(str(arm), table)


def grid(dossier: Dossier, arm: Arm, players: Sequence[str]) -> Page:
    """Return the cases of one arm, hardest for the models first, with a switch that needs no script."""
    say, counts = dossier.say, dossier.by_case(arm)
    names = list(dict.fromkeys(case for _, case in counts))
    if not names:
        return html.EMPTY
    subjects = [player for player in players if player in dossier.subjects]

    def passed(case: str) -> float:
        rows = [counts[player, case] for player in subjects if (player, case) in counts]
        return sum(row.passed for row in rows) / max(1, sum(row.judged for row in rows))

    number = dossier.view.arms.index(arm)
    rows = Markup("").join(
        _row(dossier, arm, case, players) for case in sorted(names, key=lambda c: (passed(c), c))
    )
    head = Markup("").join(
        Markup("<th scope=col{}>{}</th>").format(
            Markup("") if player in subjects else Markup(" class=floor"), esc(player)
        )
        for player in players
    )
    switch = Markup("").join(
        Markup(
            '<input type=radio name="show{0}" id="{1}{0}" class="{1}"{2}><label for="{1}{0}">{3}</label> '
        ).format(number, name, Markup(" checked") if name == "all" else Markup(""), say("show." + name))
        for name in SHOW
    )
    sums = "; ".join(
        f"{player}: {sum(row.passed for row in mine)}/{sum(row.judged for row in mine)}"
        for player in players
        for mine in [[row for (who, _), row in counts.items() if who == player]]
    )
    caption = say("grid.caption", arm=dossier.arm_name(arm), number=len(names))
    page = Markup(
        '<section class="grid" id="g{}">{}<div class="scroll tall"><table class="grid"><caption>{}</caption>'
        "<thead><tr><th scope=col>{}</th>{}</tr></thead><tbody>{}</tbody></table></div></section>"
    ).format(number, switch, esc(caption), say("case"), head, rows)
    return Page(page, f"{caption}. {sums}")


def _row(dossier: Dossier, arm: Arm, case: str, players: Sequence[str]) -> Markup:
    counts = dossier.by_case(arm)
    mine = [counts.get((player, case)) for player in players]
    judged = [
        row.passed == row.judged
        for player, row in zip(players, mine, strict=True)
        if row and row.judged and player in dossier.subjects
    ]
    kind = " ".join(
        [*(["pass"] if all(judged) and judged else []), *(["same"] if len(set(judged)) < 2 else [])]
    )
    cells = Markup("").join(
        _cell(dossier, arm, case, player, row) for player, row in zip(players, mine, strict=True)
    )
    return Markup('<tr class="{}"><th scope=row>{}</th>{}</tr>').format(kind, esc(case), cells)


def _cell(dossier: Dossier, arm: Arm, case: str, player: str, row: Tally | None) -> Markup:
    if row is None:
        return Markup("<td class=none>–</td>")
    open_ = dossier.say("grid.review", number=row.review) if row.review else ""
    if not row.judged and not open_:
        return Markup("<td class=none>{}</td>").format(dossier.say("lost.short"))
    link = dossier.talks.link(player, arm, case)
    text = " ".join([*([f"{row.passed}/{row.judged}"] if row.judged else []), *([open_] if open_ else [])])
    inner = Markup('<a href="{}">{}</a>').format(link, text) if link else esc(text)
    kind = f"s{step(row.passed, row.judged)}" if row.judged else "none"
    return Markup("<td class={}>{}</td>").format(kind, inner)
