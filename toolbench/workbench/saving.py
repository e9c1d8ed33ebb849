"""Saving a draft as a new version of a suite's texts; no file that is there is ever written to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from toolbench.domain.canonical import JSON
from toolbench.domain.condition import Condition
from toolbench.domain.files import create_all
from toolbench.errors import SuiteError
from toolbench.workbench.edits import UNSAVED, Wording

VARIANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def entry(draft: Wording, name: str | None = None) -> dict[str, JSON]:
    """Return the draft as an entry of a configuration's ``conditions``, without what is usual."""
    name = name or draft.variant
    condition = draft.condition(Condition(name), name)
    named = {
        "name": name,
        "descriptions": condition.descriptions,
        "prompt": condition.prompt,
    }
    return {key: value for key, value in named.items() if value is not None}


def free_name(draft: Wording, root: Path) -> str:
    """Return the first of ``v2``, ``v3`` … that no file of the suite uses."""
    number = 2
    while any(_files(draft, root, f"v{number}")):
        number += 1
    return f"v{number}"


def save(draft: Wording, root: Path, name: str) -> list[Path]:
    """Write the draft as a new version beside the committed ones.

    ``descriptions.<name>.json`` and ``prompt.<lang>.<name>.md`` hold what was edited,
    ``condition.<name>.json`` the entry for ``conditions`` in a configuration.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    SuiteError
        When nothing is changed, the name is no name, or any file of that version is there already.
    """
    if not draft.changed:
        raise SuiteError("nothing is changed, so there is nothing to save")
    if not VARIANT.fullmatch(name) or name == UNSAVED:
        raise SuiteError(
            f"{name!r} cannot name a version: letters, digits, - and _ only, and not {UNSAVED!r}"
        )
    taken = next(_files(draft, root, name), None)
    if taken:
        raise SuiteError(f"{taken} is there already; a version is never overwritten, choose another name")
    overlay, prompt = draft.overlay(name), draft.prompt()
    folder = root / "contracts" / draft.suite.name
    if not folder.is_dir():
        raise SuiteError(f"{folder} is not there: a version is saved beside its suite, in a workspace")
    contents = {folder / f"condition.{name}.json": _json(entry(draft, name))}
    if overlay:
        contents[folder / f"descriptions.{name}.json"] = _json(dict(overlay.source))
    if prompt is not None:
        contents[folder / f"prompt.{draft.lang}.{name}.md"] = prompt + "\n"
    create_all(contents)
    draft.saved = name
    return sorted(contents)


def _files(draft: Wording, root: Path, name: str) -> Iterator[Path]:
    """Yield the files there are of a version, in whatever language."""
    folder = root / "contracts" / draft.suite.name
    for pattern in (f"descriptions.{name}.json", f"condition.{name}.json", f"prompt.*.{name}.md"):
        yield from folder.glob(pattern)


def _json(value: Mapping[str, JSON]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
