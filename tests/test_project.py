"""What the project says of itself: declared versions, the lock file, the public names."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import toolbench
from tests.support import ROOT
from toolbench.cli import main

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = [
    Requirement(line)
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for line in lines
]
LOCKED = [Requirement(line) for line in (ROOT / "requirements.lock").read_text().splitlines()]


def test_every_dependency_has_a_lower_bound() -> None:
    assert len(DECLARED) > 40
    assert [
        str(need) for need in DECLARED if not {one.operator for one in need.specifier} & {">=", "=="}
    ] == []


def test_the_lock_file_holds_a_version_of_every_dependency_that_fits() -> None:
    for need in DECLARED:
        locked = [one for one in LOCKED if canonicalize_name(one.name) == canonicalize_name(need.name)]
        assert locked, f"{need}: run make lock"
        for one in locked:
            (pin,) = one.specifier
            assert pin.operator == "=="
            assert need.specifier.contains(pin.version), f"{need}: run make lock"


def test_the_lock_file_names_no_index_and_serves_linux_and_macos() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--" not in text
    for platform in ("linux", "darwin"):
        chosen = {
            one.name
            for one in LOCKED
            if one.marker is None or one.marker.evaluate({"sys_platform": platform})
        }
        assert {"aiohttp", "ipykernel", "pexpect", "xllamacpp"} <= chosen
        assert ("appnope" in chosen) == (platform == "darwin")


README = (ROOT / "README.md").read_text()


def first_cells(heading: str) -> list[str]:
    """Return the first cells of the README's table with this heading."""
    table = README.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return [line.split("|")[1].strip() for line in table.splitlines()[2:]]


def test_the_public_names_are_those_of_the_readme_and_all_of_them_load() -> None:
    named = re.findall(r"`toolbench\.(\w+)`", " ".join(first_cells("name")))
    assert sorted(named) == sorted(toolbench.__all__) == sorted(dir(toolbench))
    for name in named:
        assert getattr(toolbench, name).__doc__
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = toolbench.nothing_of_this_name  # type: ignore[attr-defined]


def test_the_readme_has_every_command() -> None:
    named = re.findall(r"`(\w+)`", " ".join(first_cells("command")))
    assert sorted(named) == sorted(main.commands)


def _commands(text: str) -> list[list[str]]:
    """Return the blocks of code with their comments left out."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [
        [line.split("  #")[0].rstrip() for line in block.splitlines()]
        for language, block in blocks
        if language != "mermaid"
    ]


def test_the_russian_readme_has_the_same_commands() -> None:
    russian = (ROOT / "README.ru.md").read_text("utf-8")
    assert _commands(russian) == _commands(README)
    assert len(_commands(README)) > 4


def test_the_map_of_rooms_is_the_folders_there_are() -> None:
    rooms = [cell.strip("`") for cell in first_cells("room")]
    there = [path.parent.relative_to(ROOT) for path in ROOT.glob("toolbench/*/__init__.py")]
    assert sorted(map(Path, rooms)) == sorted(there)


def _imported(room: str) -> set[str]:
    """Return the rooms that a room imports, whenever it does."""
    files = (ROOT / "toolbench" / room).rglob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    rooms = {module.split(".")[1] for module in modules if module.startswith("toolbench.")}
    return {one for one in rooms if (ROOT / "toolbench" / one).is_dir()} - {room}


def test_the_picture_of_the_rooms_shows_the_imports_there_are() -> None:
    rooms = [path.parent.name for path in ROOT.glob("toolbench/*/__init__.py")]
    imports = {room: _imported(room) for room in rooms}
    straight = {
        (room, used)
        for room in rooms
        for used in imports[room]
        if not any(used in imports[between] for between in imports[room])
    }
    (picture,) = re.findall(r"^```mermaid\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    arrows = [line.split(" --> ") for line in picture.splitlines() if "-->" in line]
    assert {(room.strip(), used) for room, many in arrows for used in many.split(" & ")} == straight


def test_the_files_to_open_are_there() -> None:
    names = re.findall(r"`((?:adapters|domain|judging|numbers|showing|authoring|cli)/[\w.]+)`", README)
    assert len(names) > 8
    assert [name for name in names if not (ROOT / "toolbench" / name).exists()] == []
