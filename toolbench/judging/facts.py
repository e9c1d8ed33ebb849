"""What an answer must state, and whether it states it: by value, owner, unit and polarity.

A fact is given as wordings of which one will do. Wordings with digits are values; others are read like the
answer itself, so that "could not be found" is said by "there is no such order" as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolbench.judging.alike import same
from toolbench.judging.given import Given
from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.reader import read, read_as
from toolbench.judging.reading.statements import Clause, Mood, Value
from toolbench.judging.text import contains, normalize
from toolbench.judging.trace import Finding, Segment, Trace, results_of, short
from toolbench.judging.wording import action, acts

SAYING = frozenset({Mood.ASSERTED, Mood.ABLE})
"""Moods that tell the user something."""
ADMITTING = frozenset(
    {"failed", "not_found", "unavailable", "refused", "none_free", "blocked", "locked", "deferred"}
)
"""Concepts of which one says that something did not work."""
GENERAL = frozenset(
    {
        "failed",
        "done",
        "verify",
        "later",
        "staff",
        "giving",
        "choice",
        "courtesy",
        "example",
        "pointing",
        "malformed",
    }
)
"""Concepts too wide to stand for a fact that has a narrower one."""


ADVICE = frozenset({"verify", "later"})
"""Those of them that may be a fact for want of a better one."""


@dataclass(frozen=True)
class Wanted:
    """One fact: the values or the words any of which will do.

    A wording comes with whether it is a denial itself ("not found"); ``asks`` says that a question states the
    fact ("which of the two?").
    """

    values: tuple[Value, ...]
    wordings: tuple[tuple[str, bool], ...]
    concepts: frozenset[str]
    asks: bool = False


@lru_cache(maxsize=4096)
def wanted(options: tuple[str, ...], lang: str) -> Wanted:
    """Return a fact as the checks compare it."""
    values: list[Value] = []
    wordings, concepts = [], set()
    for option in options:
        reading = read(option, lang)
        if any(map(str.isdigit, option)) and reading.values:
            # Of a date with a time, the time is the fact.
            times = [value for value in reading.values if value.kind == "time"]
            values += times or reading.values
            continue
        wordings.append((option, any(clause.denied for clause in reading.clauses)))
        concepts |= {name for clause in reading.clauses for name in clause.concepts}
    asks = bool(concepts & {"giving", "choice"})
    return Wanted(tuple(values), tuple(wordings), frozenset(concepts - GENERAL or concepts & ADVICE), asks)


def check_facts(
    trace: Trace, segment: Segment, facts: Sequence[Sequence[str]], clauses: Sequence[Clause], given: Given,
    *, otherwise: bool = False,
) -> Iterator[Finding]:  # fmt: skip
    """Report every fact that is not stated: denied, with another unit, or missing altogether.

    ``otherwise`` says that something else is stated in its place; else a clause that the reader does not
    understand may state it, and a person decides.
    """
    results = results_of(trace, segment)
    # Where a call failed, the fact may be the failure: "no access" states it, not the opposite.
    failed = any(record.result is not None and record.result.is_error for record in results)
    for options in facts:
        fact = wanted(tuple(options), read_as(given.lang))
        if any(_stated(fact, clause, given) for clause in clauses) or _acted(trace, options, clauses):
            continue
        denied = any(_denied(fact, clause) for clause in clauses)
        if denied and failed and not fact.values:
            continue
        hidden = not (denied or otherwise or fact.values)
        if hidden and any(_opaque(clause, given) for clause in clauses):
            reason = f"the reader cannot tell whether it states: {' | '.join(options)}"
            text = short(" / ".join(clause.text for clause in clauses))
            yield Finding("unclear", path="final", expected=options[0], actual=text, reason=reason)
            continue
        wording = " | ".join(options)
        text = short(" / ".join(clause.text for clause in clauses))
        if denied:
            reason = f"says the opposite of: {wording}"
            yield Finding("negated_fact", path="final", expected=wording, actual=text, reason=reason)
        else:
            reason = f"not stated: {wording}"
            yield Finding("missing_fact", path="final", expected=wording, actual=text, reason=reason)


def _opaque(clause: Clause, given: Given) -> bool:
    """Whether a clause says something about the matter in words that the lexicon does not know."""
    words = lexicon(read_as(given.lang))
    if clause.mood not in SAYING or clause.concepts - GENERAL or given.repeats(clause):
        return False
    if not clause.lemmas.isdisjoint(words.data.get("strangers", ())):
        return True
    about = clause.denied or "pointing" in clause.concepts
    about = about or any(value.kind == "identifier" for value in clause.values)
    unknown = [word for word in clause.words if word.pos in CONTENT and word.lemma not in words.known]
    return about and any(not contains(given.text, word.text) for word in unknown)


CONTENT = frozenset({"NOUN", "VERB", "PRTS", "ADJS", "PRED"})
"""Parts of speech that carry what a clause says."""


def _acted(trace: Trace, options: Sequence[str], clauses: Sequence[Clause]) -> bool:
    """Whether the fact is that a tool did its work ("rescheduled"), and a clause says so in other words."""
    lang = read_as(trace.lang)
    meant = [clause for option in options for clause in read(option, lang).clauses if not clause.denied]
    for tool in trace.suite.contract.tools:
        forms = action(tool, lang) if tool.effect == "write" else ()
        if any(acts(clause, forms) for clause in meant) and any(
            clause.completed and not clause.denied and clause.mood is Mood.ASSERTED and acts(clause, forms)
            for clause in clauses
        ):
            return True
    return False


def mentions(options: Sequence[str], clauses: Sequence[Clause], lang: str) -> bool:
    """Whether any clause, in whatever mood, has one of the wordings or means the same."""
    fact = wanted(tuple(options), read_as(lang))
    plain = [normalize(clause.text) for clause in clauses]
    return any(
        clause.concepts & fact.concepts or any(contains(text, wording) for wording, _ in fact.wordings)
        or any(same(value, one) for value in clause.values for one in fact.values)
        for clause, text in zip(clauses, plain, strict=True)
    )  # fmt: skip


def _stated(fact: Wanted, clause: Clause, given: Given) -> bool:
    advised = clause.mood is Mood.REQUESTED and not fact.values
    offered = clause.mood is Mood.OFFERED and bool(fact.values)
    if not (clause.mood in SAYING or fact.asks or advised or offered):
        return False
    if not clause.denied and any(given.same(value, one) for value in clause.values for one in fact.values):
        return True
    if clause.concepts & fact.concepts:
        return True
    plain = normalize(clause.text)
    return any(
        contains(plain, wording) and (denies or not clause.denied) for wording, denies in fact.wordings
    )


def _denied(fact: Wanted, clause: Clause) -> bool:
    if not clause.denied or clause.mood not in SAYING:
        return False
    if fact.values:
        return any(same(value, one) for value in clause.values for one in fact.values)
    plain = normalize(clause.text)
    return any(contains(plain, wording) for wording, denies in fact.wordings if not denies)
