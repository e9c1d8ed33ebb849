"""``toolbench init``: a folder of one's own with everything that comes with toolbench, ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from toolbench.domain.files import create_all
from toolbench.domain.shipped import shipped
from toolbench.errors import InputError

CONFIGS = {"../config.example.json": "../config.json", "../runs/demo.config.json": "../config.json"}
"""Configurations that notebooks name in a checkout, and the one they find in a workspace."""


EXAMPLES = ("config.example.json", "providers.example.json", "simulator.example.json")


def make_workspace(folder: Path) -> list[Path]:
    """Make a workspace: suites, notebooks, configuration, gates, README and .gitignore.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        When any of the files is there already (nothing is written then), or the folder cannot be written.
    """
    contents = {folder / name: text for name, text in _contents().items()}
    there = [str(path.relative_to(folder)) for path in contents if path.exists() or path.is_symlink()]
    if there:
        more = f" and {len(there) - 3} more" if len(there) > 3 else ""
        raise InputError(f"{folder}: nothing was written, there already: {', '.join(there[:3])}{more}")
    create_all(contents, InputError)
    return list(contents)


def _contents() -> Mapping[str, str]:
    """Return the text of every file by its place in the workspace."""
    root = shipped()
    starter = resources.files("toolbench.authoring").joinpath("starter")
    suites = (*root.glob("contracts/*/*.*"), *root.glob("cases/*.jsonl"))
    return {
        "README.md": starter.joinpath("README.md").read_text("utf-8"),
        ".gitignore": starter.joinpath("gitignore").read_text("utf-8"),
        "config.json": starter.joinpath("config.json").read_text("utf-8"),
        "gates.json": resources.files("toolbench.numbers").joinpath("default_gates.json").read_text("utf-8"),
        **{name: (root / name).read_text("utf-8") for name in EXAMPLES},
        **{str(path.relative_to(root)): path.read_text("utf-8") for path in sorted(suites)},
        **{f"notebooks/{path.name}": _notebook(path) for path in sorted(root.glob("notebooks/*.ipynb"))},
    }


def _notebook(path: Path) -> str:
    text = path.read_text("utf-8")
    for name, there in CONFIGS.items():
        text = text.replace(name, there)
    return text
