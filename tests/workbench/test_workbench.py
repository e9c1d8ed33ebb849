"""The workbench without widgets: editing, saving, planning, running, looking, comparing."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from tests.browser.hostile import PAYLOADS, same_text, write_hostile_run
from tests.support import delivery
from tests.workbench.workbench_support import baseline_bench, folder_with_suites, simulated_bench
from toolbench.authoring.lint import lint
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME, RunLog
from toolbench.domain.suite import find_suite
from toolbench.errors import InputError, SuiteError
from toolbench.numbers.rows import ATTEMPT
from toolbench.showing import html
from toolbench.showing.report import execute, notebook_path
from toolbench.showing.view import RunView
from toolbench.workbench import (
    Base,
    Bench,
    Place,
    Wording,
    case_grid,
    choosing,
    comparing,
    open_bench,
    view,
)
from toolbench.workbench.edits import PROMPT, changes
from toolbench.workbench.running import Session, spent, status
from toolbench.workbench.saving import entry, free_name, save
from toolbench.workbench.tracing import offers, traces

GET_ORDER, ORDER_ID = Place("get_order"), Place("get_order", "order_id")
PROMISE = " Can help with anything you ask."


@pytest.fixture
def draft() -> Wording:
    return Wording(delivery(), "en")


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIM_KEY", "sim-any-key")


# Editing


def test_an_untouched_draft_is_the_committed_version(draft: Wording) -> None:
    assert draft.changed == []
    assert draft.overlay("x") is None
    assert draft.prompt() is None
    assert entry(draft) == {"name": "edited"}


def test_every_text_a_model_reads_can_be_edited(draft: Wording) -> None:
    tools = draft.suite.contract.tools
    places = {Place(t.name) for t in tools} | {Place(t.name, a) for t in tools for a in t.properties}
    assert set(draft.texts) == {*places, PROMPT}


def test_an_edit_reaches_the_tools_and_the_prompt_under_its_condition_only(draft: Wording) -> None:
    draft.write(GET_ORDER, "Look an order up.")
    draft.write(ORDER_ID, "The number.")
    draft.write(PROMPT, "Be brief.")
    suite, auto = draft.apply(), BUILT_IN_CONDITIONS["auto"]
    edited = draft.condition(auto)
    overlay = suite.overlay(edited.descriptions)
    assert overlay is not None
    tool = overlay.apply(suite.contract.by_name["get_order"])
    assert tool.described("en") == "Look an order up."
    assert tool.described("ru") == suite.contract.by_name["get_order"].described("ru")
    assert tool.properties["order_id"]["description"] == "The number."
    assert tool.properties["order_id"]["pattern"]
    assert suite.prompt("en", edited.prompt) == "Be brief."
    assert suite.prompt("en", auto.prompt) == draft.committed[PROMPT]
    assert suite.contract is draft.suite.contract


def test_blanks_around_a_prompt_are_no_change_since_its_file_is_read_without_them(draft: Wording) -> None:
    draft.write(PROMPT, f"\n{draft.committed[PROMPT]}  \n")
    assert draft.changed == []


def test_undoing_and_typing_the_old_text_again_both_leave_nothing_changed(draft: Wording) -> None:
    draft.write(GET_ORDER, "other")
    draft.write(GET_ORDER, draft.committed[GET_ORDER])
    assert draft.changed == []
    draft.write(GET_ORDER, "other")
    draft.undo()
    assert draft.changed == []


def test_there_is_no_place_for_a_tool_the_contract_does_not_have(draft: Wording) -> None:
    with pytest.raises(SuiteError, match="no description of nothing"):
        draft.write(Place("nothing"), "x")


def test_changes_show_words_that_went_and_came(draft: Wording) -> None:
    draft.write(GET_ORDER, draft.committed[GET_ORDER].replace("Changes nothing", "Is <b>safe</b>"))
    page = changes(draft)
    assert "digits. <del>Changes nothing.</del><ins>Is &lt;b&gt;safe&lt;/b&gt;.</ins>" in page.html
    assert "[-Changes nothing.-]{+Is <b>safe</b>.+}" in page.text


def test_a_rewritten_text_is_shown_as_the_old_one_and_the_new_one() -> None:
    page = html.difference(
        "Look up one order by its number. Changes nothing in it.",
        "Returns status and city of an order when the user names its number. Do not guess.",
    )
    assert page.html.count("<del>") == page.html.count("<ins>") == 1
    apart = html.difference("a b c d e f g h i", "a b X d e f g h Y")
    assert apart.html.count("<del>") == 2


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_difference_never_becomes_markup(text: str) -> None:
    page = html.difference(f"a {text} b", f"a {text[::-1]} c {text}")
    assert "<img" not in page.html
    assert "<script" not in page.html
    assert "<svg" not in page.html


# Saving


def test_a_saved_version_is_exactly_what_was_run(tmp_path: Path) -> None:
    folder_with_suites(tmp_path)
    draft = Wording(find_suite(tmp_path, "delivery"), "en")
    draft.write(GET_ORDER, "Look an order up.")
    draft.write(PROMPT, "Be brief.")
    before = draft.apply().hashes
    written = save(draft, tmp_path, "v2")
    assert [path.name for path in written] == ["condition.v2.json", "descriptions.v2.json", "prompt.en.v2.md"]
    after = find_suite(tmp_path, "delivery").hashes
    assert after["descriptions.v2"] == before["descriptions.edited"]
    assert after["prompt.en.v2"] == before["prompt.en.edited"]
    assert after["contract"] == before["contract"]
    assert list(lint([tmp_path / "contracts", tmp_path / "cases"])) == []


def test_the_exported_entry_is_a_condition_of_a_configuration(tmp_path: Path) -> None:
    folder_with_suites(tmp_path)
    draft = Wording(find_suite(tmp_path, "delivery"), "en")
    draft.write(ORDER_ID, "The number.")
    save(draft, tmp_path, "trial")
    exported = json.loads((tmp_path / "contracts/delivery/condition.trial.json").read_text())
    assert exported == entry(draft) == {"name": "trial", "descriptions": "trial"}
    config = Config.from_json({"runs": [], "conditions": ["auto", exported]}, "config.json")
    assert config.conditions[1].descriptions == "trial"


def test_saving_never_overwrites(tmp_path: Path) -> None:
    folder_with_suites(tmp_path)
    folder = tmp_path / "contracts/delivery"
    draft = Wording(find_suite(tmp_path, "delivery"), "en")
    draft.write(GET_ORDER, "one")
    save(draft, tmp_path, "v2")
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    draft.write(GET_ORDER, "two")
    assert draft.saved is None
    for name in ("v2", "bad"):
        with pytest.raises(SuiteError, match="never overwritten"):
            save(draft, tmp_path, name)
    assert {path: path.read_bytes() for path in folder.iterdir()} == kept
    assert free_name(draft, tmp_path) == "v3"


@pytest.mark.parametrize("name", ["", "../x", "a.b", "a b", "edited", "-x", "x" * 41, "é"])
def test_a_name_that_cannot_be_part_of_a_file_name_is_refused(name: str, tmp_path: Path) -> None:
    folder_with_suites(tmp_path)
    draft = Wording(find_suite(tmp_path, "delivery"), "en")
    draft.write(GET_ORDER, "one")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SuiteError, match="cannot name a version"):
        save(draft, tmp_path, name)
    assert sorted(tmp_path.rglob("*")) == before


def test_saving_writes_all_files_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_with_suites(tmp_path)
    draft = Wording(find_suite(tmp_path, "delivery"), "en")
    draft.write(GET_ORDER, "one")
    draft.write(PROMPT, "two")
    before, real = sorted(tmp_path.rglob("*")), Path.open

    def full(path: Path, *args: str, **kwargs: str) -> object:
        if path.suffix == ".md":
            raise OSError(28, "No space left on device")
        return real(path, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(SuiteError, match=r"No space left on device.*nothing was saved"):
        save(draft, tmp_path, "v2")
    assert sorted(tmp_path.rglob("*")) == before
    assert draft.saved is None


def test_a_suite_from_elsewhere_is_not_saved_beside_nothing(draft: Wording, tmp_path: Path) -> None:
    draft.write(GET_ORDER, "one")
    with pytest.raises(SuiteError, match="delivery is not there: a version is saved beside its suite"):
        save(draft, tmp_path, "v2")
    assert not (tmp_path / "contracts").exists()


def test_nothing_changed_is_nothing_to_save(draft: Wording, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="nothing to save"):
        save(draft, tmp_path, "v2")


def test_a_draft_that_starts_from_a_variant_keeps_its_names(tmp_path: Path) -> None:
    folder_with_suites(tmp_path)
    suite = find_suite(tmp_path, "delivery")
    draft = Wording(suite, "en", Base(descriptions="bad"))
    assert draft.committed[GET_ORDER] != Wording(suite, "en").committed[GET_ORDER]
    draft.write(GET_ORDER, "better")
    save(draft, tmp_path, "less-bad")
    saved = find_suite(tmp_path, "delivery").overlays["less-bad"].tools
    bad = suite.overlays["bad"].tools
    assert {tool: entry.get("name") for tool, entry in saved.items()} == {
        tool: entry.get("name") for tool, entry in bad.items()
    }
    assert saved["get_order"]["description"]["en"] == "better"


# Choosing


def test_cases_are_found_by_class_tag_and_text() -> None:
    suite = delivery()
    everything = choosing.matching(suite, "en")
    assert len(everything) == len(suite.cases)
    assert choosing.matching(suite, "ru") == []
    assert {case.klass for case in choosing.matching(suite, "en", klass="missing_id")} == {"missing_id"}
    assert all("base" in case.tags for case in choosing.matching(suite, "en", tag="base"))
    (found,) = choosing.matching(suite, "en", tag="base", text="CHECK ORDER ORD-123456.")
    assert found.id == "direct_lookup"
    assert choosing.matching(suite, "en", text="direct_LOOKUP.b")


def test_an_edit_is_played_beside_the_committed_wording_of_each_condition(tmp_path: Path) -> None:
    bench = baseline_bench(tmp_path)
    bench.choose(conditions=("auto", "reversed"), repetitions=3)
    bench.draft.write(GET_ORDER, "x")
    plan = bench.plan()
    assert plan.pairs == (("auto", "auto-edited"), ("reversed", "reversed-edited"))
    assert plan.total == 2 * 2 * 4 * 3
    reordered = plan.config.conditions[3]
    assert (reordered.tool_order, reordered.descriptions, reordered.prompt) == ("reversed", "edited", None)
    bench.choose(beside=False)
    assert [condition.name for condition in bench.plan().config.conditions] == [
        "auto-edited",
        "reversed-edited",
    ]
    bench.draft.undo()
    assert [condition.name for condition in bench.plan().config.conditions] == ["auto", "reversed"]


def test_cases_chosen_by_hand_replace_those_of_the_configuration(tmp_path: Path) -> None:
    path = folder_with_suites(
        tmp_path,
        cases={"tags": ["nothing"]},
        conditions=[{"name": "auto", "cases": {"ids": ["missing_id"]}, "repetitions": 9}],
    )
    bench = open_bench(path, players=["always_silent"], cases=["direct_lookup"])
    assert bench.plan().total == 1


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"cases": ()}, "no case is chosen"),
        ({"players": ()}, "no player is chosen"),
        ({"conditions": ()}, "no condition is chosen"),
        ({"players": ("gpt",)}, "unknown player 'gpt'; there are: .*always_silent"),
        ({"conditions": ("x",)}, "unknown condition 'x'"),
    ],
)
def test_a_choice_that_cannot_be_run_says_what_lacks(
    choice: dict[str, object], message: str, tmp_path: Path
) -> None:
    bench = baseline_bench(tmp_path)
    bench.choose(**choice)
    with pytest.raises(InputError, match=message):
        bench.plan()
    assert not (tmp_path / "runs").exists()


def test_another_language_lets_go_of_cases_it_does_not_have_and_keeps_edits(tmp_path: Path) -> None:
    bench = baseline_bench(tmp_path)
    bench.draft.write(GET_ORDER, "edited in English")
    bench.choose(lang="ru")
    assert bench.choice.cases == ("direct_lookup", "no_tool_needed")
    assert bench.draft.changed == []
    bench.choose(lang="en")
    assert bench.draft.changed == [GET_ORDER]


def test_opening_names_what_is_wrong(tmp_path: Path) -> None:
    path = folder_with_suites(tmp_path)
    with pytest.raises(InputError, match="no cases in 'fr'"):
        open_bench(path, lang="fr")
    with pytest.raises(SuiteError, match="no such suite"):
        open_bench(path, suite="nothing")


# Running


async def test_what_is_shown_live_is_what_the_log_says(tmp_path: Path) -> None:
    bench = baseline_bench(tmp_path)
    bench.draft.write(GET_ORDER, "x")
    await bench.play()
    assert bench.session.folder is not None
    live, stored = bench.attempts, RunView(bench.session.folder).attempts
    assert live is not None
    pd.testing.assert_frame_equal(live[ATTEMPT], stored[ATTEMPT])
    assert bench.session.complete
    assert "8 of 8 attempts" in status(bench.session, live)


@pytest.mark.usefixtures("_key")
async def test_stop_reacts_within_a_second_and_loses_nothing(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        bench.choose(repetitions=4)
        seen: list[int] = []
        bench.session.on_change = lambda: seen.append(0 if bench.attempts is None else len(bench.attempts))
        bench.start()
        while bench.attempts is None or len(bench.attempts) < 2:
            await asyncio.sleep(0.01)
        simulator_hangs = bench.session
        started = time.monotonic()
        bench.session.stop()
        assert bench.session.state == "stopping"
        while bench.session.busy:
            await asyncio.sleep(0.01)
        assert time.monotonic() - started < 1
        assert simulator_hangs.state == "stopped"
        assert bench.session.folder is not None
        kept = RunLog.open(bench.session.folder)
        assert bench.attempts is not None
        assert len(kept) == len(bench.attempts) >= 2
        assert "everything that was finished is kept" in status(bench.session, bench.attempts)
        await bench.session.resume()
        assert bench.session.state == "finished"
        assert bench.session.complete
        assert len(RunLog.open(bench.session.folder)) == 8


@pytest.mark.usefixtures("_key")
async def test_stop_is_heard_while_a_provider_is_silent(tmp_path: Path) -> None:
    with simulated_bench(tmp_path, latency=30) as bench:
        bench.start()
        await asyncio.sleep(0.5)
        started = time.monotonic()
        bench.session.stop()
        while bench.session.busy:
            await asyncio.sleep(0.01)
        assert time.monotonic() - started < 1
        assert bench.session.state == "stopped"
        assert bench.attempts is None


@pytest.mark.usefixtures("_key")
async def test_a_second_run_is_refused_while_one_goes_on(tmp_path: Path) -> None:
    with simulated_bench(tmp_path, latency=5) as bench:
        bench.start()
        with pytest.raises(InputError, match="a run is going on"):
            bench.start()
        bench.session.stop()
        while bench.session.busy:
            await asyncio.sleep(0.01)


@pytest.mark.usefixtures("_key")
async def test_a_cancelled_cell_stops_the_run_it_waits_for(tmp_path: Path) -> None:
    with simulated_bench(tmp_path, latency=30) as bench:
        cell = asyncio.create_task(bench.play())
        await asyncio.sleep(0.3)
        cell.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cell
        assert not bench.session.busy
        assert bench.session.state == "stopped"


async def test_a_run_that_cannot_start_says_why_and_leaves_no_folder(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        with pytest.raises(InputError, match="SIM_KEY is not set"):
            await bench.play()
        assert "SIM_KEY is not set" in status(bench.session, None)
    assert list((tmp_path / "runs").iterdir()) == []


async def test_there_is_nothing_to_continue_before_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run to continue"):
        Session(tmp_path).resume()


@pytest.mark.usefixtures("_key")
async def test_cost_is_counted_where_it_is_known_and_else_said_to_be_unknown(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        await bench.play()
        attempts = bench.attempts
    assert attempts is not None
    tokens = attempts[["input_tokens", "output_tokens"]].sum().sum()
    expected = (attempts["input_tokens"].sum() + 4 * attempts["output_tokens"].sum()) / 1e6
    assert spent(attempts) == f"{tokens:,.0f} tokens · cost {expected:.4f} USD"
    unknown = spent(attempts.assign(cost=float("nan")))
    assert unknown.endswith("cost unknown for 2 attempts")


async def test_runs_started_in_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    bench = baseline_bench(tmp_path, ["always_silent"])
    for _ in range(3):
        await bench.play()
    assert len(list((tmp_path / "runs").glob(f"*/{LOG_NAME}"))) == 3


# Looking


async def _edited_run(bench: Bench) -> RunView:
    bench.draft.write(GET_ORDER, bench.draft.committed[GET_ORDER] + PROMISE)
    await bench.play()
    assert bench.session.folder is not None
    return RunView(bench.session.folder)


@pytest.mark.usefixtures("_key")
async def test_the_grid_counts_and_filters(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        seen = await _edited_run(bench)
    planned = seen.named(seen.scored.planned)
    grid = case_grid.grid(seen.attempts, planned)
    assert [str(column) for column in grid.columns] == ["sim-shop · auto", "sim-shop · auto-edited"]
    assert [[cell.text for cell in grid.row(case)] for case in grid.cases] == [["1/1", "1/1"], ["1/1", "0/1"]]
    for only in ("failing", "differing"):
        assert case_grid.grid(seen.attempts, planned, only).cases == ("no_tool_needed",)
    nothing = case_grid.grid(seen.attempts.head(0), planned, "differing")
    assert nothing.cases == ()
    half = case_grid.grid(seen.attempts.head(1), planned)
    assert [cell.text for cell in half.row("direct_lookup")] == ["1/1", "…"]
    lost = case_grid.grid(seen.attempts.assign(scored=False), planned, "failing")
    assert [cell.text for cell in lost.row("direct_lookup")] == ["err", "err"]


@pytest.mark.usefixtures("_key")
async def test_a_trace_shows_what_was_sent_what_came_back_and_what_was_found(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        seen = await _edited_run(bench)
    found = traces(seen, "no_tool_needed", "sim-shop", "auto-edited")
    assert list(found) == [0]
    text = found[0].text
    for part in (
        "Failed: unexpected_call",
        "user: Hi! What can you help me with?",
        "tools as the provider saw them (get_order, quote_delivery, cancel_order)",
        PROMISE.strip(),
        "Raw response",
        '"tool_calls"',
        "proposed → rejected",
        "Turn 2 — HTTP 200",
        "it is in Samara now.",
    ):
        assert part in text, part
    passed = traces(seen, "direct_lookup", "sim-shop", "auto", "delivery", "en")[0].text
    assert "Passed: no check found anything." in passed
    for part in ("Where the arguments come from", "get_order.order_id", "user"):
        assert part in passed, part
    assert traces(seen, "direct_lookup", "sim-shop", "auto", "delivery", "ru") == {}


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "a", "description": "b", "parameters": {}}}],
        [{"type": "function", "name": "a", "description": "b", "parameters": {}}],
        [{"name": "a", "description": "b", "input_schema": {"properties": {"name": {"type": "string"}}}}],
        [{"functionDeclarations": [{"name": "a", "description": "b"}]}],
    ],
    ids=["chat_completions", "responses", "messages", "generate_content"],
)
def test_tools_are_listed_whatever_the_wire_format(tools: list[object]) -> None:
    assert list(offers(tools)) == [("a", "b")]


def test_hostile_text_is_text_on_every_page(tmp_path: Path) -> None:
    seen = RunView(write_hostile_run(tmp_path / "hostile"))
    pages = [view(tmp_path / "hostile")]
    for case in seen.attempts["case_id"].unique():
        pages += traces(seen, str(case), seen.players[0], "auto").values()
    markup, text = str(html.join(pages).html), html.join(pages).text
    assert len(pages) == 7
    for tag in ("<script", "<img src=x", "<svg", "<iframe", "<style", "<link", "<form", "<meta"):
        assert tag not in markup
    assert [payload for payload in PAYLOADS if not same_text(payload, text)] == []


async def test_a_run_can_be_shown_at_any_time_without_the_bench(tmp_path: Path) -> None:
    bench = baseline_bench(tmp_path)
    assert "Nothing has been run yet" in bench.show().text
    seen = await _edited_run(bench)
    text = view(seen.path, [("auto", "auto-edited")]).text
    assert re.search(r"keyword_router: auto → auto-edited: (\d+ %) → \1 passed", text)
    assert "Latest 8 of 8 attempts" in text
    assert text in bench.show().text
    assert "keyword_router" in bench.overview().text


# Comparing


@pytest.mark.usefixtures("_key")
async def test_the_paired_effect_names_the_cases_behind_it(tmp_path: Path) -> None:
    with simulated_bench(tmp_path) as bench:
        seen = await _edited_run(bench)
    text = comparing.effects(seen, [("auto", "auto-edited")]).text
    assert "100 % → 50 % passed, -50 points" in text
    assert "none: 1 of 2 scenarios differ, fewer than 6, 2 paired cases of 2 scenarios" in text
    assert "newly passing none; newly failing no_tool_needed" in text
    left, right = comparing.arms(seen)
    comparison = comparing.paired((seen, left), (seen, right))
    assert list(comparing.differing(comparison)["case_id"]) == ["no_tool_needed"]
    assert len(comparing.differing(comparison, only_differing=False)) == 2
    page = comparing.comparison_page(comparison, only_differing=True).text
    assert "1 of 2 paired cases, only differing" in page
    assert "small sample" in page


async def test_an_earlier_run_is_compared_on_the_cases_both_have(tmp_path: Path) -> None:
    bench = baseline_bench(tmp_path, ["keyword_router"])
    bench.choose(cases=("direct_lookup", "missing_id"))
    await bench.play()
    earlier = bench.session.folder
    bench.choose(players=("always_silent",), cases=("direct_lookup", "no_tool_needed"))
    await bench.play()
    newest, oldest = comparing.previous_runs(tmp_path / "runs")
    assert (newest, oldest) == (bench.session.folder, earlier)
    assert comparing.previous_runs(tmp_path / "runs", without=newest) == [oldest]
    views = [RunView(folder) for folder in (oldest, newest)]
    sides = [(seen, comparing.arms(seen)[0]) for seen in views]
    comparison = comparing.paired(sides[0], sides[1])
    assert list(comparison.cases["case_id"]) == ["direct_lookup"]
    assert comparison.cases[["left_n", "right_n"]].to_numpy().tolist() == [[1, 1]]
    assert any("left out" in line for line in comparison.unpaired)


async def test_runs_that_differ_in_more_are_refused_until_that_is_accepted(tmp_path: Path) -> None:
    bench = baseline_bench(tmp_path, ["keyword_router"])
    await bench.play()
    bench.choose(repetitions=2)
    await bench.play()
    views = [RunView(folder) for folder in reversed(comparing.previous_runs(tmp_path / "runs"))]
    sides = [(seen, comparing.arms(seen)[0]) for seen in views]
    with pytest.raises(InputError, match="repetitions: 1 against 2"):
        comparing.paired(sides[0], sides[1])
    assert len(comparing.paired(sides[0], sides[1], ("repetitions",)).cases) == 2


# The notebook


@pytest.mark.parametrize("headless", [True, False], ids=["headless", "with widgets"])
def test_the_notebook_runs_through(headless: bool, tmp_path: Path) -> None:
    config = folder_with_suites(tmp_path)
    parameters = {
        "config": str(config),
        "lang": "ru",
        "players": ["always_first_tool"],
        "cases": ["direct_lookup"],
        "output": str(tmp_path / "runs"),
        "headless": headless,
    }
    assert execute(notebook_path("07_workbench"), tmp_path / "out.ipynb", parameters) is None
    document = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    shown = "".join(str(o.get("data")) for cell in document.cells for o in cell.get("outputs", []))
    assert ("1 of 1 attempt" in shown) == headless
    assert ("application/vnd.jupyter.widget-view+json" in shown) != headless
    assert (tmp_path / "runs").exists() == headless
