"""Sentences of a Russian text and the clauses in them, before their grammar is read.

A boundary (comma, dash, conjunction …) begins a clause only when there is a predicate on both of its sides;
conditions, purposes, relative clauses and quoted speech are clauses of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from toolbench.judging.reading import blocks
from toolbench.judging.reading.russian_words import Token, grammar, tokens

_ABBREVIATIONS = frozenset(
    {
        "т", "д", "п", "е", "г", "гг", "ул", "руб", "коп", "р", "тыс", "млн", "млрд", "им", "стр", "см", "др",
        "пр", "тел", "кв", "корп", "мин", "сек", "шт", "кг", "напр", "т.е", "т.д", "т.п",
    }
)  # fmt: skip
"""Words after which a dot ends no sentence."""
_BREAKS = frozenset(",;:()[]…|")
_DASHES = frozenset("-\u2012\u2013\u2014\u2015\u2212")
_QUOTES = {"«": "»", "“": "”", "„": "“", '"': '"'}
QUOTED_WORDS = 3
"""A quotation of fewer words is a status or a name, not speech."""


class Kind(StrEnum):
    """How a clause stands to the others of its sentence."""

    MAIN = "main"
    IF = "if"
    PURPOSE = "purpose"
    WHEN = "when"
    THAT = "that"
    WHICH = "which"
    WHETHER = "whether"
    QUOTE = "quote"
    INTERJECTION = "interjection"
    GERUND = "gerund"


@dataclass
class Part:
    """Tokens of one clause; ``link`` is the mark or word that joins it to what stands before.

    ``nominal`` says that it is a clause without a verb («он в пути», «номер заявки RFD-7001»).
    """

    words: list[Token] = field(default_factory=list)
    kind: Kind = Kind.MAIN
    link: str = ""
    predicative: bool = False
    nominal: bool = False

    def add(self, other: Part) -> None:
        """Take the tokens of a part that has no predicate of its own."""
        self.words += other.words
        self.predicative = self.predicative or other.predicative


@dataclass(frozen=True)
class Sentence:
    """Clauses in order; ``block`` counts lines, ``prose`` says that it is more than an item of a list."""

    parts: Sequence[Part]
    question: bool
    opens_list: bool
    prose: bool
    block: int


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text, line by line."""
    for piece in blocks.sentences(text, _ABBREVIATIONS):
        words = list(tokens(piece.text.rstrip(), piece.start))
        if any(w.kind != "mark" for w in words):
            ended = [w.text for w in words[-3:]]
            told = any(w.pos in ("VERB", "PRTS") for w in words)
            yield Sentence(parts(words), "?" in ended, ended[-1] == ":", told, piece.block)


def parts(words: Sequence[Token]) -> list[Part]:
    """Split the tokens of a sentence into clauses."""
    found: list[Part] = []
    interrupted: Part | None = None
    for part in _segments(words):
        current = found[-1] if found else None
        if interrupted and part.kind is Kind.MAIN and part.link not in ("и", "или"):
            # «Заказ, который вы назвали, отменён»: the main clause goes on.
            interrupted.add(part)
            interrupted = None
        elif current is None or _begins(part, current):
            part.nominal = bool(current) and not part.predicative and _is_nominal(part)
            if current and part.nominal and _is_labelled(_content(current)):
                current.nominal = True
            if part.kind is Kind.WHICH and current and not current.predicative and current.kind is Kind.MAIN:
                interrupted = current
            found.append(part)
        else:
            current.nominal = current.nominal or _equates(part, current)
            current.add(part)
    found = [part for part in found if any(w.kind != "mark" for w in part.words)]
    for part, following in zip(found, [*found[1:], None], strict=True):
        if part.kind is Kind.WHEN and _says_so_far(part, following):
            part.kind = Kind.MAIN
    return found


def _says_so_far(part: Part, following: Part | None) -> bool:
    """Whether «пока» means "so far" and opens no time clause: «Пока заказ не отменён: …»."""
    if part.link or "пока" not in [w.lemma for w in part.words[:2]]:
        return False
    ends = following is None or following.link != ","
    mine = any(w.has("1per") and w.has("pres") for w in part.words)
    return ends or mine


def _begins(part: Part, current: Part) -> bool:
    """Whether a segment is a clause of its own."""
    apart = (Kind.MAIN, Kind.GERUND)
    if part.kind not in apart or current.kind in (Kind.INTERJECTION, Kind.QUOTE):
        return True
    if part.link == ":" and [w.lemma for w in current.words[:2]] == [",", "чем"]:
        # «больше, чем вы просили: 4990 рублей»
        return True
    own = any(w.kind == "identifier" for w in current.words)
    subjects = [w for w in part.words if w.kind == "identifier"]
    if part.predicative and part.link == "и" and part.words[0].text in _DASHES:
        # «Номер и причина — и сразу оформлю»
        return True
    if part.predicative:
        goes_on = current.nominal and part.link in (",", "—", "–", "-") and not _has_subject(part)
        concludes = part.link in _CONCLUDING and current.kind is Kind.MAIN and _is_sentence(current)
        told = current.predicative or concludes or (current.nominal and not goes_on)
        return told or bool(own and subjects)
    if part.link == "а" and any(w.lemma == "не" for w in current.words):
        return True
    content = _content(part)
    if part.link == "а" and len(content) > 1 and any(_is_value(w) for w in content):
        # «В Москве 9:30, а 35 % от 240 — это 84»
        return any(_is_value(w) for w in current.words)
    if part.link in ("а", "но", "поэтому", ";"):
        return len(content) > 1 and current.predicative and (bool(subjects) or any(map(_is_subject, content)))
    if part.link == ":" and current.predicative and any(w.pos == "PREP" for w in content):
        # «Проверил: посылка на складе»
        return _is_subject(content[0]) or content[0].kind == "identifier"
    listed = current.predicative or current.nominal or _is_labelled(_content(current))
    if part.link in (",", ":", ";") and listed and _is_labelled(content):
        return True
    # «ORD-1 в пути, ORD-2 на складе»; «…, он в пути»
    if part.link not in (",", ":", "—", "–", "-"):
        return False
    return bool(subjects and own and len(content) > 2) or (len(content) > 1 and _is_pronoun(content[0]))


def _is_subject(word: Token) -> bool:
    return word.pos in ("NOUN", "NPRO") and word.has("nomn")


def _content(part: Part) -> list[Token]:
    return [w for w in part.words if w.kind != "mark" and w.pos != "CONJ"]


def _is_nominal(part: Part) -> bool:
    content = _content(part)
    return len(content) > 1 and (_is_pronoun(content[0]) or _is_labelled(content))


_CONCLUDING = frozenset({"поэтому", "но", "а", "однако", "зато", "значит"})
"""Conjunctions that join sentences, not words."""


def _is_sentence(part: Part) -> bool:
    """Whether words without a verb say something of something: «заказ ещё в пути»."""
    content = _content(part)
    first = [w for w in content[:2] if w.pos in ("NOUN", "NPRO", "")]
    subject = any("nomn" in w.form.may or w.kind == "identifier" for w in first)
    return subject and any(w.pos in ("PREP", "ADJF") or _is_value(w) for w in content[1:])


def _equates(part: Part, current: Part) -> bool:
    """Whether a dash says what something is or is not: «ORD-1 — не ваш заказ»."""
    content = _content(part)
    named = [w for w in _content(current) if w.pos in ("NOUN", "NPRO") or w.kind == "identifier"]
    if part.link not in _DASHES or part.predicative or current.predicative or not (content and named):
        return False
    return content[0].lemma == "не" or _is_subject(content[0])


def _is_labelled(content: Sequence[Token]) -> bool:
    """Whether a noun and the value it names stand there: «сумма 4990 рублей», «номер заявки RFD-7001»."""
    if not content or not (_is_subject(content[0]) and content[0].pos == "NOUN"):
        return False
    rest = content[1:]
    while rest and rest[0].pos in ("NOUN", "ADJF") and "gent" in rest[0].form.may:
        rest = rest[1:]
    return bool(rest) and _is_value(rest[0])


def _is_value(word: Token) -> bool:
    return word.kind in _VALUES


_VALUES = frozenset({"identifier", "number", "time", "date", "contact"})


def _has_subject(part: Part) -> bool:
    """Whether a clause names who or what it is about, or needs nobody."""
    return any(
        (w.pos in ("NOUN", "NPRO") and (w.has("nomn") or w.has("datv"))) or w.pos == "PRED" or w.has("1per")
        for w in part.words
    )


def _is_pronoun(word: Token) -> bool:
    return word.has("nomn") and (word.pos == "NPRO" or word.lemma == "это")


def _segments(words: Sequence[Token]) -> Iterator[Part]:
    current = Part()
    at = 0
    while at < len(words):
        word = words[at]
        closing = _QUOTES.get(word.text)
        end = _closed(words, at, closing) if closing else None
        if end and _is_speech(words[at + 1 : end]):
            yield from _finished(current)
            yield Part(list(words[at : end + 1]), Kind.QUOTE, "«", True)
            current, at = Part(link="»"), end + 1
            continue
        if _is_break(words, at):
            yield from _finished(current)
            current = Part([word], link=word.text)
        elif _is_joint(words, at) and not _is_particle(word, current):
            link = current.link if all(w.kind == "mark" for w in current.words) else ""
            yield from _finished(current) if not link else ()
            current = Part([*(current.words if link else ()), word], link=word.lemma)
        else:
            current.words.append(word)
        at += 1
    yield from _finished(current)


def _finished(part: Part) -> Iterator[Part]:
    if part.words:
        part.kind = _kind(part)
        said = any(is_predicate(w) for w in part.words) or any(map(_governs, part.words, part.words[1:]))
        part.predicative = part.kind not in (Kind.MAIN, Kind.INTERJECTION) or said
        yield part


def _governs(word: Token, following: Token) -> bool:
    """Whether an infinitive is the predicate: «цену не узнать», «по нему удобно уточнять»."""
    return following.pos == "INFN" and (word.lemma == "не" or word.form.plain in grammar("evaluating"))


def _closed(words: Sequence[Token], at: int, closing: str) -> int | None:
    return next((i for i in range(at + 1, min(len(words), at + 80)) if words[i].text == closing), None)


def _is_speech(words: Sequence[Token]) -> bool:
    return sum(w.kind == "word" for w in words) >= QUOTED_WORDS and any(is_predicate(w) for w in words)


def _is_break(words: Sequence[Token], at: int) -> bool:
    word = words[at]
    if word.text in _BREAKS:
        return True
    if word.text not in _DASHES:
        return False
    # A dash with blanks; one inside a range or a compound binds.
    if not 0 < at < len(words) - 1:
        return False
    before, after = words[at - 1], words[at + 1]
    apart = before.end < word.start and after.start > word.end
    return apart and not before.kind == after.kind == "number"


def _is_particle(word: Token, current: Part) -> bool:
    """Whether «и» joins words or only stresses one («как вы и просили»): no predicate stands before it."""
    before = [w for w in current.words if w.kind != "mark"]
    return word.lemma == "и" and bool(before) and not any(is_predicate(w) for w in before)


def _is_joint(words: Sequence[Token], at: int) -> bool:
    word = words[at]
    if word.kind != "word":
        return False
    if word.lemma in grammar("conditional") or word.lemma in grammar("purpose"):
        return True
    return word.lemma in grammar("joining") and word.pos in ("CONJ", "ADVB", "PRCL", "LATN")


def _kind(part: Part) -> Kind:
    lemmas = [w.lemma for w in part.words if w.kind != "mark"]
    first = lemmas[:4]
    if not lemmas:
        return Kind.MAIN
    if len(lemmas) == 1 and not part.link and lemmas[0] in grammar("interjections"):
        return Kind.INTERJECTION
    if first[0] in ("потому", "так", "поскольку"):
        return Kind.MAIN
    after_comma = part.link in (",", ";", "(") or part.link in grammar("joining")
    lead = first[1:] if first[0] in grammar("joining") and len(first) > 1 else first
    if any(w in grammar("conditional") for w in first[:3]):
        return Kind.IF
    if any(w in grammar("purpose") for w in first[:3]):
        return Kind.PURPOSE
    if lead[0] in ("когда", "пока") or lead[:2] == ["как", "только"] or lead[:2] == ["прежде", "чем"]:
        return Kind.WHEN if part.link == "," or _has_finite(part) else Kind.MAIN
    if after_comma and "который" in first[:3]:
        return Kind.WHICH
    if "ли" in lemmas[:6]:
        return Kind.WHETHER
    if part.link == "," and lead[0] in ("что", "как", "будто"):
        return Kind.THAT
    asked = lead[1:2] if part.words and lead[0] in _CASES else lead[:1]
    if part.link == "," and any(w in grammar("asking") for w in asked):
        return Kind.WHETHER
    if any(w.pos == "GRND" for w in part.words) and not any(is_predicate(w) for w in part.words):
        return Kind.GERUND
    return Kind.MAIN


_CASES = frozenset(("в", "на", "к", "с", "о", "об", "по", "за", "из", "от", "до", "для", "у", "кому", "при"))


def _has_finite(part: Part) -> bool:
    return any(is_predicate(w) for w in part.words)


def is_predicate(word: Token) -> bool:
    """Whether a word can be the predicate of a clause: a finite verb, a short form, «нельзя», «нужно»."""
    if word.kind != "word":
        return False
    if word.act in grammar("courtesies") or word.lemma in grammar("parenthetic"):
        return False
    if word.pos in ("VERB", "PRTS", "PRED"):
        return True
    if word.pos == "ADJS":
        return True
    return (
        word.lemma in grammar("able") or word.lemma in grammar("must") or word.form.plain in grammar("done")
    )
