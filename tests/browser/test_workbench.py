"""The workbench as a person uses it: real JupyterLab, real browser, the provider simulator behind it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import papermill
import pytest

from tests.browser.lab import SLOW, artifact, jupyterlab, open_notebook, run_all, watch
from tests.support import ROOT
from toolbench.domain.log import RunLog
from toolbench.simulator import Simulator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

RULES = [
    {"when": {"after_tool_result": True}, "then": {"text": "The order is on its way; it is in Samara now."}},
    {
        "when": {"user_matches": "Check order (?P<id>ORD-[0-9]{6})"},
        "then": {"calls": [{"name": "get_order", "arguments": {"order_id": "$id"}}]},
    },
    {"then": {"text": "I can check an order or quote a delivery.", "call_offered": "best_match"}},
]
"""A model that calls whatever sounds like the request: a description that promises too much misleads it."""
PROMISE = " Can help with anything you ask."


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder with copies of suite and notebook, and a configuration of the simulator's model."""
    monkeypatch.setenv("SIM_KEY", "sim-any-key")
    work = tmp_path / "work"
    shutil.copytree(ROOT / "contracts" / "delivery", work / "contracts" / "delivery")
    (work / "cases").mkdir()
    shutil.copy(ROOT / "cases" / "delivery.en.jsonl", work / "cases")
    (tmp_path / "state").mkdir()
    with Simulator({"models": {"sim-shop": {"rules": RULES}}}, latency=0.1) as simulator:
        entry = {
            "provider": "simulator",
            "model": "sim-shop",
            "protocol": "chat_completions",
            "base_url": simulator.base_url("chat_completions"),
            "api_key_env": "SIM_KEY",
            "price": {"currency": "USD", "date": "2026-11-30", "input": 1, "output": 4},
        }
        (work / "config.json").write_text(json.dumps({"runs": [entry], "suites": ["delivery"]}))
        papermill.execute_notebook(
            str(ROOT / "notebooks" / "07_workbench.ipynb"),
            str(work / "bench.ipynb"),
            parameters={
                "config": "config.json",
                "players": ["sim-shop"],
                "cases": ["direct_lookup", "no_tool_needed"],
                "output": "runs",
            },
            prepare_only=True,
            progress_bar=False,
        )
        yield work


def test_edit_run_and_see_why_a_case_fails(page: Any, place: Path) -> None:
    with jupyterlab(place, place.parent / "state") as home:
        seen = watch(page, home)
        open_notebook(page, home, "bench.ipynb")
        assert run_all(page)
        bench = page.locator(".toolbench")
        bench.wait_for(timeout=SLOW)
        page.set_viewport_size({"width": 1400, "height": 3600})
        page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
        _edit(bench)
        _run(bench)
        _see_the_trace(page, bench)
        _only_differing(bench)
        _compare(bench)
        bench.evaluate("element => element.scrollIntoView()")
        artifact(page, "workbench")
        _save(bench, place)
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
    assert bench.get_by_text("Turn 2").is_visible()
    bench.locator(".tb-cell").first.focus()
    page.keyboard.press("Enter")
    bench.get_by_text("direct_lookup · sim-shop · auto · repetition 1").wait_for(timeout=SLOW)
    bench.locator(".tb-cell", has_text="0/1").click()
    bench.get_by_text("Failed: unexpected_call").wait_for(timeout=SLOW)


def _only_differing(bench: Any) -> None:
    bench.get_by_role("button", name="only differing").click()
    bench.locator(".tb-case", has_text="direct_lookup").wait_for(state="detached", timeout=SLOW)
    assert bench.locator(".tb-case").all_inner_texts() == ["no_tool_needed"]
    assert bench.locator(".tb-cell").all_inner_texts() == ["1/1", "0/1"]


def _compare(bench: Any) -> None:
    """Both traces of a case on which the sides differ; the filter takes the others away."""
    cases = bench.get_by_label("Paired cases")
    (option,) = cases.locator("option").all_inner_texts()
    # JupyterLab keeps the blanks of an option from collapsing.
    assert option.replace("\xa0", " ") == "no_tool_needed: 1/1 → 0/1 (passed by only left)"
    cases.select_option(index=0)
    bench.get_by_text("no_tool_needed · sim-shop · auto · repetition 1").wait_for(timeout=SLOW)
    bench.get_by_label("only differing").uncheck()
    cases.locator("option", has_text="direct_lookup").wait_for(state="attached", timeout=SLOW)
    bench.get_by_label("only differing").check()
    cases.locator("option", has_text="direct_lookup").wait_for(state="detached", timeout=SLOW)


def _save(bench: Any, place: Path) -> None:
    committed = (place / "contracts/delivery/tools.json").read_bytes()
    bench.get_by_role("button", name="Save as a new version").click()
    bench.get_by_text('{"name": "v2", "descriptions": "v2"}').wait_for(timeout=SLOW)
    saved = json.loads((place / "contracts/delivery/descriptions.v2.json").read_text())
    assert saved["tools"]["get_order"]["description"]["en"].endswith(PROMISE)
    assert (place / "contracts/delivery/tools.json").read_bytes() == committed
