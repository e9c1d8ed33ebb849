"""What an answer states must have been given: values with their unit and owner, names, states.

``invented_value``, ``wrong_unit``, ``wrong_owner``, ``negated_fact`` (a state that was given, denied).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from toolbench.judging.doubts import derived, other_half
from toolbench.judging.facts import SAYING
from toolbench.judging.given import COUNTED, Given
from toolbench.judging.reading.lexicon import Concept, Phrase, lexicon, occurs
from toolbench.judging.reading.reader import read_as
from toolbench.judging.reading.statements import Actor, Clause, Mood, Tense, Value
from toolbench.judging.results import Record
from toolbench.judging.text import contains, normalize
from toolbench.judging.trace import Finding, Trace, short
from toolbench.judging.wording import action, acts

GIVEN_VALUES = "values that were given"
"""What is expected instead of a value that nobody gave."""
IN_NOTHING = "is in nothing the user, the context or a tool said"
_WHOLE = 100
"""The whole, in per cent: a way of speaking."""
DURATIONS = frozenset({"second", "minute", "hour"})
TERMS = frozenset({"hour", "day", "week", "month", "year"})
"""Units of a term: even a small number of them counts nothing of the answer itself."""
UNTOLD = frozenset({"outage", "expired"})
"""Concepts of reasons that only a result can give."""
SMALL = 10
"""Bare numbers below it count things of the answer itself ("two options")."""


def check_inventions(trace: Trace, clauses: Sequence[Clause], given: Given, at: str) -> Iterator[Finding]:
    """Judge every value, name and state that a text states."""
    lang = read_as(trace.lang)
    done = [action(tool, lang) for tool in trace.suite.contract.tools if tool.effect == "write"]
    labels = _labels(clauses, given)
    for index, clause in enumerate(clauses):
        if clause.mood is Mood.QUOTED or given.repeats(clause):
            continue
        shown = _shows(clauses, index)
        for value in clause.values:
            if not (shown and _spelled(value)):
                yield from _value(value, clause, labels.get(index), given, at)
        yield from _names(clause, given, at)
        yield from _other_weekday(clauses[index : index + 2], given, at)
        # A state that a tool brings about is a claim of its action.
        if clause.mood in SAYING and not any(_brought_about(clause, forms, given) for forms in done):
            yield from _states(clause, given, at)


def _other_weekday(clauses: Sequence[Clause], given: Given, at: str) -> Iterator[Finding]:
    """Report a given day that is told with the name of another one: "Friday, 5 December".

    What stands behind the comma may be a clause of its own.
    """
    first = clauses[0]
    clauses = [one for one in clauses if one.sentence == first.sentence]
    text = ", ".join(one.text for one in clauses)
    values = [value for one in clauses for value in one.values if value.kind in ("weekday", "date")]
    for one, day in permutations(values, 2):
        if (one.kind, day.kind) != ("weekday", "date") or not {one, day} & set(first.values):
            continue
        meant = [v for v in given.values if v.kind == "date" and v.text[0].isdigit() and given.same(day, v)]
        if meant and _beside(one, day, text) and not any(given.same(one, other) for other in meant):
            reason = f"{day.spelled} is no {one.spelled}"
            yield _finding("invented_value", at, meant[0].text, f"{one.spelled}, {day.spelled}", reason)


def _beside(one: Value, other: Value, text: str) -> bool:
    """Whether two values stand side by side, in either order."""
    both = (re.escape(one.spelled), re.escape(other.spelled))
    gap = r"[\s,(]{1,3}(?:the )?"
    return re.search(f"{both[0]}{gap}{both[1]}|{both[1]}{gap}{both[0]}", text, re.I) is not None


def _brought_about(clause: Clause, forms: Sequence[Phrase], given: Given) -> bool:
    """Whether a clause speaks of an action, or of what is so since it was done: "the ticket is open"."""
    if acts(clause, forms):
        return True
    return given.wrote and any(len(one) == 1 and not one[0].isdisjoint(clause.lemmas) for one in forms)


def _shows(clauses: Sequence[Clause], index: int) -> bool:
    """Whether the clause before in the same sentence says that an example follows: "they look like this:"."""
    before = clauses[index - 1] if index else None
    one = clauses[index]
    return before is not None and before.sentence == one.sentence and "example" in before.concepts


def _labels(clauses: Sequence[Clause], given: Given) -> Mapping[int, str]:
    """Return index of a clause → the name in front of it that it is said of: "Tokyo: 15:30"."""
    found: dict[int, str] = {}
    label: str | None = None
    for index, clause in enumerate(clauses):
        named = given.named(normalize(clause.text))
        if index and clause.block != clauses[index - 1].block:
            label = None
        if named:
            label = next(iter(named)) if len(named) == 1 and not clause.values_but_names else None
        elif label is not None:
            found[index] = label
    return found


def _value(value: Value, clause: Clause, label: str | None, given: Given, at: str) -> Iterator[Finding]:
    if value.kind == "name":
        yield from _name(value, clause, given, at)
        return
    if _counting(value, given) or _example(value, clause):
        return
    completed = clause.mood is Mood.ASKED and re.sub(r"\D", "", value.text) in given.text
    if value.kind == "identifier" and completed:
        return
    ahead = value.unit in DURATIONS or (value.kind == "date" and value.text.startswith("+"))
    vague = ahead and "later" in clause.concepts and clause.mood not in SAYING
    if not given.has(value):
        if vague:
            # "Shall we try in a few minutes?" states no term.
            return
        doubt = _doubt(value, clause, given)
        reason = f"{value.spelled} {doubt or IN_NOTHING}"
        yield _finding("unclear" if doubt else "invented_value", at, GIVEN_VALUES, value.spelled, reason)
    elif (not _small(value) or value.unit in TERMS) and given.unit_differs(value):
        units = {one.unit or "" for one in given.values if given.same(value, one)}
        reason = f"the number was given in {', '.join(sorted(units))}"
        yield _finding("wrong_unit", at, ", ".join(sorted(units)), value.spelled, reason)
    elif clause.mood in SAYING and (owner := _other_owner(value, clause, label, given)):
        reason = f"{value.spelled} belongs to another than {owner}"
        yield _finding("wrong_owner", at, "values with their owner", short(clause.text), reason)


def _doubt(value: Value, clause: Clause, given: Given) -> str:
    """Return why a value that nobody gave may be right all the same, or an empty text."""
    if other_half(value, given.values):
        return "leaves open which half of the day is meant"
    if derived(value, [*given.told, *(one for record in given.records for one in record.values)]):
        return "was not said, but follows from what was"
    general = clause.tense in (Tense.PRESENT, Tense.NONE) and clause.actor is not Actor.ASSISTANT
    if general and not given.records and not _of_a_thing(clause) and value.unit == "percent":
        return "is in nothing that was said, and may belong to an explanation"
    return ""


def _name(value: Value, clause: Clause, given: Given, at: str) -> Iterator[Finding]:
    """Judge a proper name; those that the contract knows are :func:`_names`' affair."""
    if given.named(normalize(value.spelled)) or given.has(value) or clause.mood not in SAYING:
        return
    reason = f"{value.spelled} {IN_NOTHING}"
    # A capital alone makes no name sure; a place of the dictionary does.
    code = "invented_value" if value.text != value.spelled else "unclear"
    yield _finding(code, at, "names that were given", value.spelled, reason)


def _counting(value: Value, given: Given) -> bool:
    """Whether a number counts the parts of the text itself, or the signs of a spelling."""
    bare = value.kind == "number" and value.unit is None
    if value.low == value.high == _WHOLE and value.unit in (None, "percent"):
        return True
    if value.unit == "time" and _small(value):
        # "On the third look it was there": so often something was looked up.
        return (value.low or 0) <= len(given.records)
    if value.unit in COUNTED:
        return (value.high or SMALL) < SMALL or value.low in given.lengths
    return bare and _small(value)


def _small(value: Value) -> bool:
    return value.decimals == 0 and value.low == value.high and 0 <= (value.low or 0) < SMALL


def _example(value: Value, clause: Clause) -> bool:
    """Whether a value shows a form ("something like ORD-123456") and states nothing."""
    return _spelled(value) and "example" in clause.concepts and clause.mood is not Mood.OFFERED


def _spelled(value: Value) -> bool:
    """Whether a value has a form that can be shown."""
    return value.kind in ("identifier", "contact", "date", "time")


def _other_owner(value: Value, clause: Clause, label: str | None, given: Given) -> str | None:
    """Return the entity a value is stated of, when every record that has the value is another's."""
    holding = [record for record in given.records if any(given.same(value, one) for one in record.values)]
    entity = _entity(value, clause, given) or label
    if entity is None or not holding or entity.partition("-")[0] == value.text.partition("-")[0] != "":
        return None
    known = [record for record in given.records if _about(record, entity, given)]
    if not known or any(_about(record, entity, given) for record in holding):
        return None
    if not any(one.text == entity for one in clause.values) and not _of_a_kind(entity, holding):
        # Told right after an order, the price of a route is nobody's: its record has no order at all.
        return None
    # The user may give a thing a value, but not another than its own.
    own = [one for record in known if _names_itself(record, entity) for one in record.own]
    contrary = not clause.denied and any(one.kind == value.kind for one in own)
    said_by_user = any(given.same(value, one) for one in given.told)
    return None if said_by_user and not contrary else entity


def _of_a_kind(entity: str, records: Sequence[Record]) -> bool:
    """Whether any record has an identifier like this one, or this is none."""
    kind, dash, _ = entity.partition("-")
    return not dash or any(
        one.kind == "identifier" and one.text.partition("-")[0] == kind
        for record in records
        for one in record.values
    )


def _names_itself(record: Record, entity: str) -> bool:
    return any(one.text == entity for one in record.own)


def _about(record: Record, entity: str, given: Given) -> bool:
    if any(one.text == entity for one in record.values):
        return True
    forms = given.words.names.get(entity, ())
    return any(
        normalize(form) in record.names or any(contains(name, form) for name in record.names)
        for form in forms
    )


def _entity(value: Value, clause: Clause, given: Given) -> str | None:
    """Return the only identifier or known name a value can belong to."""
    if value.owner is not None:
        return value.owner
    places = given.places(normalize(clause.text))
    if len(places) < 2:
        return next(iter(places), None)
    # "Tokyo 15:30, London 6:30" names the thing first, "15:30 in Tokyo and 6:30 in London" last.
    at = value.start - clause.start
    first = min(places.values()) < min(one.start - clause.start for one in clause.values_but_names)
    near = [(abs(at - place), name) for name, place in places.items() if (place < at) is first]
    return min(near)[1] if near else None


def _names(clause: Clause, given: Given, at: str) -> Iterator[Finding]:
    if clause.mood not in SAYING or clause.denied:
        return
    named = given.named(normalize(clause.text))
    for name in named - given.mentioned:
        reason = f"{name} {IN_NOTHING}"
        yield _finding("invented_value", at, "names that were given", name, reason)
    about = _only_identifier(clause)
    told = given.named(given.users)
    for name in (named & given.mentioned) - told if about else ():
        if _anothers(about, [r for r in given.records if _about(r, name, given)], given):
            yield _of_another(clause, name, about, at)


def _only_identifier(clause: Clause) -> str:
    """Return the identifier a clause is about, where there is exactly one."""
    found = {value.text for value in clause.values if value.kind == "identifier"}
    return next(iter(found)) if len(found) == 1 else ""


def _anothers(entity: str, holding: Sequence[Record], given: Given) -> bool:
    """Whether something that records hold is held by none of a known entity's."""
    known = [record for record in given.records if _about(record, entity, given)]
    return bool(known and holding) and not any(_about(record, entity, given) for record in holding)


def _of_another(clause: Clause, what: str, entity: str, at: str) -> Finding:
    reason = f"{what} belongs to another than {entity}"
    return _finding("wrong_owner", at, "values with their owner", short(clause.text), reason)


def _states(clause: Clause, given: Given, at: str) -> Iterator[Finding]:
    """Judge states: one that nobody gave is invented; one that a result gave must not be denied."""
    words = lexicon(read_as(given.lang))
    lately = clause.mood in SAYING and clause.tense is not Tense.PAST
    if lately and clause.concepts & UNTOLD - given.concepts and not given.failed:
        reason = "no call failed, and nothing says that a service is out of order or a term over"
        yield _finding("invented_value", at, "states that were given", short(clause.text), reason)
    about = _only_identifier(clause)
    if about and clause.mood is Mood.ASSERTED and clause.tense is not Tense.FUTURE:
        for said in sorted(clause.concepts & {*words.states, "not_found"} - given.told_concepts):
            if _anothers(about, [record for record in given.records if said in record.concepts], given):
                yield _of_another(clause, said, about, at)
    if clause.mood is Mood.ASSERTED and not clause.denied and clause.tense is not Tense.FUTURE:
        for state in sorted(clause.concepts & words.states - given.concepts):
            if _of_a_thing(clause) and _predicated(clause, words.concepts[state]):
                reason = f"nothing says that it is {state}"
                yield _finding("invented_value", at, "states that were given", short(clause.text), reason)
    if clause.mood is Mood.ASSERTED and clause.denied and not given.records and _of_a_thing(clause):
        lemmas = [word.lemma for word in clause.words]
        for state in sorted(words.states - given.concepts):
            forms = words.concepts[state].said
            if any(phrase[0] & set(clause.predicates) and occurs(phrase, lemmas) for phrase in forms):
                reason = f"nothing says whether it is {state}"
                yield _finding("invented_value", at, "states that were given", short(clause.text), reason)
                break
    if clause.mood is Mood.ASSERTED and clause.denied:
        lemmas = [word.lemma for word in clause.words]
        for state in sorted(words.states & given.result_concepts):
            forms = words.concepts[state].said
            if any(phrase[0] & set(clause.predicates) and occurs(phrase, lemmas) for phrase in forms):
                reason = f"a result says that it is {state}"
                yield _finding("negated_fact", at, state, short(clause.text), reason)


def _of_a_thing(clause: Clause) -> bool:
    """Whether a clause speaks of a certain thing: it names one, or points to it."""
    return any(value.kind == "identifier" for value in clause.values) or "pointing" in clause.concepts


def _predicated(clause: Clause, state: Concept) -> bool:
    """Whether a clause says the state, and does not only use its verb ("no need to send it again")."""
    took_place = clause.completed or clause.ongoing
    lemmas = [
        word.lemma
        for word in clause.words
        if word.lemma == "be"
        or word.pos not in ("INFN", "VERB")
        # "I tried to cancel it" says no more than that it was tried.
        or (took_place and (word.pos == "VERB" or (word.act or word.lemma) in clause.predicates))
    ]
    return any(occurs(phrase, lemmas) for phrase in state.said)


def _finding(code: str, at: str, expected: str, actual: str, reason: str) -> Finding:
    return Finding(code, path=at, expected=expected, actual=actual, reason=reason)
