"""What wanted calls come to: which of them may be made, with which arguments, and what they answer.

The calls a user wants are played in order through the executor script. A call is left out where the suite's
rules, the contract or the case's policy forbid it after what came before; nothing else decides that a chain
ends early.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.authoring.slots import Row, fill
from toolbench.authoring.spellings import statements
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.case import Permissions
from toolbench.domain.contract import Contract
from toolbench.domain.rules import Branch, Rules
from toolbench.domain.tool_script import ToolScript
from toolbench.errors import SuiteError
from toolbench.judging.order import is_empty, values_at
from toolbench.running.executor import Executor

Call = Mapping[str, Any]


@dataclass(frozen=True)
class Book:
    """A suite's rules for making cases, in one language."""

    data: Mapping[str, Any]
    contract: Contract
    executor: ToolScript
    rules: Rules
    lang: str
    seed: int

    def wording(self, name: str, rows: Mapping[str, Row]) -> list[str]:
        """Return the alternatives of a wording: this language's, then English (results are in English)."""
        try:
            by_lang = self.data["wordings"][name]
        except KeyError:
            raise SuiteError(f"unknown wording {name!r}") from None
        texts = [fill(text, rows) for text in (*by_lang.get(self.lang, ()), *by_lang.get("en", ()))]
        return list(dict.fromkeys(map(str, texts)))


@dataclass(frozen=True)
class Step:
    """One call that was made, and what its outcome asks of the answer.

    ``outcome`` is its name in ``variants.json``: ``ok``, ``empty``, an error code, or one with a condition.
    """

    call: Call
    outcome: str
    value: JSON
    failed: bool
    follows: Mapping[str, Any]

    def facts(self, book: Book, rows: Mapping[str, Row]) -> Iterator[list[str]]:
        """Yield the wordings of each fact that the answer must state."""
        for fact in self.follows.get("facts", ()):
            yield from self._stated(fact, book, rows)

    def answer(self, book: Book, rows: Mapping[str, Row]) -> Iterator[list[str]]:
        """Yield the wordings that show that this request of several was answered."""
        if "answer" in self.follows:
            yield from self._stated(self.follows["answer"], book, rows)

    def _stated(self, fact: Any, book: Book, rows: Mapping[str, Row]) -> Iterator[list[str]]:
        if isinstance(fact, str):
            yield book.wording(fact, rows)
            return
        values = values_at(self.value, fact["path"])
        if not values:
            raise SuiteError(f"the result of {self.call['tool']} has no {fact['path']!r} to be stated")
        for value in values:
            if fact["as"] == "wording":
                yield book.wording(str(value), rows)
            else:
                yield statements(fact["as"], value, book.lang)


class Playing:
    """Plays calls one after another; remembers what they answered.

    Parameters
    ----------
    book
        The suite.
    policy
        The case's policy facts, slots filled.
    asks
        tool -> outcome to go by when it succeeds, where a case asks for something special of its result.
    """

    def __init__(self, book: Book, policy: Permissions, asks: Mapping[str, str]) -> None:
        self._book = book
        self._policy = policy
        self._asks = asks
        self._executor = Executor(book.contract, book.executor, book.lang)
        self._confirmed = False
        self.steps: list[Step] = []

    def happen(self, calls: Sequence[Call]) -> None:
        """Make the calls of a frozen history, whatever rules and policy say."""
        for call in calls:
            ready = self._with_results(call)
            if ready is None:
                raise SuiteError(f"history: no earlier result has a value for {call['tool']}")
            self.steps.append(self._made(ready))

    def play(self, calls: Sequence[Call], *, chain: bool) -> list[Step]:
        """Make every call that may be made and return the new steps.

        In a chain each call needs the one before it: the first that may not be made ends it.
        """
        start = len(self.steps)
        for call in calls:
            ready = self._with_results(call)
            if ready is not None and not self._forbidden(ready) and not self._held_back(ready):
                self.steps.append(self._made(ready))
            elif chain:
                break
        return self.steps[start:]

    def confirmed(self) -> Playing:
        """Return this playing after the user has answered: what waited for a confirmation waits no more."""
        self._confirmed = True
        return self

    def _made(self, call: Call) -> Step:
        result, _ = self._executor.answer(call["tool"], call["arguments"])
        declared = self._book.data.get("outcomes", {}).get(call["tool"], {})
        name = result.code or self._asks.get(call["tool"]) or _outcome(declared, result.value)
        if name not in declared:
            raise SuiteError(f"outcomes.{call['tool']}.{name} is missing: what must the answer do then?")
        return Step(call, name, result.value, result.is_error, declared[name])

    def _with_results(self, call: Call) -> Call | None:
        """Return a call with values of earlier results in it; ``None`` when they give none, or several."""
        arguments = {}
        for name, value in call["arguments"].items():
            if is_reference(value):
                found = list(self._found(value["result"]))
                if len(found) != 1:
                    return None
                value = value["in"].replace("{}", str(found[0])) if "in" in value else found[0]
            arguments[name] = value
        return {**call, "arguments": arguments}

    def _found(self, source: str) -> Iterator[JSON]:
        tool, _, path = source.partition(".")
        for step in self.steps:
            if step.call["tool"] == tool:
                yield from values_at(step.value, path)

    def _forbidden(self, call: Call) -> bool:
        """Whether the suite's order rules forbid a call after what the steps so far have answered."""
        rules, tool = self._book.rules, call["tool"]
        last = {step.call["tool"]: step for step in self.steps}
        for step in self.steps:
            if step.failed and tool in rules.stop_after_error.get(step.outcome, ()):
                return True
        for other, stopped in rules.stop_after_empty.items():
            if tool in stopped and other in last and not last[other].failed and is_empty(last[other].value):
                return True
        for needed in rules.needed(tool):
            if needed in last and last[needed].failed:
                return True
        return any(
            step.call["tool"] == rule.tool and not _any_equal(step, rule)
            for rule in rules.unless.get(tool, ())
            for step in self.steps
        )

    def _held_back(self, call: Call) -> bool:
        """Whether a call is above a limit, unconfirmed, done already, or not this user's to make."""
        tool, arguments = self._book.contract.by_name[call["tool"]], call["arguments"]
        policy = self._policy
        confirm = self._book.rules.confirms(tool)
        return (
            any(
                isinstance(arguments.get(name), int | float) and arguments[name] > limit
                for name, limit in tool.limits.items()
            )
            or any(
                name in policy.owned and arguments.get(name) not in policy.owned[name]
                for name in tool.ownership
            )
            or (confirm and not self._confirmed and tool.name not in policy.confirmed)
            or (tool.effect == "write" and policy.permitted is not None and tool.name not in policy.permitted)
            or _spelled(tool.name, arguments) in self._done()
        )

    def _done(self) -> list[str]:
        done = [_spelled(one.tool, one.arguments) for one in self._policy.done]
        writes = [s for s in self.steps if self._book.contract.by_name[s.call["tool"]].effect == "write"]
        return done + [_spelled(s.call["tool"], s.call["arguments"]) for s in writes if not s.failed]


def is_reference(value: JSON) -> bool:
    """Whether an argument is to be taken from an earlier result.

    ``{"result": "tool.path"}`` is the value itself, with ``"in": "3*{}"`` it is put into a text.
    """
    return isinstance(value, dict) and "result" in value and set(value) <= {"result", "in"}


def _any_equal(step: Step, rule: Branch) -> bool:
    values = values_at(step.value, rule.path)
    return not values or canonical_json(rule.equals) in map(canonical_json, values)


def _spelled(tool: str, arguments: Mapping[str, JSON]) -> str:
    return canonical_json([tool, dict(arguments)])


def _outcome(declared: Mapping[str, Any], value: JSON) -> str:
    """Return the name of a successful outcome: the first whose condition holds, then ``empty`` or ``ok``."""
    for name, outcome in declared.items():
        if "when" in outcome and _holds(outcome["when"], values_at(value, outcome["when"]["path"])):
            return name
    return "empty" if "empty" in declared and is_empty(value) else "ok"


def _holds(condition: Mapping[str, Any], values: Sequence[JSON]) -> bool:
    if "more_than" in condition:
        return len(values) > int(condition["more_than"])
    if "above" in condition:
        return any(isinstance(value, int | float) and value > condition["above"] for value in values)
    return canonical_json(condition["equals"]) in map(canonical_json, values)
