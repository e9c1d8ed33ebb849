"""Section 7 of the workbench: findings a person has to look at, one after another."""

from __future__ import annotations

import getpass
from pathlib import Path

import ipywidgets as widgets

from toolbench.domain.labels import SAID
from toolbench.domain.plurals import plural
from toolbench.errors import ToolbenchError
from toolbench.showing.html import EMPTY, bullets, paragraph
from toolbench.showing.view import RunView
from toolbench.workbench import comparing, reviewing
from toolbench.workbench.bench import Bench
from toolbench.workbench.parts import WIDE, PageBox, Quiet, button, labelled, on_value, row, section
from toolbench.workbench.reviewing import Item
from toolbench.workbench.tracing import traces


class ReviewPanel:
    """Shows a finding with its conversation and writes what is said about it beside the log."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._quiet = bench, Quiet()
        self._view: RunView | None = None
        self.run = widgets.Dropdown(layout=widgets.Layout(width="360px"))
        self.queue = widgets.Dropdown(options=list(reviewing.QUEUES), layout=widgets.Layout(width="160px"))
        self.open = button(
            "Open the queue", self._open, "Load the run and list what is to be looked at", "primary"
        )
        self.item = widgets.Select(options=[], rows=6, layout=widgets.Layout(width=WIDE))
        self.trace, self.count = PageBox(), PageBox(paragraph("No queue is open.", "note"))
        self.verdict = widgets.ToggleButtons(options=SAID, style={"button_width": "auto"})
        self.note = widgets.Text(placeholder="why", layout=widgets.Layout(width="420px"))
        self.who = widgets.Text(value=_me(), layout=widgets.Layout(width="160px"))
        self.save = button("Save this label", self._save, "Add a line to labels.jsonl beside the log", "info")
        self.save.disabled = True
        saying = row(
            labelled("This attempt should count as", self.verdict),
            labelled("Note", self.note),
            labelled("Your name", self.who),
            self.save,
        )
        saying.layout.align_items = "flex-end"
        choice = row(labelled("Run", self.run), labelled("What", self.queue), self.open)
        choice.layout.align_items = "flex-end"
        self.root = section(
            "7 · Review",
            choice,
            self.count.root,
            labelled("Findings to look at", self.item),
            saying,
            self.trace.root,
        )
        on_value(self.item, self._show)
        self.refresh()

    def refresh(self) -> None:
        """List the runs there are; none is read."""
        folders = comparing.previous_runs(self._bench.session.runs)
        with self._quiet():
            chosen = self.run.value
            self.run.options = [(folder.name, folder) for folder in folders]
            self.run.value = chosen if chosen in folders else next(iter(folders), None)
        self.open.disabled = not folders

    def _open(self) -> None:
        folder: Path | None = self.run.value
        if folder is None:
            return
        try:
            self._view = RunView(folder)
            self._list()
        except ToolbenchError as fault:
            self.count.show(paragraph(str(fault), "warning"))

    def _list(self) -> None:
        assert self._view is not None
        found = reviewing.queue(self._view, str(self.queue.value))
        line = paragraph(f"{found.done} of {plural(len(found.items), 'finding')} looked at.", "note")
        self.count.show(line + (bullets(found.problems) if found.problems else EMPTY))
        with self._quiet():
            self.item.options = [(str(item), item) for item in found.items]
            self.item.value = next(iter(found.items), None)
        self._show()

    def _show(self) -> None:
        if self._quiet.on:
            return
        item: Item | None = self.item.value
        self.save.disabled = item is None
        if item is None or self._view is None:
            self.trace.show(EMPTY)
            return
        if item.label is not None:
            self.verdict.value, self.note.value = item.label.verdict, item.label.note
        else:
            self.note.value = ""
        key = item.attempt
        found = traces(self._view, key.case_id, item.player, key.condition, key.suite, key.lang)
        self.trace.show(paragraph(f"{item.code}: {item.reason}", "warning") + found[key.repetition])

    def _save(self) -> None:
        item: Item | None = self.item.value
        if item is None or self._view is None:
            return
        try:
            reviewing.say(self._view, item, self.verdict.value, str(self.who.value), str(self.note.value))
        except ToolbenchError as fault:
            self.count.show(paragraph(f"Not saved: {fault}", "warning"))
            return
        self._list()


def _me() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A container may run as a user without a name.
        return ""
