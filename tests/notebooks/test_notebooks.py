"""The notebooks, executed by papermill with parameters that are not their defaults."""

import json
from pathlib import Path

import nbformat
import pytest

from tests.support import ROOT
from toolbench.showing.report import execute, notebook_path
from toolbench.showing.view import RunView

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.json"
    (tmp_path / "contracts").symlink_to(ROOT / "contracts")
    (tmp_path / "cases").symlink_to(ROOT / "cases")
    file.write_text(
        json.dumps({"runs": [], "suites": ["delivery"], "repetitions": 1, "cases": {"tags": ["base"]}})
    )
    return file


def test_01_runs_a_matrix_and_shows_one_progress_line(tmp_path: Path, config: Path) -> None:
    parameters = {
        "config": str(config),
        "output": str(tmp_path / "run"),
        "conditions": ["reversed"],
        "repetitions": 2,
    }
    assert execute(notebook_path("01_run_matrix"), tmp_path / "out.ipynb", parameters) is None
    view = RunView(tmp_path / "run")
    assert view.incomplete is None
    assert len(view.attempts) == 4 * 9 * 2 * 2
    document = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    outputs = [output for cell in document.cells if cell.cell_type == "code" for output in cell.outputs]
    assert len(outputs) <= 5
    assert any("144 of 144 attempts" in str(output.get("data", {})) for output in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_hold_no_logic(path: Path) -> None:
    document = nbformat.read(path, as_version=4)
    code = [cell for cell in document.cells if cell.cell_type == "code"]
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in code) == 1
    # A student's own cells are the one place for code of some length: writing it is what the cell is for.
    for cell in code:
        if "exercise" in cell.metadata.get("tags", []):
            continue
        lines = cell.source.splitlines()
        assert len(lines) <= 15, cell.source
        assert not any(line.startswith(("class ", "for ", "while ")) for line in lines)
    assert any(cell.cell_type == "markdown" for cell in document.cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_parameter_cells_are_read_by_papermill(path: Path) -> None:
    import papermill

    cells = nbformat.read(path, as_version=4).cells
    (cell,) = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    names = {line.split(":")[0].split("=")[0].strip() for line in cell.source.splitlines() if line.strip()}
    assert set(papermill.inspect_notebook(str(path))) == names


def test_two_notebooks_executed_at_once_do_not_meet(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.chdir(tmp_path)

    def run(name: str) -> str | None:
        parameters = {"config": str(config), "output": str(tmp_path / name), "conditions": ["auto"]}
        return execute(notebook_path("01_run_matrix"), tmp_path / f"{name}.ipynb", parameters)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, ["a", "b"])) == [None, None]
    assert all(RunView(tmp_path / name).header.run_id == name for name in ("a", "b"))
    assert not list(tmp_path.glob("kernel-ipc*"))
