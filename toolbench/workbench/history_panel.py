"""Section 6 of the workbench: wordings that were tried, what came of them, and the way back to one."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from toolbench.errors import ToolbenchError
from toolbench.showing.html import paragraph
from toolbench.workbench import history
from toolbench.workbench.bench import Bench
from toolbench.workbench.parts import WIDE, PageBox, button, labelled, row, section


class HistoryPanel:
    """Lists the trials of a bench's folder of runs; calls ``restored`` when texts were taken over."""

    def __init__(self, bench: Bench, restored: Callable[[], None]) -> None:
        self._bench, self._restored, self._effects = bench, restored, history.Effects()
        self.trial = widgets.Select(options=[], rows=5, layout=widgets.Layout(width=WIDE))
        self.show = button("Show effects", self._show, "Judge the runs listed and tell what each wording did")
        self.restore = button(
            "Restore this wording", self._restore, "Edit on from the texts of this run", "info"
        )
        self.page = PageBox(paragraph("Wordings of earlier runs, newest first.", "note"))
        self.root = section(
            "6 · History of wordings",
            labelled("Wordings tried", self.trial),
            row(self.restore, self.show),
            self.page.root,
        )
        self.refresh()

    def refresh(self) -> None:
        """List what has been tried; only headers are read."""
        found = history.trials(self._bench.session.runs)
        if [value for _, value in self.trial.options] != found:
            self.trial.options = [(str(trial), trial) for trial in found]
            self.trial.value = found[0] if found else None
        self.restore.disabled = self.show.disabled = not found

    def _show(self) -> None:
        try:
            self.page.show(history.page([trial for _, trial in self.trial.options], self._effects))
        except ToolbenchError as fault:
            self.page.show(paragraph(str(fault), "warning"))

    def _restore(self) -> None:
        trial: history.Trial | None = self.trial.value
        if trial is None:
            return
        try:
            gone = self._bench.restore(trial)
        except ToolbenchError as fault:
            self.page.show(paragraph(f"Not restored: {fault}", "warning"))
            return
        self._restored()
        lost = f" The suite no longer has {', '.join(map(str, gone))}." if gone else ""
        self.page.show(
            paragraph(f"The texts of {trial.run.name} ({trial.after}) are in section 2.{lost}", "note")
        )
