"""The readiness checklist: every item is computed from the log, none is claimed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.html import Page, esc

Told = tuple[str, str, str]
"""Name of an item, its state, and the evidence."""


@dataclass(frozen=True)
class Item:
    """One line of the checklist; ``state`` is ``yes``, ``no`` or ``not exercised``."""

    question: str
    state: str
    evidence: str


def checklist(dossier: Dossier) -> list[Item]:
    """Return all items in a fixed order."""
    told = [*_setup(dossier), *_calls(dossier), *_conditions(dossier)]
    return [Item(dossier.say(f"check.{name}"), state, evidence) for name, state, evidence in told]


def readiness(dossier: Dossier) -> Page:
    """Return the checklist as a table."""
    say, items = dossier.say, checklist(dossier)
    signs = {"yes": "✓", "no": "✗", "not exercised": "○"}
    kinds = {"yes": "ok", "no": "bad", "not exercised": "plain"}
    states = [
        html.Cell(esc(text), text, kinds[i.state])
        for i in items
        for text in [f"{signs[i.state]} {say('state.' + i.state)}"]
    ]
    columns = (states, [item.question for item in items], [item.evidence for item in items])
    names = [say("check"), say("check.item"), say("check.evidence")]
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    return html.table(frame, say("check.caption"), kind="readiness")


def _item(name: str, good: bool, evidence: str, exercised: bool = True) -> Told:
    return name, "not exercised" if not exercised else "yes" if good else "no", evidence


def _setup(dossier: Dossier) -> Iterator[Told]:
    view, say, evidence = dossier.view, dossier.say, dossier.seen.evidence
    count, turns = evidence.counts, evidence.counts["turns"]
    several = [name for name, hashes in evidence.contracts.items() if len(hashes) > 1]
    told = say("told.contract", number=len(evidence.contracts))
    yield _item("contract", not several, say("told.differs", names=several) if several else told)
    kept = say("told.kept", number=count["requests kept"], all=turns, losses=count["losses"])
    yield _item("adapter", count["requests kept"] == turns, kept, turns > 0)
    models = say.listed(sorted(evidence.models)) or "–"
    named = say("told.named", number=count["models named"], all=turns, models=models)
    yield _item("ids", count["models named"] == turns, named, turns > 0)
    hashes = view.header.hashes["suites"]
    versioned = all({"contract", "cases"} <= set(parts) for parts in hashes.values())
    yield _item("versions", versioned, say("told.versions", names=say.listed(hashes)))
    responses = say("told.of", number=count["responses kept"], all=turns)
    yield _item("raw", count["responses kept"] == turns, responses, turns > 0)


def _calls(dossier: Dossier) -> Iterator[Told]:
    view, say, count = dossier.view, dossier.say, dossier.seen.evidence.counts
    unreadable, executed = count["unreadable calls"], count["unreadable executed"]
    told = say("told.unreadable", number=unreadable, executed=executed)
    yield _item("json", executed == 0, told, unreadable > 0)
    selected = view.attempts["selection_right"] == 1
    wrong = view.attempts["calls_exact"] < view.attempts["calls_selected"]
    yield _item("apart", True, say("told.apart", number=int((selected & wrong).sum())))
    ambiguous = {
        (suite.name, case.lang, case.id)
        for suite in view.suites.values()
        for case in suite.cases
        if not case.expect.call_allowed
    }
    yield _item("ambiguous", bool(ambiguous), say("told.ambiguous", number=len(ambiguous)))
    writes = [t.name for suite in view.suites.values() for t in suite.contract.tools if t.effect == "write"]
    told = say("told.dangerous", names=say.listed(dict.fromkeys(writes)) or "–")
    yield _item("dangerous", True, told, bool(writes))
    back, right = count["results handed back"], count["results with their id"]
    yield _item("second", back == right, say("told.of", number=right, all=back), back > 0)
    permanent, temporary = count["permanent errors"], count["temporary errors"]
    told = say("told.errors", permanent=permanent, temporary=temporary)
    yield _item("errors", permanent > 0 and temporary > 0, told, permanent + temporary > 0)


def _conditions(dossier: Dossier) -> Iterator[Told]:
    view, say = dossier.view, dossier.say
    modes = {c["name"]: c["tool_choice"] for c in view.header.conditions if c["tools"] == "on"}
    forced = [name for name, mode in modes.items() if mode in ("required", "named")]
    yield _item("forced", True, say("told.forced", names=say.listed(forced) or "–"), bool(forced))
    groups = ["player", "suite", "lang", "condition", "case_id"]
    sizes = view.attempts.groupby(groups).size().groupby(level=[0, 1, 2, 3]).nunique()
    uneven = int((sizes > 1).sum())
    told = say("told.repetitions", uneven=uneven, missing=view.scored.missing)
    yield _item("repetitions", uneven == 0 and view.scored.missing == 0, told)
    errors = int((view.attempts["status"] == "transport_error").sum())
    inside = int((view.attempts["scored"].astype(bool) & (view.attempts["status"] != "ok")).sum())
    yield _item("transport", inside == 0, say("told.transport", number=errors, inside=inside))
    orders = [c["name"] for c in view.header.conditions if c["tool_order"] != "canonical"]
    yield _item("permutation", bool(orders), say.listed(orders) or say("told.none"), bool(orders))
    yield _item("recompute", True, say("told.recompute"))
