"""One attempt from request to verdict, as a page. Pure functions; every text of a model is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from toolbench.domain.canonical import JSON
from toolbench.domain.condition import Condition
from toolbench.domain.decision import ModelDecision
from toolbench.domain.keys import PlayerKey
from toolbench.domain.log import RunLog
from toolbench.domain.record import Attempt, CallRecord, TurnRecord
from toolbench.domain.suite import Suite
from toolbench.judging.guard import Judged, judge
from toolbench.judging.score import Verdict
from toolbench.showing import html
from toolbench.showing.html import Page
from toolbench.showing.sections import explained, pretty
from toolbench.showing.view import RunView
from toolbench.workbench.requesting import copies

LONG = 20_000
"""Characters of a request or response shown; the log holds all of it."""


def traces(
    view: RunView, case: str, player: str, condition: str, suite: str | None = None, lang: str | None = None
) -> dict[int, Page]:
    """Return repetition → trace of one cell, read from the run's log as it is now.

    ``suite`` and ``lang`` are needed only for a run that has the case in several.
    """
    log, names = RunLog.open(view.path), view.names
    found = {}
    for attempt in log.attempts:
        who = names[attempt.key.player], attempt.condition, attempt.case_id
        where = suite in (None, attempt.suite) and lang in (None, attempt.lang)
        if where and who == (player, condition, case):
            mine = view.header.load_conditions()[condition]
            # Baselines have no entry: nothing was sent anywhere.
            runs = view.header.config["runs"]
            entry = next((run for run in runs if PlayerKey.of(run) == attempt.key.player), None)
            found[attempt.repetition] = trace(attempt, view.suites[attempt.suite], mine, player, entry)
    return dict(sorted(found.items()))


def trace(
    attempt: Attempt,
    suite: Suite,
    condition: Condition,
    player: str | None = None,
    entry: Mapping[str, Any] | None = None,
) -> Page:
    """Return what was sent, what came back, what was decided from it and what was found, turn by turn.

    ``entry`` is the model as the recorded configuration has it; with it every request can be copied.
    """
    judged = judge(attempt, suite, condition)
    case = suite.case_by_key[attempt.lang, attempt.case_id]
    name = player or attempt.model
    title = f"{attempt.case_id} · {name} · {attempt.condition} · repetition {attempt.repetition + 1}"
    said = "\n".join(f"user: {text}" for text in case.user_texts)
    return html.join(
        [
            html.heading(title, 3),
            *_verdict(attempt, judged),
            html.preformatted(said),
            *(page for turn in attempt.turns for page in _turn(turn, attempt.calls, entry)),
            *_failures(attempt),
        ]
    )


def _verdict(attempt: Attempt, judged: Judged) -> Iterator[Page]:
    verdict = judged.verdict
    if verdict is None:
        why = judged.problem or (attempt.error["message"] if attempt.error else attempt.stop)
        yield html.paragraph(f"Not scored ({judged.status}, {attempt.stop}): {why}", "warning")
        return
    if verdict.passed:
        yield html.paragraph("Passed: no check found anything.", "passed")
        yield from _origins(verdict)
        return
    codes = ", ".join(verdict.codes)
    yield (
        html.paragraph(f"To review, neither passed nor failed: {codes}", "warning")
        if verdict.review
        else html.paragraph(f"Failed: {codes}", "failed")
    )
    rows = [
        [f"{found.code}\n{found.path}", found.reason, found.expected, found.actual]
        for found in verdict.findings
    ]
    yield html.table(pd.DataFrame(rows, columns=["finding, where", "reason", "expected", "got"]), "Findings")
    for code in verdict.codes:
        yield html.paragraph(f"{code}: {explained(code)}", "note")
    yield from _origins(verdict)


def _origins(verdict: Verdict) -> Iterator[Page]:
    """Say of every argument whose words it is."""
    rows = [
        [f"{call.tool}{path}", origin or "nowhere"]
        for call in verdict.calls
        for path, origin in call.origins.items()
    ]
    if rows:
        table = html.table(pd.DataFrame(rows, columns=["argument", "comes from"]))
        yield html.folded("Where the arguments come from", table)


def _turn(turn: TurnRecord, calls: Sequence[CallRecord], entry: Mapping[str, Any] | None) -> Iterator[Page]:
    body: Any = turn.request.get("body", {})
    tools = body.get("tools") or []
    after = "" if turn.latency_ms is None else f" after {turn.latency_ms:.0f} ms"
    told = f"HTTP {turn.response['status']}{after}"
    yield html.heading(f"Turn {turn.index + 1} — {told}", 4)
    offered = ", ".join(name for name, _ in offers(tools)) or "none"
    yield html.folded(f"Sent: tools as the provider saw them ({offered})", _tools(tools))
    rest = {name: value for name, value in body.items() if name != "tools"}
    yield html.folded("Sent: the rest of the request", _json(rest))
    if entry is not None:
        yield copies(turn, entry)
    if turn.losses:
        yield html.paragraph("Lost on the way to this provider: " + "; ".join(turn.losses), "note")
    yield from _decision(turn.decision)
    yield html.folded("Raw response", html.preformatted(pretty(str(turn.response["text"])), LONG))
    mine = [call for call in calls if call.turn == turn.index]
    if mine:
        yield html.table(_calls(mine), "What became of the calls")


def offers(tools: JSON) -> Iterator[tuple[str, str]]:
    """Yield name and description of every tool in a request, however its wire format nests them."""
    if isinstance(tools, dict) and isinstance(tools.get("name"), str):
        yield tools["name"], str(tools.get("description", ""))
    elif isinstance(tools, dict | list):
        for part in tools.values() if isinstance(tools, dict) else tools:
            yield from offers(part)


def _tools(tools: JSON) -> Page:
    if not tools:
        return html.paragraph("No tool was sent.", "note")
    listed = pd.DataFrame(list(offers(tools)), columns=["tool", "description"])
    return html.table(listed) + html.folded("complete definitions", _json(tools))


def _decision(decision: ModelDecision) -> Iterator[Page]:
    usage = decision.usage
    facts = {
        "decision": decision.kind,
        "reason": decision.reason,
        "finish reason": decision.finish_reason,
        "model returned": decision.returned_model,
        "tokens in / out": f"{_known(usage.input)} / {_known(usage.output)}",
        "warnings": ", ".join(decision.warnings) or None,
    }
    shown = {name: value for name, value in facts.items() if value is not None}
    yield html.table(pd.DataFrame({"": list(shown), "value": list(shown.values())}), "Decision")
    if decision.text:
        yield html.preformatted(decision.text)


def _calls(calls: Sequence[CallRecord]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "tool": [call.tool for call in calls],
            "arguments as received": [call.raw_arguments for call in calls],
            "states": [" → ".join(call.states) for call in calls],
            "rejected because": [call.rejection for call in calls],
            "result for the model": [call.result.content if call.result else None for call in calls],
        }
    ).astype(object)


def _failures(attempt: Attempt) -> Iterator[Page]:
    tries = [*attempt.retries, *(entry for turn in attempt.turns for entry in turn.retries)]
    if tries:
        yield html.folded(f"{len(tries)} failed tries", _json([dict(entry) for entry in tries]))


def _json(value: JSON) -> Page:
    return html.preformatted(json.dumps(value, ensure_ascii=False, indent=1), LONG)


def _known(number: int | None) -> str:
    return "?" if number is None else str(number)
