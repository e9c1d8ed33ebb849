"""Two sides on the same cases: an edited wording and the committed one, or this run and an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from toolbench.domain.log import LOG_NAME
from toolbench.errors import InputError
from toolbench.numbers.case_rows import DIFFERING
from toolbench.numbers.compare import compare
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.flips import changed_cases, changes, decided
from toolbench.numbers.sides import FACTORS, Side, select
from toolbench.showing import html
from toolbench.showing.comparison import effect_table, headline, notes, with_players
from toolbench.showing.html import Page
from toolbench.showing.view import RunView

ACCEPTABLE = ("cases", "repetitions", "settings", "seed", "version", "prompt", "descriptions")
"""Differences between two runs that one may accept on purpose."""
NAMED = 5
"""Cases named in one line."""
METRICS = ("pass_rate", "decision_accuracy", "tool_selection_accuracy", "exact_argument_accuracy")


@dataclass(frozen=True)
class Contender:
    """One side of a comparison inside a run: a player under a condition, on one suite in one language."""

    suite: str
    lang: str
    provider: str
    model: str
    protocol: str
    condition: str
    player: str

    def __str__(self) -> str:
        return f"{self.player} · {self.condition} · {self.suite} {self.lang}"

    def under(self, condition: str) -> Contender:
        """Return the same player on the same suite under another condition."""
        return replace(self, condition=condition)

    @property
    def where(self) -> dict[str, str]:
        """Values of the group columns."""
        names = ("suite", "lang", "provider", "model", "protocol", "condition")
        return {name: getattr(self, name) for name in names}


def previous_runs(runs: Path, without: Path | None = None) -> list[Path]:
    """Return the folders that hold a run, newest first."""
    found = [path.parent for path in runs.glob(f"*/{LOG_NAME}") if path.parent != without]
    return sorted(found, key=lambda folder: (folder / LOG_NAME).stat().st_mtime, reverse=True)


def arms(view: RunView) -> list[Contender]:
    """Return every side that a run offers, in the order it was played."""
    names = ["suite", "lang", "provider", "model", "protocol", "condition", "player"]
    unique = view.attempts[names].drop_duplicates().itertuples(index=False, name=None)
    return [Contender(*(str(value) for value in row)) for row in unique]


def paired(
    left: tuple[RunView, Contender], right: tuple[RunView, Contender], accept: Sequence[str] = ("cases",)
) -> Comparison:
    """Compare two sides case by case.

    Parameters
    ----------
    accept
        Differences taken on purpose, of :data:`ACCEPTABLE`. Player, protocol and condition are compared by
        choosing them.

    Raises
    ------
    InputError
        When the sides have no case in common or differ in something that was not accepted.
    """
    (left_view, ours), (_, theirs) = left, right
    same_player = (ours.provider, ours.model) == (theirs.provider, theirs.model)
    names = ["condition", *accept, *([] if same_player else ["model"])]
    if ours.protocol != theirs.protocol:
        names.append("protocol")
    return with_players(left_view, compare(side(left), side(right), names, METRICS))


def side(of: tuple[RunView, Contender]) -> Side:
    """Return one side as figures are made of it."""
    view, arm = of
    return select(view.scored, f"{view.header.run_id}: {arm}", **arm.where)


def factors_page(left: tuple[RunView, Contender], right: tuple[RunView, Contender]) -> Page:
    """Return everything that the two sides differ in."""
    found = factors(side(left), side(right))
    if found.empty:
        return html.paragraph("The sides differ in nothing but chance.", "note")
    return html.table(found, f"What the sides differ in: {len(found)}")


def refusal_page(why: str, left: tuple[RunView, Contender], right: tuple[RunView, Contender]) -> Page:
    """Return why two sides are not compared, and all they differ in."""
    return html.paragraph(f"Not compared: {why}", "warning") + factors_page(left, right)


def effects(view: RunView, pairs: Sequence[tuple[str, str]]) -> Page:
    """Return the paired effect of each edited condition on every player of a run."""
    sides = {(arm.player, arm.condition): arm for arm in arms(view)}
    pages = []
    for player in view.players:
        for before, after in pairs:
            ours, theirs = sides.get((player, before)), sides.get((player, after))
            if ours is not None and theirs is not None:
                pages.append(_effect(view, ours, theirs))
    return html.join(pages) if pages else html.paragraph("No wording was compared in this run.", "note")


def _effect(view: RunView, ours: Contender, theirs: Contender) -> Page:
    title = f"{ours.player}: {ours.condition} → {theirs.condition}"
    try:
        comparison = paired((view, ours), (view, theirs))
    except InputError as fault:
        return html.paragraph(f"{title}: {fault}", "note")
    moved = decisions(view, ours, theirs)
    return html.paragraph(f"{title}: {headline(comparison)} {moved}", "effect")


def decisions(view: RunView, ours: Contender, theirs: Contender) -> str:
    """Return in how many cases the wording changed what is decided, passed or not."""
    left, right = (decided(of_contender(view.attempts, arm)) for arm in (ours, theirs))
    found, moved = changes(left, right), sorted(changed_cases(left, right))
    named = f" ({', '.join(moved[:NAMED])}{', …' if len(moved) > NAMED else ''})" if moved else ""
    return (
        f"Another decision in {found['changed']} of {found['cases']} cases{named}, "
        f"the same with other arguments in {found['arguments']}."
    )


def of_contender(attempts: pd.DataFrame, arm: Contender) -> pd.DataFrame:
    """Return the attempts of one side."""
    return attempts[(attempts[list(arm.where)] == list(arm.where.values())).all(axis=1)]


def factors(left: Side, right: Side) -> pd.DataFrame:
    """Return everything two sides differ in: ``what, left, right, accepted as``."""
    ours, theirs = (next(iter(side.signatures.values())).values for side in (left, right))
    rows = [
        {
            "what": key,
            "left": ours.get(key, "absent"),
            "right": theirs.get(key, "absent"),
            "accepted as": next(
                (name for name in ACCEPTABLE if key in FACTORS[name].keys), "the choice of sides"
            ),
        }
        for key in dict.fromkeys([*ours, *theirs])
        if ours.get(key) != theirs.get(key)
    ]
    return pd.DataFrame(rows, columns=["what", "left", "right", "accepted as"])


def differing(comparison: Comparison, only_differing: bool = True) -> pd.DataFrame:
    """Return the paired cases, or only those that one side has and the other has not."""
    cases = comparison.cases
    return cases[cases["outcome"].isin(DIFFERING)] if only_differing else cases


def comparison_page(found: Comparison, only_differing: bool = False) -> Page:
    """Return a comparison: sides, headline, figures, cases, and what limits it."""
    (sides,) = found.sides
    return html.join(
        [
            html.table(pd.DataFrame({"side": ["left", "right"], "": sides})),
            html.paragraph(headline(found), "effect"),
            effect_table(found, "paired by case"),
            _cases(differing(found, only_differing), len(found.cases), only_differing),
            notes(found),
        ]
    )


def _cases(cases: pd.DataFrame, total: int, only_differing: bool) -> Page:
    kept = f"{len(cases)} of {total} paired cases" + (", only differing" if only_differing else "")
    if cases.empty:
        return html.paragraph(f"{kept}: none to show.", "note")
    shown = pd.DataFrame(
        {
            "case": cases["case_id"],
            "left": cases["left_passed"].astype(str) + "/" + cases["left_n"].astype(str),
            "right": cases["right_passed"].astype(str) + "/" + cases["right_n"].astype(str),
            "passed by": cases["outcome"],
            "why the other failed": ["; ".join(reasons) or None for reasons in cases["reasons"]],
        }
    ).astype(object)
    return html.table(shown, kept)
