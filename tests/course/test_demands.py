"""What the chapter has to do, demand by demand, and where each is met in both languages."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest

from toolbench.course.chapter import CHECKS
from toolbench.course.lesson_run import CLASSES
from toolbench.course.note import Work
from toolbench.course.silent_traps import SILENT
from toolbench.course.traps import TRAPS
from toolbench.course.words import LANGS, data
from toolbench.showing.report import notebook_path

DEMANDS = json.loads((Path(__file__).parent / "demands.json").read_text("utf-8"))
KNOWN: Mapping[str, Sequence[str]] = {
    "exercise": list(CHECKS),
    "problem": list(data("exercises")["problems"]),
    "quiz": list(data("quiz")),
    "done": list(Work().done()),
    "scenario": CLASSES,
    "text_key": list(data("texts")),
}
"""Kind of place → the names it can have."""
FEWEST_WORDS = {"en": 3200, "ru": 2700}
"""Prose of the notebook, counted as words between blanks; Russian says the same in fewer."""


def cells(lang: str) -> list[Any]:
    return list(nbformat.read(notebook_path(f"10_course_tool_calling_{lang}"), as_version=4).cells)


def prose(lang: str) -> str:
    return " ".join(" ".join(c.source for c in cells(lang) if c.cell_type == "markdown").split())


def test_there_are_eighty_six_demands_and_no_two_are_the_same() -> None:
    assert len({entry["demand"] for entry in DEMANDS}) == len(DEMANDS) == 86


@pytest.mark.parametrize("entry", DEMANDS, ids=lambda entry: entry["demand"])
def test_a_demand_is_met_where_it_says(entry: dict[str, Any]) -> None:
    assert entry["met"]
    for kind, places in entry["met"].items():
        if kind == "text":
            for phrases in places:
                for lang, phrase in zip(("en", "ru"), phrases, strict=True):
                    assert phrase in prose(lang)
        elif kind == "cell":
            for lang in LANGS:
                assert set(places) <= {c.id for c in cells(lang) if c.cell_type == "code"}
        else:
            assert set(places) <= set(KNOWN[kind])


def test_every_exercise_question_and_trap_serves_a_demand() -> None:
    used = {
        kind: {p for d in DEMANDS for p in d["met"].get(kind, ())} for kind in ("quiz", "cell", "exercise")
    }
    assert used["quiz"] == set(data("quiz"))
    assert used["exercise"] | {"repair"} == set(CHECKS)
    beyond = {"temperature", "thought_signature"}
    assert {f"trap-{name.replace('_', '-')}" for name in {*TRAPS, *SILENT} - beyond} <= used["cell"]


@pytest.mark.parametrize("lang", LANGS)
def test_the_prose_is_as_long_as_the_subject_takes(lang: str) -> None:
    assert len(prose(lang).split()) >= FEWEST_WORDS[lang]
