"""The workbench as a person uses it: real JupyterLab, real browser, the provider simulator behind it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import papermill
import pytest

from tests.browser.lab import SLOW, artifact, errors, jupyterlab, open_notebook, run_all, watch
from tests.support import ROOT
from toolbench.domain.labels import LABELS_NAME
from toolbench.domain.log import RunLog
from toolbench.domain.suite import find_suite
from toolbench.simulator import Simulator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(500)]

RULES = [
    {"when": {"after_tool_result": True}, "then": {"text": "The order is on its way; it is in Samara now."}},
    {
        "when": {"user_matches": "Check order (?P<id>ORD-[0-9]{6})"},
        "then": {"calls": [{"name": "get_order", "arguments": {"order_id": "$id"}}]},
    },
    {"then": {"text": "I can check an order or quote a delivery.", "call_offered": "best_match"}},
]
"""A model that calls whatever sounds like the request: a description that promises too much misleads it."""
UNCLEAR = {"then": {"text": "I twiddled it for you. Which order is it?"}}
"""Says that something was done which no word list knows: only a person can judge it."""
PROMISE = " Can help with anything you ask."
SCROLLING = """element => [element, ...element.querySelectorAll('*')].filter(box => {
  // A list, a text field and a long quotation scroll because somebody asked them to.
  if (box.matches('select, textarea, details pre, details pre *')) return false;
  const look = getComputedStyle(box), bar = value => value === 'auto' || value === 'scroll';
  return (bar(look.overflowY) && box.scrollHeight > box.clientHeight) ||
         (bar(look.overflowX) && box.scrollWidth > box.clientWidth);
}).map(box => `${box.tagName} ${box.className}`)"""
"""Boxes of an element that show a scroll bar."""
CASES = ".tb-case:not(.tb-head)"
SEEN = """element => {
  const box = element.getBoundingClientRect();
  return box.top < window.innerHeight && box.bottom > 0 && document.elementFromPoint(
    box.left + 20, Math.min(Math.max(box.top, 0) + 12, window.innerHeight - 1)) !== null;
}"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder with copies of suite and notebook, and a configuration of the simulator's model."""
    monkeypatch.setenv("SIM_KEY", "sim-any-key")
    work = tmp_path / "work"
    shutil.copytree(ROOT / "contracts" / "delivery", work / "contracts" / "delivery")
    (work / "cases").mkdir()
    shutil.copy(ROOT / "cases" / "delivery.en.jsonl", work / "cases")
    (tmp_path / "state").mkdir()
    with Simulator({"models": {"sim-shop": {"rules": RULES}}}, latency=0.05) as simulator:
        entry = {
            "provider": "simulator",
            "model": "sim-shop",
            "protocol": "chat_completions",
            "base_url": simulator.base_url("chat_completions"),
            "api_key_env": "SIM_KEY",
            "price": {"currency": "USD", "date": "2026-11-30", "input": 1, "output": 4},
        }
        (work / "config.json").write_text(json.dumps({"runs": [entry], "suites": ["delivery"]}))
        yield work


def prepare(place: Path, cases: list[str]) -> None:
    """Write the notebook with these cases chosen."""
    papermill.execute_notebook(
        str(ROOT / "notebooks" / "07_workbench.ipynb"),
        str(place / "bench.ipynb"),
        parameters={"config": "config.json", "cases": cases, "output": "runs"},
        prepare_only=True,
        progress_bar=False,
    )


def show(page: Any, home: str) -> Any:
    """Open the notebook, run all of it twice, and return the workbench that is there then."""
    open_notebook(page, home, "bench.ipynb")
    assert run_all(page), errors(page)
    page.locator(".toolbench").wait_for(timeout=SLOW)
    assert run_all(page), ["the second execution fails", *errors(page)]
    bench = page.locator(".toolbench")
    bench.wait_for(timeout=SLOW)
    page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    return bench


def scroll_bars(bench: Any) -> list[str]:
    """Return the boxes that show a scroll bar nobody asked for."""
    return list(bench.evaluate(SCROLLING))


def test_edit_run_and_see_why_a_case_fails(page: Any, place: Path) -> None:
    prepare(place, ["direct_lookup", "no_tool_needed"])
    with jupyterlab(place, place.parent / "state") as home:
        seen = watch(page, home)
        bench = show(page, home)
        page.set_viewport_size({"width": 1400, "height": 4200})
        assert scroll_bars(bench) == []
        _edit(bench)
        _run(bench)
        _see_the_trace(page, bench)
        artifact(page, "workbench-trace")
        assert scroll_bars(bench) == []
        _only_differing(bench)
        _compare(bench)
        assert scroll_bars(bench) == []
        _restore(bench)
        _review(bench, place)
        _save(bench, place)
        _export(page, bench, place)
        bench.evaluate("element => element.scrollIntoView()")
        artifact(page, "workbench")
        assert scroll_bars(bench) == []
        assert seen.quiet, seen
    (run,) = (place / "runs").iterdir()
    assert len(RunLog.open(run)) == 4


def _edit(bench: Any) -> None:
    box = bench.get_by_label("Description", exact=True)
    box.fill(box.input_value() + PROMISE)
    bench.locator("ins", has_text=PROMISE.strip()).wait_for(timeout=SLOW)
    bench.get_by_text("4 attempts: 2 cases, conditions auto, auto-edited").wait_for(timeout=SLOW)


def _run(bench: Any) -> None:
    bench.get_by_role("button", name="Run", exact=True).click()
    effect = bench.locator("p.effect").first
    effect.wait_for(timeout=SLOW)
    assert "sim-shop: auto → auto-edited: 100 % → 50 % passed, -50 points" in effect.inner_text()
    assert "newly failing no_tool_needed" in effect.inner_text()
    assert "Another decision in 1 of 2 cases (no_tool_needed)" in effect.inner_text()
    line = bench.get_by_text("finished · 4 of 4 attempts")
    assert "cost 0.00" in line.inner_text()
    assert bench.locator(".tb-cell").all_inner_texts() == ["1/1", "1/1", "1/1", "0/1"]


def _see_the_trace(page: Any, bench: Any) -> None:
    """Open the failing cell with the mouse and a passing one with the keyboard."""
    bench.locator(".tb-cell", has_text="0/1").click()
    bench.get_by_text("no_tool_needed · sim-shop · auto-edited · repetition 1").wait_for(timeout=SLOW)
    assert bench.get_by_text("Failed: unexpected_call").is_visible()
    assert bench.get_by_text("user: Hi! What can you help me with?").is_visible()
    assert bench.get_by_text("get_order was called although the right thing was").first.is_visible()
    sent = bench.locator("details", has_text="tools as the provider saw them").first
    sent.locator("summary").first.click()
    assert sent.locator("td", has_text=PROMISE.strip()).is_visible()
    raw = bench.locator("details", has_text="Raw response").first
    raw.locator("summary").click()
    assert "tool_calls" in raw.inner_text()
    copied = bench.locator("details", has_text="Copy this request").first
    copied.locator("summary").click()
    assert "Authorization: Bearer $SIM_KEY" in copied.inner_text()
    assert "sim-any-key" not in copied.inner_text()
    copied.locator("pre.copy").first.click()
    picked = page.evaluate("() => window.getSelection().toString()")
    assert picked.startswith("curl http://127.0.0.1:")
    assert bench.get_by_text("Turn 2").is_visible()
    bench.locator(".tb-cell").first.focus()
    page.keyboard.press("Enter")
    bench.get_by_text("direct_lookup · sim-shop · auto · repetition 1").wait_for(timeout=SLOW)
    bench.locator(".tb-cell", has_text="0/1").click()
    bench.get_by_text("Failed: unexpected_call").wait_for(timeout=SLOW)


def _only_differing(bench: Any) -> None:
    bench.get_by_role("button", name="only differing").click()
    bench.locator(CASES, has_text="direct_lookup").wait_for(state="detached", timeout=SLOW)
    assert bench.locator(CASES).all_inner_texts() == ["no_tool_needed"]
    assert bench.locator(".tb-cell").all_inner_texts() == ["1/1", "0/1"]


def _compare(bench: Any) -> None:
    """Both traces of a case on which the sides differ; the filter takes the others away."""
    assert bench.get_by_text("nothing is loaded before").is_visible()
    bench.get_by_role("button", name="Compare", exact=True).click()
    cases = bench.get_by_label("Paired cases")
    cases.locator("option").first.wait_for(state="attached", timeout=SLOW)
    (option,) = cases.locator("option").all_inner_texts()
    # JupyterLab keeps the blanks of an option from collapsing.
    assert option.replace("\xa0", " ") == "no_tool_needed: 1/1 → 0/1 (passed by only left)"
    cases.select_option(index=0)
    bench.get_by_text("no_tool_needed · sim-shop · auto · repetition 1").wait_for(timeout=SLOW)
    bench.get_by_label("only differing").uncheck()
    cases.locator("option", has_text="direct_lookup").wait_for(state="attached", timeout=SLOW)
    bench.get_by_label("only differing").check()
    cases.locator("option", has_text="direct_lookup").wait_for(state="detached", timeout=SLOW)
    assert bench.get_by_text("What the sides differ in").is_visible()


def _restore(bench: Any) -> None:
    """Undo the edit, then take it back from the run."""
    bench.get_by_role("button", name="Undo all edits").click()
    bench.get_by_text("Nothing is changed").wait_for(timeout=SLOW)
    bench.get_by_role("button", name="Show effects").click()
    bench.get_by_text("1 wording tried").wait_for(timeout=SLOW)
    bench.get_by_role("button", name="Restore this wording").click()
    bench.locator("ins", has_text=PROMISE.strip()).wait_for(timeout=SLOW)


def _review(bench: Any, place: Path) -> None:
    (run,) = (place / "runs").iterdir()
    bench.get_by_label("What", exact=True).select_option("false calls")
    bench.get_by_role("button", name="Open the queue").click()
    bench.get_by_text("0 of 1 finding looked at").wait_for(timeout=SLOW)
    bench.get_by_role("button", name="fail", exact=True).click()
    bench.get_by_label("Note").fill("nothing was asked for")
    bench.get_by_label("Note").blur()
    bench.get_by_role("button", name="Save this label").click()
    bench.get_by_text("1 of 1 finding looked at").wait_for(timeout=SLOW)
    (line,) = (run / LABELS_NAME).read_text().splitlines()
    said = json.loads(line)
    assert (said["code"], said["verdict"], said["note"]) == (
        "unexpected_call",
        "fail",
        "nothing was asked for",
    )


def _save(bench: Any, place: Path) -> None:
    committed = (place / "contracts/delivery/tools.json").read_bytes()
    bench.get_by_role("button", name="Save as a variant").click()
    bench.get_by_text('{"name": "v2", "descriptions": "v2"}').wait_for(timeout=SLOW)
    saved = json.loads((place / "contracts/delivery/descriptions.v2.json").read_text())
    assert saved["tools"]["get_order"]["description"]["en"].endswith(PROMISE)
    assert (place / "contracts/delivery/tools.json").read_bytes() == committed


def _export(page: Any, bench: Any, place: Path) -> None:
    (run,) = (place / "runs").iterdir()
    bench.get_by_role("button", name="Write report and CSV").click()
    link = bench.get_by_role("link", name="report.html")
    link.wait_for(timeout=SLOW * 2)
    assert (run / "attempts.csv").read_text().count("\n") == 5
    address = link.get_attribute("href")
    answer = page.request.get(page.evaluate("href => new URL(href, location.href).href", address))
    assert answer.status == 200
    assert "sim-shop" in answer.text()


def test_the_kernels_stop_button_ends_a_run_and_what_is_unclear_is_reviewed(page: Any, place: Path) -> None:
    prepare(place, ["no_tool_needed", *(f"missing_id.wording-{n}" for n in (1, 2, 3))])
    with (
        Simulator({"models": {"sim-shop": {"rules": [UNCLEAR]}}}, latency=1.0) as slow,
        jupyterlab(place, place.parent / "state") as home,
    ):
        data = json.loads((place / "config.json").read_text())
        data["runs"][0]["base_url"] = slow.base_url("chat_completions")
        (place / "config.json").write_text(json.dumps({**data, "parallelism": 1}))
        seen = watch(page, home)
        bench = show(page, home)
        page.set_viewport_size({"width": 1400, "height": 2600})
        bench.get_by_role("button", name="Run", exact=True).click()
        bench.get_by_text(re.compile("[12] of 4 attempts")).wait_for(timeout=SLOW)
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
        bench.get_by_text("everything that was finished is kept").wait_for(timeout=SLOW)
        asked = len(slow.journal)
        page.wait_for_timeout(3500)
        assert len(slow.journal) == asked < 4
        artifact(page, "workbench-interrupted")
        (run,) = (place / "runs").iterdir()
        assert 0 < len(RunLog.open(run)) <= asked
        bench.get_by_role("button", name="Continue").click()
        bench.get_by_text("finished · 4 of 4 attempts").wait_for(timeout=SLOW)
        assert bench.locator(".tb-cell").all_inner_texts() == ["1?"] * 4
        bench.get_by_label("What", exact=True).select_option("unclear")
        bench.get_by_role("button", name="Open the queue").click()
        bench.get_by_text("0 of 4 findings looked at").wait_for(timeout=SLOW)
        bench.get_by_text("To review, neither passed nor failed: unclear").wait_for(timeout=SLOW)
        bench.get_by_role("button", name="pass", exact=True).click()
        bench.get_by_role("button", name="Save this label").click()
        bench.get_by_text("1 of 4 findings looked at").wait_for(timeout=SLOW)
        (line,) = (run / LABELS_NAME).read_text().splitlines()
        assert json.loads(line)["code"] == "unclear"
        artifact(page, "workbench-review")
        assert scroll_bars(bench) == []
        assert seen.quiet, seen


def test_a_long_run_is_read_stopped_and_continued(page: Any, place: Path) -> None:
    cases = [case.id for case in find_suite(place, "delivery").cases if case.lang == "en"]
    assert len(cases) > 60
    prepare(place, cases)
    with jupyterlab(place, place.parent / "state") as home:
        seen = watch(page, home)
        bench = show(page, home)
        page.set_viewport_size({"width": 1400, "height": 900})
        box = bench.get_by_label("Description", exact=True)
        box.fill(box.input_value() + PROMISE)
        bench.get_by_text("conditions auto, auto-edited").wait_for(timeout=SLOW)
        bench.get_by_role("button", name="Run", exact=True).click()
        bench.get_by_text(re.compile(r"about \d+ (s|min) left")).wait_for(timeout=SLOW)
        bench.get_by_role("button", name="Stop", exact=True).click()
        bench.get_by_text("everything that was finished is kept").wait_for(timeout=SLOW)
        (run,) = (place / "runs").iterdir()
        made = [key.condition for key in RunLog.open(run).keys]
        assert 0 < len(made) < 2 * len(cases)
        assert abs(made.count("auto") - made.count("auto-edited")) <= 1
        artifact(page, "workbench-stopped")
        bench.get_by_role("button", name="Continue").click()
        bench.get_by_text(f"finished · {2 * len(cases)} of {2 * len(cases)}").wait_for(timeout=SLOW * 2)
        _row_fifty(page, bench, cases)
        assert scroll_bars(bench) == []
        assert seen.quiet, seen


def _row_fifty(page: Any, bench: Any, cases: list[str]) -> None:
    """Press a cell far down: its trace opens in sight, under heads that stay; the rest is a page on."""
    names = bench.locator(CASES)
    bench.get_by_text(f"1–50 of {len(cases)} cases").first.wait_for(state="attached", timeout=SLOW)
    assert names.all_inner_texts() == cases[:50]
    name = names.nth(49)
    name.scroll_into_view_if_needed()
    assert name.evaluate("box => box.scrollWidth <= box.clientWidth"), "the case's id is cut"
    cell = bench.locator(".tb-cell").nth(98)
    cell.click()
    trace = bench.locator(".tb-trace")
    trace.get_by_text(f"{cases[49]} · sim-shop · auto · repetition 1").wait_for(timeout=SLOW)
    assert trace.evaluate(SEEN)
    assert trace.bounding_box()["y"] - cell.bounding_box()["y"] < 60
    head = bench.locator(".tb-head").nth(1)
    assert 0 <= head.bounding_box()["y"] < cell.bounding_box()["y"]
    assert head.evaluate(SEEN)
    artifact(page, "workbench-row-50")
    bench.get_by_label("Page").select_option(index=1)
    names.filter(has_text=cases[50]).first.wait_for(timeout=SLOW)
    assert names.all_inner_texts() == cases[50:100]
    bench.get_by_label("Find", exact=True).fill("missing_id")
    names.filter(has_text=cases[50]).first.wait_for(state="detached", timeout=SLOW)
    assert all("missing_id" in text for text in names.all_inner_texts())
