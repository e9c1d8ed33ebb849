"""A saved conversation → the case it would be, and the attempt that it is.

Nothing is played: every reply is read by the adapter of its protocol, every call is recorded with the result
that followed it. What nobody kept stays unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolbench.adapters import ADAPTERS, Offer, Request
from toolbench.authoring.traces.saved import Answered, Asked, Returned, Saved
from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict, sha256
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import CallRecord, ToolResult, TurnRecord

ANYTHING: Mapping[str, JSON] = {"kind": ["tool_call", "clarification", "text", "refusal"]}
"""The expectation of a conversation that nobody has written one for."""
FAILED = re.compile(r"\s*(error|ошибка)\b", re.IGNORECASE)
"""How a result begins that is an error, on wires without a flag for it."""
_RUSSIAN = re.compile("[а-яё]", re.IGNORECASE)


@dataclass
class Recorded:
    """What a conversation comes to.

    Attributes
    ----------
    before
        Messages of the assistant before the user's first.
    users
        What the user says, one text a turn; texts without a reply between them are one.
    later
        Those after the case's opening.
    error
        Code and message of the error that a reply was, which ends the conversation.
    """

    before: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    later: Sequence[str] = ()
    turns: list[TurnRecord] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    error: Mapping[str, JSON] | None = None

    @property
    def lang(self) -> str:
        """``ru`` or ``en``, by the user's letters."""
        return "ru" if any(_RUSSIAN.search(text) for text in self.users) else "en"

    @property
    def stop(self) -> str:
        """How it ended; a conversation that was kept only up to a call just ends."""
        if self.error is not None:
            return str(self.error["code"])
        ends = {"text": "answered", "refusal": "refused", "invalid": "invalid"}
        return ends.get(self.turns[-1].decision.kind if self.turns else "", "recording_ends")


def record(
    saved: Saved,
    tools: Sequence[ToolSpec],
    names: Mapping[str, str],
    opening: Sequence[Mapping[str, JSON]] = (),
) -> Recorded:
    """Read a conversation.

    Parameters
    ----------
    tools
        The tools that were on offer.
    names
        Name on the wire → name of the contract, where they differ.
    opening
        The history that its case begins with: its replies are the case's own and nobody's to judge.
    """
    frozen = sum(message["role"] == "assistant" for message in opening)
    before = sum(message["role"] == "user" for message in opening[:-1])
    offer = Offer(tuple(tools), "en", {tool.name: tool.name for tool in tools})
    wire = {tool.name: tool.name for tool in tools} | dict(names)
    by_name = {tool.name: tool for tool in tools}
    made = Recorded()
    open_calls: list[int] = []
    replied = True
    answers = 0
    for step in saved.steps:
        if isinstance(step, Asked):
            if replied:
                made.users.append(step.text)
            else:
                made.users[-1] += f"\n{step.text}"
            replied = False
        elif isinstance(step, Returned):
            _return(step, open_calls, made.calls, by_name)
        elif not made.users and not made.calls:
            made.before.append(ADAPTERS[step.protocol].read(step.body).text)
        else:
            at = max(len(made.users) - 1 - before, 0)
            turn = _turn(step, offer, wire, len(made.turns), at)
            if isinstance(turn, Mapping):
                made.error = turn
                break
            answers, replied = answers + 1, True
            open_calls = [len(made.calls) + at for at in range(len(turn.decision.calls))]
            index = -1 if answers <= frozen else turn.index
            made.calls += [
                _proposed(call, index, by_name, turn.decision.kind) for call in turn.decision.calls
            ]
            if answers > frozen:
                made.turns.append(turn)
    if not replied and made.users and made.error is None:
        # What the user said last was answered by nobody.
        made.users.pop()
    made.later = made.users[1 + before :]
    return made


def _turn(
    step: Answered, offer: Offer, wire: Mapping[str, str], index: int, user_turn: int
) -> TurnRecord | Mapping[str, JSON]:
    """Return the record of a reply, or the error that it is."""
    adapter = ADAPTERS[step.protocol]
    fault = adapter.fault(step.body)
    if fault is not None and not fault.decides:
        return {"code": fault.code, "message": fault.message[:300], "status": fault.status}
    body = dict(step.request)
    sent = {"path": "", "body": body}
    decision = adapter.parse_decision(step.body, Request("", body, tool_names=wire), offer)
    return TurnRecord(
        index=index,
        user_turn=user_turn,
        request=sent,
        request_hash=sha256(sent),
        settings={},
        tool_names=wire,
        losses=(),
        response={"status": 200, "headers": {}, "text": json.dumps(step.body, ensure_ascii=False)},
        decision=decision,
        started_at=step.started_at,
        latency_ms=step.latency_ms,
    )


def _proposed(call: ToolCall, turn: int, tools: Mapping[str, ToolSpec], kind: str) -> CallRecord:
    """Return the record of a call nobody has answered yet."""
    tool = tools.get(call.name)
    why = (
        "UNKNOWN_TOOL"
        if tool is None
        else kind.upper()
        if kind != "tool_call"
        else "INVALID_ARGUMENTS"
        if tool.issues(call.arguments)
        else None
    )
    return CallRecord(
        turn=turn,
        id=call.id,
        tool=call.name,
        arguments=call.arguments,
        raw_arguments=call.raw_arguments,
        states=("proposed", "rejected" if why else "validated"),
        rejection=why,
    )


def _return(
    step: Returned, waiting: list[int], calls: list[CallRecord], tools: Mapping[str, ToolSpec]
) -> None:
    """Give a result to its call: the one with its id, else of that name, else the first without one."""
    at = next((i for i in waiting if step.call_id and calls[i].id == step.call_id), None)
    if at is None:
        at = next((i for i in waiting if calls[i].tool == step.call_id), waiting[0] if waiting else None)
    if at is None:
        return
    waiting.remove(at)
    call = calls[at]
    value = _value(step.content)
    failed = _failed(step, value)
    result = ToolResult(step.content, failed, None if failed else value, _code(value) if failed else None)
    states: tuple[str, ...] = ("proposed", "validated", "failed" if failed else "executed")
    rejection = None
    if call.rejection is not None:
        # Whoever kept this carried out what should have been refused, or refused it himself.
        states = ("proposed", "rejected") if failed else ("proposed", "executed")
        rejection = call.rejection if failed else None
    key = None
    if call.tool in tools and tools[call.tool].effect == "write":
        key = sha256({"tool": call.tool, "arguments": dict(call.arguments or {})})[:16]
    calls[at] = CallRecord(
        call.turn, call.id, call.tool, call.arguments, call.raw_arguments, states, rejection, result, key
    )


def _failed(step: Returned, value: JSON) -> bool:
    if step.is_error is not None:
        return step.is_error
    if isinstance(value, dict):
        return bool(value.get("error")) or value.get("isError") is True
    return bool(FAILED.match(step.content))


def _value(content: str) -> JSON:
    try:
        return loads_strict(content)
    except StrictJSONError:
        return None


def _code(value: JSON) -> str | None:
    """Return the machine word of an error, where it has one."""
    fault: Any = value.get("error", value) if isinstance(value, dict) else None
    code = fault.get("code") if isinstance(fault, dict) else None
    return code if isinstance(code, str) else None


def case_of(saved: Saved, made: Recorded, offered: Sequence[str], lang: str | None) -> dict[str, JSON]:
    """Return the case of a conversation without an expectation; its id is still to be given."""
    said = {"role": "user", "content": made.users[0] or " "}
    opening = [{"role": "assistant", "content": text} for text in made.before]
    return {
        "class": "imported",
        "lang": lang or made.lang,
        **({"messages": [*opening, said]} if opening else {"user": said["content"]}),
        "tools": list(offered),
        **({"context": {"system": saved.system}} if saved.system else {}),
        "expect": dict(ANYTHING),
        **_turns(made.later, ()),
        "tags": ["imported"],
    }


def joined(case: Mapping[str, Any], made: Recorded) -> dict[str, JSON]:
    """Return a written case with what the user really said in it, and with the turns there really were.

    Turns beyond the written ones are judged without an expectation.
    """
    merged: dict[str, JSON] = {**case, **_turns(made.later, case.get("turns", ()))}
    if "user" in case and made.users:
        merged["user"] = made.users[0] or " "
    return merged


def _turns(said: Sequence[str], written: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
    turns = list(_each_turn(said, written))
    return {"turns": turns} if turns else {}


def _each_turn(said: Sequence[str], written: Sequence[Mapping[str, JSON]]) -> Iterator[JSON]:
    for at in range(max(len(said), len(written))):
        text = said[at] or " " if at < len(said) else written[at]["user"]
        yield {"user": text, "expect": written[at]["expect"] if at < len(written) else dict(ANYTHING)}
