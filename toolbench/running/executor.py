"""The orchestrator's side of a call: validate it, then answer it from the suite's script.

Nothing real is ever changed. A script is data: rules by tool and arguments, each with a sequence of results;
retries run on a virtual clock, so a test of three tries takes no time. Writes carry an idempotency key: the
same write takes effect once, whoever repeats it and whatever the caller was told the first time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from toolbench.domain.canonical import JSON, sha256
from toolbench.domain.contract import Contract
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import CallRecord, ToolResult
from toolbench.domain.tool_script import (
    Failure,
    Garbage,
    Real,
    ScriptedResult,
    Success,
    Text,
    ToolError,
    ToolScript,
)
from toolbench.domain.validation import ArgumentIssue
from toolbench.running.course_tools import IMPLEMENTATIONS, CourseToolError, Surroundings
from toolbench.running.playback import Playback, filled, one_spelling

TEMPORARY_STATUSES = frozenset({0, 408, 429, 500, 502, 503, 504})
"""Tool faults worth another try by code; 0 stands for a timeout. 401 and its like never are."""

MALFORMED = ToolError(
    code="MALFORMED_RESPONSE",
    permanent=False,
    status=502,
    message={"ru": "Ответ инструмента нельзя прочитать.", "en": "The tool's answer is unreadable."},
)
"""What the orchestrator makes of a tool that answers garbage: a clear error, not the garbage."""
NOT_SCRIPTED = ToolError(
    code="NOT_SCRIPTED",
    permanent=True,
    message={"ru": "Для этого вызова нет ответа.", "en": "No result is scripted for this call."},
)


@cache
def _rejections() -> Mapping[str, Any]:
    """Return how a call that is not carried out is answered, by language."""
    found: Mapping[str, Any] = json.loads((Path(__file__).parent / "rejections.json").read_text("utf-8"))
    return found


@dataclass(frozen=True)
class Begun:
    """A valid call before it is carried out; ``known`` is what the same write was answered before."""

    common: Mapping[str, Any]
    key: str | None
    known: ToolResult | None


class Executor:
    """Answers the calls of one attempt; one instance an attempt, because sequences and writes have memory.

    Parameters
    ----------
    contract
        Decides whether a call is valid and whether it writes.
    script
        The suite's ``executor.json``.
    lang
        Language of error texts.
    hints
        Whether an error tells the model how to go on.
    """

    def __init__(self, contract: Contract, script: ToolScript, lang: str, hints: bool = True) -> None:
        self._contract = contract
        self._playback = Playback(script)
        self._lang = lang
        self._told = _rejections().get(lang) or _rejections()["en"]
        self._hints = hints
        self._retry = script.retry
        self._cap_chars = script.max_result_chars
        now = datetime.fromisoformat(script.now) if script.now is not None else None
        self._surroundings = Surroundings(now, script.live)
        self._written: dict[str, ToolResult] = {}
        self.clock = 0.0

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the contract's own tools."""
        return tuple(tool.name for tool in self._contract.tools)

    @property
    def written(self) -> tuple[str, ...]:
        """Idempotency key of every write that took effect, in order."""
        return tuple(self._written)

    def run(self, call: ToolCall, turn: int, offered: Sequence[str]) -> CallRecord:
        """Validate and execute one call; the record says how far it came and what the model is told.

        A write whose key is known is not carried out again (``replayed``): a success is answered as the
        first time, and after a failure that had taken effect all the same the script plays on.
        """
        begun = self.begin(call, turn, offered)
        if isinstance(begun, CallRecord):
            return begun
        if begun.known is not None and not begun.known.is_error:
            return self.end(begun, replace(begun.known, tries=()), False)
        return self.end(begun, *self.answer(call.name, dict(call.arguments or {})))

    def begin(self, call: ToolCall, turn: int, offered: Sequence[str]) -> Begun | CallRecord:
        """Validate a call; the record of one that is not to be carried out is complete."""
        common: dict[str, Any] = {
            "turn": turn,
            "id": call.id,
            "tool": call.name,
            "arguments": call.arguments,
            "raw_arguments": call.raw_arguments,
        }
        rejection = self._rejection(call, offered)
        if rejection:
            code, message = rejection
            result = ToolResult(content=f"{code}: {message}", is_error=True, code=code, permanent=True)
            return CallRecord(states=("proposed", "rejected"), rejection=code, result=result, **common)
        key = self._idempotency_key(call.name, dict(call.arguments or {}))
        return Begun(common, key, self._written.get(key) if key else None)

    def end(self, begun: Begun, result: ToolResult, took_effect: bool) -> CallRecord:
        """Return the record of a call that was carried out, or answered as before."""
        if begun.key and (took_effect or begun.known is not None):
            self._written[begun.key] = result
        return CallRecord(
            states=("proposed", "validated", "failed" if result.is_error else "executed"),
            result=result,
            idempotency_key=begun.key,
            replayed=begun.known is not None,
            **begun.common,
        )

    def as_told(self, result: Success | Failure) -> ToolResult:
        """Return a result as the model is told it."""
        return self._result(result, ())

    def answer(self, tool: str, arguments: Mapping[str, JSON]) -> tuple[ToolResult, bool]:
        """Return the scripted result of a valid call, retried by code where the fault is temporary.

        Every try is in the result's ``tries``: virtual time, status, error code, and whether the tool did
        its work in it.

        Returns
        -------
        tuple
            The result for the model, and whether a write took effect in any of the tries.
        """
        rule = self._playback.rule(tool, arguments)
        if rule is None:
            return self._result(Failure(NOT_SCRIPTED), ()), False
        self.clock = max(self.clock, self._playback.free_at(rule))
        tries: list[dict[str, JSON]] = []
        wait: float | None = 0.0
        result: Success | Failure = Failure(NOT_SCRIPTED)
        while wait is not None:
            self.clock += wait
            scripted = self._playback.next_result(rule, self.clock)
            filling = {} if self._playback.recorded(rule) else arguments
            result = self._carried_out(scripted, filling)
            error = result.error if isinstance(result, Failure) else None
            status, code = (error.status, error.code) if error else (200, None)
            tries.append({"at": self.clock, "status": status, "code": code, "effect": result.effect})
            if status == 0:
                self.clock += self._retry.timeout_seconds
            wait = self._wait(error, len(tries))
        return self._result(result, tuple(tries)), any(bool(one["effect"]) for one in tries)

    def _wait(self, error: ToolError | None, tries: int) -> float | None:
        """Return the seconds until the next try, or ``None`` when there is none."""
        if error is None or error.permanent or error.status not in TEMPORARY_STATUSES:
            return None
        asked, retry = error.retry_after, self._retry
        # A tool that asks for more than the cap would be asked too early: give up instead.
        if tries >= retry.tries or asked > retry.cap_seconds:
            return None
        return float(max(asked, retry.base_seconds * 2 ** (tries - 1)))

    def _carried_out(self, result: ScriptedResult, arguments: Mapping[str, JSON]) -> Success | Failure:
        """Return what a scripted result comes to for these arguments."""
        match result:
            case Real(name):
                try:
                    return Success(IMPLEMENTATIONS[name].run(arguments, self._surroundings))
                except CourseToolError as fault:
                    return Failure(fault.as_tool_error())
            case Garbage(_, effect):
                return Failure(MALFORMED, effect)
            case Success(value, effect, text):
                return Success(filled(value, arguments), effect, text)
        return result

    def _rejection(self, call: ToolCall, offered: Sequence[str]) -> tuple[str, str] | None:
        if call.name not in offered:
            return "UNKNOWN_TOOL", self._told["unknown_tool"].format(name=repr(call.name[:80]))
        issues = self._contract.by_name[call.name].issues(call.arguments)
        return ("INVALID_ARGUMENTS", "; ".join(map(self._said, issues[:5]))) if issues else None

    def _said(self, issue: ArgumentIssue) -> str:
        words = self._told["words"]
        keyword, space, value = issue.expected.partition(" ")
        expected = words.get(issue.expected) or f"{words.get(keyword, keyword)}{space}{value}"
        code = self._told["codes"].get(issue.code, issue.code)
        return str(self._told["issue"].format(path=issue.path, code=code, expected=expected))

    def _idempotency_key(self, tool: str, arguments: Mapping[str, JSON]) -> str | None:
        if self._contract.by_name[tool].effect != "write":
            return None
        return sha256(one_spelling({"tool": tool, "arguments": dict(arguments)}))[:16]

    def _result(self, result: Success | Failure, tries: Sequence[Mapping[str, JSON]]) -> ToolResult:
        if isinstance(result, Success):
            told = json.dumps(result.value, ensure_ascii=False) if result.text is None else result.text
            content, cut = self._cap(told)
            return ToolResult(content, value=result.value, tries=tries, cut_from=cut)
        error = result.error
        text = f"{error.code}: {self._text(error.message)}"
        if self._hints and error.hint is not None:
            text += f" {self._text(error.hint)}"
        content, cut = self._cap(text)
        return ToolResult(content, True, None, error.code, error.permanent, tries, cut)

    def _text(self, text: Text) -> str:
        return text if isinstance(text, str) else text.get(self._lang, next(iter(text.values())))

    def _cap(self, text: str) -> tuple[str, int | None]:
        cap = self._cap_chars
        return (text, None) if len(text) <= cap else (text[:cap] + " [cut]", len(text))
