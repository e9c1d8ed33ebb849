"""A comparison as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from toolbench.numbers.compare import OUTCOMES, Comparison
from toolbench.numbers.tables import groups, records


def render(comparison: Comparison) -> str:
    """Return a comparison as plain text for a terminal."""
    lines = [f"left:  {comparison.left}", f"right: {comparison.right}"]
    lines.append(f"compared: {', '.join(comparison.factors) or 'nothing: a plain repetition'}")
    for key, rows in groups(comparison.table, comparison.shared):
        counts = comparison.cases[(comparison.cases[list(comparison.shared)] == list(key)).all(axis=1)]
        tally = counts["outcome"].value_counts().reindex(list(OUTCOMES), fill_value=0)
        lines += ["", "/".join(key), ", ".join(f"{name} {number}" for name, number in tally.items())]
        lines += [_line(row) for row in records(rows)]
    changes = {"newly failing": comparison.newly_failing, "newly passing": comparison.newly_passing}
    for title, cases in changes.items():
        lines += ["", f"{title}: {len(cases)}"]
        lines += [
            f"  {row['lang']} {row['case_id']} {row['left_passed']}/{row['left_n']} → "
            f"{row['right_passed']}/{row['right_n']}  {', '.join(row['codes'])}: {'; '.join(row['reasons'])}"
            for row in records(cases)
        ]
    return "\n".join([*lines, *comparison.unpaired, *comparison.warnings])


def _line(row: Mapping[str, Any]) -> str:
    if not row["cases"]:
        return f"  {row['metric']:<26} –  ({row['test']})"
    detectable = "–" if pd.isna(row["detectable"]) else f"{row['detectable']:.2g}"
    return (
        f"  {row['metric']:<26} {row['left']:>9.4g} → {row['right']:<9.4g} {row['delta']:+.4g} "
        f"[{row['ci_low']:+.3g}, {row['ci_high']:+.3g}]  p {row['p']:.3g}, Holm {row['p_holm']:.3g} "
        f"({row['test']}, {row['cases']} cases; detectable {detectable})"
    )
