"""English clauses: polarity, mood, tense and actor; values told in words."""

from __future__ import annotations

import pytest

from toolbench.judging.reading.lexicon import lexicon
from toolbench.judging.reading.reader import read, reader
from toolbench.judging.reading.statements import Actor, Clause, Mood, Tense


def clause(text: str, predicate: str) -> Clause:
    """Return the clause of a text with a predicate."""
    found = [c for c in read(text, "en").clauses if predicate in c.predicates]
    assert found, f"no clause says {predicate}: {[c.predicates for c in read(text, 'en').clauses]}"
    return found[0]


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("The delivery has not been moved.", "move"),
        ("No parcel was collected.", "collect"),
        ("It can't be opened any more.", "open"),
        ("We were unable to reach the depot.", "reach"),
        ("It hasn't been repaired or painted.", "paint"),
        ("Not accepted.", "accept"),
        ("No one is registered with nobody@example.com.", "register"),
        ("I have no way to open the gate.", "open"),
    ],
)
def test_a_negation_reaches_its_predicate(text: str, predicate: str) -> None:
    assert clause(text, predicate).denied


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("No problem, the gate is opened.", "open"),
        ("I can't open the gate, but I have painted it.", "paint"),
        ("It was painted, not varnished.", "paint"),
        ("Not for this gate (and not for that one): it is painted.", "paint"),
        ("It isn't mine - is it painted?", "paint"),
        ("Gate no. GT-7 is painted.", "paint"),
        ("Gate No. 5 is painted.", "paint"),
    ],
)
def test_a_negation_stops_at_its_clause(text: str, predicate: str) -> None:
    assert not clause(text, predicate).denied


@pytest.mark.parametrize(
    ("text", "predicate", "mood"),
    [
        ("If you call us, we paint it.", "call", Mood.CONDITIONAL),
        ("Should you need it, just shout.", "need", Mood.CONDITIONAL),
        ("Send me the key.", "send", Mood.REQUESTED),
        ("Could you send the key and paint the gate?", "paint", Mood.REQUESTED),
        ("I'd need the key first.", "need", Mood.REQUESTED),
        ("Shall I paint it?", "paint", Mood.OFFERED),
        ("Want me to paint it?", "paint", Mood.OFFERED),
        ("Send the key and I'll paint it.", "paint", Mood.OFFERED),
        ("I can paint it if you like.", "paint", Mood.OFFERED),
        ("The gate can be painted.", "paint", Mood.ABLE),
        ("What colour do you want?", "want", Mood.ASKED),
        ("When would it suit you?", "suit", Mood.ASKED),
        ("The key, doesn't belong here - mind looking?", "belong", Mood.ASSERTED),
        ("If you tell me where it is located, we paint it.", "locate", Mood.CONDITIONAL),
        ("It would be white, painted within two days.", "paint", Mood.ABLE),
        ("I've painted it.", "paint", Mood.ASSERTED),
        ('You wrote: "I painted the gate".', "paint", Mood.QUOTED),
    ],
)
def test_mood(text: str, predicate: str, mood: Mood) -> None:
    assert clause(text, predicate).mood is mood


@pytest.mark.parametrize(
    ("text", "predicate", "actor"),
    [
        ("I've painted it.", "paint", Actor.ASSISTANT),
        ("You painted it.", "paint", Actor.USER),
        ("It has been painted.", "paint", Actor.UNSAID),
        ("Painted and dried.", "paint", Actor.UNSAID),
        ("My neighbour painted it.", "paint", Actor.OTHER),
    ],
)
def test_who_has_done_it(text: str, predicate: str, actor: Actor) -> None:
    found = clause(text, predicate)
    assert (found.completed, found.actor) == (True, actor)


def test_what_is_going_on_and_what_will_be_is_not_done() -> None:
    going = clause("I'm painting it now.", "paint")
    assert (going.ongoing, going.completed) == (True, False)
    promised = clause("I'll paint it tomorrow.", "paint")
    assert (promised.tense, promised.completed) == (Tense.FUTURE, False)
    assert clause("I'm going to paint it.", "paint").tense is Tense.FUTURE


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It costs twelve hundred and fifty roubles.", ("money", 1250.0, 1250.0, "", "RUB")),
        ("It costs 12,500.50 roubles.", ("money", 12500.5, 12500.5, "", "RUB")),
        ("It takes 3-5 days.", ("quantity", 3.0, 5.0, "", "day")),
        ("That's $45.", ("money", 45.0, 45.0, "", "USD")),
        ("On the seventh of December.", ("date", None, None, "--12-07", None)),
        ("On Dec 5th.", ("date", None, None, "--12-05", None)),
        ("On 2026-12-05.", ("date", None, None, "2026-12-05", None)),
        ("At half past nine.", ("time", 570.0, 570.0, "", None)),
        ("At 3:30 pm.", ("time", 930.0, 930.0, "", None)),
        ("At 3:30 in the afternoon.", ("time", 930.0, 930.0, "", None)),
        ("At half past one at night.", ("time", 90.0, 90.0, "", None)),
        ("From 10 to 12 in the morning.", ("time", 720.0, 720.0, "", None)),
        ("From noon to 2 pm.", ("time", 720.0, 720.0, "", None)),
        ("Free: December 5, 4 to 6 pm.", ("time", 960.0, 960.0, "", None)),
        ("Free: 2 Dec 10–12, 3 Dec 10–12.", ("date", None, None, "--12-03", None)),
        ("From 4 December 12:00-14:00 to 5 December.", ("date", None, None, "--12-05", None)),
        ("It is minus sixty-five.", ("number", -65.0, -65.0, "", None)),
        ("Number ORD‑123456.", ("identifier", None, None, "ORD-123456", None)),
        ("Write to me@shop.example.", ("contact", None, None, "me@shop.example", None)),
        ("On Saturday.", ("weekday", None, None, "6", None)),
    ],
)
def test_a_value_in_its_spellings(text: str, value: tuple[object, ...]) -> None:
    assert value in [(v.kind, v.low, v.high, v.text, v.unit) for v in read(text, "en").values]


def test_a_value_belongs_to_the_entity_of_its_clause() -> None:
    said = read("CUS-1024 got TCK-3042 and CUS-1042 got TCK-3024.", "en").values
    owners = {value.text: value.owner for value in said}
    assert owners["TCK-3042"] == "CUS-1024"
    assert owners["TCK-3024"] == "CUS-1042"


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("Painting the gate costs 450 roubles.", "paint"),
        ("Two gates, both called Ivan.", "call"),
        ("I'm glad about the gate that closes by itself.", "glad"),
    ],
)
def test_what_only_describes_is_neither_done_nor_going_on(text: str, predicate: str) -> None:
    assert not any((c.completed or c.ongoing) and predicate in c.predicates for c in read(text, "en").clauses)


def test_every_word_of_a_phrase_is_a_dictionary_form() -> None:
    """Another form would never be found, as "bit" was not while it was read as "bite"."""
    words = lexicon("en")
    concepts = [phrase for one in words.concepts.values() for phrase in (*one.said, *one.denied)]
    acts = [phrase for forms in words.acts.values() for phrase in forms]
    written = {word.lstrip("!") for phrase in (*concepts, *acts) for some in phrase for word in some} - {"*"}
    assert {word for word in written if reader("en").lemma(word) != word} == set()
