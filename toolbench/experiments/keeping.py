"""Figures of a page as files: SVG for a paper, PNG for everything else."""

from __future__ import annotations

from toolbench.showing.html import Page
from toolbench.showing.view import RunView

FORMATS = ("svg", "png")
DPI = 200


def keep(view: RunView, page: Page, name: str) -> Page:
    """Write a page's figures as ``<run>/figures/<name>-<number>.svg`` and ``.png``, and return the page.

    Figures of the same name are replaced. The objects themselves are ``page.figures``.
    """
    import matplotlib

    folder = view.path / "figures"
    folder.mkdir(exist_ok=True)
    # Text stays text in an SVG, and a label with a dollar is no mathematics.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "text.parse_math": False}):
        for number, figure in enumerate(page.figures, 1):
            for kind in FORMATS:
                figure.savefig(folder / f"{name}-{number}.{kind}", dpi=DPI, bbox_inches="tight")
    return page
