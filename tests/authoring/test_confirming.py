"""Drafts wait until somebody confirms them; nothing else in their files changes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.authoring.importing.support import ORDER, write
from toolbench.cli import main
from toolbench.domain.suite import find_suite


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tool = {
        "name": "get_order",
        "description": "Get the state of an order such as ORD-123456.",
        "parameters": ORDER,
    }
    write(tmp_path / "tools.json", [tool])
    assert invoke("new", "shop", "--from", "openai-tools:tools.json").exit_code == 0
    return tmp_path


def test_drafts_are_listed_with_what_they_expect(here: Path) -> None:
    result = invoke("confirm", "shop")
    assert result.exit_code == 1
    assert "get_order.complete: 'Please get order: order id is " in result.output
    assert "drafts wait to be confirmed" in result.output


def test_a_confirmed_draft_counts_and_the_other_lines_stay(here: Path) -> None:
    file = here / "cases" / "shop.en.jsonl"
    before = file.read_text().splitlines()
    result = invoke("confirm", "shop", "get_order.complete")
    assert result.exit_code == 0, result.output
    after = file.read_text().splitlines()
    changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert len(changed) == 1
    mended = json.loads(after[changed[0]])
    assert {**mended, "draft": True} == json.loads(before[changed[0]])
    assert [case.id for case in find_suite(here, "shop").cases if not case.draft] == ["get_order.complete"]


def test_all_can_be_confirmed_at_once(here: Path) -> None:
    result = invoke("confirm", "shop", "--all")
    assert (result.exit_code, "; 0 drafts left" in result.output) == (0, True)
    assert invoke("confirm", "shop").exit_code == 0


@pytest.mark.parametrize("names", [("shop", "nobody"), ("shop", "get_order.complete", "nobody"), ("other",)])
def test_what_is_not_there_changes_nothing(names: tuple[str, ...], here: Path) -> None:
    file = here / "cases" / "shop.en.jsonl"
    before = file.read_bytes()
    result = invoke("confirm", *names)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert file.read_bytes() == before
