"""Plots of the experiments: pure functions of frames, in the style of :mod:`toolbench.showing.plots`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from toolbench.showing.plots import HATCHES, MARKERS, PALETTE, canvas, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARE = "share of attempts passed"


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    """Name the rows of a horizontal plot, the first one on top."""
    axes.set_yticks(range(len(labels)), list(labels))
    axes.set_ylim(len(labels) - 0.4, -0.6)


def _legend(axes: Axes, columns: int = 4) -> None:
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, frameon=False, borderaxespad=0.2, fontsize=8
    )


def _missing(axes: Axes, row: float, text: str) -> None:
    axes.text(0.0, row, text, va="center", ha="center", color="#555555")


@plain
def order_ticks(table: pd.DataFrame, reference: str) -> Figure:
    """One line a player: a tick for every tool order, the reference order and the worst one marked.

    Parameters
    ----------
    table
        ``player``, ``order``, ``share`` (NaN: ``text`` is printed instead), ``text`` (``–`` or ``err``).
    """
    players = list(dict.fromkeys(table["player"]))
    fig, axes = canvas(6.8, 1.3 + 0.45 * len(players))
    labels = {"every order": False, f"tools in {reference} order": False, "worst order": False}

    def once(name: str) -> str | None:
        seen, labels[name] = labels[name], True
        return None if seen else name

    names = list(labels)
    for row, player in enumerate(players):
        mine = table[table["player"] == player]
        known = mine.dropna(subset=["share"])
        if known.empty:
            _missing(axes, row, str(mine["text"].iloc[0]))
            continue
        values = known["share"].to_numpy(dtype=float)
        axes.plot([values.min(), values.max()], [row, row], color="#777777", zorder=1)
        axes.scatter(
            values, [row] * len(values), marker="|", s=260, color="black", zorder=2, label=once(names[0])
        )
        usual = known[known["order"] == reference]["share"]
        axes.scatter(usual, [row] * len(usual), s=60, color=PALETTE[0], zorder=3, label=once(names[1]))
        axes.scatter(
            values.min(),
            row,
            marker="D",
            s=75,
            facecolors="none",
            edgecolors=PALETTE[3],
            linewidths=1.6,
            zorder=4,
            label=once(names[2]),
        )
    _rows(axes, players)
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel(SHARE)
    _legend(axes, 3)
    return fig


@plain
def slopes(table: pd.DataFrame, left: str, right: str) -> Figure:
    """Both shares of each player as a slope; beside it the paired difference with its 95 % interval.

    ``table`` has ``player``, ``left``, ``right``, ``delta``, ``ci_low``, ``ci_high``; NaN where nothing was
    scored.
    """
    from matplotlib.figure import Figure as Drawing

    fig = Drawing(figsize=(8.4, max(2.8, 1.6 + 0.42 * len(table))), layout="constrained")
    slope, forest = fig.subplots(1, 2, width_ratios=[1, 1.5])
    columns = ["left", "right", "delta", "ci_low", "ci_high"]
    for row, (before, after, delta, low, high) in enumerate(table[columns].to_numpy(dtype=float)):
        colour, marker = PALETTE[row % len(PALETTE)], MARKERS[row % len(MARKERS)]
        if np.isnan(delta):
            _missing(forest, row, "–")
            continue
        slope.plot(
            [0, 1], [before, after], color=colour, marker=marker, markersize=7, markeredgecolor="black"
        )
        forest.plot([low, high], [row, row], color="black", linewidth=1.4, zorder=1)
        forest.scatter(delta, row, color=colour, marker=marker, s=55, edgecolors="black", zorder=2)
    slope.set_xticks([0, 1], [left, right])
    slope.set_xlim(-0.25, 1.25)
    slope.set_ylim(-0.04, 1.04)
    slope.set_ylabel("share")
    forest.axvline(0, color="#777777", linestyle=":")
    _rows(forest, list(table["player"]))
    ends = np.abs(table[["delta", "ci_low", "ci_high"]].to_numpy(dtype=float))
    reach = max(1.1 * float(np.nanmax(ends, initial=0.0)), 0.05)
    forest.set_xlim(-reach, reach)
    forest.set_xlabel(f"difference, {right} minus {left}, 95 % interval")
    return fig


@plain
def curves(table: pd.DataFrame) -> Figure:
    """``pass@k`` (full line) and ``pass^k`` (broken line) over k, one marker a player.

    ``table`` has ``player``, ``k``, ``pass^k``, ``pass@k``.
    """
    fig, axes = canvas(6.4, 3.4)
    for index, (player, rows) in enumerate(table.groupby("player", sort=False)):
        look: dict[str, Any] = {
            "color": PALETTE[index % len(PALETTE)],
            "marker": MARKERS[index % len(MARKERS)],
            "markeredgecolor": "black",
        }
        axes.plot(rows["k"], rows["pass@k"], label=f"{player}: one of k passes", **look)
        axes.plot(rows["k"], rows["pass^k"], linestyle="--", label=f"{player}: all k pass", **look)
    axes.set_xticks(sorted(table["k"].unique()))
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("k tries")
    axes.set_ylabel("mean over cases")
    _legend(axes, 2)
    return fig


@plain
def stacked(table: pd.DataFrame, classes: Sequence[str]) -> Figure:
    """One bar a row, split into classes; a number in every part, ``–`` where there is nothing.

    ``table`` has ``label`` and one column of counts per class.
    """
    fig, axes = canvas(8.2, 1.5 + 0.42 * len(table))
    used = [name for name in classes if table[name].sum()]
    starts = np.zeros(len(table))
    totals = table[list(classes)].sum(axis=1).to_numpy(dtype=float)
    for name in used:
        index = list(classes).index(name)
        shares = table[name].to_numpy(dtype=float) / np.maximum(totals, 1)
        axes.barh(
            range(len(table)),
            shares,
            left=starts,
            height=0.72,
            color=PALETTE[index % len(PALETTE)],
            hatch=HATCHES[index % len(HATCHES)],
            edgecolor="black",
            linewidth=0.5,
            label=name,
        )
        for row, (share, count) in enumerate(zip(shares, table[name], strict=True)):
            if count:
                _boxed(axes, starts[row] + share / 2, row, str(int(count)))
        starts = starts + shares
    for empty in np.flatnonzero(totals == 0):
        _missing(axes, float(empty), "–")
    _rows(axes, list(table["label"]))
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of scored attempts (number inside)")
    _legend(axes, 4)
    return fig


def _boxed(axes: Axes, x: float, y: float, text: str) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box)


@plain
def dots(table: pd.DataFrame, series: Sequence[str], xlabel: str, limits: tuple[float, float]) -> Figure:
    """One row a label with a dot and an interval for each series; ``k/n`` beside them.

    ``table`` has ``label``, ``series``, ``value``, ``low``, ``high``, ``text``. A missing value prints its
    ``text`` (``–`` or ``err``) instead of a dot.
    """
    labels = list(dict.fromkeys(table["label"]))
    fig, axes = canvas(7.4, 1.2 + (0.2 + 0.2 * len(series)) * len(labels))
    named: set[str] = set()
    for _, point in table.iterrows():
        index = list(series).index(point["series"])
        row = labels.index(point["label"]) + (index - (len(series) - 1) / 2) * 0.3
        if not pd.isna(point["value"]):
            colour = PALETTE[(0, 3, 2, 5)[index % 4]]
            axes.plot([point["low"], point["high"]], [row, row], color=colour, linewidth=1.4, zorder=1)
            axes.scatter(
                point["value"],
                row,
                marker=MARKERS[index % len(MARKERS)],
                s=48,
                facecolors=colour if index % 2 == 0 else "white",
                edgecolors=colour,
                zorder=2,
                label=None if point["series"] in named else point["series"],
            )
            named.add(point["series"])
        axes.annotate(
            str(point["text"]), (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=8
        )
    _rows(axes, labels)
    axes.set_xlim(*limits)
    axes.set_xlabel(xlabel)
    if named and len(series) > 1:
        _legend(axes, 3)
    return fig
