"""A run with everything its report says about it, each thing computed once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pandas as pd

from toolbench.domain.config import EMBEDDED, SCRIPTED
from toolbench.domain.keys import PlayerKey
from toolbench.domain.record import Attempt
from toolbench.judging.counts import COUNT
from toolbench.numbers.gates import MIN_N, GateReport, GateResult, default_gates, evaluate
from toolbench.numbers.rows import GROUP
from toolbench.numbers.tables import groups, records
from toolbench.showing.evidence import Evidence
from toolbench.showing.families import DANGEROUS, family_of
from toolbench.showing.talks import Talks
from toolbench.showing.view import Arm, RunView
from toolbench.showing.words import Words

OWN_SCHEMES = (EMBEDDED, SCRIPTED)
OWN_HOSTS = ("127.0.0.1", "localhost", "::1")
"""Nobody sends a bill for what runs here."""

Place = tuple[str, Arm]
"""A player, and where it was asked."""


class Tally(NamedTuple):
    """Attempts at a case: those with a verdict, those that pass, and those left to a person."""

    judged: int
    passed: int
    review: int


@dataclass
class Seen:
    """What one pass over the complete records gathers."""

    evidence: Evidence = field(default_factory=Evidence)
    settings: dict[str, dict[str, Counter[tuple[str, str, str]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )
    """Player → setting → what was asked, sent and honoured → requests."""
    returned: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Player → the model its replies name → replies."""

    def add(self, attempt: Attempt, player: str) -> None:
        """Take one record."""
        self.evidence.add(attempt)
        for turn in attempt.turns:
            for name, values in turn.settings.items():
                told = tuple(str(values.get(part)) for part in ("asked", "sent", "honoured"))
                self.settings[player][name][told[0], told[1], told[2]] += 1
            if turn.decision.returned_model:
                self.returned[player][turn.decision.returned_model] += 1


class Dossier:
    """A run, the language it is told in, and what several parts of the page need.

    Parameters
    ----------
    lang
        ``en`` or ``ru``.
    """

    def __init__(self, run: str | Path | RunView, lang: str = "en") -> None:
        self.view = run if isinstance(run, RunView) else RunView(run)
        self.say = Words(lang)

    @cached_property
    def subjects(self) -> list[str]:
        """The players a report is about: the models, or the baselines where there is nothing else."""
        return self.view.models or self.view.players

    @cached_property
    def floor(self) -> list[str]:
        """The baselines that a model is to be better than."""
        return [player for player in self.view.players if player not in self.subjects]

    @cached_property
    def controls(self) -> set[str]:
        """Conditions under which no call is possible."""
        return {name for name, one in self.view.header.load_conditions().items() if one.control}

    @cached_property
    def arms(self) -> list[Arm]:
        """Every arm that is no control."""
        return [arm for arm in self.view.arms if arm.condition not in self.controls]

    @cached_property
    def main(self) -> list[Arm]:
        """Each suite and language under its first condition."""
        firsts: dict[tuple[str, str], Arm] = {}
        for arm in self.arms:
            firsts.setdefault((arm.suite, arm.lang), arm)
        return list(firsts.values())

    def arm_name(self, arm: Arm, condition: bool = True) -> str:
        """Return what an arm is called; its condition is left out where every table says it already."""
        return str(arm) if condition else f"{arm.suite} · {arm.lang}"

    @cached_property
    def figures(self) -> Mapping[Place, Mapping[str, Mapping[str, Any]]]:
        """Place → metric → its row."""
        found: dict[Place, dict[str, Mapping[str, Any]]] = defaultdict(dict)
        for row in records(self.view.metrics):
            place = row["player"], Arm(row["suite"], row["lang"], row["condition"])
            found[place][row["metric"]] = row
        return found

    def places(self, player: str, arms: list[Arm] | None = None) -> Iterator[tuple[Arm, Mapping[str, Any]]]:
        """Yield the arms a player was asked in, with the figures."""
        for arm in arms or self.arms:
            if (player, arm) in self.figures:
                yield arm, self.figures[player, arm]

    @cached_property
    def codes(self) -> Mapping[Place, Counter[str]]:
        """Place → code → attempts that have it."""
        found: dict[Place, Counter[str]] = defaultdict(Counter)
        unique = self.view.findings.drop_duplicates(["player", *GROUP, "case_id", "repetition", "code"])
        keys = ["player", "suite", "lang", "condition", "code"]
        for (player, suite, lang, condition, code), rows in groups(unique[keys], keys):
            found[player, Arm(suite, lang, condition)][code] = len(rows)
        return found

    @cached_property
    def firsts(self) -> pd.DataFrame:
        """The first finding of every failed attempt."""
        return self.view.findings.drop_duplicates(["player", *GROUP, "case_id", "repetition"])

    def worst(self, player: str, arm: Arm) -> str | None:
        """Return the finding to name first: one that can do harm, else the most frequent."""
        every = self.codes.get((player, arm), Counter())
        found = Counter({code: number for code, number in every.items() if family_of(code) != "review"})
        if not found:
            return None
        return next((code for code in DANGEROUS if code in found), found.most_common(1)[0][0])

    @cached_property
    def in_review(self) -> int:
        """How many attempts of the subjects only a person can decide on: they are in no share."""
        frame = self.view.attempts
        return int(frame.loc[frame["player"].isin(self.subjects), COUNT.review].sum())

    @cached_property
    def fixed(self) -> bool:
        """Whether gates were fixed before the run."""
        return self.view.header.gates is not None

    @cached_property
    def gates(self) -> GateReport:
        """The run's gates, or those that come with toolbench where it has none."""
        return evaluate(self.view.scored, None if self.fixed else default_gates())

    def least(self, gate: str) -> int:
        """Return how many observations a gate needs before it says anything."""
        chosen: Mapping[str, Any] = self.view.header.gates or default_gates()
        found: Mapping[str, Any] = next((one for one in chosen["gates"] if one["name"] == gate), {})
        return int(found.get("min_n", chosen.get("min_n", MIN_N)))

    @cached_property
    def gates_of(self) -> Mapping[str, list[GateResult]]:
        """Player → its results."""
        found: dict[str, list[GateResult]] = defaultdict(list)
        for result in self.gates.results:
            key = PlayerKey(result.provider, result.model, result.protocol)
            if key in self.view.names:
                found[self.view.names[key]].append(result)
        return found

    def outcome(self, player: str, arm: Arm | None = None) -> str:
        """Return the worst outcome of a player's gates, everywhere or in one arm: ``none`` without one."""
        outcomes = {
            result.outcome
            for result in self.gates_of.get(player, ())
            if arm is None or (result.suite, result.lang, result.condition) == tuple(vars(arm).values())
        }
        order = ("fail", "not enough data", "pass")
        return next((outcome for outcome in order if outcome in outcomes), "none")

    @cached_property
    def free(self) -> set[str]:
        """Players that nobody sends a bill for: the baselines, and models on this machine."""
        priced = {PlayerKey.of(player) for player in self.view.header.players if player.get("price")}
        own = self._at(lambda url: url.startswith(OWN_SCHEMES) or urlsplit(url).hostname in OWN_HOSTS)
        return {
            name
            for key, name in self.view.names.items()
            if key not in priced and (key.is_baseline or name in own)
        }

    @cached_property
    def scripted(self) -> set[str]:
        """Players that are scripts and no models."""
        return self._at(lambda url: url.startswith(SCRIPTED))

    def _at(self, place: Callable[[str], bool]) -> set[str]:
        """Return the players whose address is at some place."""
        entries = self.view.header.config["runs"]
        there = {PlayerKey.of(entry) for entry in entries if place(entry["base_url"])}
        return {name for key, name in self.view.names.items() if key in there}

    @cached_property
    def spending(self) -> pd.DataFrame:
        """The attempts frame with a cost of 0 for whoever is free, in the only currency there is."""
        frame = self.view.attempts
        currencies = frame["currency"].dropna().unique()
        currency = str(currencies[0]) if len(currencies) == 1 else "USD"
        free = frame["player"].isin(self.free)
        return frame.assign(
            cost=frame["cost"].mask(free, 0.0), currency=frame["currency"].mask(free, currency)
        )

    @cached_property
    def priced(self) -> Any:
        """The scored run with those costs."""
        return replace(self.view.scored, attempts=self.spending.drop(columns="player"))

    @cached_property
    def seen(self) -> Seen:
        """What the records say beside the frames; the talks are made in the same pass."""
        return self._read[0]

    @cached_property
    def talks(self) -> Talks:
        """Every failed conversation."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[Seen, Talks]:
        seen, talks = Seen(), Talks(self.view, self.say, self.subjects)
        for attempt in self.view.all_records():
            player = self.view.names[attempt.key.player]
            seen.add(attempt, player)
            talks.add(attempt, player)
        return seen, talks

    def by_case(self, arm: Arm) -> Mapping[tuple[str, str], Tally]:
        """Return ``(player, case)`` → what came of its attempts."""
        return self._by_case.get((arm.suite, arm.lang, arm.condition), {})

    @cached_property
    def _by_case(self) -> Mapping[tuple[Any, ...], Mapping[tuple[str, str], Tally]]:
        frame = self.view.attempts
        review = frame[COUNT.review].fillna(0)
        plain = frame[["suite", "lang", "condition", "player", "case_id"]].assign(
            judged=frame["scored"].astype(bool) & (review == 0),
            passed=frame["passed"].fillna(0) * (1 - review),
            review=review,
        )
        found: dict[tuple[Any, ...], dict[tuple[str, str], Tally]] = {}
        for arm, rows in groups(plain, ["suite", "lang", "condition"]):
            sums = rows.groupby(["player", "case_id"], sort=False).agg(
                judged=("judged", "sum"), passed=("passed", "sum"), review=("review", "sum")
            )
            found[arm] = {
                key: Tally(*map(int, row))
                for key, row in zip(sums.index, sums.itertuples(index=False, name=None), strict=True)
            }
        return found
