"""Arguments: syntax and structure (does it fit the schema?), then values (is it what was asked for?).

Syntax and structure never look at the expectation, values never at the schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from toolbench.domain.contract import ToolSpec
from toolbench.domain.validation import json_path
from toolbench.judging.matching import Match, Matching
from toolbench.judging.repairs import TierResult, tier_of
from toolbench.judging.trace import Finding, MadeCall, Segment, short


def check_arguments(segment: Segment) -> Iterator[Finding]:
    """Report every fault of every call's argument text and object, one code per kind."""
    for made in segment.calls:
        # What a repeated call says has been judged; how its reply ended has not.
        if not made.repeat or _cut_off(made):
            yield from argument_findings(made)


def argument_findings(made: MadeCall) -> Iterator[Finding]:
    """Report the faults of one call; a call of an unknown tool has no schema to be held against."""
    path = f"{made.path}.arguments"
    call = made.call
    if call.error is not None:
        detail = call.error_detail or call.error
        yield Finding(
            call.error,
            path=path,
            expected="one strict JSON object",
            actual=short(call.raw_arguments),
            reason=detail,
        )
        return
    if _cut_off(made):
        detail = "the reply ran into the token limit, so the call may not be whole"
        yield Finding(
            "truncated",
            path=path,
            expected="a finished reply",
            actual=short(call.raw_arguments),
            reason=detail,
        )
        return
    if made.tool is None:
        return
    for issue in made.tool.issues(call.arguments):
        where = path + json_path(issue.keys)
        stringified = _stringified(made.tool, issue.keys, call.arguments)
        note = " (a JSON text where the structure itself is due)" if stringified else ""
        reason = f"{issue.path}: {issue.actual} breaks {issue.expected}{note}"
        yield Finding(issue.code, path=where, expected=issue.expected, actual=issue.actual, reason=reason)


def tier(made: MadeCall) -> TierResult:
    """Return the validity tier of a call. Truncated calls are invalid whatever their text says."""
    if _cut_off(made):
        return TierResult("invalid")
    return tier_of(made.tool, made.call.raw_arguments, made.call.arguments)


def _cut_off(made: MadeCall) -> bool:
    return made.call.error == "truncated" or made.record.rejection == "TRUNCATED"


def check_values(segment: Segment, matching: Matching) -> Iterator[Finding]:
    """Report every argument of a matched call that is not as expected, by the case's own comparison."""
    for match in matching.matches:
        if match.made.call.error is None:
            yield from _value_findings(match)


def _value_findings(match: Match) -> Iterator[Finding]:
    # What breaks the schema, or something inside of it does, has been reported by its own code.
    tool = match.made.tool
    reported = {issue.keys[:1] for issue in tool.issues(match.made.call.arguments)} if tool else set()
    for mismatch in match.wrong:
        if (mismatch.argument,) in reported:
            continue
        path = f"{match.made.path}.arguments{json_path([mismatch.argument])}"
        expected = "absent" if mismatch.surplus else short(json.dumps(mismatch.expected, ensure_ascii=False))
        actual = "absent" if mismatch.missing else short(json.dumps(mismatch.actual, ensure_ascii=False))
        reason = f"{mismatch.argument} should be {expected}, the call says {actual}"
        yield Finding("argument_mismatch", path=path, expected=expected, actual=actual, reason=reason)


def _stringified(tool: ToolSpec, keys: Sequence[str | int], arguments: object) -> bool:
    if len(keys) != 1 or not isinstance(arguments, dict) or not isinstance(arguments.get(keys[0]), str):
        return False
    wanted = tool.properties.get(str(keys[0]), {}).get("type")
    return wanted in ("array", "object") and arguments[keys[0]].lstrip()[:1] in ("[", "{")
