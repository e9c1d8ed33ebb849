"""Section 5 of the workbench: any two sides of this run or earlier ones, paired by case."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import ipywidgets as widgets

from toolbench.errors import ToolbenchError
from toolbench.numbers.compare import Comparison
from toolbench.numbers.tables import records
from toolbench.showing.html import EMPTY, Page, heading, join, paragraph
from toolbench.showing.view import RunView
from toolbench.workbench import comparing
from toolbench.workbench.bench import Bench
from toolbench.workbench.comparing import Contender
from toolbench.workbench.parts import PageBox, Quiet, button, labelled, on_value, row, section
from toolbench.workbench.tracing import traces


class ComparePanel:
    """Binds two runs, a side of each, and the cases on which they differ."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._quiet = bench, Quiet()
        self._views: dict[Path, RunView] = {}
        self._comparison: Comparison | None = None
        wide = widgets.Layout(width="330px")
        self.runs = [widgets.Dropdown(layout=wide) for _ in range(2)]
        self.arms = [widgets.Dropdown(layout=wide) for _ in range(2)]
        self.accept = widgets.SelectMultiple(
            options=comparing.ACCEPTABLE, value=("cases",), rows=4, layout=widgets.Layout(width="160px")
        )
        self.only = widgets.Checkbox(value=True, indent=False, description="only differing")
        self.page, self.traces = PageBox(), [PageBox(), PageBox()]
        self.case = widgets.Select(options=[], rows=5, layout=widgets.Layout(width="470px"))
        self.again = button("Look for runs", self.refresh, "List the runs that are there now")
        self.root = section("5 · Compare, paired by case", self._layout())
        for side in range(2):
            on_value(self.runs[side], partial(self._list_arms, side))
            on_value(self.arms[side], self._compare)
        on_value(self.accept, self._compare)
        on_value(self.only, self._show)
        on_value(self.case, self._show_case)
        self.refresh()

    def _layout(self) -> widgets.Widget:
        sides = [
            widgets.VBox([labelled(f"{name} run", self.runs[i]), labelled(f"{name} side", self.arms[i])])
            for i, name in enumerate(("Left", "Right"))
        ]
        half = widgets.Layout(flex="1 1 420px", min_width="300px")
        both = [widgets.VBox([box.root], layout=half) for box in self.traces]
        return widgets.VBox(
            [
                row(
                    *sides,
                    labelled("Differences accepted", self.accept),
                    widgets.VBox([self.only, self.again], layout=widgets.Layout(align_items="flex-start")),
                ),
                self.page.root,
                labelled("Paired cases: choose one to see both traces", self.case),
                row(*both),
            ]
        )

    def refresh(self) -> None:
        """List the runs there are, with this one as the right side, and the committed wording on the left."""
        session = self._bench.session
        folders = comparing.previous_runs(session.runs)
        if not folders:
            self.page.show(paragraph("There is no run to compare yet.", "note"))
            return
        self._views.pop(session.folder or Path(), None)
        current = session.folder if session.folder in folders else folders[0]
        options = [
            (f"{folder.name}{' (this run)' if folder == session.folder else ''}", folder)
            for folder in folders
        ]
        with self._quiet():
            for runs in self.runs:
                runs.options, runs.value = options, current
            for side in range(2):
                self._list_arms(side)
            self._preset()
        self._compare()

    def _preset(self) -> None:
        """Choose the sides one most likely wants: an edited wording against the committed one."""
        pairs = self._bench.session.plan.pairs if self._bench.session.plan else ()
        known = [arm for _, arm in self.arms[1].options]
        for before, after in pairs:
            for arm in known:
                left = next((a for a in known if (a.player, a.condition) == (arm.player, before)), None)
                if arm.condition == after and left is not None:
                    self.arms[0].value, self.arms[1].value = left, arm
                    return
        if len(known) > 1:
            self.arms[1].value = known[1]

    def _view(self, side: int) -> RunView:
        folder = self.runs[side].value
        if folder not in self._views:
            self._views[folder] = RunView(folder)
        return self._views[folder]

    def _list_arms(self, side: int) -> None:
        found: list[Contender] = []
        try:
            found = comparing.arms(self._view(side))
        except ToolbenchError as fault:
            self.page.show(paragraph(str(fault), "warning"))
        with self._quiet():
            before = self.arms[side].value
            self.arms[side].options = [(str(arm), arm) for arm in found]
            self.arms[side].value = before if before in found else next(iter(found), None)
        self._compare()

    def _compare(self) -> None:
        if self._quiet.on:
            return
        self._comparison = None
        ours, theirs = (arms.value for arms in self.arms)
        if ours is None or theirs is None:
            return
        try:
            self._comparison = comparing.paired(
                (self._view(0), ours), (self._view(1), theirs), tuple(self.accept.value)
            )
        except ToolbenchError as fault:
            self.page.show(paragraph(str(fault), "warning"))
        self._show()

    def _show(self) -> None:
        """Show the comparison and its cases as the filter wants them."""
        cases = []
        if self._comparison is not None:
            only = bool(self.only.value)
            self.page.show(comparing.comparison_page(self._comparison, only))
            cases = records(comparing.differing(self._comparison, only))
        with self._quiet():
            self.case.options = [(_line(case), case["case_id"]) for case in cases]
            self.case.value = None
        self._show_case()

    def _show_case(self) -> None:
        if self._quiet.on:
            return
        for side, box in enumerate(self.traces):
            box.show(self._trace(side) if self.case.value is not None else EMPTY)

    def _trace(self, side: int) -> Page:
        arm = self.arms[side].value
        found = traces(self._view(side), self.case.value, arm.player, arm.condition, arm.suite, arm.lang)
        return heading(("Left", "Right")[side], 3) + join(found.values())


def _line(case: dict[str, object]) -> str:
    sides = f"{case['left_passed']}/{case['left_n']} → {case['right_passed']}/{case['right_n']}"
    return f"{case['case_id']}: {sides} (passed by {case['outcome']})"
