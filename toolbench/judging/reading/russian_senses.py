"""What one Russian clause says by itself: predicates, polarity, tense, and whether it was carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from toolbench.judging.reading.lexicon import Phrase, occurs, phrases
from toolbench.judging.reading.russian_actors import find_actor, is_auxiliary, is_courtesy
from toolbench.judging.reading.russian_clauses import Kind, Part, is_predicate
from toolbench.judging.reading.russian_moods import Sense, find_mood, lacks
from toolbench.judging.reading.russian_words import Token, data, grammar
from toolbench.judging.reading.statements import Mood, Tense


def read_part(part: Part) -> Sense:
    part.words = _in_sense(part.words)
    heads = [w for w in part.words if is_predicate(w) or w.pos in ("INFN", "GRND")]
    sense = Sense(part, heads)
    if part.kind is Kind.INTERJECTION:
        return sense
    content = [w for w in heads if not is_auxiliary(w) and not is_courtesy(w)]
    finite = [w for w in content if w.pos not in ("INFN", "GRND")]
    infinitives = [w for w in content if w.pos == "INFN"]
    part.words = _needs(part.words, infinitives)
    sense.tense = _tense_of(heads)
    sense.actor, sense.inherits = find_actor(part.words, heads)
    if any(w.act in grammar("refused") for w in finite):
        infinitives = []
    sense.predicates = list(dict.fromkeys(w.act for w in [*finite, *infinitives]))
    sense.predicates += [
        n for n in _acting_nouns(part.words, [*finite, *infinitives]) if n not in sense.predicates
    ]
    gerunds = [w for w in content if w.pos == "GRND"]
    sense.predicates += [a for a in (w.act for w in gerunds) if a not in sense.predicates]
    done = _says_done(part.words)
    if done and not sense.predicates:
        sense.predicates = ["готово"]
    sense.denied = _is_denied(sense, finite)
    if any(w.text == ":" for w in part.words) and sense.is_("performative"):
        # «Записываю: Казань — Самара»
        finite = [w for w in finite if not (w.has("1per") and w.has("pres"))]
    unreal = any(w.lemma in ("бы", "б") for w in part.words)
    accomplished = (
        is_completed(heads, finite, infinitives, part.words) or done or (not finite and _perfect(gerunds))
    )
    sense.completed = accomplished and not unreal
    sense.ongoing = _is_ongoing(heads, finite, infinitives) and not sense.denied
    sense.mood = find_mood(sense, infinitives)
    if sense.mood is Mood.REQUESTED and sense.denied and lacks(sense):
        # «Не хватает веса» asks for it.
        sense.denied = False
    if sense.mood is Mood.ASSERTED and part.kind is Kind.WHETHER:
        sense.mood = Mood.CONDITIONAL
    return sense


def _in_sense(words: list[Token]) -> list[Token]:
    """Tell meanings of a verb apart by what stands beside it: who returns an error pays nothing."""
    lemmas = [w.lemma for w in words]
    to_others = any(w.has("datv") and w.lemma in grammar("others") for w in words)
    for at, word in enumerate(words):
        if to_others and word.act in grammar("informing") and word.pos in ("VERB", "INFN"):
            words[at] = replace(word, form=replace(word.form, lemma="доложить", act="доложить"))
    for at, word in enumerate(words):
        for meaning, beside in _senses().get(word.act, {}).items():
            if any(occurs(phrase, lemmas) for phrase in beside):
                words[at] = replace(word, form=replace(word.form, lemma=meaning, act=meaning))
    return words


def _needs(words: list[Token], infinitives: Sequence[Token]) -> list[Token]:
    """Tell a duty from a need: «нужно оформить новый» lacks nothing, «нужно указать вес» does."""
    if not infinitives or any(w.act in grammar("informing") for w in infinitives):
        return words
    duty = grammar("needed") & grammar("must")
    return [replace(w, form=replace(w.form, lemma=DUTY, act=DUTY)) if w.lemma in duty else w for w in words]


DUTY = "надо"
"""What a need is read as where something is to be done, not to be given."""


@cache
def _senses() -> Mapping[str, Mapping[str, Sequence[Phrase]]]:
    """Return verb → other meaning → phrases that give it that meaning."""
    return {
        verb: {meaning: phrases(entries) for meaning, entries in senses.items()}
        for verb, senses in data()["senses"].items()
    }


def _perfect(words: Sequence[Token]) -> bool:
    return any(w.has("perf") for w in words)


def _tense_of(heads: Sequence[Token]) -> Tense:
    """Return the tense of the first finite verb; a short participle alone says none."""
    for head in heads:
        if head.pos == "VERB" and not head.has("impr"):
            for tag, tense in (("past", Tense.PAST), ("pres", Tense.PRESENT), ("futr", Tense.FUTURE)):
                if head.has(tag):
                    return tense
    if any(h.pos == "PRED" or h.pos == "ADJS" or h.lemma in grammar("able") for h in heads):
        return Tense.PRESENT
    return Tense.NONE


def _acting_nouns(words: Sequence[Token], finite: Sequence[Token]) -> list[str]:
    """Return the verbs whose nouns are what is done: «отмена выполнена», «оформил возврат», «отмены нет»."""
    if any(w.act not in grammar("support") for w in finite):
        return []
    nouns: dict[str, str] = data()["nouns"]
    found = []
    for at, word in enumerate(words):
        verb = nouns.get(word.lemma) if word.pos == "NOUN" else None
        if verb is None:
            continue
        lead = next((w for w in reversed(words[:at]) if w.pos not in ("ADJF", "PRTF")), None)
        negated = not finite and any(w.lemma in ("нет", "не", "ни") for w in words)
        object_ = word.form.tags & _DIRECT or negated
        governed = lead is not None and lead.pos == "PREP"
        if object_ and not governed and (negated or _suits(word, words)):
            found.append(verb)
    return found


def _suits(noun: Token, words: Sequence[Token]) -> bool:
    """Whether a noun can be what short forms are said of: «отмена готова», not «черновик готов: оплата»."""
    short = [w for w in words if w.pos in ("PRTS", "ADJS")]
    if not short or any(w.pos == "VERB" for w in words):
        return True
    genders = ("masc", "femn", "neut")
    return any(
        w.has("plur") if noun.has("plur") else any(w.has("sing", one) and noun.has(one) for one in genders)
        for w in short
    )


_DIRECT = frozenset({"nomn", "accs"})


def _says_done(words: Sequence[Token]) -> bool:
    plain_words = [w.form.plain for w in words if w.kind == "word"]
    phrase = " ".join(plain_words).replace("ё", "е")
    nouns = any(w.pos == "NOUN" for w in words)
    alone = any(w in grammar("done") for w in plain_words) and not nouns
    return alone or any(p in phrase for p in grammar("done_phrases"))


def _is_denied(sense: Sense, finite: Sequence[Token]) -> bool:
    """Count negations that reach the predicate: its own, those of governing words, and words of inability."""
    words = _unquoted(sense.part.words)
    verbless = not sense.heads
    count = 0
    for at, word in enumerate(words):
        if word.lemma == "не":
            follower = next((w for w in words[at + 1 : at + 5] if w.lemma not in _PARTICLES), None)
            if follower is None or follower.lemma in grammar("not_only"):
                continue
            reaches = (
                follower in sense.heads
                or (verbless and follower.pos != "PRTF")
                or sense.part.link == "не…а"
                or (follower.pos == "PREP" and _is_personal(words, follower))
                or (follower.pos in _ADVERBS and any(w in sense.heads for w in words[at + 2 : at + 4]))
            )
            count += reaches
        elif word.lemma in grammar("unable") and not _is_interjection(words, at):
            # «Сервис недоступен» denies nothing.
            count += bool(sense.predicates) or word.lemma != "недоступный"
        elif word.lemma in ("ни", "никакой", "ничто", "никто") and verbless:
            count = 1
    if verbless and not sense.predicates and any(w.lemma == "без" for w in words[:2]):
        count = 1
    return count % 2 == 1


def _unquoted(words: Sequence[Token]) -> list[Token]:
    """Return the words that are not in quotation marks: «с текстом „Нет письма“» denies nothing."""
    found, open_ = [], False
    for word in words:
        if word.text in "«»":
            open_ = word.text == "«"
        elif word.kind != "mark" and not open_:
            found.append(word)
    return found


def _is_personal(words: Sequence[Token], preposition: Token) -> bool:
    """Whether a preposition governs a person: «оформлен не на вас» denies that it is."""
    governed = words[words.index(preposition) + 1 :][:1]
    return any(w.pos == "NPRO" and (w.has("1per") or w.has("2per")) for w in governed)


_PARTICLES = frozenset({"же", "бы", "ли", "то", "уж"})


_ADVERBS = frozenset({"ADVB", "PRCL"})


def _is_interjection(words: Sequence[Token], at: int) -> bool:
    return words[at].lemma == "нет" and at == 0 and len(words) > 1 and words[1].start > words[0].end + 1


def is_completed(
    heads: Sequence[Token], finite: Sequence[Token], infinitives: Sequence[Token], words: Sequence[Token] = ()
) -> bool:
    """Whether the form tells of something carried out."""
    future = any(h.lemma == "быть" and h.has("futr") for h in heads)
    managed = any(h.act in grammar("managed") and h.has("past") for h in heads)
    managed = managed and not _is_of_a_thing(heads, words)
    if infinitives:
        # «Попросил курьера приехать» is done by itself.
        told = any(w.act in grammar("commanding") and w.has("past", "perf") for w in finite)
        return managed or told
    if future:
        return False
    return managed or any(
        (w.pos == "PRTS" and w.lemma not in grammar("states"))
        or (w.pos == "VERB" and w.has("past") and (w.has("perf") or w.lemma in grammar("both_aspects")))
        for w in finite
    )


def _is_of_a_thing(heads: Sequence[Token], words: Sequence[Token]) -> bool:
    """Whether what came out is a thing, no action: «телефон получился из одиннадцати цифр»."""
    verb = next((h for h in heads if h.act in grammar("managed") and h.has("past", "sing")), None)
    return verb is not None and any(
        w.pos == "NOUN"
        and w.has("nomn", "sing", gender)
        and verb.has(gender)
        and w.lemma not in data()["nouns"]
        for w in words
        for gender in ("masc", "femn")
    )


def _is_ongoing(heads: Sequence[Token], finite: Sequence[Token], infinitives: Sequence[Token]) -> bool:
    if infinitives:
        return any(h.act in grammar("phases") for h in heads)
    return any(w.pos == "VERB" and w.has("pres") and w.has("impf") for w in finite)
