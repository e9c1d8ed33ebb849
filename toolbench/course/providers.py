"""Nine rows, five providers: where they differ, read from the adapters and from dated facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from toolbench.adapters import Offer, adapter_for, dialects
from toolbench.course import layout
from toolbench.course.words import Words, data
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig, Settings
from toolbench.domain.contract import ToolSpec
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import ToolResult
from toolbench.showing.html import Page

ROWS = ("tools", "call", "result", "ids", "forced", "strict", "parallel", "thinking", "special")
TOOL = ToolSpec(
    "get_time",
    {"": "…"},
    {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]},
)
CALL = ToolCall("ID", TOOL.name, '{"timezone": "Asia/Tokyo"}', {"timezone": "Asia/Tokyo"})
HIDDEN = ("description", "role")
"""Left out of a shape: they are the same everywhere."""


@dataclass(frozen=True)
class Provider:
    """One column: a protocol in one of its dialects, and what is known of it beyond the adapters."""

    title: str
    protocol: str
    profile: str
    facts: Mapping[str, Mapping[str, str] | str]

    @property
    def date(self) -> str:
        """Day of the adapters' facts about this dialect."""
        return dialects(self.protocol)[1][self.profile].date

    def model(self, **settings: Any) -> ModelConfig:
        """Return some model of the provider; nothing is sent to it."""
        chosen = Settings(temperature=None, **settings)
        return ModelConfig("p", "m", self.protocol, "http://x", profile=self.profile, settings=chosen)

    def body(self, choice: str = "auto", **settings: Any) -> dict[str, JSON]:
        """Return a request with one tool, as the adapter makes it."""
        adapter, offer = adapter_for(self.protocol), Offer((TOOL,), "en", {TOOL.name: TOOL.name}, choice)
        history = adapter.start("…", [{"role": "user", "content": "…"}], offer)
        return adapter.build_request(self.model(**settings), history, offer).body

    def turn(self, failed: bool = False) -> list[dict[str, JSON]]:
        """Return a call and its result on the wire."""
        offer = Offer((TOOL,), "en", {TOOL.name: TOOL.name})
        made = {"id": CALL.id, "name": CALL.name, "arguments": CALL.arguments}
        history: list[dict[str, JSON]] = [
            {"role": "user", "content": "…"},
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": CALL.id, "result": ToolResult("…", is_error=failed, value={})},
        ]
        return adapter_for(self.protocol).start("…", history, offer)[2:]


def providers() -> list[Provider]:
    """Return the columns of the table."""
    return [Provider(**entry) for entry in data("providers")]


def providers_page(words: Words) -> Page:
    """The table, with the day of every column's facts."""
    columns = {"": [words(f"row_{name}") for name in ROWS]}
    for provider in providers():
        columns[f"{provider.title} ({provider.date})"] = [_MADE[name](provider, words) for name in ROWS]
    return layout.table(pd.DataFrame(columns), words("providers_caption"))


def _tools(provider: Provider, words: Words) -> str:
    return _shape(provider.body()["tools"][0])


def _call(provider: Provider, words: Words) -> str:
    said = provider.turn()[0]
    kind = "as_text" if isinstance(next(_with(said, "timezone")), str) else "as_object"
    return f"{_shape(said)}; {words('row_arguments', kind=words(kind))}"


def _result(provider: Provider, words: Words) -> str:
    kept, failed = (_shape(provider.turn(failed)[-1]) for failed in (False, True))
    marked = "" if kept == failed else f" {failed}"
    return f"{kept} {words.of(provider.facts['error'])}{marked}".strip()


def _ids(provider: Provider, words: Words) -> str:
    names = list(dict.fromkeys(_keys(provider.turn(), CALL.id)))
    return f"{' → '.join(names) or '—'}; {words.of(provider.facts['ids'])}"


def _forced(provider: Provider, words: Words) -> str:
    dialect = dialects(provider.protocol)[1][provider.profile]
    field = dialect.fields["tool_choice"]
    said = words.of(provider.facts["forced"])
    return f"{field.rpartition('.')[2]}: {said}" if field else said


def _strict(provider: Provider, words: Words) -> str:
    held = any("strict" in str(tool) for tool in provider.body(strict=True).get("tools", ()))
    return f"{'✔' if held else '✘'} {words.of(provider.facts['strict'])}"


def _parallel(provider: Provider, words: Words) -> str:
    field = dialects(provider.protocol)[1][provider.profile].fields["parallel_tool_calls"]
    said = words.of(provider.facts["parallel"])
    return f"{said} {words('row_switch', field=field) if field else words('row_no_switch')}"


def _fact(name: str) -> Callable[[Provider, Words], str]:
    return lambda provider, words: words.of(provider.facts[name])


_MADE: Mapping[str, Callable[[Provider, Words], str]] = {
    "tools": _tools,
    "call": _call,
    "result": _result,
    "ids": _ids,
    "forced": _forced,
    "strict": _strict,
    "parallel": _parallel,
    "thinking": _fact("thinking"),
    "special": _fact("special"),
}


def _shape(value: JSON) -> str:
    """Return the keys of a JSON value, and only the constants that tell kinds apart."""
    if isinstance(value, dict):
        inner = (
            f"{key}: {value[key]}"
            if key == "type" and isinstance(value[key], str)
            else _member(key, value[key])
            for key in value
            if key not in HIDDEN and value[key] != ""
        )
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        return "[" + _shape(value[0]) + "]" if value else "[]"
    return json.dumps(value, ensure_ascii=False)


def _member(key: str, value: JSON) -> str:
    """Return a key, and what is inside it where that is a structure of the wire, not of the tool."""
    schema = isinstance(value, dict) and ("properties" in value or "timezone" in value)
    nested = isinstance(value, dict | list) and value and not schema
    return f"{key}: {_shape(value)}" if nested else key


def _with(value: JSON, word: str) -> Iterator[JSON]:
    """Yield the texts and objects that hold a word."""
    if isinstance(value, list):
        for inner in value:
            yield from _with(inner, word)
    elif isinstance(value, dict):
        for inner in value.values():
            if isinstance(inner, str | dict) and word in inner:
                yield inner
            else:
                yield from _with(inner, word)


def _keys(value: JSON, wanted: str) -> Iterator[str]:
    """Yield the keys under which a value stands."""
    if isinstance(value, list):
        for inner in value:
            yield from _keys(inner, wanted)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if inner == wanted:
                yield key
            else:
                yield from _keys(inner, wanted)
