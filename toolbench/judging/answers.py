"""Final answer: does the text after the tool results say what they say, and nothing else?

``missing_fact``, ``fact_mismatch``, ``unanswered_question``, ``invented_value``, ``hidden_tool_failure``,
``claimed_action_without_success``, ``false_success``, ``no_answer``, and ``wrong_recovery`` when the step
after an error was not one the case allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolbench.domain.record import CallRecord
from toolbench.judging.text import asks, asserted, contains, contains_any, matches, normalize
from toolbench.judging.trace import Finding, Segment, Trace, short

LAYER = "answer"
ROUNDED_FROM = 100
"""Numbers from here on may be stated as whole numbers."""
_CODE_LIKE = re.compile(r"\b[a-zа-я]{2,}-\d+\b")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)?(?![\w-]|[.,]\d)")


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
            yield Finding("fact_mismatch", LAYER, "final", finding.expected, actual, reason)
        else:
            yield finding
    for value in invented:
        reason = f"{value} is in nothing the user, the context or a tool said"
        yield Finding("invented_value", LAYER, "final", "values from the results", value, reason)
    final = segment.expect.final
    for options in final.answers if final else ():
        if not contains_any(plain, options):
            reason = f"a question of the user stays open: none of {' | '.join(options)}"
            yield Finding("unanswered_question", LAYER, "final", " | ".join(options), short(answer), reason)
    own = [record for record in results if _belongs(record, segment)]
    yield from _failures(trace, segment, plain, own)
    yield from _recovery(trace, segment, answer, own)


def _belongs(record: CallRecord, segment: Segment) -> bool:
    """Whether a result came after the segment's user message: an error is admitted once, not ever after."""
    return record.turn >= segment.turns[0].index or (segment.index == 0 and record.turn < 0)


def _no_answer(segment: Segment) -> Iterator[Finding]:
    """A reply that breaks off after a tool result; a first reply like that is the decision's affair."""
    last = segment.turns[-1].decision if segment.turns else None
    if last is not None and len(segment.turns) > 1 and last.kind in ("invalid", "refusal"):
        at = f"turns[{segment.turns[-1].index}]"
        reason = f"no answer after the tool results: {last.reason or last.kind}"
        yield Finding("no_answer", LAYER, at, "an answer", last.reason or last.kind, reason)


def recovery_needed(trace: Trace, segment: Segment) -> bool:
    """Whether the last result before the segment's answer was an error."""
    results = results_of(trace, segment)
    return bool(results) and results[-1].result is not None and results[-1].result.is_error


def _facts(segment: Segment, plain: str) -> Iterator[Finding]:
    for options in segment.expect.final.facts if segment.expect.final else ():
        if not contains_any(plain, options):
            wanted = " | ".join(options)
            yield Finding("missing_fact", LAYER, "final", wanted, short(plain), f"not stated: {wanted}")


def _claims(trace: Trace, segment: Segment, answer: str, results: Sequence[CallRecord]) -> Iterator[Finding]:
    final = segment.expect.final
    named = set(final.no_claims) if final else set()
    succeeded = {record.tool for record in results if record.succeeded}
    for name, claim in trace.suite.rules.get("claims", {}).items():
        patterns = claim["patterns"].get(trace.lang, ())
        licence = claim.get("licensed_by")
        if name not in named and (licence is None or succeeded & set(licence)):
            continue
        sentence = asserted(answer, patterns, trace.lang)
        if sentence is not None:
            tools = " or ".join(licence or ()) or "any tool"
            reason = f"claims {name!r}, but no {tools} had succeeded"
            yield Finding(claim["code"], LAYER, "final", f"no claim {name}", short(sentence), reason)


def _failures(trace: Trace, segment: Segment, plain: str, results: Sequence[CallRecord]) -> Iterator[Finding]:
    """A failed tool that no later call made good must be admitted."""
    healed = {record.tool for record in results if record.succeeded}
    failed = [r for r in results if r.result is not None and r.result.is_error and r.tool not in healed]
    words = segment.expect.recovery.contains_any if segment.expect.recovery else ()
    if failed and not matches(plain, trace.lang, "failure") and not contains_any(plain, words):
        record = failed[-1]
        code = record.result.code if record.result else ""
        reason = f"{record.tool} failed with {code} and the answer does not say so"
        yield Finding("hidden_tool_failure", LAYER, "final", f"admit {code}", short(plain), reason)


def _recovery(
    trace: Trace, segment: Segment, answer: str, results: Sequence[CallRecord]
) -> Iterator[Finding]:
    expect = segment.expect.recovery
    if expect is None or not any(r.result and r.result.is_error for r in results):
        return
    if expect.kinds == ("clarification",) and not asks(answer, trace.lang):
        reason = "after the error the user had to be asked for something"
        yield Finding("wrong_recovery", LAYER, "final", "a question", short(answer), reason)
    elif expect.contains_any and not contains_any(normalize(answer), expect.contains_any):
        wanted = " | ".join(expect.contains_any)
        yield Finding("wrong_recovery", LAYER, "final", wanted, short(answer), f"none of: {wanted}")


def _invented(trace: Trace, segment: Segment, answer: str, results: Sequence[CallRecord]) -> Iterator[str]:
    """Yield identifiers and numbers of two and more digits that nobody gave."""
    said = [*trace.case.user_texts[: _user_messages(trace) + segment.index], str(dict(trace.case.context))]
    said += [record.result.content for record in results if record.result]
    said += [f"{record.arguments}" for record in trace.frozen]
    sources = normalize("\n".join(said))
    seen = set()
    for found in _CODE_LIKE.finditer(normalize(answer)):
        if not contains(sources, found.group(0)) and found.group(0) not in seen:
            seen.add(found.group(0))
            yield found.group(0)
    known = _numbers(sources) | _numbers(_grouped(sources))
    for found in _NUMBER.finditer(_grouped(_CODE_LIKE.sub(" ", normalize(answer)))):
        spelled = found.group(0)
        readings = _numbers(spelled) | _numbers(spelled.replace(",", ""))
        small = spelled.isdigit() and int(spelled) < 10
        if not small and spelled not in seen and not any(_given(one, spelled, known) for one in readings):
            seen.add(spelled)
            yield spelled


def _grouped(text: str) -> str:
    """Return text with the blanks inside long numbers taken out: "24 310,35" is one number."""
    return re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "", text)


def _numbers(text: str) -> set[float]:
    return {float(found.replace(",", ".")) for found in re.findall(r"\d+(?:[.,]\d+)?", text)}


def _given(value: float, spelled: str, known: set[float]) -> bool:
    """Whether a number was given, or is a given one rounded to the decimals it is written with."""
    _, point, places = spelled.replace(",", ".").partition(".")
    error = 0.5 * 10 ** -len(places) + 1e-9
    return value in known or any(
        abs(value - other) <= error for other in known if point or other >= ROUNDED_FROM
    )


def _user_messages(trace: Trace) -> int:
    return sum(message["role"] == "user" for message in trace.case.messages)
