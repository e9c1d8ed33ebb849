"""Section 2 of the workbench: the texts a model is given, edited in place beside the committed ones."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from toolbench.domain.plurals import plural
from toolbench.errors import ToolbenchError
from toolbench.showing.html import Page, paragraph, preformatted
from toolbench.workbench import edits, saving
from toolbench.workbench.bench import Bench
from toolbench.workbench.edits import PROMPT, Base, Place
from toolbench.workbench.parts import WIDE, PageBox, Quiet, button, labelled, on_value, row, section

COMMITTED = ""
"""A dropdown takes None for no choice at all, so the committed version needs a value of its own."""


class EditPanel:
    """Binds the draft of a bench; calls ``changed`` after every edit."""

    def __init__(self, bench: Bench, changed: Callable[[], None]) -> None:
        self._bench, self._changed, self._quiet = bench, changed, Quiet()
        self.descriptions = widgets.Dropdown(layout=widgets.Layout(width="230px"))
        self.prompts = widgets.Dropdown(layout=widgets.Layout(width="230px"))
        self.tool = widgets.Dropdown(layout=widgets.Layout(width="260px"))
        self.texts = widgets.VBox(layout=widgets.Layout(width=WIDE))
        self.prompt = widgets.Textarea(rows=12, layout=widgets.Layout(width=WIDE))
        self.boxes: dict[Place, widgets.Textarea] = {}
        self.difference, self.message = PageBox(), PageBox()
        self.name = widgets.Text(layout=widgets.Layout(width="190px"))
        self.save = button("Save as a variant", self._save, "Writes new files and overwrites none", "info")
        self.undo = button("Undo all edits", self._undo, "Go back to the committed texts")
        self.root = section("2 · Edit what the model is told", self._layout())
        self.fill()
        on_value(self.descriptions, self._start_from)
        on_value(self.prompts, self._start_from)
        on_value(self.tool, self._show_tool)
        on_value(self.prompt, lambda: self._edit(PROMPT, self.prompt))

    def _layout(self) -> widgets.Widget:
        tools = widgets.VBox([labelled("Tool", self.tool), self.texts])
        tabs = widgets.Tab(children=[tools, self.prompt], titles=["Tool descriptions", "System prompt"])
        tabs.layout = widgets.Layout(width=WIDE)
        half = widgets.Layout(flex="1 1 420px", min_width="320px")
        left = widgets.VBox([tabs], layout=half)
        right = widgets.VBox(
            [labelled("Changes against the committed version", self.difference.root)], layout=half
        )
        start = row(
            labelled("Descriptions to start from", self.descriptions),
            labelled("Prompt to start from", self.prompts),
        )
        saving = row(labelled("Name of the new version", self.name), self.save, self.undo)
        saving.layout.align_items = "flex-end"
        return widgets.VBox([start, row(left, right), saving, self.message.root])

    def fill(self) -> None:
        """Show the draft of the chosen suite, language and starting version."""
        draft, (descriptions, prompts) = self._bench.draft, self._bench.bases()
        with self._quiet():
            self.descriptions.options = [(name or "the contract", name or COMMITTED) for name in descriptions]
            self.descriptions.value = draft.base.descriptions or COMMITTED
            self.prompts.options = [(name or "the suite's prompt", name or COMMITTED) for name in prompts]
            self.prompts.value = draft.base.prompt or COMMITTED
            if tuple(self.tool.options) != tuple(draft.arguments):
                self.tool.options = list(draft.arguments)
                self.tool.value = next(iter(draft.arguments))
            self.prompt.value = draft.texts[PROMPT]
            self.name.value = saving.free_name(draft, self._bench.config.root)
        self._show_tool()
        self.refresh()

    def _show_tool(self) -> None:
        """Show one tool's description and its arguments' descriptions."""
        if self._quiet.on or self.tool.value is None:
            return
        draft, tool = self._bench.draft, str(self.tool.value)
        self.boxes = {place: self._box(place) for place in draft.committed if place.tool == tool}
        self.texts.children = [
            labelled(f"Argument {place.argument}" if place.argument else "Description", box)
            for place, box in self.boxes.items()
        ]

    def _box(self, place: Place) -> widgets.Textarea:
        text = self._bench.draft.texts[place]
        rows = 2 if place.argument else max(3, len(text) // 70 + 1)
        box = widgets.Textarea(value=text, rows=rows, layout=widgets.Layout(width=WIDE))
        on_value(box, lambda: self._edit(place, box))
        return box

    def _edit(self, place: Place, box: widgets.Textarea) -> None:
        if not self._quiet.on:
            self._bench.draft.write(place, str(box.value))
            self.refresh()
            self._changed()

    def _start_from(self) -> None:
        if not self._quiet.on:
            self._bench.start_from(Base(self.descriptions.value or None, self.prompts.value or None))
            self.fill()
            self._changed()

    def _undo(self) -> None:
        self._bench.draft.undo()
        self.fill()
        self._changed()

    def _save(self) -> None:
        try:
            written = self._bench.save(str(self.name.value).strip())
        except ToolbenchError as fault:
            self.message.show(paragraph(f"Not saved: {fault}", "warning"))
            return
        self.fill()
        self._changed()
        self.message.show(_saved([str(path) for path in written], saving.entry(self._bench.draft)))

    def refresh(self) -> None:
        """Show the changes and what can be done with them."""
        draft = self._bench.draft
        self.difference.show(edits.changes(draft))
        self.save.disabled = not draft.changed or draft.saved is not None
        self.undo.disabled = not draft.changed
        self.message.show(paragraph(_state(draft), "note"))


def _state(draft: edits.Wording) -> str:
    if not draft.changed:
        return ""
    number = f"{plural(len(draft.changed), 'text')} changed"
    if draft.saved:
        return f"{number}, saved as {draft.saved}"
    return f"{number}, not saved. A run needs no saving: its log keeps every text it was made with."


def _saved(files: list[str], entry: dict[str, object]) -> Page:
    import json

    return paragraph("Saved. As an entry for conditions in a configuration:", "note") + preformatted(
        json.dumps(entry, ensure_ascii=False) + "\n\n" + "\n".join(files)
    )
