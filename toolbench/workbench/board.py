"""The workbench as a widget: its sections around one bench."""

from __future__ import annotations

from typing import ClassVar

import ipywidgets as widgets

from toolbench.workbench.bench import Bench
from toolbench.workbench.choose_panel import ChoosePanel
from toolbench.workbench.compare_panel import ComparePanel
from toolbench.workbench.drafts_panel import DraftsPanel
from toolbench.workbench.edit_panel import EditPanel
from toolbench.workbench.history_panel import HistoryPanel
from toolbench.workbench.parts import style
from toolbench.workbench.results_panel import ResultsPanel
from toolbench.workbench.review_panel import ReviewPanel
from toolbench.workbench.run_panel import RunPanel


class Panel:
    """Wires the sections: what changes in one is shown by the others."""

    _shown: ClassVar[Panel | None] = None

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.choose = ChoosePanel(bench, self._chosen)
        self.drafts = DraftsPanel(bench, self._confirmed)
        self.edit = EditPanel(bench, self._edited)
        self.run = RunPanel(bench)
        self.results = ResultsPanel(bench)
        self.compare = ComparePanel(bench)
        self.history = HistoryPanel(bench, self._restored)
        self.review = ReviewPanel(bench)
        self._place = bench.choice.suite, bench.choice.lang
        self._was_busy = False
        bench.session.on_change = self.refresh
        bench.session.find_home()
        parts = (
            self.drafts,
            self.choose,
            self.edit,
            self.run,
            self.results,
            self.compare,
            self.history,
            self.review,
        )
        self.root = widgets.VBox([style(), *(part.root for part in parts)])
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
            self.drafts.refresh()
            self.edit.fill()

    def _confirmed(self) -> None:
        self.choose.fill()
        self.choose.refresh()

    def _edited(self) -> None:
        self.choose.refresh()

    def _restored(self) -> None:
        self.choose.fill()
        self.edit.fill()
        self.choose.refresh()

    def refresh(self) -> None:
        """Show what has happened in the run."""
        busy = self.bench.session.busy
        self.run.refresh()
        self.results.refresh(force=self._was_busy and not busy)
        if self._was_busy and not busy and self.bench.attempts is not None:
            self.results.finish()
            for part in (self.compare, self.history, self.review):
                part.refresh()
        self._was_busy = busy
