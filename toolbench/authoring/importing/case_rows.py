"""Cases as other benches write them: an input, and the call or the answer that is right for it.

Columns (or keys) by what they hold; the first that is there counts:

========== =====================================================================================
id         ``id``, ``case_id``, ``name``; made up from the row's number where missing
input      ``user``, ``user_input``, ``input``, ``question``, ``prompt``, ``query``, or ``messages``
class      ``class``, ``category``
on offer   ``available_tools``, ``tools``: names, as a list or separated by commas
expected   ``expect`` or ``expected``: an object; or its keys as columns of their own
========== =====================================================================================

Of what is expected: ``kind`` or ``action``; ``tool`` (``expected_tool``, ``function``) with ``arguments``
(``expected_arguments``, ``args``), or ``calls`` as a list of these; ``must_not_call``, ``forbidden_tools``,
``missing_fields``, ``contains_any``, ``order`` and ``parallel`` as in a case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.reading import read_rows
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.domain.files import validate
from toolbench.domain.plurals import plural
from toolbench.errors import SuiteError

ID = ("id", "case_id", "name")
INPUT = ("user", "user_input", "input", "question", "prompt", "query", "messages")
CLASS = ("class", "category")
OFFERED = ("available_tools", "tools")
EXPECTED = ("expect", "expected")
KIND = ("kind", "action")
TOOL = ("tool", "expected_tool", "function", "name")
ARGUMENTS = ("arguments", "expected_arguments", "args")
CALLS = ("calls", "tool_calls", "expected_calls")
AS_IN_A_CASE = ("must_not_call", "forbidden_tools", "missing_fields", "contains_any", "order", "parallel",
                "final", "recovery")  # fmt: skip
KINDS: Mapping[str, str] = {
    "tool_call": "tool_call", "call": "tool_call", "call_tool": "tool_call", "function_call": "tool_call",
    "clarification": "clarification", "ask_clarification": "clarification", "ask": "clarification",
    "text": "text", "answer": "text", "respond": "text", "no_call": "text", "no_tool": "text",
    "refusal": "refusal", "refuse": "refusal", "reject": "refusal",
}  # fmt: skip
LISTS = ("forbidden_tools", "missing_fields", "contains_any")


def import_cases(source: str, tools: Iterable[str], lang: str | None = None) -> Material:
    """Read a file of cases: JSON Lines, JSON, CSV or TSV.

    Parameters
    ----------
    tools
        Names of the tools there are; a case that names another is an error.
    lang
        Language of all cases; without it, by their letters.

    Raises
    ------
    SuiteError
        When the file cannot be read, a case names a missing tool, or no case is left.
    """
    rows, remarks = read_rows(Path(source))
    made = cases_of(rows, tools, lang, source)
    return Material(made.origin, (), made.cases, (*remarks, *made.remarks))


def cases_of(
    rows: Iterable[Mapping[str, Any]], tools: Iterable[str], lang: str | None = None, where: str = "rows"
) -> Material:
    """Return the cases of rows, for example ``frame.to_dict("records")``; as :func:`import_cases` does."""
    rows = [{key: value for key, value in row.items() if not _missing(value)} for row in rows]
    reader = _Reader(where, frozenset(tools), lang, _asks(rows))
    for number, row in enumerate(rows, 1):
        reader.add(row, number)
    if not reader.cases:
        raise SuiteError(
            f"{where}: no case in it that could be used: {'; '.join(reader.refused[:2]) or 'empty'}"
        )
    return Material(f"cases of {where}", (), reader.cases, reader.remarks)


def _missing(value: Any) -> bool:
    """Whether a cell is empty, as frames and tables have them."""
    return value is None or value != value


def _asks(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these cases tell a question from another text; where they do not, a text may be a question."""
    kinds = (_first(_expected(row), KIND) for row in rows)
    return any(KINDS.get(str(kind)) == "clarification" for kind in kinds)


class _Reader:
    """Turns rows into cases and remembers what did not fit."""

    def __init__(self, where: str, tools: frozenset[str], lang: str | None, asks: bool) -> None:
        self._where, self._tools, self._lang, self._asks = where, tools, lang, asks
        self._lost: Counter[str] = Counter()
        self._ids: set[str] = set()
        self._widened = 0
        self.cases: list[JSON] = []
        self.refused: list[str] = []

    @property
    def remarks(self) -> list[str]:
        """What was left out or changed."""
        widened = [
            f"{plural(self._widened, 'case')}: a text may be a question, as these cases know no question"
        ]
        lost = [
            f"{name}: left out in {plural(times, 'case')}, a case has no place for it"
            for name, times in self._lost.items()
        ]
        return [*self.refused, *lost, *(widened if self._widened else ())]

    def add(self, row: Mapping[str, Any], number: int) -> None:
        at = f"{self._where}: case {_first(row, ID) or number}"
        try:
            case = self._case(row, number)
            validate(case, "case", at)
        except SuiteError as fault:
            if isinstance(fault, _MissingTool):
                raise SuiteError(f"{at}: {fault}") from None
            self.refused.append(f"{at}: left out: {str(fault).removeprefix(at).removeprefix(': ')}")
            return
        self._ids.add(case["id"])
        self.cases.append(case)

    def _case(self, row: Mapping[str, Any], number: int) -> dict[str, JSON]:
        said = _first(row, INPUT)
        expected = _expected(row)
        history = [{"role": "user", "content": said}] if isinstance(said, str) else self._history(said)
        offered = _names(_first(row, OFFERED))
        russian = any(re.search("[а-яё]", one["content"].lower()) for one in history)
        klass = re.sub(r"[^a-z0-9_]+", "_", str(_first(row, CLASS)).lower()).strip("_")
        case: dict[str, JSON] = {
            "id": self._id(_first(row, ID), number),
            "class": klass if klass and _first(row, CLASS) else "imported",
            "lang": row.get("lang") or self._lang or ("ru" if russian else "en"),
            **({"user": said} if isinstance(said, str) else {"messages": history}),
            "expect": self._expect(expected),
        }
        if offered is not None:
            case["tools"] = [self._known(name) for name in offered]
        for key in ("context", "policy", "tags", "turns"):
            if key in row:
                case[key] = row[key]
        known = {*ID, *INPUT, *CLASS, *OFFERED, *EXPECTED, "lang", "context", "policy", "tags", "turns"}
        apart = {*KIND, *TOOL, *ARGUMENTS, *CALLS, *AS_IN_A_CASE} if expected is row else set()
        self._lost.update(set(row) - known - apart)
        return case

    def _history(self, said: Any) -> list[JSON]:
        if not isinstance(said, list) or not all(isinstance(one, dict) for one in said):
            raise SuiteError(f"no input ({', '.join(INPUT)})")
        kept = [one for one in said if one.get("role") in ("user", "assistant")]
        if len(kept) < len(said):
            self._lost["messages that are neither the user's nor the assistant's"] += 1
        if not kept or not all(isinstance(one.get("content"), str) for one in kept):
            raise SuiteError("messages: each needs a text")
        return [{"role": one["role"], "content": one["content"]} for one in kept]

    def _id(self, given: Any, number: int) -> str:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", str(given or "")).strip("_.-")[:90] or f"case_{number}"
        return name if name not in self._ids else f"{name}.{number}"

    def _expect(self, expected: Mapping[str, Any]) -> dict[str, JSON]:
        calls = self._calls(expected)
        written = _first(expected, KIND)
        kind: Any = KINDS.get(str(written)) if isinstance(written, str) else written
        if isinstance(written, str) and kind is None:
            raise SuiteError(f"{str(written)[:40]!r} is no kind of behaviour; known are {', '.join(KINDS)}")
        if kind is None:
            kind = (
                "tool_call"
                if calls
                else ["clarification", "text", "refusal"]
                if "must_not_call" in expected
                else None
            )
        if kind is None:
            raise SuiteError("it says neither which call nor which kind of answer is right")
        if kind == "text" and not self._asks:
            kind, self._widened = ["clarification", "text"], self._widened + 1
        made: dict[str, JSON] = {"kind": kind}
        if calls:
            made["calls"] = calls
        for key in AS_IN_A_CASE:
            if key in expected:
                made[key] = _names(expected[key]) if key in LISTS else expected[key]
        for name in made.get("forbidden_tools", ()):
            self._known(name)
        return made

    def _calls(self, expected: Mapping[str, Any]) -> list[JSON]:
        listed = _first(expected, CALLS)
        if isinstance(listed, str):
            listed = _parsed(listed)
        if listed is None:
            # In a table the row's own name is the case's, not the tool's.
            name = _first(expected, TOOL[:-1])
            listed = [] if name is None else [{"tool": name, "arguments": _first(expected, ARGUMENTS)}]
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise SuiteError("its calls are no list of objects")
        return [self._call(one) for one in listed]

    def _call(self, one: Mapping[str, Any]) -> JSON:
        inner = one["function"] if isinstance(one.get("function"), dict) else one
        arguments = _first(inner, ARGUMENTS)
        arguments = _parsed(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(arguments if arguments is not None else {}, dict):
            raise SuiteError("its arguments are no object")
        more = {key: one[key] for key in ("accept", "optional", "match") if key in one}
        return {"tool": self._known(_first(inner, TOOL)), "arguments": arguments or {}, **more}

    def _known(self, name: Any) -> str:
        if name not in self._tools:
            raise _MissingTool(
                f"unknown tool {str(name)[:60]!r} (there are {', '.join(sorted(self._tools))[:200]})"
            )
        return str(name)


class _MissingTool(SuiteError):
    """A case names a tool that the contract does not have."""


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _expected(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object of what is expected; the row itself where its keys stand in it."""
    found = _first(row, EXPECTED)
    found = _parsed(found) if isinstance(found, str) and found.lstrip().startswith("{") else found
    return found if isinstance(found, dict) else row


def _names(value: Any) -> list[str] | None:
    if isinstance(value, str):
        value = _parsed(value) if value.lstrip().startswith("[") else value.split(",")
    if isinstance(value, list):
        return [name.strip() if isinstance(name, str) else str(name) for name in value]
    return None


def _parsed(text: str) -> JSON:
    try:
        return loads_strict(text)
    except StrictJSONError as fault:
        raise SuiteError(f"{text[:40]!r} is not JSON: {fault}") from None
