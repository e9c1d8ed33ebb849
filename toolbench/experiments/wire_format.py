"""Does the wire format matter? One model behind several protocols, compared case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.config import EMBEDDED, Config, ModelConfig
from toolbench.domain.keys import PlayerKey
from toolbench.domain.suite import Suite
from toolbench.experiments.answering import effect_answer
from toolbench.experiments.effects import effect_table, effects, slope_pages
from toolbench.experiments.run_source import Refusal, Setup, politely, under
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.flips import changes, decided
from toolbench.numbers.sides import select
from toolbench.showing import html
from toolbench.showing.comparison import FLIP_CELLS, case_table, flip_cells
from toolbench.showing.format import each
from toolbench.showing.html import Page
from toolbench.showing.view import RunView

PROTOCOLS = ("chat_completions", "responses", "messages")
UNSERVED = ("ollama_chat", "generate_content")
"""Protocols that the embedded server does not speak."""
METRICS = (
    "pass_rate",
    "decision_accuracy",
    "tool_selection_accuracy",
    "raw_schema_validity",
    "exact_argument_accuracy",
    "final_answer_support",
)


def plan(protocols: Sequence[str] = PROTOCOLS) -> Setup:
    """Return the plan to play every embedded model over these protocols.

    An entry with an address of its own speaks one protocol: it takes part where that is among them, so name
    one entry a protocol for such a model, with the same provider and model.
    """

    def made(config: Config, suites: Sequence[Suite]) -> tuple[Config, list[Suite]]:
        runs = {run.key: run for entry in config.runs for run in _over(entry, protocols)}
        played = replace(config, runs=tuple(runs.values()))
        if not _several([run.key for run in played.runs]):
            raise Refusal(
                "no model is configured over two protocols: name it once a protocol with the same provider "
                "and model, or use an embedded model"
            )
        return under(BUILT_IN_CONDITIONS["auto"])(played, suites)

    return made


def _over(entry: ModelConfig, protocols: Sequence[str]) -> Iterator[ModelConfig]:
    if entry.kind != "embedded":
        if entry.protocol in protocols:
            yield entry
        return
    for protocol in (name for name in protocols if name not in UNSERVED):
        # A profile belongs to a protocol; the embedded server's is found by itself.
        profile = entry.profile if protocol == entry.protocol else None
        yield replace(entry, protocol=protocol, profile=profile)


def _several(keys: Sequence[PlayerKey]) -> dict[tuple[str, str], list[str]]:
    """Return (provider, model) → its protocols, for those with two and more."""
    found: dict[tuple[str, str], list[str]] = {}
    for provider, model, protocol in keys:
        found.setdefault((provider, model), []).append(protocol)
    return {model: protocols for model, protocols in found.items() if len(protocols) > 1}


def models(view: RunView) -> dict[tuple[str, str], list[str]]:
    """Return (provider, model) → protocols of the models that were run over several, the first as reference.

    Raises
    ------
    Refusal
        When there is none.
    """
    found = _several([PlayerKey.of(player) for player in view.header.players])
    if not found:
        raise Refusal(
            f"run {view.header.run_id} has no model over two protocols; it has {', '.join(view.players)}. "
            "Leave run empty to play an embedded model over several"
        )
    return found


def played_page(view: RunView, protocols: Sequence[str]) -> Page:
    """Which of the protocols asked for each model was played over, and why not over the others."""
    spoken: dict[tuple[str, str], set[str]] = {}
    for provider, model, protocol in (PlayerKey.of(player) for player in view.header.players):
        spoken.setdefault((provider, model), set()).add(protocol)
    kinds = {(run["provider"], run["model"]): str(run["base_url"]) for run in view.header.config["runs"]}
    rows = [
        {
            "model": model,
            **{
                name: "played" if name in found else _why_not(kinds.get((provider, model), ""), name)
                for name in dict.fromkeys([*protocols, *sorted(found - set(protocols))])
            },
        }
        for (provider, model), found in spoken.items()
        if (provider, model) in kinds
    ]
    return html.table(pd.DataFrame(rows).fillna("not asked for"), "Protocols asked for, and what was played")


def _why_not(address: str, protocol: str) -> str:
    if address.startswith(EMBEDDED):
        return "the embedded server does not speak it" if protocol in UNSERVED else "not asked for"
    return "no entry of this model speaks it"


def paired(view: RunView) -> Comparison:
    """Compare the first protocol of every model with each of its others."""
    sides = []
    with politely():
        for (provider, model), protocols in models(view).items():
            each = [
                select(view.scored, name, provider=provider, model=model, protocol=name) for name in protocols
            ]
            sides += [(each[0], other) for other in each[1:]]
    return effects(view, sides, "protocol", METRICS)


def flips(view: RunView) -> pd.DataFrame:
    """Return ``model, suite, lang, condition, change`` and the columns of :func:`~.decisions.changes`."""
    rows: list[dict[str, Any]] = []
    for (provider, model), protocols in models(view).items():
        names = [view.names[PlayerKey(provider, model, protocol)] for protocol in protocols]
        for arm in view.arms:
            frame = decided(view.at(view.attempts, arm))
            first, *others = [frame[frame["player"] == name] for name in names]
            for protocol, other in zip(protocols[1:], others, strict=True) if len(first) else ():
                where = {"model": model, "arm": str(arm), "change": f"{protocols[0]} → {protocol}"}
                rows.append({**where, **changes(first, other)})
    return pd.DataFrame(rows)


def losses(view: RunView) -> pd.DataFrame:
    """Return ``protocol, kind, what, attempts``: everything that the wire took away or changed.

    ``kind`` is ``lost`` (part of a tool that could not be sent), ``not sent`` or ``not honoured`` (a
    setting), or ``renamed`` (a tool under another name).
    """
    found: Counter[tuple[str, str, str]] = Counter()
    attempts: Counter[str] = Counter()
    for attempt in view.all_records():
        attempts[attempt.protocol] += 1
        lines = {line for turn in attempt.turns for line in _changed(turn)}
        found.update((attempt.protocol, kind, what) for kind, what in lines)
    rows = [
        {"protocol": p, "kind": kind, "what": what, "attempts": f"{number}/{attempts[p]}"}
        for (p, kind, what), number in sorted(found.items())
    ]
    return pd.DataFrame(rows, columns=["protocol", "kind", "what", "attempts"])


def _changed(turn: Any) -> Iterator[tuple[str, str]]:
    yield from (("lost", str(line)) for line in turn.losses)
    for name, note in turn.settings.items():
        if note["asked"] is not None and note["sent"] is None:
            yield "not sent", f"{name} = {note['asked']}"
        elif note["honoured"] is False:
            yield "not honoured", f"{name}: asked for {note['asked']}, sent {note['sent']}"
    yield from (("renamed", f"{own} → {wire}") for wire, own in turn.tool_names.items() if wire != own)


def paired_page(view: RunView) -> Page:
    """The paired effect of the wire on every figure, and the cases that change."""
    found = paired(view)
    pages = []
    for before, rows in found.table.groupby("before", sort=False):
        named = rows.assign(player=rows["player"] + " · " + rows["after"])
        pages.append(slope_pages(replace(found, table=named), "pass_rate", str(before), "other protocol"))
    pages.append(effect_table(found, "first protocol → every other one, on the same cases"))
    pages.append(case_table(found.newly_failing, "Right over the first protocol only"))
    return html.join([*pages, case_table(found.newly_passing, "Right over the second protocol only")])


def flips_page(view: RunView) -> Page:
    """How often a decision changes with the wire."""
    rows = [
        {
            "model": row.model,
            "arm": row.arm,
            "change": row.change,
            **flip_cells(row),
        }
        for row in each(flips(view))
    ]
    caption = "Two attempts at a case that decide differently: over two protocols, and over one"
    return html.table(pd.DataFrame(rows), caption, numbers=list(FLIP_CELLS))


def losses_page(view: RunView) -> Page:
    """What each protocol could not carry."""
    table = losses(view)
    if table.empty:
        return html.paragraph("Nothing was lost: every tool and setting was sent as it was asked for.")
    return html.table(table, "What the wire took away or changed", numbers=["attempts"])


def answer_page(view: RunView) -> Page:
    """Does the wire matter?"""
    found = paired(view)
    named = found.table.assign(player=found.table["player"] + " over " + found.table["after"])
    return effect_answer(replace(found, table=named), "Does the wire format change what passes?")
