"""What an answer must state, and whether it states it: by value, owner, unit and polarity.

A fact is given as wordings of which one will do. Wordings with digits are values; others are read like the
answer itself, so that "could not be found" is said by "there is no such order" as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolbench.judging.alike import same
from toolbench.judging.doubts import other_half
from toolbench.judging.given import Given
from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.reader import read, read_as
from toolbench.judging.reading.statements import Clause, Mood, Tense, Value
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
    fact ("which of the two?"); ``absent`` are things that a wording says there are none of ("no tickets").
    """

    values: tuple[Value, ...]
    wordings: tuple[tuple[str, bool], ...]
    concepts: frozenset[str]
    asks: bool = False
    absent: frozenset[str] = frozenset()


@lru_cache(maxsize=4096)
def wanted(options: tuple[str, ...], lang: str) -> Wanted:
    """Return a fact as the checks compare it."""
    values: list[Value] = []
    wordings, concepts, absent = [], set(), set()
    data = lexicon(lang).data
    inability = data.get("inability", ())
    for option in (*options, *(inability if set(inability) & set(options) else ())):
        reading = read(option, lang)
        if any(map(str.isdigit, option)) and reading.values:
            # Of a date with a time, the time is the fact.
            times = [value for value in reading.values if value.kind == "time"]
            values += times or reading.values
            continue
        wordings.append((option, any(clause.denied for clause in reading.clauses)))
        concepts |= {name for clause in reading.clauses for name in clause.concepts}
        none = [one for one in reading.clauses if one.denied and one.lemmas & {*data.get("indefinite", ())}]
        absent |= {word.lemma for clause in none for word in clause.words if word.pos == "NOUN"}
    asks = bool(concepts & {"giving", "choice"})
    meant = frozenset(concepts - GENERAL or concepts & ADVICE)
    return Wanted(tuple(values), tuple(wordings), meant, asks, frozenset(absent))


def check_facts(
    trace: Trace, segment: Segment, facts: Sequence[Sequence[str]], clauses: Sequence[Clause], given: Given,
    *, otherwise: bool = False,
) -> Iterator[Finding]:  # fmt: skip
    """Report every fact that is not stated: denied, with another unit, or missing altogether.

    ``otherwise`` says that something else is stated in its place; else the reply may state it in a way that
    the reader does not know (:func:`_doubt`), and a person decides.
    """
    results = results_of(trace, segment)
    # Where a call failed, the fact may be the failure: "no access" states it, not the opposite.
    failed = any(record.result is not None and record.result.is_error for record in results)
    fact_lang = read_as(given.lang)
    for options in facts:
        fact = wanted(tuple(options), fact_lang)
        if any(_stated(fact, clause, given) for clause in clauses) or _acted(trace, options, clauses, given):
            continue
        denied = any(_denied(fact, clause) for clause in clauses)
        if denied and failed and not fact.values:
            continue
        wording = " | ".join(options)
        text = short(" / ".join(clause.text for clause in clauses))
        others = [wanted(tuple(other), fact_lang) for other in facts if other is not options]
        doubt = "" if denied or otherwise else _doubt(fact, clauses, given, others, failed)
        if doubt:
            yield Finding(
                "unclear", path="final", expected=options[0], actual=text, reason=f"{doubt}: {wording}"
            )
        elif denied:
            reason = f"says the opposite of: {wording}"
            yield Finding("negated_fact", path="final", expected=wording, actual=text, reason=reason)
        else:
            reason = f"not stated: {wording}"
            yield Finding("missing_fact", path="final", expected=wording, actual=text, reason=reason)


def _doubt(
    fact: Wanted, clauses: Sequence[Clause], given: Given, others: Sequence[Wanted], failed: bool
) -> str:
    """Return why a fact that no clause states may be stated all the same, or an empty text."""
    if fact.values:
        told = [(clause, value) for clause in clauses for value in clause.values if not clause.denied]
        if any(other_half(value, fact.values) for _, value in told):
            return "leaves open which half of the day is meant"
        named = any(given.same(value, one) for _, value in told for one in fact.values)
        return "is named, but not in a statement" if named else ""
    if any(opaque(clause, given) for clause in clauses):
        return "the reader cannot tell whether it states"
    negative = failed or any(denies for _, denies in fact.wordings)
    if negative and any(_admits_more(clause, others, given) for clause in clauses):
        return "says that something did not work, but not in these words"
    return ""


def admits(clause: Clause) -> bool:
    """Whether a clause says that something did not work."""
    return clause.mood in SAYING and (clause.denied or bool(clause.concepts & ADMITTING))


def _admits_more(clause: Clause, others: Sequence[Wanted], given: Given) -> bool:
    """Whether a clause admits something about a thing, and is not there for another fact."""
    about = bool(clause.values) or _of_the_matter(clause, given)
    return admits(clause) and about and not any(_stated(other, clause, given) for other in others)


def opaque(clause: Clause, given: Given) -> bool:
    """Whether a clause says something about the matter in words that the lexicon does not know."""
    words = lexicon(read_as(given.lang))
    if clause.mood not in SAYING or clause.concepts - GENERAL or given.repeats(clause):
        return False
    if not clause.lemmas.isdisjoint(words.data.get("strangers", ())):
        return True
    about = clause.denied or "pointing" in clause.concepts
    about = about or any(value.kind == "identifier" for value in clause.values)
    about = about or _of_the_matter(clause, given)
    content = [word for word in clause.words if word.pos in CONTENT]
    spans = [(value.start, value.end) for value in clause.values]
    unknown = [
        word
        for word in content
        if word.lemma not in words.known and not any(start <= word.start < end for start, end in spans)
    ]
    return about and any(not contains(given.text, word.text) for word in unknown)


def _of_the_matter(clause: Clause, given: Given) -> bool:
    """Whether a clause names a thing that was spoken of."""
    return any(word.pos == "NOUN" and contains(given.text, word.text) for word in clause.words)


CONTENT = frozenset({"NOUN", "VERB", "PRTS", "ADJS", "PRED"})
"""Parts of speech that carry what a clause says."""


def _acted(trace: Trace, options: Sequence[str], clauses: Sequence[Clause], given: Given) -> bool:
    """Whether the fact is that a tool did its work ("rescheduled"), and a clause says so in other words, or
    by what is so now ("it comes on 2 December").
    """
    lang = read_as(trace.lang)
    meant = [clause for option in options for clause in read(option, lang).clauses if not clause.denied]
    for tool in trace.suite.contract.tools:
        forms = action(tool, lang) if tool.effect == "write" else ()
        if not any(acts(clause, forms) for clause in meant):
            continue
        made = [
            one for record in given.records if record.call.startswith(f"{tool.name} ") for one in record.own
        ]
        written = [one for one in made if one.kind != "identifier"]
        for clause in clauses:
            if clause.denied or clause.mood is not Mood.ASSERTED:
                continue
            if clause.completed and (acts(clause, forms) or (written and "done" in clause.concepts)):
                return True
            said = clause.tense is not Tense.NONE
            if said and any(given.same(value, one) for value in clause.values for one in written):
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
    if clause.denied and fact.absent & clause.lemmas and _is_none(clause, given):
        return True
    plain = normalize(clause.text)
    return any(
        contains(plain, wording) and (denies or not clause.denied) for wording, denies in fact.wordings
    )


def _is_none(clause: Clause, given: Given) -> bool:
    """Whether a denied clause says that there is none of something: "it hasn't got a single ticket"."""
    data = lexicon(read_as(given.lang)).data
    there = not set(clause.predicates).isdisjoint(data.get("existing", ()))
    return there and not clause.lemmas.isdisjoint(data.get("indefinite", ()))


def _denied(fact: Wanted, clause: Clause) -> bool:
    if not clause.denied or clause.mood not in SAYING:
        return False
    if fact.values:
        return any(same(value, one) for value in clause.values for one in fact.values)
    plain = normalize(clause.text)
    return any(contains(plain, wording) for wording, denies in fact.wordings if not denies)
