"""The flavours of Chat Completions (`dialects.json`): one wire, answered and checked a little differently."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from toolbench.simulator.failures import HERE
from toolbench.simulator.structure import Shape, load_schema


@dataclass(frozen=True)
class Flavour:
    """One flavour.

    Attributes
    ----------
    errors
        Its family of errors.
    unknown_fields
        ``refuse`` or ``ignore``.
    strict, strict_path
        Whose strict subset holds (`strict_subsets.json`), and the part of the path that it is bound to.
    fields, without
        Top-level fields beyond OpenAI's, and those of OpenAI that it does not know.
    message_fields
        Role -> fields of a message beyond OpenAI's.
    call_fields
        Fields of a call in the history beyond OpenAI's.
    roles
        Roles it knows.
    choices
        Strings that ``tool_choice`` may be; empty when it is not looked at.
    ignores
        Fields that it takes and does not follow; ``named_choice`` is the object form of ``tool_choice``.
    history_arguments
        ``any``; ``text_or_object``: any text or an object; ``object``: the text of a JSON object;
        ``json_or_500``: breaks on anything but JSON.
    call_id, call_id_pattern, call_id_limit
        How ids are made, what the history's must look like, and how many characters they may have.
    call_index
        Calls carry ``index`` outside of streams too.
    silent_content
        ``content`` of a reply that only calls.
    null_content
        Where the history may say null: ``always``, or only ``beside_calls``.
    named_finish
        ``finish_reason`` after a named tool choice.
    refusal
        ``field``, ``content_filter`` or ``text``.
    reasoning_field
        Field of the message that tells the reasoning; ``content_parts`` puts it into ``content``.
    reasoning_must_return
        The history of a thinking model must carry it while tools are on offer.
    cache_usage, usage_in_last_chunk
        Cache figures of its own; usage beside the finish reason whether asked for or not.
    whole_calls
        A streamed call comes in one piece.
    fingerprint
        ``system_fingerprint``, None where there is none.
    keep_alive
        Comment line that opens its streams.
    """

    errors: str
    unknown_fields: str
    roles: list[str]
    call_id: dict[str, Any]
    silent_content: str | None
    null_content: str
    refusal: str
    choices: list[str] = field(default_factory=list)
    strict: str | None = None
    strict_path: str | None = None
    fields: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    message_fields: dict[str, list[str]] = field(default_factory=dict)
    call_fields: list[str] = field(default_factory=list)
    ignores: list[str] = field(default_factory=list)
    history_arguments: str = "any"
    call_id_pattern: str | None = None
    call_id_limit: int | None = None
    call_index: bool = False
    named_finish: str = "tool_calls"
    reasoning_field: str | None = None
    reasoning_must_return: bool = False
    cache_usage: bool = False
    usage_in_last_chunk: bool = False
    whole_calls: bool = False
    fingerprint: str | None = None
    keep_alive: str | None = None


@cache
def dialects() -> Mapping[str, Flavour]:
    """Return every dialect by name."""
    table = json.loads((HERE / "dialects.json").read_text("utf-8"))
    return {name: Flavour(**entry) for name, entry in table.items()}


@cache
def dialect_shape(name: str) -> Shape:
    """Return the shape of a dialect's requests: OpenAI's schema with the dialect's differences."""
    dialect = dialects()[name]
    schema = load_schema("chat_completions")
    top, parts = schema["properties"], schema["$defs"]
    for gone in dialect.without:
        top.pop(gone)
    top.update({extra: {} for extra in dialect.fields})
    _choice(top, dialect)
    parts["message"]["properties"]["role"]["enum"] = dialect.roles
    for role, part in (("tool", "result"), ("assistant", "assistant")):
        parts[part]["properties"].update({extra: {} for extra in dialect.message_fields.get(role, ())})
    parts["call"]["properties"].update({extra: {} for extra in dialect.call_fields})
    if dialect.call_fields:
        # Such a server's own client leaves out the type of a call.
        parts["call"]["required"].remove("type")
    if dialect.history_arguments == "text_or_object":
        parts["call"]["properties"]["function"]["properties"]["arguments"]["type"] = ["string", "object"]
    if dialect.unknown_fields == "ignore":
        for place in (schema, *(parts[name] for name in ("said", "assistant", "call", "result"))):
            place["additionalProperties"] = True
    return Shape(schema)


def _choice(top: dict[str, Any], dialect: Flavour) -> None:
    if not dialect.choices:
        top["tool_choice"] = {}
        return
    top["tool_choice"]["then"] = {"enum": dialect.choices}
    if "named_choice" in dialect.ignores:
        top["tool_choice"]["else"] = {"type": "object"}
