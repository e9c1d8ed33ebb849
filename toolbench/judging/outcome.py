"""Outcome: what must not be called, and what the tools' world must look like in the end.

``forbidden_call`` is about proposals, carried out or not. ``missing_write``, ``wrong_write`` and
``forbidden_write`` are about what took effect (:mod:`toolbench.domain.world`), whatever the path to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolbench.domain.canonical import JSON
from toolbench.domain.case import ExpectedObject
from toolbench.domain.world import Written, changes, world
from toolbench.judging.trace import Finding, Segment, Trace, short
from toolbench.judging.values import fits_object, part_of

UNDONE = frozenset({"missing_write", "wrong_write", "forbidden_write"})
"""Codes that say that the end state was not reached."""


def check_forbidden(trace: Trace, segment: Segment) -> Iterator[Finding]:
    """Report calls that the case forbids by their arguments."""
    if trace.control:
        return
    for made in segment.calls:
        for forbidden in segment.expect.forbidden_calls:
            arguments = made.call.arguments or {}
            if made.repeat or made.call.name != forbidden.tool or not part_of(forbidden, arguments):
                continue
            told = short(dict(forbidden.arguments)) if forbidden.arguments else "any arguments"
            reason = f"this case forbids {made.call.name} with {told}"
            yield Finding(
                "forbidden_call",
                path=made.path,
                expected="no such call",
                actual=f"{made.call.name} {short(dict(arguments))}",
                reason=reason,
            )
            break


def check_end_state(trace: Trace) -> Iterator[Finding]:
    """Hold what was written against the end state of the case."""
    state = trace.case.end_state
    if state is None or trace.control:
        return
    tools, records = trace.suite.contract.by_name, trace.attempt.calls
    left = world(tools, records)
    missing = []
    for expected in state.written:
        found = next((one for one in left if _is(expected, one)), None)
        if found is None:
            missing.append(expected)
        else:
            left.remove(found)
    for expected in missing:
        # An object of the kind that nobody asked for is the wrong one rather than one more.
        other = next((one for one in left if one.object == expected.object), None)
        if other is not None:
            left.remove(other)
        yield _undone(expected, other)
    barred = {
        one.call: one for _, one in changes(tools, records) if any(_is(never, one) for never in state.never)
    }
    if state.nothing_else:
        barred |= {one.call: one for one in left}
    for _, one in sorted(barred.items()):
        reason = f"{_shown(one.object, one.fields)} was written, which this case rules out"
        yield Finding(
            "forbidden_write",
            path=f"calls[{one.call}]",
            expected="nothing of the kind",
            actual=short(dict(one.fields)),
            reason=reason,
        )


def _is(expected: ExpectedObject, one: Written) -> bool:
    return expected.object == one.object and fits_object(expected, one.fields)


def _undone(expected: ExpectedObject, other: Written | None) -> Finding:
    due = _shown(expected.object, expected.fields)
    if other is None:
        reason = f"{due} was to be written and is not there in the end"
        return Finding("missing_write", path="world", expected=due, actual="nothing", reason=reason)
    actual = short(dict(other.fields))
    reason = f"{due} was to be written; what is there in the end is {actual}"
    return Finding("wrong_write", path=f"calls[{other.call}]", expected=due, actual=actual, reason=reason)


def _shown(kind: str, fields: Mapping[str, JSON]) -> str:
    return f"{kind} {short(dict(fields))}"
