"""Final answer: does the text after the tool results say what they say, and nothing else?

``missing_fact``, ``fact_mismatch``, ``unanswered_question``, ``invented_value``, ``hidden_tool_failure``,
``claimed_action_without_success``, ``false_success``, ``no_answer``, and ``wrong_recovery`` when the step
after an error was not one the case allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolbench.domain.record import CallRecord
from toolbench.judging.dates import find_dates, find_times, readings, times, without_moments
from toolbench.judging.text import asks, asserted, contains, contains_any, matches, normalize
from toolbench.judging.trace import Finding, Segment, Trace, short

ROUNDED_FROM = 100
"""Numbers from here on may be stated as whole numbers."""
_IDIOMS = re.compile(r"\b24/7\b")
"""Figures of speech, not figures."""
_CODE_LIKE = re.compile(r"\b(?![ap]m-)[a-zа-я]{2,}-\d+\b")
"""An identifier; the "am-12" of "10 am-12 pm" is none."""
# A dash behind a letter or digit joins (an id, a range); any other is a minus.
_NUMBER = re.compile(r"(?<![\w.,])(?<!\w-)\d+(?:[.,]\d+)?(?![\w-]|[.,]\d)")


def results_of(trace: Trace, segment: Segment) -> list[CallRecord]:
    """Return the calls whose results the answer of a segment rests on (earlier segments included)."""
    if not segment.turns:
        return []
    last = segment.turns[-1].index
    return [record for record in trace.results_before(last) if record.rejection is None]


def check_answer(trace: Trace, segment: Segment) -> Iterator[Finding]:
    """Judge the final text of a segment; without one, or in a control, there is nothing to judge."""
    answer = segment.answer
    if trace.control:
        return
    if answer is None:
        yield from _no_answer(segment)
        return
    results = results_of(trace, segment)
    yield from _claims(trace, segment, answer, results)
    if not results:
        return
    plain = normalize(answer)
    invented = list(_invented(trace, segment, answer, results))
    for finding in _facts(segment, plain):
        # Another value in the fact's place is a wrong fact, not one missing and one invented.
        if invented and re.search(r"\d", finding.expected):
            actual = invented.pop(0)
            reason = f"stated {actual} instead of {finding.expected}"
            yield Finding(
                "fact_mismatch", path="final", expected=finding.expected, actual=actual, reason=reason
            )
        else:
            yield finding
    for value in invented:
        reason = f"{value} is in nothing the user, the context or a tool said"
        yield Finding(
            "invented_value", path="final", expected="values from the results", actual=value, reason=reason
        )
    final = segment.expect.final
    for options in final.answers if final else ():
        if not contains_any(plain, options):
            reason = f"a question of the user stays open: none of {' | '.join(options)}"
            yield Finding(
                "unanswered_question",
                path="final",
                expected=" | ".join(options),
                actual=short(answer),
                reason=reason,
            )
    # An error is admitted once, not ever after.
    own = [record for record in results if segment.owns(record)]
    yield from _failures(trace, segment, plain, own)
    yield from _recovery(trace, segment, answer, own)


def _no_answer(segment: Segment) -> Iterator[Finding]:
    """A reply that breaks off after a tool result; a first reply like that is the decision's affair."""
    last = segment.turns[-1].decision if segment.turns else None
    if last is not None and len(segment.turns) > 1 and last.kind in ("invalid", "refusal"):
        at = f"turns[{segment.turns[-1].index}]"
        reason = f"no answer after the tool results: {last.reason or last.kind}"
        yield Finding(
            "no_answer", path=at, expected="an answer", actual=last.reason or last.kind, reason=reason
        )


def recovery_needed(trace: Trace, segment: Segment) -> bool:
    """Whether the last result before the segment's answer was an error."""
    results = results_of(trace, segment)
    return bool(results) and results[-1].result is not None and results[-1].result.is_error


def _facts(segment: Segment, plain: str) -> Iterator[Finding]:
    for options in segment.expect.final.facts if segment.expect.final else ():
        if not contains_any(plain, options):
            wanted = " | ".join(options)
            yield Finding(
                "missing_fact",
                path="final",
                expected=wanted,
                actual=short(plain),
                reason=f"not stated: {wanted}",
            )


def _claims(trace: Trace, segment: Segment, answer: str, results: Sequence[CallRecord]) -> Iterator[Finding]:
    final = segment.expect.final
    named = set(final.no_claims) if final else set()
    succeeded = {record.tool for record in results if record.succeeded}
    for name, claim in trace.suite.rules.claims.items():
        patterns = claim.patterns.get(trace.lang, ())
        licence = claim.licensed_by
        # What a tool has made true may be said, even where the call was a mistake: that has its own code.
        if succeeded & set(licence or ()) or (licence is None and name not in named):
            continue
        sentence = asserted(answer, patterns, trace.lang)
        if sentence is not None:
            tools = " or ".join(licence or ()) or "any tool"
            reason = f"claims {name!r}, but no {tools} had succeeded"
            yield Finding(
                claim.code,
                path="final",
                expected=f"no claim {name}",
                actual=short(sentence),
                reason=reason,
            )


def _failures(trace: Trace, segment: Segment, plain: str, results: Sequence[CallRecord]) -> Iterator[Finding]:
    """A failed tool that no later call made good must be admitted."""
    healed = {record.tool for record in results if record.succeeded}
    failed = [r for r in results if r.result is not None and r.result.is_error and r.tool not in healed]
    words = segment.expect.recovery.contains_any if segment.expect.recovery else ()
    if failed and not matches(plain, trace.lang, "failure") and not contains_any(plain, words):
        record = failed[-1]
        code = record.result.code if record.result else ""
        reason = f"{record.tool} failed with {code} and the answer does not say so"
        yield Finding(
            "hidden_tool_failure", path="final", expected=f"admit {code}", actual=short(plain), reason=reason
        )


def _recovery(
    trace: Trace, segment: Segment, answer: str, results: Sequence[CallRecord]
) -> Iterator[Finding]:
    expect = segment.expect.recovery
    if expect is None or not any(r.result and r.result.is_error for r in results):
        return
    if expect.kinds == ("clarification",) and not asks(answer, trace.lang):
        reason = "after the error the user had to be asked for something"
        yield Finding(
            "wrong_recovery", path="final", expected="a question", actual=short(answer), reason=reason
        )
    elif expect.contains_any and not contains_any(normalize(answer), expect.contains_any):
        wanted = " | ".join(expect.contains_any)
        yield Finding(
            "wrong_recovery", path="final", expected=wanted, actual=short(answer), reason=f"none of: {wanted}"
        )


def _invented(trace: Trace, segment: Segment, answer: str, results: Sequence[CallRecord]) -> Iterator[str]:
    """Yield identifiers, dates, times, and numbers of two and more digits that nobody gave."""
    said = [*trace.case.user_texts[: _user_messages(trace) + segment.index], str(dict(trace.case.context))]
    said += [record.result.content for record in results if record.result]
    said += [f"{record.arguments}" for record in trace.frozen]
    # Limits and examples that the prompt and the tools name are given as well.
    said += [trace.suite.prompt(trace.lang, trace.condition.prompt)]
    said += [f"{dict(tool.parameters)}" for tool in trace.offered.values()]
    sources, stated = normalize("\n".join(said)), normalize(answer)
    found = [code for code in _CODE_LIKE.findall(stated) if not contains(sources, code)]
    stated = _IDIOMS.sub(" ", _CODE_LIKE.sub(" ", stated))
    found += _invented_moments(stated, sources)
    known = _numbers(sources) | _numbers(_grouped(sources))
    for match in _NUMBER.finditer(_grouped(without_moments(stated))):
        spelled = match.group(0)
        small = spelled.isdigit() and len(spelled.lstrip("0")) < 2
        if not small and not _number_given(spelled, known) and not _moment_given(spelled, sources):
            found.append(spelled)
    yield from dict.fromkeys(found)


def _invented_moments(stated: str, sources: str) -> Iterator[str]:
    days, hours = readings(sources), times(sources)
    for date in find_dates(stated):
        if not date.agrees(days) and not contains(sources, date.spelled):
            yield date.spelled
    yield from (spelled for spelled, minutes in find_times(stated) if minutes not in hours)


def _moment_given(spelled: str, sources: str) -> bool:
    """Whether a number is a date (24.12) or a time (15.30) that was given."""
    return bool(
        readings(spelled) & {(day, month, None) for day, month, _ in readings(sources)}
        or times(spelled.replace(".", ":")) & times(sources)
    )


def _grouped(text: str) -> str:
    """Return text with the blanks inside long numbers taken out: "24 310,35" is one number."""
    return re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "", text)


def _numbers(text: str) -> set[float]:
    return {float(found.replace(",", ".")) for found in re.findall(r"\d+(?:[.,]\d+)?", text)}


def _number_given(spelled: str, known: set[float]) -> bool:
    """Whether a number was given, a comma being read as the decimal one and as one between thousands."""
    return any(
        _given(one, text, known) for text in (spelled, spelled.replace(",", "")) for one in _numbers(text)
    )


def _given(value: float, spelled: str, known: set[float]) -> bool:
    """Whether a number was given, or is a given one rounded to the decimals it is written with."""
    _, point, places = spelled.replace(",", ".").partition(".")
    error = 0.5 * 10 ** -len(places) + 1e-9
    return value in known or any(
        abs(value - other) <= error for other in known if point or other >= ROUNDED_FROM
    )


def _user_messages(trace: Trace) -> int:
    return sum(message["role"] == "user" for message in trace.case.messages)
