"""Order: were the steps taken in an allowed sequence? The rules are data (``rules.json``).

``forbidden_early_call`` (a needed step had not been taken yet), ``skipped_step`` (part of what is needed was
left out), ``repeated_call``, ``race_before_result``, ``wrong_branch_after_error``,
``call_after_empty_result``, ``wrong_order``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolbench.domain.canonical import JSON
from toolbench.domain.record import CallRecord
from toolbench.domain.rules import Rules
from toolbench.judging.matching import Matching
from toolbench.judging.normalizers import equal, plain
from toolbench.judging.trace import Finding, MadeCall, Segment, Trace, short


def check_order(trace: Trace) -> Iterator[Finding]:
    """Judge the sequence of all calls of an attempt against the suite's rules."""
    rules = trace.suite.rules
    if trace.control:
        return
    for position, made in enumerate(trace.calls):
        if made.tool is None or made.repeat:
            continue
        earlier = trace.calls[:position]
        yield from _required(rules, trace, made)
        yield from _transition(rules, trace, made, earlier)
        yield from _after_error(rules, trace, made)
        yield from _after_empty(rules, trace, made)
        yield from _source(rules, trace, made)
    yield from _repeats(trace)


def check_expected_order(segment: Segment, matching: Matching) -> Iterator[Finding]:
    """Judge a case's own ``order: strict``: matched calls must come in the expected sequence."""
    if segment.expect.order != "strict":
        return
    rank = {id(call): position for position, call in enumerate(segment.expect.calls)}
    previous = -1
    for match in matching.matches:
        position = rank[id(match.entry)]
        if position < previous:
            due = " → ".join(call.named for call in segment.expect.calls)
            reason = f"{match.expected.tool} came after a step that should follow it"
            yield Finding(
                "wrong_order", path=match.made.path, expected=due, actual=match.expected.tool, reason=reason
            )
        previous = max(previous, position)


def _succeeded(trace: Trace, turn: int) -> list[CallRecord]:
    return [record for record in trace.results_before(turn) if record.succeeded]


def _required(rules: Rules, trace: Trace, made: MadeCall) -> Iterator[Finding]:
    needed = rules.needed(made.call.name)
    done = {record.tool for record in _succeeded(trace, made.turn)}
    missing = [tool for tool in needed if tool not in done]
    if not missing:
        return
    together = {other.call.name for other in trace.calls if other.turn == made.turn}
    expected = " and ".join(needed) + " before it"
    if set(missing) <= together:
        reason = f"{made.call.name} was called together with {', '.join(missing)}, whose result it needs"
        yield Finding(
            "race_before_result", path=made.path, expected=expected, actual=made.call.name, reason=reason
        )
        return
    code = "skipped_step" if len(missing) < len(needed) else "forbidden_early_call"
    reason = f"{made.call.name} was called before {', '.join(missing)} had succeeded"
    yield Finding(code, path=made.path, expected=expected, actual=made.call.name, reason=reason)


def _transition(rules: Rules, trace: Trace, made: MadeCall, earlier: Sequence[MadeCall]) -> Iterator[Finding]:
    before = [other for other in earlier if other.turn < made.turn and other.tool is not None]
    last = before[-1].call.name if before else (trace.frozen[-1].tool if trace.frozen else "START")
    allowed = rules.transitions.get(last)
    # The case's own tools are in no rule; a missing predecessor is reported once, by the rule that names it.
    if allowed is None or made.call.name in {*allowed, *trace.case.brought} or rules.needed(made.call.name):
        return
    reason = f"{made.call.name} may not follow {last}"
    expected = ", ".join(allowed) or "no further call"
    yield Finding(
        "forbidden_early_call", path=made.path, expected=expected, actual=made.call.name, reason=reason
    )


@dataclass(frozen=True)
class Repeats:
    """Equal calls of which some were one too many: how many there are, and those beyond what is allowed."""

    total: int
    allowed: int
    excess: tuple[MadeCall, ...]


def repeats(trace: Trace) -> Iterator[Repeats]:
    """Yield each group of equal calls that is too large, frozen calls counted as well."""
    groups: dict[tuple[str, str, bool], list[MadeCall]] = {}
    for made in trace.calls:
        groups.setdefault(made.key, []).append(made)
    writes = [made.index for made in trace.calls if _changed_state(made)]
    for key, calls in groups.items():
        name, arguments = calls[0].call.name, calls[0].call.arguments
        frozen = [r for r in trace.frozen if r.tool == name and _same(r.arguments, arguments)]
        limit = max(trace.suite.rules.polling(name).max, trace.due[key])
        count, previous = len(frozen), -1
        excess = []
        for made in calls:
            # A successful write in between may have changed what the same question answers.
            count = 1 if count and any(previous < index < made.index for index in writes) else count + 1
            previous = made.index
            if count > limit:
                excess.append(made)
        if excess:
            yield Repeats(len(calls) + len(frozen), limit, tuple(excess))


def _repeats(trace: Trace) -> Iterator[Finding]:
    """Report each group once, at the first call that is one too many, with the full number."""
    for group in repeats(trace):
        first = group.excess[0]
        told = f"{first.call.name} was called with the same arguments {group.total} times"
        yield Finding(
            "repeated_call",
            path=first.path,
            expected=f"at most {group.allowed}",
            actual=f"{group.total} times",
            reason=f"{told} and nothing had changed in between",
        )


def _changed_state(made: MadeCall) -> bool:
    return made.tool is not None and made.tool.effect == "write" and made.record.succeeded


def _same(left: JSON, right: JSON) -> bool:
    return left is not None and right is not None and equal(left, right)


def _after_error(rules: Rules, trace: Trace, made: MadeCall) -> Iterator[Finding]:
    for record in trace.results_before(made.turn):
        result = record.result
        if result is None or not result.is_error or result.code is None:
            continue
        stopped = {*rules.stop_after_error.get(result.code, ()), *_barred(trace, made, record)}
        if made.call.name in stopped and not _is_copy(record, made):
            reason = f"after {result.code} from {record.tool}, {made.call.name} must not be called"
            yield Finding(
                "wrong_branch_after_error",
                path=made.path,
                expected="no such call",
                actual=made.call.name,
                reason=reason,
            )
            return


def _barred(trace: Trace, made: MadeCall, record: CallRecord) -> Sequence[str]:
    """Return what the case itself forbids after an error; a rejected call may be made again, put right."""
    segment = trace.segments[made.segment]
    recovery = segment.expect.recovery
    return recovery.forbidden_tools if recovery and record.rejection is None and segment.owns(record) else ()


def _is_copy(record: CallRecord, made: MadeCall) -> bool:
    """Whether it is the same call again: that is reported as ``repeated_call``."""
    return record.tool == made.call.name and _same(record.arguments, made.call.arguments)


def _after_empty(rules: Rules, trace: Trace, made: MadeCall) -> Iterator[Finding]:
    for tool, forbidden in rules.stop_after_empty.items():
        last = [record for record in _succeeded(trace, made.turn) if record.tool == tool]
        if made.call.name in forbidden and last and last[-1].result and is_empty(last[-1].result.value):
            reason = f"{tool} had found nothing, so {made.call.name} has nothing to work on"
            yield Finding(
                "call_after_empty_result",
                path=made.path,
                expected="no such call",
                actual=made.call.name,
                reason=reason,
            )
    for rule in rules.unless.get(made.call.name, ()):
        values = [
            value
            for record in _succeeded(trace, made.turn)
            if record.tool == rule.tool and record.result
            for value in values_at(record.result.value, rule.path)
        ]
        if values and not any(equal(value, rule.equals) for value in values):
            expected = f"{rule.source} = {short(rule.equals)}"
            reason = f"{made.call.name} was called although {rule.source} was {short(values[-1])}"
            yield Finding(
                "wrong_branch_after_error",
                path=made.path,
                expected=expected,
                actual=short(values[-1]),
                reason=reason,
            )


def is_empty(value: JSON) -> bool:
    """Whether a result holds nothing: no value, or an object of empty ones."""
    if isinstance(value, dict):
        return not value or all(inner in ([], {}, None, "", 0) for inner in value.values())
    return not value


def _source(rules: Rules, trace: Trace, made: MadeCall) -> Iterator[Finding]:
    """An argument that must come from an earlier result does not: the step in between was skipped."""
    needs = rules.depends_on_result.get(made.call.name, {})
    if set(rules.needed(made.call.name)) - {r.tool for r in _succeeded(trace, made.turn)}:
        return
    for argument, source in needs.items():
        given = (made.call.arguments or {}).get(argument)
        offered = [
            value
            for record in _succeeded(trace, made.turn)
            if record.tool == source.tool and record.result
            for value in values_at(record.result.value, source.path)
        ]
        if given is not None and not any(equal(given, value) for value in offered):
            expected = f"a value of {source}: {short(plain(offered))}"
            reason = f"{argument} is not what {source} returned"
            yield Finding(
                "ungrounded_argument",
                path=f"{made.path}.arguments.{argument}",
                expected=expected,
                actual=short(given),
                reason=reason,
                layer="order",
            )


def values_at(value: JSON, path: str) -> list[JSON]:
    """Return the values at a dotted path; ``[]`` after a name stands for every item of a list."""
    found = [value]
    for step in filter(None, path.split(".")):
        name = step.removesuffix("[]")
        found = [inner[name] for inner in found if isinstance(inner, dict) and name in inner]
        if step.endswith("[]"):
            found = [item for inner in found if isinstance(inner, list) for item in inner]
    return found
