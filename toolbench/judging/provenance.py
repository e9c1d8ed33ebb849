"""Provenance: where does every value of every argument come from?

A leaf is grounded when it is the expected value, occurs in something the user said, in the context, in an
earlier tool result, is a declared synonym of something said, a default or only choice of the schema, or is
made up of grounded pieces. Anything else is ``ungrounded_argument``: the model invented it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from toolbench.domain.canonical import JSON
from toolbench.domain.contract import ToolSpec
from toolbench.judging.matching import Matching
from toolbench.judging.normalizers import equal, normalized, number
from toolbench.judging.text import contains, normalize
from toolbench.judging.trace import Finding, MadeCall, Segment, Trace, short

_STEM = 4
"""Letters of a word that an inflected form must share at least."""


def check_provenance(trace: Trace, segment: Segment, matching: Matching) -> Iterator[Finding]:
    """Report every leaf of every readable call that has no source."""
    expected = {match.made.index: match for match in matching.matches}
    for made in segment.calls:
        if made.call.arguments is None or made.tool is None or made.repeat:
            continue
        match = expected.get(made.index)
        sources = source_text(trace, made)
        for path, name, leaf in leaves(made.call.arguments):
            if name not in made.tool.properties:
                continue
            gold = match.expected if match else None
            if gold and any(equal(leaf, good) for good in _gold_leaves(gold.arguments, gold.accept, name)):
                continue
            # A declared normaliser takes off what is only a way of writing: "Казань" says "г. Казань".
            forms = (leaf, normalized(made.tool, name, leaf))
            if all(origin(made.tool, name, form, sources) is None for form in forms):
                where = f"{made.path}.arguments{path}"
                reason = f"{short(leaf)} occurs in nothing the model was given"
                yield Finding(
                    "ungrounded_argument",
                    path=where,
                    expected="a value from the conversation",
                    actual=short(leaf),
                    reason=reason,
                )


def source_text(trace: Trace, made: MadeCall) -> str:
    """Return, normalised, everything the model had been given before it made a call."""
    said = [str(message["content"]) for message in trace.case.messages if message["role"] == "user"]
    said += [turn.user for turn in trace.case.turns[: made.segment]]
    if trace.case.context:
        said.append(json.dumps(dict(trace.case.context), ensure_ascii=False))
    said += [record.result.content for record in trace.results_before(made.turn) if record.result]
    return normalize("\n".join(said))


def leaves(value: JSON, path: str = "", name: str = "") -> Iterator[tuple[str, str, JSON]]:
    """Yield ``(path, top-level argument, leaf)`` of an argument object."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}", name or key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]", name)
    else:
        yield path, name, value


def origin(tool: ToolSpec, name: str, leaf: JSON, sources: str) -> str | None:
    """Return where a leaf comes from: ``text``, ``synonym``, ``schema``, ``derived``, or ``None``."""
    schema = tool.properties.get(name, {})
    if leaf is None or isinstance(leaf, bool):
        return "schema"
    if "default" in schema and equal(schema["default"], leaf):
        return "schema"
    if schema.get("enum") == [leaf] or schema.get("const") == leaf:
        return "schema"
    if isinstance(leaf, int | float):
        return "text" if _number_said(leaf, sources) else None
    if contains(sources, leaf) or _inflected(leaf, sources):
        return "text"
    for canonical, others in tool.synonyms.get(name, {}).items():
        forms = [canonical, *others]
        if normalize(leaf) in map(normalize, forms) and any(contains(sources, form) for form in forms):
            return "synonym"
    return "derived" if _derived(leaf, sources) else None


def _gold_leaves(arguments: JSON, accept: JSON, name: str) -> Iterator[JSON]:
    for value in (arguments.get(name), *accept.get(name, ())):
        for _, _, leaf in leaves(value):
            yield leaf


def _number_said(value: float, sources: str) -> bool:
    for found in re.finditer(r"\d[\d\u00a0 ]*(?:[.,]\d+)?", sources):
        if equal(number(found.group(0).strip()), value):
            return True
    return any(equal(number(found), value) for found in re.findall(r"\d+(?:[.,]\d+)?", sources))


def _inflected(text: str, sources: str) -> bool:
    """Whether every word of a short text occurs in another grammatical form."""
    words = re.findall(r"\w+", normalize(text))
    if not words or len(words) > 4:
        return False
    for word in words:
        if any(character.isdigit() for character in word):
            # Numbers and identifiers have no other form: 123456 is not in 1234567.
            pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
        else:
            stem = word if len(word) < _STEM else word[: max(_STEM - 1, len(word) - 2)]
            pattern = rf"(?<!\w){re.escape(stem)}"
        if not re.search(pattern, sources):
            return False
    return True


def _derived(text: str, sources: str) -> bool:
    """Whether a text (an expression, a sentence) has no number, identifier or rare word of its own."""
    words = re.findall(r"[^\W\d_]{4,}|\d+(?:[.,]\d+)?", normalize(text))
    return bool(words) and len(words) > 1 and all(_word_said(word, sources) for word in words)


def _word_said(word: str, sources: str) -> bool:
    if not word[0].isdigit():
        return _inflected(word, sources)
    value = number(word)
    # A percentage may be written as its fraction, alone or taken off or put on: 18 % is 0.18, 0.82 and 1.18.
    shares = (round(share * 100, 6) for share in (value, 1 - value, value - 1))
    return value in (0, 1, 100) or any(_number_said(said, sources) for said in (value, *shares))
