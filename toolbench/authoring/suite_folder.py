"""A suite as a run has kept it, written back as a folder of contracts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from toolbench.domain.canonical import JSON
from toolbench.domain.files import write_text_atomic
from toolbench.domain.suite import Suite
from toolbench.errors import SuiteError


def write_folder(suite: Suite, folder: Path) -> bool:
    """Write contract, prompts, executor script, rules and descriptions, unless the folder has a contract.

    Returns
    -------
    bool
        Whether anything was written: nothing is ever overwritten.

    Raises
    ------
    SuiteError
        When the folder cannot be written.
    """
    if (folder / "tools.json").exists():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _files(suite):
        write_text_atomic(folder / name, text, SuiteError)
    return True


def _files(suite: Suite) -> Iterator[tuple[str, str]]:
    for name, prompt in suite.prompts.items():
        yield f"prompt.{name}.md", prompt + "\n"
    for name, overlay in suite.overlays.items():
        yield f"descriptions.{name}.json", _pretty(overlay.source)
    yield "executor.json", _pretty(suite.executor.source)
    yield "rules.json", _pretty(suite.rules.source)
    # Last: a folder with a contract is whole.
    yield "tools.json", _pretty(suite.contract.source)


def _pretty(value: Mapping[str, JSON]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
