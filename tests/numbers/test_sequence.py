"""Sequential runs: an interval that holds at every look, and a run that ends by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.bench.looking import study
from tests.support import ROOT
from toolbench.cli.sequential import run_until
from toolbench.domain.config import Config
from toolbench.domain.suite import find_suite
from toolbench.errors import InputError
from toolbench.numbers.sequence import LABEL, Rule, confidence_sequence, stops
from toolbench.showing.dossier import Dossier
from toolbench.showing.paired_effects import rounds
from toolbench.showing.view import RunView


@pytest.mark.parametrize("lost", [0.0, 0.3], ids=["nothing lost", "failures of one side lost"])
def test_equal_sides_seldom_differ_however_often_one_looks(lost: float) -> None:
    share, _ = study(0.0, lost, runs=60)
    assert share <= 0.05


def test_a_real_difference_ends_the_run_early() -> None:
    share, rounds = study(-0.2, runs=20)
    assert share == 1
    assert rounds < 8


def test_an_interval_covers_the_mean_over_cases_at_every_look_and_never_widens() -> None:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(60):
        left, right = rng.random(30), rng.random(30)
        rounds = []
        for _ in range(15):
            difference = (rng.random(30) < right).astype(float) - (rng.random(30) < left)
            rounds.append((difference, difference))
        path = confidence_sequence(rounds)
        widths = [high - low for low, high in path]
        assert widths == sorted(widths, reverse=True)
        truth = float((right - left).mean())
        missed += any(not low <= truth <= high for low, high in path)
    assert missed / 60 <= 0.05


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param([(-1, 1), (0.1, 0.4)], "differs", id="above zero"),
        pytest.param([(-0.1, 0.1)], "narrow", id="narrow"),
        pytest.param([(-1, 1)] * 3, "budget", id="budget"),
        pytest.param([(-1, 1)], None, id="on"),
    ],
)
def test_a_run_ends_by_its_rule(path: list[tuple[float, float]], why: str | None) -> None:
    assert stops(Rule("model=a", "model=b", 3, 0.25), path) == why


def test_two_baselines_are_played_in_rounds_until_they_differ(tmp_path: Path) -> None:
    data = {"runs": [], "conditions": ["auto"], "cases": {"tags": ["base"]}, "parallelism": 8}
    config = Config.from_json(data, "inline", ROOT)
    suites = [find_suite(ROOT, "delivery")]
    rule = Rule("model=keyword_router", "model=always_silent", budget=10)
    _, path, why = run_until(config, suites, tmp_path / "r", rule)
    assert why == "differs"
    assert len(path) < 10
    view = RunView(tmp_path / "r")
    assert Rule.parse(view.header.labels[LABEL]) == rule
    assert view.incomplete is None
    assert view.attempts["repetition"].max() == len(path) - 1
    # Every round has both sides: they were played in turns.
    assert view.attempts.groupby("model")["repetition"].nunique().nunique() == 1
    text = rounds(Dossier(view)).text
    assert f"ended after {len(path)}: they differ; {10 - len(path)} rounds were saved" in text


@pytest.mark.parametrize(
    ("left", "message"),
    [
        pytest.param("model=nobody", "no model 'nobody'; there is", id="value"),
        pytest.param("keyword_router", "write column=value", id="form"),
    ],
)
def test_a_side_that_will_not_be_there_is_refused_before_anything_is_played(
    tmp_path: Path, left: str, message: str
) -> None:
    config = Config.from_json({"runs": []}, "inline", ROOT)
    rule = Rule(left, "model=always_silent", budget=2)
    with pytest.raises(InputError, match=message):
        run_until(config, [find_suite(ROOT, "delivery")], tmp_path / "r", rule)
    assert not (tmp_path / "r").exists()
