"""Which made call answers which expected call.

Every expected call is matched at most once, and so is every made call: as many as can be are right by the
case's own comparison, of these as many as can be exactly, the others with as few wrong arguments, in order.
A call that was rejected for its arguments and made again correctly is a corrected try, and the same call once
more is a repeat: neither is right or superfluous (the order check counts repeats).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from toolbench.domain.canonical import JSON
from toolbench.domain.case import ExpectedCall
from toolbench.domain.contract import ToolSpec
from toolbench.judging.normalizers import equal, identical, normalized
from toolbench.judging.trace import MadeCall, Segment

Same = Callable[[str, JSON, JSON], bool]
"""Whether an argument's actual value is as good as an expected one."""


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
    """An expected call and the made call that answers it.

    Attributes
    ----------
    exact, normalized
        What differs character by character, and after normalisation.
    wrong
        What differs by the case's own comparison; texts that differ in Unicode form alone are the same.
    """

    expected: ExpectedCall
    made: MadeCall
    exact: tuple[Mismatch, ...]
    normalized: tuple[Mismatch, ...]
    wrong: tuple[Mismatch, ...]


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
    tools = dict.fromkeys(expected.tool for expected in segment.expect.calls)
    for tool in tools:
        due = [expected for expected in segment.expect.calls if expected.tool == tool]
        result.matches += _assigned(due, [made for made in segment.calls if made.call.name == tool])
    taken = {match.made.index for match in result.matches}
    answered_for = {id(match.expected) for match in result.matches}
    open_calls = [made for made in segment.calls if made.index not in taken]
    result.missing = [expected for expected in segment.expect.calls if id(expected) not in answered_for]
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


def _assigned(due: Sequence[ExpectedCall], calls: Sequence[MadeCall]) -> list[Match]:
    """Return the best matches of the expected and the made calls of one tool."""
    if not calls:
        return []
    table = [[compare(expected, made) for made in calls] for expected in due]
    if len(due) == len(calls) == 1:
        return table[0]
    # A second of a call takes longer to import than to match: only where there is a choice.
    from scipy.optimize import linear_sum_assignment

    costs = [
        [_cost(match, row - column) for column, match in enumerate(line)] for row, line in enumerate(table)
    ]
    rows, columns = linear_sum_assignment(costs)
    return [table[row][column] for row, column in zip(rows, columns, strict=True)]


_STEP = 1e4
"""How much more each criterion weighs than all that come after it together."""


def _cost(match: Match, out_of_order: int) -> float:
    criteria = (bool(match.wrong), bool(match.exact), len(match.wrong), out_of_order**2)
    return sum(float(value) * _STEP**weight for weight, value in enumerate(reversed(criteria)))


def compare(expected: ExpectedCall, made: MadeCall) -> Match:
    """Compare arguments strictly and after normalisation; an unreadable object mismatches everywhere."""
    arguments, tool = made.call.arguments, made.tool
    if arguments is None:
        whole = (Mismatch("", dict(expected.arguments), made.call.raw_arguments),)
        return Match(expected, made, whole, whole, whole)

    def meant(name: str, actual: JSON, good: JSON) -> bool:
        if tool is None:
            return equal(actual, good)
        return normalized(tool, name, actual).meets(normalized(tool, name, good))

    def differing(same: Same) -> tuple[Mismatch, ...]:
        return tuple(_mismatches(expected, arguments, tool, same))

    exact = differing(lambda _, actual, good: identical(actual, good))
    if not exact:
        return Match(expected, made, (), (), ())
    normal = differing(meant)
    by_case = normal if expected.match == "normalized" else differing(lambda _, a, b: equal(a, b))
    return Match(expected, made, exact, normal, by_case)


def _mismatches(
    expected: ExpectedCall, arguments: Mapping[str, JSON], tool: ToolSpec | None, same: Same
) -> Iterator[Mismatch]:
    """Yield the arguments that differ. One that is left out has the schema's default, on both sides."""
    defaults = {
        name: schema["default"]
        for name, schema in (tool.properties if tool else {}).items()
        if isinstance(schema, dict) and "default" in schema
    }
    given = {**defaults, **arguments}
    for name, value in expected.arguments.items():
        if name not in arguments and name in expected.optional:
            continue
        if name not in given:
            yield Mismatch(name, value, None, missing=True)
        elif not any(same(name, given[name], good) for good in (value, *expected.accept.get(name, ()))):
            yield Mismatch(name, value, arguments.get(name), missing=name not in arguments)
    for name, actual in arguments.items():
        if name in expected.arguments or name in expected.optional:
            continue
        if name not in defaults or not equal(defaults[name], actual):
            yield Mismatch(name, None, actual, surplus=True)
