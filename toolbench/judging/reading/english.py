"""Reading English: verb groups, their polarity and mood, and who acts.

``lemminflect`` says what a word can be; a small grammar of auxiliaries decides what it is. A sentence falls
into clauses at marks and at conjunctions that a verb of their own follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import groupby, pairwise

import lemminflect

from toolbench.judging.reading.blocks import Sentence, sentences
from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.statements import Actor, Clause, Mood, Tense, Value, Word
from toolbench.judging.reading.values import clock_minutes

LANG = "en"
_TOKEN = re.compile(r"[^\W\d_]+-\w*\d[\w-]*|[^\W\d_]+(?:[-'][^\W\d_]+)*|\d[\w.,:/-]*\w|\d|[^\w\s]")
_CLITIC = re.compile(r"^(.*?)(n't|'s|'re|'ve|'ll|'d|'m)$")
_WHOLE = {
    "won't": ("will", "n't"),
    "can't": ("can", "n't"),
    "cannot": ("can", "not"),
    "shan't": ("shall", "n't"),
    "let's": ("let", "us"),
}
_CLITIC_LEMMA = {
    "n't": "not",
    "'re": "be",
    "'ve": "have",
    "'ll": "will",
    "'d": "would",
    "'m": "be",
    "'s": "be",
}
_BREAKS = frozenset(",;:–—()!?…")


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(lexicon(LANG).data["grammar"][name])


_PLURAL = 4
"""Letters from which on an unknown word in "s" is taken for a plural."""


@dataclass(frozen=True)
class _Form:
    """What a word can be, without its context."""

    lemma: str
    verb: str = ""
    tags: frozenset[str] = frozenset()
    noun: bool = False
    other: bool = False


@lru_cache(maxsize=20_000)
def _form(word: str) -> _Form:
    if word in _CLITIC_LEMMA:
        return _Form(_CLITIC_LEMMA[word])
    if len(word) > 40 or not word.isascii() or any(map(str.isdigit, word)):
        return _Form(word)
    grammar = lexicon(LANG).data["grammar"]
    stem = word.rpartition("-")[2] or word
    known = lemminflect.getAllLemmas(word) or lemminflect.getAllLemmas(stem)
    function = word in _words("subjects") or word in _words("determiners") or word in _words("prepositions")
    verb = "" if function else next(iter(known.get("VERB", known.get("AUX", ()))), "")
    verb = grammar["verbs"].get(word, verb)
    inflections = lemminflect.getAllInflections(verb, "VERB") if verb else {}
    tags = {tag for tag, forms in inflections.items() if word in forms or stem in forms}
    if "VBD" in tags and "VBN" not in inflections:
        tags.add("VBN")
    if "VB" in tags:
        tags.add("VBP")
    if verb and not tags:
        tags = {"VB", "VBP"} if verb == word else {"VBD", "VBN"}
    noun = "" if function else next(iter(known.get("NOUN", known.get("PROPN", ()))), "")
    other = next(iter(known.get("ADJ", known.get("ADV", ()))), "")
    lemma = verb if verb and verb != word else noun or verb or other or word
    if other and verb in ("", word) and noun in ("", word):
        lemma = other
    if not known and len(word) > _PLURAL:
        lemma = word.removesuffix("s")
    lemma = grammar["lemmas"].get(word, lemma)
    return _Form(lemma, verb, frozenset(tags), bool(noun), bool(other))


def lemma(word: str) -> str:
    """Return the dictionary form of a word: the verb's for inflected verbs, else the noun's."""
    return _form(word.lower()).lemma


@dataclass
class _Token:
    text: str
    form: _Form
    start: int
    end: int

    @property
    def mark(self) -> bool:
        return not (self.text[0].isalnum() or self.text in _CLITIC_LEMMA)

    @property
    def number(self) -> bool:
        return self.text[0].isdigit()


def _tokens(sentence: Sentence) -> list[_Token]:
    found = []
    for match in _TOKEN.finditer(sentence.text):
        start = sentence.start + match.start()
        text = match[0].lower()
        for part in _parts(text):
            found.append(_Token(part, _form(part), start, start + len(part)))
            start += len(part)
    return found


def _parts(text: str) -> tuple[str, ...]:
    if text in _WHOLE:
        return _WHOLE[text]
    clitic = _CLITIC.match(text)
    if clitic and clitic[1]:
        return (*_parts(clitic[1]), clitic[2])
    return (text,)


@dataclass
class _Verb:
    """A verb group: the main verb, its auxiliaries, and where it stands among the chunk's tokens."""

    lemma: str
    tag: str
    at: int
    end: int
    aux: list[str] = field(default_factory=list)
    inverted: bool = False
    copula: bool = False
    infinitive: str = ""
    past: bool = False

    @property
    def passive(self) -> bool:
        return self.tag == "VBN" and bool({"be", "get"} & set(self.aux[-1:]))


def _is_adverb(token: _Token) -> bool:
    return token.text in _words("adverbs") or (token.text.endswith("ly") and not token.form.tags)


def _skips(token: _Token) -> bool:
    return _is_adverb(token) or token.form.lemma == "not" or token.text in ("never", "no", "longer", "yet")


def _verbs(chunk: Sequence[_Token]) -> list[_Verb]:
    """Return the finite verbs, participles and imperatives of a chunk, in order."""
    found: list[_Verb] = []
    at = 0
    while at < len(chunk):
        verb = _auxiliary(chunk, at) if _aux_of(chunk, at) else _bare(chunk, at, found)
        if verb is None:
            at += 1
            continue
        verb.infinitive = _infinitive(chunk, verb)
        verb.past = chunk[verb.at].text in ("was", "were", "had", "did")
        found.append(verb)
        at = verb.end
    return found


def _aux_of(chunk: Sequence[_Token], at: int) -> str:
    """Return the auxiliary a token is, or an empty text."""
    token = chunk[at]
    if token.text == "'s":
        after = next((t for t in chunk[at + 1 :] if not _skips(t)), None)
        host = chunk[at - 1].text if at else ""
        if after is not None and after.text in ("been", "got", "gone", "had"):
            return "have"
        verbal = after is not None and (
            bool({"VBN", "VBG"} & after.form.tags)
            or after.text in _words("determiners")
            or after.text in _words("prepositions")
            or (after.form.other and not after.form.noun)
            or after.number
        )
        plain = at + 1 < len(chunk) and _skips(chunk[at + 1])
        return "be" if host in _words("subjects") or host in _words("asking") or verbal or plain else ""
    if token.text == "'d":
        return "would"
    name = lexicon(LANG).data["grammar"]["auxiliaries"].get(token.text, "")
    if name in ("will", "can", "may") and at and chunk[at - 1].text in _words("determiners"):
        return ""
    return name if name else _CLITIC_LEMMA.get(token.text, "").replace("not", "")


def _auxiliary(chunk: Sequence[_Token], start: int) -> _Verb:
    """Return the verb group that begins with an auxiliary."""
    aux = [_aux_of(chunk, start)]
    before = [token for token in chunk[:start] if not _is_adverb(token)]
    inverted = not before or before[-1].text in _words("asking") or before[0].text in _words("asking")
    at = start + 1
    seen_subject = False
    while at < len(chunk) and at - start < 9:
        token = chunk[at]
        more = _aux_of(chunk, at)
        if token.mark:
            break
        if _skips(token) and token.text != "no":
            at += 1
        elif (
            more
            and not (more == "do" and aux[-1] != "do")
            and not (more == "have" and not _perfect(chunk, at))
        ):
            aux.append(more)
            at += 1
        elif tag := _expected(aux[-1], token, seen_subject, inverted):
            return _Verb(token.form.verb, tag, start, at + 1, aux, inverted)
        elif inverted and not seen_subject:
            at = _past_subject(chunk, at)
            seen_subject = True
        else:
            break
    if aux[-1] in ("have", "do") or (len(aux) == 1 and aux[0] in ("have", "do")):
        return _Verb(
            aux[-1],
            "VBD" if chunk[start].text in ("had", "did") else "VBP",
            start,
            start + 1,
            aux[:-1],
            inverted,
        )
    return _Verb(
        "be" if aux[-1] == "be" else "",
        _tense_tag(chunk, start),
        start,
        max(start + 1, at if aux[1:] else start + 1),
        aux,
        inverted,
        True,
    )


def _perfect(chunk: Sequence[_Token], at: int) -> bool:
    """Whether a "have" has a participle after it."""
    after = next((t for t in chunk[at + 1 :] if not _skips(t)), None)
    return after is not None and ("VBN" in after.form.tags or after.text == "been")


def _tense_tag(chunk: Sequence[_Token], at: int) -> str:
    return "VBD" if chunk[at].text in ("was", "were", "had") else "VBP"


def _expected(aux: str, token: _Token, subject: bool, inverted: bool) -> str:
    """Return the tag a token has as the main verb behind an auxiliary, or an empty text."""
    tags = token.form.tags
    if aux == "have":
        return "VBN" if "VBN" in tags else ""
    if aux in ("be", "get"):
        if "VBG" in tags and not (token.form.noun and token.text in ("pricing", "booking")):
            return "VBG"
        return "VBN" if "VBN" in tags and token.text not in _words("adjectives") else ""
    if inverted and not subject and token.form.noun:
        return ""
    return "VB" if "VB" in tags or "VBP" in tags else ""


def _past_subject(chunk: Sequence[_Token], at: int) -> int:
    """Return the place behind the subject of an inverted clause."""
    if chunk[at].text in _words("subjects"):
        return at + 1
    end = at
    while (
        end < len(chunk)
        and not chunk[end].mark
        and (
            chunk[end].text in _words("determiners")
            or chunk[end].number
            or chunk[end].form.noun
            or not chunk[end].form.tags
        )
        and not (end > at and {"VB", "VBN", "VBG"} & chunk[end].form.tags and not chunk[end].form.noun)
    ):
        end += 1
    return max(end, at + 1)


def _bare(chunk: Sequence[_Token], at: int, found: Sequence[_Verb]) -> _Verb | None:
    """Return the verb without auxiliary at a place, if its neighbours let it be one."""
    token = chunk[at]
    tags = token.form.tags
    if not tags or token.text in _words("never_verbs") or _is_adverb(token):
        return None
    place = at - 1
    while place >= 0 and (
        (_skips(chunk[place]) and chunk[place].text != "no") or chunk[place].text in _words("openers")
    ):
        place -= 1
    before = chunk[place] if place >= 0 else None
    after = chunk[at + 1] if at + 1 < len(chunk) else None
    if before is None or before.mark or before.text in _words("joining"):
        return _opening(chunk, at)
    if before.text == "to":
        return None
    if before.text in _words("subjects") and found and found[-1].end == place:
        # "leave it open": an object, no subject.
        return None
    if before.text in _words("subjects"):
        finite = bool(tags & {"VBD", "VBZ", "VBP"})
        past = "VBD" in tags and not (token.form.verb == token.text and "VBP" in tags)
        return _Verb(token.form.verb, "VBD" if past else "VBP", at, at + 1) if finite else None
    if before.text in _words("determiners") or before.text in _words("prepositions"):
        return None
    if before.form.other and not before.form.noun and not before.number:
        return None
    if found and found[-1].lemma == "let" and "VB" in tags and not token.form.noun:
        return _Verb(token.form.verb, "VB", at, at + 1, list(found[-1].aux))
    if tags & {"VBD", "VBN"} and token.form.verb != token.text:
        return _Verb(token.form.verb, "VBN" if found or "VBD" not in tags else "VBD", at, at + 1)
    if "VBZ" in tags and (not token.form.noun or (after is not None and after.text in _words("determiners"))):
        return _Verb(token.form.verb, "VBP", at, at + 1)
    return None


def _opening(chunk: Sequence[_Token], at: int) -> _Verb | None:
    """Return the verb that opens a clause: an imperative, a participle, a subjectless finite form."""
    token, after = chunk[at], chunk[at + 1] if at + 1 < len(chunk) else None
    tags = token.form.tags
    if at and chunk[at - 1].text in _words("degrees"):
        return None
    noun_follows = (
        after is not None
        and (after.form.tags or after.form.lemma == "be")
        and after.text not in _words("determiners")
    )
    if "VBN" in tags and token.form.verb != token.text and token.text not in _words("adjectives"):
        return _Verb(token.form.verb, "VBN", at, at + 1)
    named = after is not None and (
        after.text in _words("determiners") or after.text in ("me", "us", "it", "them", "you")
    )
    sure = named or not token.form.noun or token.text in _words("imperatives")
    if (
        "VB" in tags
        and sure
        and not (noun_follows and token.form.noun and not named and token.text not in _words("imperatives"))
    ):
        return _Verb(token.form.verb, "VB", at, at + 1)
    if "VBG" in tags:
        return _Verb(token.form.verb, "VBG", at, at + 1)
    if "VBZ" in tags and not token.form.noun:
        return _Verb(token.form.verb, "VBP", at, at + 1)
    return None


def _infinitive(chunk: Sequence[_Token], verb: _Verb) -> str:
    """Return the verb of a "to" behind a verb group: "unable to cancel", "going to move"."""
    for at in range(verb.end, min(verb.end + 5, len(chunk) - 1)):
        if chunk[at].text == "to":
            after = next((t for t in chunk[at + 1 : at + 4] if not _is_adverb(t)), None)
            return after.form.verb if after is not None and "VB" in after.form.tags else ""
        if chunk[at].mark:
            return ""
    return ""


def _chunks(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """Cut a sentence at marks and at conjunctions with a verb of their own behind them."""
    chunk: list[_Token] = []
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
            any(t.text not in _words("joining") for t in chunk)
            and token.text in _words("joining")
            and _verbal_ahead(tokens, at + 1, token.text)
            and (_verbs(chunk) or token.text in _words("conditions"))
        ):
            yield chunk
            chunk = []
        chunk.append(token)
    if chunk:
        yield chunk


def _verbal_ahead(tokens: Sequence[_Token], start: int, joint: str) -> bool:
    rest: list[_Token] = []
    for token in tokens[start : start + 14]:
        if token.text in _BREAKS or (token.text in _words("joining") and rest):
            break
        rest.append(token)
    if joint in ("and", "or", "to", "then") and rest:
        # "the city and the weight that …" is one list; "and registered …", "and it was …" is a clause.
        first = next((t for t in rest if not _is_adverb(t)), rest[0])
        if first.text not in _words("subjects") and not first.form.tags and not _verbs(rest):
            return False
    return bool(_verbs(rest))


def _to_do(tokens: Sequence[_Token]) -> bool:
    """Whether an infinitive follows."""
    return any(one.text == "to" and "VB" in other.form.tags for one, other in pairwise(tokens))


def _denied(chunk: Sequence[_Token]) -> bool:
    """Whether an odd number of negations bears on the chunk's predicate."""
    count = 0
    grammar = lexicon(LANG).data["grammar"]
    for at, token in enumerate(chunk):
        after = chunk[at + 1].text if at + 1 < len(chunk) else ""
        if token.form.lemma == "not":
            count += after not in ("only", "just", "to")
        elif token.text == "nor" and any(one.text == "neither" for one in chunk[:at]):
            continue
        elif token.text in _words("negators"):
            count += after not in grammar["harmless_after_no"]
        elif (token.form.lemma in grammar["denying"] and _to_do(chunk[at + 1 : at + 5])) or token.text in (
            "unable",
            "impossible",
        ):
            count += 1
    return count % 2 == 1


def clauses(text: str) -> Sequence[Clause]:
    """Read English prose (see :class:`~.statements.Reader`)."""
    found: list[Clause] = []
    quoted = list(_quotations(text))
    listing: Clause | None = None
    for sentence in sentences(text, _words("abbreviations")):
        tokens = _tokens(sentence)
        if not tokens:
            continue
        read = list(_sentence(sentence, tokens, quoted))
        # Items of a list that is introduced by "I need:" are needed too.
        if (
            listing is not None
            and sentence.block > listing.block
            and not read[0].completed
            and (not read[0].predicates or read[0].tense is Tense.NONE)
        ):
            read = [replace(c, mood=listing.mood) if c.tense is Tense.NONE else c for c in read]
        elif listing is None or sentence.block > listing.block:
            opens = sentence.text.rstrip().endswith(":")
            ask = [c for c in read if c.mood in (Mood.REQUESTED, Mood.ASKED)]
            listing = ask[-1] if ask and opens else None if sentence.block else listing
        found += read
    return found


_QUOTATION = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»")
_QUOTED_WORDS = 3
"""From so many words on, quotation marks hold somebody's words and not a name or a value."""


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    for found in _QUOTATION.finditer(text):
        inside = next(filter(None, found.groups()))
        # Marks around the whole reply quote nothing.
        if len(inside.split()) >= _QUOTED_WORDS and len(inside) < 0.9 * len(text):
            yield found.start(), found.end()


def _sentence(
    sentence: Sentence, tokens: Sequence[_Token], quoted: Sequence[tuple[int, int]]
) -> Iterator[Clause]:
    parts = []
    for inside, run in groupby(tokens, lambda token: _within(token, quoted)):
        held = list(run)
        cut = [held] if inside else _chunks(held)
        parts += [part for part in cut if any(not token.mark for token in part)]
    if not parts:
        return
    verbs = [_verbs(part) for part in parts]
    asked = _asked_from(sentence, parts, verbs)
    conditional = any(_waits(part, found) for part, found in zip(parts, verbs, strict=True))
    previous: Clause | None = None
    end = sentence.start
    for index, (part, found) in enumerate(zip(parts, verbs, strict=True)):
        start, end = (
            end,
            parts[index + 1][0].start if index + 1 < len(parts) else sentence.start + len(sentence.text),
        )
        clause = _clause(part, found, previous, index >= asked, conditional)
        clause = replace(clause, start=start, end=end, sentence=sentence.index, block=sentence.block)
        if _within(part[0], quoted):
            clause = replace(clause, mood=Mood.QUOTED)
        yield clause
        previous = clause if clause.mood is not Mood.QUOTED else previous


def _within(token: _Token, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= token.start < end for start, end in spans)


def _asked_from(
    sentence: Sentence, parts: Sequence[Sequence[_Token]], verbs: Sequence[Sequence[_Verb]]
) -> int:
    """Return the index of the first chunk of a question, or one past the last."""
    if not sentence.asks:
        return len(parts)
    real = [index for index, part in enumerate(parts) if any(not token.mark for token in part)]
    for index in real:
        before = [t.text for t in parts[index][: verbs[index][0].at if verbs[index] else None]]
        subject = bool(_words("subjects") - _words("asking") & set(before))
        if _asks_for(parts[index]) or (verbs[index] and verbs[index][0].inverted and not subject):
            return index
    return next((index for index in reversed(real) if verbs[index]), real[0]) if real else 0


def _asks_for(part: Sequence[_Token]) -> bool:
    """Whether a chunk begins with a question word, alone or behind a preposition."""
    joints = _words("openers") | _words("joining") - _words("asking")
    opening = [token.text for token in part if not token.mark and token.text not in joints][:2]
    if len(opening) > 1 and opening[0] in _words("prepositions") | {"to"}:
        return opening[1] in _words("asking")
    return bool(opening) and opening[0] in _words("asking") | {"whether"}


def _condition(part: Sequence[_Token], verbs: Sequence[_Verb]) -> bool:
    words = [
        t.text
        for t in part
        if (not _is_adverb(t) or t.text in _words("conditions"))
        and not t.mark
        and t.text not in ("and", "but", "so", "or", "that")
    ]
    if not words or not verbs:
        return False
    if words[0] in ("when", "as", "after", "before", "while") and verbs[0].tag == "VBD":
        return False
    return (
        words[0] in _words("conditions")
        or (words[0] == "should" and len(words) > 2)
        or words[:2] in (["as", "soon"], ["as", "long"])
        or [t.text for t in part if not t.mark][:2] == ["in", "case"]
    )


def _waits(part: Sequence[_Token], verbs: Sequence[_Verb]) -> bool:
    """Whether a condition is for the user to meet: what is promised for "once it is solved" is promised."""
    if not _condition(part, verbs):
        return False
    opening = next((t.text for t in part if t.text in _words("conditions") or t.text in ("should", "as")), "")
    timed = opening in _words("times") or opening == "as"
    return not timed or _actor(part, _main(verbs), None) in (Actor.USER, Actor.ASSISTANT)


def _clause(
    part: Sequence[_Token], verbs: Sequence[_Verb], previous: Clause | None, asked: bool, conditional: bool
) -> Clause:
    words = tuple(Word(t.text, t.form.lemma, _pos(t), t.start, t.end) for t in part if not t.mark)
    text = " ".join(word.text for word in words)
    denied = _denied(part)
    if not verbs:
        return _verbless(part, words, text, denied, previous, asked)
    main = _main(verbs)
    actor = _actor(part, main, previous)
    tense = _tense(main)
    denied = denied or _shares_negation(part, main, previous)
    # "I'll choose standard and register it": the second verb is promised like the first.
    shared = part[0].text in ("and", "or", "then") and main.tag == "VB" and not main.aux
    if (
        shared
        and previous is not None
        and previous.actor is Actor.ASSISTANT
        and previous.tense is Tense.FUTURE
    ):
        predicates = _predicates(part, verbs, main)
        return Clause(text, words, predicates, denied, False, previous.mood, Tense.FUTURE, Actor.ASSISTANT)
    mood = _mood(part, verbs, main, actor, tense, asked, conditional, previous, denied)
    completed = _completed(main, previous) and mood in (Mood.ASSERTED, Mood.ASKED, Mood.CONDITIONAL)
    ongoing = tense is Tense.PRESENT and _going_on(part, verbs, main)
    return Clause(
        text, words, _predicates(part, verbs, main), denied, completed, mood, tense, actor, ongoing=ongoing
    )


def _going_on(part: Sequence[_Token], verbs: Sequence[_Verb], main: _Verb) -> bool:
    """Whether the action is under way: "I'm checking", "is being checked", "Checking …", "let me check"."""
    if main.tag == "VBG":
        return main.aux[-1:] == ["be"] or (not main.aux and main.at == 0 and len(verbs) == 1)
    return _letting(part, main) or (main.tag == "VBN" and any(t.text == "being" for t in part))


def _pos(token: _Token) -> str:
    if token.number:
        return "NUM"
    return "VERB" if token.form.tags and not token.form.noun else "NOUN" if token.form.noun else "X"


def _main(verbs: Sequence[_Verb]) -> _Verb:
    """Return the verb that says what the clause says: the first finite one."""
    return next((verb for verb in verbs if verb.tag != "VBG" or verb.aux), verbs[0])


def _verbless(
    part: Sequence[_Token],
    words: Sequence[Word],
    text: str,
    denied: bool,
    previous: Clause | None,
    asked: bool,
) -> Clause:
    nouns = tuple(dict.fromkeys(t.form.lemma for t in part if t.form.noun))
    mood, tense, actor = Mood.ASSERTED, Tense.NONE, Actor.UNSAID
    own = any(t.text in _words("negators") or t.form.lemma == "not" for t in part)
    if asked:
        mood = Mood.ASKED
    elif any(t.text == "please" for t in part) and nouns:
        mood = Mood.REQUESTED
    elif previous is not None and previous.mood in (Mood.REQUESTED, Mood.ASKED, Mood.CONDITIONAL):
        mood = previous.mood
    if previous is not None and previous.denied and not own and not any(t.text == "but" for t in part):
        denied = True
    return Clause(text, words, nouns, denied, False, mood, tense, actor)


def _actor(part: Sequence[_Token], main: _Verb, previous: Clause | None) -> Actor:
    before = [
        t
        for t in part[: main.at]
        if not t.mark
        and not _skips(t)
        and t.text not in _words("joining")
        and t.text not in _words("openers")
    ]
    if main.inverted:
        before = [t for t in part[main.at : main.end] if t.text in _words("subjects")] or before
    subject = next(
        (t.text for t in reversed(before) if t.text in _words("subjects") or t.form.noun or not t.form.tags),
        "",
    )
    if main.lemma == "let" and part[main.end : main.end + 1] and part[main.end].text in ("me", "us"):
        return Actor.ASSISTANT
    if subject in ("i", "we"):
        return Actor.ASSISTANT
    if subject == "you":
        return Actor.USER
    if not before and part[0].text in ("which", "that", "who") and main.at:
        return Actor.OTHER
    if not before:
        if (
            previous is not None
            and previous.sentence == previous.sentence
            and part
            and part[0].text in ("and", "or", "but", "then", "so")
            and main.tag != "VBN"
        ):
            return previous.actor
        if part[0].text in ("and", "or", "but", "then") and previous is not None:
            return previous.actor
        return Actor.USER if main.tag == "VB" else Actor.ASSISTANT if main.tag == "VBG" else Actor.UNSAID
    return Actor.UNSAID if main.passive else Actor.OTHER


def _tense(main: _Verb) -> Tense:
    aux = main.aux
    if {"will", "shall"} & set(aux[:1]) or (main.lemma == "go" and main.tag == "VBG" and main.infinitive):
        return Tense.FUTURE
    if main.past or main.tag == "VBD" or "have" in aux[:1] or (main.tag == "VBN" and not aux):
        return Tense.PAST
    return Tense.PRESENT


def _completed(main: _Verb, previous: Clause | None) -> bool:
    aux = set(main.aux)
    if aux & {"will", "shall", "can", "could", "may", "might", "must", "should", "would"}:
        return False
    if main.lemma in _words("trying"):
        return main.lemma in ("try", "attempt")
    if main.tag == "VBN":
        return main.aux[-2:] != ["be", "be"]
    return main.tag == "VBD" and not main.copula


def _letting(part: Sequence[_Token], main: _Verb) -> bool:
    after = [t.text for t in part[main.end : main.end + 2]]
    return main.lemma == "let" and main.tag == "VB" and after[:1] == ["me"] and after[1:] != ["know"]


def _shares_negation(part: Sequence[_Token], main: _Verb, previous: Clause | None) -> bool:
    """Whether the negation of the clause before goes on: "has not been cancelled or refunded"."""
    joined = bool(part) and part[0].text in ("or", "nor") and main.at <= 2
    return joined and previous is not None and previous.denied and not main.aux


def _mood(
    part: Sequence[_Token], verbs: Sequence[_Verb], main: _Verb, actor: Actor, tense: Tense,
    asked: bool, conditional: bool, previous: Clause | None, denied: bool,
) -> Mood:  # fmt: skip
    texts = [t.text for t in part]
    if _condition(part, verbs) and not (previous and previous.mood is Mood.REQUESTED and _asks_for(part)):
        return Mood.CONDITIONAL
    if (
        previous is not None
        and previous.mood is Mood.CONDITIONAL
        and part[0].text in ("and", "or")
        and actor == previous.actor
        and main.tag in ("VB", "VBP")
        and main.at <= 2
    ):
        return Mood.CONDITIONAL
    asking = previous is not None and previous.mood in (Mood.REQUESTED, Mood.ASKED)
    if (
        previous is not None
        and asking
        and (_asks_for(part) or (texts[0] in ("and", "or") and main.tag == "VB" and not main.aux))
    ):
        return previous.mood
    if asked:
        return _question(texts, main, actor)
    modal = main.aux[0] if main.aux else ""
    if "please" in texts or (
        main.tag == "VB"
        and not main.aux
        and not _letting(part, main)
        and main.lemma not in _words("courtesies")
    ):
        return Mood.REQUESTED
    if _needs(part, main, actor, denied):
        return Mood.REQUESTED
    if actor is Actor.ASSISTANT and (any(t in _words("glad") for t in texts[main.at :]) and main.infinitive):
        return Mood.OFFERED
    contingent = conditional or (
        previous is not None and previous.mood in (Mood.REQUESTED, Mood.OFFERED, Mood.ASKED)
    )
    if tense is Tense.FUTURE and contingent:
        return Mood.OFFERED
    if modal in ("can", "could", "may", "might", "would") or (
        main.copula and any(t in _words("possible") for t in texts)
    ):
        return Mood.OFFERED if actor is Actor.ASSISTANT and conditional and not denied else Mood.ABLE
    if main.copula and conditional and tense is Tense.FUTURE:
        return Mood.OFFERED
    return Mood.ASSERTED


def _question(texts: Sequence[str], main: _Verb, actor: Actor) -> Mood:
    joined = " ".join(texts)
    if (
        main.aux[:1]
        and main.aux[0] in ("could", "can", "would", "will")
        and actor is Actor.USER
        and main.tag == "VB"
        and main.lemma not in ("like", "prefer", "want")
    ):
        return Mood.REQUESTED
    if (
        re.search(r"\b(shall|should|may|can|could) (i|we)\b", joined)
        and main.lemma not in ("have", "get", "ask", "know")
        and not re.match(r"\b(what|which|when|where|how)", joined)
    ):
        return Mood.OFFERED
    if re.search(r"\b(like|want|prefer) (me|us) to\b|\bneed (me|us) to\b", joined):
        return Mood.OFFERED
    return Mood.ASKED


def _needs(part: Sequence[_Token], main: _Verb, actor: Actor, denied: bool) -> bool:
    """Whether a statement asks by saying what is needed or missing."""
    texts = {t.text for t in part}
    if denied:
        return False
    if actor is Actor.ASSISTANT and main.lemma in _words("needing"):
        return not main.infinitive or main.infinitive in _words("knowing")
    if actor is Actor.USER and main.lemma in ("need", "have") and main.infinitive in _words("giving"):
        return True
    return bool(texts & _words("missing")) and main.lemma in ("be", "miss", "need", "require", "seem", "")


def _predicates(part: Sequence[_Token], verbs: Sequence[_Verb], main: _Verb) -> tuple[str, ...]:
    """Return the lemmas that may carry the action."""
    found = [verb.lemma for verb in verbs if verb.lemma]
    governed = main.infinitive and main.lemma in _words("governing")
    if main.infinitive and (main.copula or governed or any(t.text in _words("glad") for t in part)):
        found.append(main.infinitive)
    by_me = any(t.text in ("me", "us") for t in part[main.end : main.end + 2])
    if main.infinitive and (by_me or main.lemma in _words("have_way")):
        found.append(main.infinitive)
    at = main.end
    if main.lemma in _words("phases") and at < len(part) and "VBG" in part[at].form.tags:
        found.append(part[at].form.verb)
    if main.copula or main.lemma in _words("light"):
        found += [t.form.lemma for t in part if t.form.noun or "VBG" in t.form.tags]
    return tuple(dict.fromkeys(found))


_HALVES = {"half past": 30, "quarter past": 15, "quarter to": -15}
_DAY_PART = r"(?P<part> (?:in the (?:morning|afternoon|evening)|at night|[ap]\.?m\.?(?!\w)))?"
_HOUR_WORD = r"(?P<hour>[a-z]+|\d{1,2})"
_PAST = re.compile(
    r"\b(?P<what>half past|(?:a )?quarter past|(?:a )?quarter to"
    rf"|(?P<min>\w+(?:-\w+)?)(?: minutes? (?P<way>past|to)| past)) {_HOUR_WORD}\b{_DAY_PART}"
)
_WORD_CLOCK = re.compile(
    rf"\b{_HOUR_WORD}(?:[ -](?P<min>(?:oh |o'|twenty|thirty|forty|fifty|ten|fifteen)(?:[ -]?[a-z]+)?))?"
    rf"(?P<oclock> o'clock)?{_DAY_PART}\b"
)
_RANGE = re.compile(
    r"\b(?P<low>[a-z]+|\d{1,2})(?: ?- ?| (?:to|and|until|till) )(?P<high>[a-z]+|\d{1,2})"
    r"(?: o'clock)?(?P<part> (?:in the (?:morning|afternoon|evening)|at night))"
)
_FREE = re.compile(r"\b(?:free of charge|for free|at no (?:extra )?(?:cost|charge)|no (?:fee|charge)s?)\b")
_NOON = re.compile(
    r"(?:\b(?:at|by|until|till|from|to|before|after|between|around) |\d(?: ?[ap]\.?m\.?)?(?: and | ?[-–] ?))"
    r"(noon|midday|midnight)\b"
)


def _hour(word: str) -> int | None:
    value = int(word) if word.isdigit() else lexicon(LANG).values["numbers"].get(word)
    return value if isinstance(value, int) and 1 <= value <= 24 else None


def _half_of(part: str | None) -> str | None:
    if not part:
        return None
    return (
        "am"
        if "morning" in part or (part.strip().startswith("a") and "after" not in part and "at" not in part)
        else "pm"
    )


def moments(text: str) -> Sequence[Value]:
    """Return times told in words: "half past nine", "four o'clock", "nine to eleven in the morning"."""
    low = text.lower()
    found: list[Value] = []
    for match in _RANGE.finditer(low):
        ends = _hour(match["low"]), _hour(match["high"])
        if ends[0] is not None and ends[1] is not None:
            for hour in ends:
                _tell(found, match, clock_minutes(hour or 0, 0, _half_of(match["part"])))
    for match in _PAST.finditer(low):
        hour = _hour(match["hour"])
        what = match["what"].removeprefix("a ")
        minute = _HALVES.get(what)
        if minute is None and match["min"]:
            said = match["min"]
            count = int(said) if said.isdigit() else _small(said)
            minute = (
                None
                if count is None or count > 30 or count % 5
                else (-count if match["way"] == "to" else count)
            )
        if hour is None or minute is None or _overlaps(found, match):
            continue
        start = clock_minutes(hour, 0, _half_of(match["part"]))
        if start is not None:
            _tell(found, match, start + minute)
    for match in _WORD_CLOCK.finditer(low):
        hour = _hour(match["hour"])
        if (
            hour is None
            or not (match["oclock"] or match["part"])
            or (
                match["hour"].isdigit()
                and not match["oclock"]
                and "in the" not in (match["part"] or "")
                and "at" not in (match["part"] or "")
            )
        ):
            continue
        minute = _small(match["min"]) if match["min"] else 0
        minutes = clock_minutes(hour, minute or 0, _half_of(match["part"]))
        if minutes is not None and not _overlaps(found, match):
            _tell(found, match, minutes)
    found += _proper_names(text)
    for match in _TERM.finditer(low):
        found.append(
            Value("quantity", match[0], 1.0, 1.0, unit=match[1], start=match.start(), end=match.end())
        )
    for match in _FREE.finditer(low):
        found.append(Value("money", match[0], 0.0, 0.0, start=match.start(), end=match.end()))
    for match in _NOON.finditer(low):
        minutes = 0.0 if match[1] == "midnight" else 720.0
        found.append(Value("time", match[1], minutes, minutes, start=match.start(1), end=match.end(1)))
    return found


_TERM = re.compile(r"\bwithin (?:a|an|the|one) (minute|hour|day|week|month)\b")
_CAPITALS = re.compile(r"\b[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*\b")


def _proper_names(text: str) -> Iterator[Value]:
    """Yield what is written with a capital inside a sentence and is no word of the dictionary."""
    for match in _CAPITALS.finditer(text):
        before = text[: match.start()].rstrip(" ")[-1:]
        start = match.start()
        if before in ("", *'.!?:;\n|"“«(•-–—*>'):
            # The first word has its capital from the sentence.
            first, _, rest = match[0].partition(" ")
            start += len(first) + 1
            if not rest:
                continue
        spelled = text[start : match.end()]
        if all(_is_name(word) for word in re.split("[ -]", spelled)):
            yield Value("name", spelled, text=spelled, start=start, end=match.end())


@lru_cache(maxsize=20_000)
def _is_name(word: str) -> bool:
    form, values = word.lower(), lexicon(LANG).values
    known = lemminflect.getAllLemmas(form) or form in _words("capitals")
    return not (known or form in values["months"] or form in values["weekdays"])


def _small(words: str) -> int | None:
    numbers = lexicon(LANG).values["numbers"]
    parts = [numbers.get(word, 60) for word in re.findall(r"[a-z]+", words.replace("oh ", ""))]
    total = sum(parts)
    return total if parts and total < 60 else None


def _overlaps(found: Sequence[Value], match: re.Match[str]) -> bool:
    return any(value.start < match.end() and match.start() < value.end for value in found)


def _tell(found: list[Value], match: re.Match[str], minutes: float | None) -> None:
    if minutes is not None:
        found.append(Value("time", match[0], minutes, minutes, start=match.start(), end=match.end()))
