"""From functions of one's own to the first heatmap; drafts are neither played nor counted before."""

import json
from pathlib import Path

import pytest

from toolbench.errors import SuiteError
from toolbench.workbench.own import OwnSuite, suite_from

TOOL = {
    "name": "get_order",
    "description": "Get the state of an order such as ORD-123456.",
    "parameters": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    },
}


def convert(amount: float, currency: str) -> float:
    """Convert an amount of euros.

    Args:
        amount: Amount in euros, such as 12.5.
        currency: Code of the currency, such as USD.
    """
    raise AssertionError("no function is ever called")


def find_book(title: str) -> str:
    """Find a book by its title.

    Args:
        title: Title, or a part of it.
    """
    raise AssertionError("no function is ever called")


@pytest.fixture
def own(tmp_path: Path) -> OwnSuite:
    return suite_from([convert, find_book], "mine", into=tmp_path)


def test_functions_become_a_suite_with_drafts_and_a_configuration(own: OwnSuite, tmp_path: Path) -> None:
    assert set(own.drafts["id"]) >= {"convert.complete", "find_book.complete"}
    assert json.loads((tmp_path / "config.json").read_text())["suites"] == ["mine"]
    assert any("convert: effect" in remark for remark in own.remarks)


def test_a_list_of_tools_will_do_and_a_configuration_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"runs": [], "suites": ["mine"]}')
    own = suite_from([TOOL], "mine", "ru", tmp_path)
    assert len(own.drafts) > 1
    assert (tmp_path / "config.json").read_text() == '{"runs": [], "suites": ["mine"]}'
    with pytest.raises(SuiteError, match="is there already"):
        suite_from([TOOL], "mine", into=tmp_path)


async def test_only_what_was_confirmed_is_played_and_shown_as_a_heatmap(own: OwnSuite) -> None:
    bench = own.confirm("convert.complete", "find_book.complete").bench(players=["keyword_router"])
    await bench.play()
    assert bench.attempts is not None
    assert sorted(bench.attempts["case_id"]) == ["convert.complete", "find_book.complete"]
    assert "<table" in str(bench.show().html)


def test_the_panel_lists_drafts_and_confirms_or_edits_them(own: OwnSuite, tmp_path: Path) -> None:
    from toolbench.workbench.board import Panel

    panel = Panel(own.bench(players=["always_silent"]))
    drafts = panel.drafts
    waiting = {draft.case["id"]: draft for _, draft in drafts.list.options}
    drafts.list.value = (waiting["convert.complete"],)
    drafts.text.value = drafts.text.value.replace("Please", "Kindly")
    drafts.save.click()
    assert "lint has nothing to say" in drafts.said.root.value
    edited = {draft.case["id"]: draft for _, draft in drafts.list.options}["convert.complete"]
    assert edited.case["user"].startswith("Kindly")
    drafts.list.value = (edited,)
    drafts.confirm.click()
    assert "convert.complete" not in set(own.drafts["id"])
    assert [case.id for case in panel.bench.suite.cases if not case.draft] == ["convert.complete"]
    drafts.list.value = (next(draft for _, draft in drafts.list.options),)
    drafts.text.value = '{"id": 1}'
    before = (tmp_path / "cases" / "mine.en.jsonl").read_bytes()
    drafts.save.click()
    assert "Not changed: the draft" in drafts.said.root.value
    assert (tmp_path / "cases" / "mine.en.jsonl").read_bytes() == before


def test_an_edit_never_lands_on_another_line(own: OwnSuite, tmp_path: Path) -> None:
    from toolbench.authoring import confirming

    first, second, *_ = confirming.drafts(tmp_path, "mine")
    file = tmp_path / "cases" / "mine.en.jsonl"
    file.write_text("\n".join(file.read_text().split("\n")[1:]))
    with pytest.raises(SuiteError, match="has changed meanwhile"):
        confirming.rewrite(first, json.dumps(second.case))
