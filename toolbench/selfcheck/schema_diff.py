"""What a provider is really sent, compared with the contract field by field.

Nothing is taken from the translation that made the request: the tools are found in the body, and every
difference must be among the losses that the request names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.adapters import Request
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.contract import ToolSpec

SCHEMA_KEYS = ("parameters", "input_schema", "parametersJsonSchema")
"""Where the wires keep the schema of a tool."""
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions"})


@dataclass(frozen=True)
class SentTool:
    """A tool as it stands in a request."""

    name: str
    description: str
    schema: Mapping[str, JSON]


@dataclass(frozen=True)
class Difference:
    """One field that is not as in the contract; ``field`` is what a loss must name."""

    tool: str
    field: str
    what: str

    def named_by(self, losses: Sequence[str]) -> bool:
        """Whether a loss names the field or the value it belongs to."""
        fields = [self.field]
        while "." in fields[-1] and fields[-1].count(".") > 1:
            fields.append(fields[-1].rpartition(".")[0])
        return any(loss.startswith(f"{self.tool}: {field} ") for loss in losses for field in fields)

    def __str__(self) -> str:
        return f"{self.tool}: {self.field} {self.what}"


def sent_tools(body: JSON) -> Iterator[SentTool]:
    """Yield every tool declaration in a request body, wherever the wire keeps it."""
    if isinstance(body, Mapping):
        key = next((key for key in SCHEMA_KEYS if isinstance(body.get(key), Mapping)), None)
        if key is not None and isinstance(body.get("name"), str):
            yield SentTool(body["name"], str(body.get("description", "")), body[key])
            return
        for value in body.values():
            yield from sent_tools(value)
    elif isinstance(body, list):
        for value in body:
            yield from sent_tools(value)


def differences(request: Request, tools: tuple[ToolSpec, ...], lang: str) -> Iterator[Difference]:
    """Yield everything in which the tools of a request differ from those of the contract."""
    sent = {request.tool_names.get(tool.name, tool.name): tool for tool in sent_tools(request.body)}
    for tool in tools:
        if tool.name not in sent:
            yield Difference(tool.name, "$", "was not sent")
            continue
        found = sent.pop(tool.name)
        if found.description != tool.described(lang):
            yield Difference(tool.name, "description", f"became {found.description[:60]!r}")
        for field, what in _compare(tool.parameters_in(lang), found.schema, "$"):
            yield Difference(tool.name, field, what)
    for name in sent:
        yield Difference(name, "$", "is not in the contract")


def _compare(own: Any, sent: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(own, Mapping) and isinstance(sent, Mapping):
        for key in dict.fromkeys([*own, *sent]):
            field = f"{path}.{key}"
            if key not in sent:
                yield field, "is gone"
            elif key not in own:
                yield field, f"was added: {canonical_json(sent[key])[:60]}"
            elif key == "required":
                yield from _required(own[key], sent[key], path)
            elif key in _BY_NAME:
                for name in dict.fromkeys([*own[key], *sent[key]]):
                    yield from _member(own[key], sent[key], name, field)
            else:
                yield from _compare(own[key], sent[key], field)
    elif canonical_json(own) != canonical_json(sent):
        yield path, f"became {canonical_json(sent)[:60]}"


def _member(
    own: Mapping[str, Any], sent: Mapping[str, Any], name: str, field: str
) -> Iterator[tuple[str, str]]:
    if name not in sent:
        yield f"{field}.{name}", "is gone"
    elif name not in own:
        yield f"{field}.{name}", "was added"
    else:
        yield from _compare(own[name], sent[name], f"{field}.{name}")


def _required(own: list[str], sent: list[str], path: str) -> Iterator[tuple[str, str]]:
    yield from ((f"{path}.properties.{name}", "became required") for name in sent if name not in own)
    yield from ((f"{path}.properties.{name}", "is no longer required") for name in own if name not in sent)
