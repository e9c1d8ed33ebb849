"""The README's pictures, made from real runs: ``python -m tests.browser.pictures runs/demo``.

Takes the report of a finished run, and plays a few cases on the embedded model in a real workbench.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import papermill

from tests.browser.lab import SLOW, chromium, jupyterlab, open_notebook, run_all
from tests.support import ROOT

TARGET = ROOT / "notebooks" / "pictures"
CASES = ["direct_lookup", "missing_id", "no_tool_needed"]
VAGUE = "Answers whatever the user asks about an order."
"""A description that promises too much, in place of the committed one."""
PATIENCE = 6 * SLOW
TALLEST = 1300
"""Pixels of a picture: a trace is longer than anybody wants to see in a README."""


def main(run: Path) -> None:
    """Write the pictures into ``notebooks/pictures``."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto((run / "report.html").resolve().as_uri())
        page.screenshot(path=str(TARGET / "report.png"))
        with tempfile.TemporaryDirectory() as folder:
            _workbench(browser, Path(folder))


def _workbench(browser: Any, folder: Path) -> None:
    work, state = folder / "work", folder / "state"
    shutil.copytree(ROOT / "contracts" / "delivery", work / "contracts" / "delivery")
    (work / "cases").mkdir()
    shutil.copy(ROOT / "cases" / "delivery.en.jsonl", work / "cases")
    state.mkdir()
    model = {"provider": "embedded", "model": "qwen2.5-coder-0.5b-instruct", "protocol": "chat_completions"}
    data = {"runs": [{**model, "base_url": "embedded:"}], "suites": ["delivery"]}
    (work / "config.json").write_text(json.dumps(data))
    papermill.execute_notebook(
        str(ROOT / "notebooks" / "07_workbench.ipynb"),
        str(work / "bench.ipynb"),
        parameters={"config": "config.json", "cases": CASES, "output": "runs"},
        prepare_only=True,
        progress_bar=False,
    )
    page = browser.new_page(viewport={"width": 1400, "height": 3200})
    with jupyterlab(work, state) as home:
        open_notebook(page, home, "bench.ipynb")
        assert run_all(page)
        bench = page.locator(".toolbench")
        bench.wait_for(timeout=SLOW)
        page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
        bench.get_by_label("Description", exact=True).fill(VAGUE)
        bench.get_by_text("conditions auto, auto-edited").wait_for(timeout=SLOW)
        bench.get_by_role("button", name="Run", exact=True).click()
        bench.get_by_text("finished ·").wait_for(timeout=PATIENCE)
        bench.locator(".tb-cell", has_text="0/1").first.click()
        bench.get_by_text("Failed:").first.wait_for(timeout=SLOW)
        bench.get_by_role("button", name="Compare", exact=True).click()
        bench.get_by_text("What the sides differ in").wait_for(timeout=SLOW)
        _part(page, bench, 1, 3, TARGET / "workbench.png")
        _part(page, bench, 4, 4, TARGET / "comparison.png")


def _part(page: Any, bench: Any, first: int, last: int, target: Path) -> None:
    """Take some of the workbench's sections."""
    sections = bench.locator(".tb-section")
    sections.nth(first).evaluate("box => box.scrollIntoView()")
    page.wait_for_timeout(500)
    top, bottom = sections.nth(first).bounding_box(), sections.nth(last).bounding_box()
    height = min(bottom["y"] + bottom["height"] - top["y"] + 8, TALLEST)
    clip = {"x": top["x"] - 4, "y": max(0, top["y"] - 4), "width": top["width"] + 8, "height": height}
    page.screenshot(path=str(target), clip=clip)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
