"""One extension of each kind for toolbench."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolbench import Check
from toolbench.adapters.chat_completions import ChatCompletions
from toolbench.authoring.importing import Material
from toolbench.judging import Finding


class HouseChat(ChatCompletions):
    """Chat Completions behind a gateway that wants its key in a header of its own."""

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry a key."""
        return {"X-House-Key": key}


house_chat = HouseChat()


def _shouts(trace: Any) -> Iterator[Finding]:
    for turn in trace.attempt.turns:
        text = turn.decision.text
        if len(text) > 3 and text.isupper():
            yield Finding(
                "shouting", path=f"turns[{turn.index}]", expected="small letters", actual=text[:40],
                reason="the whole text is in capitals",
            )  # fmt: skip


no_shouting = Check(_shouts, {"shouting": "The answer is written in capitals."}, layer="answer")


def plate(value: Any) -> Any:
    """A number plate: capitals, no blanks and dashes."""
    return "".join(filter(str.isalnum, value)).upper() if isinstance(value, str) else value


def lines(source: str) -> Material:
    """A text file with one tool a line, ``name: description``; what begins with ``get`` reads."""
    tools = []
    for line in Path(source).read_text(encoding="utf-8").splitlines():
        name, _, description = line.partition(":")
        effect = "read" if name.startswith("get") else "write"
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        entry = {"name": name.strip(), "description": description.strip(), "parameters": schema}
        tools.append({**entry, "effect": effect})
    return Material(f"lines of {Path(source).name}", tools)
