import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.support import ROOT, delivery
from toolbench.domain.contract import Contract, ToolSpec
from toolbench.domain.suite import Suite, find_suite, known_suites, load_suite
from toolbench.errors import SuiteError

TOOL = {"name": "t", "description": "d", "parameters": {"type": "object"}, "effect": "read"}


def suite_folder(
    tmp_path: Path, cases: list[str], tools: list[dict[str, Any]] | None = None
) -> tuple[Path, Path]:
    folder = tmp_path / "contracts" / "s"
    folder.mkdir(parents=True)
    (folder / "tools.json").write_text(json.dumps({"version": "1", "tools": tools or [TOOL]}))
    (folder / "prompt.en.md").write_text("Be short.")
    file = tmp_path / "s.en.jsonl"
    file.write_text("\n".join(cases) + "\n", encoding="utf-8")
    return folder / "tools.json", file


def line(**data: Any) -> str:
    return json.dumps(
        {"id": "a", "class": "c", "lang": "en", "user": "x", "expect": {"kind": "text"}, **data}
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param([line(), '{"id": '], r"s\.en\.jsonl:2: not valid JSON", id="broken-line"),
        pytest.param(
            [line(tools=["nope"])],
            r":1: tools: unknown tool 'nope' \(the contract has t\)",
            id="unknown-tool",
        ),
        pytest.param(
            [line(expect={"kind": "tool_call", "calls": [{"tool": "x", "arguments": {}}]})],
            r":1: expect\.calls: unknown tool 'x'",
            id="unknown-tool-expected",
        ),
        pytest.param([line(), line()], "case id a .* occurs twice", id="same-id"),
        pytest.param([line(lang="de")], r"prompt\.de\.md is missing", id="no-prompt"),
        pytest.param([line(expect={"kind": "dance"})], r":1: expect\.kind", id="unknown-kind"),
        pytest.param([line(messages=[])], r":1:", id="user-and-messages"),
        pytest.param([line(surprise=1)], r":1: .*surprise", id="unknown-field"),
    ],
)
def test_a_bad_case_is_refused_with_file_line_and_reason(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    tools, cases = suite_folder(tmp_path, lines)
    with pytest.raises(SuiteError, match=message) as error:
        load_suite(tools, [cases])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("gone.jsonl", None, "no such file", id="missing"),
        pytest.param("latin.jsonl", b'{"id": "\xe9"}', "not UTF-8", id="latin-1"),
    ],
)
def test_an_unreadable_file_is_one_line(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    tools, _ = suite_folder(tmp_path, [line()])
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SuiteError, match=message):
        load_suite(tools, [tmp_path / name])


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    tools, cases = suite_folder(tmp_path, [])
    cases.write_text("\ufeff" + line() + "\n", encoding="utf-8")
    assert len(load_suite(tools, [cases]).cases) == 1


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(SuiteError, match="defined twice"):
        Contract.from_json({"version": "1", "tools": [TOOL, TOOL]}, "tools.json")


def test_a_snapshot_of_an_earlier_version_is_read_without_what_nothing_reads_any_more() -> None:
    snapshot = json.loads(json.dumps(delivery().snapshot()))
    snapshot["rules"]["claims"] = {"delivered": {"code": "claim", "patterns": {"en": ["delivered"]}}}
    final = next(case["expect"]["final"] for case in snapshot["cases"] if "final" in case["expect"])
    final["no_claims"] = ["delivered"]
    again = Suite.from_snapshot(snapshot, "run r")
    assert again.rules.requires == delivery().rules.requires
    assert len(again.cases) == len(delivery().cases)


def test_a_snapshot_brings_back_the_same_suite() -> None:
    suite = delivery("ru")
    again = Suite.from_snapshot(json.loads(json.dumps(suite.snapshot())), "run r")
    assert again.hashes == suite.hashes
    assert again.cases == suite.cases


def test_a_changed_case_changes_the_hash_of_the_cases_only() -> None:
    suite = delivery("en")
    changed = suite.keep(suite.cases[1:])
    different = {name for name in suite.hashes if suite.hashes[name] != changed.hashes[name]}
    assert different == {"cases"}


def test_policy_data_is_not_part_of_what_a_model_may_see() -> None:
    tool = delivery().contract.by_name["cancel_order"]
    assert tool.effect == "write"
    assert "effect" not in tool.parameters
    assert "keywords" not in tool.parameters


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("canonical", ["get_order", "quote_delivery", "cancel_order"]),
        ("reversed", ["cancel_order", "quote_delivery", "get_order"]),
        ("rotate:1", ["quote_delivery", "cancel_order", "get_order"]),
        ("rotate:3", ["get_order", "quote_delivery", "cancel_order"]),
    ],
)
def test_tool_orders(order: str, names: list[str]) -> None:
    assert [tool.name for tool in delivery().contract.offered(None, order)] == names


def test_delivery_tools_have_the_specified_schemas() -> None:
    tools: dict[str, ToolSpec] = dict(delivery().contract.by_name)
    order, quote, cancel = tools["get_order"], tools["quote_delivery"], tools["cancel_order"]
    assert order.issues({"order_id": "ORD-123456"}) == []
    assert [issue.code for issue in order.issues({"order_id": "123"})] == ["pattern_mismatch"]
    good = {"origin": "Казань", "destination": "Самара", "weight_kg": 2.5, "service": "express"}
    assert quote.issues(good) == []
    assert quote.issues({**good, "weight_kg": 1000}) == []
    for weight in (0, -1, 1000.5):
        assert [issue.code for issue in quote.issues({**good, "weight_kg": weight})] == ["out_of_range"]
    assert set(cancel.properties["reason"]["enum"]) == {
        "duplicate",
        "changed_mind",
        "incorrect_address",
        "other",
    }
    assert cancel.effect == "write"
    for tool in tools.values():
        assert set(tool.required) == set(tool.properties)
        assert tool.parameters["additionalProperties"] is False


def test_every_shipped_suite_loads() -> None:
    names = sorted(path.parent.name for path in ROOT.glob("contracts/*/tools.json"))
    assert "delivery" in names
    for name in names:
        if list((ROOT / "cases").glob(f"{name}.*.jsonl")):
            assert find_suite(ROOT, name).cases


def test_an_unknown_suite_names_those_that_exist() -> None:
    with pytest.raises(SuiteError, match=r"there are: .*delivery"):
        find_suite(ROOT, "nope")


def _small(folder: Path, name: str, case: str) -> Path:
    """Write a suite of the delivery contract with one case into a folder."""
    (folder / "cases").mkdir(parents=True, exist_ok=True)
    copytree(ROOT / "contracts/delivery", folder / "contracts" / name)
    line = {"id": case, "class": "c", "lang": "en", "user": "hello", "expect": {"kind": "text"}}
    (folder / "cases" / f"{name}.en.jsonl").write_text(json.dumps(line))
    return folder


def test_a_suite_is_looked_for_beside_the_configuration_then_here_then_among_the_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, here = _small(tmp_path / "root", "mine", "of-root"), _small(tmp_path / "here", "mine", "of-here")
    _small(here, "yours", "of-here-only")
    monkeypatch.chdir(here)
    assert [case.id for case in find_suite(root, "mine").cases] == ["of-root"]
    assert [case.id for case in find_suite(root, "yours").cases] == ["of-here-only"]
    assert len(find_suite(root, "delivery").cases) > 100
    assert known_suites(root)[:3] == ["mine", "yours", "course"]


def test_a_suite_is_never_mixed_from_two_places(tmp_path: Path) -> None:
    copytree(ROOT / "contracts/delivery", tmp_path / "contracts/delivery")
    with pytest.raises(SuiteError, match=r"cases: no case file named delivery"):
        find_suite(tmp_path, "delivery")


@pytest.mark.parametrize("name", ["/etc", "/a/contracts/delivery", "../x", "a*", "", "C:\\x"])
def test_a_path_is_no_name_of_a_suite(tmp_path: Path, name: str) -> None:
    from toolbench.domain.suite import find_suite

    with pytest.raises(SuiteError, match="is no name of a suite"):
        find_suite(tmp_path, name)
