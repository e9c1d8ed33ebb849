"""The signature line: everything that changes a number, as one ordered ``key:value`` text.

Two figures may be compared only when their signatures agree outside the factor that is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolbench.domain.canonical import sha256
from toolbench.domain.extensions import versions_of
from toolbench.domain.keys import PlayerKey
from toolbench.domain.record import RunHeader
from toolbench.domain.suite import Suite
from toolbench.judging import normalizers
from toolbench.judging import score as judge
from toolbench.numbers.intervals import METHOD

USUAL: Mapping[str, str | bool | None] = {
    "tool_choice": "auto",
    "tool_order": "canonical",
    "tools": "on",
    "tools_on_offer": None,
    "parallel_tool_calls": None,
    "error_hints": True,
}
"""A condition that changes nothing; ``arm`` names the changes (prompt and descriptions have own keys)."""

NO_SETTINGS = "none"
"""A baseline has no sampling settings; it agrees with any."""

IMPORTED = "imported"
"""Settings of conversations that were not played here: nobody knows them, so they agree with no others."""


@dataclass(frozen=True)
class Signature:
    """What a table of figures rests on; ``str()`` gives the line printed under it."""

    values: Mapping[str, str]

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" for key, value in self.values.items())

    @classmethod
    def parse(cls, line: str) -> Signature:
        """Read a printed line back."""
        return cls(dict(part.split(":", 1) for part in line.split("|")))


@dataclass(frozen=True)
class _Part:
    """One group of figures: a player on a suite in a language under a condition."""

    header: RunHeader
    player: Mapping[str, Any]
    suite: Suite
    lang: str
    condition: Mapping[str, Any]
    labels: str

    def cases(self) -> str:
        admits = self.header.load_conditions()[self.condition["name"]].admits
        chosen = [case for case in self.suite.cases if case.lang == self.lang and admits(case)]
        return f"{_short(sorted([case.id, case.hash] for case in chosen))}({len(chosen)})"

    def prompt(self) -> str:
        variant = f".{self.condition['prompt']}" if self.condition["prompt"] else ""
        # Without a prompt of the suite every case has its own, and its hash is among the cases'.
        told = self.suite.hashes.get(f"prompt.{self.lang}{variant}", "the cases'")
        return f"{self.lang}{variant}@{told[:8]}"

    def descriptions(self) -> str:
        name = self.condition["descriptions"]
        return f"{name}@{self.suite.hashes[f'descriptions.{name}'][:8]}" if name else "contract"

    def arm(self) -> str:
        changed = [
            f"{name}={self.condition[name]}"
            for name, usual in USUAL.items()
            if self.condition.get(name, usual) != usual
        ]
        if self.condition.get("tools_on_offer") is not None:
            changed.append(f"distractors@{self.suite.hashes.get('distractors', 'none')[:8]}")
        return ",".join(changed) or "usual"

    def settings(self) -> str:
        if self.header.imported is not None:
            return IMPORTED
        for run in self.header.config["runs"]:
            if PlayerKey.of(run) == PlayerKey.of(self.player):
                return _short([run["settings"], run["extra_body"]])
        return NO_SETTINGS

    def contract(self) -> str:
        named = [f"+{name}@{one.hash[:8]}" for name, one in sorted(self.suite.contracts.items())]
        return f"{self.suite.contract.version}@{self.suite.hashes['contract'][:8]}{''.join(named)}"

    def script(self) -> str:
        return _short([self.suite.hashes["executor"], self.suite.hashes["rules"]])

    def repetitions(self) -> str:
        return str(self.condition["repetitions"] or self.header.config["repetitions"])


KEYS: Mapping[str, Callable[[_Part], str]] = {
    "suite": lambda part: part.suite.name,
    "contract": _Part.contract,
    "descriptions": _Part.descriptions,
    "prompt": _Part.prompt,
    "script": _Part.script,
    "cases": _Part.cases,
    "lang": lambda part: part.lang,
    "condition": lambda part: part.condition["name"],
    "arm": _Part.arm,
    "protocol": lambda part: part.player["protocol"],
    "settings": _Part.settings,
    "repetitions": _Part.repetitions,
    "loop_limit": lambda part: str(part.header.config["loop_limit"]),
    "seed": lambda part: str(part.header.config["seed"]),
    "version": lambda part: part.header.versions.get("toolbench", "unknown"),
    "judge": lambda part: judge_version(),
    "labels": lambda part: part.labels,
    "interval": lambda part: METHOD,
}
"""Key → how its value is found, in printing order. ``script`` is executor script and rules together;
``settings`` are sampling settings and extra request fields of a model; ``labels`` are those of people that
took the place of findings."""


def signature(
    header: RunHeader,
    where: Mapping[str, str] | None = None,
    suites: Mapping[str, Suite] | None = None,
    labels: str = "none",
) -> Signature:
    """Return the signature of a run, or of the part of it that ``where`` names.

    Parameters
    ----------
    where
        Values of group columns (``provider``, ``model``, ``protocol``, ``suite``, ``lang``, ``condition``);
        an absent one chooses all. A key with several values joins them with ``+``.
    suites
        ``header.load_suites()``, where the caller has them already.
    labels
        ``ScoredRun.people.signature``: what people have said, where the figures use it.

    Notes
    -----
    Baselines have no sampling settings, so they are looked at only where nothing else is chosen.
    """
    parts = list(_parts(header, where or {}, suites or header.load_suites(), labels))
    models = [part for part in parts if not PlayerKey.of(part.player).is_baseline]
    values = {key: _joined(find(part) for part in models or parts) for key, find in KEYS.items()}
    others = _extensions(header)
    return Signature({**values, "extensions": ",".join(others)} if others else values)


def _extensions(header: RunHeader) -> list[str]:
    """Return the extensions behind a figure: those a run was played with, and those that judge it now."""
    played = (
        f"{name}@{version}" for name, version in header.versions.items() if name.startswith("adapters.")
    )
    return [*versions_of("checks", "normalizers"), *sorted(played)]


def judge_version() -> str:
    """Return what tells one judge from another: its own version and that of its normalisation."""
    return f"{judge.VERSION}.{normalizers.VERSION}"


def differences(left: Signature, right: Signature, except_for: Collection[str] = ()) -> list[str]:
    """Return one line per key, outside ``except_for``, in which two signatures disagree."""
    keys = dict.fromkeys([*left.values, *right.values])
    return [
        f"{key}: {left.values.get(key, 'absent')} against {right.values.get(key, 'absent')}"
        for key in keys
        if key not in except_for
        and left.values.get(key) != right.values.get(key)
        and not (key == "settings" and NO_SETTINGS in (left.values.get(key), right.values.get(key)))
    ]


def _parts(
    header: RunHeader, where: Mapping[str, str], suites: Mapping[str, Suite], labels: str
) -> Iterator[_Part]:
    for player in header.players:
        for suite in suites.values():
            for lang in suite.langs:
                for condition in header.conditions:
                    names = {
                        **player,
                        "suite": suite.name,
                        "lang": lang,
                        "condition": condition["name"],
                    }
                    if all(names[key] == value for key, value in where.items()):
                        yield _Part(header, player, suite, lang, condition, labels)


def _joined(values: Iterable[str]) -> str:
    # A separator inside a value (a contract's version is free text) would break the line apart.
    return "+".join(dict.fromkeys(value.replace("|", "/") for value in values))


def _short(value: Any) -> str:
    return sha256(value)[:8]
