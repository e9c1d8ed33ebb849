"""What a Russian clause does with its content: asserts, asks, requests, offers, quotes or supposes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from toolbench.judging.reading.russian_actors import is_courtesy
from toolbench.judging.reading.russian_clauses import Kind, Part
from toolbench.judging.reading.russian_numbers import currencies
from toolbench.judging.reading.russian_words import Token, data, grammar
from toolbench.judging.reading.statements import Actor, Mood, Tense


@dataclass
class Sense:
    """What the words of one clause say by themselves; :func:`_sentence` fits it into its sentence."""

    part: Part
    heads: list[Token]
    predicates: list[str] = field(default_factory=list)
    denied: bool = False
    completed: bool = False
    ongoing: bool = False
    mood: Mood = Mood.ASSERTED
    tense: Tense = Tense.NONE
    actor: Actor = Actor.UNSAID
    inherits: bool = False

    def is_(self, name: str) -> bool:
        """Whether a word of the clause, or its perfective, is of a class of the grammar."""
        words = grammar(name)
        return any(w.lemma in words or w.act in words for w in self.part.words)


def find_mood(sense: Sense, infinitives: Sequence[Token]) -> Mood:
    for mood, holds in (
        (Mood.QUOTED, _is_quoted),
        (Mood.REQUESTED, _is_requested),
        (Mood.CONDITIONAL, _is_conditional),
        (Mood.OFFERED, _is_offered),
        (Mood.ABLE, _is_able),
    ):
        if holds(sense, infinitives):
            return mood
    return Mood.ASSERTED


def _is_quoted(sense: Sense, infinitives: Sequence[Token]) -> bool:
    if sense.part.kind is Kind.QUOTE:
        return True
    if sense.part.kind in (Kind.IF, Kind.PURPOSE, Kind.WHEN):
        return False
    said = any(h.act in grammar("saying") and not h.has("impr") and h.pos == "VERB" for h in sense.heads)
    if sense.actor is Actor.USER and said and not sense.denied and sense.tense is not Tense.FUTURE:
        return True
    words = [w.lemma for w in sense.part.words]
    return any(a in ("по", "согласно") and b in grammar("rules") for a, b in pairwise(words))


def _is_conditional(sense: Sense, infinitives: Sequence[Token]) -> bool:
    if any(w.lemma in ("бы", "б") for w in sense.part.words):
        return True
    if sense.part.kind is Kind.WHEN:
        return sense.tense is not Tense.PAST
    return sense.part.kind in (Kind.IF, Kind.PURPOSE)


def _is_requested(sense: Sense, infinitives: Sequence[Token]) -> bool:
    if sense.part.kind in (Kind.IF, Kind.PURPOSE, Kind.WHEN):
        return False
    words = sense.part.words
    priced = any(w.lemma in currencies() for w in words)
    if priced and any(h.act in grammar("paying") for h in sense.heads):
        # «Заплатите 620 рублей» tells the price.
        return False
    if any(is_imperative(h, sense) for h in sense.heads):
        return True
    if any(w.lemma in ("пусть", "пускай") for w in words):
        return True
    informs = any(w.act in grammar("informing") for w in infinitives)
    mine = any(w.lemma in ("я", "мы") and w.has("datv") for w in words)
    if (
        sense.is_("needed")
        and not priced
        and not infinitives
        and not sense.denied
        and sense.actor is not Actor.OTHER
    ):
        return True
    # «Это будет стоить 450 рублей»: the infinitive itself binds nobody.
    bidden = any({w.lemma, w.act} & grammar("must") for w in words if w not in infinitives)
    if bidden and infinitives and not sense.denied and not priced:
        # «Номер должен выглядеть так» is a rule for the number, not for the user.
        bound = any(w.lemma == "должный" for w in words) and sense.actor is not Actor.USER
        return informs or not (mine or bound)
    learns = any(w.act in grammar("learning") for w in infinitives)
    if sense.is_("wishes") and learns and sense.actor is not Actor.USER:
        return True
    if any(h.lemma in grammar("bidding") and h.has("1per") for h in sense.heads):
        return not sense.denied
    if any(w.lemma == "просьба" for w in words) and infinitives:
        return True
    return sense.denied and lacks(sense) and not infinitives and sense.actor is not Actor.ASSISTANT


def lacks(sense: Sense) -> bool:
    return any(h.lemma in grammar("missing") for h in sense.heads)


def is_imperative(word: Token, sense: Sense) -> bool:
    """Whether a verb tells the user to do something; «уточните» is spelled like a future of «вы»."""
    if word.pos != "VERB" or not word.form.may >= _IMPERATIVE or word.lemma in grammar("willing"):
        return False
    if is_courtesy(word) or _is_apology(sense) or word.lemma in grammar("telling"):
        return False
    if word.has("impr"):
        return True
    return word.has("2per") and not any(w.lemma == "вы" and w.has("nomn") for w in sense.part.words)


_IMPERATIVE = frozenset({"impr", "excl"})


def _is_apology(sense: Sense) -> bool:
    return any(w.lemma in grammar("apologies") for w in sense.part.words)


def _is_offered(sense: Sense, infinitives: Sequence[Token]) -> bool:
    if any(w.text.lower() in grammar("let_us") for w in sense.part.words):
        return True
    willing = [h for h in sense.heads if h.lemma in grammar("willing")]
    if infinitives and willing and not sense.denied:
        return sense.actor is not Actor.USER and sense.actor is not Actor.OTHER
    nouns = any(w.lemma in data()["nouns"] for w in sense.part.words)
    return bool(willing) and nouns and any(h.lemma in ("предлагать", "предложить") for h in willing)


def _is_able(sense: Sense, infinitives: Sequence[Token]) -> bool:
    open_ = () if sense.predicates else grammar("open")
    able = [
        h
        for h in sense.heads
        if h.lemma in grammar("able") and h.lemma not in open_ and not (h.has("past") and h.has("perf"))
    ]
    missing = any(w.lemma in ("нет", "нету") for w in sense.part.words)
    bare = sense.denied and all(h.pos == "INFN" for h in sense.heads)
    nothing = infinitives and (missing or bare)
    in_power = any(w.lemma in ("состояние", "сила") and w.has("loct") for w in sense.part.words)
    return bool(able or nothing or (in_power and infinitives) or _is_habit(sense))


def _is_habit(sense: Sense) -> bool:
    """Whether it tells what the speaker does in general: «Отменяю заказы», not «Отменяю заказ ORD-123456»."""
    words = sense.part.words
    if sense.actor is not Actor.ASSISTANT or not sense.ongoing or sense.predicates == ["начать"]:
        return False
    single = any(w.kind in ("identifier", "number") or w.lemma in ("сейчас", "уже", "ваш") for w in words)
    if single:
        return False
    nouns = [w for w in words if w.pos == "NOUN" and w.lemma not in grammar("masses")]
    several = any("plur" in w.form.may and "Pltm" not in w.form.may for w in nouns)
    return several or sense.is_("general") or any(h.lemma in grammar("serving") for h in sense.heads)
