"""Plots: pure functions of frames. None relies on colour alone; labels are ids, never model text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#999999")
"""Okabe–Ito: told apart with the common kinds of colour blindness; hatches tell them apart in grey."""
HATCHES = ("", "//", "..", "xx", "\\\\", "oo", "++", "--")
SHADES = ("#ffffff", "#c6dbef", "#8fbcdb", "#5a97c5", "#2f6fa7", "#08306b")
"""Told apart by lightness: the first behaviour of a case is white, each further one darker."""
FIRST_DARK = 3
MARKERS = ("o", "D", "s", "^", "v", "P", "X", "*")


def plain(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw without a display and without reading ``$`` in labels as mathematics."""

    @wraps(plot)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        import matplotlib

        style = {
            "text.parse_math": False,
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
        with matplotlib.rc_context(style):  # type: ignore[arg-type]
            return plot(*args, **kwargs)

    return drawn


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure of a size in inches, and its axes."""
    from matplotlib.figure import Figure as Drawing

    fig = Drawing(figsize=(width, height))
    return fig, fig.add_subplot()


def case_order(frame: pd.DataFrame) -> list[str]:
    """Return case ids from the most to the least often passed."""
    share = frame.groupby("case_id", sort=True)["passed"].mean().fillna(-1)
    return [str(name) for name in share.sort_values(ascending=False, kind="stable").index]


@plain
def heatmap(frame: pd.DataFrame, players: Sequence[str]) -> Figure:
    """Case × player: share of passed attempts, ``k/n`` in each cell, ``err`` and ``–`` where not scored.

    ``frame`` holds one suite, language and condition, with a ``player`` column.
    """
    cases = case_order(frame)
    fig, axes = canvas(1.9 + 1.05 * len(players), 0.9 + 0.24 * len(cases))
    values = np.full((len(cases), len(players)), np.nan)
    for row, case in enumerate(cases):
        for column, player in enumerate(players):
            cell = frame[(frame["case_id"] == case) & (frame["player"] == player)]
            scored = cell[cell["scored"].astype(bool)]
            text = "err" if len(cell) and scored.empty else "–"
            if len(scored):
                right = int(scored["passed"].sum())
                values[row, column] = right / len(scored)
                text = f"{right}/{len(scored)}"
            dark = not np.isnan(values[row, column]) and values[row, column] < 0.5
            axes.text(
                column, row, text, ha="center", va="center", color="white" if dark else "black", fontsize=8
            )
    import matplotlib

    colours = matplotlib.colormaps["cividis"].with_extremes(bad="#d9d9d9")
    axes.imshow(values, cmap=colours, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(players)), players, rotation=30, ha="right")
    axes.set_yticks(range(len(cases)), cases)
    return fig


@plain
def dumbbell(table: pd.DataFrame, left: str, right: str, xlabel: str = "share of attempts passed") -> Figure:
    """One line a player between its figure under two conditions.

    ``table`` has the columns ``player``, ``left`` and ``right`` (shares, NaN allowed).
    """
    fig, axes = canvas(6.4, 1.2 + 0.4 * len(table))
    pairs = table[["left", "right"]].to_numpy(dtype=float)
    for row, (before, after) in enumerate(pairs):
        axes.plot([before, after], [row, row], color="#777777", zorder=1)
        axes.scatter(
            before, row, marker="o", s=60, color=PALETTE[0], zorder=2, label=left if row == 0 else None
        )
        axes.scatter(
            after,
            row,
            marker="D",
            s=75,
            facecolors="none",
            edgecolors=PALETTE[3],
            linewidths=1.6,
            zorder=3,
            label=right if row == 0 else None,
        )
    axes.set_yticks(range(len(table)), list(table["player"]))
    axes.set_xlim(-0.03, 1.03)
    axes.invert_yaxis()
    axes.set_xlabel(xlabel)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return fig


@plain
def forest(table: pd.DataFrame, title: str) -> Figure:
    """One line a row: a difference and its interval; a cross where there is none.

    ``table`` has the columns ``label``, ``delta``, ``ci_low``, ``ci_high`` (NaN allowed).
    """
    fig, axes = canvas(6.4, 1.2 + 0.4 * len(table))
    axes.axvline(0, color="#777777", linewidth=0.8)
    for row, (delta, low, high) in enumerate(table[["delta", "ci_low", "ci_high"]].to_numpy(dtype=float)):
        if np.isfinite(low):
            axes.plot([low, high], [row, row], color=PALETTE[0])
        axes.scatter(delta, row, marker="s" if np.isfinite(low) else "x", s=40, color=PALETTE[0], zorder=3)
    axes.set_yticks(range(len(table)), list(table["label"]))
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_xlabel(f"difference of {title}, right minus left")
    return fig


@plain
def consistency_grid(frame: pd.DataFrame, player: str) -> Figure:
    """Case × repetition: equal letters are equal behaviour; a letter in brackets did not pass."""
    mine = frame[frame["player"] == player]
    cases = case_order(mine)
    repetitions = sorted(int(value) for value in mine["repetition"].unique())
    fig, axes = canvas(2.6 + 0.55 * len(repetitions), 0.8 + 0.24 * len(cases))
    numbers = np.full((len(cases), len(repetitions)), np.nan)
    for row, case in enumerate(cases):
        seen: dict[str, int] = {}
        for column, repetition in enumerate(repetitions):
            cell = mine[(mine["case_id"] == case) & (mine["repetition"] == repetition)]
            if cell.empty or not bool(cell["scored"].iloc[0]):
                axes.text(column, row, "err" if len(cell) else "–", ha="center", va="center", fontsize=8)
                continue
            index = seen.setdefault(str(cell["behaviour"].iloc[0]), len(seen))
            numbers[row, column] = index
            letter = chr(ord("A") + index)
            text = letter if cell["passed"].iloc[0] else f"({letter})"
            dark = index >= FIRST_DARK
            axes.text(
                column, row, text, ha="center", va="center", color="white" if dark else "black", fontsize=8
            )
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(SHADES).with_extremes(bad="#eeeeee")
    axes.imshow(numbers, cmap=colours, vmin=0, vmax=len(SHADES) - 1, aspect="auto")
    axes.set_xticks(np.arange(0.5, len(repetitions) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(cases) - 1), minor=True)
    axes.grid(which="minor", color="#bbbbbb", linewidth=0.6)
    axes.tick_params(which="minor", length=0)
    axes.set_xticks(range(len(repetitions)), [str(value + 1) for value in repetitions])
    axes.set_yticks(range(len(cases)), cases)
    axes.set_xlabel("repetition")
    return fig
