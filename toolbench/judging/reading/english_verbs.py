"""Verb groups of an English clause: the main verb with its auxiliaries, by a small grammar of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from toolbench.judging.reading.english_words import (
    CLITIC_LEMMA,
    LANG,
    Token,
    class_of,
    is_adverb,
    skips,
)
from toolbench.judging.reading.lexicon import lexicon


@dataclass
class Verb:
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


def find_verbs(chunk: Sequence[Token]) -> list[Verb]:
    """Return the finite verbs, participles and imperatives of a chunk, in order."""
    found: list[Verb] = []
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


def _aux_of(chunk: Sequence[Token], at: int) -> str:
    """Return the auxiliary a token is, or an empty text."""
    token = chunk[at]
    if token.text == "'s":
        after = next((t for t in chunk[at + 1 :] if not skips(t)), None)
        host = chunk[at - 1].text if at else ""
        if after is not None and after.text in ("been", "got", "gone", "had"):
            return "have"
        verbal = after is not None and (
            bool({"VBN", "VBG"} & after.form.tags)
            or after.text in class_of("determiners")
            or after.text in class_of("prepositions")
            or (after.form.other and not after.form.noun)
            or after.number
        )
        plain = at + 1 < len(chunk) and skips(chunk[at + 1])
        return "be" if host in class_of("subjects") or host in class_of("asking") or verbal or plain else ""
    if token.text == "'d":
        return "would"
    name = lexicon(LANG).data["grammar"]["auxiliaries"].get(token.text, "")
    if name in ("will", "can", "may") and at and chunk[at - 1].text in class_of("determiners"):
        return ""
    return name if name else CLITIC_LEMMA.get(token.text, "").replace("not", "")


def _auxiliary(chunk: Sequence[Token], start: int) -> Verb:
    """Return the verb group that begins with an auxiliary."""
    aux = [_aux_of(chunk, start)]
    before = [token for token in chunk[:start] if not is_adverb(token)]
    asking = bool(before) and bool({before[0].text, before[-1].text} & class_of("asking"))
    inverted = asking or not before
    at = start + 1
    seen_subject = False
    while at < len(chunk) and at - start < 9:
        token = chunk[at]
        more = _aux_of(chunk, at)
        if token.mark:
            break
        if skips(token) and token.text != "no":
            at += 1
        elif (
            more
            and not (more == "do" and aux[-1] != "do")
            and not (more == "have" and not _perfect(chunk, at))
        ):
            aux.append(more)
            at += 1
        elif tag := _expected(aux[-1], token, seen_subject, inverted, before[-1:]):
            # Without a subject behind it, "doesn't exist" goes on from the clause before and asks nothing.
            return Verb(token.form.verb, tag, start, at + 1, aux, asking or seen_subject)
        elif inverted and not seen_subject:
            at = _past_subject(chunk, at)
            seen_subject = True
        else:
            break
    if aux[-1] in ("have", "do") or (len(aux) == 1 and aux[0] in ("have", "do")):
        return Verb(
            aux[-1],
            "VBD" if chunk[start].text in ("had", "did") else "VBP",
            start,
            start + 1,
            aux[:-1],
            asking or seen_subject,
        )
    return Verb(
        aux[-1] if aux[-1] in ("be", "get") else "",
        _tense_tag(chunk, start),
        start,
        max(start + 1, at if aux[1:] else start + 1),
        aux,
        asking or seen_subject,
        True,
    )


def _perfect(chunk: Sequence[Token], at: int) -> bool:
    """Whether a "have" has a participle after it."""
    after = next((t for t in chunk[at + 1 :] if not skips(t)), None)
    return after is not None and ("VBN" in after.form.tags or after.text == "been")


def _tense_tag(chunk: Sequence[Token], at: int) -> str:
    return "VBD" if chunk[at].text in ("was", "were", "had") else "VBP"


def _expected(aux: str, token: Token, subject: bool, inverted: bool, before: Sequence[Token]) -> str:
    """Return the tag a token has as the main verb behind an auxiliary, or an empty text."""
    tags = token.form.tags
    if aux == "have":
        return "VBN" if "VBN" in tags else ""
    if aux in ("be", "get"):
        # "The problem is pricing", but "I'm booking".
        thing = token.form.noun and token.text in ("pricing", "booking")
        if "VBG" in tags and not (thing and before and before[0].text not in ("i", "we")):
            return "VBG"
        return "VBN" if "VBN" in tags and token.text not in class_of("adjectives") else ""
    if inverted and not subject and token.form.noun:
        return ""
    return "VB" if "VB" in tags or "VBP" in tags else ""


def _past_subject(chunk: Sequence[Token], at: int) -> int:
    """Return the place behind the subject of an inverted clause."""
    if chunk[at].text in class_of("subjects"):
        return at + 1
    end = at
    while (
        end < len(chunk)
        and not chunk[end].mark
        and (
            chunk[end].text in class_of("determiners")
            or chunk[end].number
            or chunk[end].form.noun
            or not chunk[end].form.tags
        )
        and not (end > at and {"VB", "VBN", "VBG"} & chunk[end].form.tags and not chunk[end].form.noun)
    ):
        end += 1
    return max(end, at + 1)


def _bare(chunk: Sequence[Token], at: int, found: Sequence[Verb]) -> Verb | None:
    """Return the verb without auxiliary at a place, if its neighbours let it be one."""
    token = chunk[at]
    tags = token.form.tags
    if not tags or token.text in class_of("never_verbs") or is_adverb(token):
        return None
    if _names_it(chunk, at):
        return None
    place = at - 1
    while place >= 0 and (
        (skips(chunk[place]) and chunk[place].text != "no") or chunk[place].text in class_of("openers")
    ):
        place -= 1
    before = chunk[place] if place >= 0 else None
    after = chunk[at + 1] if at + 1 < len(chunk) else None
    if before is not None and before.text in ("that", "who") and tags & {"VBZ", "VBD"}:
        # "The app that closes": its own subject tells that the word is a verb.
        return Verb(token.form.verb, "VBD" if "VBD" in tags else "VBP", at, at + 1)
    if before is None or before.mark or before.text in class_of("joining"):
        return _opening_verb(chunk, at)
    if before.text == "to":
        return None
    if before.text in class_of("subjects") and found and found[-1].end == place:
        # "leave it open": an object, no subject.
        return None
    if before.text in class_of("subjects"):
        finite = bool(tags & {"VBD", "VBZ", "VBP"})
        past = "VBD" in tags and not (token.form.verb == token.text and "VBP" in tags)
        return Verb(token.form.verb, "VBD" if past else "VBP", at, at + 1) if finite else None
    if before.text in class_of("determiners") or before.text in class_of("prepositions"):
        return None
    if before.form.other and not before.form.noun and not before.number:
        return None
    if found and found[-1].lemma == "let" and "VB" in tags and not token.form.noun:
        return Verb(token.form.verb, "VB", at, at + 1, list(found[-1].aux))
    if tags & {"VBD", "VBN"} and token.form.verb != token.text:
        return Verb(token.form.verb, "VBN" if found or "VBD" not in tags else "VBD", at, at + 1)
    if "VBZ" in tags and (
        not token.form.noun
        or (after is not None and (_counts(after) or after.text in class_of("determiners")))
        or (after is not None and not found and before.form.noun and after.text in class_of("prepositions"))
    ):
        return Verb(token.form.verb, "VBP", at, at + 1)
    return None


def _names_it(chunk: Sequence[Token], at: int) -> bool:
    """Whether a participle only gives a name: nobody rang up "two customers, both called Ivan"."""
    after = chunk[at + 1] if at + 1 < len(chunk) else None
    if chunk[at].text not in class_of("naming") or after is None or after.form.tags or after.number:
        return False
    before = chunk[at - 1] if at else None
    return before is None or before.text not in class_of("subjects") or is_adverb(before)


def _counts(token: Token) -> bool:
    return token.number or token.text in lexicon(LANG).values["numbers"]


def _opening_verb(chunk: Sequence[Token], at: int) -> Verb | None:
    """Return the verb that opens a clause: an imperative, a participle, a subjectless finite form."""
    token, after = chunk[at], chunk[at + 1] if at + 1 < len(chunk) else None
    tags = token.form.tags
    if at and chunk[at - 1].text in class_of("degrees"):
        return None
    noun_follows = (
        after is not None
        and (after.form.tags or after.form.lemma == "be")
        and after.text not in class_of("determiners")
    )
    if "VBN" in tags and token.form.verb != token.text and token.text not in class_of("adjectives"):
        return Verb(token.form.verb, "VBN", at, at + 1)
    named = after is not None and (
        after.text in class_of("determiners") or after.text in ("me", "us", "it", "them", "you")
    )
    sure = named or not token.form.noun or token.text in class_of("imperatives")
    alone = (after is None or after.mark) and token.text not in class_of("imperatives")
    if (
        "VB" in tags
        and sure
        and not (alone and token.form.other)
        and not (noun_follows and token.form.noun and not named and token.text not in class_of("imperatives"))
    ):
        return Verb(token.form.verb, "VB", at, at + 1)
    if "VBG" in tags:
        return Verb(token.form.verb, "VBG", at, at + 1)
    if "VBZ" in tags and not token.form.noun:
        return Verb(token.form.verb, "VBP", at, at + 1)
    return None


def _infinitive(chunk: Sequence[Token], verb: Verb) -> str:
    """Return the verb of a "to" behind a verb group: "unable to cancel", "going to move"."""
    for at in range(verb.end, min(verb.end + 5, len(chunk) - 1)):
        if chunk[at].text == "to":
            after = next((t for t in chunk[at + 1 : at + 4] if not is_adverb(t)), None)
            return after.form.verb if after is not None and "VB" in after.form.tags else ""
        if chunk[at].mark:
            return ""
    return ""
