"""An optional copy of the attempts frame beside the log, so that a notebook opens a long run at once.

It is never the source of truth: its name holds the log's size, time of change and everything that could
give another frame, so any change makes it unfindable. Without pyarrow, or in a folder that cannot be written,
there is simply no cache.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from toolbench.domain.canonical import sha256
from toolbench.domain.environment import package_version
from toolbench.judging import normalizers
from toolbench.judging import score as judge
from toolbench.numbers.rows import ATTEMPT, DTYPES, TUPLES

PATTERN = "attempts.{key}.parquet"


def read(log: Path) -> pd.DataFrame | None:
    """Return the cached frame of a log, ``None`` when there is none that fits."""
    path = _path(log)
    if find_spec("pyarrow") is None or not path.exists():
        return None
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError):
        return None
    for name in TUPLES:
        frame[name] = pd.Series([tuple(value) for value in frame[name]], dtype=object)
    return frame.astype({name: DTYPES[name] for name in ATTEMPT})


def write(log: Path, frame: pd.DataFrame) -> None:
    """Put a frame beside its log in place of older ones."""
    if find_spec("pyarrow") is None:
        return
    path = _path(log)
    try:
        for old in log.parent.glob(PATTERN.format(key="*")):
            old.unlink()
        plain = frame.assign(**{name: frame[name].map(list) for name in TUPLES})
        part = path.with_suffix(".part")
        plain.to_parquet(part)
        part.replace(path)
    except OSError:
        return


def _path(log: Path) -> Path:
    state = log.stat()
    content = [
        state.st_size,
        state.st_mtime_ns,
        judge.VERSION,
        normalizers.VERSION,
        package_version(),
        ["run_id", "started_at", *ATTEMPT],
    ]
    return log.with_name(PATTERN.format(key=sha256(content)[:16]))
