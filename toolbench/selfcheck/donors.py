"""Other arguments that a tool would accept, for calls that must be valid and wrong.

Values come from the suite itself (expected calls, frozen histories, operations done before), then from the
expected value with other digits, then from words nobody says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.case import Case
from toolbench.domain.contract import ToolSpec
from toolbench.domain.suite import Suite
from toolbench.judging.normalizers import normalized, plain
from toolbench.selfcheck.oracle import Performance
from toolbench.selfcheck.rehearse import Proposal

STRANGE: Mapping[str, Sequence[JSON]] = {
    "string": (
        "qwertz", "Zyxwvut qwertz", "QZX", "Qzxwvut-qwertz: zyxwvut", "Pacific/Apia", "2031-03-17",
        "zyx@qwertz.test", "+70000000000",
    ),
    "number": (7391, 739.1, 73.91, 7.391, 0.7391, 3, 2, 1),
    "integer": (7391, 739, 73, 7, 3, 2, 1),
    "boolean": (True, False),
    "array": (["qwertz"], [7391], []),
    "object": ({},),
}  # fmt: skip
"""By JSON type: values that no user says and some schema accepts."""
SHIFTS = (3, 7, 4, 1)
"""What digits are turned by, modulo 10."""


class Donors:
    """Valid arguments for the tools of a suite, in one language."""

    def __init__(self, suite: Suite, lang: str) -> None:
        self._known: dict[str, dict[str, Mapping[str, JSON]]] = {}
        for case in suite.cases:
            if case.lang == lang:
                tools = suite.of(case).contract.by_name
                for tool, arguments in _calls(case):
                    # A frozen history may hold a mistake of the assistant on purpose.
                    if tool in tools and not tools[tool].issues(arguments):
                        self._known.setdefault(tool, {})[canonical_json(dict(arguments))] = arguments

    def known(self, tool: str) -> tuple[Mapping[str, JSON], ...]:
        """Return the valid arguments that the suite itself has for a tool."""
        return tuple(self._known.get(tool, {}).values())

    def calls(self, tool: ToolSpec, avoid: Performance) -> Iterator[Proposal]:
        """Yield valid calls of a tool that the performance (and its history) does not make."""
        made = {call.key for call in avoid.calls}
        made |= {Proposal(record.tool, record.arguments or {}).key for record in avoid.frozen}
        for arguments in (*self.known(tool.name), *self._synthetic(tool)):
            call = Proposal(tool.name, arguments)
            if call.key not in made:
                made.add(call.key)
                yield call

    def others(self, tool: ToolSpec, arguments: Mapping[str, JSON], name: str) -> Iterator[JSON]:
        """Yield other valid values of one argument, the likeliest mistakes first."""
        value = arguments.get(name)
        seen = {canonical_json(plain(value))} if name in arguments else set()
        for other in self._candidates(tool, name, value):
            key = canonical_json(plain(other))
            if key not in seen and not tool.issues({**arguments, name: other}):
                seen.add(key)
                yield other

    def _candidates(self, tool: ToolSpec, name: str, value: JSON) -> Iterator[JSON]:
        schema: Mapping[str, Any] = tool.properties.get(name, {})
        yield from schema.get("enum", ())
        for call in self.known(tool.name):
            if name in call:
                yield call[name]
        if isinstance(value, str):
            yield from (_shifted(value, shift) for shift in SHIFTS if any(map(str.isdigit, value)))
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield from (value + 1, value * 2, value - 1)
        kinds = schema.get("type", "string")
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            yield from STRANGE.get(kind, ())

    def _synthetic(self, tool: ToolSpec) -> Iterator[Mapping[str, JSON]]:
        """Yield arguments put together from values of equally named arguments of other tools."""
        pool: dict[str, list[JSON]] = {}
        for calls in self._known.values():
            for known in calls.values():
                for name, value in known.items():
                    pool.setdefault(name, []).append(value)
        arguments: dict[str, JSON] = {}
        for name in tool.required:
            options = (*pool.get(name, ()), *self._candidates(tool, name, None))
            arguments[name] = next((one for one in options if not _faults(tool, name, one)), None)
        if not tool.issues(arguments):
            yield arguments


def differs(tool: ToolSpec, name: str, value: JSON, expected: Sequence[JSON]) -> bool:
    """Whether a value is none of the expected ones, however spelled."""
    meant = normalized(tool, name, value)
    return not any(meant.meets(normalized(tool, name, good)) for good in expected)


def _faults(tool: ToolSpec, name: str, value: JSON) -> bool:
    return any(issue.keys[:1] == (name,) for issue in tool.issues({name: value}))


def _shifted(text: str, shift: int) -> str:
    return "".join(str((int(c) + shift) % 10) if c.isascii() and c.isdigit() else c for c in text)


def _calls(case: Case) -> Iterator[tuple[str, Mapping[str, JSON]]]:
    for expect in (case.expect, *(turn.expect for turn in case.turns)):
        yield from ((call.tool, call.arguments) for call in expect.calls)
    for message in case.messages:
        yield from ((call["name"], call["arguments"]) for call in message.get("tool_calls", ()))
    yield from ((done.tool, done.arguments) for done in case.policy.done)
