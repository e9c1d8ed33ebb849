"""Every page of a lesson speaks the lesson's language: words, quotation marks and numbers."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from toolbench.course import Chapter, quiz, solutions
from toolbench.course.chapter import CHECKS
from toolbench.course.problems import Problem, checked_page
from toolbench.course.silent_traps import SILENT
from toolbench.course.traps import TRAPS
from toolbench.course.words import LANGS, Words, data
from toolbench.domain.calculator import REASONS
from toolbench.domain.codes import CODES

CONFIG = {
    "provider": "simulator",
    "model": "sim-course",
    "protocol": "chat_completions",
    "base_url": "simulator:",
}
FILES = ("texts", "exercises", "quiz", "scenes", "wires", "providers", "injection")
SPELT_OUT = {"Орёл"}
"""Russian on English pages: the trap of JSON compared as text shows a letter and its escape."""
FEWEST_WORDS = 3
"""Shorter texts may be the same in both languages, or stand in a longer one by chance."""


def written(value: Any, lang: str) -> Iterator[str]:
    """Yield what is written in one language."""
    if isinstance(value, list):
        for inner in value:
            yield from written(inner, lang)
    elif isinstance(value, dict) and value and set(value) <= set(LANGS):
        yield from [value[lang]] if isinstance(value[lang], str) else written(value[lang], lang)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from written(inner, lang)


def phrases(lang: str) -> set[str]:
    """Return every piece of text between two blanks to be filled in, if it is long enough to be told."""
    sources = [*map(data, FILES), REASONS, {code: CODES[code].meaning for code in CODES}]
    texts = [text for source in sources for text in written(source, lang)]
    pieces = {piece.strip() for text in texts for piece in re.split(r"\{\w+[^}]*\}", text)}
    return {piece for piece in pieces if len(piece.split()) >= FEWEST_WORDS}


async def pages(lang: str, folder: Path) -> AsyncIterator[tuple[str, str]]:
    """Yield the name and the text of every page that a lesson can show."""
    chapter = Chapter(lang, CONFIG, embedded=False, output=str(folder))
    for name in ("about", "draw_loop", "errors", "error_on_the_wire", "calculator", "whitelist", "wordings"):
        yield name, getattr(chapter, name)().text
    for name in ("providers", "tool_choices", "quiz"):
        yield name, getattr(chapter, name)().text
    yield "talk", (await chapter.talk("london").play()).text
    yield "own loop", (await chapter.play("two_cities")).text
    yield "forced", (await chapter.forced("greeting")).text
    yield "failure", (await chapter.failure("lira", hints=True)).text
    yield "injection", (await chapter.injection()).text
    yield "least privilege", (await chapter.injection(least_privilege=True)).text
    yield "endless", (await chapter.endless()).text
    five = chapter.five_wires("two_cities")
    yield "five wires", (await five.ask()).text + five.received().text + five.decisions().text
    yield "results", (await five.answer()).text
    for trap in (*TRAPS, *SILENT):
        yield trap, (await chapter.trap(trap)).text
    yield "run", (await chapter.run()).text
    yield "effect", chapter.wording_effect().text
    for letter in "abc":
        yield "self-test", chapter.check_quiz(dict.fromkeys(quiz.questions(), letter)).text
    for exercise in CHECKS:
        yield exercise, chapter.check(exercise, solutions.answer(exercise, lang)).text
    for code in data("exercises")["problems"]:
        yield code, checked_page(code.partition(".")[0], [Problem(code)], Words(lang)).text
    functions = [solutions.answer(name, lang) for name in ("calculate", "rate", "time")]
    yield "schemas", chapter.compare_schemas(solutions.answer("schemas", lang), functions).text
    yield "note", chapter.write_note(["1"], {}).text
    chapter.close()


async def test_an_english_page_has_no_russian_letters_marks_or_numbers(tmp_path: Path) -> None:
    count = 0
    async for name, text in pages("en", tmp_path):
        assert set(re.findall(r"[а-яёА-ЯЁ]+", text)) <= SPELT_OUT, name
        assert not re.search(r"[«»]", text), name
        assert not re.search(r"(?<![\d.])\d+,\d{1,2}(?!\d)", text), f"{name}: a decimal comma"
        count += 1
    assert count > len(TRAPS) + len(SILENT) + len(data("exercises")["problems"])


async def test_a_russian_page_says_nothing_in_english_that_the_course_has_in_russian(tmp_path: Path) -> None:
    english = phrases("en") - phrases("ru")
    assert "exponents are limited to 1000" in english
    async for name, text in pages("ru", tmp_path):
        flat = " ".join(text.split())
        assert [phrase for phrase in english if phrase in flat] == [], name
        assert not re.search(r"[“”]", text), name
