"""Breaking what a call says: its text, its structure, its values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from toolbench.authoring.mutate import mutate_arguments
from toolbench.domain.canonical import JSON
from toolbench.selfcheck.breaking import Breakage, Site, Workpiece, named
from toolbench.selfcheck.donors import differs
from toolbench.selfcheck.rehearse import Proposal

TEXTS: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "cut_json": ("invalid_json", lambda raw: raw[:-1]),
    "python_literal": ("invalid_json", lambda raw: raw.replace('"', "'")),
    "fenced_json": ("invalid_json", lambda raw: f"```json\n{raw}\n```"),
    "trailing_comma": ("invalid_json", lambda raw: f"{raw[:-1]},}}"),
    "empty_text": ("invalid_json", lambda raw: ""),
    "repeated_key": ("duplicate_key", lambda raw: f"{raw[:-1]}, {raw[1:]}"),
    "not_a_number": ("non_finite_number", lambda raw: f'{raw[:-1]}, "more": NaN}}'),
    "infinity": ("non_finite_number", lambda raw: f'{raw[:-1]}, "more": -Infinity}}'),
    "text_after": ("trailing_text", lambda raw: f"{raw} done"),
    "two_objects": ("trailing_text", lambda raw: raw + raw),
    "a_list": ("not_an_object", lambda raw: f"[{raw}]"),
    "null": ("not_an_object", lambda raw: "null"),
    "encoded_twice": ("double_encoded", lambda raw: json.dumps(raw)),
}
"""Kind → the code it must have, and what becomes of the argument text. (All need an argument.)"""


def syntax(work: Workpiece) -> Iterator[Breakage]:
    """Argument texts that are not one strict JSON object, and replies cut off by the token limit."""
    for site in work.sites:
        raw = site.call.text
        needed = bool(site.tool.required)
        for kind, (code, change) in TEXTS.items():
            if site.call.arguments and (needed or kind != "empty_text"):
                call = replace(site.call, raw=change(raw))
                yield Breakage(kind, named(code), work.with_call(site, call), f"{site.tool.name}: {call.raw}")
        cut = replace(site.call, raw=raw[: max(1, len(raw) // 2)])
        yield Breakage(
            "cut_by_limit", named("truncated"), work.with_call(site, cut, finish="length"), str(cut.raw)
        )
        whole = work.with_call(site, site.call, finish="length")
        yield Breakage("complete_but_cut_by_limit", named("truncated"), whole, site.tool.name)


def structure(work: Workpiece) -> Iterator[Breakage]:
    """Every single fault that the tool's schema forbids."""
    for site in work.sites:
        for mutation in mutate_arguments(site.tool, site.call.arguments):
            call = Proposal(site.tool.name, mutation.arguments)
            if not _made_elsewhere(work, site, call):
                yield Breakage(
                    f"argument_{mutation.kind}",
                    mutation.expected_codes,
                    work.with_call(site, call),
                    f"{site.tool.name}: {mutation.path}",
                )


def values(work: Workpiece) -> Iterator[Breakage]:
    """Valid arguments with another value than the one asked for."""
    for site in work.sites:
        for name in site.call.arguments:
            yield from _other_values(work, site, name)
        yield from _exchanged(work, site)
        yield from _left_out(work, site)
        yield from _added(work, site)


def _other_values(work: Workpiece, site: Site, name: str) -> Iterator[Breakage]:
    accepted = site.accepted.get(name, [])
    wrong = [
        other
        for other in work.donors.others(site.tool, site.call.arguments, name)
        if differs(site.tool, name, other, accepted)
    ]
    shown = work.read_before(site.scene)
    found = {
        "other_value": (named("argument_mismatch"), iter(wrong)),
        "invented_value_in_argument": (
            named("argument_mismatch", "ungrounded_argument"),
            (other for other in wrong if _unheard_of(site, name, other, shown)),
        ),
    }
    for kind, (codes, others) in found.items():
        calls = (Proposal(site.tool.name, {**site.call.arguments, name: other}) for other in others)
        call = next((call for call in calls if not _made_elsewhere(work, site, call)), None)
        if call is not None:
            yield Breakage(
                kind, codes, work.with_call(site, call), f"{site.tool.name}.{name}={call.arguments[name]!r}"
            )


def _exchanged(work: Workpiece, site: Site) -> Iterator[Breakage]:
    """Two arguments in each other's place (origin and destination, say)."""
    names = list(site.call.arguments)
    for one, other in ((a, b) for index, a in enumerate(names) for b in names[index + 1 :]):
        arguments = dict(site.call.arguments)
        arguments[one], arguments[other] = arguments[other], arguments[one]
        call = Proposal(site.tool.name, arguments)
        swapped = all(
            differs(site.tool, name, arguments[name], site.accepted.get(name, [])) for name in (one, other)
        )
        if swapped and not site.tool.issues(arguments) and not _made_elsewhere(work, site, call):
            script = work.with_call(site, call)
            yield Breakage("exchanged_values", named("argument_mismatch"), script, f"{one} ↔ {other}")


def _left_out(work: Workpiece, site: Site) -> Iterator[Breakage]:
    """An argument that the schema leaves free and the request does not."""
    for name in site.call.arguments:
        free = name not in site.tool.required and name not in site.expected.optional
        rest = {key: value for key, value in site.call.arguments.items() if key != name}
        if free and not site.tool.issues(rest):
            script = work.with_call(site, Proposal(site.tool.name, rest))
            yield Breakage("left_out_value", named("argument_mismatch"), script, f"{site.tool.name}.{name}")


def _added(work: Workpiece, site: Site) -> Iterator[Breakage]:
    """An optional argument that nobody asked for."""
    for name, schema in site.tool.properties.items():
        unasked = name not in site.call.arguments and name not in site.expected.optional
        default = schema.get("default")
        others = (v for v in work.donors.others(site.tool, site.call.arguments, name) if v != default)
        value = next(others, None) if unasked else None
        if value is not None:
            script = work.with_call(site, Proposal(site.tool.name, {**site.call.arguments, name: value}))
            yield Breakage(
                "unasked_value", named("argument_mismatch"), script, f"{site.tool.name}.{name}={value!r}"
            )


def _unheard_of(site: Site, name: str, value: JSON, shown: str) -> bool:
    """Whether nothing of a value was shown to the model: no number, no synonym, no word in any form."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    synonyms = site.tool.synonyms.get(name, {}).get(str(value), ())
    text = " ".join(map(str, (value, *synonyms))).lower()
    words = "".join(c if c.isalnum() else " " for c in text).split()
    telling = [word for word in words if len(word) > 2]
    return bool(telling) and all(word[: max(3, len(word) - 2)] not in shown for word in telling)


def _made_elsewhere(work: Workpiece, site: Site, call: Proposal) -> bool:
    """Whether the same call is made in another place, so that it would be a repetition as well."""
    return any(other.call.key == call.key for other in work.sites if other is not site)
