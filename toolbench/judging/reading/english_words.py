"""Words of an English text: tokens and what each can be, by ``lemminflect``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

import lemminflect

from toolbench.judging.reading.blocks import Sentence
from toolbench.judging.reading.lexicon import lexicon

LANG = "en"


_TOKEN = re.compile(
    # Addresses, "no one", identifiers, words, numbers, marks.
    r"https?://[^\s,;]+|[\w.+-]+@[\w-]+\.[\w.-]*\w|\b[Nn]o one\b|[^\W\d_]+-\w*\d[\w-]*"
    r"|[^\W\d_]+(?:[-'][^\W\d_]+)*|\d[\w.,:/-]*\w|\d|[^\w\s]"
)


_CLITIC = re.compile(r"^(.*?)(n't|'s|'re|'ve|'ll|'d|'m)$")


_WHOLE = {
    "won't": ("will", "n't"),
    "can't": ("can", "n't"),
    "cannot": ("can", "not"),
    "shan't": ("shall", "n't"),
    "let's": ("let", "us"),
}


CLITIC_LEMMA = {
    "n't": "not",
    "'re": "be",
    "'ve": "have",
    "'ll": "will",
    "'d": "would",
    "'m": "be",
    "'s": "be",
}


@cache
def class_of(name: str) -> frozenset[str]:
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
def _form_of(word: str) -> _Form:
    if word in CLITIC_LEMMA:
        return _Form(CLITIC_LEMMA[word])
    if len(word) > 40 or not word.isascii() or any(map(str.isdigit, word)):
        return _Form(word)
    grammar = lexicon(LANG).data["grammar"]
    stem = word.rpartition("-")[2] or word
    known = lemminflect.getAllLemmas(word) or lemminflect.getAllLemmas(stem)
    classes = ("subjects", "objects", "determiners", "prepositions", "joining")
    function = any(word in class_of(name) for name in classes)
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
    return _form_of(word.lower()).lemma


@dataclass
class Token:
    text: str
    form: _Form
    start: int
    end: int

    @property
    def mark(self) -> bool:
        return not (self.text[0].isalnum() or self.text in CLITIC_LEMMA)

    @property
    def number(self) -> bool:
        return self.text[0].isdigit()


_NUMBER = re.compile(r"\.\s?(?=#?\d|[A-Z]+-\d)")
"""What follows "no" where it stands for a number: "refund no. RFD-7001"."""


def tokenize(sentence: Sentence) -> list[Token]:
    found = []
    for match in _TOKEN.finditer(sentence.text):
        start = sentence.start + match.start()
        text = match[0].lower()
        if text == "no" and match.start() and _NUMBER.match(sentence.text, match.end()):
            found.append(Token("number", _form_of("number"), start, start + 2))
            continue
        for part in _parts(text):
            found.append(Token(part, _form_of(part), start, start + len(part)))
            start += len(part)
    return found


def _parts(text: str) -> tuple[str, ...]:
    if text in _WHOLE:
        return _WHOLE[text]
    clitic = _CLITIC.match(text)
    if clitic and clitic[1]:
        return (*_parts(clitic[1]), clitic[2])
    return (text,)


def is_adverb(token: Token) -> bool:
    return token.text in class_of("adverbs") or (token.text.endswith("ly") and not token.form.tags)


def skips(token: Token) -> bool:
    return is_adverb(token) or token.form.lemma == "not" or token.text in ("never", "no", "longer", "yet")
