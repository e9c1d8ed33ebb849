"""Exercise: put a bad description right."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolbench.course.problems import Problem, problem

START: Mapping[str, Any] = {
    "name": "t2",
    "description": "rate",
    "parameters": {"base": "a", "quote": "b"},
}
"""The entry as the student finds it."""
NAME = re.compile(r"^[a-z][a-z0-9]+(_[a-z0-9]+)+$")
CURRENCY = re.compile(r"\b[A-Z]{3}\b")
NO_CURRENCY = frozenset({"ISO"})
FEWEST_WORDS = 6
MOST_CHARACTERS = 400
QUESTIONS = {"rate": True, "tokyo": False}
"""Scene of the lesson → whether the tool is the one for it."""

Choose = Callable[[Mapping[str, Any], str], Awaitable[str]]
"""From an entry and a scene to the name of the tool that is chosen for it, or an empty text."""


async def check_description(answer: object, choose: Choose) -> list[Problem]:
    """Return what is wrong with a student's wording of the exchange rate tool.

    First the text itself; then ``choose`` picks among the three tools by it.
    """
    if answer == START:
        return [problem("description.not_started")]
    if not isinstance(answer, Mapping) or not isinstance(answer.get("parameters"), Mapping):
        return [problem("description.shape")]
    parameters = answer["parameters"]
    texts = [answer.get("name"), answer.get("description"), *parameters.values()]
    if set(parameters) != {"base", "quote"} or not all(isinstance(text, str) for text in texts):
        return [problem("description.shape")]
    found = _text(answer["name"], answer["description"]) + _parameters(parameters)
    if found:
        return found
    for scene, wanted in QUESTIONS.items():
        chosen = await choose(answer, scene)
        if (chosen == answer["name"]) != wanted:
            return [problem(f"description.{'not_chosen' if wanted else 'too_wide'}", chosen=chosen or "—")]
    return []


def _text(name: str, description: str) -> list[Problem]:
    found = []
    if not NAME.match(name):
        found.append(problem("description.name", found=name))
    if len(description.split()) < FEWEST_WORDS:
        found.append(problem("description.short", found=description, words=FEWEST_WORDS))
    elif not ("base" in description and "quote" in description):
        found.append(problem("description.direction"))
    if len(description) > MOST_CHARACTERS:
        found.append(problem("description.long", limit=MOST_CHARACTERS))
    return found


def _parameters(parameters: Mapping[str, str]) -> list[Problem]:
    if parameters["base"] == parameters["quote"]:
        return [problem("description.same")]
    return [
        problem("description.example", parameter=name, found=text)
        for name, text in parameters.items()
        if not set(CURRENCY.findall(text)) - NO_CURRENCY
    ]
