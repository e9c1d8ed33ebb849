"""Calls that are really carried out, and what becomes of them for later: a script to be replayed.

Read tools run freely. A write runs only with a double consent, in the configuration and on the command line;
without it the model is told that the tool is not available, and the user is told once a tool.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.contract import Contract
from toolbench.domain.decision import ToolCall
from toolbench.domain.environment import now
from toolbench.domain.record import Attempt, CallRecord
from toolbench.domain.tool_script import Failure, Success, ToolError, ToolScript
from toolbench.running.executor import Executor
from toolbench.running.hosts import Host

WRITE_NOT_ALLOWED = ToolError(
    code="WRITE_NOT_ALLOWED",
    permanent=True,
    message={"ru": "Сейчас этот инструмент недоступен.", "en": "This tool is not available now."},
)
Tell = Callable[[str], None]


class LiveExecutor:
    """Answers the calls of one attempt with real tools; validation and idempotency are the script's.

    Parameters
    ----------
    may_write
        Whether both consents to write are there.
    tell
        Told one line for each refusal.
    """

    def __init__(
        self, executor: Executor, contract: Contract, host: Host, may_write: bool, tell: Tell
    ) -> None:
        self._executor = executor
        self._contract = contract
        self._host = host
        self._may_write = may_write
        self._tell = tell

    async def run(self, call: ToolCall, turn: int, offered: Sequence[str]) -> CallRecord:
        """Validate and carry out one call; the record has its start and duration."""
        started_at, started = now(), time.monotonic()
        begun = self._executor.begin(call, turn, offered)
        if isinstance(begun, CallRecord):
            return begun
        if begun.known is not None and not begun.known.is_error:
            return self._executor.end(begun, replace(begun.known, tries=()), False)
        result = await self._result(call.name, dict(call.arguments or {}))
        took_effect = isinstance(result, Success)
        record = self._executor.end(begun, self._executor.as_told(result), took_effect)
        return replace(record, started_at=started_at, seconds=round(time.monotonic() - started, 4))

    async def _result(self, tool: str, arguments: Mapping[str, JSON]) -> Success | Failure:
        # An effect that only an import has guessed may be a write.
        spec = self._contract.by_name[tool]
        unsure = "effect" in spec.guessed
        if (spec.effect == "write" or unsure) and not self._may_write:
            why = "its effect is a guess that nobody has confirmed" if unsure else "it writes"
            needed = "allow_writes in the configuration and --allow-writes on the command line"
            self._tell(f"{tool} was not carried out: {why}; that needs {needed}")
            return Failure(WRITE_NOT_ALLOWED)
        return await self._host.call(tool, arguments)


def recorded_script(script: ToolScript, attempts: Iterable[Attempt]) -> tuple[dict[str, JSON], int]:
    """Turn the live calls of attempts into an executor script.

    Returns
    -------
    tuple
        The script, and how many calls were answered otherwise in a later attempt than in the first that made
        them: the first one's answers are kept.
    """
    kept: dict[str, tuple[CallRecord, list[JSON]]] = {}
    differing = 0
    for attempt in attempts:
        mine: dict[str, tuple[CallRecord, list[JSON]]] = {}
        for record in attempt.calls:
            if record.result is None or record.rejection or record.replayed or record.started_at is None:
                continue
            if record.result.code != WRITE_NOT_ALLOWED.code:
                key = canonical_json([record.tool, dict(record.arguments or {})])
                mine.setdefault(key, (record, []))[1].append(_as_scripted(record))
        for key, (record, results) in mine.items():
            known = kept.setdefault(key, (record, results))[1]
            differing += canonical_json(known[: len(results)]) != canonical_json(results[: len(known)])
    rules: list[JSON] = [
        {"tool": record.tool, "recorded": True, "when": dict(record.arguments or {}), "results": results}
        for record, results in kept.values()
    ]
    note = f"recorded from {script.shown_server or 'Python functions'}"
    document: dict[str, Any] = {"version": f"{script.version}-recorded", "note": note, "rules": rules}
    return {**document, "max_result_chars": script.max_result_chars}, differing


def _as_scripted(record: CallRecord) -> JSON:
    result = record.result
    assert result is not None, "only answered calls are recorded"
    if not result.is_error:
        plain = json.dumps(result.value, ensure_ascii=False)
        if isinstance(result.value, str) and result.content != plain:
            return {"ok": result.value, "text": result.value}
        whole = result.cut_from is None and result.content != plain
        return {"ok": result.value, **({"text": result.content} if whole else {})}
    message = result.content.removeprefix(f"{result.code}: ")
    return {"error": {"code": result.code, "permanent": bool(result.permanent), "message": message}}
