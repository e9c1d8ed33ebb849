"""What a reader makes of a text: sentences, clauses, and the values stated in them.

Checks see only these types; what is particular to a language stays in its reader. A language is a module
with the functions of :class:`Reader` and a data file ``<lang>.json`` (see :mod:`.lexicon`). The module finds
clauses; :func:`.reader.read` adds the values and concepts that it finds by the data file, and owners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class Mood(StrEnum):
    """What a clause does with its content.

    ``ASSERTED`` says that it is so; ``ABLE`` that it can be; ``OFFERED`` proposes to do it ("shall I …?",
    "I can … if you like"); ``CONDITIONAL`` depends on an "if"; ``ASKED`` is a question; ``REQUESTED`` tells
    the user to do or give something ("send me the number"); ``QUOTED`` repeats what the user or a rule
    says.
    """

    ASSERTED = "asserted"
    ABLE = "able"
    OFFERED = "offered"
    CONDITIONAL = "conditional"
    ASKED = "asked"
    REQUESTED = "requested"
    QUOTED = "quoted"


class Tense(StrEnum):
    """When: before now, now, after now, or not said (a noun, a participle alone)."""

    PAST = "past"
    PRESENT = "present"
    FUTURE = "future"
    NONE = "none"


class Actor(StrEnum):
    """Who does it: the one who speaks (or the service it speaks for), the user, somebody else, or unsaid."""

    ASSISTANT = "assistant"
    USER = "user"
    OTHER = "other"
    UNSAID = "unsaid"


@dataclass(frozen=True)
class Word:
    """One word.

    As written (normalised), its dictionary form, its part of speech, and its place in the text. ``act`` is
    what it is compared by when actions are looked for, where that is another: the perfective of a verb, the
    verb of a noun («отмена»).
    """

    text: str
    lemma: str
    pos: str
    start: int
    end: int
    act: str = ""


@dataclass(frozen=True)
class Value:
    """One value stated in a text.

    Attributes
    ----------
    kind
        ``number``, ``money``, ``quantity`` (a number with a unit), ``date``, ``weekday``, ``time``,
        ``identifier``, ``contact`` (link, mail address, telephone number), ``name`` (a place or another
        proper name).
    spelled
        As written, normalised.
    low, high
        Number, or minutes since midnight for a time; ``low == high`` unless a range was written.
        ``None`` for kinds that are no number.
    text
        Canonical text of a date (ISO, or ``--MM-DD`` without a year), weekday (``1`` Monday … ``7``
        Sunday), identifier (upper case, plain hyphens), contact or name (lemma).
    unit
        Canonical unit (``kg``, ``g``, ``day``, ``hour``, ``minute``, ``RUB``, ``USD``, ``percent`` …) or
        ``None``.
    decimals
        Decimals it was written with: how far it may be rounded from.
    owner
        The identifier or name (canonical) of the same clause, list item or row that the value belongs to,
        where one is given.
    start, end
        Place in the text.
    """

    kind: str
    spelled: str
    low: float | None = None
    high: float | None = None
    text: str = ""
    unit: str | None = None
    decimals: int = 0
    owner: str | None = None
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Clause:
    """One predicate with what belongs to it.

    Attributes
    ----------
    text
        As written, normalised blanks.
    words
        Words in order.
    predicates
        Lemmas of the verbs, participles and verbal nouns that may carry the action ("cancel", "отменить",
        "отмена"), auxiliaries left out, aspect pairs folded to the perfective.
    denied
        Whether the predicate is negated, its own negation and that of a governing verb taken together.
    completed
        Whether it says that the action was carried out: perfective past, resultative participle, "has been
        …", "готово".
    ongoing
        Whether it says that the action is being carried out just now ("I am checking", «проверяю»).
    mood, tense, actor
        See the enumerations.
    start, end
        Place in the text: every value that begins in between is the clause's.
    sentence
        Index of the sentence.
    block
        Index of the line, list item or table row.
    values
        Values stated in it; added by ``read``.
    concepts
        Names of the lexicon's concepts that it expresses, polarity taken into account: "has not been
        found" expresses ``not_found``, "is not delivered" does not express ``delivered``; added by ``read``.
    """

    text: str
    words: Sequence[Word]
    predicates: Sequence[str]
    denied: bool
    completed: bool
    mood: Mood
    tense: Tense
    actor: Actor
    start: int = 0
    end: int = 0
    sentence: int = 0
    block: int = 0
    ongoing: bool = False
    values: Sequence[Value] = ()
    concepts: frozenset[str] = frozenset()

    @property
    def values_but_names(self) -> tuple[Value, ...]:
        """Values that are no names of places or people."""
        return tuple(value for value in self.values if value.kind != "name")

    @property
    def lemmas(self) -> frozenset[str]:
        """Dictionary forms of all words."""
        return frozenset(word.lemma for word in self.words)


@dataclass(frozen=True)
class Reading:
    """A whole text, read once.

    Attributes
    ----------
    text
        Without markup.
    clauses
        In order.
    asks
        Clauses that ask or request something of the user.
    language
        Language the text is written in: ``en``, ``ru``, … or ``""`` when it cannot be told (too short,
        numbers only).
    markup
        What is no prose: names of the kinds of markup found (``tool_call``, ``tool_result``, ``json``,
        ``tag`` …).
    cut
        Whether the text was longer than the reader's bound and only its beginning was read.
    """

    text: str
    clauses: Sequence[Clause]
    language: str
    markup: Sequence[str] = field(default=())
    cut: bool = False

    @property
    def asks(self) -> tuple[Clause, ...]:
        """Clauses that ask or request something of the user."""
        return tuple(c for c in self.clauses if c.mood in (Mood.ASKED, Mood.REQUESTED))

    @property
    def values(self) -> tuple[Value, ...]:
        """All values stated."""
        return tuple(value for clause in self.clauses for value in clause.values)


class Reader(Protocol):
    """One language: a module with these functions, and ``<lang>.json`` beside it."""

    def clauses(self, text: str) -> Sequence[Clause]:
        """Read prose (markup taken out) of bounded length.

        Values, concepts and owners are left empty. Every character of a word lies in a clause.
        """
        ...

    def lemma(self, word: str) -> str:
        """Return the dictionary form that :class:`Word` and data files are compared by; lower case."""
        ...

    def moments(self, text: str) -> Sequence[Value]:
        """Return times and other values that are told in a way only this language has.

        "half past nine", «с девяти до половины десятого», «полторы тысячи». Everything else (digits, dates,
        number words one by one, units, currencies) is found by the data file. Found here wins.
        """
        ...
