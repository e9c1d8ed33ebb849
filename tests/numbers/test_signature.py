"""The signature line: everything that changes a number, and nothing else."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from toolbench.domain.record import RunHeader
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.signature import KEYS, Signature, differences, signature

HERE = {"suite": "delivery", "lang": "en", "condition": "auto"}


@pytest.fixture
def header(priced: ScoredRun) -> RunHeader:
    return priced.log.header


def test_the_line_is_ordered_and_can_be_read_back(header: RunHeader) -> None:
    line = str(signature(header, HERE))
    assert list(Signature.parse(line).values) == list(KEYS)
    assert str(Signature.parse(line)) == line
    assert "|condition:auto|arm:usual|" in line
    assert "|repetitions:3|" in line
    assert "\n" not in line


def test_a_table_over_several_arms_names_them_all(header: RunHeader) -> None:
    values = signature(header).values
    assert values["condition"] == "auto+reversed+no_tools"
    assert values["arm"] == "usual+tool_order=reversed+tools=off"
    assert values["lang"] == "en+ru"


def test_the_same_run_has_the_same_signature(header: RunHeader, base: ScoredRun) -> None:
    again = RunHeader.from_json(header.to_json())
    assert signature(again) == signature(header)
    # Names, times and places are no part of it.
    moved = replace(header, run_id="other", started_at="2030-01-01", git_commit="x", labels={"a": "b"})
    assert signature(moved) == signature(header)
    assert not differences(signature(base.log.header, HERE), signature(header, HERE))


def change(header: RunHeader, path: list[Any], value: Any) -> RunHeader:
    data = copy.deepcopy(header.to_json())
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return RunHeader.from_json(data)


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        pytest.param(["suites", 0, "prompts", "en"], "Other words.", "prompt", id="prompt"),
        pytest.param(["suites", 0, "contract", "version"], "next", "contract", id="contract"),
        pytest.param(["suites", 0, "executor", "version"], "next", "script", id="executor script"),
        pytest.param(["suites", 0, "rules", "version"], "next", "script", id="rules"),
        pytest.param(["suites", 0, "cases", 0, "user"], "Other words.", "cases", id="a case"),
        pytest.param(["conditions", 0, "error_hints"], False, "arm", id="condition"),
        pytest.param(["config", "repetitions"], 5, "repetitions", id="repetitions"),
        pytest.param(["config", "seed"], 5, "seed", id="seed"),
        pytest.param(["config", "loop_limit"], 2, "loop_limit", id="loop limit"),
        pytest.param(["versions", "toolbench"], "99", "version", id="package version"),
        pytest.param(["config", "runs", 0, "settings", "temperature"], 1.0, "settings", id="settings"),
        pytest.param(["config", "runs", 0, "extra_body"], {"top_p": 0.1}, "settings", id="extra body"),
    ],
)
def test_whatever_changes_a_number_changes_exactly_its_key(
    header: RunHeader, path: list[Any], value: Any, key: str
) -> None:
    changed = change(header, path, value)
    found = differences(signature(header, HERE), signature(changed, HERE))
    assert [line.split(":")[0] for line in found] == [key]
    assert " against " in found[0]
    assert not differences(signature(header, HERE), signature(changed, HERE), except_for=[key])


def test_prices_change_no_signature(header: RunHeader) -> None:
    changed = change(header, ["players", 4, "price"], None)
    assert signature(header) == signature(changed)


def test_a_baseline_has_no_settings_and_agrees_with_any(header: RunHeader) -> None:
    router = signature(header, {**HERE, "model": "keyword_router"})
    strong = signature(header, {**HERE, "model": "strong"})
    assert router.values["settings"] == "none"
    assert strong.values["settings"] != "none"
    assert not differences(router, strong)


def test_a_separator_inside_a_name_cannot_break_the_line(header: RunHeader) -> None:
    changed = change(header, ["suites", 0, "contract", "version"], "a|b:c")
    line = str(signature(changed, HERE))
    assert Signature.parse(line).values["contract"].startswith("a/b:c@")
