"""Which made call answers which expected call.

Every expected call is matched at most once, and so is every made call: first those with exactly the
expected arguments, then those that are equal after normalisation, then by tool name in order. A call that
was rejected for its arguments and made again correctly is a corrected try, and the same call once more is a
repeat: neither is right or superfluous (the order check counts repeats).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from toolbench.domain.canonical import JSON
from toolbench.domain.case import ExpectedCall
from toolbench.domain.contract import ToolSpec
from toolbench.judging.normalizers import equal, normalized, plain
from toolbench.judging.trace import MadeCall, Segment

MISSING = object()


@dataclass(frozen=True)
class Mismatch:
    """One argument that is not as expected."""

    argument: str
    expected: JSON
    actual: JSON
    missing: bool = False
    surplus: bool = False


@dataclass(frozen=True)
class Match:
    """An expected call and the made call that answers it."""

    expected: ExpectedCall
    made: MadeCall
    exact: tuple[Mismatch, ...]
    normalized: tuple[Mismatch, ...]


@dataclass
class Matching:
    """Result for one segment."""

    matches: list[Match] = field(default_factory=list)
    missing: list[ExpectedCall] = field(default_factory=list)
    extra: list[MadeCall] = field(default_factory=list)
    corrected: list[MadeCall] = field(default_factory=list)
    repeats: list[MadeCall] = field(default_factory=list)


def match_calls(segment: Segment) -> Matching:
    """Match the calls of a segment with its expectation."""
    result = Matching()
    open_calls = list(segment.calls)
    waiting = list(segment.expect.calls)
    rounds: tuple[Callable[[Match], bool], ...] = (
        lambda match: not match.exact,
        lambda match: not match.normalized,
        lambda match: True,
    )
    for accept in rounds:
        for expected in list(waiting):
            candidates = (compare(expected, made) for made in open_calls if made.call.name == expected.tool)
            found = next((match for match in candidates if accept(match)), None)
            if found is not None:
                result.matches.append(found)
                waiting.remove(expected)
                open_calls.remove(found.made)
    result.missing = waiting
    answered = {match.expected.tool: match.made.index for match in result.matches}
    for made in open_calls:
        if made.repeat:
            result.repeats.append(made)
        elif made.record.rejection is not None and answered.get(made.call.name, -1) > made.index:
            result.corrected.append(made)
        else:
            result.extra.append(made)
    result.matches.sort(key=lambda match: match.made.index)
    return result


def compare(expected: ExpectedCall, made: MadeCall) -> Match:
    """Compare arguments strictly and after normalisation; an unreadable object mismatches everywhere."""
    arguments = made.call.arguments
    if arguments is None:
        whole = (Mismatch("", dict(expected.arguments), made.call.raw_arguments),)
        return Match(expected, made, whole, whole)
    tool = made.tool
    return Match(
        expected,
        made,
        tuple(_mismatches(expected, arguments, tool, lambda name, value: plain(value))),
        tuple(
            _mismatches(
                expected,
                arguments,
                tool,
                lambda name, value: normalized(tool, name, value) if tool else plain(value),
            )
        ),
    )


def _mismatches(
    expected: ExpectedCall,
    arguments: Mapping[str, JSON],
    tool: ToolSpec | None,
    view: Callable[[str, JSON], JSON],
) -> list[Mismatch]:
    found = []
    for name, value in expected.arguments.items():
        if name not in arguments:
            if name not in expected.optional:
                found.append(Mismatch(name, value, None, missing=True))
            continue
        actual = view(name, arguments[name])
        if not any(equal(actual, view(name, good)) for good in (value, *expected.accept.get(name, ()))):
            found.append(Mismatch(name, value, arguments[name]))
    for name in arguments:
        if name not in expected.arguments and name not in expected.optional:
            schema = tool.properties.get(name, {}) if tool else {}
            default = schema.get("default", MISSING)
            if default is MISSING or not equal(default, arguments[name]):
                found.append(Mismatch(name, None, arguments[name], surplus=True))
    return found
