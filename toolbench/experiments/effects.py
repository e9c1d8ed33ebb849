"""Paired effects of several changes in one table, corrected together, with the figure that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.experiments import figures
from toolbench.experiments.playing import politely, subjects
from toolbench.numbers.compare import Comparison, compare
from toolbench.numbers.paired import holm
from toolbench.numbers.sides import Side, select
from toolbench.showing import html
from toolbench.showing.html import Page
from toolbench.showing.view import RunView

PLAYER = list(PlayerKey._fields)
NAMES = {
    "pass_rate": "all checks passed",
    "decision_accuracy": "decision",
    "tool_selection_accuracy": "selection",
    "raw_schema_validity": "raw validity",
    "exact_argument_accuracy": "exact arguments",
    "normalized_argument_accuracy": "arguments, normalised",
    "unsafe_call_rate": "unsafe calls",
    "clarification_rate": "asked when due",
    "error_recovery_accuracy": "recovery",
    "final_answer_support": "answer supported",
    "completion_rate": "completed",
}
NUMBERS = ("before", "after", "difference [95 %]", "p", "p, Holm", "cases", "detectable")
LONGEST = 40
"""Rows of a table of cases; the rest is counted."""


@dataclass(frozen=True)
class Effects:
    """Comparisons that belong together.

    ``table`` has the columns of :class:`~toolbench.numbers.compare.Comparison`'s table with ``player``,
    ``before`` and ``after`` in front; ``p_holm`` is corrected over all its rows. ``cases`` likewise.
    """

    table: pd.DataFrame
    cases: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def newly_failing(self) -> pd.DataFrame:
        """Cases that were right before and are not after."""
        return self.cases[self.cases["outcome"] == "only left"]

    @property
    def newly_passing(self) -> pd.DataFrame:
        """Cases that are right after and were not before."""
        return self.cases[self.cases["outcome"] == "only right"]


def effects(
    view: RunView, sides: Iterable[tuple[Side, Side]], factor: str, metrics: Sequence[str]
) -> Effects:
    """Compare every pair of sides case by case.

    Baselines are left out where a model was run: they would only make the correction stricter.

    Raises
    ------
    Refusal
        When two sides cannot be compared.
    """
    with politely():
        made = [compare(left, right, (factor,), metrics) for left, right in sides]
    table, cases = (_joined(view, made, name) for name in ("table", "cases"))
    tested = table["p"].notna()
    table.loc[tested, "p_holm"] = holm(table.loc[tested, "p"].to_list())
    notes = dict.fromkeys(line for one in made for line in (*one.unpaired, *one.warnings))
    return Effects(table, cases, tuple(notes))


def condition_effects(
    view: RunView, before: str, after: Sequence[str], metrics: Sequence[str], factor: str = "condition"
) -> Effects:
    """Compare one condition with each of several others."""
    with politely():
        left = select(view.scored, before, condition=before)
        sides = [(left, select(view.scored, name, condition=name)) for name in after]
    return effects(view, sides, factor, metrics)


def _joined(view: RunView, made: Sequence[Comparison], name: str) -> pd.DataFrame:
    frames = []
    for one in made:
        frame: pd.DataFrame = getattr(one, name)
        if set(PLAYER) <= set(frame):
            frame = view.named(frame)
            frame = frame[frame["player"].isin(subjects(view))]
        else:  # the protocol is what was compared
            frame = frame.assign(player=frame["model"])
        frames.append(frame.assign(before=one.left, after=one.right))
    whole = pd.concat(frames, ignore_index=True)
    first = ["player", "before", "after"]
    return whole[[*first, *(column for column in whole if column not in first)]]


def effect_table(found: Effects, caption: str) -> Page:
    """Both figures, the difference with its 95 % interval, and the corrected p; a table a place."""
    scored = found.table[found.table["cases"] > 0]
    if scored.empty:
        return html.paragraph("No case was scored on both sides.", "warning")
    pages = [
        html.table(_effect_rows(rows), f"{suite} · {lang}: {caption}", numbers=NUMBERS)
        for (suite, lang), rows in scored.groupby(["suite", "lang"], sort=False)
    ]
    return html.join([*pages, notes(found)])


def _effect_rows(table: pd.DataFrame) -> pd.DataFrame:
    rows = [
        {
            "player": row.player,
            "change": f"{row.before} → {row.after}",
            "figure": NAMES.get(row.metric, row.metric),
            "before": percent(row.left),
            "after": percent(row.right),
            "difference [95 %]": points(row.delta, row.ci_low, row.ci_high),
            "p": number(row.p),
            "p, Holm": number(row.p_holm),
            "cases": row.cases,
            "detectable": _detectable(row.detectable),
        }
        for row in each(table)
    ]
    shown = pd.DataFrame(rows)
    # What is the same in every row is said by the caption.
    constant = [name for name in ("change", "figure") if shown[name].nunique() == 1 and len(shown) > 1]
    return shown.drop(columns=constant)


def _detectable(value: float) -> str:
    if pd.isna(value):
        return "–"
    return f"{100 * value:.0f} points" if value < 1 else "none"


def notes(found: Effects, most: int = 6) -> Page:
    """Return what limits the comparison, the first few lines of it."""
    rest = len(found.notes) - most
    lines = [*found.notes[:most], *([f"… and {rest} more lines like these"] if rest > 0 else [])]
    return html.bullets(lines) if lines else html.EMPTY


def slope_pages(found: Effects, metric: str, left: str, right: str) -> Page:
    """One figure a suite and language: both shares of each player, and the paired difference."""
    pages = []
    table = found.table[found.table["metric"] == metric]
    for (suite, lang), rows in table.groupby(["suite", "lang"], sort=False):
        title = f"{suite} · {lang}: {NAMES.get(metric, metric)}, {left} and {right}"
        words = "; ".join(
            f"{row.player} {percent(row.left)} and {percent(row.right)}, "
            f"difference {points(row.delta, row.ci_low, row.ci_high)}"
            for row in each(rows)
        )
        pages.append(html.figure(figures.slopes(rows, left, right), f"{title}. {words}", title))
    return html.join(pages)


def case_table(cases: pd.DataFrame, caption: str, most: int = LONGEST) -> Page:
    """Return cases whose outcome changed, with the findings of the side that fails."""
    if cases.empty:
        return html.paragraph(f"{caption}: none.", "note")
    rows = [
        {
            "player": row.player,
            "language": row.lang,
            "change": f"{row.before} → {row.after}",
            "case": row.case_id,
            "before": f"{row.left_passed}/{row.left_n}",
            "after": f"{row.right_passed}/{row.right_n}",
            "findings": ", ".join(row.codes),
            "why": row.reasons[0] if row.reasons else "",
        }
        for row in each(cases.head(most))
    ]
    title = f"{caption}: {len(cases)}" + (f", the first {most}" if len(cases) > most else "")
    return html.table(pd.DataFrame(rows), title, numbers=["before", "after"])


def each(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a frame, their cells as attributes."""
    yield from frame.itertuples(index=False)


def percent(value: float) -> str:
    """Return a share as ``62 %``, or ``–`` where there is none."""
    return "–" if pd.isna(value) else f"{100 * value:.0f} %"


def points(delta: float, low: float, high: float) -> str:
    """Return a difference of shares in percentage points with its interval."""
    if pd.isna(delta):
        return "–"
    ends = "" if pd.isna(low) else f" [{100 * low:+.0f}, {100 * high:+.0f}]"
    return f"{100 * delta:+.0f}{ends}"


def number(value: float) -> str:
    """Return a p-value with as many digits as make sense."""
    return "–" if pd.isna(value) else f"{value:.3f}" if value >= 0.001 else "< 0.001"


def fraction(above: float, below: float) -> str:
    """Return ``62 % (5/8)``, or ``–`` when there is nothing to divide by."""
    return f"{percent(above / below)} ({above:.0f}/{below:.0f})" if below else "–"
