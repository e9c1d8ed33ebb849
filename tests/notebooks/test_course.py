"""The chapter in both languages: one structure, thin cells, and both ways through it executed."""

import ast
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest

from toolbench.course.words import LANGS, data
from toolbench.showing.report import execute, notebook_path, render

NAMES = {lang: f"10_course_tool_calling_{lang}" for lang in LANGS}
LONGEST = 12
EXERCISES = ("tool", "description", "loop")


def cells(lang: str) -> list[Any]:
    return list(nbformat.read(notebook_path(NAMES[lang]), as_version=4).cells)


def tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def test_both_languages_have_the_same_cells_and_the_same_code() -> None:
    russian, english = cells("ru"), cells("en")
    assert len(russian) == len(english)
    for ours, theirs in zip(russian, english, strict=True):
        assert (ours.cell_type, tags(ours), ours.id) == (theirs.cell_type, tags(theirs), theirs.id)
        if ours.cell_type == "markdown":
            heads = [
                [line for line in cell.source.splitlines() if line[:1] == "#"] for cell in (ours, theirs)
            ]
            assert len(heads[0]) == len(heads[1])
            assert ours.source != theirs.source
        elif "parameters" in tags(ours):
            # Comments may differ, and the language has to.
            different = ours.source.replace('"ru"', '"en"', 1)
            assert ast.dump(ast.parse(different)) == ast.dump(ast.parse(theirs.source))
        else:
            assert ours.source == theirs.source


@pytest.mark.parametrize("lang", LANGS)
def test_cells_are_short(lang: str) -> None:
    for cell in cells(lang):
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= LONGEST, cell.source


@pytest.mark.parametrize("lang", LANGS)
def test_the_defaults_need_no_network_and_no_key(lang: str) -> None:
    defaults = {
        name: entry["default"]
        for name, entry in papermill.inspect_notebook(str(notebook_path(NAMES[lang]))).items()
    }
    assert defaults["lang"] == f'"{lang}"'
    assert defaults["model"] == "{}"
    assert defaults["solved"] == "False"
    assert not any("key" in name for name in defaults)


@pytest.mark.parametrize("solved", [False, True], ids=["untouched", "solved"])
@pytest.mark.parametrize("lang", LANGS)
def test_the_chapter_runs_from_start_to_end(lang: str, solved: bool, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"embedded": False, "solved": solved, "output": str(tmp_path / "course")}
    if solved:
        parameters["model"] = {
            "provider": "simulator",
            "model": "sim-course",
            "protocol": "messages",
            "base_url": "simulator:",
        }
    target = tmp_path / "out.ipynb"
    assert execute(notebook_path(NAMES[lang]), target, parameters) is None
    outputs = [
        str(output.get("data", {}).get("text/plain", output.get("text", "")))
        for cell in nbformat.read(target, as_version=4).cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    shown = "\n".join(outputs)
    for exercise in EXERCISES:
        title = data("exercises")["titles"][exercise][lang]
        key = "passed" if solved else "not_done"
        assert data("texts")[key][lang].format(title=title) in shown
    assert shown.count("HTTP 400") == shown.count("HTTP 200") == 8
    assert data("texts")["quiz_score"][lang].format(right=8 if solved else 0, total=8) in shown
    (note,) = (tmp_path / "course").glob("tool_calling_note-*.md")
    assert "sim-course" in note.read_text("utf-8")
    assert (tmp_path / "course" / f"run-{lang}-001" / "attempts.jsonl").exists()
    page = render(target, "course")
    assert "<script" not in page
    assert len(page) < 1_000_000
