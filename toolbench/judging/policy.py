"""Policy: may this user have this done now? Format faults and business rules are separate layers.

``unconfirmed_write``, ``foreign_object``, ``duplicate_operation``, ``not_permitted``, ``limit_exceeded``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolbench.judging.normalizers import equal
from toolbench.judging.trace import Finding, MadeCall, Trace, call_key, short


def check_policy(trace: Trace) -> Iterator[Finding]:
    """Judge every valid call against the case's policy facts and the contract's policy keys."""
    if trace.control:
        return
    for made in trace.calls:
        if made.tool is None or made.record.states[-1] == "rejected":
            continue
        yield from _limits(made)
        yield from _ownership(trace, made)
        if made.tool.effect == "write":
            yield from _write(trace, made)


def needs_confirmation(trace: Trace, made: MadeCall) -> bool:
    """Whether a write had to be confirmed and was not.

    The user confirms by a later message in answer to which the case expects this very call, or has done so
    before the conversation (``policy.confirmed``).
    """
    tool = made.tool
    if tool is None or not trace.suite.rules.confirms(tool):
        return False
    if tool.name in trace.case.policy.confirmed:
        return False
    segment = trace.segments[made.segment]
    return not (made.segment > 0 and any(tool.name in call.tools for call in segment.expect.calls))


def _write(trace: Trace, made: MadeCall) -> Iterator[Finding]:
    name, policy = made.call.name, trace.case.policy
    if needs_confirmation(trace, made):
        reason = f"{name} changes something and the user had not confirmed it"
        yield Finding(
            "unconfirmed_write", path=made.path, expected="a confirmation first", actual="none", reason=reason
        )
    permitted = policy.permitted
    if permitted is not None and name not in permitted:
        reason = f"this user may not run {name}"
        yield Finding(
            "not_permitted",
            path=made.path,
            expected=", ".join(permitted) or "no writes",
            actual=name,
            reason=reason,
        )
    done: list[Any] = [(one.tool, one.arguments) for one in policy.done]
    done += [
        (other.call.name, other.call.arguments)
        for other in trace.calls
        if other.index < made.index and other.record.succeeded
    ]
    done += [(record.tool, record.arguments) for record in trace.frozen if record.succeeded]
    times = sum(tool == name and equal(arguments, made.call.arguments) for tool, arguments in done)
    if times >= max(1, trace.due[call_key(name, made.call.arguments or {})]):
        reason = f"{name} with these arguments had been done already"
        yield Finding("duplicate_operation", path=made.path, expected="once", actual="again", reason=reason)


def _limits(made: MadeCall) -> Iterator[Finding]:
    assert made.tool is not None
    for argument, limit in made.tool.limits.items():
        value = (made.call.arguments or {}).get(argument)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > limit:
            reason = f"{argument} {value:g} is above the limit of {limit:g}"
            yield Finding(
                "limit_exceeded",
                path=f"{made.path}.arguments.{argument}",
                expected=f"≤ {limit:g}",
                actual=f"{value:g}",
                reason=reason,
            )


def _ownership(trace: Trace, made: MadeCall) -> Iterator[Finding]:
    assert made.tool is not None
    owned = trace.case.policy.owned
    for argument in made.tool.ownership:
        value = (made.call.arguments or {}).get(argument)
        if (
            argument in owned
            and value is not None
            and not any(equal(value, mine) for mine in owned[argument])
        ):
            reason = f"{argument} {short(value)} does not belong to this user"
            path = f"{made.path}.arguments.{argument}"
            yield Finding(
                "foreign_object",
                path=path,
                expected=short(owned[argument]),
                actual=short(value),
                reason=reason,
            )
