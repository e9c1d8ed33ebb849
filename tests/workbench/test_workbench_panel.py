"""The widgets of the workbench, worked without a browser: they only bind what the bench can do."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.browser.hostile import write_hostile_run
from tests.support import ROOT
from tests.workbench.workbench_support import baseline_bench, simulated_bench
from toolbench.workbench import Place, panel
from toolbench.workbench.board import Panel
from toolbench.workbench.parts import PageBox

GET_ORDER = Place("get_order")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panel, "_shown", None)
    monkeypatch.setenv("SIM_KEY", "sim-any-key")


async def _finish(shown: Panel) -> None:
    while shown.bench.session.busy:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_only_one_place_hands_html_to_the_browser() -> None:
    package = ROOT / "toolbench" / "workbench"
    uses = {
        path.name: len(re.findall(r"\bHTML(?:Math)?\(|\bMarkdown\(", path.read_text()))
        for path in package.glob("*.py")
    }
    assert {name: number for name, number in uses.items() if number} == {"parts.py": 1}


def test_a_text_that_is_no_page_is_not_shown() -> None:
    with pytest.raises(AssertionError):
        PageBox().show("<b>raw</b>")  # type: ignore[arg-type]


def test_choosing_by_hand_changes_the_choice_and_says_what_it_costs(tmp_path: Path) -> None:
    shown = Panel.take_over(baseline_bench(tmp_path))
    choose = shown.choose
    assert "4 attempts: 2 cases" in choose.count.root.value
    choose.klass.value = "missing_id"
    listed = [value for _, value in choose.cases.options]
    assert "missing_id" in listed
    assert {"direct_lookup", "no_tool_needed"} < set(listed)
    choose.everything.click()
    assert set(shown.bench.choice.cases) == set(listed)
    choose.nothing.click()
    assert "no case is chosen" in choose.count.root.value
    choose.repetitions.value, choose.conditions.value = 2, ("auto", "no_tools")
    choose.text.value = "nobody says this"
    assert choose.cases.options == ()
    assert shown.bench.choice.repetitions == 2


def test_another_suite_or_language_brings_its_own_texts(tmp_path: Path) -> None:
    shown = Panel.take_over(baseline_bench(tmp_path))
    english = shown.edit.boxes[GET_ORDER].value
    shown.edit.boxes[GET_ORDER].value = "kept"
    shown.choose.lang.value = "ru"
    assert shown.edit.boxes[GET_ORDER].value not in (english, "kept")
    assert "Nothing is changed" in shown.edit.difference.root.value
    shown.choose.lang.value = "en"
    assert shown.edit.boxes[GET_ORDER].value == "kept"


def test_an_edit_is_shown_against_the_committed_text_and_can_be_undone(tmp_path: Path) -> None:
    shown = Panel.take_over(baseline_bench(tmp_path))
    edit = shown.edit
    edit.tool.value = "quote_delivery"
    edit.boxes[Place("quote_delivery", "weight_kg")].value += " <b>"
    edit.prompt.value = "Be brief."
    assert "quote_delivery.weight_kg" in edit.difference.root.value
    assert "<ins> &lt;b&gt;</ins>" in edit.difference.root.value
    assert "system prompt" in edit.difference.root.value
    assert "auto-edited" in shown.choose.count.root.value
    assert not edit.save.disabled
    edit.undo.click()
    assert edit.prompt.value == shown.bench.draft.committed[Place()]
    assert edit.save.disabled


def test_saving_shows_the_entry_and_a_taken_name_is_refused_in_words(tmp_path: Path) -> None:
    shown = Panel.take_over(baseline_bench(tmp_path))
    edit = shown.edit
    edit.boxes[GET_ORDER].value = "x"
    edit.name.value = "bad"
    edit.save.click()
    assert "never overwritten" in edit.message.root.value
    edit.name.value = "mine"
    edit.save.click()
    assert (
        "{&#34;name&#34;: &#34;mine&#34;, &#34;descriptions&#34;: &#34;mine&#34;}" in edit.message.root.value
    )
    assert "mine" in [value for _, value in edit.descriptions.options]
    assert edit.save.disabled
    assert "auto-mine" in shown.choose.count.root.value
    edit.descriptions.value = "mine"
    assert edit.boxes[GET_ORDER].value == "x"
    assert shown.bench.draft.changed == []


async def test_run_look_and_compare(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        shown = Panel.take_over(bench)
        shown.edit.boxes[GET_ORDER].value += " Can help with anything you ask."
        shown.run.run.click()
        assert shown.run.run.disabled
        assert not shown.run.stop.disabled
        await _finish(shown)
        assert not shown.run.run.disabled
        assert shown.run.resume.disabled
        assert "4 of 4 attempts" in shown.run.line.root.value
        cells = {(case, column.condition): made for (case, column), made in shown.results.cells.items()}
        failing = cells["no_tool_needed", "auto-edited"]
        assert (failing.description, failing.style.text_color) == ("0/1", "#ffffff")
        assert "unexpected_call" in failing.tooltip
        failing.click()
        assert "Failed: unexpected_call" in shown.results.trace.root.value
        rows = list(shown.results.grid.children)
        assert rows.index(shown.results.opened) == rows.index(failing) + 1
        assert "newly failing no_tool_needed" in shown.results.effect.root.value
        shown.results.only.value = "differing"
        assert {case for case, _ in shown.results.cells} == {"no_tool_needed"}
        assert shown.results.cells[next(iter(shown.results.cells))] is cells["no_tool_needed", "auto"]
        compare = shown.compare
        assert "nothing is loaded before" in compare.page.root.value
        compare.load.click()
        assert [arm.value.condition for arm in compare.arms] == ["auto", "auto-edited"]
        assert [value for _, value in compare.case.options] == ["no_tool_needed"]
        compare.case.value = "no_tool_needed"
        assert "Passed: no check" in compare.traces[0].root.value
        assert "Failed: unexpected_call" in compare.traces[1].root.value
        compare.only.value = False
        assert len(compare.case.options) == 2


async def test_an_earlier_run_is_compared_and_a_refusal_is_explained(tmp_path: Path) -> None:
    shown = Panel.take_over(baseline_bench(tmp_path, ["keyword_router"]))
    shown.run.run.click()
    await _finish(shown)
    shown.choose.repetitions.value = 2
    shown.run.run.click()
    await _finish(shown)
    compare = shown.compare
    assert len(compare.runs[0].options) == 2
    compare.runs[0].value = compare.runs[0].options[1][1]
    compare.load.click()
    assert "repetitions: 1 against 2" in compare.page.root.value
    assert compare.case.options == ()
    compare.accept.value = ("cases", "repetitions")
    assert "2 paired cases" in compare.page.root.value


async def test_stop_and_continue(tmp_path: Path) -> None:
    with simulated_bench(tmp_path, latency=0.05) as bench:
        shown = Panel.take_over(bench)
        shown.choose.repetitions.value = 3
        shown.run.run.click()
        while bench.attempts is None:
            await asyncio.sleep(0.01)
        shown.run.stop.click()
        assert shown.run.stop.disabled
        await _finish(shown)
        assert "stopped" in shown.run.line.root.value
        assert not shown.run.resume.disabled
        shown.run.resume.click()
        await _finish(shown)
        assert "6 of 6 attempts" in shown.run.line.root.value


async def test_results_appear_while_the_run_goes_on(tmp_path: Path) -> None:
    with simulated_bench(tmp_path, latency=0.3) as bench:
        shown = Panel.take_over(bench)
        shown.run.run.click()
        texts = set()
        while bench.session.busy:
            texts.add(tuple(made.description for made in shown.results.cells.values()))
            await asyncio.sleep(0.05)
        assert ("1/1", "…") in texts
        await _finish(shown)
        assert [made.description for made in shown.results.cells.values()] == ["1/1", "1/1"]


async def test_a_run_that_cannot_start_is_explained_beside_the_button(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIM_KEY")
    with simulated_bench(tmp_path) as bench:
        shown = Panel.take_over(bench)
        shown.run.run.click()
        await _finish(shown)
        assert "SIM_KEY is not set" in shown.run.line.root.value
        shown.choose.nothing.click()
        shown.run.run.click()
        assert "Not started: no case is chosen" in shown.run.line.root.value


async def test_a_new_panel_stops_the_run_of_the_old_one_and_shows_the_bench_as_it_is(tmp_path: Path) -> None:
    with simulated_bench(tmp_path, latency=0.2) as bench:
        first = Panel.take_over(bench)
        first.choose.repetitions.value = 5
        first.run.run.click()
        while bench.attempts is None:
            await asyncio.sleep(0.01)
        second = Panel.take_over(bench)
        await _finish(second)
        assert bench.session.state == "stopped"
        assert "stopped" in second.run.line.root.value
        assert second.results.cells
        assert second.choose.repetitions.value == 5


def test_names_from_a_foreign_log_are_text_in_the_lists(tmp_path: Path) -> None:
    bench = baseline_bench(tmp_path)
    (tmp_path / "runs").mkdir()
    write_hostile_run(tmp_path / "runs" / "hostile")
    shown = Panel.take_over(bench)
    shown.compare.load.click()
    assert "<script>" in shown.compare.arms[0].options[0][0]
    assert "<script" not in shown.compare.page.root.value


def test_the_panel_is_one_widget(tmp_path: Path) -> None:
    assert panel(baseline_bench(tmp_path)) is Panel._shown.root  # type: ignore[union-attr]
