"""What is to be run: a suite in one language, players, conditions and cases, and the matrix made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TypeVar

from toolbench.domain.case import Case
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition, Selection
from toolbench.domain.config import EMBEDDED, Config, ModelConfig
from toolbench.domain.suite import Suite, known_suites
from toolbench.errors import InputError, ToolbenchError
from toolbench.local import known_models, loading
from toolbench.showing.view import player_names
from toolbench.workbench.edits import Wording

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Picks:
    """What has been chosen; names as they are shown.

    ``beside`` plays the committed wording next to an edited one, as one run with two arms.
    """

    suite: str
    lang: str
    players: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ("auto",)
    cases: tuple[str, ...] = ()
    repetitions: int = 1
    beside: bool = True


@dataclass(frozen=True)
class Plan:
    """A run ready to be started.

    ``pairs`` names the conditions that belong together: committed wording, edited wording.
    """

    config: Config
    suite: Suite
    pairs: tuple[tuple[str, str], ...]

    @property
    def total(self) -> int:
        """Attempts the run will make."""
        cases = [case for case in self.suite.cases if self.config.cases(case)]
        admitted = sum(condition.admits(case) for condition in self.config.conditions for case in cases)
        return admitted * len(self.config.players) * self.config.repetitions


def suite_names(config: Config) -> list[str]:
    """Return the suites that can be chosen: the configuration's, then every other that is found."""
    return list(dict.fromkeys([*config.suites, *known_suites(config.root)]))


def players(config: Config) -> Mapping[str, ModelConfig]:
    """Return every player by its shown name: the models, the embedded ones that are not named, baselines."""
    baselines = [player for player in config.players if player not in config.runs]
    ordered = [*config.runs, *_offered(config), *baselines]
    names = player_names([player.key for player in ordered])
    return {names[player.key]: player for player in ordered}


def _offered(config: Config) -> Iterator[ModelConfig]:
    """Yield the embedded models that a configuration does not name, where they can be served."""
    named = {run.weights for run in config.runs if run.kind == "embedded"}
    if find_spec("xllamacpp") is not None:
        for name in known_models():
            if name not in named:
                yield ModelConfig("embedded", name, "chat_completions", EMBEDDED)


def first_players(config: Config) -> tuple[str, ...]:
    """Return whom to begin with: players that read descriptions, so never a baseline.

    Those of the configuration, or the first embedded one where it names none.
    """
    known = {name: player for name, player in players(config).items() if player.kind != "baseline"}
    return tuple(name for name, player in known.items() if player in config.runs) or tuple(known)[:1]


def described(name: str, player: ModelConfig) -> str:
    """Return a player as it is listed, with what it takes before it answers."""
    if player.kind == "baseline":
        return f"{name} — baseline"
    if player.kind == "http":
        return name
    try:
        return f"{name} — on this machine, {loading(player.weights)}"
    except ToolbenchError as fault:
        return f"{name} — on this machine, {fault}"


def conditions(config: Config) -> Mapping[str, Condition]:
    """Return the configuration's conditions and the built-in ones by name."""
    return {**{condition.name: condition for condition in config.conditions}, **BUILT_IN_CONDITIONS}


def worded_pairs(conditions: Sequence[Condition]) -> list[tuple[str, str]]:
    """Return the conditions that differ in their texts alone and are named as this workbench names them."""
    return [
        (before.name, after.name)
        for before in conditions
        for after in conditions
        if after.name.startswith(f"{before.name}-")
        and before == replace(after, name=before.name, descriptions=before.descriptions, prompt=before.prompt)
    ]


def matching(
    suite: Suite, lang: str, klass: str | None = None, tag: str | None = None, text: str = ""
) -> list[Case]:
    """Return the cases of a language that fit every filter.

    Parameters
    ----------
    text
        Looked for in the id and in everything the user says, in any letter case.
    """
    wanted = text.strip().casefold()
    return [
        case
        for case in suite.cases
        if case.lang == lang
        and (klass is None or case.klass == klass)
        and (tag is None or tag in case.tags)
        and (wanted in case.id.casefold() or any(wanted in said.casefold() for said in case.user_texts))
    ]


def plan(config: Config, draft: Wording, choice: Picks) -> Plan:
    """Turn a choice into a run: one condition a row, each also in the edited wording when there is one.

    Raises
    ------
    InputError
        When something is not chosen, or a name is unknown.
    """
    chosen = _known(players(config), choice.players, "player")
    arms, pairs = [], []
    for condition in _known(conditions(config), choice.conditions, "condition"):
        # The cases and repetitions chosen here replace those that the configuration gives a condition.
        own = replace(
            condition,
            cases=Selection(),
            repetitions=None,
            descriptions=condition.descriptions or draft.base.descriptions,
            prompt=condition.prompt or draft.base.prompt,
        )
        edited = draft.condition(own)
        if choice.beside or not draft.changed:
            arms.append(own)
        if draft.changed:
            arms.append(edited)
        if choice.beside and draft.changed:
            pairs.append((own.name, edited.name))
    if not choice.cases:
        raise InputError("no case is chosen")
    run = replace(
        config,
        runs=tuple(player for player in chosen if player.kind != "baseline"),
        baselines=tuple(player.model for player in chosen if player.kind == "baseline"),
        suites=(draft.suite.name,),
        cases=Selection(langs=(draft.lang,), ids=choice.cases),
        conditions=tuple(arms),
        repetitions=choice.repetitions,
    )
    return Plan(run, draft.apply(), tuple(pairs))


def _known(known: Mapping[str, Kind], names: Sequence[str], what: str) -> list[Kind]:
    if not names:
        raise InputError(f"no {what} is chosen")
    for name in names:
        if name not in known:
            raise InputError(f"unknown {what} {name!r}; there are: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]
