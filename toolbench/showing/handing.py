"""A run judged in one process is shown in another: the notebook's kernel takes over what was judged.

The file lies in a folder that only this user can enter and is gone when the notebook has ended; its place is
told to the one child process that needs it.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from toolbench.domain.log import LOG_NAME
from toolbench.numbers.frames import ScoredRun

VARIABLE = "TOOLBENCH_JUDGED"


@contextmanager
def handed_over(scored: ScoredRun) -> Iterator[Mapping[str, str]]:
    """Keep a judged run for a child process; yields the environment that the child is to be given."""
    with tempfile.TemporaryDirectory(prefix="toolbench-") as folder:
        file = Path(folder) / "judged"
        file.write_bytes(pickle.dumps(scored, protocol=pickle.HIGHEST_PROTOCOL))
        yield {VARIABLE: str(file)}


def taken_over(run: Path) -> ScoredRun | None:
    """Return the run that the parent process has judged, ``None`` where it judged another one or none."""
    place = os.environ.get(VARIABLE)
    if not place or not Path(place).exists():
        return None
    scored: ScoredRun = pickle.loads(Path(place).read_bytes())
    log = run / LOG_NAME if run.is_dir() else run
    return scored if scored.log.path.resolve() == log.resolve() else None
