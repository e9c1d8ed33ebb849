"""English clauses: polarity, mood, tense and actor; values told in words."""

from __future__ import annotations

import pytest

from toolbench.judging.reading.reader import read
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
