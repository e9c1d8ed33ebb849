"""Verdicts kept beside the log: a long run opens at once, and a growing one is judged only where it grew.

Never the source of truth: what is kept says which bytes of the log it judges, by which judge. A log that was
only appended to keeps them; any other change, another judge, or a damaged file makes them useless, and they
are made again. Without pyarrow, or in a folder that cannot be written, there is simply no cache.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any

import pandas as pd

from toolbench.domain.environment import code_hash, package_version
from toolbench.domain.extensions import versions_of
from toolbench.domain.log import BadLine
from toolbench.domain.record import Resumed
from toolbench.judging import normalizers
from toolbench.judging import score as judge
from toolbench.numbers.rows import DTYPES
from toolbench.numbers.shards import FRAMES, Shard

FOLDER = "verdicts"
"""Name of the folder beside the log."""
WORTH_KEEPING = 2**24
"""Bytes of a log from which on its verdicts are kept: shorter ones are judged in a second or two."""
READERS = ("lemminflect", "pymorphy3", "pymorphy3-dicts-ru", "regex")
"""Packages that decide how a text is read."""


@dataclass(frozen=True)
class Kept:
    """Verdicts on the first ``end`` bytes of a log; ``note`` says why there are none, if worth telling."""

    shard: Shard | None = None
    end: int = 0
    note: str | None = None


def judged_by() -> dict[str, str | list[str]]:
    """Return everything but the log that verdicts depend on."""
    return {
        "judge": judge.VERSION,
        "normalizers": normalizers.VERSION,
        "toolbench": package_version(),
        "code": code_hash(),
        "extensions": versions_of("checks", "normalizers"),
        **{name: metadata.version(name) for name in READERS},
    }


def read(log: Path) -> Kept:
    """Return what is kept of a log and still holds."""
    folder = log.with_name(FOLDER)
    if find_spec("pyarrow") is None or not folder.is_dir():
        return Kept()
    try:
        frames = {name: pd.read_parquet(folder / f"{name}.parquet") for name in FRAMES}
        states = [frame.attrs.pop("verdicts") for frame in frames.values()]
        state, size = states[0], log.stat().st_size
        if any(other != state for other in states) or state["end"] > size:
            return Kept()
        if state["by"] != judged_by():
            was = f"judge {state['by']['judge']}, toolbench {state['by']['toolbench']}"
            return Kept(note=f"{folder}: kept by another judge ({was}); the log is judged again")
        untouched = state["modified"] == log.stat().st_mtime_ns and state["end"] == size
        if not untouched and state["sha256"] != _digest(log, state["end"]):
            return Kept()
        return Kept(_shard(state, frames), state["end"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Kept()


def _shard(state: dict[str, Any], frames: dict[str, pd.DataFrame]) -> Shard:
    return Shard(
        lines=state["lines"],
        problems=[BadLine(**problem) for problem in state["problems"]],
        resumed=[Resumed.from_json(line) for line in state["resumed"]],
        frames={name: _typed(frame, FRAMES[name]) for name, frame in frames.items()},
    )


def _typed(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    # Equal ones are one object: there are few, and millions of rows.
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    tuples = {
        name: pd.Series(
            [known.setdefault(one, one) for one in map(tuple, frame[name])], dtype=object, index=frame.index
        )
        for name in _tuples(columns)
    }
    return frame.assign(**tuples)[columns].astype({name: DTYPES[name] for name in columns})


def _tuples(columns: list[str]) -> list[str]:
    return [name for name in columns if DTYPES[name] == "object"]


def write(log: Path, shard: Shard, end: int) -> None:
    """Keep the verdicts on the first ``end`` bytes of a log in place of older ones."""
    if find_spec("pyarrow") is None:
        return
    folder = log.with_name(FOLDER)
    try:
        state = {
            # What the files have in common, so that no two writers' frames are ever read together.
            "token": token_hex(8),
            "by": judged_by(),
            "end": end,
            "modified": log.stat().st_mtime_ns,
            "sha256": _digest(log, end),
            "lines": shard.lines,
            "problems": [asdict(problem) for problem in shard.problems],
            "resumed": [line.to_json() for line in shard.resumed],
        }
        folder.mkdir(exist_ok=True)
        for name, frame in shard.frames.items():
            plain = frame.assign(**{one: frame[one].map(list) for one in _tuples(FRAMES[name])})
            plain.attrs = {"verdicts": state}
            part = folder / f".{name}.{state['token']}"
            plain.to_parquet(part)
            part.replace(folder / f"{name}.parquet")
    except (OSError, ValueError):
        # Half a character in a path of an argument, for example, is nothing that a file can hold.
        return


def _digest(log: Path, end: int) -> str:
    digest = hashlib.sha256()
    with open(log, "rb") as stream:
        while end > 0 and (block := stream.read(min(end, 2**20))):
            digest.update(block)
            end -= len(block)
    return digest.hexdigest()
