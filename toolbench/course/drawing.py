"""The tool-calling loop as a picture."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from toolbench.course.words import Words
from toolbench.showing import html
from toolbench.showing.html import Page
from toolbench.showing.plots import PALETTE, canvas, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

LANES = ("user", "program", "model", "tool")
ARROWS = (
    ("user", "program", "question"),
    ("program", "model", "request"),
    ("model", "program", "call"),
    ("program", "program", "check"),
    ("program", "tool", "execute"),
    ("tool", "program", "result"),
    ("program", "model", "again"),
    ("model", "program", "text"),
    ("program", "user", "answer"),
)
"""From, to, and the key of what is said; the loop is from ``request`` to ``again``."""
LOOP = (1, 6)
_PLATE = {"fc": "white", "ec": "none", "pad": 0.6, "alpha": 0.85}
"""Behind a label, so that the dotted lines do not run through it."""


def loop_page(words: Words) -> Page:
    """The loop as a sequence of nine steps between user, program, model and tool."""
    return html.figure(_draw(words), loop_alt(words), words("loop_caption"))


def loop_alt(words: Words) -> str:
    """Return the picture in words."""
    steps = [f"{number}. {words(f'arrow_{name}')}" for number, (_, _, name) in enumerate(ARROWS, 1)]
    return f"{words('loop_alt')} {'; '.join(steps)}."


def loop_png(words: Words) -> bytes:
    """Return the picture as a PNG file."""
    buffer = io.BytesIO()
    _draw(words).savefig(buffer, format="png", dpi=110, bbox_inches="tight", facecolor="white")
    return buffer.getvalue()


@plain
def _draw(words: Words) -> Figure:
    fig, axes = canvas(10.6, 5.6)
    places = {name: 3.0 * index for index, name in enumerate(LANES)}
    bottom = -len(ARROWS) - 0.4
    for index, name in enumerate(LANES):
        axes.plot([places[name]] * 2, [-0.1, bottom], color="#999999", lw=1, ls=":", zorder=1)
        axes.text(
            places[name],
            0.2,
            words(f"lane_{name}"),
            ha="center",
            va="bottom",
            fontweight="bold",
            bbox={"boxstyle": "round,pad=.35", "fc": "white", "ec": PALETTE[index], "lw": 2},
        )
    first, last = LOOP
    axes.add_patch(_frame(places, -first - 0.35, -last - 1.4))
    axes.text(places["tool"] + 1.3, -last - 1.3, words("loop_frame"), ha="right", va="bottom", fontsize=9)
    for number, (start, end, name) in enumerate(ARROWS, 1):
        _arrow(axes, places[start], places[end], -number, f"{number}. {words(f'arrow_{name}')}")
    axes.set_xlim(-1.3, places["tool"] + 1.5)
    axes.set_ylim(bottom, 1)
    axes.axis("off")
    return fig


def _frame(places: dict[str, float], top: float, bottom: float) -> Patch:
    from matplotlib.patches import FancyBboxPatch

    left, right = places["program"] - 1.2, places["tool"] + 1.4
    return FancyBboxPatch(
        (left, bottom),
        right - left,
        top - bottom,
        boxstyle="round,pad=0",
        fc="#f3f6fa",
        ec="#0072B2",
        ls="--",
        zorder=0,
    )


def _arrow(axes: Axes, start: float, end: float, height: float, label: str) -> None:
    if start == end:
        axes.plot([start], [height], marker="s", color="#333333", ms=6)
        axes.text(start + 0.15, height, label, va="center", ha="left", fontsize=8.5, bbox=_PLATE)
        return
    axes.annotate("", (end, height), (start, height), arrowprops={"arrowstyle": "-|>", "color": "#333333"})
    axes.text((start + end) / 2, height + 0.06, label, ha="center", va="bottom", fontsize=8.5, bbox=_PLATE)
