"""The two sides of a comparison: which groups face each other, and when that is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.errors import InputError
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.rows import GROUP
from toolbench.numbers.signature import Signature, differences, signature
from toolbench.numbers.tables import Key, positions


@dataclass(frozen=True)
class Factor:
    """What two sides may differ in: group columns, and keys of the signature."""

    columns: Collection[str] = ()
    keys: Collection[str] = ()


FACTORS: Mapping[str, Factor] = {
    "model": Factor(columns=("provider", "model")),
    "protocol": Factor(columns=("provider", "protocol"), keys=("protocol",)),
    "condition": Factor(columns=("condition",), keys=("condition", "arm", "descriptions", "prompt", "cases")),
    "prompt": Factor(columns=("condition",), keys=("condition", "prompt")),
    "descriptions": Factor(columns=("condition",), keys=("condition", "descriptions", "contract")),
    "settings": Factor(columns=("provider",), keys=("settings",)),
    "cases": Factor(keys=("cases",)),
    "version": Factor(keys=("version", "judge", "interval")),
    "seed": Factor(keys=("seed",)),
    "repetitions": Factor(keys=("repetitions",)),
}
"""``cases``: the sides chose different cases; only those that are the same on both sides are paired."""


@dataclass(frozen=True)
class Side:
    """Part of a run; ``signatures`` has one entry per group of it."""

    label: str
    attempts: pd.DataFrame
    findings: pd.DataFrame
    signatures: Mapping[Key, Signature]


def select(scored: ScoredRun, label: str | None = None, **where: str) -> Side:
    """Return the part of a run in which group columns have the given values.

    Raises
    ------
    InputError
        For a column that is no group column, or a value that the run does not have.
    """
    attempts, findings, header = scored.attempts, scored.findings, scored.log.header
    for column, value in where.items():
        if column not in GROUP:
            raise InputError(f"compare: {column!r} is not one of {', '.join(GROUP)}")
        if value not in set(attempts[column]):
            known = ", ".join(dict.fromkeys(attempts[column])) or "nothing"
            raise InputError(f"run {header.run_id}: no {column} {value!r} here; there is {known}")
        attempts = attempts[attempts[column] == value]
        findings = findings[findings[column] == value]
    signatures = {
        key: signature(header, dict(zip(GROUP, key, strict=True)), scored.suites)
        for key in positions(attempts, GROUP)
    }
    return Side(label or "/".join([header.run_id, *where.values()]), attempts, findings, signatures)


def of_players(side: Side, players: Collection[PlayerKey]) -> Side:
    """Return the part of a side that some players have."""
    kept = {key: value for key, value in side.signatures.items() if PlayerKey(*key[:3]) in players}
    frames = [
        frame[pd.MultiIndex.from_frame(frame[list(PlayerKey._fields)]).isin(list(players))]
        for frame in (side.attempts, side.findings)
    ]
    return Side(side.label, frames[0], frames[1], kept)


def pair_groups(
    left: Side, right: Side, factors: Sequence[str]
) -> tuple[list[str], dict[Key, tuple[Key, Key]]]:
    """Return the group columns that both sides share, and which groups face each other.

    A column of the compared factor is shared as well when both sides have the same values in it: two runs
    of the same models are compared model by model.

    Raises
    ------
    InputError
        For an unknown factor, a side with several values of a column that is not shared, sides that have
        nothing in common, or signatures that disagree outside the factors.
    """
    unknown = [name for name in factors if name not in FACTORS]
    if unknown:
        raise InputError(f"compare: unknown factor {unknown[0]!r}; there are: {', '.join(FACTORS)}")
    free = {column for name in factors for column in FACTORS[name].columns}
    free = {column for column in free if _values(left, column) != _values(right, column)}
    for side in (left, right):
        for column in sorted(free):
            if len(_values(side, column)) > 1:
                several = f"several values of {column} ({', '.join(sorted(_values(side, column)))})"
                raise InputError(f"compare: {side.label} has {several}; choose one")
    shared = [column for column in GROUP if column not in free]
    ours, theirs = _shared_keys(left, shared), _shared_keys(right, shared)
    pairs = {key: (ours[key], theirs[key]) for key in ours if key in theirs}
    if not pairs:
        apart = [
            f"{column}: {', '.join(sorted(_values(left, column)))} against "
            f"{', '.join(sorted(_values(right, column)))}"
            for column in shared
            if not _values(left, column) & _values(right, column)
        ]
        raise InputError(
            f"compare: {left.label} and {right.label} have no group in common ({'; '.join(apart)}); "
            "name what is compared as a factor"
        )
    _refuse_differences(left, right, pairs, factors)
    return shared, pairs


def lonely_groups(left: Side, right: Side, shared: Sequence[str]) -> list[str]:
    """Return a line for every group that faces none on the other side."""
    ours, theirs = _shared_keys(left, shared), _shared_keys(right, shared)
    return [f"{'/'.join(key)}: only the left side has this group" for key in ours if key not in theirs] + [
        f"{'/'.join(key)}: only the right side has this group" for key in theirs if key not in ours
    ]


def common_cases(left: pd.DataFrame, right: pd.DataFrame) -> tuple[pd.Index, list[str]]:
    """Return the cases that are scored on both sides and are the same there, and lines about the others."""
    ours = left.drop_duplicates("case_id").set_index("case_id")["case_hash"]
    theirs = right.drop_duplicates("case_id").set_index("case_id")["case_hash"]
    both = ours.index.intersection(theirs.index, sort=True)
    same = both[(ours[both] == theirs[both]).to_numpy(dtype=bool)]
    counts = {
        "only the left side has a scored attempt of": len(ours.index.difference(theirs.index)),
        "only the right side has a scored attempt of": len(theirs.index.difference(ours.index)),
        "the sides have different versions of": len(both) - len(same),
    }
    return same, [f"{text} {number} case(s), left out" for text, number in counts.items() if number]


def _values(side: Side, column: str) -> set[str]:
    return set(side.attempts[column])


def _shared_keys(side: Side, shared: Sequence[str]) -> dict[Key, Key]:
    places = [GROUP.index(column) for column in shared]
    return {tuple(np.take(key, places)): key for key in side.signatures}


def _refuse_differences(
    left: Side, right: Side, pairs: Mapping[Key, tuple[Key, Key]], factors: Sequence[str]
) -> None:
    excused = {key for name in factors for key in FACTORS[name].keys}
    found = [
        line
        for ours, theirs in pairs.values()
        for line in differences(left.signatures[ours], right.signatures[theirs], excused)
    ]
    if found:
        lines = "; ".join(dict.fromkeys(found))
        raise InputError(
            f"compare: {left.label} and {right.label} differ in more than {', '.join(factors) or 'nothing'}: "
            f"{lines}; name a difference as a factor to accept it"
        )
