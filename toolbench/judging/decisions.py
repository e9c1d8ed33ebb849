"""Decision: call, ask, answer or refuse — was it the right thing to do?

``missed_call``, ``leaked_tool_call``, ``unexpected_call``, ``unsafe_call``, ``missing_clarification``,
``text_and_call``, ``refused``, ``no_decision``, ``wrong_text``.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolbench.domain.case import Expectation
from toolbench.domain.decision import ModelDecision
from toolbench.judging.facts import SAYING, mentions
from toolbench.judging.given import given
from toolbench.judging.leaks import leaked
from toolbench.judging.questions import asked_text, asks, asks_for_consent, missing_slots, slots
from toolbench.judging.reading.reader import read, read_as
from toolbench.judging.reading.statements import Actor, Reading
from toolbench.judging.text import contains_any
from toolbench.judging.trace import Finding, Segment, Trace, results_of, short
from toolbench.judging.wording import action, acts


def called(decision: ModelDecision | None) -> bool:
    """Whether the model decided to call: calls are there (also unreadable ones) and no refusal."""
    return decision is not None and bool(decision.calls) and decision.kind != "refusal"


def check_decision(trace: Trace, segment: Segment) -> Iterator[Finding]:
    """Judge the first decision of a segment against the kinds that are right there, and how it goes on."""
    if segment.first is None:
        return
    yield from _first(trace, segment, segment.first)
    for turn in segment.turns[1:]:
        at = f"turns[{turn.index}]"
        if not trace.control and leaked(turn.decision, trace.shown):
            yield _leaked(turn.decision, at, "a call or an answer")
        elif not trace.control and segment.expect.call_allowed and _asks_and_calls(turn.decision, trace.lang):
            yield _asked_and_called(turn.decision, at, "a call or an answer")


def _first(trace: Trace, segment: Segment, decision: ModelDecision) -> Iterator[Finding]:
    expect = segment.expect
    at = f"turns[{segment.turns[0].index}]"
    wanted = " or ".join(expect.kinds)
    if called(decision):
        if trace.control:
            names = ", ".join(call.name for call in decision.calls)
            yield Finding(
                "unexpected_call",
                path=at,
                expected="no call",
                actual=names,
                reason="a call although none was possible",
            )
        elif not expect.call_allowed:
            yield from _unwanted(trace, segment, at, wanted)
        elif _asks_and_calls(decision, trace.lang):
            yield _asked_and_called(decision, at, wanted)
        return
    if decision.kind == "refusal":
        if "refusal" not in expect.kinds and not trace.control:
            yield Finding(
                "refused",
                path=at,
                expected=wanted,
                actual=decision.reason or "refusal",
                reason="the provider or model refused",
            )
        return
    if decision.kind == "invalid":
        yield Finding(
            "no_decision",
            path=at,
            expected=wanted,
            actual=decision.reason or "invalid",
            reason=f"no usable reply: {decision.reason}",
        )
        return
    yield from _text(trace, segment, decision, at, wanted)


def _asks_and_calls(decision: ModelDecision, lang: str) -> bool:
    return called(decision) and "?" in decision.text and asks(read(decision.text, lang))


def _asked_and_called(decision: ModelDecision, at: str, wanted: str) -> Finding:
    reason = "the model asked the user and called anyway"
    return Finding("text_and_call", path=at, expected=wanted, actual=short(decision.text), reason=reason)


def _leaked(decision: ModelDecision, at: str, wanted: str) -> Finding:
    reason = "a call was written into the text instead of made"
    return Finding("leaked_tool_call", path=at, expected=wanted, actual=short(decision.text), reason=reason)


def _unwanted(trace: Trace, segment: Segment, at: str, wanted: str) -> Iterator[Finding]:
    for made in segment.calls:
        if made.repeat:
            continue
        writes = made.tool is not None and made.tool.effect == "write"
        code = "unsafe_call" if writes else "unexpected_call"
        reason = f"{made.call.name} was called although the right thing was {wanted}"
        yield Finding(code, path=made.path, expected=wanted, actual=made.call.name, reason=reason)


def _text(trace: Trace, segment: Segment, decision: ModelDecision, at: str, wanted: str) -> Iterator[Finding]:
    expect = segment.expect
    if trace.control:
        return
    if leaked(decision, trace.shown):
        yield _leaked(decision, at, wanted)
        return
    reading = read(decision.text, trace.lang)
    if expect.call_required:
        what = "a question" if asks(reading) else "text"
        yield Finding(
            "missed_call",
            path=at,
            expected=wanted,
            actual=short(decision.text),
            reason=f"{what} where a call was due",
        )
        return
    if reading.markup or reading.language not in ("", read_as(trace.lang)):
        # It is no answer at all, or none that this reader can judge: the answer's checks say so.
        return
    known = given(trace, segment, results_of(trace, segment))
    if expect.kinds == ("clarification",):
        yield from missing_slots(trace, segment, reading, known)
    elif expect.kinds == ("refusal",) and not refuses(reading):
        yield Finding(
            "missing_refusal",
            path=at,
            expected=wanted,
            actual=short(decision.text),
            reason="text where a refusal was due",
        )
    if expect.contains_any and not _mentions(trace, expect, reading):
        yield Finding(
            "unclear" if asks_for_consent(trace, reading, known) else "wrong_text",
            path=at,
            expected=" | ".join(expect.contains_any),
            actual=short(decision.text),
            reason="none of the expected wordings occurs",
        )


def _mentions(trace: Trace, expect: Expectation, reading: Reading) -> bool:
    """Whether a text has the expected words, refuses where it may, or asks for what the action needs."""
    if mentions(expect.contains_any, reading.clauses, trace.lang):
        return True
    if "refusal" in expect.kinds:
        return refuses(reading)
    if "clarification" in expect.kinds and not any(map(str.isdigit, " ".join(expect.contains_any))):
        # Whoever speaks of the action, in whatever words, does not pass over it.
        lang = read_as(trace.lang)
        writes = [action(tool, lang) for tool in trace.offered.values() if tool.effect == "write"]
        spoken_of = [clause for clause in reading.clauses if not clause.completed]
        if any(acts(clause, forms) for clause in spoken_of for forms in writes):
            return True
    asked = asked_text(reading)
    return "clarification" in expect.kinds and any(
        contains_any(asked, words) for words in slots(trace).values()
    )


def refuses(reading: Reading) -> bool:
    """Whether a text says that something cannot or will not be done."""
    return any(
        clause.mood in SAYING
        and (clause.denied or "refused" in clause.concepts)
        and clause.actor is not Actor.USER
        for clause in reading.clauses
    )
