"""Russian: what each clause says, denies, asks, offers or promises.

Words come from the OpenCorpora dictionary (:mod:`.russian_words`), clauses from :mod:`.russian_clauses`, and
what a dictionary does not know, such as which verbs ask and which nouns stand for a verb, from ``ru.json``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from toolbench.judging.reading.lexicon import Phrase, occurs, phrases
from toolbench.judging.reading.russian_clauses import Kind, Part, Sentence, is_predicate, sentences
from toolbench.judging.reading.russian_values import currencies, find_values
from toolbench.judging.reading.russian_words import Token, data, grammar, lemma, tokens
from toolbench.judging.reading.statements import Actor, Clause, Mood, Tense, Value, Word

__all__ = ["clauses", "lemma", "moments"]


def clauses(text: str) -> Sequence[Clause]:
    """Read prose: every clause with its predicates, polarity, mood, tense and actor."""
    read = list(sentences(text))
    told: list[list[_Sense]] = []
    header: _Sense | None = None
    for sentence in read:
        own = _sentence(sentence, header)
        told.append(own)
        if sentence.opens_list:
            header = own[-1] if len(own) == 1 or own[-1].mood is not Mood.ASSERTED else None
        elif sentence.prose:
            header = None
    _await_answers(told)
    return [
        _clause(sense, sentence, number)
        for number, (sentence, senses) in enumerate(zip(read, told, strict=True))
        for sense in senses
    ]


def moments(text: str) -> Sequence[Value]:
    """Return numbers, quantities, dates and times in digits or words, and names of places."""
    return find_values(list(tokens(text)))


@dataclass
class _Sense:
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


# A clause by itself


def _read(part: Part) -> _Sense:
    part.words = _in_sense(part.words)
    heads = [w for w in part.words if is_predicate(w) or w.pos in ("INFN", "GRND")]
    sense = _Sense(part, heads)
    if part.kind is Kind.INTERJECTION:
        return sense
    content = [w for w in heads if not _is_auxiliary(w) and not _is_courtesy(w)]
    finite = [w for w in content if w.pos not in ("INFN", "GRND")]
    infinitives = [w for w in content if w.pos == "INFN"]
    sense.tense = _tense(heads)
    sense.actor, sense.inherits = _actor(part.words, heads)
    if any(w.act in grammar("refused") for w in finite):
        infinitives = []
    sense.predicates = list(dict.fromkeys(w.act for w in [*finite, *infinitives]))
    if not infinitives:
        sense.predicates += [n for n in _nouns(part.words, finite) if n not in sense.predicates]
    gerunds = [w for w in content if w.pos == "GRND"]
    sense.predicates += [a for a in (w.act for w in gerunds) if a not in sense.predicates]
    done = _says_done(part.words)
    if done and not sense.predicates:
        sense.predicates = ["готово"]
    sense.denied = _denied(sense, finite)
    if any(w.text == ":" for w in part.words) and sense.is_("performative"):
        # «Записываю: Казань — Самара»
        finite = [w for w in finite if not (w.has("1per") and w.has("pres"))]
    unreal = any(w.lemma in ("бы", "б") for w in part.words)
    accomplished = _completed(heads, finite, infinitives) or done or (not finite and _perfect(gerunds))
    sense.completed = accomplished and not unreal
    sense.ongoing = _ongoing(heads, finite, infinitives) and not sense.denied
    sense.mood = _mood(sense, infinitives)
    if sense.mood is Mood.REQUESTED and sense.denied and _lacks(sense):
        # «Не хватает веса» asks for it.
        sense.denied = False
    if sense.mood is Mood.ASSERTED and part.kind is Kind.WHETHER:
        sense.mood = Mood.CONDITIONAL
    return sense


def _in_sense(words: list[Token]) -> list[Token]:
    """Tell meanings of a verb apart by what stands beside it: who returns an error pays nothing."""
    lemmas = [w.lemma for w in words]
    for at, word in enumerate(words):
        for meaning, beside in _senses().get(word.act, {}).items():
            if any(occurs(phrase, lemmas) for phrase in beside):
                words[at] = replace(word, form=replace(word.form, lemma=meaning, act=meaning))
    return words


@cache
def _senses() -> Mapping[str, Mapping[str, Sequence[Phrase]]]:
    """Return verb → other meaning → phrases that give it that meaning."""
    return {
        verb: {meaning: phrases(entries) for meaning, entries in senses.items()}
        for verb, senses in data()["senses"].items()
    }


def _is_auxiliary(word: Token) -> bool:
    return (
        word.act in grammar("auxiliary") or word.lemma in grammar("able") or word.lemma in grammar("unable")
    )


def _is_courtesy(word: Token) -> bool:
    return word.act in grammar("courtesies") or word.text.lower() in grammar("let_us")


def _perfect(words: Sequence[Token]) -> bool:
    return any(w.has("perf") for w in words)


def _tense(heads: Sequence[Token]) -> Tense:
    """Return the tense of the first finite verb; a short participle alone says none."""
    for head in heads:
        if head.pos == "VERB" and not head.has("impr"):
            for tag, tense in (("past", Tense.PAST), ("pres", Tense.PRESENT), ("futr", Tense.FUTURE)):
                if head.has(tag):
                    return tense
    if any(h.pos == "PRED" or h.pos == "ADJS" or h.lemma in grammar("able") for h in heads):
        return Tense.PRESENT
    return Tense.NONE


def _actor(words: Sequence[Token], heads: Sequence[Token]) -> tuple[Actor, bool]:
    """Return who acts, and whether a clause without a subject of its own takes the one before it."""
    verbs = [h for h in heads if h.pos == "VERB" and not _is_courtesy(h)]
    for word in words:
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


def _nouns(words: Sequence[Token], finite: Sequence[Token]) -> list[str]:
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
        if object_ and not governed:
            found.append(verb)
    return found


_DIRECT = frozenset({"nomn", "accs"})


def _says_done(words: Sequence[Token]) -> bool:
    plain_words = [w.form.plain for w in words if w.kind == "word"]
    phrase = " ".join(plain_words).replace("ё", "е")
    nouns = any(w.pos == "NOUN" for w in words)
    alone = any(w in grammar("done") for w in plain_words) and not nouns
    return alone or any(p in phrase for p in grammar("done_phrases"))


def _denied(sense: _Sense, finite: Sequence[Token]) -> bool:
    """Count negations that reach the predicate: its own, those of governing words, and words of inability."""
    words = [w for w in sense.part.words if w.kind != "mark"]
    verbless = not sense.heads
    count = 0
    for at, word in enumerate(words):
        if word.lemma == "не":
            follower = next((w for w in words[at + 1 : at + 5] if w.lemma not in _PARTICLES), None)
            if follower is None or follower.lemma in grammar("not_only"):
                continue
            reaches = (
                follower in sense.heads
                or verbless
                or sense.part.link == "не…а"
                or (follower.pos in _ADVERBS and any(w in sense.heads for w in words[at + 2 : at + 4]))
            )
            count += reaches
        elif word.lemma in grammar("unable") and not _is_interjection(words, at):
            # «Сервис недоступен» denies nothing.
            count += bool(sense.predicates) or word.lemma != "недоступный"
        elif word.lemma in ("ни", "никакой", "ничто", "никто") and verbless:
            count = 1
    if verbless and not sense.predicates and any(w.lemma == "без" for w in words):
        count = 1
    return count % 2 == 1


_PARTICLES = frozenset({"же", "бы", "ли", "то", "уж"})
_ADVERBS = frozenset({"ADVB", "PRCL"})


def _is_interjection(words: Sequence[Token], at: int) -> bool:
    return words[at].lemma == "нет" and at == 0 and len(words) > 1 and words[1].start > words[0].end + 1


def _completed(heads: Sequence[Token], finite: Sequence[Token], infinitives: Sequence[Token]) -> bool:
    """Whether the form tells of something carried out."""
    future = any(h.lemma == "быть" and h.has("futr") for h in heads)
    managed = any(h.act in grammar("managed") and h.has("past") for h in heads)
    if infinitives:
        return managed
    if future:
        return False
    return managed or any(
        (w.pos == "PRTS" and w.lemma not in grammar("states"))
        or (w.pos == "VERB" and w.has("past") and (w.has("perf") or w.lemma in grammar("both_aspects")))
        for w in finite
    )


def _ongoing(heads: Sequence[Token], finite: Sequence[Token], infinitives: Sequence[Token]) -> bool:
    if infinitives:
        return any(h.act in grammar("phases") for h in heads)
    return any(w.pos == "VERB" and w.has("pres") and w.has("impf") for w in finite)


# Moods


def _mood(sense: _Sense, infinitives: Sequence[Token]) -> Mood:
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


def _is_quoted(sense: _Sense, infinitives: Sequence[Token]) -> bool:
    if sense.part.kind is Kind.QUOTE:
        return True
    if sense.part.kind in (Kind.IF, Kind.PURPOSE, Kind.WHEN):
        return False
    said = any(h.act in grammar("saying") and not h.has("impr") and h.pos == "VERB" for h in sense.heads)
    if sense.actor is Actor.USER and said and not sense.denied and sense.tense is not Tense.FUTURE:
        return True
    words = [w.lemma for w in sense.part.words]
    return any(a in ("по", "согласно") and b in grammar("rules") for a, b in pairwise(words))


def _is_conditional(sense: _Sense, infinitives: Sequence[Token]) -> bool:
    if any(w.lemma in ("бы", "б") for w in sense.part.words):
        return True
    if sense.part.kind is Kind.WHEN:
        return sense.tense is not Tense.PAST
    return sense.part.kind in (Kind.IF, Kind.PURPOSE)


def _is_requested(sense: _Sense, infinitives: Sequence[Token]) -> bool:
    if sense.part.kind in (Kind.IF, Kind.PURPOSE, Kind.WHEN):
        return False
    words = sense.part.words
    if any(_is_imperative(h, sense) for h in sense.heads):
        return True
    if any(w.lemma in ("пусть", "пускай") for w in words):
        return True
    informs = any(w.act in grammar("informing") for w in infinitives)
    mine = any(w.lemma in ("я", "мы") and w.has("datv") for w in words)
    priced = any(w.lemma in currencies() for w in words)
    if (
        sense.is_("needed")
        and not priced
        and not infinitives
        and not sense.denied
        and sense.actor is not Actor.OTHER
    ):
        return True
    if sense.is_("must") and infinitives and not sense.denied:
        # «Номер должен выглядеть так» is a rule for the number, not for the user.
        bound = any(w.lemma == "должный" for w in words) and sense.actor is not Actor.USER
        return informs or not (mine or bound)
    if sense.is_("wishes") and informs and sense.actor is not Actor.USER:
        return True
    if any(h.lemma in grammar("bidding") and h.has("1per") for h in sense.heads):
        return not sense.denied
    if any(w.lemma == "просьба" for w in words) and infinitives:
        return True
    return sense.denied and _lacks(sense) and not infinitives and sense.actor is not Actor.ASSISTANT


def _lacks(sense: _Sense) -> bool:
    return any(h.lemma in grammar("missing") for h in sense.heads)


def _is_imperative(word: Token, sense: _Sense) -> bool:
    """Whether a verb tells the user to do something; «уточните» is spelled like a future of «вы»."""
    if word.pos != "VERB" or not word.form.may >= _IMPERATIVE or word.lemma in grammar("willing"):
        return False
    if _is_courtesy(word) or _is_apology(sense) or word.lemma in grammar("telling"):
        return False
    if word.has("impr"):
        return True
    return word.has("2per") and not any(w.lemma == "вы" and w.has("nomn") for w in sense.part.words)


_IMPERATIVE = frozenset({"impr", "excl"})


def _is_apology(sense: _Sense) -> bool:
    return any(w.lemma in grammar("apologies") for w in sense.part.words)


def _is_offered(sense: _Sense, infinitives: Sequence[Token]) -> bool:
    if any(w.text.lower() in grammar("let_us") for w in sense.part.words):
        return True
    willing = [h for h in sense.heads if h.lemma in grammar("willing")]
    if infinitives and willing and not sense.denied:
        return sense.actor is not Actor.USER and sense.actor is not Actor.OTHER
    nouns = any(w.lemma in data()["nouns"] for w in sense.part.words)
    return bool(willing) and nouns and any(h.lemma in ("предлагать", "предложить") for h in willing)


def _is_able(sense: _Sense, infinitives: Sequence[Token]) -> bool:
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


def _is_habit(sense: _Sense) -> bool:
    """Whether it tells what the speaker does in general: «Отменяю заказы», not «Отменяю заказ ORD-123456»."""
    words = sense.part.words
    if sense.actor is not Actor.ASSISTANT or not sense.ongoing or sense.predicates == ["начать"]:
        return False
    single = any(w.kind in ("identifier", "number") or w.lemma in ("сейчас", "уже", "ваш") for w in words)
    if single:
        return False
    nouns = [w for w in words if w.pos == "NOUN" and w.lemma not in grammar("masses")]
    several = any("plur" in w.form.may and "Pltm" not in w.form.may for w in nouns)
    return several or sense.is_("general")


# A clause in its sentence


def _sentence(sentence: Sentence, header: _Sense | None) -> list[_Sense]:
    senses: list[_Sense] = []
    previous: _Sense | None = None
    for part, following in zip(sentence.parts, [*sentence.parts[1:], None], strict=True):
        contrasted = following is not None and following.link == "а" and not following.predicative
        if contrasted and any(w.lemma == "не" for w in part.words):
            part.link = "не…а"
        sense = _read(part)
        if previous is not None:
            _continue(sense, previous)
            _unmeet(previous, sense)
        senses.append(sense)
        previous = sense
    if sentence.question:
        _ask(senses)
    _offer(senses)
    if any(s.mood is Mood.ABLE and s.ongoing for s in senses):
        # One habit in a row makes the others habits: «Смотрю состояние заказов и оформляю возврат».
        for sense in senses:
            if sense.mood is Mood.ASSERTED and sense.ongoing and sense.actor is Actor.ASSISTANT:
                sense.mood = Mood.ABLE
    if header is not None:
        _list_item(senses, header)
    return senses


def _await_answers(told: Sequence[Sequence[_Sense]]) -> None:
    """Turn a promise to look something up into an offer, when a sentence beside it asks for what is needed.

    «Посмотрю с радостью! Назовите номер.»
    """
    for at, senses in enumerate(told):
        beside = [s for near in (told[at - 1 : at], told[at + 1 : at + 2]) for one in near for s in one]
        asks = any(s.mood is Mood.REQUESTED and (s.is_("informing") or s.is_("needed")) for s in beside)
        for sense in senses:
            promise = sense.mood is Mood.ASSERTED and sense.tense is Tense.FUTURE and not sense.denied
            if (
                asks
                and promise
                and sense.actor is Actor.ASSISTANT
                and set(sense.predicates) & grammar("looking")
            ):
                sense.mood = Mood.OFFERED


def _continue(sense: _Sense, before: _Sense) -> None:
    """Take over what a clause leaves to the one before it."""
    part = sense.part
    performs = before.ongoing and before.actor is Actor.ASSISTANT and before.is_("performative")
    if performs and (part.kind is Kind.THAT or part.link == ":"):
        # «Сообщаю, что …» is done by saying it.
        before.ongoing = False
    if part.kind is Kind.THAT and before.is_("thanks"):
        # «Спасибо, что сообщили»
        sense.actor, sense.inherits = Actor.USER, False
    if sense.inherits and before.actor is not Actor.UNSAID and part.kind is Kind.MAIN and before.heads:
        sense.actor = before.actor
    if before.part.link == "не…а" and part.link == "а" and not sense.heads:
        sense.predicates, sense.tense, sense.actor = before.predicates, before.tense, before.actor
        verbs = [h for h in before.heads if h.pos in ("VERB", "PRTS")]
        sense.completed = _completed(before.heads, verbs, [])
    if part.kind is Kind.PURPOSE and any(h.lemma in grammar("willing") for h in before.heads):
        sense.mood, sense.completed = Mood.OFFERED, False
    elif part.kind in (Kind.THAT, Kind.PURPOSE, Kind.WHETHER, Kind.QUOTE) and before.mood is Mood.QUOTED:
        sense.mood = Mood.QUOTED
    elif part.kind in (Kind.WHETHER, Kind.THAT) and before.mood in (Mood.REQUESTED, Mood.ASKED):
        sense.mood = Mood.ASKED
    elif part.kind is Kind.THAT and before.denied and sense.mood is Mood.ASSERTED and _knows(before):
        # «не вижу, что заказ отменён»
        sense.denied = not sense.denied
    if part.link == ":" and not sense.heads and before.mood is not Mood.ASSERTED:
        # «Нужны: вес в килограммах и город»
        sense.mood, sense.denied = before.mood, before.denied
    if part.link in ("и", "или", ",") and not sense.denied and part.kind is before.part.kind is Kind.IF:
        sense.mood = before.mood


def _unmeet(sense: _Sense, following: _Sense) -> None:
    """«Нужен курс, а сервис не отвечает» explains and asks the user for nothing."""
    lacks = sense.mood is Mood.REQUESTED and sense.is_("needed") and sense.actor is not Actor.USER
    if lacks and following.part.link in ("а", "но") and following.denied and following.mood is Mood.ASSERTED:
        sense.mood = Mood.ASSERTED


def _knows(sense: _Sense) -> bool:
    """Whether what follows is what is known, seen or said; not its reason («ввиду того, что …»)."""
    pointed = sense.part.words[-1].lemma in ("то", "тот")
    return not pointed and any(h.act in grammar("knowing") for h in sense.heads)


def _ask(senses: list[_Sense]) -> None:
    """Say which clauses of a sentence with a question mark are the question."""
    for at in range(len(senses) - 1, -1, -1):
        sense = senses[at]
        last = at == len(senses) - 1
        wanted = _wh(sense)
        if not (last or wanted or _leads_on(sense, senses[at + 1])):
            return
        if sense.part.kind in (Kind.IF, Kind.PURPOSE, Kind.WHEN, Kind.QUOTE):
            continue
        bidden = any(_is_imperative(h, sense) for h in sense.heads)
        if bidden or (sense.mood is Mood.OFFERED and not wanted):
            continue
        sense.mood = Mood.OFFERED if not wanted and _proposes(senses, at) else Mood.ASKED


def _leads_on(sense: _Sense, following: _Sense) -> bool:
    """Whether a question goes on from a clause into the next."""
    willing = any(h.lemma in grammar("willing") and h.has("2per") for h in sense.heads)
    return willing or following.part.link == "или" or following.part.kind not in (Kind.MAIN, Kind.QUOTE)


def _wh(sense: _Sense) -> bool:
    words = [w.lemma for w in sense.part.words]
    return any(w in grammar("asking") for w in words) or "или" in words


def _proposes(senses: Sequence[_Sense], at: int) -> bool:
    """Whether a question is "shall I …?": «Отменить?», «Оформляем?», «Хотите, я отменю?»."""
    sense = senses[at]
    finite = [h for h in sense.heads if h.pos == "VERB"]
    infinitive = any(h.pos == "INFN" for h in sense.heads)
    if sense.actor is Actor.USER or any(h.has("2per") for h in finite):
        return False
    if infinitive and not finite:
        return True
    if any(h.has("1per") and not h.has("past") for h in finite):
        return True
    return infinitive and sense.mood is Mood.ABLE


def _offer(senses: list[_Sense]) -> None:
    """Turn promises that wait for the user's word into offers: «Назовите номер, и я проверю»."""
    waits = any(_waits(s) for s in senses)
    again = any(s.mood is Mood.REQUESTED and s.is_("retrying") for s in senses)
    for sense in senses:
        # «Загляните позже, попробуем снова»
        waits = waits or (again and not grammar("attempts").isdisjoint(sense.predicates))
        may = sense.mood is Mood.ABLE and not sense.denied and sense.actor is not Actor.OTHER
        will = sense.mood is Mood.ASSERTED and sense.tense is Tense.FUTURE and sense.actor is not Actor.OTHER
        if waits and (may or will) and sense.part.kind in (Kind.MAIN, Kind.THAT) and not sense.denied:
            sense.mood = Mood.OFFERED


def _waits(sense: _Sense) -> bool:
    """Whether a clause sets out what the user must say or do first."""
    if sense.mood is Mood.REQUESTED:
        return not sense.is_("retrying")
    if sense.mood is Mood.ASKED and sense.heads:
        return True
    if any(h.lemma in grammar("willing") and h.has("2per") for h in sense.heads):
        return True
    told = sense.actor is Actor.USER or sense.is_("needed") or sense.is_("must") or sense.is_("suits")
    given = sense.actor is Actor.ASSISTANT and sense.is_("receiving")
    return sense.part.kind in (Kind.IF, Kind.WHEN) and (told or given)


def _list_item(senses: list[_Sense], header: _Sense) -> None:
    """Give the verbless lines of a list the mood of the line above it."""
    for sense in senses:
        bare = not sense.heads or all(h.pos == "INFN" for h in sense.heads)
        if bare and sense.mood is Mood.ASSERTED and header.mood is not Mood.ASSERTED:
            sense.mood = header.mood
            sense.denied = sense.denied or header.denied
        if bare and header.mood is Mood.ASSERTED and header.denied and not sense.heads:
            sense.denied = True


def _clause(sense: _Sense, sentence: Sentence, number: int) -> Clause:
    written = [w for w in sense.part.words if w.kind != "mark"]
    first, last = sense.part.words[0], sense.part.words[-1]
    return Clause(
        text=_written(sense.part.words),
        words=tuple(
            Word(w.form.plain, w.lemma, w.pos or w.kind, w.start, w.end, _act(w, sense)) for w in written
        ),
        predicates=tuple(sense.predicates),
        denied=sense.denied,
        completed=sense.completed,
        mood=sense.mood,
        tense=sense.tense,
        actor=sense.actor,
        start=first.start,
        end=last.end,
        sentence=number,
        block=sentence.block,
        ongoing=sense.ongoing,
    )


def _act(word: Token, sense: _Sense) -> str:
    """Return the action a word stands for in its clause: a verbal noun that is what is done, or a verb."""
    verb = data()["nouns"].get(word.lemma) if word.pos == "NOUN" else None
    return verb if verb in sense.predicates else word.act


def _written(words: Sequence[Token]) -> str:
    text, last = "", words[0].start
    for word in words:
        text += (" " if word.start > last else "") + word.text
        last = word.end
    return text
