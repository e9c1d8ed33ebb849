"""One experiment as one page: execute its notebook, render it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolbench.domain.files import write_text_atomic
from toolbench.showing.report import execute, notebook_path, render

NAMES = (
    "03_tool_order",
    "04_consistency",
    "05_descriptions",
    "06_forced_choice",
    "08_wire_format",
    "09_error_recovery",
)


@dataclass(frozen=True)
class ExperimentPage:
    """The two files of an experiment; ``problem`` is one line when the notebook did not reach its end."""

    html: Path
    notebook: Path
    problem: str | None


def write_experiment(name: str, folder: Path, parameters: Mapping[str, Any] | None = None) -> ExperimentPage:
    """Execute an experiment's notebook and write it as ``<name>.ipynb`` and self-contained ``<name>.html``.

    Parameters
    ----------
    name
        One of :data:`NAMES`, or of any other notebook that ships with toolbench.
    parameters
        Papermill parameters. Paths are relative to the current folder.

    Raises
    ------
    InputError
        For an unknown notebook, or parameters that it does not have.
    """
    source = notebook_path(name)
    folder.mkdir(parents=True, exist_ok=True)
    notebook, page = folder / f"{name}.ipynb", folder / f"{name}.html"
    problem = execute(source, notebook, parameters or {}, folder=Path.cwd())
    if problem is not None:
        problem = _refused(notebook) or problem
    elif not _reached_the_end(notebook):
        problem = "INCOMPLETE: the notebook ended before its last cell"
    write_text_atomic(page, render(notebook, f"toolbench: {name}", problem))
    return ExperimentPage(page, notebook, problem)


def _code(notebook: Path) -> list[Any]:
    import nbformat

    document = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    cells: list[Any] = document.cells
    return [cell for cell in cells if cell.cell_type == "code"]


def _refused(notebook: Path) -> str | None:
    """Return the line of the refusal that ended a notebook, if one did."""
    for cell in _code(notebook):
        for output in cell.outputs:
            if output.output_type == "error" and output.ename == "Refusal":
                return f"INCOMPLETE: {output.evalue}"
    return None


def _reached_the_end(notebook: Path) -> bool:
    """Whether the last code cell was executed: ``sys.exit(0)`` stops a notebook without an error."""
    return _code(notebook)[-1].execution_count is not None
