"""The workbench as a widget: five sections around one bench."""

from __future__ import annotations

from typing import ClassVar

import ipywidgets as widgets

from toolbench.workbench.bench import Bench
from toolbench.workbench.choose_panel import ChoosePanel
from toolbench.workbench.compare_panel import ComparePanel
from toolbench.workbench.edit_panel import EditPanel
from toolbench.workbench.parts import style
from toolbench.workbench.results_panel import ResultsPanel, RunPanel


class Panel:
    """Wires the sections: what changes in one is shown by the others."""

    _shown: ClassVar[Panel | None] = None

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.choose = ChoosePanel(bench, self._chosen)
        self.edit = EditPanel(bench, self._edited)
        self.run = RunPanel(bench)
        self.results = ResultsPanel(bench)
        self.compare = ComparePanel(bench)
        self._place = bench.choice.suite, bench.choice.lang
        self._was_busy = False
        bench.session.on_change = self.refresh
        sections = [part.root for part in (self.choose, self.edit, self.run, self.results, self.compare)]
        self.root = widgets.VBox([style(), *sections])
        self.root.add_class("toolbench")
        self.results.refresh(force=True)
        if not bench.session.busy:
            self.results.finish()

    @classmethod
    def take_over(cls, bench: Bench) -> Panel:
        """Return the panel of a bench; an earlier one stops, or its run would go on unseen."""
        if cls._shown is not None:
            cls._shown.bench.session.stop()
        cls._shown = cls(bench)
        return cls._shown

    def _chosen(self) -> None:
        place = self.bench.choice.suite, self.bench.choice.lang
        if place != self._place:
            self._place = place
            self.edit.fill()

    def _edited(self) -> None:
        self.choose.refresh()

    def refresh(self) -> None:
        """Show what has happened in the run."""
        busy = self.bench.session.busy
        self.run.refresh()
        self.results.refresh(force=self._was_busy and not busy)
        if self._was_busy and not busy and self.bench.attempts is not None:
            self.results.finish()
            self.compare.refresh()
        self._was_busy = busy
