"""The section of drafted cases: look at one, edit it, confirm some; until then none is played or counted."""

from __future__ import annotations

import json
from collections.abc import Callable

import ipywidgets as widgets

from toolbench.authoring import confirming
from toolbench.authoring.confirming import Drafted
from toolbench.errors import ToolbenchError
from toolbench.showing.html import bullets, paragraph
from toolbench.workbench.bench import Bench
from toolbench.workbench.parts import WIDE, PageBox, Quiet, button, labelled, on_value, row, section


class DraftsPanel:
    """Lists the drafts of the bench's suite; calls ``changed`` after one was confirmed or edited."""

    def __init__(self, bench: Bench, changed: Callable[[], None]) -> None:
        self._bench, self._changed, self._quiet = bench, changed, Quiet()
        self.list = widgets.SelectMultiple(rows=8, layout=widgets.Layout(width=WIDE))
        self.text = widgets.Textarea(rows=8, layout=widgets.Layout(width=WIDE))
        self.said = PageBox()
        self.confirm = button(
            "Confirm", self._confirm, "Play and count the chosen drafts from now on", "primary"
        )
        self.save = button("Save the edit", self._save, "Write the edited draft to its case file", "info")
        self.root = section(
            "Drafts",
            labelled("Cases drafted by rules (Ctrl or Shift chooses several)", self.list),
            row(self.confirm, self.save),
            labelled("The first of them, to edit", self.text),
            self.said.root,
        )
        on_value(self.list, self._show)
        self.refresh()

    def refresh(self) -> None:
        """List what is in the case files now."""
        try:
            waiting = confirming.drafts(self._bench.config.root, self._bench.choice.suite)
        except ToolbenchError:
            # A suite that comes with toolbench has its files elsewhere, and no drafts.
            waiting = []
        with self._quiet():
            self.list.options = [(str(draft).partition(": ")[2], draft) for draft in waiting]
            self.list.value = ()
        self.confirm.disabled = self.save.disabled = not waiting
        self.root.layout.display = "" if waiting else "none"
        self._show()

    @property
    def _chosen(self) -> tuple[Drafted, ...]:
        return tuple(self.list.value)

    def _show(self) -> None:
        if not self._quiet.on:
            first = next(iter(self._chosen), None)
            self.text.value = "" if first is None else json.dumps(first.case, ensure_ascii=False, indent=2)

    def _confirm(self) -> None:
        ids = [draft.case["id"] for draft in self._chosen]
        self._do(lambda: confirming.confirm(self._bench.config.root, self._bench.choice.suite, ids)[1])

    def _save(self) -> None:
        first = next(iter(self._chosen), None)
        if first is not None:
            self._do(lambda: confirming.rewrite(first, str(self.text.value)))

    def _do(self, change: Callable[[], object]) -> None:
        """Change the files and show what lint says, or why nothing was changed."""
        try:
            problems = change()
        except ToolbenchError as fault:
            self.said.show(paragraph(f"Not changed: {fault}", "warning"))
            return
        lines = [str(problem) for problem in problems] if isinstance(problems, list) else []
        self._bench.reload()
        self.refresh()
        self._changed()
        self.said.show(bullets(lines) if lines else paragraph("Written; lint has nothing to say.", "note"))
