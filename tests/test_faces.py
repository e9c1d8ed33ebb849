"""What a room lets others use is on its face, and nothing else is used; judging needs no network."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT
from toolbench.domain.config import Config
from toolbench.domain.suite import find_suite
from toolbench.running.runner import run_matrix_sync

PACKAGE = ROOT / "toolbench"
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
LISTED = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))
"""Rooms with a face for other rooms; the rest is for people, who may take what nobody else does."""

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("httpx", "aiohttp"):
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, Blocked())
"""


def used(room: str) -> Iterator[tuple[Path, str, str]]:
    """Yield file, module and name of everything that other rooms import from a room."""
    for file in PACKAGE.rglob("*.py*"):
        if file.suffix not in (".py", ".pyi") or file.is_relative_to(PACKAGE / room):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            module = f"toolbench.{node.module}" if node.level == 1 and file.parent == PACKAGE else node.module
            if module == f"toolbench.{room}" or module.startswith(f"toolbench.{room}."):
                yield from ((file, module.rpartition(".")[2], alias.name) for alias in node.names)


@pytest.mark.parametrize("room", ROOMS)
def test_a_face_has_a_sentence_and_names_only_what_is_there(room: str) -> None:
    face = importlib.import_module(f"toolbench.{room}")
    assert (face.__doc__ or "").strip()
    assert [name for name in face.__all__ if not hasattr(face, name)] == []


@pytest.mark.parametrize("room", ROOMS)
def test_other_rooms_use_only_what_is_on_the_face(room: str) -> None:
    face = set(importlib.import_module(f"toolbench.{room}").__all__)
    # A module that is on the face brings its names with it.
    assert [str(use) for use in used(room) if not face & set(use[1:])] == []


@pytest.mark.parametrize("room", LISTED)
def test_nothing_is_on_a_face_that_no_other_room_uses(room: str) -> None:
    face = set(importlib.import_module(f"toolbench.{room}").__all__)
    assert face - {word for use in used(room) for word in use[1:]} == set()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a saved run of two baselines on one case."""
    run = tmp_path_factory.mktemp("runs") / "saved"
    suite = find_suite(ROOT, "delivery")
    kept = suite.keep([case for case in suite.cases if case.lang == "en"][:4])
    entry = {"runs": [], "baselines": ["keyword_router", "always_silent"], "repetitions": 1}
    run_matrix_sync(Config.from_json(entry, "config"), [kept], run)
    return run


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(("score", "{run}", "--json"), 0, id="score"),
        pytest.param(("gate", "{run}", "--default"), 3, id="gate"),
        pytest.param(
            (
                "compare",
                "{run}",
                "{run}",
                "--left",
                "model=keyword_router",
                "--right",
                "model=always_silent",
            ),
            0,
            id="compare",
        ),
        pytest.param(("report", "{run}"), 0, id="report"),
    ],
)
def test_what_a_run_came_to_needs_no_network(command: tuple[str, ...], code: int, saved: Path) -> None:
    arguments = [part.format(run=saved) for part in command]
    script = f"{BLOCKED}\nfrom toolbench.cli import main\nsys.argv = ['toolbench', *{arguments!r}]\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=200
    )
    assert done.returncode == code, done.stderr
    assert "blocked" not in done.stderr


def test_frames_of_a_run_need_no_network_and_no_plots(saved: Path) -> None:
    script = (
        f"{BLOCKED}\nimport json, toolbench\nframe = toolbench.load({str(saved)!r})\n"
        "table = toolbench.metrics(frame)\n"
        "print(json.dumps([len(frame), len(table) > 0, 'matplotlib' in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [8, True, False]


@pytest.mark.parametrize("room", sorted(set(ROOMS) - set(LISTED)))
def test_no_module_takes_the_place_of_a_function_of_its_name(room: str) -> None:
    # Importing a submodule sets its name on the package: a function of that name is gone from then on.
    face = importlib.import_module(f"toolbench.{room}")
    modules = {path.stem for path in (PACKAGE / room).glob("*.py")}
    assert [
        name for name in face.__all__ if name in modules and not inspect.ismodule(getattr(face, name))
    ] == []
