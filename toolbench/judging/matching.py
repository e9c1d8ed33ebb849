"""Which made call answers which expected call.

Every expected call is matched at most once, and so is every made call: as many as can be are right by the
case's own comparison, of these as many as can be exactly, the others with as few wrong arguments, in order.
A call that was rejected for its arguments and made again correctly is a corrected try, and the same call once
more is a repeat: neither is right or superfluous (the order check counts repeats). Where only the end state
counts, calls on the way to it are free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from toolbench.domain.canonical import JSON
from toolbench.domain.case import ExpectedCall
from toolbench.domain.contract import ToolSpec
from toolbench.judging.normalizers import equal, identical, normalized
from toolbench.judging.trace import MadeCall, Segment
from toolbench.judging.values import Wanted

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
    entry
        What the case lists the call under, where several calls are as good.
    """

    expected: ExpectedCall
    made: MadeCall
    exact: tuple[Mismatch, ...]
    normalized: tuple[Mismatch, ...]
    wrong: tuple[Mismatch, ...]
    entry: ExpectedCall


@dataclass
class Matching:
    """Result for one segment."""

    matches: list[Match] = field(default_factory=list)
    missing: list[ExpectedCall] = field(default_factory=list)
    extra: list[MadeCall] = field(default_factory=list)
    corrected: list[MadeCall] = field(default_factory=list)
    repeats: list[MadeCall] = field(default_factory=list)
    free: list[MadeCall] = field(default_factory=list)


def match_calls(segment: Segment) -> Matching:
    """Match the calls of a segment with its expectation."""
    result = Matching()
    for entries in _rivals(segment.expect.calls):
        tools = {tool for entry in entries for tool in entry.tools}
        result.matches += _assigned(entries, [made for made in segment.calls if made.call.name in tools])
    taken = {match.made.index for match in result.matches}
    filled = Counter(id(match.entry) for match in result.matches)
    open_calls = [made for made in segment.calls if made.index not in taken]
    result.missing = [
        entry for entry in segment.expect.calls for _ in range(entry.at_least - filled[id(entry)])
    ]
    answered = {match.expected.tool: match.made.index for match in result.matches}
    for made in open_calls:
        if made.repeat:
            result.repeats.append(made)
        elif made.record.rejection is not None and answered.get(made.call.name, -1) > made.index:
            result.corrected.append(made)
        elif segment.free and made.tool is not None:
            result.free.append(made)
        else:
            result.extra.append(made)
    result.matches.sort(key=lambda match: match.made.index)
    return result


def _rivals(entries: Sequence[ExpectedCall]) -> list[list[ExpectedCall]]:
    """Return the expected calls in groups of which no two want calls of the same tool."""
    groups: list[list[ExpectedCall]] = []
    for entry in entries:
        mine = [group for group in groups if {*entry.tools} & {tool for one in group for tool in one.tools}]
        groups = [group for group in groups if group not in mine]
        groups.append([*(one for group in mine for one in group), entry])
    return groups


def _assigned(entries: Sequence[ExpectedCall], calls: Sequence[MadeCall]) -> list[Match]:
    """Return the best matches of expected and made calls that compete for each other.

    An expected call has as many places as it may be made; those that must be filled come first.
    """
    if not calls:
        return []
    rows = {id(entry): [_best(entry, made) for made in calls] for entry in entries}
    places = [(entry, True) for entry in entries for _ in range(entry.at_least)]
    places += [
        (entry, False)
        for entry in entries
        for _ in range(len(calls) if entry.at_most is None else entry.at_most - entry.at_least)
    ]
    table = [rows[id(entry)] for entry, _ in places]
    if len(places) == len(calls) == 1:
        return [match for match in table[0] if match is not None]
    # A second of a call takes longer to import than to match: only where there is a choice.
    from scipy.optimize import linear_sum_assignment

    costs = [
        [_cost(match, needed, row - column) for column, match in enumerate(line)]
        for row, (line, (_, needed)) in enumerate(zip(table, places, strict=True))
    ]
    chosen = zip(*linear_sum_assignment(costs), strict=True)
    return [match for row, column in chosen if (match := table[row][column]) is not None]


def _best(entry: ExpectedCall, made: MadeCall) -> Match | None:
    """Return a made call beside the best of the calls that are as good; ``None`` where no tool fits."""
    found = [compare(one, made, entry) for one in entry.alternatives if one.tool == made.call.name]
    return min(found, key=lambda match: _cost(match, True, 0), default=None)


_STEP = 1e4
"""How much more each criterion weighs than all that come after it together."""
_IMPOSSIBLE = 1e15
_OPTIONAL = 100
"""Arguments that may be wrong before a call is taken for one that need not be made."""


def _cost(match: Match | None, needed: bool, out_of_order: int) -> float:
    if match is None:
        return _IMPOSSIBLE
    wrong = len(match.wrong) + (0 if needed else _OPTIONAL)
    criteria = (bool(match.wrong), bool(match.exact), wrong, out_of_order**2)
    return sum(float(value) * _STEP**weight for weight, value in enumerate(reversed(criteria)))


def compare(expected: ExpectedCall, made: MadeCall, entry: ExpectedCall) -> Match:
    """Compare arguments strictly and after normalisation; an unreadable object mismatches everywhere."""
    arguments, tool = made.call.arguments, made.tool
    if arguments is None:
        whole = (Mismatch("", dict(expected.arguments), made.call.raw_arguments),)
        return Match(expected, made, whole, whole, whole, entry)

    def meant(name: str, actual: JSON, good: JSON) -> bool:
        if tool is None:
            return equal(actual, good)
        return normalized(tool, name, actual).meets(normalized(tool, name, good))

    def differing(same: Same) -> tuple[Mismatch, ...]:
        return tuple(_mismatches(expected, arguments, tool, same))

    exact = differing(lambda _, actual, good: identical(actual, good))
    if not exact:
        return Match(expected, made, (), (), (), entry)
    normal = differing(meant)
    by_case = normal if expected.match == "normalized" else differing(lambda _, a, b: equal(a, b))
    return Match(expected, made, exact, normal, by_case, entry)


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
        elif not Wanted(expected.accept, expected.optional, expected.compare, partial(same, name)).fits(
            given[name], value, name
        ):
            yield Mismatch(name, value, arguments.get(name), missing=name not in arguments)
    for name, actual in arguments.items():
        if name in expected.arguments or name in expected.optional:
            continue
        if name not in defaults or not equal(defaults[name], actual):
            yield Mismatch(name, None, actual, surplus=True)
