"""What a check of an exercise says: nothing, or problems that tell a student what to change."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolbench.course import layout
from toolbench.course.words import Words, data
from toolbench.domain.canonical import JSON
from toolbench.showing import html
from toolbench.showing.html import Page

ADVICE = frozenset({"loop.json_escapes"})
"""What is said of an answer that has passed: broken JSON is rare, and many loops live with it."""
SHORTEST_REFUSAL = 12
"""Characters of an error text below which no model can learn anything from it."""


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
        Wire messages worth looking at, for the exercises about the loop.
    """

    code: str
    facts: Mapping[str, str] = field(default_factory=dict)
    history: Sequence[JSON] | None = None

    @property
    def advice(self) -> bool:
        """Whether the answer is good enough all the same."""
        return self.code in ADVICE

    @property
    def untouched(self) -> bool:
        """Whether the answer is still what the exercise starts from."""
        return self.code.endswith(".not_started")

    def said(self, words: Words) -> str:
        """Return the message in a language."""
        return words.of(data("exercises")["problems"][self.code], **self.facts)


def problem(code: str, history: Sequence[JSON] | None = None, **facts: object) -> Problem:
    """Return a problem with its facts as short texts."""
    return Problem(code, {name: str(value)[:160] for name, value in facts.items()}, history)


def checked_page(exercise: str, problems: Sequence[Problem], words: Words) -> Page:
    """Return what a student sees: done, or not done yet with every problem found."""
    title = words.of(data("exercises")["titles"][exercise])
    if not blocking(problems):
        if problems:
            advice = html.bullets(problem.said(words) for problem in problems)
            return layout.box("good", words("passed_but", title=title), advice)
        praise = html.paragraph(words.of(data("exercises")["praise"][exercise]))
        return layout.box("good", words("passed", title=title), praise)
    problems = blocking(problems)
    inside = [html.bullets(problem.said(words) for problem in problems)]
    histories = [problem.history for problem in problems if problem.history]
    if histories:
        inside.append(html.folded(words("your_history"), layout.json_page(list(histories[0]))))
    if not problems[0].untouched:
        inside.append(html.paragraph(words("solution_hint")))
    return layout.box("bad", words("not_done", title=title), *inside)


def blocking(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems for which an answer has to be changed."""
    return [found for found in problems if not found.advice]


def attempted(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return what a student's function returned or raised."""
    try:
        return call(), None
    except Exception as error:
        return None, error


def refusal(call: Callable[[], Any]) -> tuple[str | None, Any]:
    """Return the error text of a student's tool, or ``None`` and its result when it did not refuse.

    A tool may raise, or return an object with the key ``error``: both reach the model as data.
    """
    result, error = attempted(call)
    if error is not None:
        return str(error), None
    if isinstance(result, Mapping) and "error" in result:
        return " ".join(str(value) for value in result.values()), None
    return None, result


def writable(value: object) -> bool:
    """Whether a value can be handed to a model as JSON."""
    return attempted(lambda: json.dumps(value, allow_nan=False))[1] is None
