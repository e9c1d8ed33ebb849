"""The experiment notebooks, executed by papermill with parameters that are not their defaults."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from tests.support import ROOT
from toolbench.cli import main
from toolbench.experiments import ExperimentPage, write_experiment
from toolbench.experiments.writing import NAMES
from toolbench.simulator import Simulator

EXPECTED = {
    "03_tool_order": [
        "Right answers under every order",
        "rotate:2",
        "First-position preference",
        "always_first_tool",
    ],
    "04_consistency": ["modal share", "one column a repetition", "random_tool"],
    "05_descriptions": ["own wording", "prompt_short", "Newly failing"],
    "06_forced_choice": ["Was the choice forced at all?", "only forced", "keyword_router · forced"],
    "08_wire_format": [
        "chat_completions → responses",
        "What the wire took away",
        "sim-router",
        "waiting time",
    ],
    "09_error_recovery": ["MALFORMED_RESPONSE", "with a hint", "hidden_tool_failure"],
}
"""Words that only a page with results has."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ExperimentPage]]:
    """Every experiment's page."""
    root = tmp_path_factory.mktemp("experiments")
    for folder in ("contracts", "cases"):
        (root / folder).symlink_to(ROOT / folder)
    with Simulator() as sim, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIM_KEY", "any")
        parameters = _parameters(root, sim)
        made = {name: write_experiment(name, root / "pages", parameters[name]) for name in NAMES}
        yield made


def _parameters(root: Path, sim: Simulator) -> dict[str, dict[str, Any]]:
    baselines, wires = root / "config.json", root / "wires.json"
    common = {"suites": ["delivery"], "repetitions": 1}
    model = {"provider": "sim", "model": "sim-router", "api_key_env": "SIM_KEY"}
    runs = [
        {**model, "protocol": name, "base_url": sim.base_url(name)}
        for name in ("chat_completions", "responses")
    ]
    baselines.write_text(json.dumps({**common, "runs": []}))
    wires.write_text(json.dumps({**common, "runs": runs, "baselines": []}))
    own: dict[str, dict[str, Any]] = {
        "03_tool_order": {"repetitions": 2},
        "04_consistency": {"repetitions": 3, "temperature": -1.0},
        "05_descriptions": {"field": "prompt", "right": "short"},
        "06_forced_choice": {"examples": 1},
        "08_wire_format": {"config": str(wires)},
        "09_error_recovery": {"faults": ["malformed"], "tags": ["core"]},
    }
    usual = {"config": str(baselines), "tags": ["base"], "langs": ["en"]}
    return {name: {**usual, "output": str(root / "runs" / name), **own[name]} for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs_from_its_parameters_to_its_page(
    pages: dict[str, ExperimentPage], name: str
) -> None:
    page = pages[name]
    assert page.problem is None
    text = page.html.read_text()
    for words in EXPECTED[name]:
        assert words in text, words
    assert "Answer" in text
    assert "<script" not in text
    assert "<img alt=" in text
    assert "Traceback" not in text
    assert len(text) < 1_000_000


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_leaves_a_handful_of_outputs(pages: dict[str, ExperimentPage], name: str) -> None:
    document = nbformat.read(pages[name].notebook, as_version=4)
    code = [cell for cell in document.cells if cell.cell_type == "code"]
    assert all(len(cell.source.splitlines()) <= 12 for cell in code)
    assert sum(len(cell.outputs) for cell in code) <= len(code) + 1


def test_a_run_that_cannot_answer_is_refused_in_one_line(
    pages: dict[str, ExperimentPage], tmp_path: Path
) -> None:
    run = pages["06_forced_choice"].html.parent.parent / "runs" / "06_forced_choice"
    arguments = ["experiment", "03_tool_order", "--run", str(run), "--output", str(tmp_path)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 1
    (problem, page) = done.output.splitlines()
    assert problem.startswith("toolbench: INCOMPLETE: run 06_forced_choice has no two tool orders")
    text = Path(page).read_text()
    assert "INCOMPLETE: run 06_forced_choice" in text
    assert "Not possible: run 06_forced_choice" in text
    assert "Traceback" not in text
    assert 'File "' not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["99_nothing"], "99_nothing"),
        (["03_tool_order", "-p", "repetitions"], "'repetitions' is not NAME=VALUE"),
        (["03_tool_order", "-p", "repetitons=2"], "repetitons"),
    ],
)
def test_an_experiment_that_cannot_be_made_is_refused_by_name(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(main, ["experiment", *arguments, "--output", str(tmp_path)])
    assert done.exit_code == 2
    assert message in done.output
    assert list(tmp_path.iterdir()) == []
