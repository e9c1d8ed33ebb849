"""The chapter as a student opens it: real JupyterLab, real browser, run from the first cell to the note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import papermill
import pytest

from tests.browser.lab import artifact, jupyterlab, open_notebook, run_all, watch
from toolbench.course.words import LANGS
from toolbench.showing.report import notebook_path

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

SEEN = """async id => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  const place = notebook.widgets.findIndex(cell => cell.model.id === id);
  notebook.activeCellIndex = place;
  await notebook.scrollToItem(place, 'start');
  await new Promise(done => setTimeout(done, 400));
  const node = notebook.widgets[place].node;
  const output = node.querySelector('.jp-OutputArea');
  const boxes = output ? [...output.querySelectorAll('*')] : [];
  return {
    wide: boxes.filter(box => box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1
      && getComputedStyle(box).overflowX !== 'visible').map(box => `${box.tagName}.${box.className}`),
    mathematics: output ? output.querySelectorAll('mjx-container').length : 0,
    right: output ? [...output.querySelectorAll('td:not(.n)')].filter(
      cell => getComputedStyle(cell).textAlign !== 'left').length : 0,
    text: output ? output.innerText : '',
  };
}"""
"""Scrolls to a cell and returns what is wrong with its output, and its text."""
CELLS = {
    "drawing": "1",
    "check-calculate": "✘",
    "play-tickets": "Σ",
    "providers": "input_schema",
    "whitelist": "INVALID_ARGUMENTS",
    "injection": "issue_refund",
    "trap-reasoning-content": "HTTP 400",
    "run": "✔",
    "effect": "✘",
    "check-quiz": "14",
    "write-note": "tool_calling_note-001",
}
"""Cell → what its output says."""


@pytest.mark.parametrize("lang", LANGS)
def test_the_chapter_is_read_and_run_without_scroll_bars(page: Any, tmp_path: Path, lang: str) -> None:
    work, state = tmp_path / "work", tmp_path / "state"
    work.mkdir()
    state.mkdir()
    papermill.execute_notebook(
        str(notebook_path(f"10_course_tool_calling_{lang}")),
        str(work / "chapter.ipynb"),
        parameters={"embedded": False, "output": "runs"},
        prepare_only=True,
        progress_bar=False,
    )
    with jupyterlab(work, state) as home:
        seen = watch(page, home)
        open_notebook(page, home, "chapter.ipynb")
        assert run_all(page)
        for cell, words in CELLS.items():
            found = page.evaluate(SEEN, cell)
            artifact(page, f"course-{lang}-{cell}")
            if cell != "drawing":
                assert words in found["text"], cell
            assert (found["wide"], found["mathematics"], found["right"]) == ([], 0, 0), cell
        assert seen.quiet, seen
    assert len(list((work / "runs").glob("tool_calling_note-001.*"))) == 2
