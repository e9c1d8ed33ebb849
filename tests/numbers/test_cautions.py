"""What limits a table is said beside it."""

from __future__ import annotations

from pathlib import Path

from tests.numbers.support import failed, frame, planned, renamed, row
from toolbench.numbers.cautions import cautions, incomplete, small_sample
from toolbench.numbers.frames import ScoredRun, load_run


def attempts(cases: int, repetitions: int) -> list[dict[str, object]]:
    return [row(f"c{i}", repetition=r) for i in range(cases) for r in range(repetitions)]


def test_enough_cases_and_repetitions_need_no_warning() -> None:
    assert small_sample(frame(*attempts(20, 3))) == []


def test_few_cases_and_few_repetitions_are_named() -> None:
    assert small_sample(frame(*attempts(19, 3))) == ["small sample: s/en/auto has only 19 cases (below 20)"]
    assert small_sample(frame(*attempts(20, 2))) == [
        "small sample: s/en/auto has only 2 repetitions (below 3)"
    ]


def test_several_models_do_not_add_up_to_more_cases() -> None:
    rows = [*attempts(10, 3), *({**r, "model": "n", "case_id": f"x{r['case_id']}"} for r in attempts(10, 3))]
    assert small_sample(frame(*rows)) == ["small sample: s/en/auto has only 10 cases (below 20)"]


def test_over_five_percent_without_a_score_is_incomplete() -> None:
    made = [row(f"c{i}", None if i < 5 else True) for i in range(100)]
    assert incomplete(frame(*made), planned(*made)) == []
    more = [*made, row("d", None)]
    (line,) = incomplete(frame(*more), planned(*more))
    assert line.endswith("has 95 of 101 planned attempts scored")


def test_a_model_that_was_never_reached_is_incomplete(base_run: Path, tmp_path: Path) -> None:
    scored = load_run(renamed(base_run, tmp_path / "down", {"keyword_router": "down"}, None, failed))
    assert any("acme/down" in line and "has 0 of 27" in line for line in cautions(scored))


def test_a_run_of_nine_cases_says_so(base: ScoredRun) -> None:
    assert "small sample: delivery/en/auto has only 9 cases (below 20)" in cautions(base)
