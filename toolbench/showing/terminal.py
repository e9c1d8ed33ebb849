"""Figures as plain text for a terminal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from toolbench.numbers.definitions import UNSCORED
from toolbench.numbers.frames import ScoredRun
from toolbench.showing.format import NAMES, share
from toolbench.showing.html import visible
from toolbench.showing.sections import figures, is_control
from toolbench.showing.view import RunView

SHOWN = (
    "pass_rate",
    "decision_accuracy",
    "tool_selection_accuracy",
    "exact_argument_accuracy",
    "unsafe_call_rate",
    "false_claim_rate",
)


def score_table(run: Path, scored: ScoredRun | None = None) -> str:
    """Return the main figures of a run, one block an arm; model text is not part of it.

    What has no score stands beside what has one, a column a reason. ``scored`` is the same run where it has
    been judged already.
    """
    view = RunView(run, scored=scored)
    blocks = [line for line in (view.incomplete, *view.scored.reused) if line]
    for arm in view.arms:
        table = view.at(view.metrics, arm)
        rows = []
        counted = table[table["metric"].isin(UNSCORED) & (table["value"] > 0)]["metric"]
        beside = {name: name.replace("_", " ") for name in UNSCORED if name in set(counted)}
        for player in view.players:
            mine = figures(table, player)
            if not mine:
                continue
            row = {"player": visible(player), "scored": f"{mine['scored']['value']:.0f}"}
            row |= {name: f"{mine[metric]['value']:.0f}" for metric, name in beside.items()}
            if "to_review" in mine:
                row["to review"] = f"{mine['to_review']['value']:.0f}"
            if is_control(view, arm):
                row["calls reported"] = f"{mine['control_calls']['numerator']:.0f}"
            else:
                row |= {NAMES[name]: share(mine[name]) for name in SHOWN}
            rows.append(row)
        text = pd.DataFrame(rows).to_string(index=False) if rows else "(no attempt)"
        blocks.append(f"{arm}\n{text}")
    return "\n\n".join(blocks)
