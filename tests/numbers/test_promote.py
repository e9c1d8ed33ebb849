"""Failing attempts become cases of a permanent suite."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import ROOT
from toolbench.domain.files import schema_validator
from toolbench.domain.suite import load_suite
from toolbench.errors import InputError
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.promote import promote
from toolbench.numbers.rows import GROUP


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_failed_case_is_taken_once_with_its_attempts(priced: ScoredRun) -> None:
    cases = lines(promote(priced, "delivery", "en"))
    attempts = priced.attempts
    mine = attempts[(attempts["provider"] == "acme") & (attempts["lang"] == "en") & (attempts["passed"] == 0)]
    mine = mine[~mine["control"]]
    assert len(cases) == mine["case_id"].nunique()
    origins = [case["origin"] for case in cases]
    kept = [attempt for origin in origins for attempt in origin["attempts"]]  # type: ignore[index]
    assert len(kept) == len(mine)
    assert all(attempt["codes"] for attempt in kept)
    first = mine.iloc[0]
    key = "/".join([*(first[name] for name in GROUP), first["case_id"], str(first["repetition"])])
    assert key in {attempt["key"] for attempt in kept}
    assert {origin["run_id"] for origin in origins} == {"priced"}  # type: ignore[index]


def test_promoted_cases_are_a_suite_that_loads(priced: ScoredRun, tmp_path: Path) -> None:
    text = promote(priced, "delivery", "ru")
    for case in lines(text):
        schema_validator("case").validate(case)
        assert "regression" in case["tags"]  # type: ignore[operator]
    path = tmp_path / "regression.ru.jsonl"
    path.write_text(text)
    suite = load_suite(ROOT / "contracts/delivery/tools.json", [path])
    original = priced.log.header.load_suites()["delivery"]
    for case in suite.cases:
        source = original.case_by_key["ru", str(case.source["origin"]["case_id"])]
        assert case.expect == source.expect
        assert case.messages == source.messages


def test_promoting_twice_gives_the_same_text(priced: ScoredRun, priced_run: Path) -> None:
    assert promote(priced, "delivery", "en") == promote(load_run(priced_run), "delivery", "en")


def test_ids_that_are_taken_get_a_number(priced: ScoredRun) -> None:
    first = [case["id"] for case in lines(promote(priced, "delivery", "en"))]
    again = [case["id"] for case in lines(promote(priced, "delivery", "en", taken=[str(i) for i in first]))]
    assert len({*first, *again}) == 2 * len(first)
    assert again[0] == f"{first[0]}-2"


def test_a_case_that_another_run_failed_is_not_taken_again(priced: ScoredRun) -> None:
    first = lines(promote(priced, "delivery", "en"))
    kept = [str(case["origin"]["case_hash"]) for case in first]  # type: ignore[index]
    other = replace(priced, log=replace(priced.log, header=replace(priced.log.header, run_id="other")))
    assert promote(other, "delivery", "en", origins=kept) == ""
    assert len(lines(promote(other, "delivery", "en", origins=kept[1:]))) == 1


def test_only_failures_of_one_kind_can_be_chosen(priced: ScoredRun) -> None:
    chosen = lines(promote(priced, "delivery", "en", codes=["unsafe_call"]))
    everything = lines(promote(priced, "delivery", "en"))
    assert 0 < len(chosen) < len(everything)


@pytest.mark.parametrize(
    ("codes", "message"),
    [((), r"delivery/en failed$"), (("unsafe_call",), "delivery/en failed with unsafe_call")],
)
def test_nothing_to_promote_is_an_error(base: ScoredRun, codes: tuple[str, ...], message: str) -> None:
    # Only baselines ran, and those do not count unless asked for.
    with pytest.raises(InputError, match=message):
        promote(base, "delivery", "en", codes=codes)
    assert promote(base, "delivery", "en", baselines=True)
