"""What a notebook calls: several runs at once, comparisons from whatever is at hand, gates, plots, trends."""

from __future__ import annotations

import json
from pathlib import Path
from rlcompleter import Completer
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import toolbench
from tests.numbers.support import renamed
from tests.support import ROOT
from toolbench.cli import main
from toolbench.domain.config import Config
from toolbench.domain.rich import html_table
from toolbench.domain.suite import find_suite
from toolbench.errors import InputError
from toolbench.numbers.frames import IDENTITY
from toolbench.numbers.gates import EXIT_CODES
from toolbench.numbers.rows import ATTEMPT
from toolbench.running.runner import run_matrix_sync
from toolbench.running.summary import RunSummary
from toolbench.showing.view import RunView

GATES = {
    "version": "ci",
    "min_n": 1,
    "gates": [
        {"name": "good", "metric": "pass_rate", "min": 0},
        {"name": "bad", "metric": "pass_rate", "min": 1},
        {"name": "tail", "metric": "latency_p95", "max": 10_000},
    ],
}


@pytest.fixture(scope="module")
def folder(base_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a model ``m``: a keyword router first, silence later."""
    runs = tmp_path_factory.mktemp("api") / "runs"
    for day, (name, player) in enumerate({"a": "keyword_router", "b": "always_silent"}.items(), 1):
        renamed(
            base_run,
            runs / name,
            {player: "m"},
            header=lambda header, day=day: {**header, "started_at": f"2026-11-0{day}T00:00:00+00:00"},
        )
    return runs


def test_several_runs_load_into_one_frame_that_names_them(folder: Path) -> None:
    frame = toolbench.load(folder / "a", folder / "b")
    assert list(frame.columns) == [*IDENTITY, *ATTEMPT]
    assert set(frame["run_id"]) == {"a", "b"}
    assert frame.groupby("run_id")["started_at"].first().to_dict() == {
        "a": "2026-11-01T00:00:00+00:00",
        "b": "2026-11-02T00:00:00+00:00",
    }
    pd.testing.assert_frame_equal(toolbench.load(str(folder / "*")), frame)
    pd.testing.assert_frame_equal(toolbench.load(*(rows for _, rows in frame.groupby("run_id"))), frame)
    assert set(toolbench.metrics(frame)["run_id"]) == {"a", "b"}


def test_a_run_that_is_there_twice_is_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"run a is there twice: .*a and .*a"):
        toolbench.load(folder / "a", str(folder / "*"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param((), "name a run", id="nothing"),
        pytest.param(("/nowhere/*",), r"nothing is called /nowhere/\*", id="a pattern that fits none"),
        pytest.param((pd.DataFrame({"model": []}),), "the frame lacks run_id, started_at", id="a frame"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(given: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        toolbench.load(*given)  # type: ignore[arg-type]
    assert "\n" not in str(refusal.value)


def test_paths_frames_and_parts_of_a_run_are_compared(folder: Path) -> None:
    by_path = toolbench.compare(folder / "a", folder / "b", metrics=["pass_rate"])
    model = by_path.table[by_path.table["provider"] == "acme"]
    assert (model["delta"].dropna() < 0).all()
    frames = [toolbench.load(folder / name) for name in "ab"]
    by_frame = toolbench.compare(frames[0], frames[1], metrics=["pass_rate"])
    np.testing.assert_allclose(by_frame.table["delta"], by_path.table["delta"])
    parts = toolbench.compare("model=m,lang=en", "model=random_tool,lang=en", run=folder / "a")
    assert parts.factors == ("model",)
    assert set(parts.table["lang"]) == {"en"}
    with pytest.raises(InputError, match="name the run that this is a part of"):
        toolbench.compare("model=m", "model=n")
    with pytest.raises(InputError, match="'modle' is not one of provider"):
        toolbench.compare("modle=m", "model=n", run=folder / "a")
    with pytest.raises(InputError, match="compare: the frame lacks case_hash"):
        toolbench.compare(frames[0].drop(columns="case_hash"), frames[1])


def test_results_show_themselves_in_a_notebook_and_escape_what_they_show(folder: Path) -> None:
    found = toolbench.compare(folder / "a", folder / "b", metrics=["pass_rate"])
    for one in (found, toolbench.gate(folder / "b", GATES), RunView(folder / "a"), RunSummary(folder)):
        text = one._repr_html_()  # type: ignore[attr-defined]
        assert text.startswith("<table>")
        assert text.count("<tr>") > 1
    assert "<script>" not in html_table("<script>", [{"<b>": "<i>\u202e"}])
    assert "\\u202e" in html_table("", [{"a": "\u202e"}])


def test_gates_are_decided_from_paths_and_told_to_ci(folder: Path, tmp_path: Path) -> None:
    report = toolbench.gate(folder / "a", GATES)
    suite = ElementTree.fromstring(report.to_junit())
    assert int(suite.attrib["tests"]) == len(report.results)
    outcomes = [result.outcome for result in report.results]
    assert len(suite.findall(".//failure")) == int(suite.attrib["failures"]) == outcomes.count("fail") > 0
    assert len(suite.findall(".//skipped")) == outcomes.count("not enough data") > 0


def test_trends_are_one_line_a_run_oldest_first(folder: Path, tmp_path: Path) -> None:
    table = toolbench.trends(folder)
    mine = table[(table["model"] == "m") & (table["lang"] == "en") & (table["condition"] == "auto")]
    assert list(mine["run_id"]) == ["a", "b"]
    assert mine["value"].iloc[0] > mine["value"].iloc[1]
    with pytest.raises(InputError, match="no run here"):
        toolbench.trends(tmp_path)
    with pytest.raises(InputError, match="no metric 'luck'"):
        toolbench.trends(folder, "luck")


def test_plots_take_what_load_and_compare_return(folder: Path) -> None:
    frame = toolbench.load(folder / "a")
    one = frame[(frame["lang"] == "en") & (frame["condition"] == "auto")]
    assert len(toolbench.plot.heatmap(one).axes[0].get_xticklabels()) == 5
    # Languages and conditions stand beside each other and are never added up.
    columns = frame.groupby(["provider", "model", "lang", "condition"]).ngroups
    assert len(toolbench.plot.heatmap(frame).axes[0].get_xticklabels()) == columns
    with pytest.raises(InputError, match="no attempts"):
        toolbench.plot.heatmap(frame.iloc[:0])
    both = toolbench.load(folder / "a", folder / "b")
    for draw in (toolbench.plot.forest, toolbench.plot.slopes):
        assert draw(both, "pass_rate").axes[0].get_yticklabels()
        with pytest.raises(InputError, match="the frame holds 1 runs; give two"):
            draw(one)
    found = toolbench.compare(folder / "a", folder / "b", metrics=["pass_rate"])
    for draw in (toolbench.plot.forest, toolbench.plot.slopes):
        assert len(draw(found).axes[0].get_yticklabels()) == len(found.table)
    with pytest.raises(InputError, match="'mean_cost' was not compared"):
        toolbench.plot.forest(found, "mean_cost")


def test_tab_completion_shows_the_public_names_and_no_others() -> None:
    complete = Completer({"tb": toolbench}).attr_matches
    assert [name.rstrip("(") for name in complete("tb.com")] == ["tb.compare"]
    assert [name.rstrip("()") for name in complete("tb.plot.")] == [
        f"tb.plot.{name}" for name in ("forest", "heatmap", "slopes")
    ]


def test_the_command_line_speaks_json_and_fails_on_regressions(folder: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    paths = [str(folder / "a"), str(folder / "b")]
    told = run(main, ["compare", *paths, "--json", "--metric", "pass_rate"])
    assert told.exit_code == 0
    assert json.loads(told.stdout)["primary"] == "pass_rate"
    found = toolbench.compare(*paths, factors=(), metrics=["pass_rate"])
    worse = run(main, ["compare", *paths, "--metric", "pass_rate", "--fail-on-regression"])
    assert worse.exit_code == (1 if len(found.regressions) else 0)
    assert run(main, ["compare", paths[1], paths[0], "--fail-on-regression"]).exit_code == 0
    junit = tmp_path / "gates.xml"
    decided = run(main, ["gate", paths[0], "--default", "--json", "--junit", str(junit)])
    assert decided.exit_code in EXIT_CODES.values()
    assert ElementTree.parse(junit).getroot().tag == "testsuite"
    assert run(main, ["trends", str(folder)]).stdout.count("\n") > 4


def test_a_loss_that_holm_upholds_is_a_regression(tmp_path: Path) -> None:
    # All shipped cases: the nine base cases alone have too few scenarios that differ.
    data = {"runs": [], "conditions": ["auto"], "cases": {"langs": ["en"]}}
    names = ("delivery", "tickets")
    run_matrix_sync(
        Config.from_json(data, "inline", ROOT), [find_suite(ROOT, n) for n in names], tmp_path / "r"
    )
    whole = toolbench.load_run(tmp_path / "r")
    router, silent = (toolbench.select(whole, model=name) for name in ("keyword_router", "always_silent"))
    there, back = (
        toolbench.compare(*sides, metrics=["pass_rate"]) for sides in ((router, silent), (silent, router))
    )
    upheld = there.table["p_holm"] < 0.05
    assert there.table["differing"][upheld].min() >= 10
    assert (
        set(there.regressions["suite"])
        == set(there.table["suite"][upheld & (there.table["delta"] < 0)])
        != set()
    )
    assert back.regressions.empty
