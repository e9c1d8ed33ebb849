"""Russian: what each clause says, denies, asks, offers or promises, fitted into its sentence.

Words come from the OpenCorpora dictionary (:mod:`.russian_words`), clauses from :mod:`.russian_clauses`,
what one of them says by itself from :mod:`.russian_senses`, and what a dictionary does not know, such as
which verbs ask and which nouns stand for a verb, from ``ru.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from toolbench.judging.reading.russian_clauses import Kind, Sentence, sentences
from toolbench.judging.reading.russian_moods import Sense, is_imperative
from toolbench.judging.reading.russian_senses import is_completed, read_part
from toolbench.judging.reading.russian_values import find_values
from toolbench.judging.reading.russian_words import Token, data, grammar, lemma, tokens
from toolbench.judging.reading.statements import Actor, Clause, Mood, Tense, Value, Word

__all__ = ["clauses", "lemma", "moments"]


def clauses(text: str) -> Sequence[Clause]:
    """Read prose: every clause with its predicates, polarity, mood, tense and actor."""
    read = list(sentences(text))
    told: list[list[Sense]] = []
    header: Sense | None = None
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


def _sentence(sentence: Sentence, header: Sense | None) -> list[Sense]:
    senses: list[Sense] = []
    previous: Sense | None = None
    for part, following in zip(sentence.parts, [*sentence.parts[1:], None], strict=True):
        contrasted = following is not None and following.link == "а" and not following.predicative
        if contrasted and any(w.lemma == "не" for w in part.words):
            part.link = "не…а"
        sense = read_part(part)
        if previous is not None:
            _continue(sense, previous)
            _unmeet(previous, sense)
        senses.append(sense)
        previous = sense
    if sentence.question:
        _ask(senses)
    _offer(senses)
    if any(s.mood is Mood.ABLE and s.ongoing for s in senses):
        # One habit in a row makes the others habits: «Смотрю состояние заказов и оформляю возврат»,
        # «Помогаю с доставкой: узнаю статус, отменю заказ».
        for sense in senses:
            mine = sense.mood is Mood.ASSERTED and sense.actor is Actor.ASSISTANT
            if mine and (sense.ongoing or sense.tense is Tense.FUTURE):
                sense.mood = Mood.ABLE
    if header is not None:
        _list_item(senses, header)
    return senses


def _await_answers(told: Sequence[Sequence[Sense]]) -> None:
    """Turn a promise to look something up into an offer, when a sentence beside it asks for what is needed.

    «Посмотрю с радостью! Назовите номер.»
    """
    for at, senses in enumerate(told):
        beside = [s for near in (told[at - 1 : at], told[at + 1 : at + 2]) for one in near for s in one]
        asks = any(s.mood is Mood.REQUESTED and (s.is_("informing") or s.is_("needed")) for s in beside)
        consent = any(s.mood is Mood.REQUESTED and s.is_("consent") for s in beside)
        for sense in senses:
            promise = sense.mood is Mood.ASSERTED and sense.tense is Tense.FUTURE and not sense.denied
            if (
                asks
                and promise
                and sense.actor is Actor.ASSISTANT
                and set(sense.predicates) & grammar("looking")
            ):
                sense.mood = Mood.OFFERED
            elif consent and promise and sense.actor in (Actor.ASSISTANT, Actor.UNSAID):
                # «Обращение будет закрыто. Жду вашего подтверждения.»
                sense.mood = Mood.OFFERED


def _continue(sense: Sense, before: Sense) -> None:
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
        sense.completed = is_completed(before.heads, verbs, [])
    if part.kind is Kind.PURPOSE and any(h.lemma in grammar("willing") for h in before.heads):
        sense.mood, sense.completed = Mood.OFFERED, False
    elif part.kind in (Kind.THAT, Kind.PURPOSE, Kind.WHETHER, Kind.QUOTE) and before.mood is Mood.QUOTED:
        sense.mood = Mood.QUOTED
    elif part.kind in (Kind.WHETHER, Kind.THAT) and before.mood in (Mood.REQUESTED, Mood.ASKED):
        sense.mood = Mood.ASKED
    elif part.kind is Kind.THAT and before.denied and sense.mood is Mood.ASSERTED and _knows(before):
        # «не вижу, что заказ отменён»
        sense.denied = not sense.denied
    if part.link == ":" and not sense.heads and before.mood not in _TELLING:
        # «Нужны: вес в килограммах и город»
        sense.mood, sense.denied = before.mood, before.denied
    if part.link in ("и", "или", ",") and not sense.denied and part.kind is before.part.kind is Kind.IF:
        sense.mood = before.mood


_TELLING = (Mood.ASSERTED, Mood.ABLE, Mood.QUOTED)
"""Moods that what is listed behind a colon does not take over."""


def _unmeet(sense: Sense, following: Sense) -> None:
    """«Нужен курс, а сервис не отвечает» explains and asks the user for nothing."""
    lacks = sense.mood is Mood.REQUESTED and sense.is_("needed") and sense.actor is not Actor.USER
    if lacks and following.part.link in ("а", "но") and following.denied and following.mood is Mood.ASSERTED:
        sense.mood = Mood.ASSERTED


def _knows(sense: Sense) -> bool:
    """Whether what follows is what is known, seen or said; not its reason («ввиду того, что …»)."""
    pointed = sense.part.words[-1].lemma in ("то", "тот")
    return not pointed and any(h.act in grammar("knowing") for h in sense.heads)


def _ask(senses: list[Sense]) -> None:
    """Say which clauses of a sentence with a question mark are the question."""
    for sense, following in pairwise(senses):
        mine = sense.actor is Actor.ASSISTANT and sense.mood is Mood.ASSERTED and not sense.completed
        if mine and following is senses[-1] and _seeks_consent(following):
            sense.mood = Mood.OFFERED
        elif mine and sense.tense is Tense.FUTURE and sense.is_("performative"):
            # «Уточню: закрываем?» is done by asking.
            sense.tense = Tense.NONE
    for at in range(len(senses) - 1, -1, -1):
        sense = senses[at]
        last = at == len(senses) - 1
        wanted = _wh(sense)
        if not (last or wanted or _leads_on(sense, senses[at + 1])):
            return
        if sense.part.kind in (Kind.IF, Kind.PURPOSE, Kind.WHEN, Kind.QUOTE):
            continue
        bidden = any(is_imperative(h, sense) for h in sense.heads)
        if bidden or (sense.mood is Mood.OFFERED and not wanted):
            continue
        sense.mood = Mood.OFFERED if not wanted and _proposes(senses, at) else Mood.ASKED


def _seeks_consent(sense: Sense) -> bool:
    """Whether a question only asks whether one agrees: «…, подтверждаете?», «…, верно?»."""
    words = [w for w in sense.part.words if w.kind != "mark"]
    agreed = sense.is_("agreeing") or sense.is_("interjections")
    return len(words) <= AGREEING and (agreed or any(w.has("2per") for w in words))


AGREEING = 2
"""Words of a question that only asks whether one agrees."""


def _leads_on(sense: Sense, following: Sense) -> bool:
    """Whether a question goes on from a clause into the next."""
    willing = any(h.lemma in grammar("willing") and h.has("2per") for h in sense.heads)
    return willing or following.part.link == "или" or following.part.kind not in (Kind.MAIN, Kind.QUOTE)


def _wh(sense: Sense) -> bool:
    words = [w.lemma for w in sense.part.words]
    return any(w in grammar("asking") for w in words) or "или" in words


def _proposes(senses: Sequence[Sense], at: int) -> bool:
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


def _offer(senses: list[Sense]) -> None:
    """Turn promises that wait for the user's word into offers: «Назовите номер, и я проверю»."""
    waits = any(_waits(s) for s in senses)
    again = any(s.mood is Mood.REQUESTED and s.is_("retrying") for s in senses)
    for sense, following in pairwise(senses):
        listed = not sense.heads and sense.part.kind is Kind.MAIN and not sense.denied
        if listed and following.part.link == "и" and following.part.words[0].text != "и":
            # «Номер и причина — и сразу оформлю» asks for what it lists.
            sense.mood, waits = Mood.REQUESTED, True
    for sense in senses:
        # «Загляните позже, попробуем снова»
        waits = waits or (again and not grammar("attempts").isdisjoint(sense.predicates))
        may = sense.mood is Mood.ABLE and not sense.denied and sense.actor is not Actor.OTHER
        will = sense.mood is Mood.ASSERTED and sense.tense is Tense.FUTURE and sense.actor is not Actor.OTHER
        if waits and (may or will) and sense.part.kind in (Kind.MAIN, Kind.THAT) and not sense.denied:
            sense.mood = Mood.OFFERED


def _waits(sense: Sense) -> bool:
    """Whether a clause sets out what the user must say or do first."""
    if sense.mood is Mood.REQUESTED:
        return not sense.is_("retrying")
    if sense.heads and all(h.pos == "INFN" and h.act in grammar("informing") for h in sense.heads):
        # «назвать курс, и я посчитаю»
        return True
    if sense.mood is Mood.ASKED and sense.heads:
        return True
    if any(h.lemma in grammar("willing") and h.has("2per") for h in sense.heads):
        return True
    told = sense.actor is Actor.USER or sense.is_("needed") or sense.is_("must") or sense.is_("suits")
    given = sense.actor is Actor.ASSISTANT and sense.is_("receiving")
    return sense.part.kind in (Kind.IF, Kind.WHEN) and (told or given)


def _list_item(senses: list[Sense], header: Sense) -> None:
    """Give the verbless lines of a list the mood of the line above it."""
    for sense in senses:
        bare = not sense.heads or all(h.pos == "INFN" for h in sense.heads)
        if bare and sense.mood is Mood.ASSERTED and header.mood is not Mood.ASSERTED:
            sense.mood = header.mood
            sense.denied = sense.denied or header.denied
        if bare and header.mood is Mood.ASSERTED and header.denied and not sense.heads:
            sense.denied = True


def _clause(sense: Sense, sentence: Sentence, number: int) -> Clause:
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


def _act(word: Token, sense: Sense) -> str:
    """Return the action a word stands for in its clause: a verbal noun that is what is done, or a verb."""
    verb = data()["nouns"].get(word.lemma) if word.pos == "NOUN" else None
    return verb if verb in sense.predicates else word.act


def _written(words: Sequence[Token]) -> str:
    text, last = "", words[0].start
    for word in words:
        text += (" " if word.start > last else "") + word.text
        last = word.end
    return text
