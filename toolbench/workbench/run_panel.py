"""Section 3 of the workbench: the run under way."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from toolbench.errors import ToolbenchError
from toolbench.showing.html import paragraph
from toolbench.workbench.bench import Bench
from toolbench.workbench.parts import PageBox, button, on_value, row, section
from toolbench.workbench.running import status


class RunPanel:
    """Starts, stops and continues the session of a bench."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.run = button("Run", lambda: self._do(bench.start), "Start the planned run", "primary")
        self.stop = button(
            "Stop", bench.session.stop, "Keep what is finished, drop what is in flight", "warning"
        )
        self.resume = button(
            "Continue", lambda: self._do(bench.session.resume), "Make the attempts that lack"
        )
        self.beside = widgets.Checkbox(
            value=True, indent=False, description="Run the committed wording beside the edited one"
        )
        self.beside.layout.width = "auto"
        self.bar = widgets.IntProgress(min=0, max=1, layout=widgets.Layout(width="auto"))
        self.line = PageBox()
        controls = row(self.run, self.stop, self.resume, self.beside)
        controls.layout.align_items = "center"
        self.root = section("3 · Run", controls, self.bar, self.line.root)
        on_value(self.beside, lambda: bench.choose(beside=self.beside.value))
        self.refresh()

    def _do(self, action: Callable[[], object]) -> None:
        try:
            action()
        except ToolbenchError as fault:
            self.line.show(paragraph(f"Not started: {fault}", "warning"))

    def refresh(self) -> None:
        """Show how far the run is."""
        session, attempts = self._bench.session, self._bench.attempts
        made, total = (0 if attempts is None else len(attempts)), session.plan.total if session.plan else 0
        self.run.disabled = session.busy
        self.stop.disabled = not session.busy or session.state == "stopping"
        self.resume.disabled = session.busy or session.plan is None or session.complete
        self.bar.max, self.bar.value = max(total, 1), made
        kind = "warning" if session.problem else ""
        self.line.show(paragraph(status(session, attempts), kind))
