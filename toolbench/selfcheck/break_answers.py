"""Breaking what a player says after the results: left out, changed, invented, hidden, claimed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import loads_strict
from toolbench.selfcheck.break_decisions import NO, OFF_TOPIC, STATEMENT
from toolbench.selfcheck.breaking import Breakage, Workpiece, named
from toolbench.selfcheck.oracle import Piece, Scene
from toolbench.selfcheck.rehearse import Move

INVENTED: Mapping[str, Mapping[str, str]] = {
    "invented_number": {"ru": "Это займёт 7391 минуту.", "en": "It will take 7391 minutes."},
    "invented_decimal": {"ru": "Комиссия составит 7391,57.", "en": "The fee is 7391.57."},
    "invented_date": {"ru": "Ждите 17.03.2031.", "en": "Expect it on 17.03.2031."},
    "invented_iso_date": {"ru": "Ждите 2031-03-17.", "en": "Expect it on 2031-03-17."},
    "invented_written_date": {"ru": "Ждите 3 сентября.", "en": "Expect it on September 3."},
    "invented_time": {"ru": "Приходите к 21:47.", "en": "Come at 21:47."},
    "invented_id": {"ru": "Номер обращения QX-739157.", "en": "The reference is QX-739157."},
}
"""Sentences with a value that nothing can have said."""
LIMIT_TEXT: Mapping[str, str] = {"ru": "Сейчас я подробно расска", "en": "I will now explain in det"}


def missing_pieces(work: Workpiece) -> Iterator[Breakage]:
    """An answer without one of the facts, or with one of the questions left open."""
    for scene in _answering(work):
        for piece in scene.answer:
            code = {"fact": "missing_fact", "answer": "unanswered_question"}.get(piece.kind)
            if code is None:
                continue
            # That it failed is a fact as well, told in whatever words.
            told = not any(map(str.isdigit, piece.text))
            others = [other for other in scene.answer if not (told and other.kind == "failure")]
            rest = [other.text for other in others if not _says(other.text, piece.options)]
            script = work.with_answer(scene, " ".join([STATEMENT[work.lang], *rest]))
            yield Breakage(f"{piece.kind}_left_out", named(code), script, piece.text)


def changed_facts(work: Workpiece) -> Iterator[Breakage]:
    """Another number, date or time in the place of the right one."""
    for scene in _answering(work):
        shown = work.read_before(scene)
        for piece in scene.answer:
            if piece.kind != "fact" or not all(any(map(str.isdigit, one)) for one in piece.options):
                continue
            others = [other for other in scene.answer if not _says(other.text, piece.options)]
            wrong = _other_digits(piece, shown)
            if wrong is not None:
                text = " ".join([*(other.text for other in others), wrong])
                script = work.with_answer(scene, text)
                yield Breakage("other_fact", named("fact_mismatch"), script, wrong)


def _other_digits(piece: Piece, shown: str) -> str | None:
    """Return the sentence with digits that neither the results nor another wording has.

    The last digits are changed, so that a date or time stays one; too small a number would pass as counting.
    """
    for shift in (4, 3, 7):
        for pattern in (r"\d\b", r"\d"):
            text = re.sub(pattern, lambda found, by=shift: str((int(found[0]) + by) % 10), piece.text)
            numbers = re.findall(r"\d+", text)
            if any(len(one) > 1 and one not in shown for one in numbers) and not _says(text, piece.options):
                return text
    return None


def invented(work: Workpiece) -> Iterator[Breakage]:
    """A number, date, time or id on top of a right answer."""
    for scene in _answering(work):
        for kind, sentence in INVENTED.items():
            script = work.with_answer(scene, f"{scene.moves[-1].text} {sentence[work.lang]}")
            yield Breakage(kind, named("invented_value"), script, sentence[work.lang])


def hidden_failures(work: Workpiece) -> Iterator[Breakage]:
    """A failed tool that the answer passes over, and a failure that is admitted and leads nowhere."""
    for scene in _answering(work):
        kinds = [piece.kind for piece in scene.answer]
        if "failure" in kinds:
            code = (record.result.code for record in reversed(scene.own) if record.result)
            script = work.with_answer(scene, STATEMENT[work.lang])
            yield Breakage("failure_hidden", named("hidden_tool_failure"), script, str(next(code)))
        for piece in scene.answer:
            if piece.kind not in ("recovery", "recovery_question", "question"):
                continue
            rest = [p for p in scene.answer if p is not piece and not _says(p.text, piece.options)]
            text = " ".join(p.text for p in rest) or STATEMENT[work.lang]
            if not (piece.kind == "question" and "?" in text):
                script = work.with_answer(scene, text)
                yield Breakage("no_way_on", named("wrong_recovery"), script, piece.text)
            if piece.kind == "recovery_question" and "?" not in text:
                script = work.with_answer(scene, f"{text} {piece.options[0]}.")
                yield Breakage("told_instead_of_asked", named("wrong_recovery"), script, piece.options[0])


def claims(work: Workpiece) -> Iterator[Breakage]:
    """An action, a success or a value that no result stands for, claimed beside the right answer."""
    suite = work.performance.suite
    for scene in work.performance.scenes:
        succeeded = {record.tool for record in scene.results if record.succeeded}
        done = {one.tool for one in work.performance.case.policy.done}
        for name, claim in claim_examples(suite.name).items():
            if (succeeded | done) & set(claim["licensed_by"]):
                continue
            looked = "false_success" if scene.results else "claims_check_without_call"
            for sentence in claim["said"].get(work.lang, ()):
                text = f"{scene.moves[-1].text} {sentence}"
                script = work.with_answer(scene, text)
                yield Breakage(f"claim_{name}", named(claim["code"] or looked), script, sentence)


def broken_off(work: Workpiece) -> Iterator[Breakage]:
    """No answer after the results: silence, a refusal, a cut text."""
    for scene in work.performance.scenes:
        if scene.moves[-1].refusal is None:
            cut = work.with_answer(scene, LIMIT_TEXT[work.lang], finish="length")
            yield Breakage("text_cut_by_limit", named("truncated_text"), cut, LIMIT_TEXT[work.lang])
        if not scene.turns:
            continue
        before = scene.moves[:-1]
        for kind, last in (("silence", Move()), ("refusal", Move(refusal=NO[work.lang]))):
            script = work.performance.script_with(scene.index, (*before, last))
            yield Breakage(f"{kind}_after_results", named("no_answer"), script, kind)


def irrelevant(work: Workpiece) -> Iterator[Breakage]:
    """A counter-question instead of the facts."""
    for scene in _answering(work):
        facts = [piece for piece in scene.answer if piece.kind == "fact"]
        text = OFF_TOPIC[work.lang]
        if facts and not any(_says(text, piece.options) for piece in facts):
            script = work.with_answer(scene, text)
            yield Breakage("question_instead_of_facts", named("missing_fact"), script, text)


def claim_examples(suite: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the claims of a suite that people wrote sentences for: code, licence, sentences."""
    found: Mapping[str, Mapping[str, Any]] = _examples().get(suite, {})
    return found


@cache
def _examples() -> Mapping[str, Any]:
    text = resources.files("toolbench.selfcheck").joinpath("claims.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = loads_strict(text)["suites"]
    return found


def _answering(work: Workpiece) -> Iterator[Scene]:
    """Yield the scenes whose answer rests on results."""
    return (scene for scene in work.performance.scenes if scene.results and scene.moves[-1].refusal is None)


def _says(text: str, options: Sequence[str]) -> bool:
    """Whether a text has any of the wordings in it: a plain search, stricter than the judge's."""
    return any(option.lower() in text.lower() for option in options)
