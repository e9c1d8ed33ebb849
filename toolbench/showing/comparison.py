"""A comparison as it is shown everywhere: table, cases, headline, and plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.numbers.case_rows import OUTCOMES
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.definitions import MEANS
from toolbench.numbers.tables import groups, records
from toolbench.showing import html
from toolbench.showing.format import NAMES, NOTHING, amount, each, p_text, percent, points
from toolbench.showing.html import Page
from toolbench.showing.view import RunView

NUMBERS = ("before", "after", "difference [95 %]", "p", "p, Holm", "cases (scenarios)", "lost", "detectable")
FLIP_CELLS = ("differ", "by chance", "excess [95 %]", "p", "detectable", "cases (scenarios)", "usual changes")
AMOUNTS = {mean.name for mean in MEANS}
LONGEST = 40
"""Rows of a table of cases; the rest is counted."""
NAMED = 5
"""Cases named in a headline."""


def with_players(view: RunView, comparison: Comparison) -> Comparison:
    """Return a comparison whose frames have a ``player`` column.

    Where protocols are compared that is the model alone, and where players are, no name but both sides.
    """

    def named(frame: pd.DataFrame) -> pd.DataFrame:
        if set(PlayerKey._fields) <= set(frame):
            return view.named(frame)
        return frame.assign(player=frame.get("model", "left → right"))

    return replace(comparison, table=named(comparison.table), cases=named(comparison.cases))


def cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a comparison's table as texts: figures, difference, p, cases, losses, power."""
    if row["metric"] in AMOUNTS:
        ends = "" if pd.isna(row["ci_low"]) else f" [{row['ci_low']:+.3g}, {row['ci_high']:+.3g}]"
        before, after = amount(row["left"]), amount(row["right"])
        difference = NOTHING if pd.isna(row["delta"]) else f"{row['delta']:+.4g}{ends}"
        detectable = amount(row["detectable"])
    else:
        before, after = percent(row["left"]), percent(row["right"])
        difference, detectable = points(row["delta"], row["ci_low"], row["ci_high"]), _detectable(row)
    cases = f"{row['cases']} ({row['clusters']})"
    tests = p_text(row["p"]), p_text(row["p_holm"])
    return dict(zip(NUMBERS, (before, after, difference, *tests, cases, _lost(row), detectable), strict=True))


def _detectable(row: Mapping[str, Any]) -> str:
    return NOTHING if pd.isna(row["detectable"]) else f"{100 * row['detectable']:.0f} points"


def _lost(row: Mapping[str, Any]) -> str:
    """Return how many attempts were lost, and between what the difference then lies: ``38 (-12…+9)``."""
    if not row["lost"]:
        return "0"
    if pd.isna(row["lowest"]):
        return str(row["lost"])
    return f"{row['lost']} ({100 * row['lowest']:+.0f}…{100 * row['highest']:+.0f})"


def flip_cells(row: Any) -> dict[str, Any]:
    """Return what :func:`toolbench.numbers.flips.changes` found as texts."""
    changed = f"{row.changed:.0f} of {row.cases:.0f}" if hasattr(row, "changed") else NOTHING
    cells = (
        percent(row.rate),
        percent(row.chance),
        points(row.excess, row.ci_low, row.ci_high),
        p_text(row.p),
        _detectable({"detectable": row.detectable}),
        f"{row.cases:.0f} ({row.clusters:.0f})",
        changed,
    )
    return dict(zip(FLIP_CELLS, cells, strict=True))


def effect_table(comparison: Comparison, caption: str) -> Page:
    """Both figures, the difference with its 95 % interval, and the corrected p; a table a place.

    The frames of the comparison have a ``player`` column (:func:`with_players`).
    """
    scored = comparison.table[comparison.table["cases"] > 0]
    if scored.empty:
        return html.paragraph("No case was scored on both sides.", "warning")
    return html.join(
        html.table(_effects(rows), f"{suite} · {lang}: {caption}", numbers=NUMBERS)
        for (suite, lang), rows in scored.groupby(["suite", "lang"], sort=False)
    )


def _effects(table: pd.DataFrame) -> pd.DataFrame:
    shown = pd.DataFrame(
        {
            "player": row["player"],
            "change": f"{row['before']} → {row['after']}",
            "figure": NAMES.get(row["metric"], row["metric"]),
            **cells(row),
        }
        for row in records(table)
    )
    # What is the same in every row is said by the caption.
    constant = [name for name in ("change", "figure") if shown[name].nunique() == 1 and len(shown) > 1]
    return shown.drop(columns=constant)


def notes(comparison: Comparison, most: int = 6) -> Page:
    """Return what limits the comparison, the first few lines of it."""
    lines = [*comparison.unpaired, *comparison.warnings]
    rest = len(lines) - most
    lines = [*lines[:most], *([f"… and {rest} more lines like these"] if rest > 0 else [])]
    return html.bullets(lines) if lines else html.EMPTY


def case_table(cases: pd.DataFrame, caption: str, most: int = LONGEST) -> Page:
    """Return paired cases of players, with the findings of the side that fails."""
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


def headline(comparison: Comparison) -> str:
    """Return the effect on the deciding metric with its interval, its test and the cases behind it."""
    row = next(row for row in records(comparison.table) if row["metric"] == comparison.primary)
    if not row["cases"]:
        return "no case was scored on both sides."
    shown = cells(row)
    delta, _, ends = shown["difference [95 %]"].partition(" ")
    named = "; ".join(f"{title} {_ids(cases)}" for title, cases in _changes(comparison))
    return (
        f"{shown['before']} → {shown['after']} passed, {delta} points{ends and ' ' + ends}, p {shown['p']} "
        f"({row['test']}, {row['cases']} paired cases of {row['clusters']} scenarios); {named}."
    )


def _changes(comparison: Comparison) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "newly passing", comparison.newly_passing
    yield "newly failing", comparison.newly_failing


def _ids(cases: pd.DataFrame) -> str:
    return (", ".join(cases["case_id"].head(NAMED)) or "none") + (" …" if len(cases) > NAMED else "")


def text(comparison: Comparison) -> str:
    """Return a comparison as plain text for a terminal."""
    lines = [f"left:  {left}\nright: {right}" for left, right in comparison.sides]
    lines.append(f"compared: {', '.join(comparison.factors) or 'nothing: a plain repetition'}")
    for key, rows in groups(comparison.table, comparison.shared):
        counts = comparison.cases[(comparison.cases[list(comparison.shared)] == list(key)).all(axis=1)]
        tally = counts["outcome"].value_counts().reindex(list(OUTCOMES), fill_value=0)
        lines += ["", "/".join(key), ", ".join(f"{name} {number}" for name, number in tally.items())]
        lines += [_line(row) for row in records(rows)]
    for title, cases in _changes(comparison):
        lines += ["", f"{title}: {len(cases)}"]
        lines += [
            f"  {row['lang']} {row['case_id']} {row['left_passed']}/{row['left_n']} → "
            f"{row['right_passed']}/{row['right_n']}  {', '.join(row['codes'])}: {'; '.join(row['reasons'])}"
            for row in records(cases)
        ]
    return "\n".join([*lines, *comparison.unpaired, *comparison.warnings])


def _line(row: Mapping[str, Any]) -> str:
    if not row["cases"]:
        return f"  {row['metric']:<26} {NOTHING}  ({row['test']})"
    before, after, difference, p, holm, number, lost, detectable = cells(row).values()
    told = [row["test"], f"{number} cases"]
    told += [f"lost {lost}"] if row["lost"] else []
    told += [f"detectable {detectable}"] if detectable != NOTHING else []
    tests = "" if p == NOTHING else f"  p {p}" + ("" if holm == NOTHING else f", Holm {holm}")
    return f"  {row['metric']:<26} {before:>9} → {after:<9} {difference}{tests} ({'; '.join(told)})"
