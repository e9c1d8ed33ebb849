"""Selection: the right tools, all of them, no others, in the allowed number a turn.

``unknown_tool``, ``wrong_tool``, ``missing_call``, ``extra_call``, ``forbidden_tool``, ``parallel_policy``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from toolbench.judging.matching import Matching
from toolbench.judging.trace import Finding, Segment, Trace


def check_selection(trace: Trace, segment: Segment, matching: Matching) -> Iterator[Finding]:
    """Judge the set of called tools of a segment in which a call was right and was made."""
    expect = segment.expect
    if not segment.calls or not expect.call_allowed or trace.control:
        return
    wanted = ", ".join(call.named for call in expect.calls) or "any tool on offer"
    forbidden = set(expect.forbidden_tools)
    wrong = 0
    for made in segment.calls:
        if made.repeat:
            continue
        if made.tool is None:
            reason = f"{made.call.name!r} is not among the tools on offer"
            yield Finding(
                "unknown_tool", path=made.path, expected=wanted, actual=made.call.name, reason=reason
            )
        elif made.call.name in forbidden:
            reason = f"{made.call.name} is forbidden in this case"
            yield Finding(
                "forbidden_tool", path=made.path, expected=wanted, actual=made.call.name, reason=reason
            )
        elif made in matching.extra and expect.calls:
            expected_here = any(made.call.name in call.tools for call in expect.calls)
            if matching.missing and not expected_here and wrong < len(matching.missing):
                wrong += 1
                due = matching.missing[wrong - 1].named
                yield Finding(
                    "wrong_tool",
                    path=made.path,
                    expected=due,
                    actual=made.call.name,
                    reason=f"{due} was due here",
                )
            elif not made.repeat:
                reason = f"{made.call.name} was not needed (once more)" if expected_here else "not needed"
                yield Finding(
                    "extra_call", path=made.path, expected=wanted, actual=made.call.name, reason=reason
                )
    unanswered = matching.missing[wrong + sum(made.tool is None for made in matching.extra) :]
    for call in unanswered:
        yield Finding(
            "missing_call",
            path="calls",
            expected=call.named,
            actual="no such call",
            reason=f"{call.named} was not called",
        )
    yield from _parallel(trace, segment)


def _parallel(trace: Trace, segment: Segment) -> Iterator[Finding]:
    policy = segment.expect.parallel or trace.suite.rules.parallel
    per_turn = Counter(made.turn for made in segment.calls)
    if policy == "forbidden":
        for turn, number in per_turn.items():
            if number > 1:
                reason = f"{number} calls in one turn, one a turn is the declared policy"
                yield Finding(
                    "parallel_policy",
                    path=f"turns[{turn}]",
                    expected="1 call",
                    actual=f"{number} calls",
                    reason=reason,
                )
    elif (
        policy == "required"
        and len(segment.expect.calls) > 1
        and trace.condition.parallel_tool_calls is not False
    ):
        first = per_turn[segment.turns[0].index]
        needed = sum(call.at_least for call in segment.expect.calls)
        if first < needed:
            reason = f"{first} of {needed} calls in the first turn, all at once is the declared policy"
            path = f"turns[{segment.turns[0].index}]"
            yield Finding(
                "parallel_policy",
                path=path,
                expected=f"{needed} calls",
                actual=f"{first} calls",
                reason=reason,
            )
