"""One good answer to each exercise: every module here is the source of one cell."""

from __future__ import annotations

from importlib import import_module, resources
from typing import Any

from toolbench.course.words import LANGS

NAMES = {
    "calculate": "calculate",
    "rate": "get_exchange_rate",
    "time": "get_time",
    "schemas": "schemas",
    "loop": "run_loop",
    "repair": "repaired_loop",
}
"""Exercise → what the student's cell defines."""


def source(exercise: str, lang: str) -> str:
    """Return the text of the cell."""
    return resources.files(__package__).joinpath(f"{_module(exercise, lang)}.py").read_text("utf-8")


def answer(exercise: str, lang: str) -> Any:
    """Return what the cell defines."""
    return getattr(import_module(f"{__package__}.{_module(exercise, lang)}"), NAMES[exercise])


def _module(exercise: str, lang: str) -> str:
    """Schemas are written in the language of the lesson; code is the same in both."""
    assert lang in LANGS
    return f"{exercise}_{lang}" if exercise == "schemas" else exercise
