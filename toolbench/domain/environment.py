"""What the files of a run say about where they were made: versions, commit and time.

Everything is read from files of this package. No program is started: ``git`` carries out commands that the
configuration of the folder it looks at names, and that folder may be a stranger's.
"""

from __future__ import annotations

import hashlib
import platform
import re
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

from toolbench.domain.extensions import KINDS, extensions_of

PACKAGE = "toolcall-workbench"
PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")
"""Addresses of this machine, as mounts of httpx: no proxy of the environment is asked for them."""
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def package_version() -> str:
    """Return the installed version, ``unknown`` in a tree that was never installed."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def code_hash() -> str:
    """Return the first digits of a SHA-256 over the package's own sources: a changed line shows."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE_FOLDER.rglob("*")):
        if path.suffix in (".py", ".json"):
            digest.update(f"{path.relative_to(PACKAGE_FOLDER).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def code_commit() -> str | None:
    """Return the commit of the checkout that this package lies in, or ``None`` where it is installed."""
    try:
        return _commit(PACKAGE_FOLDER.parent / ".git")
    except (OSError, UnicodeDecodeError):
        return None


def _commit(git: Path) -> str | None:
    """Read HEAD: a commit, or the name of a branch that is a file or a line of ``packed-refs``."""
    if git.is_file():
        # A work tree of its own keeps only a pointer here.
        git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
    common = git / "commondir"
    shared = git / common.read_text("utf-8").strip() if common.is_file() else git
    head = (git / "HEAD").read_text("utf-8").strip()
    if not head.startswith("ref:"):
        return head if _HASH.fullmatch(head) else None
    name = head.removeprefix("ref:").strip()
    for folder in (git, shared):
        if (folder / name).is_file():
            commit = (folder / name).read_text("utf-8").strip()
            return commit if _HASH.fullmatch(commit) else None
    for line in (shared / "packed-refs").read_text("utf-8").splitlines():
        commit, _, packed = line.partition(" ")
        if packed == name and _HASH.fullmatch(commit):
            return commit
    return None


def versions() -> dict[str, str]:
    """Return package → version of what can change a result."""
    found = {"python": platform.python_version(), "toolbench": package_version(), "code": code_hash()}
    for name in ("httpx", "jsonschema", "xllamacpp"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        **found,
        **{f"{one.kind}.{one.name}": one.version for kind in KINDS for one in extensions_of(kind).values()},
    }


def now() -> str:
    """Return the current time in UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
