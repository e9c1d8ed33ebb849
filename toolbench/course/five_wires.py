"""The same turn on five wires, in lockstep: what the adapters send, what comes back, how results return."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd

from toolbench.adapters import ADAPTERS, Offer, adapter_for
from toolbench.course import layout
from toolbench.course.dialogue import LONG_CUT, Asked, Dialogue, dialogue, said, wire
from toolbench.course.players import Players
from toolbench.course.words import Words
from toolbench.domain.canonical import JSON
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import ToolResult
from toolbench.domain.suite import Suite
from toolbench.errors import TransportError
from toolbench.showing import html
from toolbench.showing.html import Page

CHOICES = ("auto", "none", "required", "named:get_time")


class Wires:
    """One question asked over every protocol, each played by a simulated provider of its own."""

    def __init__(self, suite: Suite, words: Words, players: Players, scene: str) -> None:
        self.words = words
        self.dialogues: dict[str, Dialogue] = {
            protocol: dialogue(
                suite,
                words,
                players.simulated(wire(protocol)["model"], protocol, profile=wire(protocol)["profile"]),
                scene,
            )
            for protocol in ADAPTERS
        }

    async def ask(self) -> Page:
        """Send the first request everywhere and show it, one tool standing for all."""
        await self._move()
        whole = [
            (wire(p)["title"], layout.json_page(a.request.body, LONG_CUT)) for p, a in self._asked().items()
        ]
        return self._panels(
            lambda p, a: _one_tool(a.request.body, self.words("more_tools")), 60
        ) + html.folded(self.words("whole_request"), layout.columns(whole))

    def received(self) -> Page:
        """The replies to the last request, without ids of the request and usage."""
        return self._panels(lambda p, a: said(p, a.body))

    def decisions(self) -> Page:
        """What the adapters read out of the five replies."""
        rows = []
        for protocol, asked in self._asked().items():
            calls = asked.decision.calls
            text = any(not call.raw_is_reserialised for call in calls)
            rows.append(
                {
                    "": wire(protocol)["title"],
                    self.words("column_calls"): "\n".join(f"{c.name}({c.raw_arguments})" for c in calls),
                    self.words("column_arguments"): self.words("as_text" if text else "as_object"),
                    self.words("column_finish"): asked.decision.finish_reason,
                    "id": calls[0].id if calls else "",
                }
            )
        return layout.table(pd.DataFrame(rows))

    async def answer(self) -> Page:
        """Carry the calls out, send the results, and show what was new in the second request."""
        await self._move()
        await self._move()
        return self._panels(lambda p, a: a.news)

    def facts(self) -> Page:
        """Where the five differ, in a table."""
        frame = pd.DataFrame(
            {
                "": [self.words(f"fact_{name}") for name in ("who", *_FACTS)],
                **{
                    wire(p)["title"]: [wire(p)["who"], *(self.words.of(wire(p)["facts"][n]) for n in _FACTS)]
                    for p in ADAPTERS
                },
            }
        )
        return layout.table(frame)

    async def _move(self) -> None:
        for one in self.dialogues.values():
            await one.move()

    def _asked(self) -> dict[str, Asked]:
        return {
            protocol: next(move for move in reversed(one.moves) if isinstance(move, Asked))
            for protocol, one in self.dialogues.items()
        }

    def _panels(self, shown: Callable[[str, Asked], JSON], cut: int = layout.CUT) -> Page:
        return layout.columns(
            [
                (wire(protocol)["title"], layout.json_page(shown(protocol, asked), cut))
                for protocol, asked in self._asked().items()
            ]
        )


_FACTS = ("system", "result", "id", "error")


def choices_page(suite: Suite, words: Words, players: Players) -> Page:
    """What ``tool_choice`` becomes on each wire; made by the adapters, nothing is sent."""
    rows = []
    for choice in CHOICES:
        row = {"tool_choice": choice}
        for protocol in ADAPTERS:
            model = players.simulated(wire(protocol)["model"], protocol, profile=wire(protocol)["profile"])
            adapter = adapter_for(protocol)
            offer = _offer(suite, words.lang, choice)
            history = adapter.start("…", [{"role": "user", "content": "…"}], offer)
            try:
                body = adapter.build_request(model, history, offer).body
            except TransportError:
                # Forcing that a wire cannot say is refused before anything is sent.
                row[wire(protocol)["title"]] = words("choice_no_field")
                continue
            sent = {key: body[key] for key in wire(protocol)["choice"] if key in body}
            if "tools" not in body:
                row[wire(protocol)["title"]] = words("choice_no_tools")
            else:
                row[wire(protocol)["title"]] = (
                    json.dumps(sent, ensure_ascii=False) if sent else words("choice_no_field")
                )
        rows.append(row)
    return layout.table(pd.DataFrame(rows))


def failed_page(suite: Suite, words: Words, players: Players, result: ToolResult) -> Page:
    """One failed call as it goes back to the model on each wire."""
    call = ToolCall("call_1", "get_time", '{"timezone": "Tokyo"}', {"timezone": "Tokyo"})
    panels = []
    for protocol in ADAPTERS:
        adapter = adapter_for(protocol)
        offer = _offer(suite, words.lang, "auto")
        made = {"id": call.id, "name": call.name, "arguments": call.arguments}
        history: list[dict[str, JSON]] = [
            {"role": "user", "content": "…"},
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": call.id, "result": result},
        ]
        messages = adapter.start("…", history, offer)
        panels.append((wire(protocol)["title"], layout.json_page(messages[-1], LONG_CUT)))
    return layout.columns(panels)


def _offer(suite: Suite, lang: str, choice: str) -> Offer:
    tools = suite.contract.tools
    return Offer(tools, lang, {tool.name: tool.name for tool in tools}, choice)


def _one_tool(body: dict[str, Any], more: str) -> JSON:
    """Return a request with the first of its tools, which shows the shape of all."""
    tools = body["tools"]
    declared = tools[0].get("functionDeclarations")
    if declared:
        return {**body, "tools": [{"functionDeclarations": [declared[0], more.format(n=len(declared) - 1)]}]}
    return {**body, "tools": [tools[0], more.format(n=len(tools) - 1)]}
