"""The self-test: questions with one right letter each, and a reason for every letter."""

from __future__ import annotations

from collections.abc import Mapping

from toolbench.course import layout
from toolbench.course.words import Words, data
from toolbench.showing import html
from toolbench.showing.html import Page

LOOKALIKES = str.maketrans("ас", "ac")
"""Cyrillic letters that look like answers: the Russian keyboard layout is easily left on."""


def questions() -> list[str]:
    """Return the names of the questions, in order."""
    return list(data("quiz"))


def solution() -> dict[str, str]:
    """Return the right letters."""
    return {name: entry["answer"] for name, entry in data("quiz").items()}


def letter(answer: object) -> str:
    """Return an answer as a letter, however it was typed: ``A``, ``a)``, or a Cyrillic а or с."""
    return str(answer).strip().rstrip(".)").lower().translate(LOOKALIKES)


def quiz_page(words: Words) -> Page:
    """The questions with their options."""
    pages = []
    for number, (name, entry) in enumerate(data("quiz").items(), 1):
        pages.append(html.heading(f"{number}. {words.of(entry['question'])}  ({name})", 4))
        if "code" in entry:
            pages.append(layout.code(entry["code"]))
        options = entry["options"].items()
        pages.append(html.bullets(f"{key}) {words.of(option['text'])}" for key, option in options))
    return html.join(pages)


def right_answers(answers: Mapping[str, str]) -> int:
    """Return how many answers are right."""
    return sum(letter(answers.get(name, "")) == right for name, right in solution().items())


def checked_quiz(answers: Mapping[str, str], words: Words) -> Page:
    """Each answer with the reason why it is right or is not; the right letter is not given away."""
    pages = [_checked(name, letter(answers.get(name, "")), words) for name in questions()]
    score = words("quiz_score", right=right_answers(answers), total=len(questions()))
    return html.join([*pages, html.paragraph(score)])


def _checked(name: str, given: str, words: Words) -> Page:
    entry = data("quiz")[name]
    question = f"{words.of(entry['question'])} ({name})"
    if not given:
        return layout.box("note", words("quiz_open", question=question))
    if given not in entry["options"]:
        letters = ", ".join(entry["options"])
        return layout.box("note", words("quiz_letter", question=question, letters=letters))
    right = given == entry["answer"]
    why = html.paragraph(words.of(entry["options"][given]["why"]))
    return layout.box(
        "good" if right else "bad", words("quiz_right" if right else "quiz_wrong", question=question), why
    )
