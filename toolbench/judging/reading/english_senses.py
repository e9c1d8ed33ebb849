"""What one English clause says: polarity, mood, tense, who acts, and the action."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from toolbench.judging.reading.english_verbs import Verb
from toolbench.judging.reading.english_words import LANG, Token, class_of, is_adverb, skips
from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.statements import Actor, Clause, Mood, Tense, Word


def _to_do(tokens: Sequence[Token]) -> bool:
    """Whether an infinitive follows."""
    return any(one.text == "to" and "VB" in other.form.tags for one, other in pairwise(tokens))


_QUOTES = frozenset('"“”')


def _is_denied(chunk: Sequence[Token]) -> bool:
    """Whether an odd number of negations bears on the chunk's predicate."""
    count = 0
    grammar = lexicon(LANG).data["grammar"]
    quoted = False
    for at, token in enumerate(chunk):
        # A name in quotation marks ("No letters") denies nothing.
        quoted ^= token.text in _QUOTES
        if quoted:
            continue
        after = chunk[at + 1].text if at + 1 < len(chunk) else ""
        if token.form.lemma == "not":
            count += after not in ("only", "just", "to")
        elif token.text == "nor" and any(one.text == "neither" for one in chunk[:at]):
            continue
        elif token.text in class_of("negators"):
            count += after not in grammar["harmless_after_no"]
        elif (token.form.lemma in grammar["denying"] and _to_do(chunk[at + 1 : at + 5])) or token.text in (
            "unable",
            "impossible",
        ):
            count += 1
    return count % 2 == 1


def asks_for(part: Sequence[Token]) -> bool:
    """Whether a chunk begins with a question word, alone or behind a preposition."""
    joints = class_of("openers") | class_of("joining") - class_of("asking")
    opening = [token.text for token in part if not token.mark and token.text not in joints][:2]
    if len(opening) > 1 and opening[0] in class_of("prepositions") | {"to"}:
        return opening[1] in class_of("asking")
    return bool(opening) and opening[0] in class_of("asking") | {"whether"}


def _is_condition(part: Sequence[Token], verbs: Sequence[Verb]) -> bool:
    words = [
        t.text
        for t in part
        if (not is_adverb(t) or t.text in class_of("conditions"))
        and not t.mark
        and t.text not in ("and", "but", "so", "or", "that")
    ]
    if not words or not verbs:
        return False
    if words[0] in ("when", "as", "after", "before", "while") and verbs[0].tag == "VBD":
        return False
    return (
        words[0] in class_of("conditions")
        or (words[0] == "should" and len(words) > 2)
        or [t.text for t in part if not t.mark][:2] in (["as", "soon"], ["as", "long"], ["in", "case"])
    )


def waits(part: Sequence[Token], verbs: Sequence[Verb]) -> bool:
    """Whether a condition is for the user to meet: what is promised for "once it is solved" is promised."""
    if not _is_condition(part, verbs):
        return False
    opening = next(
        (t.text for t in part if t.text in class_of("conditions") or t.text in ("should", "as")), ""
    )
    timed = opening in class_of("times") or opening == "as"
    return not timed or _find_actor(part, _main_verb(verbs), None) in (Actor.USER, Actor.ASSISTANT)


def read_clause(
    part: Sequence[Token], verbs: Sequence[Verb], previous: Clause | None, asked: bool, conditional: bool
) -> Clause:
    heads = {verb.end - 1 for verb in verbs if not verb.copula}
    words = tuple(
        Word(t.text, t.form.lemma, _pos(t, at in heads, part[at - 1] if at else None), t.start, t.end)
        for at, t in enumerate(part)
        if not t.mark
    )
    text = " ".join(word.text for word in words)
    denied = _is_denied(part)
    if not verbs:
        return _verbless(part, words, text, denied, previous, asked)
    main = _main_verb(verbs)
    actor = _find_actor(part, main, previous)
    tense = _tense_of(main)
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
    mood = _find_mood(part, verbs, main, actor, tense, asked, conditional, previous, denied)
    if _reduced(part, main) and previous is not None and not asked and not _holds(previous):
        # "That would be 450, delivered in three days" is no more said to have happened than the first half.
        mood, tense = previous.mood, previous.tense
        return Clause(text, words, _predicates(part, verbs, main), denied, False, mood, tense, actor)
    completed = _is_completed(main, previous) and mood in (Mood.ASSERTED, Mood.ASKED, Mood.CONDITIONAL)
    ongoing = tense is Tense.PRESENT and _going_on(part, verbs, main)
    return Clause(
        text, words, _predicates(part, verbs, main), denied, completed, mood, tense, actor, ongoing=ongoing
    )


def _reduced(part: Sequence[Token], main: Verb) -> bool:
    """Whether a clause is a participle alone, said of something in the clause before."""
    return main.tag == "VBN" and not main.aux and main.at == 0 and part[0].text not in class_of("joining")


def _holds(clause: Clause) -> bool:
    """Whether a clause says that something is so, or was."""
    return clause.mood is Mood.ASSERTED and clause.tense is not Tense.FUTURE


def _going_on(part: Sequence[Token], verbs: Sequence[Verb], main: Verb) -> bool:
    """Whether the action is under way: "I'm checking", "is being checked", "Checking …", "let me check"."""
    if main.tag == "VBG":
        return main.aux[-1:] == ["be"] or (not main.aux and main.at == 0 and len(verbs) == 1)
    return _letting(part, main) or (main.tag == "VBN" and any(t.text == "being" for t in part))


def _pos(token: Token, head: bool, before: Token | None) -> str:
    """Return the part of speech of a token; ``head`` says that it is the verb of a group."""
    if token.number:
        return "NUM"
    if before is not None and before.text == "to" and "VB" in token.form.tags:
        return "INFN"
    if head:
        return "VERB"
    return "NOUN" if token.form.noun else "PRTS" if token.form.tags else "X"


def _main_verb(verbs: Sequence[Verb]) -> Verb:
    """Return the verb that says what the clause says: the first finite one."""
    return next((verb for verb in verbs if verb.tag != "VBG" or verb.aux), verbs[0])


def _verbless(
    part: Sequence[Token],
    words: Sequence[Word],
    text: str,
    denied: bool,
    previous: Clause | None,
    asked: bool,
) -> Clause:
    nouns = tuple(dict.fromkeys(t.form.lemma for t in part if t.form.noun))
    mood, tense, actor = Mood.ASSERTED, Tense.NONE, Actor.UNSAID
    own = any(t.text in class_of("negators") or t.form.lemma == "not" for t in part)
    if asked:
        mood = Mood.ASKED
    elif any(t.text == "please" for t in part) and nouns:
        mood = Mood.REQUESTED
    elif previous is not None and previous.mood in (Mood.REQUESTED, Mood.ASKED, Mood.CONDITIONAL):
        mood = previous.mood
    goes_on = previous is not None and previous.denied and (not asked or previous.mood is Mood.ASKED)
    if goes_on and not own and not any(t.text == "but" for t in part):
        denied = True
    return Clause(text, words, nouns, denied, False, mood, tense, actor)


def _find_actor(part: Sequence[Token], main: Verb, previous: Clause | None) -> Actor:
    before = [
        t
        for t in part[: main.at]
        if not t.mark
        and not skips(t)
        and t.text not in class_of("joining")
        and t.text not in class_of("openers")
    ]
    if main.inverted:
        before = [t for t in part[main.at : main.end] if t.text in class_of("subjects")] or before
    subject = next(
        (
            t.text
            for t in reversed(before)
            if t.text in class_of("subjects") or t.form.noun or not t.form.tags
        ),
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


def _tense_of(main: Verb) -> Tense:
    aux = main.aux
    if {"will", "shall"} & set(aux[:1]) or (main.lemma == "go" and main.tag == "VBG" and main.infinitive):
        return Tense.FUTURE
    if main.past or main.tag == "VBD" or "have" in aux[:1] or (main.tag == "VBN" and not aux):
        return Tense.PAST
    return Tense.PRESENT


def _is_completed(main: Verb, previous: Clause | None) -> bool:
    aux = set(main.aux)
    if aux & {"will", "shall", "can", "could", "may", "might", "must", "should", "would"}:
        return False
    if main.lemma in class_of("trying"):
        return main.lemma in ("try", "attempt")
    if main.tag == "VBN":
        return main.aux[-2:] != ["be", "be"]
    return main.tag == "VBD" and not main.copula


def _letting(part: Sequence[Token], main: Verb) -> bool:
    after = [t.text for t in part[main.end : main.end + 2]]
    return main.lemma == "let" and main.tag == "VB" and after[:1] == ["me"] and after[1:] != ["know"]


def _shares_negation(part: Sequence[Token], main: Verb, previous: Clause | None) -> bool:
    """Whether the negation of the clause before goes on: "has not been cancelled or refunded"."""
    joined = bool(part) and part[0].text in ("or", "nor") and main.at <= 2
    return joined and previous is not None and previous.denied and not main.aux


def _find_mood(
    part: Sequence[Token], verbs: Sequence[Verb], main: Verb, actor: Actor, tense: Tense,
    asked: bool, conditional: bool, previous: Clause | None, denied: bool,
) -> Mood:  # fmt: skip
    texts = [t.text for t in part]
    # "When would suit you?" and "send me the number when …": the first asks.
    open_to = previous is not None and previous.mood in (Mood.REQUESTED, Mood.ASKED)
    asks = asks_for(part) and ((asked and main.inverted) or open_to)
    # "Should it be closed?" is a question where nothing is asked behind it.
    asks = asks or (asked and main.inverted and "?" in (token.text for token in part))
    if _is_condition(part, verbs) and not asks:
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
    asking = previous is not None and previous.mood in (Mood.REQUESTED, Mood.ASKED, Mood.CONDITIONAL)
    goes_on = texts[0] in ("and", "or") and main.tag == "VB" and not main.aux
    if previous is not None and asking and (asks_for(part) or (open_to and goes_on)):
        # "If you let me know where it is located" says of nothing that it was located.
        return previous.mood
    if asked:
        return _question(texts, main, actor)
    modal = main.aux[0] if main.aux else ""
    if "please" in texts or (
        main.tag == "VB"
        and not main.aux
        and not _letting(part, main)
        and main.lemma not in class_of("courtesies")
    ):
        return Mood.REQUESTED
    if _needs(part, main, actor, denied):
        return Mood.REQUESTED
    if actor is Actor.ASSISTANT and (
        any(t in class_of("glad") for t in texts[main.at :]) and main.infinitive
    ):
        return Mood.OFFERED
    contingent = conditional or (
        previous is not None and previous.mood in (Mood.REQUESTED, Mood.OFFERED, Mood.ASKED)
    )
    if tense is Tense.FUTURE and contingent:
        return Mood.OFFERED
    if modal in ("can", "could", "may", "might", "would") or (
        main.copula and any(t in class_of("possible") for t in texts)
    ):
        return Mood.OFFERED if actor is Actor.ASSISTANT and conditional and not denied else Mood.ABLE
    if main.copula and conditional and tense is Tense.FUTURE:
        return Mood.OFFERED
    return Mood.ASSERTED


def _question(texts: Sequence[str], main: Verb, actor: Actor) -> Mood:
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


def _needs(part: Sequence[Token], main: Verb, actor: Actor, denied: bool) -> bool:
    """Whether a statement asks by saying what is needed or missing."""
    texts = {t.text for t in part}
    if denied:
        return False
    if actor is Actor.ASSISTANT and main.lemma in class_of("needing"):
        return not main.infinitive or main.infinitive in class_of("knowing")
    if actor is Actor.USER and main.lemma in ("need", "have") and main.infinitive in class_of("giving"):
        return True
    return bool(texts & class_of("missing")) and main.lemma in ("be", "miss", "need", "require", "seem", "")


def _predicates(part: Sequence[Token], verbs: Sequence[Verb], main: Verb) -> tuple[str, ...]:
    """Return the lemmas that may carry the action."""
    found = [verb.lemma for verb in verbs if verb.lemma]
    governed = main.infinitive and main.lemma in class_of("governing")
    if main.infinitive and (main.copula or governed or any(t.text in class_of("glad") for t in part)):
        found.append(main.infinitive)
    by_me = any(t.text in ("me", "us") for t in part[main.end : main.end + 2])
    if main.infinitive and (by_me or main.lemma in class_of("have_way")):
        found.append(main.infinitive)
    at = main.end
    if main.lemma in class_of("phases") and at < len(part) and "VBG" in part[at].form.tags:
        found.append(part[at].form.verb)
    if main.copula or main.lemma in class_of("light"):
        found += [t.form.lemma for t in part if t.form.noun or "VBG" in t.form.tags]
    return tuple(dict.fromkeys(found))
