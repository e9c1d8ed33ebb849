"""How people speak of a tool's action and of its arguments: drafted from names and descriptions, as a guess.

The judge needs both: what says that an action was done (``actions``), and what asks for an argument
(``ask_words``). No source of tools tells them, so they are drafted for a person to correct.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from toolbench.authoring.importing.effects import words
from toolbench.domain.canonical import JSON, loads_strict

LANGS = ("en", "ru")
_LONGEST = 4
"""Words of a description's beginning that still are what an argument is called."""
_HEAD = re.compile(r"[^.,;:()\[\]{}<>«»\"'`/|\n]+")
_CYRILLIC = re.compile(r"[а-яё]", re.I)
_ARTICLE = re.compile(r"^(?:the|an?|your|user's) ", re.I)


@cache
def _by_verb() -> Mapping[str, Mapping[str, Sequence[str]]]:
    groups = loads_strict(resources.files(__package__).joinpath("said.json").read_text("utf-8"))
    return {verb: group for group in groups for verb in group["verbs"].split()}


def worded(tools: Sequence[Any]) -> list[JSON]:
    """Return entries of ``tools.json`` with the words that they do not bring, marked as guesses."""
    return [_worded(tool) for tool in tools]


def _worded(tool: Mapping[str, Any]) -> dict[str, JSON]:
    drafted: dict[str, tuple[JSON, str]] = {}
    spoken = words(tool["name"])
    verb = next((word for word in spoken if word in _by_verb()), None)
    if "actions" not in tool and spoken:
        said = {lang: list(_by_verb()[verb][lang]) for lang in LANGS} if verb else {"en": spoken[:1]}
        drafted["actions"] = said, f"how {verb or spoken[0]!r} of the name is said"
    slots = {name: _slot(name, schema) for name, schema in _properties(tool).items()}
    if "ask_words" not in tool and slots:
        drafted["ask_words"] = slots, "from the arguments' names and descriptions"
    guessed = {**tool.get("guessed", {}), **{key: why for key, (_, why) in drafted.items()}}
    made = {**tool, **{key: value for key, (value, _) in drafted.items()}}
    return {**made, "guessed": guessed} if guessed else made


def _properties(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = tool["parameters"].get("properties", {})
    return found


def _slot(name: str, schema: Any) -> dict[str, list[str]]:
    """Return what an argument is called: by its name, and by the beginning of its description."""
    called = " ".join(words(name)) or name
    by_lang: dict[str, list[str]] = {lang: [called] for lang in LANGS}
    if called.endswith((" id", " number", " no")):
        by_lang["en"] += [f"{called.rpartition(' ')[0]} number", f"which {called.rpartition(' ')[0]}"]
    told = schema.get("description") if isinstance(schema, dict) else None
    for text in told.values() if isinstance(told, dict) else [told]:
        if isinstance(text, str) and (head := _head(text)):
            by_lang["ru" if _CYRILLIC.search(head) else "en"].append(head)
    return {lang: list(dict.fromkeys(found)) for lang, found in by_lang.items()}


def _head(text: str) -> str:
    """Return the beginning of a description if it can be a name: "Phone number, ten digits"."""
    found = _HEAD.match(text.strip())
    head = _ARTICLE.sub("", found[0].strip()).lower() if found else ""
    return head if 0 < len(head.split()) <= _LONGEST and len(head) <= 60 else ""
