"""Harmless ways to make the same calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.selfcheck.breaking import Workpiece
from toolbench.selfcheck.oracle import ask_words, frames
from toolbench.selfcheck.rehearse import Move, Proposal
from toolbench.selfcheck.varying import Variation, every_call, every_call_turn

Text = Callable[[Mapping[str, JSON]], str]

SPELLINGS: Mapping[str, Text] = {
    "keys_reversed": lambda arguments: _plain(dict(reversed(list(arguments.items())))),
    "keys_sorted": lambda arguments: json.dumps(arguments, ensure_ascii=False, sort_keys=True),
    "json_indented": lambda arguments: json.dumps(arguments, ensure_ascii=False, indent=2),
    "json_with_tabs": lambda arguments: json.dumps(arguments, ensure_ascii=False, indent="\t"),
    "json_compact": lambda arguments: json.dumps(arguments, ensure_ascii=False, separators=(",", ":")),
    "json_ascii": lambda arguments: json.dumps(arguments, ensure_ascii=True),
    "json_slashes_escaped": lambda arguments: _plain(arguments).replace("/", "\\/"),
    "blanks_around": lambda arguments: f" \r\n\t{_plain(arguments)}\n ",
    "whole_numbers_as_4.0": lambda arguments: _plain(_floats(arguments)),
    "numbers_with_zeros": lambda arguments: _numbers(arguments, lambda n: f"{float(n)}00"),
    "numbers_with_exponent": lambda arguments: _numbers(arguments, lambda n: f"{float(n)}e0"),
}
"""Kind → the argument text; what strict JSON reads from it is equal."""

BESIDE: Mapping[str, Mapping[str, str]] = {
    "announced": {"ru": "Сейчас проверю.", "en": "Let me look that up for you."},
    "announced_at_length": {
        "ru": "Конечно! Я сейчас всё узнаю и сразу вернусь с ответом…",
        "en": "Certainly! I'll take care of that right away and come back with an answer...",
    },
    "thought_aloud": {
        "ru": "<think>Что мне вызвать? Наверное, вот это.</think>Минуту.",
        "en": "<think>Which tool should I call? Probably this one.</think>One moment.",
    },
}
"""Text beside a call that asks the user nothing."""

FIELDS: Mapping[str, Mapping[str, JSON]] = {
    "content_null": {"content": None},
    "content_as_parts": {"content": [{"type": "text", "text": ""}]},
    "unknown_fields": {"refusal": None, "annotations": [], "audio": None, "reasoning_content": "Hm?"},
}
"""Further shapes of the wire message with the same content."""


def spelled(work: Workpiece) -> Iterator[Variation]:
    """The same arguments in another JSON spelling."""
    for kind, text in SPELLINGS.items() if work.sites else ():
        script = every_call(work, partial(_respelled, text=text))
        written = [call.text for move in script for call in move.calls]
        if written != [call.text for call in work.performance.calls]:
            yield Variation(kind, script, written[0])


def accompanied(work: Workpiece) -> Iterator[Variation]:
    """A text, another finish reason or further fields beside the call."""
    if not work.sites:
        return
    changes: dict[str, dict[str, Any]] = {
        **{f"finish_{reason}": {"finish": reason} for reason in ("stop", "function_call", "end_turn")},
        **{kind: {"text": text[work.lang]} for kind, text in BESIDE.items()},
        **{kind: {"message": fields} for kind, fields in FIELDS.items()},
    }
    for kind, change in changes.items():
        yield Variation(kind, every_call_turn(work, change), kind)


def ordered(work: Workpiece) -> Iterator[Variation]:
    """Independent calls in another order, and one after another where both is allowed."""
    for scene in work.performance.scenes:
        if len(scene.calls) < 2 or scene.expect.order == "strict":
            continue
        policy = scene.expect.parallel or work.performance.suite.rules.parallel
        backwards = scene.calls[::-1]
        if len(scene.turns) == 1:
            yield Variation("calls_in_other_order", work.with_turns(scene, (backwards,)), backwards[0].tool)
        elif len({call.key for call in backwards}) > 1 and not _dependent(work):
            script = work.with_turns(scene, [(call,) for call in backwards])
            yield Variation("turns_in_other_order", script, backwards[0].tool)
        if policy == "allowed" and len(scene.turns) == 1:
            for calls in (scene.calls, backwards):
                script = work.with_turns(scene, [(call,) for call in calls])
                yield Variation("one_call_a_turn", script, calls[0].tool)


def free_choices(work: Workpiece) -> Iterator[Variation]:
    """What the case or the schema leaves free: accepted values, optional arguments, defaults."""
    for site in work.sites:
        for name, values in site.expected.accept.items():
            if name not in site.call.arguments:
                continue
            for value in values:
                changed = Proposal(site.tool.name, {**site.call.arguments, name: value})
                yield Variation("accepted_value", work.with_call(site, changed), f"{name}={value!r}")
        for name in site.expected.optional:
            if name in site.call.arguments:
                rest = {key: value for key, value in site.call.arguments.items() if key != name}
                script = work.with_call(site, Proposal(site.tool.name, rest))
                yield Variation("optional_left_out", script, name)
        for name, schema in site.tool.properties.items():
            if "default" in schema and name not in site.call.arguments:
                given = {**site.call.arguments, name: schema["default"]}
                script = work.with_call(site, Proposal(site.tool.name, given))
                yield Variation("default_given", script, name)


def asked_first(work: Workpiece) -> Iterator[Variation]:
    """What the user would tell is asked for before anything is called, all at once or slot by slot."""
    performance = work.performance
    for scene in performance.scenes:
        slots = list(performance.case.replies(scene.index))
        if not slots or not scene.turns:
            continue
        frame = frames(work.lang)["field"]
        asked = [
            frame.replace("{}", ask_words(performance.suite, performance.case, slot)[0]) for slot in slots
        ]
        for kind, texts in (("asked_at_once", [" ".join(asked)]), ("asked_one_by_one", asked)):
            moves = (*(Move(text=text) for text in texts), *scene.moves)
            yield Variation(kind, performance.script_with(scene.index, moves), texts[0])


def other_calls(work: Workpiece) -> Iterator[Variation]:
    """A call that is as good, one that may be made as well, one that need not be made."""
    for site in work.sites:
        for other in site.expected.others:
            call = Proposal(other.tool, dict(other.arguments))
            yield Variation("other_call", work.with_call(site, call), other.tool)


def lists_in_other_order(work: Workpiece) -> Iterator[Variation]:
    """A list that the case takes in any order, backwards."""
    for site in work.sites:
        for path, rule in site.expected.compare.items():
            value = site.call.arguments.get(path)
            if rule.unordered and isinstance(value, list) and len(value) > 1:
                changed = Proposal(site.tool.name, {**site.call.arguments, path: value[::-1]})
                yield Variation("list_in_other_order", work.with_call(site, changed), path)


def _respelled(call: Proposal, text: Text) -> Proposal:
    return replace(call, raw=text(call.arguments))


def _dependent(work: Workpiece) -> bool:
    rules = work.performance.suite.rules
    return any(call.tool in rules.requires for call in work.performance.calls)


def _plain(arguments: Mapping[str, JSON]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _floats(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _floats(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_floats(inner) for inner in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _numbers(arguments: Mapping[str, JSON], spell: Callable[[float], str]) -> str:
    """Write an object with its top-level numbers spelled differently."""
    members = (
        f"{json.dumps(name)}: "
        + (
            spell(value)
            if isinstance(value, int | float) and not isinstance(value, bool)
            else json.dumps(value, ensure_ascii=False)
        )
        for name, value in arguments.items()
    )
    return "{" + ", ".join(members) + "}"
