"""Sections 3 and 4 of the workbench: the run under way, its grid, and the trace behind a cell."""

from __future__ import annotations

import time
from collections.abc import Callable

import ipywidgets as widgets

from toolbench.errors import ToolbenchError
from toolbench.showing.html import EMPTY, Page, folded, paragraph
from toolbench.workbench import case_grid, comparing
from toolbench.workbench.bench import Bench
from toolbench.workbench.case_grid import Cell, Column, Grid
from toolbench.workbench.parts import WIDE, PageBox, Quiet, button, labelled, on_value, row, section
from toolbench.workbench.running import status
from toolbench.workbench.tracing import traces

MAX_ROWS = 60
"""Cases in the grid at once; a browser grows slow with thousands of buttons."""
REST = 4.0
"""Drawing results may take up to one part in this many of the kernel's time, so that Stop is heard."""
TITLES = {"all": "all cases", "failing": "only failing", "differing": "only differing"}


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
        self.bar = widgets.IntProgress(min=0, max=1, layout=widgets.Layout(width=WIDE))
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


class ResultsPanel:
    """The grid of buttons and what a pressed one stands for."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._quiet = bench, Quiet()
        self.only = widgets.ToggleButtons(
            options=[(TITLES[name], name) for name in case_grid.FILTERS], style={"button_width": "auto"}
        )
        self.effect, self.summary, self.latest, self.hidden = PageBox(), PageBox(), PageBox(), PageBox()
        self.grid = widgets.GridBox()
        self.cells: dict[tuple[str, Column], widgets.Button] = {}
        self.chosen: tuple[str, Column] | None = None
        self.repetition = widgets.Dropdown(layout=widgets.Layout(width="120px"))
        self.trace = PageBox(paragraph("Press a cell of the grid to see what happened in it.", "note"))
        self._traces: dict[int, Page] = {}
        self._state: tuple[object, ...] = ()
        self._next_at = 0.0
        self.root = section("4 · Results", self._layout())
        on_value(self.only, lambda: self.refresh(force=True))
        on_value(self.repetition, self._show_trace)

    def _layout(self) -> widgets.Widget:
        left = widgets.VBox(
            [self.only, self.grid, self.hidden.root, self.summary.root],
            layout=widgets.Layout(flex="2 1 400px", min_width="300px"),
        )
        right = widgets.VBox(
            [labelled("Repetition", self.repetition), self.trace.root],
            layout=widgets.Layout(flex="3 1 520px", min_width="300px"),
        )
        return widgets.VBox([self.effect.root, row(left, right), self.latest.root])

    def refresh(self, force: bool = False) -> None:
        """Show the attempts there are; skipped while nothing is new or the kernel has other work."""
        bench, now = self._bench, time.monotonic()
        attempts, planned = bench.attempts, bench.planned
        state = (bench.session.folder, None if attempts is None else len(attempts), bench.session.state)
        if not force and (state == self._state or (bench.session.busy and now < self._next_at)):
            return
        if state[0] != (self._state or (None,))[0]:
            self._forget()
        self._state = state
        if attempts is None or planned is None:
            return
        self._draw(case_grid.grid(attempts, planned, str(self.only.value)))
        self.summary.show(case_grid.summary_page(attempts, planned))
        self.latest.show(folded("Latest attempts", case_grid.latest_page(attempts)))
        self._next_at = time.monotonic() + REST * (time.monotonic() - now)

    def finish(self) -> None:
        """Show the paired effect of the finished run."""
        session = self._bench.session
        if session.plan and session.plan.pairs and session.live:
            view = session.live.view
            self.effect.show(comparing.effects(type(view)(view.path), session.plan.pairs))

    def _forget(self) -> None:
        self.chosen, self._traces = None, {}
        for box in (self.effect, self.summary, self.latest, self.hidden):
            box.show(EMPTY)
        self.trace.show(paragraph("Press a cell of the grid to see what happened in it.", "note"))
        self.grid.children, self.cells = (), {}

    def _draw(self, grid: Grid) -> None:
        """Bring the buttons up to date; those that stay are changed in place and keep the keyboard focus."""
        shown = grid.cases[:MAX_ROWS]
        wanted = [(case, column) for case in shown for column in grid.columns]
        if wanted != list(self.cells):
            self.cells = {place: self.cells.get(place) or self._cell(place) for place in wanted}
            heads = [widgets.Label(""), *(_head(column) for column in grid.columns)]
            rows = [w for case in shown for w in (_case(case), *(self.cells[case, c] for c in grid.columns))]
            self.grid.children = [*heads, *rows]
            columns = f"repeat({len(grid.columns)}, minmax(74px, 128px))"
            self.grid.layout = widgets.Layout(
                grid_template_columns=f"minmax(120px, max-content) {columns}",
                grid_gap="3px 4px",
                overflow="auto",
            )
        for place, made in self.cells.items():
            _dress(made, place, grid.cells[place])
        text = "" if len(shown) == len(grid.cases) else f"{len(shown)} of {len(grid.cases)} cases are shown."
        self.hidden.show(paragraph(text or ("" if grid.cases else "No case is left by this filter."), "note"))

    def _cell(self, place: tuple[str, Column]) -> widgets.Button:
        made = widgets.Button(layout=widgets.Layout(width=WIDE, height="28px", margin="0"))
        made.add_class("tb-cell")
        made.on_click(lambda _: self.choose(*place))
        return made

    def choose(self, case: str, column: Column) -> None:
        """Show the trace of a cell."""
        session = self._bench.session
        if session.live is None:
            return
        if self.chosen in self.cells:
            self.cells[self.chosen].remove_class("tb-chosen")
        self.chosen = (case, column)
        self.cells[self.chosen].add_class("tb-chosen")
        self._traces = traces(session.live.view, case, column.player, column.condition)
        with self._quiet():
            self.repetition.options = [(str(number + 1), number) for number in self._traces]
            self.repetition.value = next(iter(self._traces), None)
        self._show_trace()

    def _show_trace(self) -> None:
        if self._quiet.on:
            return
        waiting = paragraph("No attempt of this cell has been finished yet.", "note")
        self.trace.show(self._traces.get(self.repetition.value, waiting))


def _head(column: Column) -> widgets.Label:
    label = widgets.Label(str(column))
    label.add_class("tb-head")
    return label


def _case(case: str) -> widgets.Label:
    label = widgets.Label(case)
    label.add_class("tb-case")
    return label


def _dress(made: widgets.Button, place: tuple[str, Column], cell: Cell) -> None:
    """Give a button the text, colour and tooltip of its cell; the text alone says everything."""
    if made.description == cell.text and made.tooltip:
        return
    case, column = place
    made.description = cell.text
    made.tooltip = f"{case} · {column}: {cell.text} passed" + (
        f" ({', '.join(cell.codes)})" if cell.codes else ""
    )
    made.style.button_color, made.style.text_color = _colours(cell.share)


def _colours(share: float | None) -> tuple[str, str]:
    import matplotlib
    from matplotlib.colors import to_hex

    if share is None:
        return "#d9d9d9", "#000000"
    return to_hex(matplotlib.colormaps["cividis"](float(share))), "#ffffff" if share < 0.5 else "#000000"
