"""Questions: is what is missing asked for, and nothing else?

``missing_clarification`` and ``needless_question``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from toolbench.domain.contract import ToolSpec
from toolbench.domain.patterns import pattern
from toolbench.domain.record import CallRecord
from toolbench.judging.given import Given
from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.reader import read_as
from toolbench.judging.reading.statements import Actor, Clause, Mood, Reading
from toolbench.judging.text import contains, contains_any, normalize
from toolbench.judging.trace import Finding, Segment, Trace, short

_MARKS = frozenset('«»“”"')
"""A question with quotation marks is somebody else's."""
_SHORT = 3
"""Words of a question that only points at what was just told: "Which one?"."""
_IDENTIFIER = re.compile(r"[^\W\d_]+-\w*\d\w*")
ASKING = frozenset({Mood.ASKED, Mood.REQUESTED})


def asks(reading: Reading) -> bool:
    """Whether a text asks the user for something: a question, a request, an offer to be accepted."""
    return any(clause.mood in ASKING or _offers(clause, reading) for clause in reading.clauses)


def _offers(clause: Clause, reading: Reading) -> bool:
    """Whether a clause waits for the user: an offer, or a condition that the user gives something."""
    if clause.mood is Mood.OFFERED:
        return True
    return clause.mood is Mood.CONDITIONAL and clause.actor is Actor.USER and "giving" in clause.concepts


def asked_text(reading: Reading) -> str:
    """Return, normalised, the sentences that ask, and those right around them on the same line."""
    asking = [clause for clause in reading.clauses if clause.mood in ASKING or _offers(clause, reading)]
    sentences = {clause.sentence for clause in asking}
    return _text_of(reading, sentences)


def _text_of(reading: Reading, sentences: Collection[int]) -> str:
    """Return the words of sentences, identifiers left out: naming an order does not ask for one."""
    said = " ".join(clause.text for clause in reading.clauses if clause.sentence in sentences)
    return normalize(_IDENTIFIER.sub(" ", said))


def slots(trace: Trace) -> Mapping[str, Sequence[str]]:
    """Return argument → the words it is asked for with, over the tools on offer."""
    return _slots(tuple(trace.offered.values()), trace.lang)


@lru_cache(maxsize=1024)
def _slots(tools: Sequence[ToolSpec], lang: str) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for tool in tools:
        for name, words in tool.ask_words.items():
            choices = [
                choice for choice in tool.properties.get(name, {}).get("enum", ()) if isinstance(choice, str)
            ]
            found.setdefault(name, []).extend([*words.get(lang, ()), *choices])
    return found


def _confirms(clause: Clause, given: Given) -> bool:
    """Whether a question shows an identifier made of what the user gave: "is that ORD-310001?"."""
    named = [re.sub(r"\D", "", value.text) for value in clause.values if value.kind == "identifier"]
    return clause.mood is Mood.ASKED and any(digits and digits in given.text for digits in named)


def missing_slots(trace: Trace, segment: Segment, reading: Reading, given: Given) -> Iterator[Finding]:
    """Report what had to be asked for and is not."""
    if not asks(reading):
        yield Finding(
            "missing_clarification", path="final", expected="a question", actual=short(reading.text),
            reason="the text asks the user for nothing",
        )  # fmt: skip
        return
    text, known = asked_text(reading), slots(trace)
    # "It has a digit too few. Could you send all ten?" asks for what the sentence before is about.
    before = _text_of(reading, {s - 1 for s in _pointing_back(reading, known)})
    for name in segment.expect.missing_fields:
        words = known.get(name) or [name]
        malformed = len(segment.expect.missing_fields) == 1 and any(
            "malformed" in clause.concepts for clause in reading.clauses
        )
        malformed = malformed or any(_confirms(clause, given) for clause in reading.clauses)
        if malformed or contains_any(f"{text} {before}", words) or _offers_values(name, reading, trace):
            continue
        if asks_unknown(trace, reading, given):
            reason = f"asks in words the reader does not know; what is missing is {name}"
            yield Finding(
                "unclear", path="final", expected=f"a question about {name}",
                actual=short(reading.text), reason=reason,
            )  # fmt: skip
        else:
            reason = f"the question does not ask for {name} (none of: {', '.join(words)})"
            yield Finding(
                "missing_clarification", path="final", expected=f"a question about {name}",
                actual=short(reading.text), reason=reason,
            )  # fmt: skip


def _asking_sentences(reading: Reading) -> set[int]:
    return {
        clause.sentence for clause in reading.clauses if clause.mood in ASKING or _offers(clause, reading)
    }


def _unknown_demand(reading: Reading, sentence: int, known: Mapping[str, Sequence[str]], lang: str) -> bool:
    """Whether a sentence asks the user to tell something, and names no slot the reader knows."""
    demands = [
        clause
        for clause in reading.clauses
        if clause.sentence == sentence and clause.concepts & {"giving", "choice"} and clause.mood in ASKING
    ]
    if demands and not _hits(_text_of(reading, {sentence}), known):
        return True
    # "What is it about, and which category?" asks for two things, one of them in words of its own.
    asking = lexicon(lang).data["grammar"].get("asking", ())
    own = [one for one in demands if any(w.pos == "NOUN" or w.text in asking for w in one.words)]
    return len(own) > 1 and any(not _hits(normalize(one.text), known) for one in own)


def asks_for_consent(trace: Trace, reading: Reading, given: Given) -> bool:
    """Whether a text asks something that names no slot and demands nothing: "Are you sure?"."""
    known = slots(trace)
    return any(
        clause.mood in (Mood.ASKED, Mood.OFFERED)
        and "courtesy" not in clause.concepts
        and not _hits(_text_of(reading, {clause.sentence}), known)
        and not _off_the_matter(reading, clause.sentence, given)
        for clause in reading.clauses
    )


def asks_unknown(trace: Trace, reading: Reading, given: Given) -> bool:
    """Whether a text asks about the matter in words that name no slot the reader knows."""
    known = slots(trace)
    return any(
        _unknown_demand(reading, sentence, known, read_as(given.lang))
        and not _off_the_matter(reading, sentence, given)
        for sentence in _asking_sentences(reading)
    )


def _off_the_matter(reading: Reading, sentence: int, given: Given) -> bool:
    """Whether a question is about things that nobody has spoken of: "What is your favourite colour?"."""
    vocabulary = lexicon(read_as(given.lang)).matters
    clauses = [clause for clause in reading.clauses if clause.sentence == sentence]
    if any("pointing" in clause.concepts for clause in clauses):
        return False
    things = [word for clause in clauses for word in clause.words if word.pos == "NOUN"]
    return bool(things) and not any(
        word.lemma in vocabulary or any(contains(given.text, form) for form in (word.text, word.lemma))
        for word in things
    )


def _offers_values(name: str, reading: Reading, trace: Trace) -> bool:
    """Whether a question lists values that the argument may have: "1, 2 or 3?"."""
    limits = [tool.properties[name] for tool in trace.offered.values() if name in tool.properties]
    numbers = [
        value.low
        for clause in reading.clauses
        if clause.sentence in _asking_sentences(reading)
        for value in clause.values
        if value.kind == "number" and value.low is not None
    ]
    return len(numbers) > 1 and any(
        limit.get("type") == "integer"
        and all(
            limit.get("minimum", number + 1) <= number <= limit.get("maximum", number - 1)
            for number in numbers
        )
        for limit in limits
    )


def _pointing_back(reading: Reading, known: Mapping[str, Sequence[str]]) -> Iterator[int]:
    """Yield the sentences that ask without naming any slot."""
    for sentence in {clause.sentence for clause in reading.clauses if clause.mood in ASKING}:
        text = _text_of(reading, {sentence})
        if not any(contains_any(text, words) for words in known.values()):
            yield sentence


def check_questions(
    trace: Trace, segment: Segment, reading: Reading, results: Sequence[CallRecord], given: Given
) -> Iterator[Finding]:
    """Report questions for what is known or of no use."""
    expect = segment.expect
    failed = any(not record.succeeded for record in results)
    if "clarification" in expect.kinds and not expect.missing_fields:
        yield from () if results else _known_already(trace, reading, given)
        return
    # A call that is missing or could not run is the fault; what is asked instead is its consequence.
    if (expect.call_required and not segment.calls) or any(made.record.rejection for made in segment.calls):
        return
    wanted, known = set(expect.missing_fields), slots(trace)
    asked = _hits(asked_text(reading), known) & wanted
    if wanted and not asked:
        # What is wrong is that the right question is missing; the decision's check says so.
        return
    back = {s for s in _pointing_back(reading, known) if wanted & _hits(_text_of(reading, {s - 1}), known)}
    quoted = {
        clause.sentence for clause in reading.clauses if given.repeats(clause) or _MARKS & set(clause.text)
    }
    polite = quoted | {clause.sentence for clause in reading.clauses if "courtesy" in clause.concepts}
    chosen = {clause.sentence for clause in reading.clauses if "choice" in clause.concepts}
    for clause in reading.clauses:
        if (
            given.repeats(clause)
            or clause.mood not in ASKING
            or clause.sentence in polite
            or not _demands(clause)
        ):
            continue
        if (clause.sentence in chosen or len(clause.words) <= _SHORT) and results:
            continue
        hit = _hits(_text_of(reading, {clause.sentence}), known)
        if hit & wanted or clause.sentence in back or (failed and _about_the_failure(clause, hit, results)):
            continue
        if hit:
            yield _needless(clause, f"asks for {', '.join(sorted(hit))}, which is known or of no use")
        elif not asked and "malformed" not in clause.concepts:
            reason = "asks for something that no tool takes by that word"
            yield Finding(
                "unclear", path="final", expected="no such question", actual=short(clause.text), reason=reason
            )


def _known_already(trace: Trace, reading: Reading, given: Given) -> Iterator[Finding]:
    """Report a demand for what the user gave, where a question of some kind may be right."""
    known = slots(trace)
    patterns = {
        name: schema["pattern"].strip("^$")
        for tool in trace.offered.values()
        for name, schema in tool.properties.items()
        if "pattern" in schema
    }
    for clause in reading.clauses:
        hit = _hits(normalize(_IDENTIFIER.sub(" ", clause.text)), known) if _demands(clause) else set()
        told = {name for name in hit & patterns.keys() if pattern(patterns[name]).search(given.users.upper())}
        if clause.mood in ASKING and told and hit <= told:
            reason = f"asks for {', '.join(sorted(told))}, which the user gave"
            yield Finding(
                "unclear", path="final", expected="no such question", actual=short(clause.text), reason=reason
            )


def proposes(trace: Trace, reading: Reading, results: Sequence[CallRecord]) -> bool:
    """Whether a text asks for or offers something that may lead on after an error.

    A question for what no failed call was given leads nowhere.
    """
    known = slots(trace)
    failed = {name for record in results if not record.succeeded for name in (record.arguments or {})}
    for clause in reading.clauses:
        if not (clause.mood in ASKING or _offers(clause, reading)) or "courtesy" in clause.concepts:
            continue
        hit = _hits(_text_of(reading, {clause.sentence}), known)
        if not hit or hit & failed:
            return True
    return False


def _about_the_failure(clause: Clause, hit: set[str], results: Sequence[CallRecord]) -> bool:
    """Whether a question after an error concerns an argument of a call that failed."""
    failed = {name for record in results if not record.succeeded for name in (record.arguments or {})}
    return bool(hit & failed) or bool(clause.concepts & {"later", "verify"})


def _hits(text: str, known: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the slots a normalised text names."""
    return {name for name, words in known.items() if contains_any(text, words)}


def _demands(clause: Clause) -> bool:
    """Whether a clause demands a thing, not consent or an action."""
    return "giving" in clause.concepts and not clause.concepts & {"verify", "later"}


def _needless(clause: Clause, reason: str) -> Finding:
    return Finding(
        "needless_question",
        path="final",
        expected="no such question",
        actual=short(clause.text),
        reason=reason,
    )
