"""Words of a Russian text: tokens, dictionary forms, aspect pairs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from toolbench.domain.canonical import loads_strict

CACHED = 20_000
"""Word forms kept: an analysis costs some 30 microseconds, a look-up less than one."""
LONGEST = 40
"""Letters of the longest word looked up: no dictionary has longer ones, and endings are guessed by length."""

_LETTER = r"(?:[^\W\d_][\u0300-\u036f]*)"
_DASH = "[-\u2010-\u2015\u2212]"
_TOKEN = re.compile(
    rf"""
    (?P<contact>(?:https?://|www\.)[^\s<>«»"]+ | (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+
        | (?<!\w)(?:\+7|8)[ -]?\(?\d{{3}}\)?[ -]?\d{{3}}[ -]?\d\d[ -]?\d\d(?!\d)
        | (?<!\w)9\d\d[ -]\d{{3}}[ -]\d\d[ -]\d\d(?!\d))
    | (?P<identifier>(?<!\w)[^\W\d_]{{2,8}}{_DASH}\d\w*(?:{_DASH}\w+)* | (?<!\w)[A-Z]{{1,8}}\d{{2,}}\w*)
    | (?P<date>(?<!\d)\d{{4}}-\d\d-\d\d(?!\d)
        | (?<!\d)\d{{1,2}}(?P<sep>[./])\d{{1,2}}(?P=sep)(?:\d{{4}}|\d\d)(?!\d))
    | (?P<time>(?<!\d)(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?!\d))
    | (?P<number>\d{{1,3}}(?:[ \u00a0\u202f\u2009]\d{{3}})+(?!\d)(?:[.,]\d+)? | \d+(?:[.,]\d+)?)
        (?P<ending>{_DASH}(?:[ыиоа]?го|[ыои]?му|[ыиоа]?[йея]|ти|ю)(?!\w))?
    | (?P<word>{_LETTER}+(?:[-\u2010\u2011]{_LETTER}+)*)
    | (?P<mark>[^\s\w])
    """,
    re.VERBOSE,
)
_KINDS = ("word", "mark", "number", "identifier", "time", "date", "contact")
_LOOKALIKE = str.maketrans("aceopxykmtbh", "асеорхукмтвн")
_CYRILLIC = re.compile("[а-яё]")


@dataclass(frozen=True, slots=True)
class Form:
    """What the dictionary says about a word form, the most probable reading.

    ``plain`` is the form in lower case, ``act`` the lemma as actions are compared (:func:`perfective`),
    ``tags`` are OpenCorpora grammemes; ``may`` those of every reading, for what is ambiguous out of context;
    ``place`` is the lemma as the name of a place.
    """

    plain: str
    lemma: str
    act: str
    pos: str
    tags: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number, sign or identifier with its place in the text."""

    text: str
    kind: str
    form: Form
    start: int
    end: int
    ending: str = ""

    @property
    def lemma(self) -> str:
        """Dictionary form."""
        return self.form.lemma

    @property
    def act(self) -> str:
        """Dictionary form as actions are compared."""
        return self.form.act

    @property
    def pos(self) -> str:
        """Part of speech of OpenCorpora, ``""`` for what is no word."""
        return self.form.pos

    def has(self, *tags: str) -> bool:
        """Whether the word form has all these grammemes."""
        return self.form.tags.issuperset(tags)


@cache
def data() -> Mapping[str, Any]:
    """Return the words of ``ru.json`` that only the Russian reader uses."""
    found: Mapping[str, Any] = loads_strict(
        resources.files(__package__).joinpath("ru.json").read_text("utf-8")
    )
    return found


@cache
def grammar(name: str) -> frozenset[str]:
    """Return a class of words of the grammar."""
    return frozenset(data()["grammar"][name])


@cache
def _analyzer() -> Any:
    # Imported late: the dictionaries take a tenth of a second, and only Russian needs them.
    from pymorphy3 import MorphAnalyzer

    return MorphAnalyzer(lang="ru")


def tokens(text: str, offset: int = 0) -> Iterator[Token]:
    """Yield the tokens of a text; blanks and what is neither letter, digit nor sign are left out."""
    for match in _TOKEN.finditer(text):
        kind = next(name for name in _KINDS if match[name] is not None)
        ending = match["ending"] or ""
        spelled = match[0]
        form = analyse(spelled) if kind == "word" else _sign(spelled.lower())
        yield Token(spelled, kind, form, offset + match.start(), offset + match.end(), ending.lstrip("-"))


@lru_cache(maxsize=CACHED)
def _sign(spelled: str) -> Form:
    return Form(spelled, spelled, spelled, "")


@lru_cache(maxsize=CACHED)
def analyse(word: str) -> Form:
    """Return the most probable reading of a word form, as written (a capital makes a place likelier)."""
    lower = plain(word)
    if lower in data()["codes"]:
        # Results tell states in English: «Статус: delivered» says «доставлен».
        return analyse(data()["codes"][lower])
    if not _CYRILLIC.search(lower) or len(lower) > LONGEST:
        return Form(lower, lower, lower, "LATN")
    parses = _analyzer().parse(lower)
    wanted = data()["readings"].get(_e(lower))
    best = next((p for p in parses if _e(p.normal_form) == wanted), parses[0])
    if best.tag.POS == "ADJS":
        # «отменен» without its two dots is first read as a form of «отменный».
        best = next((p for p in parses if p.tag.POS == "PRTS"), best)
    if "perf" in best.tag.grammemes and _e(best.normal_form) in data()["aspect"]:
        # «переношу» is a rare perfective too; the verb that has one of its own is meant as imperfective.
        best = next((p for p in parses if p.normal_form == best.normal_form and "impf" in p.tag), best)
    can_name = word[:1].isupper() and best.tag.POS in ("NOUN", "ADJF", None)
    names = [p for p in parses if can_name and _NAMES & p.tag.grammemes]
    name = next((p for p in names if _e(p.normal_form) in data()["places"]), names[0] if names else None)
    if name and "Geox" in best.tag.grammemes:
        best = name
    tags = frozenset(best.tag.grammemes)
    lemma = wanted if wanted is not None else _e(best.normal_form)
    if best.tag.POS == "PRTF":
        # «по доставленным заказам» says of none that it was delivered: an attribute is its own word.
        lemma = _e(next((one.word for one in best.lexeme if _MASCULINE in one.tag), lemma))
    may = frozenset(g for p in parses if p.score > 0.01 or p is best for g in p.tag.grammemes)
    pos = str(best.tag.POS or "UNKN")
    place = _e(name.normal_form) if name else ""
    return Form(lower, lemma, perfective(lemma), pos, tags, may, place)


_MASCULINE = frozenset({"PRTF", "masc", "sing", "nomn"})
_NAMES = frozenset({"Geox"})


def plain(word: str) -> str:
    """Return a word in lower case, stress marks and Latin look-alikes inside Cyrillic words taken out."""
    lower = unicodedata.normalize("NFC", word).lower().replace("\u0301", "")
    lower = re.sub(f"{_DASH}", "-", lower)
    if _CYRILLIC.search(lower) and not lower.isascii() and re.search("[a-z]", lower):
        lower = lower.translate(_LOOKALIKE)
    return lower


def _e(word: str) -> str:
    return word.replace("ё", "е")


def lemma(word: str) -> str:
    """Return the dictionary form that words and data are compared by: lower case, е for ё."""
    return analyse(word).lemma


@lru_cache(maxsize=CACHED)
def perfective(verb: str) -> str:
    """Return the verb that an action is compared by: perfective, without a passive «-ся».

    Pairs come from the data and from the regular suffixes, the latter only when the dictionary has the
    perfective.
    """
    pairs: Mapping[str, str] = data()["aspect"]
    if verb in pairs:
        return pairs[verb]
    if verb in data()["reflexive"]:
        return verb
    if verb.endswith(("ся", "сь")):
        active = perfective(verb[:-2])
        return active if active != verb[:-2] or _is_perfective(active) else verb
    if _is_perfective(verb):
        return verb
    return next((found for found in _candidates(verb) if _is_perfective(found)), verb)


_SUFFIXES = (
    ("влять", "вить"), ("плять", "пить"), ("блять", "бить"), ("млять", "мить"), ("лять", "лить"),
    ("ять", "ить"), ("щать", "тить"), ("щать", "стить"), ("щать", "щить"), ("ждать", "дить"),
    ("жать", "зить"), ("жать", "жить"), ("шать", "сить"), ("шать", "шить"), ("чать", "тить"),
    ("чать", "чить"), ("имать", "ять"), ("давать", "дать"), ("ставать", "стать"), ("ывать", "ать"),
    ("ивать", "ить"), ("ивать", "ать"), ("ывать", "ыть"), ("вать", "ть"), ("пать", "пить"),
    ("кать", "кнуть"), ("скать", "стить"), ("пускать", "пустить"),
)  # fmt: skip


def _candidates(verb: str) -> Iterator[str]:
    for imperfective, perfective_ in _SUFFIXES:
        if verb.endswith(imperfective):
            yield verb.removesuffix(imperfective) + perfective_
    # регистрировать → зарегистрировать and the like stand in the data: their prefixes are not regular.


@lru_cache(maxsize=CACHED)
def _is_perfective(verb: str) -> bool:
    if len(verb) > LONGEST or not verb.endswith(("ть", "ти", "чь")):
        return False
    if verb in grammar("both_aspects"):
        return True
    return any(
        p.is_known and p.tag.POS == "INFN" and "perf" in p.tag.grammemes and _e(p.normal_form) == verb
        for p in _analyzer().parse(verb)
    )
