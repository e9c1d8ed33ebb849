"""The two sides of a comparison: which groups face each other, and when that is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.errors import InputError
from toolbench.numbers.frames import ScoredRun, load_run, require
from toolbench.numbers.rows import ATTEMPT, FINDING, GROUP
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
    "labels": Factor(keys=("labels",)),
    "seed": Factor(keys=("seed",)),
    "repetitions": Factor(keys=("repetitions",)),
}
"""``cases``: the sides chose different cases; only those that are the same on both sides are paired."""


@dataclass(frozen=True)
class Side:
    """Part of a run.

    Attributes
    ----------
    planned
        One row an attempt that was to be made: those among them without a score are lost.
    signatures
        One entry per group.
    """

    label: str
    attempts: pd.DataFrame
    findings: pd.DataFrame
    planned: pd.DataFrame
    signatures: Mapping[Key, Signature]


def select(scored: ScoredRun, label: str | None = None, **where: str) -> Side:
    """Return the part of a run in which group columns have the given values.

    Raises
    ------
    InputError
        For a column that is no group column, or a value that the run does not have.
    """
    attempts, header = scored.attempts, scored.log.header
    for column, value in where.items():
        if column not in GROUP:
            raise InputError(f"compare: {column!r} is not one of {', '.join(GROUP)}")
        if value not in set(attempts[column]):
            known = ", ".join(dict.fromkeys(attempts[column])) or "nothing"
            raise InputError(f"run {header.run_id}: no {column} {value!r} here; there is {known}")
        attempts = attempts[attempts[column] == value]
    findings, planned = (_where(frame, where) for frame in (scored.findings, scored.planned))
    signatures = {
        key: signature(header, dict(zip(GROUP, key, strict=True)), scored.suites, scored.people.signature)
        for key in positions(attempts, GROUP)
    }
    return Side(label or "/".join([header.run_id, *where.values()]), attempts, findings, planned, signatures)


def _where(frame: pd.DataFrame, where: Mapping[str, str]) -> pd.DataFrame:
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame


Sided = Side | ScoredRun | pd.DataFrame | str | Path
"""What can be a side: one made by :func:`select`, a run, a frame of attempts, or ``column=value``."""


def side_of(given: Sided, run: ScoredRun | None = None) -> Side:
    """Return a side from what is at hand.

    Parameters
    ----------
    given
        A side; a run or its path; a frame made by :func:`toolbench.load` (it says nothing of how it was
        made, so that only the cases are checked); or texts like ``model=a`` or ``model=a,lang=en``.
    run
        The run that ``column=value`` means a part of.

    Raises
    ------
    InputError
        For a frame without the needed columns, or ``column=value`` without a run.
    """
    if isinstance(given, Side):
        return given
    if isinstance(given, ScoredRun):
        return select(given)
    if isinstance(given, pd.DataFrame):
        require(given, ATTEMPT, "compare")
        signatures = {key: Signature({}) for key in positions(given, GROUP)}
        name = "/".join(dict.fromkeys(given["run_id"])) if "run_id" in given else "frame"
        return Side(name, given, pd.DataFrame(columns=FINDING), given, signatures)
    if part_of(given):
        if run is None:
            raise InputError(f"compare: {given}: name the run that this is a part of: run=...")
        return select(run, **part_of(given))
    return select(load_run(given))


def part_of(given: Sided) -> dict[str, str]:
    """Return the columns and values of a text like ``model=a,lang=en``; empty for anything else."""
    if not isinstance(given, str) or "=" not in given or Path(given).exists():
        return {}
    parts = [part.partition("=") for part in given.split(",")]
    for column, _, _ in parts:
        if column.strip() not in GROUP:
            raise InputError(f"compare: {column.strip()!r} is not one of {', '.join(GROUP)}")
    return {column.strip(): value.strip() for column, _, value in parts}


def of_players(side: Side, players: Collection[PlayerKey]) -> Side:
    """Return the part of a side that some players have."""
    kept = {key: value for key, value in side.signatures.items() if PlayerKey(*key[:3]) in players}
    attempts, findings, planned = (
        frame[pd.MultiIndex.from_frame(frame[list(PlayerKey._fields)]).isin(list(players))]
        for frame in (side.attempts, side.findings, side.planned)
    )
    return Side(side.label, attempts, findings, planned, kept)


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
