"""Small widgets that every section of the workbench is made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import ipywidgets as widgets
from markupsafe import Markup

from toolbench.showing.html import EMPTY, Page

WIDE = "100%"


class PageBox:
    """Shows one :class:`Page`. The only place of the workbench where HTML reaches the browser."""

    def __init__(self, page: Page = EMPTY) -> None:
        self.root = widgets.HTML(layout=widgets.Layout(width=WIDE))
        self.root.add_class("tb-page")
        self.show(page)

    def show(self, page: Page) -> None:
        """Replace what is shown; a page that has not changed stays untouched, open folds included."""
        # Only a Page has passed through the escaping helpers, so nothing else is let in.
        assert isinstance(page, Page)
        if self.root.value != str(page.html):
            self.root.value = str(page.html)


class LinkBox:
    """Links to files on this machine, as the notebook's own file links: each host knows how to open those."""

    def __init__(self) -> None:
        self._note, self._out = PageBox(), widgets.Output()
        self.root = widgets.VBox([self._note.root, self._out])

    def show(self, files: Sequence[Path]) -> None:
        """Link to files, with their paths as text for hosts that open no links."""
        from IPython.display import FileLink

        self.clear()
        for file in files:
            self._out.append_display_data(FileLink(os.path.relpath(file)))  # type: ignore[no-untyped-call]

    def say(self, page: Page) -> None:
        """Show a line in place of the links."""
        self.clear()
        self._note.show(page)

    def clear(self) -> None:
        """Show nothing."""
        self._note.show(EMPTY)
        self._out.outputs = ()


def style() -> widgets.HTML:
    """Return the workbench's style sheet."""
    css = resources.files("toolbench.workbench").joinpath("workbench.css").read_text("utf-8")
    return PageBox(Page(Markup("<style>") + Markup(css) + Markup("</style>"), "")).root


def section(title: str, *children: Any) -> widgets.VBox:
    """Return a framed section with a heading."""
    from toolbench.showing.html import heading

    box = widgets.VBox([PageBox(heading(title, 2)).root, *children], layout=widgets.Layout(width="auto"))
    box.add_class("tb-section")
    return box


def labelled(text: str, widget: Any) -> Any:
    """Return a widget with its label above it; the label is the widget's own, so a screen reader finds it."""
    widget.description = text
    widget.add_class("tb-labelled")
    return widget


def row(*children: Any) -> widgets.HBox:
    """Return widgets side by side, wrapping where the page is narrow."""
    layout = widgets.Layout(flex_flow="row wrap", align_items="flex-start", grid_gap="6px 16px")
    box = widgets.HBox(children, layout=layout)
    box.add_class("tb-row")
    return box


def button(text: str, action: Callable[[], None], tooltip: str = "", kind: str = "") -> widgets.Button:
    """Return a button that calls ``action``."""
    made = widgets.Button(
        description=text,
        tooltip=tooltip,
        button_style=kind,
        layout=widgets.Layout(width="auto", min_width="6em"),
    )
    made.on_click(lambda _: action())
    return made


def on_value(widget: Any, action: Callable[[], None]) -> None:
    """Call ``action`` when a widget's value changes."""
    widget.observe(lambda _: action(), names="value")


class Quiet:
    """Tells changes made by the program from changes made by hand: ``with quiet: ...``, ``if quiet.on``."""

    def __init__(self) -> None:
        self.on = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Mark changes inside the block as made by the program."""
        before, self.on = self.on, True
        try:
            yield
        finally:
            self.on = before
