"""What a check of an exercise says: nothing, or problems that tell a student what to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolbench.course import layout
from toolbench.course.words import Words, data
from toolbench.domain.canonical import JSON
from toolbench.showing import html
from toolbench.showing.html import Page


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes
    ----------
    code
        Key of the message in ``exercises.json``.
    facts
        What the message fills in.
    history
        Wire messages worth looking at, for the exercise about the loop.
    """

    code: str
    facts: Mapping[str, str] = field(default_factory=dict)
    history: Sequence[JSON] | None = None

    def said(self, words: Words) -> str:
        """Return the message in a language."""
        return words.of(data("exercises")["problems"][self.code], **self.facts)


def problem(code: str, history: Sequence[JSON] | None = None, **facts: object) -> Problem:
    """Return a problem with its facts as short texts."""
    return Problem(code, {name: str(value)[:160] for name, value in facts.items()}, history)


def checked_page(exercise: str, problems: Sequence[Problem], words: Words) -> Page:
    """Return what a student sees: done, or not done yet with every problem found."""
    title = words.of(data("exercises")["titles"][exercise])
    if not problems:
        praise = words.of(data("exercises")["praise"][exercise])
        return layout.box("good", words("passed", title=title), html.paragraph(praise))
    inside = [html.bullets(problem.said(words) for problem in problems)]
    histories = [problem.history for problem in problems if problem.history]
    if histories:
        inside.append(html.folded(words("your_history"), layout.json_page(list(histories[0]))))
    return layout.box("bad", words("not_done", title=title), *inside)


def attempted(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return what a student's function returned or raised."""
    try:
        return call(), None
    except Exception as error:
        return None, error
