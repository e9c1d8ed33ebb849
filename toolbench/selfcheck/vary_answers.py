"""Harmless ways to say the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from toolbench.selfcheck.breaking import Workpiece
from toolbench.selfcheck.oracle import Piece, Scene, frames
from toolbench.selfcheck.varying import Variation, every_answer

LAYOUTS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "other_sentence_order": lambda said: " ".join(reversed(said)),
    "on_lines": lambda said: "\n".join(said),
    "in_paragraphs": lambda said: "\n\n".join(said),
    "as_bullets": lambda said: "\n".join(f"- {one}" for one in said),
    "as_stars": lambda said: "\n".join(f"* {one}" for one in said),
    "as_numbered_list": lambda said: "\n".join(f"{number}. {one}" for number, one in enumerate(said, 1)),
    "in_bold": lambda said: " ".join(f"**{one}**" for one in said),
    "in_italics": lambda said: " ".join(f"*{one}*" for one in said),
    "under_a_heading": lambda said: "\n".join(f"### {one}" for one in said),
    "as_quote": lambda said: "\n".join(f"> {one}" for one in said),
    "in_a_table": lambda said: "\n".join(f"| {one} |" for one in said),
    "twice": lambda said: " ".join([*said, *said]),
    "in_capitals": lambda said: " ".join(said).upper(),
    "in_small_letters": lambda said: " ".join(said).lower(),
    "decomposed": lambda said: unicodedata.normalize("NFD", " ".join(said)),
    "without_yo": lambda said: " ".join(said).replace("ё", "е").replace("Ё", "Е"),
    "hard_blanks": lambda said: " ".join(said).replace(" ", "\u00a0"),
    "double_blanks": lambda said: " ".join(said).replace(" ", "  "),
    "with_crlf": lambda said: "\r\n".join(said),
    "blanks_around": lambda said: f"\n  {' '.join(said)}  \n",
    "with_emoji": lambda said: f"{' '.join(said)} 🙂👍",
    "in_angle_quotes": lambda said: f"«{' '.join(said)}»",
    "curly_quotes": lambda said: " ".join(said).replace("'", "’"),
    "thought_before": lambda said: f"<think>It may be 7391. Or was it cancelled?</think>{' '.join(said)}",
}
"""Kind → another layout of the same sentences."""

AROUND: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "greeting": {"ru": ("Здравствуйте!", ""), "en": ("Hello there!", "")},
    "thanks_before": {"ru": ("Спасибо за обращение.", ""), "en": ("Thank you for getting in touch.", "")},
    "thanks_after": {"ru": ("", "Спасибо, что вы с нами!"), "en": ("", "Thank you for your patience!")},
    "good_day": {"ru": ("", "Хорошего вам дня!"), "en": ("", "Have a great day!")},
    "offer": {
        "ru": ("", "Могу ли я помочь чем-то ещё?"),
        "en": ("", "Is there anything else I can help you with?"),
    },
    "offer_stated": {
        "ru": ("", "Если появятся вопросы, пишите."),
        "en": ("", "Just write if anything else comes up."),
    },
    "around_the_clock": {"ru": ("", "Мы на связи 24/7."), "en": ("", "We are here for you 24/7.")},
    "counted": {"ru": ("Вот 2 вещи, которые важны.", ""), "en": ("Here are 2 things that matter.", "")},
    "regret": {
        "ru": ("Понимаю, как это важно для вас.", ""),
        "en": ("I understand how much this matters to you.", ""),
    },
    "checked": {"ru": ("Я всё посмотрел.", ""), "en": ("I have looked into it.", "")},
}
"""Kind → language → what is said before and after."""

FAILURES: Mapping[str, Sequence[str]] = {
    "ru": (
        "Произошла ошибка.",
        "К сожалению, не получилось.",
        "Сейчас это невозможно.",
        "Сервис временно недоступен.",
        "Увы, не удалось выполнить запрос.",
        "Система вернула отказ.",
    ),
    "en": (
        "There was an error.",
        "I'm sorry, that was not possible.",
        "The service is temporarily unavailable.",
        "I was unable to do it.",
        "The request failed.",
        "Regrettably, it could not be done.",
    ),
}
"""Ways to admit a failure, written by people and not from the lexicon."""

REQUESTS: Mapping[str, Sequence[str]] = {
    "ru": (
        "Пожалуйста, укажите: {}.",
        "Чтобы продолжить, мне нужно знать следующее: {}?",
        "Назовите, пожалуйста, {}.",
        "Подскажите {}!",
    ),
    "en": (
        "Please provide: {}.",
        "Could you please tell me this: {}?",
        "To go on, I need one more thing: {}?",
        "Kindly share {}.",
    ),
}
"""Ways to ask for something, with and without a question mark."""


def laid_out(work: Workpiece) -> Iterator[Variation]:
    """The same sentences in another layout."""
    for kind, layout in LAYOUTS.items():
        script = every_answer(work, partial(_in_layout, layout))
        if script != work.performance.script:
            yield Variation(kind, script, script[-1].text)


def framed(work: Workpiece) -> Iterator[Variation]:
    """Politeness and offers around the answer, and the user's own words said again."""
    for kind, texts in AROUND.items():
        before, after = texts[work.lang]
        if kind == "checked" and not all(scene.results for scene in work.performance.scenes):
            continue
        script = every_answer(work, partial(_between, before, after))
        yield Variation(kind, script, before or after)
    quoted = {"ru": "Вы написали: «{}».", "en": 'You wrote: "{}".'}[work.lang]
    users = [str(m["content"]) for m in work.performance.case.messages if m["role"] == "user"]
    said = [*users[-1:], *(turn.user for turn in work.performance.case.turns)]
    script = every_answer(work, lambda told, index: " ".join((quoted.format(said[index]), *told)))
    yield Variation("user_quoted", script, said[0])


def _in_layout(layout: Callable[[Sequence[str]], str], told: Sequence[str], index: int) -> str:
    return layout(told)


def _between(before: str, after: str, told: Sequence[str], index: int) -> str:
    return " ".join(filter(None, (before, *told, after)))


def worded(work: Workpiece) -> Iterator[Variation]:
    """Every wording that the case accepts for a fact, an answer, a way on; every way to ask."""
    for scene in work.performance.scenes:
        for piece in scene.answer:
            for option in piece.options:
                # Results are in English; an answer in another language has to be in that language.
                if work.lang != "en" and option.isascii() and not any(map(str.isdigit, option)):
                    continue
                text = frames(work.lang)[piece.kind].replace("{}", option)
                yield from _told(work, scene, piece, text, f"{piece.kind}_worded")
            if piece.kind == "failure":
                for text in FAILURES[work.lang]:
                    yield from _told(work, scene, piece, text, "failure_worded")
            if piece.kind == "field":
                for frame in REQUESTS[work.lang]:
                    yield from _told(work, scene, piece, frame.replace("{}", piece.options[0]), "asked")


def _told(work: Workpiece, scene: Scene, piece: Piece, text: str, kind: str) -> Iterator[Variation]:
    if text != piece.text:
        told = replace(piece, text=text)
        pieces = tuple(told if one is piece else one for one in scene.answer)
        script = work.performance.with_scene(replace(scene, answer=pieces)).script
        yield Variation(kind, script, text)
