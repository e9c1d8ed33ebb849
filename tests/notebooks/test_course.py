"""The chapter in both languages: one structure, thin cells, and every way through it executed."""

import ast
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest

from toolbench.course import quiz, solutions
from toolbench.course.silent_traps import SILENT
from toolbench.course.traps import TRAPS
from toolbench.course.words import LANGS, Words, data
from toolbench.showing.report import execute, notebook_path, render

NAMES = {lang: f"10_course_tool_calling_{lang}" for lang in LANGS}
LONGEST = 12
TAKEN = 1
"""Traps among those sent to a provider that are taken with 200: swapped ids."""
NOTE = {
    "rules": '["one", "two", "three", "four", "five"]',
    "findings": '{"hints": "h", "descriptions": "d", "own_code": "o"}',
}


def cells(lang: str) -> list[Any]:
    return list(nbformat.read(notebook_path(NAMES[lang]), as_version=4).cells)


def tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def without_texts(source: str) -> str:
    """Return code without comments and with every string blanked: those are in the student's language."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


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
        elif {"parameters", "exercise"} & set(tags(ours)):
            assert without_texts(ours.source) == without_texts(theirs.source)
        else:
            assert ours.source == theirs.source


@pytest.mark.parametrize("lang", LANGS)
def test_cells_that_are_no_exercise_are_short(lang: str) -> None:
    for cell in cells(lang):
        if cell.cell_type == "code" and "exercise" not in tags(cell):
            assert len(cell.source.splitlines()) <= LONGEST, cell.source


@pytest.mark.parametrize("lang", LANGS)
def test_every_exercise_has_a_start_a_check_and_a_solution(lang: str) -> None:
    code = [cell for cell in cells(lang) if cell.cell_type == "code"]
    place = {cell.id: index for index, cell in enumerate(code)}
    for exercise, name in solutions.NAMES.items():
        start = place[f"exercise-{exercise}"]
        assert tags(code[start]) == ["exercise"]
        assert code[start + 1].source == f'chapter.check("{exercise}", {name})'
        assert code[start + 2].source == f'chapter.solution("{exercise}")'


@pytest.mark.parametrize("lang", LANGS)
def test_the_defaults_need_no_network_and_no_key(lang: str) -> None:
    defaults = {
        name: entry["default"]
        for name, entry in papermill.inspect_notebook(str(notebook_path(NAMES[lang]))).items()
    }
    assert defaults["lang"] == f'"{lang}"'
    assert defaults["model"] == defaults["second"] == "{}"
    assert defaults["solved"] == defaults["live_rates"] == "False"
    assert not any("key" in name for name in defaults)


def solved_by_hand(lang: str, target: Path) -> Path:
    """Write the notebook with every student's cell filled in, as a student would."""
    document = nbformat.read(notebook_path(NAMES[lang]), as_version=4)
    filled = {f"exercise-{name}": solutions.source(name, lang) for name in solutions.NAMES}
    filled["answers"] = f"answers = {quiz.solution()!r}"
    filled["exercise-note"] = "\n".join(f"{name} = {value}" for name, value in NOTE.items())
    for cell in document.cells:
        cell.source = filled.get(cell.id, cell.source)
    nbformat.write(document, target)
    return target


def shown_by(path: Path) -> dict[str, str]:
    """Return what each code cell shows."""
    return {
        cell.id: "\n".join(
            str(output.get("data", {}).get("text/plain", output.get("text", ""))) for output in cell.outputs
        )
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
    }


@pytest.mark.parametrize("way", ["untouched", "solved", "by_hand", "no_key", "no_server"])
@pytest.mark.parametrize("lang", LANGS)
def test_the_chapter_runs_from_start_to_end(lang: str, way: str, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"embedded": False, "output": str(tmp_path / "course")}
    parameters["solved"] = way == "solved"
    if way in ("no_key", "no_server"):
        parameters["model"] = {
            "provider": "nobody",
            "model": "m",
            "protocol": "messages",
            "base_url": "http://127.0.0.1:9/v1",
            **({"api_key_env": "TOOLBENCH_TEST_NO_SUCH_KEY"} if way == "no_key" else {}),
        }
    source = solved_by_hand(lang, tmp_path / "own.ipynb") if way == "by_hand" else notebook_path(NAMES[lang])
    target = tmp_path / "out.ipynb"
    assert execute(source, target, parameters) is None
    shown, words = shown_by(target), Words(lang)
    done = way in ("solved", "by_hand")
    for exercise, title in data("exercises")["titles"].items():
        key = "passed" if done else "not_done"
        assert words(key, title=title[lang]) in shown[f"check-{exercise}"]
        asked = words("solution_here" if done else "solution_later", title=title[lang])
        assert asked in shown[f"solution-{exercise}"]
    everything = "\n".join(shown.values())
    assert everything.count("HTTP 400") == len(TRAPS) - TAKEN
    assert everything.count("HTTP 200") == len(TRAPS) + TAKEN
    assert len(TRAPS) + len(SILENT) == 14
    total = len(quiz.questions())
    assert words("quiz_score", right=total if done else 0, total=total) in shown["check-quiz"]
    lent = data("exercises")["titles"]["loop"][lang] in shown["play-tickets"]
    assert lent != done
    (note,) = (tmp_path / "course").glob("tool_calling_note-*.md")
    text = note.read_text("utf-8")
    points = {"untouched": 1, "no_key": 1, "no_server": 2, "solved": 5, "by_hand": 8}
    assert text.count("- [x]") == points[way]
    assert note.with_suffix(".png").exists()
    if way == "no_key":
        assert "TOOLBENCH_TEST_NO_SUCH_KEY" in shown["config"]
        assert words("run_without", model="m", name="TOOLBENCH_TEST_NO_SUCH_KEY") in shown["run"]
    if way in ("no_key", "no_server"):
        assert words("own_no_reply", detail="")[:20] in shown["play-percent"]
    assert (tmp_path / "course" / f"run-{lang}-001" / "attempts.jsonl").exists()
    page = render(target, "course")
    assert "<script" not in page
    assert len(page) < 1_000_000
