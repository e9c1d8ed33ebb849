"""Who acts in a Russian clause: the subject, where it stands, and the person of the verb."""

from __future__ import annotations

from collections.abc import Sequence

from toolbench.judging.reading.russian_words import Token, grammar
from toolbench.judging.reading.statements import Actor


def is_auxiliary(word: Token) -> bool:
    return (
        word.act in grammar("auxiliary") or word.lemma in grammar("able") or word.lemma in grammar("unable")
    )


def is_courtesy(word: Token) -> bool:
    return word.act in grammar("courtesies") or word.text.lower() in grammar("let_us")


def find_actor(words: Sequence[Token], heads: Sequence[Token]) -> tuple[Actor, bool]:
    """Return who acts, and whether a clause without a subject of its own takes the one before it."""
    verbs = [h for h in heads if h.pos == "VERB" and not is_courtesy(h)]
    for before, word in zip([None, *words], words, strict=False):
        if before is not None and before.pos == "PREP":
            # «успеет к вам»
            continue
        if word.pos == "NPRO" and (word.has("1per") or word.has("2per")) and word.form.tags & _AGENT:
            by = word.has("ablt") and any(h.pos == "PRTS" for h in heads)
            needs = word.has("datv") and any(
                h.act in grammar("must") or h.act in grammar("managed") for h in heads
            )
            if word.has("nomn") or by or needs:
                return (Actor.ASSISTANT if word.has("1per") else Actor.USER), False
    for verb in verbs:
        if verb.has("1per"):
            return Actor.ASSISTANT, False
        if verb.has("2per") or verb.has("impr"):
            return Actor.USER, False
    if any(h.pos == "PRTS" for h in heads):
        return Actor.UNSAID, False
    subject = next((w for w in words if _is_subject(w, verbs)), None) or _placed_subject(words, verbs)
    named = words and words[0].kind == "identifier" and verbs and all(v.has("intr") for v in verbs)
    if subject is None and named:
        # «ORD-320001 ещё не приехал»: the thing itself, as nobody can do it to it.
        return Actor.UNSAID, False
    if subject is not None:
        if subject.lemma in grammar("service"):
            return Actor.ASSISTANT, False
        passive = not verbs or all(v.lemma == "быть" or v.lemma.endswith("ся") for v in verbs)
        if passive and not subject.has("anim") and subject.lemma not in grammar("others"):
            return Actor.UNSAID, False
        return Actor.OTHER, False
    if any(v.has("past", "plur") for v in verbs):
        # «Деньги списали»: somebody did.
        return Actor.UNSAID, True
    past = [v for v in verbs if v.has("past") and not v.has("neut")]
    to_user = any(w.lemma in ("вы", "ты") for w in words)
    if any(v.has("3per", "plur") and (v.has("pres") or not to_user) for v in verbs):
        # «За евро просят 94 рубля»: people do.
        return Actor.UNSAID, True
    if past or any(v.has("plur") and not v.has("past") for v in verbs):
        active = any(v.lemma != "быть" and not v.lemma.endswith("ся") for v in verbs)
        return (Actor.ASSISTANT if active else Actor.UNSAID), True
    return Actor.UNSAID, bool(verbs)


_AGENT = frozenset({"nomn", "ablt", "datv"})


def _is_subject(word: Token, verbs: Sequence[Token]) -> bool:
    """Whether a noun is the subject: in the nominative, and not an object that only looks like one."""
    if word.lemma in grammar("others") and word.has("nomn") and not verbs:
        return True
    if word.pos not in ("NOUN", "NPRO") or "nomn" not in word.form.may or word.has("gent"):
        return False
    if word.has("Geox") or word.has("loct") or (word.pos == "NPRO" and word.has("accs")):
        return False
    if "accs" not in word.form.may or word.has("anim") or word.lemma in grammar("service"):
        return word.has("nomn")
    transitive = any(v.has("tran") and not v.lemma.endswith("ся") for v in verbs)
    return not transitive


def _placed_subject(words: Sequence[Token], verbs: Sequence[Token]) -> Token | None:
    """Return the noun before a verb that has its object behind it: «Заказ покинул склад»."""
    verb = next((v for v in verbs if v.has("tran")), None)
    if verb is None:
        return None
    at = words.index(verb)
    before = next((w for w in words[:at] if w.pos == "NOUN" and "nomn" in w.form.may), None)
    behind = next((w for w in words[at + 1 : at + 4] if _may_be_object(w)), None)
    governed = before is not None and words.index(before) > 0 and words[words.index(before) - 1].pos == "PREP"
    agrees = before is not None and _agrees(before, verb)
    return before if behind is not None and agrees and not governed else None


def _may_be_object(word: Token) -> bool:
    return "accs" in word.form.may and not word.form.may.isdisjoint(("NOUN", "NPRO"))


def _agrees(noun: Token, verb: Token) -> bool:
    if verb.has("past") and verb.has("sing"):
        return any(noun.has("sing", gender) and verb.has(gender) for gender in ("masc", "femn", "neut"))
    return noun.has("plur") == verb.has("plur") and not verb.has("1per") and not verb.has("2per")
