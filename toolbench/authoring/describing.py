"""Lint of what a model is told about tools, against what makes models fail although the schema is right.

Every rule, with the public page it comes from, is data: ``describing.json``. A rule is a hint and no verdict;
whether another wording helps, a comparison of both shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from toolbench.authoring.importing.effects import verbs, words
from toolbench.domain.canonical import JSON, loads_strict
from toolbench.domain.contract import Contract, ToolSpec
from toolbench.judging.reading.russian_words import analyse

_WORD = re.compile(r"[\w%'’]+")

VERBS = ("VERB", "INFN")
"""Parts of speech that say what is done."""


@dataclass(frozen=True)
class Hint:
    """What a tool's wording lacks.

    ``code`` names the rule; ``where`` is the tool, its parameter after a dot, or a language behind a slash.
    """

    code: str
    where: str
    detail: str = ""

    def __str__(self) -> str:
        rule = _data()["rules"][self.code]
        source = _data()["sources"][rule["source"]]
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.where}: {self.code}: {rule['says']}{detail} [{source['title']}, {source['url']}]"


@cache
def _data() -> Mapping[str, Any]:
    found: Mapping[str, Any] = loads_strict(
        resources.files(__package__).joinpath("describing.json").read_text("utf-8")
    )
    return found


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(_data()["words"][name].split())


def describe(contract: Contract, only: Sequence[str] = ()) -> list[Hint]:
    """Return what the wordings of tools lack; of those named in ``only``, where any are."""
    wanted = [tool for tool in contract.tools if not only or tool.name in only]
    return [hint for tool in wanted for hint in _of_tool(tool, contract.tools)]


def _of_tool(tool: ToolSpec, tools: Sequence[ToolSpec]) -> Iterator[Hint]:
    limits = _data()["limits"]
    for lang, text in tool.description.items():
        where = f"{tool.name}/{lang}" if lang else tool.name
        said = _words(text)
        if not any(_acts(word) for word in said[: limits["first_words"]]):
            yield Hint("no_verb", where)
        if len(text) < limits["shortest"]:
            yield Hint("too_short", where, f"{len(text)} characters")
        elif not _listed("when_not") & set(said):
            yield Hint("no_when_not", where)
        if len(text) > limits["longest"]:
            yield Hint("too_long", where, f"{len(text)} characters")
    for other in tools:
        if other.name != tool.name and _alike(tool, other) >= limits["alike"]:
            yield Hint("neighbour", tool.name, other.name)
    for lang in tool.description:
        properties = tool.parameters_in(lang).get("properties", {})
        for name, schema in properties.items():
            if isinstance(schema, dict):
                yield from _of_parameter(f"{tool.name}.{name}{f'/{lang}' if lang else ''}", name, schema)


def _of_parameter(where: str, name: str, schema: Mapping[str, JSON]) -> Iterator[Hint]:
    text = schema.get("description")
    said = set(_words(text)) if isinstance(text, str) else set()
    if not said:
        yield Hint("no_parameter_description", where)
    named = set(words(name)) or {name.lower()}
    kind, choices = schema.get("type"), schema.get("enum")
    if isinstance(choices, list):
        unclear = [str(one) for one in choices if _is_code(one) and str(one).lower() not in said]
        if unclear:
            yield Hint("enum_without_meaning", where, ", ".join(unclear[:5]))
    elif kind in ("number", "integer"):
        if not (named & _listed("counted") or (said | named) & _listed("units")):
            yield Hint("unnamed_unit", where)
    elif kind == "string" and named & _listed("formed") and not _shows_form(schema, text):
        yield Hint("unnamed_format", where)


def _shows_form(schema: Mapping[str, JSON], text: JSON) -> bool:
    """Whether anything says what a text has to look like."""
    if any(key in schema for key in ("format", "pattern", "examples", "const")):
        return True
    said = text if isinstance(text, str) else ""
    return bool(re.search(r"\d|[\"'`«]", said)) or bool(_listed("shows_form") & set(_words(said)))


def _is_code(value: JSON) -> bool:
    """Whether a value is too short, or no word at all, to speak for itself."""
    return (
        not isinstance(value, str)
        or len(value) <= _data()["limits"]["code"]
        or not re.search("[^\\W\\d_]", value)
    )


def _alike(one: ToolSpec, other: ToolSpec) -> float:
    """Return the share of words that two tools have in common, those of their names and texts."""
    left, right = _content(one), _content(other)
    return len(left & right) / max(len(left | right), 1)


@cache
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(word for word in _words(text) if len(word) > 2)


def _content(tool: ToolSpec) -> frozenset[str]:
    return _vocabulary(" ".join([*words(tool.name), *tool.description.values()]))


def _acts(word: str) -> bool:
    """Whether a word is a verb, or the noun of one as Russian titles have it."""
    if word.isascii():
        known = verbs()
        stems = (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
        return any(stem in known for stem in stems)
    return analyse(word).pos in VERBS or word.endswith(("ние", "ния", "ция", "ции"))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
