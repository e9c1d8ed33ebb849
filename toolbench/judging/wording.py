"""How the actions that tools declare are found in clauses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from toolbench.domain.contract import ToolSpec
from toolbench.judging.reading.lexicon import Phrase, occurs, phrases
from toolbench.judging.reading.statements import Clause


def action(tool: ToolSpec, lang: str) -> tuple[Phrase, ...]:
    """Return the phrases that say a tool's action in a language."""
    return _phrases(tuple(tool.actions.get(lang, ())))


@lru_cache(maxsize=1024)
def _phrases(entries: tuple[str, ...]) -> tuple[Phrase, ...]:
    return phrases(entries)


def acts(clause: Clause, forms: Sequence[Phrase]) -> bool:
    """Whether a clause carries an action: a predicate is it, or a phrase of it occurs around one."""
    lemmas = [word.act or word.lemma for word in clause.words]
    predicates = frozenset(clause.predicates)
    return any(
        phrase[0] & predicates
        if len(phrase) == 1
        else any(some & predicates for some in phrase) and occurs(phrase, lemmas)
        for phrase in forms
    )
