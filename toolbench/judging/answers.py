"""What a model says: does every text of a segment say what was given, and nothing else?

The final text must state the facts, admit failures and lead on; every text, also one beside calls, must claim
nothing that did not happen and invent nothing. The parts are in :mod:`.claims`, :mod:`.facts`,
:mod:`.inventions` and :mod:`.questions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolbench.domain.record import CallRecord, TurnRecord
from toolbench.judging.claims import check_claims
from toolbench.judging.facts import admits, check_facts, mentions, opaque
from toolbench.judging.given import Given, given
from toolbench.judging.inventions import GIVEN_VALUES, check_inventions
from toolbench.judging.leaks import leaked
from toolbench.judging.normalizers import equal
from toolbench.judging.questions import asks, check_questions, proposes
from toolbench.judging.reading.reader import read, read_as
from toolbench.judging.reading.statements import Reading
from toolbench.judging.trace import Finding, Segment, Trace, results_at, short
from toolbench.judging.wording import action, acts


def check_answer(trace: Trace, segment: Segment) -> Iterator[Finding]:
    """Judge the texts of a segment; in a control there is nothing to judge."""
    if trace.control:
        return
    for turn in segment.turns:
        final = turn is segment.turns[-1] and segment.answer is not None
        if turn.decision.text and turn.decision.kind in ("text", "tool_calls"):
            yield from _text(trace, segment, turn, final)
    if segment.answer is None:
        yield from _no_answer(segment)


def _text(trace: Trace, segment: Segment, turn: TurnRecord, final: bool) -> Iterator[Finding]:
    at = "final" if final else f"turns[{turn.index}]"
    text = turn.decision.text
    if leaked(turn.decision, trace.shown):
        return
    reading = read(text, trace.lang)
    if reading.markup:
        reason = f"{', '.join(reading.markup)} instead of an answer"
        yield Finding(
            "markup_answer", path=at, expected="an answer in words", actual=short(text), reason=reason
        )
        return
    if reading.language and reading.language != read_as(trace.lang):
        reason = f"the conversation is in {trace.lang}"
        yield Finding("wrong_language", path=at, expected=trace.lang, actual=reading.language, reason=reason)
        return
    results = results_at(trace, turn)
    known = given(trace, segment, results)
    yield from check_claims(trace, segment, reading.clauses, results, known, at)
    invented = list(check_inventions(trace, reading.clauses, known, at))
    if final:
        yield from _final(trace, segment, reading, results, known, invented)
    yield from invented


def _final(
    trace: Trace, segment: Segment, reading: Reading, results: Sequence[CallRecord],
    known: Given, invented: list[Finding],
) -> Iterator[Finding]:  # fmt: skip
    expect = segment.expect.final
    if results and expect is not None:
        other = any(one.code == "invented_value" for one in invented)
        for finding in check_facts(trace, segment, expect.facts, reading.clauses, known, otherwise=other):
            wrong = next((one for one in invented if one.expected == GIVEN_VALUES), None)
            # Another value in the fact's place is a wrong fact, not one missing and one invented.
            if wrong and finding.code == "missing_fact" and any(map(str.isdigit, finding.expected)):
                invented.remove(wrong)
                reason = f"stated {wrong.actual} instead of {finding.expected}"
                yield Finding(
                    "fact_mismatch",
                    path="final",
                    expected=finding.expected,
                    actual=wrong.actual,
                    reason=reason,
                )
            else:
                yield finding
        for finding in check_facts(trace, segment, expect.answers, reading.clauses, known):
            if finding.code == "unclear":
                continue
            yield Finding(
                "unanswered_question", path="final", expected=finding.expected, actual=finding.actual,
                reason=f"a question of the user stays open: {finding.reason}",
            )  # fmt: skip
    # An error is admitted once, not ever after.
    own = [record for record in results if segment.owns(record)]
    yield from _failures(trace, segment, reading, own, known)
    yield from _recovery(trace, segment, reading, own, known)
    yield from check_questions(trace, segment, reading, own, known)


def _no_answer(segment: Segment) -> Iterator[Finding]:
    """A reply that breaks off after a tool result; a first reply like that is the decision's affair."""
    last = segment.turns[-1].decision if segment.turns else None
    if last is not None and len(segment.turns) > 1 and last.kind in ("invalid", "refusal"):
        at = f"turns[{segment.turns[-1].index}]"
        reason = f"no answer after the tool results: {last.reason or last.kind}"
        yield Finding(
            "no_answer", path=at, expected="an answer", actual=last.reason or last.kind, reason=reason
        )


def unhealed(segment: Segment, results: Sequence[CallRecord]) -> list[CallRecord]:
    """Return the failed calls that no later success made good.

    A success with the same arguments always does; one with others only where the failed call was not itself
    an expected one, so that one lookup of two heals nothing for the other.
    """
    due = [(call.tool, call.arguments) for call in segment.expect.calls]
    left = []
    for index, failed in enumerate(results):
        if failed.result is None or not failed.result.is_error:
            continue
        expected = any(tool == failed.tool and equal(arguments, failed.arguments) for tool, arguments in due)
        later = [record for record in results[index + 1 :] if record.succeeded and record.tool == failed.tool]
        if not any(not expected or equal(record.arguments, failed.arguments) for record in later):
            left.append(failed)
    return left


def _failures(
    trace: Trace, segment: Segment, reading: Reading, results: Sequence[CallRecord], known: Given
) -> Iterator[Finding]:
    """A failed call that no later one made good must be admitted."""
    failed = unhealed(segment, results)
    yield from _one_of_several(trace, reading, failed)
    words = segment.expect.recovery.contains_any if segment.expect.recovery else ()
    admitted = any(map(admits, reading.clauses))
    if failed and not admitted and not mentions(words, reading.clauses, reading.language):
        record = failed[-1]
        code = record.result.code if record.result else ""
        unread = any(opaque(clause, known) for clause in reading.clauses)
        said = "may not say so" if unread else "does not say so"
        reason = f"{record.tool} failed with {code} and the answer {said}"
        yield Finding(
            "unclear" if unread else "hidden_tool_failure",
            path="final",
            expected=f"admit {code}",
            actual=short(reading.text),
            reason=reason,
        )


def _one_of_several(trace: Trace, reading: Reading, failed: Sequence[CallRecord]) -> Iterator[Finding]:
    """Of several tools that failed each must be admitted, not one for all."""
    lang, tools = read_as(trace.lang), trace.suite.contract.by_name
    names = list(dict.fromkeys(record.tool for record in failed if record.tool in tools))
    admitting = [clause for clause in reading.clauses if admits(clause)]
    if len(names) < 2 or len({clause.sentence for clause in admitting}) >= len(names):
        return
    for name in names:
        others = [action(tools[other], lang) for other in names if other != name]
        own = action(tools[name], lang)
        if admitting and all(
            any(acts(clause, forms) for forms in others) and not acts(clause, own) for clause in admitting
        ):
            reason = f"{name} failed and the answer speaks of another failure only"
            yield Finding(
                "hidden_tool_failure", path="final", expected=f"admit that {name} failed",
                actual=short(reading.text), reason=reason,
            )  # fmt: skip


def _recovery(
    trace: Trace, segment: Segment, reading: Reading, results: Sequence[CallRecord], known: Given
) -> Iterator[Finding]:
    expect = segment.expect.recovery
    if expect is None or not any(record.result and record.result.is_error for record in results):
        return
    if expect.kinds == ("clarification",) and not asks(reading):
        reason = "after the error the user had to be asked for something"
        yield Finding(
            "wrong_recovery", path="final", expected="a question", actual=short(reading.text), reason=reason
        )
    elif expect.contains_any and not mentions(expect.contains_any, reading.clauses, trace.lang):
        wanted = " | ".join(expect.contains_any)
        # What is proposed in other words, or said of the cause in others, may do.
        facts = list(check_facts(trace, segment, [expect.contains_any], reading.clauses, known))
        told = segment.expect.final is not None and expect.contains_any in segment.expect.final.facts
        doubt = proposes(trace, reading, results) or (
            told and bool(facts) and all(one.code == "unclear" for one in facts)
        )
        yield Finding(
            "unclear" if doubt else "wrong_recovery",
            path="final",
            expected=wanted,
            actual=short(reading.text),
            reason=f"none of: {wanted}",
        )
