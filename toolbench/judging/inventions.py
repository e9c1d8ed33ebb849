"""What an answer states must have been given: values with their unit and owner, names, states.

``invented_value``, ``wrong_unit``, ``wrong_owner``, ``negated_fact`` (a state that was given, denied).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolbench.judging.facts import SAYING
from toolbench.judging.given import COUNTED, Given, Record, same
from toolbench.judging.reading.lexicon import Concept, lexicon, occurs
from toolbench.judging.reading.reader import read_as
from toolbench.judging.reading.statements import Clause, Mood, Tense, Value
from toolbench.judging.text import contains, normalize
from toolbench.judging.trace import Finding, Trace, short
from toolbench.judging.wording import action, acts

_WHOLE = 100
"""The whole, in per cent: a way of speaking."""
SMALL = 10
"""Bare numbers below it count things of the answer itself ("two options")."""


def check_inventions(trace: Trace, clauses: Sequence[Clause], given: Given, at: str) -> Iterator[Finding]:
    """Judge every value, name and state that a text states."""
    lang = read_as(trace.lang)
    done = [action(tool, lang) for tool in trace.suite.contract.tools if tool.effect == "write"]
    for clause in clauses:
        if clause.mood is Mood.QUOTED or given.repeats(clause):
            continue
        for value in clause.values:
            yield from _value(value, clause, given, at)
        yield from _names(clause, given, at)
        # A state that a tool brings about is a claim of its action.
        if clause.mood in SAYING and not any(acts(clause, forms) for forms in done):
            yield from _states(clause, given, at)


def _value(value: Value, clause: Clause, given: Given, at: str) -> Iterator[Finding]:
    # Places that the contract knows are judged by it: they may stand in the results in another language.
    known = value.kind == "name" and given.named(normalize(value.spelled))
    if known or _counting(value) or _example(value, clause):
        return
    completed = clause.mood is Mood.ASKED and re.sub(r"\D", "", value.text) in given.text
    if value.kind == "identifier" and completed:
        return
    if not given.has(value):
        reason = f"{value.spelled} is in nothing the user, the context or a tool said"
        yield _finding("invented_value", at, "values that were given", value.spelled, reason)
    elif given.unit_differs(value):
        units = {one.unit or "" for one in given.values if same(value, one, given)}
        reason = f"the number was given in {', '.join(sorted(units))}"
        yield _finding("wrong_unit", at, ", ".join(sorted(units)), value.spelled, reason)
    elif clause.mood in SAYING and (owner := _other_owner(value, clause, given)):
        reason = f"{value.spelled} belongs to another than {owner}"
        yield _finding("wrong_owner", at, "values with their owner", short(clause.text), reason)


def _counting(value: Value) -> bool:
    """Whether a number counts the parts of the text itself, or the signs of a spelling."""
    bare = value.kind == "number" and value.unit is None and value.decimals == 0
    if value.low == value.high == _WHOLE and value.unit in (None, "percent"):
        return True
    return value.unit in COUNTED or (bare and value.low == value.high and 0 <= (value.low or 0) < SMALL)


def _example(value: Value, clause: Clause) -> bool:
    """Whether a value shows a form ("something like ORD-123456") and states nothing."""
    return value.kind in ("identifier", "contact", "date", "time") and (
        "example" in clause.concepts and clause.mood is not Mood.OFFERED
    )


def _other_owner(value: Value, clause: Clause, given: Given) -> str | None:
    """Return the entity a value is stated of, when every record that has the value is another's."""
    holding = [record for record in given.records if any(same(value, one, given) for one in record.values)]
    entity = _entity(value, clause, given)
    if entity is None or not holding or entity.partition("-")[0] == value.text.partition("-")[0] != "":
        return None
    known = [record for record in given.records if _about(record, entity, given)]
    if not known or any(_about(record, entity, given) for record in holding):
        return None
    said_by_user = any(same(value, one, given) for one in given.told)
    return None if said_by_user else entity


def _about(record: Record, entity: str, given: Given) -> bool:
    if any(one.text == entity for one in record.values):
        return True
    forms = given.names.get(entity, ())
    return any(
        normalize(form) in record.names or any(contains(name, form) for name in record.names)
        for form in forms
    )


def _entity(value: Value, clause: Clause, given: Given) -> str | None:
    """Return the only identifier or known name a value can belong to."""
    names = given.named(normalize(clause.text))
    if value.owner is not None:
        return value.owner
    return next(iter(names)) if len(names) == 1 else None


def _names(clause: Clause, given: Given, at: str) -> Iterator[Finding]:
    if clause.mood not in SAYING or clause.denied:
        return
    for name in given.named(normalize(clause.text)) - given.mentioned:
        reason = f"{name} is in nothing the user, the context or a tool said"
        yield _finding("invented_value", at, "names that were given", name, reason)


def _states(clause: Clause, given: Given, at: str) -> Iterator[Finding]:
    """Judge states: one that nobody gave is invented; one that a result gave must not be denied."""
    words = lexicon(read_as(given.lang))
    if clause.mood is Mood.ASSERTED and not clause.denied and clause.tense is not Tense.FUTURE:
        for state in sorted(clause.concepts & words.states - given.concepts):
            if _of_a_thing(clause) and _predicated(clause, words.concepts[state]):
                reason = f"nothing says that it is {state}"
                yield _finding("invented_value", at, "states that were given", short(clause.text), reason)
    if clause.mood is Mood.ASSERTED and clause.denied:
        lemmas = [word.lemma for word in clause.words]
        for state in sorted(words.states & given.result_concepts):
            said = words.concepts[state].said
            if any(phrase[0] & set(clause.predicates) and occurs(phrase, lemmas) for phrase in said):
                reason = f"a result says that it is {state}"
                yield _finding("negated_fact", at, state, short(clause.text), reason)


def _of_a_thing(clause: Clause) -> bool:
    """Whether a clause speaks of a certain thing: it names one, or points to it."""
    return any(value.kind == "identifier" for value in clause.values) or "pointing" in clause.concepts


def _predicated(clause: Clause, state: Concept) -> bool:
    """Whether a clause says the state, and does not only use its verb ("no need to send it again")."""
    if clause.completed or clause.ongoing:
        return True
    lemmas = [word.lemma for word in clause.words if word.pos != "VERB" or word.lemma == "be"]
    return any(occurs(phrase, lemmas) for phrase in state.said)


def _finding(code: str, at: str, expected: str, actual: str, reason: str) -> Finding:
    return Finding(code, path=at, expected=expected, actual=actual, reason=reason)
