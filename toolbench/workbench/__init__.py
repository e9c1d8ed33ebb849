"""The interactive workbench: choose, edit a wording, run, look, compare.

Everything it shows is made by plain functions of what is in ``runs/<id>/``; widgets only bind them::

    bench = open_bench("config.json", suite="delivery", lang="en")
    panel(bench)                      # in JupyterLab
    await bench.play()                # the same without widgets
    view(bench.session.folder)        # any run, any time
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbench.workbench.bench import Bench, open_bench, view
from toolbench.workbench.edits import Base, Place, Wording
from toolbench.workbench.own import OwnSuite, suite_from

if TYPE_CHECKING:
    from ipywidgets import VBox

__all__ = ["Base", "Bench", "OwnSuite", "Place", "Wording", "open_bench", "panel", "suite_from", "view"]


def panel(bench: Bench) -> VBox:
    """Return the workbench as a widget; a workbench shown before stops its run and makes way."""
    from toolbench.workbench.board import Panel

    return Panel.take_over(bench).root
