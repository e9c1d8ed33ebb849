"""Section 5 of the workbench: any two sides of this run or earlier ones, paired by case."""

from __future__ import annotations

from pathlib import Path

import ipywidgets as widgets

from toolbench.errors import ToolbenchError
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.tables import records
from toolbench.showing.html import EMPTY, Page, heading, join, paragraph
from toolbench.showing.view import RunView
from toolbench.workbench import choosing, comparing
from toolbench.workbench.bench import Bench
from toolbench.workbench.comparing import Contender
from toolbench.workbench.parts import WIDE, PageBox, Quiet, button, labelled, on_value, row, section
from toolbench.workbench.tracing import traces

GREETING = "Choose two runs and press Compare; nothing is loaded before."


class ComparePanel:
    """Binds two runs, a side of each, and the cases on which they differ."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._quiet = bench, Quiet()
        self._views: dict[Path, RunView] = {}
        self._comparison: Comparison | None = None
        wide = widgets.Layout(width="360px")
        self.runs = [widgets.Dropdown(layout=wide) for _ in range(2)]
        self.arms = [widgets.Dropdown(layout=wide) for _ in range(2)]
        self.accept = widgets.SelectMultiple(
            options=comparing.ACCEPTABLE, value=("cases",), rows=7, layout=widgets.Layout(width="160px")
        )
        self.only = widgets.Checkbox(value=True, indent=False, description="only differing")
        self.page, self.traces = PageBox(), [PageBox(), PageBox()]
        self.case = widgets.Select(options=[], rows=5, layout=widgets.Layout(width=WIDE))
        self.load = button("Compare", self._load, "Load both runs and pair their cases", "primary")
        self.again = button("Look for runs", self.refresh, "List the runs that are there now")
        self.root = section("5 · Compare, paired by case", self._layout())
        for side in range(2):
            on_value(self.runs[side], self._unload)
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
        buttons = widgets.VBox(
            [self.load, self.again, self.only], layout=widgets.Layout(align_items="flex-start")
        )
        return widgets.VBox(
            [
                row(*sides, labelled("Differences accepted", self.accept), buttons),
                self.page.root,
                labelled("Paired cases: choose one to see both traces", self.case),
                row(*both),
            ]
        )

    def refresh(self) -> None:
        """List the runs there are, this one first chosen; no run is read."""
        session = self._bench.session
        folders = comparing.previous_runs(session.runs)
        self.load.disabled = not folders
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
        self._unload()

    def _unload(self) -> None:
        """Forget the sides of runs that are no longer chosen."""
        if self._quiet.on:
            return
        with self._quiet():
            for arms in self.arms:
                arms.options, arms.value = [], None
        self._comparison = None
        self._show()
        self.page.show(paragraph(GREETING, "note"))

    def _load(self) -> None:
        self.page.show(paragraph("Loading …", "note"))
        try:
            found = [comparing.arms(self._view(side)) for side in range(2)]
        except ToolbenchError as fault:
            self.page.show(paragraph(str(fault), "warning"))
            return
        with self._quiet():
            for arms, contenders in zip(self.arms, found, strict=True):
                arms.options = [(str(arm), arm) for arm in contenders]
                arms.value = next(iter(contenders), None)
            self._preset()
        self._compare()

    def _preset(self) -> None:
        """Choose the sides one most likely wants: an edited wording against the committed one."""
        left, right = ([arm for _, arm in arms.options] for arms in self.arms)
        before = self._view(0).header.load_conditions()
        after = self._view(1).header.load_conditions()
        for old, new in choosing.worded_pairs([*before.values(), *after.values()]):
            for arm in right:
                other = next((one for one in left if one == arm.under(old)), None)
                if arm.condition == new and other is not None:
                    self.arms[0].value, self.arms[1].value = other, arm
                    return
        same = self.runs[0].value == self.runs[1].value
        if same and len(right) > 1:
            self.arms[1].value = right[1]

    def _view(self, side: int) -> RunView:
        folder = self.runs[side].value
        if folder not in self._views:
            self._views[folder] = RunView(folder)
        return self._views[folder]

    def _compare(self) -> None:
        if self._quiet.on:
            return
        self._comparison = None
        ours, theirs = (arms.value for arms in self.arms)
        if ours is None or theirs is None:
            return
        sides = (self._view(0), ours), (self._view(1), theirs)
        try:
            self._comparison = comparing.paired(*sides, tuple(self.accept.value))
        except ToolbenchError as fault:
            self._show()
            self.page.show(comparing.refusal_page(str(fault), *sides))
            return
        self._show()

    def _show(self) -> None:
        """Show the comparison and its cases as the filter wants them."""
        cases = []
        if self._comparison is not None:
            only = bool(self.only.value)
            sides = [(self._view(i), self.arms[i].value) for i in range(2)]
            page = comparing.comparison_page(self._comparison, only)
            self.page.show(page + comparing.factors_page(sides[0], sides[1]))
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
        arm: Contender = self.arms[side].value
        found = traces(self._view(side), self.case.value, arm.player, arm.condition, arm.suite, arm.lang)
        return heading(("Left", "Right")[side], 3) + join(found.values())


def _line(case: dict[str, object]) -> str:
    sides = f"{case['left_passed']}/{case['left_n']} → {case['right_passed']}/{case['right_n']}"
    return f"{case['case_id']}: {sides} (passed by {case['outcome']})"
