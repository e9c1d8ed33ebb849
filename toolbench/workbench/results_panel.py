"""Section 4 of the workbench: the grid of cases, and what is behind a cell, opened right under it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from toolbench.domain.plurals import plural
from toolbench.errors import ToolbenchError
from toolbench.showing.html import EMPTY, Page, folded, paragraph
from toolbench.showing.report import write_report
from toolbench.workbench import case_grid, comparing, exporting
from toolbench.workbench.bench import Bench
from toolbench.workbench.case_grid import Cell, Column, Grid
from toolbench.workbench.parts import WIDE, LinkBox, PageBox, Quiet, button, labelled, on_value, row, section
from toolbench.workbench.tracing import traces

PAGE = 50
"""Cases in the grid at once; a browser grows slow with thousands of buttons."""
REST = 4.0
"""Drawing results may take up to one part in this many of the kernel's time, so that Stop is heard."""
TITLES = {"all": "all cases", "failing": "only failing", "differing": "only differing"}
Place = tuple[str, Column]


class ResultsPanel:
    """The grid of buttons and what a pressed one stands for."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._quiet = bench, Quiet()
        self.only = widgets.ToggleButtons(
            options=[(TITLES[name], name) for name in case_grid.FILTERS], style={"button_width": "auto"}
        )
        self.find = widgets.Text(placeholder="part of a case id", layout=widgets.Layout(width="220px"))
        self.page = widgets.Dropdown(options=[("all", 0)], layout=widgets.Layout(width="220px"))
        self.effect, self.summary, self.latest, self.hidden = PageBox(), PageBox(), PageBox(), PageBox()
        self.grid = widgets.GridBox()
        self.grid.add_class("tb-grid")
        self.cells: dict[Place, widgets.Button] = {}
        self.chosen: Place | None = None
        self.repetition = widgets.Dropdown(layout=widgets.Layout(width="120px"))
        self.close = button("Close", self._close, "Close this trace")
        self.trace = PageBox()
        chosen = row(labelled("Repetition", self.repetition), self.close)
        chosen.layout.align_items = "flex-end"
        self.opened = widgets.VBox([chosen, self.trace.root])
        self.opened.add_class("tb-trace")
        self.export = button(
            "Write report and CSV", self._export, "Into the run's folder, with links to both"
        )
        self.links = LinkBox()
        self._traces: dict[int, Page] = {}
        self._state: tuple[object, ...] = ()
        self._next_at = 0.0
        # One model a colour and one a size, instead of two a button: a grid is sent several times faster.
        self._looks: dict[float | None, widgets.ButtonStyle] = {}
        self._size = widgets.Layout(width=WIDE, height="28px", margin="0")
        self._export_task: asyncio.Task[None] | None = None
        self.root = section("4 · Results", self._layout())
        for filtering in (self.only, self.find):
            on_value(filtering, self._filter)
        on_value(self.page, self._turn)
        on_value(self.repetition, self._show_trace)

    def _layout(self) -> widgets.Widget:
        filters = row(self.only, labelled("Find", self.find), labelled("Page", self.page))
        filters.layout.align_items = "flex-end"
        return widgets.VBox(
            [
                self.effect.root,
                filters,
                self.grid,
                self.hidden.root,
                self.summary.root,
                self.latest.root,
                row(self.export, self.links.root),
            ]
        )

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
        self.export.disabled = attempts is None or bench.session.busy
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
        self.links.clear()
        self.grid.children, self.cells = (), {}

    def _filter(self) -> None:
        with self._quiet():
            self.page.value = 0
        self.refresh(force=True)

    def _turn(self) -> None:
        if not self._quiet.on:
            self.refresh(force=True)

    def _draw(self, grid: Grid) -> None:
        """Bring the buttons up to date; those that stay are changed in place and keep the keyboard focus."""
        wanted = str(self.find.value).strip().casefold()
        fitting = [case for case in grid.cases if wanted in case.casefold()]
        starts = range(0, max(len(fitting), 1), PAGE)
        with self._quiet():
            options = [(_pages(fitting, start), start) for start in starts]
            if tuple(self.page.options) != tuple(options):
                before = self.page.value
                self.page.options = options
                self.page.value = before if before in starts else 0
        shown = fitting[self.page.value : self.page.value + PAGE]
        places = [(case, column) for case in shown for column in grid.columns]
        if places != list(self.cells):
            self.cells = {place: self.cells.get(place) or self._cell(place) for place in places}
            if self.chosen not in self.cells:
                self.chosen = None
            self._arrange(shown, grid.columns)
        for place, made in self.cells.items():
            self._dress(made, place, grid.cells[place])
        self.hidden.show(paragraph("" if fitting else "No case is left by this filter.", "note"))

    def _arrange(self, cases: Sequence[str], columns: Sequence[Column]) -> None:
        """Lay out heads and rows, and the opened trace under the row it belongs to."""
        children: list[Any] = [
            _label("case", "tb-case", "tb-head"),
            *(_label(str(column), "tb-head") for column in columns),
        ]
        for case in cases:
            children += [_label(case, "tb-case"), *(self.cells[case, column] for column in columns)]
            if self.chosen and self.chosen[0] == case:
                children.append(self.opened)
        self.grid.children = children
        self.grid.layout.grid_template_columns = (
            f"minmax(120px, max-content) repeat({len(columns)}, minmax(56px, 150px)) minmax(0, 1fr)"
        )
        self.grid.layout.grid_gap = "3px 4px"

    def _cell(self, place: Place) -> widgets.Button:
        made = widgets.Button(layout=self._size, style=self._look(None))
        made.add_class("tb-cell")
        made.on_click(lambda _: self.choose(*place))
        return made

    def _look(self, share: float | None) -> widgets.ButtonStyle:
        if share not in self._looks:
            background, text = _colours(share)
            self._looks[share] = widgets.ButtonStyle(button_color=background, text_color=text)
        return self._looks[share]

    def _dress(self, made: widgets.Button, place: Place, cell: Cell) -> None:
        """Give a button the text, colour and tooltip of its cell; the text alone says everything."""
        if made.description == cell.text and made.tooltip:
            return
        case, column = place
        made.description = cell.text
        made.tooltip = f"{case} · {column}: {cell.text} passed" + (
            f" ({', '.join(cell.codes)})" if cell.codes else ""
        )
        made.style = self._look(cell.share)

    def choose(self, case: str, column: Column) -> None:
        """Open the trace of a cell under its row; the cell that is open already closes."""
        session = self._bench.session
        if session.live is None:
            return
        if self.chosen == (case, column):
            self._close()
            return
        self._mark(False)
        self.chosen = (case, column)
        self._mark(True)
        self._traces = traces(session.live.view, case, column.player, column.condition)
        with self._quiet():
            self.repetition.options = [(str(number + 1), number) for number in self._traces]
            self.repetition.value = next(iter(self._traces), None)
        self._show_trace()
        self._rearrange()

    def _close(self) -> None:
        self._mark(False)
        self.chosen = None
        self._rearrange()

    def _rearrange(self) -> None:
        self._arrange(
            list(dict.fromkeys(case for case, _ in self.cells)),
            list(dict.fromkeys(column for _, column in self.cells)),
        )

    def _mark(self, on: bool) -> None:
        if self.chosen in self.cells:
            made = self.cells[self.chosen]
            (made.add_class if on else made.remove_class)("tb-chosen")

    def _show_trace(self) -> None:
        if self._quiet.on:
            return
        waiting = paragraph("No attempt of this cell has been finished yet.", "note")
        self.trace.show(self._traces.get(self.repetition.value, waiting))

    def _export(self) -> None:
        self._export_task = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        """Write both files in a thread: a report takes its time, and the page must stay alive."""
        folder, attempts = self._bench.session.folder, self._bench.attempts
        if folder is None or attempts is None:
            return
        self.export.disabled = True
        self.links.say(paragraph(f"Writing the report of {folder} …", "note"))
        try:
            files = [await asyncio.to_thread(exporting.write_attempts, folder, attempts)]
            files.insert(0, (await asyncio.to_thread(write_report, folder)).html)
            self.links.show(files)
        except ToolbenchError as fault:
            self.links.say(paragraph(f"Not written: {fault}", "warning"))
        finally:
            self.export.disabled = False


def _pages(cases: Sequence[str], start: int) -> str:
    last = min(start + PAGE, len(cases))
    return f"{start + 1}–{last} of {plural(len(cases), 'case')}" if cases else "no case"


def _label(text: str, *kinds: str) -> widgets.Label:
    label = widgets.Label(text)
    for kind in kinds:
        label.add_class(kind)
    return label


def _colours(share: float | None) -> tuple[str, str]:
    import matplotlib
    from matplotlib.colors import to_hex

    if share is None:
        return "#d9d9d9", "#000000"
    return to_hex(matplotlib.colormaps["cividis"](float(share))), "#ffffff" if share < 0.5 else "#000000"
