"""Does a tool change anything? Nobody says so in a list of tools, so it is guessed, and marked as a guess.

A wrong ``write`` costs a warning too many; a wrong ``read`` hides an unsafe call. So ``read`` needs a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from toolbench.domain.canonical import loads_strict
from toolbench.domain.contract import Effect

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@cache
def _effect_of_verb() -> Mapping[str, Effect]:
    verbs = loads_strict(resources.files(__package__).joinpath("verbs.json").read_text("utf-8"))
    return {verb: effect for effect, listed in verbs.items() for verb in listed.split()}


def verbs() -> frozenset[str]:
    """Return the verbs that tools' names are known to begin with."""
    return frozenset(_effect_of_verb())


def words(name: str) -> list[str]:
    """Return the words of a name in ``snake_case``, ``camelCase`` or with dots, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def guess_effect(name: str) -> tuple[Effect, str]:
    """Return a tool's effect as its name suggests it, and why.

    The first verb decides, unless another is joined to it: ``get_order`` reads, ``get_or_create`` writes.
    """
    found = list(_verbs(words(name)))
    if not found:
        return "write", "the name does not tell, and a write is what one is careful with"
    verb, effect = next((one for one in found if one[1] == "write"), found[0])
    return effect, f"the name says {verb!r}"


def _verbs(spoken: list[str]) -> Iterator[tuple[str, Effect]]:
    """Yield the first verb, and those after an *and* or an *or*."""
    known = _effect_of_verb()
    first = next((index for index, word in enumerate(spoken) if word in known), None)
    for index, word in enumerate(spoken):
        joined = index > 0 and spoken[index - 1] in ("and", "or")
        if word in known and (index == first or joined):
            yield word, known[word]
