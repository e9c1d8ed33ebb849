"""Hostile text in a report and in live JupyterLab: everything is to be read, nothing is to run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.browser.hostile import PAYLOADS, apart, same_text, write_hostile_run
from tests.browser.lab import SLOW, artifact, errors, jupyterlab, open_notebook, run_all, watch
from tests.support import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

RAN = "() => [window.ran, document.querySelectorAll('main script, .jp-OutputArea-output script').length]"
CELLS = (
    "from toolbench import workbench\n"
    "from toolbench.showing import html\n"
    "from toolbench.showing.view import RunView\n"
    "from toolbench.workbench.tracing import traces\n"
    "workbench.view('runs/hostile')",
    "seen = RunView('runs/hostile')\n"
    "html.join(\n"
    "    page\n"
    "    for case in dict.fromkeys(seen.attempts['case_id'])\n"
    "    for page in traces(seen, case, seen.players[0], 'auto').values()\n"
    ")",
    "from IPython.display import display\n"
    "bench = workbench.open_bench('config.json', players=['keyword_router'], cases=['direct_lookup'])\n"
    "bench.draft.write(workbench.Place('get_order'), seen.attempts['answer'][0])\n"
    "display(workbench.panel(bench))",
    "from IPython.display import HTML\ndisplay(HTML('<img src=x onerror=window.control=1>'))",
    "print('END-' + 'MARK')",
)
"""The last but one is a control: it shows that what is not escaped does run here."""


def test_hostile_text_in_a_report_is_shown_and_never_runs(page: Any, tmp_path: Path) -> None:
    run = apart(write_hostile_run, tmp_path / "hostile")
    done = subprocess.run(
        [sys.executable, "-m", "toolbench", "report", str(run)], cwd=ROOT, capture_output=True, timeout=300
    )
    # One of its attempts ended in a provider's error, so the run is incomplete; the page is there anyway.
    assert done.returncode == 1, done.stderr
    address = (run / "report.html").as_uri()
    seen = watch(page, home="")
    page.goto(address)
    page.wait_for_load_state("networkidle")
    for summary in page.locator("details > summary").all():
        summary.click()
    page.mouse.move(300, 300)
    page.keyboard.press("Tab")
    page.wait_for_timeout(500)
    assert page.title() == "toolbench: hostile"
    assert page.url == address
    assert page.evaluate(RAN) == [None, 0]
    assert seen.quiet, seen
    text = page.locator("main").inner_text()
    assert [payload for payload in PAYLOADS if not same_text(payload, text)] == []
    assert text.index("INCOMPLETE: 1 attempt ended in transport errors") < text.index("scored")
    assert seen.quiet, seen
    fits(page)
    policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert policy.startswith("default-src 'none'")
    artifact(page, "report-hostile", whole=True)


def fits(page: Any) -> None:
    """Look at the page wide, narrow, dark and on paper: nothing is cut, a link leads to a conversation."""
    for width, scheme in ((1400, "light"), (800, "light"), (1400, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        artifact(page, f"report-hostile-{width}-{scheme}")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
    page.locator("table.grid a").first.click()
    assert page.evaluate("() => document.querySelector('article.talk:target') !== null")
    page.emulate_media(media="print")
    assert page.locator("article.talk").first.is_hidden()


@pytest.mark.parametrize("payload", PAYLOADS[:3], ids=["image", "script", "drawing"])
def test_the_payloads_do_run_where_nothing_is_escaped(payload: str, page: Any, tmp_path: Path) -> None:
    (tmp_path / "control.html").write_text(f"<title>control</title><body>{payload}")
    seen = watch(page, home="")
    page.goto((tmp_path / "control.html").as_uri())
    page.wait_for_load_state("networkidle")
    assert page.title() == "P" or seen.dialogs == ["1"]


def test_hostile_text_in_live_jupyterlab_is_shown_and_never_runs(page: Any, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(ROOT / "contracts" / "delivery", work / "contracts" / "delivery")
    shutil.copytree(ROOT / "cases", work / "cases")
    (work / "config.json").write_text('{"runs": [], "suites": ["delivery"]}')
    (work / "runs").mkdir()
    apart(write_hostile_run, work / "runs" / "hostile")
    (tmp_path / "state").mkdir()
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbformat.write(document, work / "pages.ipynb")
    with jupyterlab(work, tmp_path / "state") as home:
        seen = watch(page, home)
        open_notebook(page, home, "pages.ipynb")
        assert run_all(page), errors(page)
        page.locator(".jp-OutputArea-output", has_text="END-MARK").wait_for(timeout=SLOW)
        page.locator(".toolbench").wait_for(timeout=SLOW)
        page.wait_for_timeout(1500)
        text = page.locator(".jp-Notebook").evaluate("element => element.textContent")
        assert [payload for payload in PAYLOADS if not same_text(payload, text)] == []
        assert page.evaluate(RAN) == [None, 0]
        assert page.evaluate("() => window.control") == 1
        assert "JupyterLab" in page.title() or "pages" in page.title()
        artifact(page, "lab-hostile")
        assert seen.quiet, seen
