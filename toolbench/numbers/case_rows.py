"""The cases of two sides, each with its outcome and the reasons of the side that fails."""

from __future__ import annotations

import numpy as np
import pandas as pd

from toolbench.numbers.flips import disagreement
from toolbench.numbers.tables import groups

OUTCOMES = ("both", "only left", "only right", "neither")
DIFFERING = OUTCOMES[1:3]
REASONS_KEPT = 3


def case_rows(
    left: pd.DataFrame, right: pd.DataFrame, left_findings: pd.DataFrame, right_findings: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per case: passes on both sides, the outcome, and why the failing side fails."""
    sides = [frame.groupby("case_id", sort=True)["passed"].agg(["sum", "size"]) for frame in (left, right)]
    has_left, has_right = (counts["sum"] * 2 > counts["size"] for counts in sides)
    rows = pd.DataFrame(
        {
            **{name: left.groupby("case_id", sort=True)[name].first() for name in ("scenario", "case_class")},
            "left_passed": sides[0]["sum"].astype("int64"),
            "left_n": sides[0]["size"],
            "right_passed": sides[1]["sum"].astype("int64"),
            "right_n": sides[1]["size"],
            "outcome": np.select([has_left & has_right, has_left, has_right], OUTCOMES[:3], OUTCOMES[3]),
        }
    )
    rows = rows.join(disagreement("behaviour", left, right)).reset_index()
    blame = {"only left": _texts(right_findings), "only right": _texts(left_findings)}
    blame["neither"] = blame["only left"]
    why = [
        blame.get(outcome, {}).get(case, ((), ()))
        for case, outcome in zip(rows["case_id"], rows["outcome"], strict=True)
    ]
    for index, name in enumerate(("codes", "reasons")):
        rows[name] = pd.Series([texts[index] for texts in why], dtype=object)
    return rows


def _texts(findings: pd.DataFrame) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return case → its codes and its first few reasons, each once."""
    return {
        str(case): (tuple(dict.fromkeys(found["code"])), tuple(dict.fromkeys(found["reason"]))[:REASONS_KEPT])
        for (case,), found in groups(findings, ["case_id"])
    }
