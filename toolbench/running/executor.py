"""The orchestrator's side of a call: validate it, then answer it from the suite's script.

Nothing real is ever changed. A script is data: rules by tool and arguments, each with a sequence of
results; retries run on a virtual clock, so a test of three tries takes no time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolbench.domain.canonical import JSON, canonical_json, sha256
from toolbench.domain.contract import Contract
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import CallRecord, ToolResult

DEFAULT_CAP = 4000
TEMPORARY_STATUSES = frozenset({0, 408, 429, 500, 502, 503, 504})
"""Tool faults worth another try by code; 0 stands for a timeout."""


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

    def __init__(self, contract: Contract, script: Mapping[str, Any], lang: str, hints: bool = True) -> None:
        self._contract = contract
        self._script = script
        self._lang = lang
        self._hints = hints
        self._played: dict[int, int] = {}
        self._done: dict[str, ToolResult] = {}
        self.clock = 0.0

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of all tools of the contract."""
        return tuple(self._contract.by_name)

    def run(self, call: ToolCall, turn: int, offered: Sequence[str]) -> CallRecord:
        """Validate and execute one call; the record says how far it came and what the model is told."""
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
        arguments = dict(call.arguments or {})
        key = self._idempotency_key(call.name, arguments)
        if key and key in self._done:
            return CallRecord(
                states=("proposed", "validated", "executed"),
                result=self._done[key],
                idempotency_key=key,
                replayed=True,
                **common,
            )
        result, took_effect = self.answer(call.name, arguments)
        if key and took_effect:
            self._done[key] = result
        end = "failed" if result.is_error else "executed"
        return CallRecord(states=("proposed", "validated", end), result=result, idempotency_key=key, **common)

    def answer(self, tool: str, arguments: Mapping[str, JSON]) -> tuple[ToolResult, bool]:
        """Return the scripted result of a valid call, retried by code where the fault is temporary.

        Returns
        -------
        tuple
            The result for the model, and whether a write took effect.
        """
        rule = self._rule(tool, arguments)
        if rule is None:
            missing = {
                "error": {"code": "NOT_SCRIPTED", "permanent": True, "message": "no result is scripted"}
            }
            return self._result(missing, [], arguments), False
        policy = self._script.get("retry", {})
        tries: list[dict[str, JSON]] = []
        entry: Mapping[str, Any] = {}
        for number in range(policy.get("tries", 1)):
            if number:
                self.clock += policy.get("base_seconds", 1.0) * 2 ** (number - 1)
            entry = self._next(rule)
            error = entry.get("error", {})
            tries.append({"at": self.clock, "status": error.get("status", 200), "code": error.get("code")})
            if not error or error["permanent"] or error.get("status") not in TEMPORARY_STATUSES:
                break
        return self._result(entry, tries, arguments), bool(entry.get("effect", "ok" in entry))

    def _rejection(self, call: ToolCall, offered: Sequence[str]) -> tuple[str, str] | None:
        if call.name not in offered:
            return "UNKNOWN_TOOL", f"there is no tool named {call.name[:80]!r}"
        issues = self._contract.by_name[call.name].issues(call.arguments)
        if issues:
            shown = "; ".join(
                f"{issue.path}: {issue.code}, expected {issue.expected}" for issue in issues[:5]
            )
            return "INVALID_ARGUMENTS", shown
        return None

    def _idempotency_key(self, tool: str, arguments: Mapping[str, JSON]) -> str | None:
        if self._contract.by_name[tool].effect != "write":
            return None
        return sha256({"tool": tool, "arguments": dict(arguments)})[:16]

    def _rule(self, tool: str, arguments: Mapping[str, JSON]) -> tuple[int, Mapping[str, Any]] | None:
        for index, rule in enumerate(self._script["rules"]):
            if rule["tool"] == tool and all(
                _matches(wanted, arguments.get(name)) for name, wanted in rule.get("when", {}).items()
            ):
                return index, rule
        return None

    def _next(self, rule: tuple[int, Mapping[str, Any]]) -> Mapping[str, Any]:
        index, body = rule
        position = self._played.get(index, 0)
        self._played[index] = position + 1
        entry: Mapping[str, Any] = body["results"][min(position, len(body["results"]) - 1)]
        return entry

    def _result(
        self, entry: Mapping[str, Any], tries: Sequence[Mapping[str, JSON]], arguments: Mapping[str, JSON]
    ) -> ToolResult:
        if "malformed" in entry:
            # What the orchestrator makes of a tool that answers garbage: a clear error, not the garbage.
            entry = {
                "error": {
                    "code": "MALFORMED_RESPONSE",
                    "permanent": False,
                    "message": "the tool's answer is unreadable",
                }
            }
        if "error" in entry:
            error = entry["error"]
            text = f"{error['code']}: {self._text(error['message'])}"
            if self._hints and "hint" in error:
                text += f" {self._text(error['hint'])}"
            content, cut = self._cap(text)
            return ToolResult(content, True, None, error["code"], error["permanent"], tuple(tries), cut)
        value = _fill(entry["ok"], arguments)
        content, cut = self._cap(json.dumps(value, ensure_ascii=False))
        return ToolResult(content, value=value, tries=tuple(tries), cut_from=cut)

    def _text(self, text: str | Mapping[str, str]) -> str:
        return text if isinstance(text, str) else text.get(self._lang, next(iter(text.values())))

    def _cap(self, text: str) -> tuple[str, int | None]:
        cap = self._script.get("max_result_chars", DEFAULT_CAP)
        return (text, None) if len(text) <= cap else (text[:cap] + " [cut]", len(text))


def _matches(wanted: JSON, given: JSON) -> bool:
    if isinstance(wanted, dict) and set(wanted) == {"pattern"}:
        return isinstance(given, str) and re.search(wanted["pattern"], given) is not None
    return canonical_json(wanted) == canonical_json(given)


def _fill(value: JSON, arguments: Mapping[str, JSON]) -> JSON:
    """Put arguments into a scripted result: the string ``$name`` becomes the argument's value."""
    if isinstance(value, str) and value.startswith("$"):
        return arguments.get(value[1:], value)
    if isinstance(value, dict):
        return {key: _fill(inner, arguments) for key, inner in value.items()}
    if isinstance(value, list):
        return [_fill(inner, arguments) for inner in value]
    return value
