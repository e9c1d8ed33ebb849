"""Section 1 of the workbench: suite, language, players, conditions and cases."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from toolbench.domain.case import Case
from toolbench.domain.plurals import plural
from toolbench.errors import InputError
from toolbench.showing.html import paragraph
from toolbench.workbench import choosing
from toolbench.workbench.bench import Bench
from toolbench.workbench.parts import PageBox, Quiet, button, labelled, on_value, row, section

ANY = ""


class ChoosePanel:
    """Binds the choice of a bench; calls ``changed`` after every change."""

    def __init__(self, bench: Bench, changed: Callable[[], None]) -> None:
        self._bench, self._changed, self._quiet = bench, changed, Quiet()
        config = bench.config
        narrow, list_box = widgets.Layout(width="190px"), widgets.Layout(width="520px")
        self.suite = widgets.Dropdown(options=choosing.suite_names(config), layout=narrow)
        self.lang = widgets.Dropdown(options=[bench.choice.lang], layout=narrow)
        self.repetitions = widgets.BoundedIntText(value=1, min=1, max=100, layout=narrow)
        players = [
            (choosing.described(name, player), name) for name, player in choosing.players(config).items()
        ]
        self.players = widgets.SelectMultiple(options=players, rows=7, layout=list_box)
        self.conditions = widgets.SelectMultiple(
            options=list(choosing.conditions(config)), rows=7, layout=widgets.Layout(width="150px")
        )
        self.klass = widgets.Dropdown(options=[("any class", ANY)], layout=narrow)
        self.tag = widgets.Dropdown(options=[("any tag", ANY)], layout=narrow)
        self.text = widgets.Text(placeholder="part of an id or a text", layout=narrow)
        self.cases = widgets.SelectMultiple(rows=9, layout=widgets.Layout(width="100%"))
        self.everything = button("All shown", self._choose_all, "Choose every case in the list")
        self.nothing = button("None", self._choose_none, "Choose no case")
        self.count = PageBox()
        self.root = section("1 · Choose", self._layout())
        self.fill()
        on_value(self.suite, lambda: self._set(suite=self.suite.value))
        on_value(self.lang, lambda: self._set(lang=self.lang.value))
        on_value(self.repetitions, lambda: self._set(repetitions=self.repetitions.value))
        on_value(self.players, lambda: self._set(players=tuple(self.players.value)))
        on_value(self.conditions, lambda: self._set(conditions=tuple(self.conditions.value)))
        on_value(self.cases, lambda: self._set(cases=tuple(self.cases.value)))
        for filtering in (self.klass, self.tag, self.text):
            on_value(filtering, self._filter)

    def _layout(self) -> widgets.Widget:
        suite = widgets.VBox(
            [
                labelled("Suite", self.suite),
                labelled("Language", self.lang),
                labelled("Repetitions of each case", self.repetitions),
            ]
        )
        filters = widgets.VBox(
            [labelled("Class", self.klass), labelled("Tag", self.tag), labelled("Text", self.text)]
        )
        cases = widgets.VBox(
            [
                labelled("Cases (Ctrl or Shift chooses several)", self.cases),
                row(self.everything, self.nothing),
            ],
            layout=widgets.Layout(flex="1 1 470px"),
        )
        lists = row(
            suite,
            labelled("Models and baselines", self.players),
            labelled("Conditions", self.conditions),
            filters,
            cases,
        )
        return widgets.VBox([lists, self.count.root])

    def _set(self, **changes: object) -> None:
        if self._quiet.on:
            return
        self._bench.choose(**changes)
        if "suite" in changes or "lang" in changes:
            self.fill()
        self.refresh()
        self._changed()

    def fill(self) -> None:
        """Show the bench's choice in every widget."""
        bench = self._bench
        mine = [case for case in bench.suite.cases if case.lang == bench.choice.lang]
        with self._quiet():
            self.suite.value = bench.choice.suite
            self.lang.options = bench.suite.langs
            self.lang.value = bench.choice.lang
            self.repetitions.value = bench.choice.repetitions
            self.players.value = bench.choice.players
            self.conditions.value = bench.choice.conditions
            classes, tags = sorted({c.klass for c in mine}), sorted({tag for c in mine for tag in c.tags})
            self.klass.options = [("any class", ANY), *((name, name) for name in classes)]
            self.tag.options = [("any tag", ANY), *((name, name) for name in tags)]
        self._list_cases()
        self.refresh()

    def _filter(self) -> None:
        if not self._quiet.on:
            self._list_cases()

    def _list_cases(self) -> None:
        """List the cases that fit the filters; a chosen one stays listed, so that nothing is hidden."""
        choice = self._bench.choice
        fitting = choosing.matching(
            self._bench.suite, choice.lang, self.klass.value or None, self.tag.value or None, self.text.value
        )
        ids = {case.id for case in fitting} | set(choice.cases)
        listed = [case for case in self._bench.suite.cases if case.lang == choice.lang and case.id in ids]
        with self._quiet():
            self.cases.options = [(_line(case), case.id) for case in listed]
            self.cases.value = choice.cases

    def _choose_all(self) -> None:
        self.cases.value = tuple(value for _, value in self.cases.options)

    def _choose_none(self) -> None:
        self.cases.value = ()
        self._list_cases()

    def refresh(self) -> None:
        """Say how large the planned run is."""
        try:
            plan = self._bench.plan()
        except InputError as fault:
            self.count.show(paragraph(f"Not ready: {fault}", "note"))
            return
        names = ", ".join(condition.name for condition in plan.config.conditions)
        cases = plural(len(plan.config.cases.ids or ()), "case")
        text = f"{plural(plan.total, 'attempt')}: {cases}, conditions {names}"
        self.count.show(paragraph(text, "note"))


def _line(case: Case) -> str:
    said = " ".join(case.user_texts)
    return f"{case.id} — {said[:70]}{'…' if len(said) > 70 else ''}"
