"""Playing a tool script: which rule answers a call, and which of its results is next."""

from __future__ import annotations

from collections.abc import Mapping

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.patterns import pattern
from toolbench.domain.tool_script import ScriptedResult, ToolScript


class Playback:
    """A suite's script with the memory of one attempt: how far each rule's sequence has been played."""

    def __init__(self, script: ToolScript) -> None:
        self._rules = script.rules
        self._played: dict[int, int] = {}
        self._last: dict[int, float] = {}

    def rule(self, tool: str, arguments: Mapping[str, JSON]) -> int | None:
        """Return the position of the first rule for a call, or ``None``."""
        for index, rule in enumerate(self._rules):
            if rule.recorded and one_spelling(dict(rule.when)) != one_spelling(dict(arguments)):
                continue
            if rule.tool == tool and all(
                _matches(wanted, arguments.get(name)) for name, wanted in rule.when.items()
            ):
                return index
        return None

    def recorded(self, rule: int) -> bool:
        """Whether a rule's results are answered word by word."""
        return self._rules[rule].recorded

    def free_at(self, rule: int) -> float:
        """Return the virtual second from which a rule may be played again (``every_seconds``)."""
        if rule not in self._last:
            return 0.0
        return self._last[rule] + float(self._rules[rule].every_seconds)

    def next_result(self, rule: int, clock: float) -> ScriptedResult:
        """Return the next result of a rule's sequence; the last one repeats."""
        results = self._rules[rule].results
        position = self._played.get(rule, 0)
        self._played[rule] = position + 1
        self._last[rule] = clock
        return results[min(position, len(results) - 1)]


def _matches(wanted: JSON, given: JSON) -> bool:
    if isinstance(wanted, dict) and set(wanted) == {"pattern"} and isinstance(wanted["pattern"], str):
        return isinstance(given, str) and pattern(wanted["pattern"]).search(given)
    return canonical_json(one_spelling(wanted)) == canonical_json(one_spelling(given))


def one_spelling(value: JSON) -> JSON:
    """Return a value with whole numbers as integers: 2 and 2.0 are one argument."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: one_spelling(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [one_spelling(inner) for inner in value]
    return value


def filled(value: JSON, arguments: Mapping[str, JSON]) -> JSON:
    """Put arguments into a scripted result: the string ``$name`` becomes the argument's value."""
    if isinstance(value, str) and value.startswith("$"):
        return arguments.get(value[1:], value)
    if isinstance(value, dict):
        return {key: filled(inner, arguments) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, arguments) for inner in value]
    return value
