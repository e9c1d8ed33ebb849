"""How long each model takes to load on this machine, as it was measured the last time."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolbench.domain.files import write_text_atomic
from toolbench.domain.storage import cache_folder
from toolbench.errors import InputError
from toolbench.local.weights import LocalModel, resolve

MB = 1_000_000


@dataclass(frozen=True)
class Loading:
    """What stands between a model and its first answer: ``seconds`` is ``None`` before the first time."""

    megabytes: float
    here: bool
    seconds: float | None

    def __str__(self) -> str:
        if not self.here:
            return f"{self.megabytes:.0f} MB to fetch first"
        if self.seconds is None:
            return f"{self.megabytes:.0f} MB to load"
        return f"{self.megabytes:.0f} MB, loads in about {max(self.seconds, 0.1):.1f} s"


def loading(model: str) -> Loading:
    """Return what is known of a model's loading time, without loading it.

    Raises
    ------
    ServingError
        For a name that is no model.
    """
    known = resolve(model)
    path = known.path or cache_folder() / "models" / known.file
    here = path.exists()
    size = path.stat().st_size if here else known.bytes
    return Loading(size / MB, here, _measured().get(known.name))


def remember(model: LocalModel, seconds: float) -> None:
    """Keep how long a model took; a cache that cannot be written is no reason to fail."""
    with suppress(InputError):
        write_text_atomic(_file(), json.dumps({**_measured(), model.name: round(seconds, 2)}) + "\n")


def _file() -> Path:
    return cache_folder() / "load_seconds.json"


def _measured() -> dict[str, float]:
    try:
        found = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: float(value) for name, value in found.items()} if isinstance(found, dict) else {}
