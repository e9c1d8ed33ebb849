"""English: sentences cut into clauses at marks and at conjunctions that a verb of their own follows.

``lemminflect`` says what a word can be (:mod:`.english_words`), a grammar of auxiliaries what it is
(:mod:`.english_verbs`), and :mod:`.english_senses` what a clause says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from toolbench.judging.reading.blocks import Sentence, sentences
from toolbench.judging.reading.english_senses import asks_for, read_clause, waits
from toolbench.judging.reading.english_values import moments
from toolbench.judging.reading.english_verbs import Verb, find_verbs
from toolbench.judging.reading.english_words import Token, class_of, is_adverb, lemma, tokenize
from toolbench.judging.reading.statements import Clause, Mood, Tense

__all__ = ["clauses", "lemma", "moments"]


_BREAKS = frozenset(",;:–—()!?…·•")
_STRONG = frozenset(";:–—-")
"""Marks between two statements of a sentence."""


def _cut(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Cut a sentence at marks and at conjunctions with a verb of their own behind them."""
    chunk: list[Token] = []
    for at, token in enumerate(tokens):
        if token.text in _BREAKS or (token.text == "-" and chunk):
            chunk.append(token)
            yield chunk
            chunk = []
            continue
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if chunk and token.text in ("and", "but") and after == "not":
            yield chunk
            chunk = []
        if (
            any(t.text not in class_of("joining") for t in chunk)
            and token.text in class_of("joining")
            and _verbal_ahead(tokens, at + 1, token.text)
            and (find_verbs(chunk) or token.text in class_of("conditions"))
        ):
            yield chunk
            chunk = []
        chunk.append(token)
    if chunk:
        yield chunk


def _verbal_ahead(tokens: Sequence[Token], start: int, joint: str) -> bool:
    rest: list[Token] = []
    for token in tokens[start : start + 14]:
        # "As soon as you tell me": the second belongs to the first.
        paired = joint == token.text == "as" and len(rest) == 1
        if token.text in _BREAKS or (token.text in class_of("joining") and rest and not paired):
            break
        rest.append(token)
    if joint in ("and", "or", "to", "then") and rest:
        # "the city and the weight that …" is one list; "and registered …", "and it was …" is a clause.
        first = next((t for t in rest if not is_adverb(t)), rest[0])
        if first.text not in class_of("subjects") and not first.form.tags and not find_verbs(rest):
            return False
    return bool(find_verbs([tokens[start - 1], *rest] if joint in ("that", "who") else rest))


def clauses(text: str) -> Sequence[Clause]:
    """Read English prose (see :class:`~.statements.Reader`)."""
    found: list[Clause] = []
    quoted = list(_find_quotations(text))
    listing: Clause | None = None
    for sentence in sentences(text, class_of("abbreviations")):
        tokens = tokenize(sentence)
        if not tokens:
            continue
        read = list(_sentence(sentence, tokens, quoted))
        # Items of a list that is introduced by "I need:" are needed too.
        if (
            listing is not None
            and sentence.block > listing.block
            and (_is_thing(read[0]) or not read[0].predicates or read[0].tense is Tense.NONE)
        ):
            read = [
                replace(c, mood=listing.mood, completed=False) if _is_thing(c) or c.tense is Tense.NONE else c
                for c in read
            ]
        elif listing is None or sentence.block > listing.block:
            opens = sentence.text.rstrip().endswith(":")
            ask = [c for c in read if c.mood in (Mood.REQUESTED, Mood.ASKED)]
            listing = ask[-1] if ask and opens else None if sentence.block else listing
        found += read
    return found


def _is_thing(clause: Clause) -> bool:
    """Whether a clause is a thing with a participle: "the number used for the order"."""
    words = [word.text for word in clause.words]
    told = clause.lemmas & {"be", "have", "do"} or class_of("subjects") & set(words)
    return words[:1] != [] and words[0] in class_of("determiners") and not told


_QUOTATION = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»")


_QUOTED_WORDS = 3
"""From so many words on, quotation marks hold somebody's words and not a name or a value."""


def _find_quotations(text: str) -> Iterator[tuple[int, int]]:
    for found in _QUOTATION.finditer(text):
        inside = next(filter(None, found.groups()))
        # Marks around the whole reply quote nothing.
        if len(inside.split()) >= _QUOTED_WORDS and len(inside) < 0.9 * len(text):
            yield found.start(), found.end()


def _sentence(
    sentence: Sentence, tokens: Sequence[Token], quoted: Sequence[tuple[int, int]]
) -> Iterator[Clause]:
    parts = []
    for inside, run in groupby(tokens, lambda token: _within(token, quoted)):
        held = list(run)
        cut = [held] if inside else _cut(held)
        parts += [part for part in cut if any(not token.mark for token in part)]
    if not parts:
        return
    verbs = [find_verbs(part) for part in parts]
    asked = _asked_from(sentence, parts, verbs)
    conditional = any(waits(part, found) for part, found in zip(parts, verbs, strict=True))
    previous: Clause | None = None
    outer: Clause | None = None
    end = sentence.start
    for index, (part, found) in enumerate(zip(parts, verbs, strict=True)):
        start, end = (
            end,
            parts[index + 1][0].start if index + 1 < len(parts) else sentence.start + len(sentence.text),
        )
        clause = read_clause(part, found, previous, index >= asked, conditional)
        clause = replace(clause, start=start, end=end, sentence=sentence.index, block=sentence.block)
        if _within(part[0], quoted):
            clause = replace(clause, mood=Mood.QUOTED)
        yield clause
        mark = part[-1].text
        if mark == "(":
            outer = clause
        if mark == ")" and outer is not None:
            # What follows brackets goes on from what stands before them.
            previous = outer
        elif clause.mood is not Mood.QUOTED and not (previous and _excludes(part, found)):
            previous = clause


def _excludes(part: Sequence[Token], verbs: Sequence[Verb]) -> bool:
    """Whether a chunk only says what is not meant: "for this one, not for that"."""
    words = [token.form.lemma for token in part if not token.mark and token.text not in class_of("joining")]
    return not verbs and words[:1] == ["not"]


def _within(token: Token, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= token.start < end for start, end in spans)


def _asked_from(sentence: Sentence, parts: Sequence[Sequence[Token]], verbs: Sequence[Sequence[Verb]]) -> int:
    """Return the index of the first chunk of a question, or one past the last."""
    if not sentence.asks:
        return len(parts)
    real = [index for index, part in enumerate(parts) if any(not token.mark for token in part)]
    for index in real:
        before = [t.text for t in parts[index][: verbs[index][0].at if verbs[index] else None]]
        subject = bool(class_of("subjects") - class_of("asking") & set(before))
        if asks_for(parts[index]) or (verbs[index] and verbs[index][0].inverted and not subject):
            return index
    last = next((index for index in reversed(real) if verbs[index]), real[0]) if real else 0
    # "It doesn't exist - mind checking?": what is asked stands behind the dash.
    behind = [index for index in real if index and parts[index - 1][-1].text in _STRONG]
    return max([last, *behind[-1:]])
