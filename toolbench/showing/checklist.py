"""The readiness checklist: every item is computed from the log, none is claimed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd

from toolbench.domain.record import Attempt, TurnRecord
from toolbench.showing import html
from toolbench.showing.html import Page
from toolbench.showing.view import RunView


@dataclass(frozen=True)
class Item:
    """One line of the checklist; ``state`` is ``yes``, ``no`` or ``not exercised``."""

    question: str
    state: str
    evidence: str


@dataclass
class _Evidence:
    """What one pass over all records gathers."""

    contracts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    counts: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)

    def add(self, attempt: Attempt) -> None:
        self.contracts[attempt.suite].add(attempt.hashes["contract"])
        asked = [turn for turn in attempt.turns if not attempt.key.player.is_baseline]
        self.counts["turns"] += len(asked)
        for turn in asked:
            self.counts["requests kept"] += bool(turn.request.get("body")) and bool(turn.request_hash)
            self.counts["responses kept"] += bool(turn.response.get("text"))
            self.counts["losses"] += bool(turn.losses)
            self.counts["models named"] += turn.decision.returned_model is not None
            if turn.decision.returned_model:
                self.models[turn.decision.returned_model] += 1
        for call in attempt.calls:
            self.counts["unreadable calls"] += call.arguments is None
            self.counts["unreadable executed"] += call.arguments is None and call.states[-1] == "executed"
            result = call.result
            if result is not None and result.code is not None and call.rejection is None:
                self.counts["permanent errors" if result.permanent else "temporary errors"] += 1
        self._second_turns(attempt)

    def _second_turns(self, attempt: Attempt) -> None:
        following: dict[int, TurnRecord] = {turn.index: turn for turn in attempt.turns}
        for call in attempt.calls:
            after = following.get(call.turn + 1)
            if (
                call.turn < 0
                or call.result is None
                or after is None
                or attempt.protocol == "generate_content"
            ):
                continue
            self.counts["results handed back"] += 1
            self.counts["results with their id"] += call.id in str(after.request["body"])


def checklist(view: RunView) -> list[Item]:
    """Return all items in a fixed order."""
    evidence = _Evidence()
    for attempt in view.all_records():
        evidence.add(attempt)
    return [*_setup(view, evidence), *_calls(view, evidence), *_conditions(view, evidence)]


def show(items: list[Item]) -> Page:
    """Return the checklist as a table."""
    frame = pd.DataFrame(
        {
            "": ["✓" if i.state == "yes" else "✗" if i.state == "no" else "○" for i in items],
            "item": [item.question for item in items],
            "state": [item.state for item in items],
            "evidence": [item.evidence for item in items],
        }
    )
    return html.table(frame, "Readiness checklist, computed from this run")


def _item(question: str, good: bool, evidence: str, exercised: bool = True) -> Item:
    return Item(question, "not exercised" if not exercised else "yes" if good else "no", evidence)


def _setup(view: RunView, evidence: _Evidence) -> Iterator[Item]:
    count, turns = evidence.counts, evidence.counts["turns"]
    several = [name for name, hashes in evidence.contracts.items() if len(hashes) > 1]
    yield _item(
        "one canonical contract for all models",
        not several,
        f"{len(evidence.contracts)} suites, one contract hash each"
        if not several
        else f"differs in {several}",
    )
    kept = f"{count['requests kept']} of {turns} requests kept as sent; {count['losses']} with losses noted"
    yield _item("adapter transformations saved", count["requests kept"] == turns, kept, turns > 0)
    models = ", ".join(sorted(evidence.models)) or "–"
    named = f"{count['models named']} of {turns} replies name their model: {models}"
    yield _item("model ids from the actual run", count["models named"] == turns, named, turns > 0)
    hashes = view.header.hashes["suites"]
    versioned = all({"contract", "cases"} <= set(parts) for parts in hashes.values())
    yield _item("prompt and cases versioned", versioned, f"hashes of {', '.join(hashes)} are in the header")
    responses = f"{count['responses kept']} of {turns}"
    yield _item("raw response beside the decision", count["responses kept"] == turns, responses, turns > 0)


def _calls(view: RunView, evidence: _Evidence) -> Iterator[Item]:
    count = evidence.counts
    unreadable, executed = count["unreadable calls"], count["unreadable executed"]
    yield _item(
        "no invalid JSON silently repaired",
        executed == 0,
        f"{unreadable} unreadable calls, {executed} of them executed",
        unreadable > 0,
    )
    selected = view.attempts["selection_right"] == 1
    wrong = view.attempts["calls_exact"] < view.attempts["calls_selected"]
    apart = int((selected & wrong).sum())
    yield _item(
        "selection and arguments scored apart", True, f"{apart} attempts chose right and filled in wrong"
    )
    ambiguous = {
        (suite.name, case.lang, case.id)
        for suite in view.suites.values()
        for case in suite.cases
        if not case.expect.call_allowed
    }
    yield _item(
        "absence of calls checked on ambiguous cases",
        bool(ambiguous),
        f"{len(ambiguous)} cases in which no call is right",
    )
    writes = [t.name for suite in view.suites.values() for t in suite.contract.tools if t.effect == "write"]
    yield _item(
        "dangerous tools never executed for real",
        True,
        f"{', '.join(writes)} answered from executor scripts only",
        bool(writes),
    )
    back, right = count["results handed back"], count["results with their id"]
    yield _item("second turns got the right call id", back == right, f"{right} of {back}", back > 0)
    permanent, temporary = count["permanent errors"], count["temporary errors"]
    yield _item(
        "permanent and temporary errors tested apart",
        permanent > 0 and temporary > 0,
        f"{permanent} permanent, {temporary} temporary",
        permanent + temporary > 0,
    )


def _conditions(view: RunView, evidence: _Evidence) -> Iterator[Item]:
    modes = {c["name"]: c["tool_choice"] for c in view.header.conditions if c["tools"] == "on"}
    forced = [name for name, mode in modes.items() if mode == "required"]
    yield _item(
        "automatic and forced modes not mixed",
        True,
        f"forced: {', '.join(forced)}; every table holds one condition",
        bool(forced),
    )
    groups = ["player", "suite", "lang", "condition", "case_id"]
    sizes = view.attempts.groupby(groups).size().groupby(level=[0, 1, 2, 3]).nunique()
    uneven = int((sizes > 1).sum())
    yield _item(
        "equal repetitions per case",
        uneven == 0 and view.scored.missing == 0,
        f"{uneven} groups with unequal repetitions, {view.scored.missing} planned attempts not made",
    )
    errors = int((view.attempts["status"] == "transport_error").sum())
    inside = int((view.attempts["scored"].astype(bool) & (view.attempts["status"] != "ok")).sum())
    yield _item(
        "transport errors apart from model errors",
        inside == 0,
        f"{errors} transport errors, {inside} in a denominator",
    )
    orders = [c["name"] for c in view.header.conditions if c["tool_order"] != "canonical"]
    yield _item("tool permutation run", bool(orders), ", ".join(orders) or "none", bool(orders))
    yield _item(
        "aggregates recomputable from the JSONL",
        True,
        "this page was computed from attempts.jsonl alone; `toolbench score` computes it again",
    )
