"""A workspace: everything that comes with toolbench in a folder of one's own."""

import json
import re
from pathlib import Path

import pytest

from tests.support import ROOT
from toolbench.authoring.lint import lint
from toolbench.authoring.workspace import make_workspace
from toolbench.domain.config import Config
from toolbench.domain.suite import find_suite
from toolbench.errors import InputError
from toolbench.running.header import make_header


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    make_workspace(tmp_path / "w")
    return tmp_path / "w"


def test_its_configuration_can_be_run_with_its_own_suites_and_gates(workspace: Path) -> None:
    config = Config.load(workspace / "config.json")
    assert config.root == workspace
    header = make_header(config, [find_suite(config.root, name) for name in config.suites], "r")
    assert header.gates is not None
    assert {player["provider"] for player in header.players} == {"embedded", "baseline"}
    assert len(list(header.plan())) >= 100


def test_its_suites_are_whole(workspace: Path) -> None:
    assert lint([workspace / "contracts", workspace / "cases"]) == []
    for folder in ("contracts", "cases"):
        shipped = sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.*"))
        assert [path for path in shipped if not (workspace / path).exists()] == []


def test_every_notebook_finds_its_configuration(workspace: Path) -> None:
    notebooks = sorted((workspace / "notebooks").glob("*.ipynb"))
    assert [path.name for path in notebooks] == sorted(path.name for path in ROOT.glob("notebooks/*.ipynb"))
    named = [
        (path, config)
        for path in notebooks
        for config in re.findall(r'"config: str = \\"(.+?)\\"', path.read_text())
    ]
    assert len(named) >= 8
    for path, config in named:
        assert (path.parent / config).resolve() == workspace / "config.json"


def test_the_readme_names_only_what_is_there(workspace: Path) -> None:
    text = (workspace / "README.md").read_text()
    for name in re.findall(r"`((?:contracts|cases|notebooks|config)[^` ]*)`", text):
        assert (workspace / name).exists(), name
    assert json.loads((workspace / "gates.json").read_text())["gates"]


def test_nothing_that_is_there_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    mine = [tmp_path / name for name in ("config.json", "cases/delivery.en.jsonl", "kept.txt")]
    for path in mine:
        path.write_text("mine")
    with pytest.raises(InputError, match=r"there already: config\.json, cases/delivery\.en\.jsonl$"):
        make_workspace(tmp_path)
    assert [path.read_text() for path in mine] == ["mine"] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases", "config.json", "kept.txt"]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        make_workspace(tmp_path / "file" / "w")
