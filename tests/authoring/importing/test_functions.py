"""Functions of a Python module as tools: imported, described, never called."""

import sys
from pathlib import Path

import pytest

from tests.authoring.importing.support import files, import_, tools_of, write
from toolbench.authoring.lint import lint

TOOLS = '''
"""A module of somebody's own."""
import os
from pathlib import Path
from json import dumps

def search_trips(city: str, nights: int = 1) -> list:
    """Find trips to a city.

    Parameters
    ----------
    city
        Where to.
    nights
        How many nights.
    """
    raise SystemExit("called")

def book(trip_id: str) -> None:
    """Book a trip.

    Args:
        trip_id: Its number.
    """
    raise SystemExit("called")

def undocumented(a: str) -> None: ...

def _private(a: str) -> None:
    """Hidden."""

class Thing: ...
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.startswith("own_"):
            del sys.modules[name]


def test_a_modules_own_documented_functions_become_tools(here: Path) -> None:
    write(here / "own_tools.py", TOOLS)
    before = list(sys.path)
    result = import_("python", "own_tools")
    assert result.exit_code == 0, result.output
    made = tools_of(here, "own_tools")
    assert {name: tool["effect"] for name, tool in made.items()} == {"search_trips": "read", "book": "write"}
    assert made["search_trips"]["parameters"]["required"] == ["city"]
    assert made["book"]["guessed"] == {
        "effect": "the name says 'book'",
        "actions": "how 'book' of the name is said",
        "ask_words": "from the arguments' names and descriptions",
    }
    assert "undocumented: left out" in result.stderr
    assert "no docstring" in result.stderr
    assert lint([here / "contracts"]) == []
    assert sys.path == before


def test_functions_are_chosen_by_name_and_all_decides(here: Path) -> None:
    write(here / "pkg/own_inner.py", TOOLS)
    write(here / "pkg/__init__.py", "")
    assert import_("python", "pkg.own_inner:book", "--name", "one").exit_code == 0
    assert list(tools_of(here, "one")) == ["book"]
    write(here / "own_listed.py", TOOLS + "\n__all__ = ['search_trips']\n")
    assert import_("python", "own_listed").exit_code == 0
    assert list(tools_of(here, "own_listed")) == ["search_trips"]


@pytest.mark.parametrize(
    ("text", "source", "said"),
    [
        pytest.param("raise ValueError('no\\nway')", "own_bad", "while it was imported: no way", id="raises"),
        pytest.param("import sys; sys.exit(3)", "own_bad", "SystemExit while it was imported: 3", id="exits"),
        pytest.param("def f(:", "own_bad", "SyntaxError while it was imported", id="syntax"),
        pytest.param("x = 1", "own_bad", "there is no function in it", id="empty"),
        pytest.param("x = 1", "own_bad:f", "has no 'f'", id="no_such_function"),
        pytest.param("x = 1", "own_bad:x", "could become a tool", id="no_function"),
        pytest.param("x = 1", "own_absent", "ModuleNotFoundError", id="no_such_module"),
        pytest.param("x = 1", "./own_bad.py", "is no name of a module", id="a_file"),
        pytest.param("def f(a):\n    'Do.'", "own_bad", "no type annotation", id="no_annotation"),
    ],
)  # fmt: skip
def test_bad_modules_are_one_line_and_leave_nothing(here: Path, text: str, source: str, said: str) -> None:
    write(here / "own_bad.py", text)
    result = import_("python", source)
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert said in result.output
    assert [name for name in files(here) if not name.startswith("__pycache__")] == ["own_bad.py"]
